"""Exact integer noise from the operating system's entropy.

Every value comes from integer arithmetic on random bits. No floating-point number is released, so
noisy answers have none of the gaps between doubles that reveal the true answer ([Mir12]). The
samplers are those of [CKS20], run on many candidates at a time.

    as_word_fraction    the scale as t/s, rounded up where t and s would not fit a machine word
    _block              [CKS20] Algorithm 2 on a block of candidates
    ├── _uniform        words below a bound, by rejection
    ├── _accepts        Bernoulli(exp(-u/t)), [CKS20] Algorithm 1
    └── _geometric      runs of Bernoulli(exp(-1))
    accept_gaussian     [CKS20] Algorithm 3: which Laplace candidates are accepted as Gaussian
    └── _below_exp      a comparison with exp(-γ), by as many digits as it takes
"""

# ruff: noqa: PLC0415 - numpy is loaded by the first draw, not from here

from __future__ import annotations

import os
from fractions import Fraction
from typing import TYPE_CHECKING

from dpdb.privacy.noise.exp_digits import exp_digits
from dpdb.privacy.noise.gaussian import accept_gaussian, ceiling, workable
from dpdb.privacy.noise.source import check_scale

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    import numpy.typing as npt

_T_LIMIT = 2**56  # leaves 7 bits of an int64 for the geometric part: see _block
_S_LIMIT = 2**62
_LAST_WORD = 2**64 - 1
_INVERSE_E = exp_digits(Fraction(1), 64)
_SPARE = 64  # candidates in the smallest block, and bits beyond the expected number
_BLOCK_LIMIT = 2**16  # candidates in the largest block, whose arrays fit the cache
_SMALL_BLOCK = 2**12  # blocks up to this size draw 8 rounds at once, larger ones 2
_ROUND_LIMIT = 120  # reached with probability 1/120!


