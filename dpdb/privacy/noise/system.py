"""Exact integer noise from the operating system's entropy.

Every value has exactly its stated probability. No floating-point number is released, so noisy
answers have none of the gaps between doubles that reveal the true answer ([Mir12]). The samplers
are those of [CKS20], run on many candidates at a time. Doubles only compare a random real, given by
random bits, with exp(-γ); where the two are too near for doubles, integers compare them.

    as_word_fraction    the scale as t/s, rounded up where t and s would not fit a machine word
    _block              [CKS20] Algorithm 2 on a block of candidates
    ├── _geometric      P(v) ∝ exp(-rate·v), by the logarithm of a random real
    └── are_below_exp   Bernoulli(exp(-u/t)), by a random real
    accept_gaussian     [CKS20] Algorithm 3: which Laplace candidates are accepted as Gaussian
"""

# ruff: noqa: PLC0415 - numpy is loaded by the first draw, not from here

from __future__ import annotations

import math
import os
from fractions import Fraction
from typing import TYPE_CHECKING

from dpdb.privacy.noise.acceptance import (
    accept_gaussian,
    are_below_exp,
    ceiling,
    exp_digits,
    workable,
)
from dpdb.privacy.noise.protocols import check_scale

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    import numpy.typing as npt

    from dpdb.privacy.noise.protocols import Noise

_T_LIMIT = 2**56  # leaves 7 bits of an int64 for the geometric part: see _block
_S_LIMIT = 2**62
_PARTS = 2**8  # t is at most this many times the part that is drawn uniformly: see _block
_CUT = 16  # a geometric v is continued from here, in units of 1/rate: see _geometric
_MARGIN = 2.0**-24  # logarithms in doubles this near to a whole v are compared in integers
_SPARE = 64  # candidates in the smallest block beyond the expected number
_BLOCK_LIMIT = 2**16  # candidates in the largest block, whose arrays fit the cache


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
        # Zero has the probability (1-r)/(1+r); half of the zeros, those with a minus, are rejected.
        ratio = 2.05 / (1 + math.exp(-s / t))
        return draw_exactly(size, ratio, lambda candidates: self._block(candidates, t, s))

    def gaussian(self, variance: Fraction, size: int) -> npt.NDArray[np.int64]:
        """`size` independent draws of the discrete Gaussian: P(x) ∝ exp(-x²/(2·variance)).

        [CKS20] Algorithm 3: a discrete Laplace candidate y of scale t = floor(σ) + 1 is accepted
        with probability exp(-(|y| - σ²/t)²/(2σ²)). At least three in ten candidates lead to a draw.
        """
        variance = workable(variance)

        def block(candidates: int) -> npt.NDArray[np.int64]:
            y = self._block(candidates, ceiling(variance), 1)
            return y[accept_gaussian(y, self._words(y.size), variance, self._below_exp)]

        return draw_exactly(size, 3, block)

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

        X = u + m·v has P(X = x) ∝ exp(-x/t) if u is uniform in [0, m) and accepted with probability
        exp(-u/t), and P(v) ∝ exp(-v·m/t). The algorithm is printed for m = t; here m is the power
        of two for which t/m is in [2^7, 2^8), or 1 for small t, so that u takes random bits as they
        are and is nearly always accepted. Then Y = X // s has P(Y = y) ∝ exp(-y·s/t). A sign is
        drawn, and "minus zero" is rejected, or zero would come twice as often as it should.

        X < m·(v+1) must fit an int64. A block in which it might not is drawn again, so the draws
        are conditioned on v < floor(2^63/m), where v·m/t is at least 128. For each candidate this
        leaves out an event of probability at most exp(-128) < 2^-184; up to t = 2^48, exp(-32768).
        """
        import numpy as np

        m = max(1, 2 ** t.bit_length() // _PARTS)
        drawn = self._words(size)  # each word holds a sign and a u
        minus = (drawn & np.uint64(1)).view(np.int64)
        u = (drawn >> np.uint64(1)).view(np.int64) & (m - 1)
        y = self._geometric(size, Fraction(m, t))
        if int(y.max()) >= 2**63 // m:
            return y[:0]
        y *= m
        y += u
        y //= s
        kept = y >= minus  # rejects minus zero only
        if m > 1:
            words = self._words(size)
            kept &= are_below_exp(words, u / t, lambda i: Fraction(int(u[i]), t), self._below_exp)
        y *= 1 - 2 * minus
        return y[kept]

    def _geometric(self, size: int, rate: Fraction) -> npt.NDArray[np.int64]:
        """Independent v >= 0 with P(v) ∝ exp(-rate·v), for a rate in [2^-8, 1].

        Let R be a uniform real in [0, 1), of which a word w holds the first 64 binary digits. Then
        v = floor(-ln(R)/rate): it is at least k where R < exp(-rate·k), with that probability. From
        `cut` on, v is `cut` plus another such v, because the distribution has no memory.

        Where v < cut, R > exp(-17) > 2^-25. So R and (w+1)·2^-64 differ by a relative 2^-39 at
        most, and their logarithms by as much. The logarithms of w+1 and 2^64 are at most 45, and
        their difference in doubles has an error below 2^-44. So -ln(R)/rate is found with an error
        below 2^8·(2^-39 + 2^-44) + 2^-40 < 2^-30. Where it is within 2^-24 of a whole number,
        integers decide.
        """
        import numpy as np

        words, cut = self._words(size), math.ceil(_CUT / rate)
        quotients = np.minimum((64 * math.log(2) - np.log(words + 1.0)) / float(rate), cut)
        nearest = np.rint(quotients)
        v: npt.NDArray[np.int64] = np.floor(quotients).astype(np.int64)
        for i in (np.abs(quotients - nearest) <= _MARGIN).nonzero()[0]:
            k = int(nearest[i])
            v[i] = k if self._below_exp(int(words[i]), k * rate) else k - 1
        (late,) = (v >= cut).nonzero()
        if late.size:
            v[late] += self._geometric(late.size, rate)
        return v

    def _below_exp(self, word: int, gamma: Fraction) -> bool:
        """Whether a real that begins with the 64 digits of `word` is below exp(-gamma)."""
        bits = 64
        while word == (digits := exp_digits(gamma, bits)):
            bits += 64
            word = word << 64 | int.from_bytes(self._entropy(8), "little")
        return word < digits

    def _words(self, size: int) -> npt.NDArray[np.uint64]:
        import numpy as np

        return np.frombuffer(self._entropy(8 * size), dtype=np.uint64, count=size)


def draw_exactly(
    size: int, ratio: float, block: Callable[[int], npt.NDArray[np.int64]]
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


def geometric(scale: Fraction, size: int, noise: Noise) -> npt.NDArray[np.int64]:
    """`size` independent draws with P(k) ∝ exp(-k/scale) for k >= 0.

    They are the draws of the discrete Laplace that are not negative, which are more than half of
    them. A source of noise may round the scale up, as it does for its Laplace noise of that scale.
    """

    def block(candidates: int) -> npt.NDArray[np.int64]:
        drawn = noise.laplace(scale, candidates)
        return drawn[drawn >= 0]

    return draw_exactly(size, 2, block)
