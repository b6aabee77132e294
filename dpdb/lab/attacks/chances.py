"""The chances of right guesses, worked out from the distribution of the noise.

The noise of dpdb's sums and counts is discrete Laplace, P(x) ∝ r^|x| with r = exp(-1/scale)
([GRS09]); `NoiseDistribution` is that of a sum of such noise. Whatever hides the secret is then a
sum over that distribution, and the chance of a right guess needs no trials.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from dpdb.records import dataclass

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


_SCALES, _DEVIATIONS = 30, 10
"""A sum of noise is cut off beyond its largest scale and its standard deviation times these.

What is beyond has less than e^-30 of the probability.
"""


@dataclass(frozen=True, eq=False)
class NoiseDistribution:
    """The distribution of whole-number noise that is above 0 as often as below."""

    chances: npt.NDArray[np.float64]
    """P(x) for x from -n to n - 1, where n is so large that nothing of weight is left out."""

    @classmethod
    def of(cls, scales: Sequence[float]) -> NoiseDistribution:
        """The sum of independent discrete Laplace noise of these scales, or of its differences."""
        import numpy as np  # noqa: PLC0415 (a list of attacks does without)

        deviation = math.sqrt(2 * sum(scale**2 for scale in scales))
        # A power of two, for a fast transform.
        reach = 2 ** math.ceil(math.log2(_SCALES * max(scales) + _DEVIATIONS * deviation))
        x = np.arange(-reach, reach)
        spectrum = np.ones(reach + 1)
        for scale, times in Counter(scales).items():
            one = np.exp(-np.abs(x) / scale) * math.tanh(1 / (2 * scale))
            # The noise is symmetric, and so the spectrum of noise centred on 0 is real.
            spectrum *= np.fft.rfft(np.fft.ifftshift(one)).real ** times
        return cls(np.maximum(np.fft.fftshift(np.fft.irfft(spectrum, len(x))), 0.0))

    def at_least(self, x: float) -> float:
        """P(noise >= x)."""
        middle = len(self.chances) // 2
        return float(self.chances[max(middle + math.ceil(x), 0) :].sum())

    def at(self, x: int) -> float:
        """P(noise = x)."""
        place = len(self.chances) // 2 + x
        return float(self.chances[place]) if 0 <= place < len(self.chances) else 0.0


def of_nearest(scales: Sequence[float], levels: int) -> float:
    """The chance of a guess that is the nearest of `levels` successive whole numbers.

    The secret is any of them, all as likely, and the guess is the secret plus all this noise. A
    secret at an end is found if the noise is 0 or points outwards, any other if it is 0.
    """
    noise = NoiseDistribution.of(scales)
    return ((levels - 2) * noise.at(0) + 2 * noise.at_least(0)) / levels


def of_sign(scales: Sequence[float], distance: float) -> float:
    """The chance of telling 0 from `distance`, both as likely, by what it and noise add up to.

    The guess is `distance` from half of it on.
    """
    noise = NoiseDistribution.of(scales)
    low = 1 - noise.at_least(distance / 2)
    return (low + noise.at_least(-distance / 2)) / 2


def of_largest(scale: float, lead: int, number: int) -> float:
    """The chance that of `number` noisy counts, all 0 but one of `lead`, that one is the largest.

    Of counts that are equal the first is taken, and the one in the lead is at any place of the
    list, all as likely.
    """
    noise = NoiseDistribution.of([scale])
    below = noise.chances.cumsum()  # P(noise <= x)
    under = below - noise.chances  # P(noise < x)
    chance = 0.0
    for before in range(number):
        others = under**before * below ** (number - 1 - before)
        # What the lead moves beyond the end is above all others.
        ahead = 1.0 - float(noise.chances[: len(others) - lead].sum())
        chance += float((noise.chances[: len(others) - lead] * others[lead:]).sum()) + ahead
    return chance / number


def draws(
    rng: np.random.Generator, scale: float, size: int | tuple[int, ...]
) -> npt.NDArray[np.int64]:
    """Discrete Laplace noise, as the difference of two geometric numbers."""
    import numpy as np  # noqa: PLC0415

    stop = -math.expm1(-1 / scale)
    return np.asarray(rng.geometric(stop, size) - rng.geometric(stop, size))


def laplace_at_most(x: float, scale: float) -> float:
    """P(noise <= x) for Laplace noise of real numbers."""
    half = math.exp(-abs(x) / scale) / 2
    return half if x < 0 else 1 - half