class SystemNoise:
    """Noise from the operating system's entropy, which has no state to seed, fork or restart.

    The time of a draw must not reveal its size ([Jin22]): candidates are made in blocks of a public
    size, with the same work for each candidate, and surplus draws are discarded.
    """

    def __init__(self, entropy: Callable[[int], bytes] = os.urandom) -> None:
        self._entropy = entropy

    @property
    def private(self) -> bool:
        """Whether the entropy is the operating system's, which nobody can predict."""
        return self._entropy is os.urandom

    def laplace(self, scale: Fraction, size: int) -> npt.NDArray[np.int64]:
        """`size` independent draws of the discrete Laplace: P(x) ∝ exp(-|x|/scale).

        Equivalently P(x) = (1-r)/(1+r) · r^|x| with r = exp(-1/scale).
        """
        t, s = as_word_fraction(scale)
        return draw_exactly(size, Fraction(7, 4), lambda candidates: self._block(candidates, t, s))

    def gaussian(self, variance: Fraction, size: int) -> npt.NDArray[np.int64]:
        """`size` independent draws of the discrete Gaussian: P(x) ∝ exp(-x²/(2·variance)).

        [CKS20] Algorithm 3: a discrete Laplace candidate y of scale t = floor(σ) + 1 is accepted
        with probability exp(-(|y| - σ²/t)²/(2σ²)). At least three in ten candidates lead to a draw.
        """
        variance = workable(variance)

        def block(candidates: int) -> npt.NDArray[np.int64]:
            y = self._block(candidates, ceiling(variance), 1)
            return y[accept_gaussian(y, self._words(y.size), variance, self._below_exp)]

        return draw_exactly(size, Fraction(3), block)

    def below(self, bound: int) -> int:
        """A uniform integer in [0, bound): bit_length(bound-1) bits, drawn until below it."""
        if bound < 1:
            raise ValueError("the bound must be at least 1")
        bits = (bound - 1).bit_length()
        size = -(-bits // 8)
        while True:
            drawn = int.from_bytes(self._entropy(size), "little") >> (8 * size - bits)
            if drawn < bound:
                return drawn

    def _block(self, size: int, t: int, s: int) -> npt.NDArray[np.int64]:
        """The accepted draws among `size` candidates of [CKS20] Algorithm 2, for the scale t/s.

        X = u + t·v has P(X = x) ∝ exp(-x/t) if u is uniform in [0, t) and accepted with probability
        exp(-u/t), and v is geometric. Then Y = X // s has P(Y = y) ∝ exp(-y·s/t). A sign is drawn,
        and "minus zero" is rejected, or zero would come twice as often as it should.

        X < t·(v+1) must fit an int64. A block in which it might not is drawn again, so the draws
        are conditioned on v < floor(2^63/t), which is at least 128. For each candidate this leaves
        out an event of probability at most exp(-128) < 2^-184; up to t = 2^48, exp(-32768).
        """
        import numpy as np

        drawn = self._uniform(size, 2 * t)  # each word holds a sign and a u
        minus = (drawn & np.uint64(1)).view(np.int64)
        u = drawn >> np.uint64(1)
        y = self._geometric(size)
        if int(y.max()) >= 2**63 // t:
            return y[:0]
        y *= t
        y += u.view(np.int64)
        y //= s
        kept = self._accepts(u, t)
        kept &= y >= minus  # rejects minus zero only
        y *= 1 - 2 * minus
        return y[kept]

    def _accepts(self, u: npt.NDArray[np.uint64], t: int, k: int = 1) -> npt.NDArray[np.bool_]:
        """Bernoulli(exp(-u/t)) for each u < t: [CKS20] Algorithm 1 from its round `k` on.

        Round k succeeds with probability u/(t·k), the probability that a uniform integer below t·k
        is less than u. A candidate is accepted if the first failure comes in an odd round. An even
        number of rounds is drawn for all candidates, so that the work does not depend on how many
        each needs. A candidate needs more than the 8 rounds of a small block with probability below
        1/9!.
        """
        import numpy as np

        if k > _ROUND_LIMIT:
            raise RuntimeError("the entropy source is broken: it repeats itself")
        rounds = 8 if u.size <= _SMALL_BLOCK else 2
        runs = np.empty((rounds, u.size), dtype=np.bool_)
        for row in range(rounds):
            np.less(self._uniform(u.size, t * (k + row)), u, out=runs[row])
        np.logical_and.accumulate(runs, axis=0, out=runs)
        kept: npt.NDArray[np.bool_] = ~np.logical_xor.reduce(runs, axis=0)
        (late,) = runs[-1].nonzero()
        if late.size:
            kept[late] = self._accepts(u[late], t, k + rounds)
        return kept

    def _geometric(self, size: int) -> npt.NDArray[np.int64]:
        """Independent v with P(v) ∝ exp(-v): the successes before each failure in a long sequence.

        A sequence with too few failures is continued, because starting over would favour short
        runs.
        """
        import numpy as np

        bits = size * 7 // 4 + _SPARE
        (ends,) = self._failures(bits).nonzero()
        while ends.size < size:
            (more,) = self._failures(_SPARE).nonzero()
            ends = np.concatenate((ends, more + bits))
            bits += _SPARE
        v = ends[:size].astype(np.int64)
        v[1:] -= v[:-1] + 1
        return v

    def _failures(self, size: int) -> npt.NDArray[np.bool_]:
        """Independent values that are true with probability 1 - 1/e: a random real is over 1/e.

        The first 64 binary digits of the real decide, except with probability 2^-64.
        """
        words = self._words(size)
        failed = words >= _INVERSE_E
        for tie in (words == _INVERSE_E).nonzero()[0]:
            failed[tie] = not self._below_exp(_INVERSE_E, Fraction(1))
        return failed

    def _below_exp(self, word: int, gamma: Fraction) -> bool:
        """Whether a real that begins with the 64 digits of `word` is below exp(-gamma)."""
        bits = 64
        while word == (digits := exp_digits(gamma, bits)):
            bits += 64
            word = word << 64 | int.from_bytes(self._entropy(8), "little")
        return word < digits

    def _uniform(self, size: int, bound: int) -> npt.NDArray[np.uint64]:
        """Uniform integers in [0, bound): the remainders of words below a multiple of `bound`."""
        words = self._words(size)
        last = _LAST_WORD - 2**64 % bound
        (over,) = (words > last).nonzero()
        while over.size:
            words = words.copy()  # an array made from bytes is read-only
            words[over] = self._words(over.size)
            over = over[words[over] > last]
        return words % bound

    def _words(self, size: int) -> npt.NDArray[np.uint64]:
        import numpy as np

        return np.frombuffer(self._entropy(8 * size), dtype=np.uint64, count=size)


def draw_exactly(
    size: int, ratio: Fraction, block: Callable[[int], npt.NDArray[np.int64]]
) -> npt.NDArray[np.int64]:
    """`size` independent draws from blocks of candidates, with about `ratio` candidates for a draw.

    The accepted candidates of a block are independent. Another block is drawn if there are too few
    of them, whatever their values, so the first `size` accepted candidates are independent draws.
    """
    import numpy as np

    if size < 0:
        raise ValueError("the number of draws must not be negative")
    draws, have = np.empty(size, dtype=np.int64), 0
    while have < size:
        candidates = min(int((size - have) * ratio) + _SPARE, _BLOCK_LIMIT)
        fresh = block(candidates)[: size - have]
        draws[have : have + fresh.size] = fresh
        have += fresh.size
    return draws


def as_word_fraction(scale: Fraction) -> tuple[int, int]:
    """The scale as t/s with t <= 2^56 and s <= 2^62, rounded up where it has no such form.

    Rounding up is sound: the log probabilities of answers Δ apart differ by at most Δ/scale, which
    rounding makes smaller. The largest s that leaves room for t keeps the relative excess within
    2^-55 (scales over 2^-6), or the absolute excess within 2^-62 (smaller scales).
    """
    check_scale(scale)
    t, s = scale.numerator, scale.denominator
    if t <= _T_LIMIT and s <= _S_LIMIT:
        return t, s
    room = min(_T_LIMIT * s // t, _S_LIMIT)
    return -(-t * room // s), room
