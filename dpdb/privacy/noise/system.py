"""Exact integer noise.

Every value comes from integer arithmetic on random bits: no floating point takes part, so there
are none of the gaps in the doubles that Mironov (2012) reads the true answer from. "CKS" is
Canonne, Kamath, Steinke, "The Discrete Gaussian for Differential Privacy" (2020), whose samplers
these are, run on many candidates at a time.

    as_word_fraction    the scale as t/s, rounded up if t and s must be to fit a machine word
    _block              CKS Algorithm 2 on a block of candidates
    ├── _uniform        words below a bound, by rejection
    ├── _accepts        Bernoulli(exp(-u/t)), CKS Algorithm 1
    └── _geometric      runs of Bernoulli(exp(-1))
    accept_gaussian     CKS Algorithm 3: which Laplace candidates are Gaussian
    └── _below_exp      a comparison with exp(-γ) by as many digits as it takes
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
_SPARE = 64  # candidates in the smallest block, and bits beyond those expected
_BLOCK_LIMIT = 2**16  # candidates in the largest: the arrays stay in the cache
_SMALL_BLOCK = 2**12  # up to this size all rounds but the rarest are drawn at once
_ROUND_LIMIT = 120  # reached with probability 1/120!


class SystemNoise:
    """Noise from the operating system's entropy, which has no state to seed, fork or restart.

    The time of a draw must not tell its size (Jin et al. 2022): candidates are made in blocks of
    a public size, with the same work for each, and the surplus is discarded.
    """

    def __init__(self, entropy: Callable[[int], bytes] = os.urandom) -> None:
        self._entropy = entropy

    @property
    def private(self) -> bool:
        """Whether its entropy is the operating system's."""
        return self._entropy is os.urandom

    def laplace(self, scale: Fraction, size: int) -> npt.NDArray[np.int64]:
        """`size` independent draws of the discrete Laplace: P(x) ∝ exp(-|x|/scale).

        Equivalently P(x) = (1-r)/(1+r) · r^|x| with r = exp(-1/scale).
        """
        t, s = as_word_fraction(scale)
        return draw_exactly(size, Fraction(7, 4), lambda candidates: self._block(candidates, t, s))

    def gaussian(self, variance: Fraction, size: int) -> npt.NDArray[np.int64]:
        """`size` independent draws of the discrete Gaussian: P(x) ∝ exp(-x²/(2·variance)).

        CKS Algorithm 3: of discrete Laplace candidates of scale t = floor(σ) + 1, y is kept with
        probability exp(-(|y| - σ²/t)²/(2σ²)). Three in ten at least come through it all.
        """
        variance = workable(variance)

        def block(candidates: int) -> npt.NDArray[np.int64]:
            y = self._block(candidates, ceiling(variance), 1)
            return y[accept_gaussian(y, self._words(y.size), variance, self._below_exp)]

        return draw_exactly(size, Fraction(3), block)

    def below(self, bound: int) -> int:
        """A uniform integer in [0, bound): draw bit_length(bound-1) bits until they are below."""
        if bound < 1:
            raise ValueError("the bound must be at least 1")
        bits = (bound - 1).bit_length()
        size = -(-bits // 8)
        while True:
            drawn = int.from_bytes(self._entropy(size), "little") >> (8 * size - bits)
            if drawn < bound:
                return drawn

    def _block(self, size: int, t: int, s: int) -> npt.NDArray[np.int64]:
        """The accepted draws among `size` candidates of CKS Algorithm 2, for the scale t/s.

        X = u + t·v has P(X = x) ∝ exp(-x/t) when u, uniform in [0, t), is kept with probability
        exp(-u/t) and v is geometric; then Y = X // s has P(Y = y) ∝ exp(-y·s/t). A sign is drawn
        and "minus zero" refused, or zero would come twice as often as it should.

        X < t·(v+1) must fit an int64. A block where it might not is drawn again, so the draws are
        conditioned on v < floor(2^63/t), which is at least 128: for each candidate an event of
        probability exp(-128) < 2^-184 at most is left out; up to t = 2^48, exp(-32768).
        """
        import numpy as np

        drawn = self._uniform(size, 2 * t)  # a sign and a u in one
        minus = (drawn & np.uint64(1)).view(np.int64)
        u = drawn >> np.uint64(1)
        y = self._geometric(size)
        if int(y.max()) >= 2**63 // t:
            return y[:0]
        y *= t
        y += u.view(np.int64)
        y //= s
        kept = self._accepts(u, t)
        kept &= y >= minus  # false for minus zero alone
        y *= 1 - 2 * minus
        return y[kept]

    def _accepts(self, u: npt.NDArray[np.uint64], t: int, k: int = 1) -> npt.NDArray[np.bool_]:
        """Bernoulli(exp(-u/t)) for each u < t: CKS Algorithm 1 from its round `k` on.

        Round k succeeds with probability u/(t·k), that of a uniform integer below t·k being less
        than u, and the first failure must come in an odd round. A few rounds, an even number, are
        drawn for all, or the work would tell how long the runs are; a candidate outlives the
        8 rounds of a small block with probability below 1/9!.
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
        """Independent v with P(v) ∝ exp(-v): the successes before each failure in a long row.

        A row with too few failures is continued; to start over would favour short runs.
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
        """True with probability 1 - 1/e: a random real in [0, 1) is over 1/e.

        Its first 64 binary digits decide all but one case in 2^64.
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
        """Uniform integers in [0, bound): words below a multiple of it, and their remainders."""
        words = self._words(size)
        last = _LAST_WORD - 2**64 % bound
        (over,) = (words > last).nonzero()
        while over.size:
            words = words.copy()  # what comes from bytes is read-only
            words[over] = self._words(over.size)
            over = over[words[over] > last]
        return words % bound

    def _words(self, size: int) -> npt.NDArray[np.uint64]:
        import numpy as np

        return np.frombuffer(self._entropy(8 * size), dtype=np.uint64, count=size)


def draw_exactly(
    size: int, ratio: Fraction, block: Callable[[int], npt.NDArray[np.int64]]
) -> npt.NDArray[np.int64]:
    """`size` draws, out of blocks that turn about `ratio` candidates into each draw.

    What a block accepts is independent, and another is drawn for want of their number, never for
    their values, so the first `size` of them are independent draws.
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

    Rounding up is sound: answers Δ apart differ in log probability by at most Δ/scale, which is
    then less than what was charged. The largest s that leaves room for t keeps the relative
    excess within 2^-55 (scales over 2^-6), or the absolute one within 2^-62 (smaller scales).
    """
    check_scale(scale)
    t, s = scale.numerator, scale.denominator
    if t <= _T_LIMIT and s <= _S_LIMIT:
        return t, s
    room = min(_T_LIMIT * s // t, _S_LIMIT)
    return -(-t * room // s), room
