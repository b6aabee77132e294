"""The chances of right guesses, worked out from the distribution of the noise.

The noise of dpdb's sums and counts is discrete Laplace, P(x) ∝ r^|x| with r = exp(-1/scale)
([GRS09]); `NoiseDistribution` is that of a sum of such noise. Whatever hides the secret is then a
sum over that distribution, and the chance of a right guess needs no trials.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import field
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
    """The chance of telling 0 from `distance`, both as likely, from its sum with noise.

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


Told = dict[tuple[int, int], float]
"""The probability of each number of yes to a question and of yes to its opposite."""
_BATCH = 64
"""Numbers drawn at once."""


@dataclass(frozen=True)
class ThresholdNoise:
    """The noise of a sparse vector technique: is a count at least 1, yes or no?"""

    threshold: float
    """Scale of the noise on the threshold."""
    answers: float
    """Scale of the noise on each count; 0 for none."""
    most: float = math.inf
    """Number of yes after which there are no more answers."""
    renewed: bool = False
    """Whether the threshold's noise is drawn anew after each yes."""

    def laws(self, truth: int, pairs: int) -> Iterator[Told]:
        """The distribution of the yes after 1, 2, … `pairs` pairs of questions.

        A pair is a question whose count is `truth`, 0 or 1, and one whose count is 1 - truth.
        For each number of yes so far there is a vector over the noise on the threshold.
        """
        import numpy as np  # noqa: PLC0415

        reach = math.ceil(_SCALES * self.threshold)
        noise = np.arange(-reach, reach + 1)
        drawn = np.exp(-np.abs(noise) / self.threshold)
        drawn /= drawn.sum()
        states = {(0, 0): drawn}
        for _ in range(pairs):
            for value, one, other in ((truth, 1, 0), (1 - truth, 0, 1)):
                yes, no = _at_least(1 + noise - value, self.answers)
                after: dict[tuple[int, int], npt.NDArray[np.float64]] = {}
                for told, weight in states.items():
                    if sum(told) >= self.most:
                        after[told] = after.get(told, 0.0) + weight
                        continue
                    after[told] = after.get(told, 0.0) + weight * no
                    more = (told[0] + one, told[1] + other)
                    passed = (weight * yes).sum() * drawn if self.renewed else weight * yes
                    after[more] = after.get(more, 0.0) + passed
                states = after
            yield {told: float(weight.sum()) for told, weight in states.items()}


MOST = 10
"""Number of yes after which a run ends, c in [LSL17]."""


def sparse_vector(algorithm: int, epsilon: float) -> ThresholdNoise:
    """The noise of an algorithm of [LSL17] figure 1 for counts that one person changes by 1.

    The paper's ε₁ is the part of ε for the threshold, ε/2 in all but algorithm 4, and ε₂ the rest.
    """
    half = epsilon / 2
    match algorithm:
        case 1:  # as the paper proves it
            return ThresholdNoise(1 / half, 2 * MOST / half, MOST)
        case 2:  # Dwork and Roth 2014
            return ThresholdNoise(MOST / half, 2 * MOST / half, MOST, renewed=True)
        case 4:  # Lee and Clifton 2014
            return ThresholdNoise(4 / epsilon, 4 / (3 * epsilon), MOST)
        case 5:  # Stoddard, Chen and Machanavajjhala 2014
            return ThresholdNoise(1 / half, 0)
        case 6:  # Chen, Xiao, Zhang and Xu 2015
            return ThresholdNoise(1 / half, 1 / half)
    raise AssertionError(algorithm)


def _at_least(
    least: npt.NDArray[np.int64], scale: float
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """P(noise >= least) and P(noise < least) of discrete Laplace noise; both keep their digits."""
    import numpy as np  # noqa: PLC0415

    if scale == 0:
        return (least <= 0).astype(float), (least > 0).astype(float)
    ratio = math.exp(-1 / scale)
    above = ratio ** np.maximum(least, 1) / (1 + ratio)
    below = ratio ** np.maximum(1 - least, 1) / (1 + ratio)
    return np.where(least > 0, above, 1 - below), np.where(least > 0, 1 - above, below)


@dataclass
class Threshold:
    """A run of a sparse vector technique."""

    noise: ThresholdNoise
    rng: np.random.Generator
    yes: int = 0
    """Number of yes so far."""
    level: float = 0
    """The noise on the threshold."""
    noises: list[int] = field(default_factory=list)
    """Noise drawn for counts to come."""

    def __post_init__(self) -> None:
        self.level = self.new_level()

    @property
    def ended(self) -> bool:
        """Whether there are no more answers."""
        return self.yes >= self.noise.most

    def ask(self, count: float) -> bool:
        """Whether a count with noise is at least the threshold of 1 with noise."""
        if self.noise.answers:
            if not self.noises:
                self.noises = draws(self.rng, self.noise.answers, _BATCH).tolist()
            count += self.noises.pop()
        if count < 1 + self.level:
            return False
        self.yes += 1
        if self.noise.renewed:
            self.level = self.new_level()
        return True

    def new_level(self) -> float:
        """Noise for the threshold."""
        return float(draws(self.rng, self.noise.threshold, 1)[0])
