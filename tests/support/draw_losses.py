"""What the draws of a session lose between two tables, by formulas of the tests' own.

Each kind of draw is known by what is public of it, and compares what went in for one table with
what went in for the other, where the outcome was the same. Nothing here asks a plan, or a
mechanism, what it thinks that it loses.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from dpdb.privacy.mechanisms.box import STEPS
from dpdb.privacy.mechanisms.selections.bracket import Bracket
from dpdb.privacy.mechanisms.selections.caps import FoundCaps
from dpdb.privacy.mechanisms.selections.ends import FoundEnds, rungs
from dpdb.privacy.mechanisms.selections.found_limit import FoundLimit
from dpdb.privacy.mechanisms.selections.found_room import FoundRoom
from dpdb.privacy.mechanisms.selections.threshold import Threshold
from dpdb.privacy.mechanisms.selections.walk import Walk
from dpdb.privacy.mechanisms.selections.weighted_keys import WeightedKeys
from dpdb.privacy.noise import ends
from tests.support.loss_sums import ZERO, Lost, below, pure, ranged, total

Values = tuple[int, ...]
"""Whole numbers; in ascending order where one is selected by ranks."""


def _apart(one: Values, other: Values) -> list[int]:
    return [abs(a - b) for a, b in zip(one, other, strict=True)]


@dataclass(frozen=True)
class LaplaceNoise:
    """Noise with P(x) ∝ exp(-|x| / scale), for each value by itself."""

    scale: Fraction

    def lost(self, one: Values, other: Values) -> Lost:
        return total(pure(change / self.scale) for change in _apart(one, other))


@dataclass(frozen=True)
class StaircaseNoise:
    """Noise whose probabilities change by exp(-1 / steps) at most within each `width`."""

    width: int
    steps: Fraction

    def lost(self, one: Values, other: Values) -> Lost:
        return total(pure(-(-change // self.width) / self.steps) for change in _apart(one, other))


@dataclass(frozen=True)
class BoxNoise:
    """Noise with P(z) ∝ exp(-rate·max |zᵢ| / Hᵢ), which rounds up to a `STEPS`-th, for each row."""

    halves: Values
    rate: Fraction

    def lost(self, one: Values, other: Values) -> Lost:
        width, changes = len(self.halves), _apart(one, other)
        rows = [changes[at : at + width] for at in range(0, len(changes), width)]
        norms = (
            max(math.ceil(Fraction(STEPS * change, half))
                for change, half in zip(row, self.halves, strict=True))
            for row in rows
        )  # fmt: skip
        return total(pure(self.rate * norm / STEPS) for norm in norms)


@dataclass(frozen=True)
class FoundBounds:
    """A centre, unless it is 0, a scale and two ends, by the weights that are drawn from."""

    mechanism: FoundEnds | FoundCaps | FoundRoom
    grid: tuple[int, int]

    def lost(self, one: Values, other: Values) -> Lost:
        """The most that the chance of a path of selections changes, among centres near values."""
        if one == other:
            return Lost()
        if isinstance(self.mechanism, FoundRoom):
            changes = _change(*(ends.room_weights(each, self.mechanism) for each in (one, other)))
            more, less = changes.max(), -changes.min()
            return Lost(below(more), below(less), rho=below((more + less) ** 2 / 8))
        tables = [np.array(each, dtype=np.int64) for each in (one, other)]
        low, high = self.grid
        if isinstance(self.mechanism, FoundCaps):
            return self._of_caps(tables, rungs(max(high, -low, 1)), self.mechanism)
        centring, scaling, *ending = self.mechanism.selections
        steps = rungs(high - low)
        near = {value + step for value in (*one, *other) for step in (-1, 0, 1)}
        centres = [point for point in near | {low, high} if low <= point <= high]
        logs = {at: self._change_at(at, tables, centring) for at in centres}
        forth, back, spans = [], [], [0.0]
        for at in centres:
            scales = _change(*(ends.scale_weights(each, at, steps, scaling) for each in tables))
            for place, scale in enumerate(steps):
                more = less = 0.0
                for mechanism in ending:
                    about = at, scale
                    pair = (ends.end_weights(each, about, steps, mechanism) for each in tables)
                    for change in map(_change, *pair):
                        more, less = more + change.max(), less - change.min()
                forth.append(logs[at] + scales[place] + more)
                back.append(less - scales[place] - logs[at])
                spans.append(more + less)
            spans[0] = max(spans[0], scales.max() - scales.min())
        squares = spans[0] ** 2 + max(spans[1:]) ** 2
        squares += (max(logs.values()) - min(logs.values())) ** 2
        return Lost(below(max(forth)), below(max(back)), rho=below(squares / 8))

    def _of_caps(self, tables: Any, steps: Values, mechanism: FoundCaps) -> Lost:
        """That of the one selection, of both caps if they are not of averages."""
        (selecting,) = mechanism.selections
        if mechanism.of_averages:
            sides = [[ends.average_weights(each, steps, selecting)] for each in tables]
        else:
            sides = [[*ends.end_weights(each, (0, 1), steps, selecting)] for each in tables]
        changes = [_change(*side) for side in zip(*sides, strict=True)]
        more, less = sum(each.max() for each in changes), -sum(each.min() for each in changes)
        return Lost(below(more), below(less), rho=below((more + less) ** 2 / 8))

    def _change_at(self, centre: int, tables: Any, mechanism: Any) -> float:
        one, other = (self._log_of_centre(each, centre, mechanism) for each in tables)
        return one - other

    def _log_of_centre(self, values: Any, centre: int, mechanism: Any) -> float:
        starts, lengths, each = ends.centre_pieces(values, self.grid, mechanism)
        whole = each.whole()
        chances = sum(own * int(length) for own, length in zip(whole, lengths, strict=True))
        place = int(starts.searchsorted(centre, side="right")) - 1
        return math.log(whole[place]) - math.log(chances)


def _change(one: list[int], other: list[int]) -> Any:
    """By how much the logarithm of the chance of each choice changes."""
    return _logs(one) - _logs(other)


def _logs(weights: list[int]) -> Any:
    whole = math.log(sum(weights))
    return np.array([math.log(each) - whole for each in weights])


@dataclass(frozen=True)
class Coins:
    """A function of what was told before, and of coins: no rows go in."""

    def lost(self, one: Values, other: Values) -> Lost:
        assert one == other == ()
        return Lost()


@dataclass(frozen=True)
class FinerNoise:
    """Laplace noise of a smaller scale, given that of a larger one: both tell what one does."""

    before: Fraction
    scale: Fraction

    def lost(self, one: Values, other: Values) -> Lost:
        whole, paid = (LaplaceNoise(s).lost(one, other) for s in (self.scale, self.before))
        more = whole.epsilon - paid.epsilon
        return Lost(more, more, rho=whole.rho - paid.rho)


@dataclass(frozen=True)
class GaussianNoise:
    """Noise with P(x) ∝ exp(-x² / 2·variance), for each value by itself."""

    variance: Fraction

    def lost(self, one: Values, other: Values) -> Lost:
        moves = [change for change in _apart(one, other) if change]
        rho = sum((move**2 / (2 * self.variance) for move in moves), ZERO)
        return Lost(rho=rho, moves=tuple((move, self.variance) for move in moves))


@dataclass(frozen=True)
class LargestCount:
    """An index, with P(i) ∝ exp(rate·count)."""

    rate: Fraction

    def lost(self, one: Values, other: Values) -> Lost:
        changes = [a - b for a, b in zip(one, other, strict=True)]
        return ranged(self.rate * (max(changes) - min(changes)))


@dataclass(frozen=True)
class Limit:
    """A limit, by how many values the passes after it bring: P(l) ∝ l^-a·exp(-rate·that / l)."""

    mechanism: FoundLimit

    def lost(self, one: Values, other: Values) -> Lost:
        scores = [self._scores(each) for each in (one, other)]
        changes = [a - b for a, b in zip(*scores, strict=True)]
        return ranged(self.mechanism.selection.rate * (max(changes) - min(changes)))

    def _scores(self, numbers: Values) -> list[Fraction]:
        known = dict(zip(self.mechanism.passes, numbers, strict=True))
        most = self.mechanism.rows
        return [
            Fraction(known[min(2 * limit, most)] - known[limit], limit)
            for limit in self.mechanism.limits
        ]


@dataclass(frozen=True)
class Quantile:
    """A point of a grid and, where rows are cut in two there, how many of those at it are below.

    P(v) ∝ exp(-rate·distance) for the distance of fraction·n from the ranks of v. A cut is known by
    a place u in [0, 1), of which it is the rank.
    """

    rate: Fraction
    grid: tuple[int, int]
    fraction: Fraction
    cut: bool = False

    def lost(self, one: Values, other: Values) -> Lost:
        near = {value + step for value in (*one, *other) for step in (-1, 0, 1)} | {*self.grid}
        points = [point for point in near if self.grid[0] <= point <= self.grid[1]]
        changes = [
            self._distance(one, point, place) - self._distance(other, point, place)
            for point in points
            for place in self._places(one.count(point), other.count(point))
        ]
        return ranged(self.rate * (max(changes) - min(changes)))

    def _places(self, *ties: int) -> list[Fraction]:
        """One of each interval in which a place makes the same cuts of both tables."""
        if not self.cut:
            return [ZERO]
        return sorted({Fraction(at, number + 1) for number in ties for at in range(number + 1)})

    def _distance(self, values: Values, point: int, place: Fraction) -> Fraction:
        low = sum(value < point for value in values)
        high = sum(value <= point for value in values)
        if self.cut:
            low = high = low + math.floor(place * (high - low + 1))
        target = self.fraction * len(values)
        return max(low - target, target - high, ZERO)


@dataclass(frozen=True)
class HalfWidth:
    """The half-width of an interval around a point, by the distance of its slack from a target."""

    mechanism: Bracket
    centre: int
    fraction: Fraction

    def lost(self, one: Values, other: Values) -> Lost:
        scores = zip(self._distances(one), self._distances(other), strict=True)
        changes = [a - b for a, b in scores]
        return ranged(self.mechanism.rate * (max(changes) - min(changes)))

    def _distances(self, values: Values) -> list[Fraction]:
        middle = self.fraction * (len(values) - 1)
        steps = self.fraction.denominator
        target = Fraction(math.ceil(steps * self.mechanism.target), steps)
        slacks = [
            min(
                middle - sum(value < self.centre - width for value in values),
                sum(value <= self.centre + width for value in values) - 1 - middle,
            )
            for width in self.mechanism.widths[:-1]
        ]
        lows, highs = [None, *slacks], [*slacks, None]
        return [
            max(ZERO, low - target if low is not None else ZERO,
                target - high if high is not None else ZERO)
            for low, high in zip(lows, highs, strict=True)
        ]  # fmt: skip


@dataclass(frozen=True)
class Stop:
    """The rung at which a walk stops, by how many rows are beyond each rung."""

    mechanism: Walk

    def lost(self, one: Values, other: Values) -> Lost:
        if one == other:
            return Lost()
        logarithms = [np.log(self._chances(counts)) for counts in (one, other)]
        ratios = logarithms[0] - logarithms[1]
        ratios = ratios[np.minimum(*logarithms) > -200]  # of what never happens doubles know little
        forth, back = float(ratios.max()), float(-ratios.min())
        rho = min(max(forth, back) ** 2 / 2, (forth + back) ** 2 / 8)
        return Lost(below(forth), below(back), rho=below(rho))

    def _chances(self, counts: Values) -> Any:
        """The probability to stop at each rung, added up over the noise of the threshold."""
        first, look = float(self.mechanism.threshold_scale), float(self.mechanism.look_scale)
        noise = np.arange(math.ceil(60 * first) + 1)
        passing = np.exp(-noise / first) * -np.expm1(-1 / first)
        chances = []
        for count in counts[:-1]:
            needed = np.maximum(count - self.mechanism.threshold + noise, 0)
            stays = np.exp(-needed / look)
            chances.append((passing * stays).sum())
            passing = passing * -np.expm1(-needed / look)
        return np.array([*chances, passing.sum()]) + 1e-300


@dataclass(frozen=True)
class SmoothNoise:
    """Laplace noise around a statistic, of a scale that depends on the rows as well."""

    delta: Fraction

    def lost(self, one: tuple[int, Fraction], other: tuple[int, Fraction]) -> Lost:
        """The least ε for which the mechanism's δ is enough."""
        pair = [(float(centre), float(scale)) for centre, scale in (one, other)]
        if pair[0] == pair[1]:
            return Lost()

        def fits(epsilon: float) -> bool:
            worst = max(_excess(*pair, epsilon), _excess(*reversed(pair), epsilon))
            return worst <= self.delta

        low, high = 0.0, 1e-6
        while not fits(high):
            low, high = high, 2 * high
        for _ in range(40):
            middle = (low + high) / 2
            low, high = (low, middle) if fits(middle) else (middle, high)
        epsilon = below(low)
        return Lost(epsilon, epsilon, self.delta, epsilon**2 / 2)


def _excess(one: tuple[float, float], other: tuple[float, float], epsilon: float) -> float:
    """∫ max(0, p - e^ε·q) for Laplace densities p and q, each with its centre and its scale."""

    def ratio(x: float) -> float:
        (m, s), (n, t) = one, other
        return math.log(t / s) - abs(x - m) / s + abs(x - n) / t - epsilon

    def mass(law: tuple[float, float], x: float) -> float:
        tail = math.exp(-abs(x - law[0]) / law[1]) / 2
        return tail if x < law[0] else 1 - tail

    far = 800 * max(one[1], other[1])
    turns = sorted({one[0], other[0], one[0] - far, one[0] + far})
    roots = [
        a + (b - a) * ratio(a) / (ratio(a) - ratio(b))
        for a, b in pairwise(turns)
        if ratio(a) * ratio(b) < 0
    ]
    return sum(
        mass(one, b) - mass(one, a) - math.exp(epsilon) * (mass(other, b) - mass(other, a))
        for a, b in pairwise(sorted([*turns, *roots]))
        if ratio((a + b) / 2) > 0
    )


@dataclass(frozen=True)
class ShownKeys:
    """The keys that enough units have, each with a noisy number: noise is cut where it is large."""

    mechanism: Threshold

    def lost(self, one: Mapping[Any, int], other: Mapping[Any, int]) -> Lost:
        return total(self._of_key(one.get(key, 0), other.get(key, 0)) for key in {*one, *other})

    def _of_key(self, one: int, other: int) -> Lost:
        counts = [max(units - self.mechanism.least_units + 1, 0) for units in (one, other)]
        if counts[0] == counts[1]:
            return Lost()
        epsilon = abs(counts[0] - counts[1]) / self.mechanism.scale
        p, q = map(self._outcomes, counts)
        growth = math.exp(epsilon)
        delta = max(
            sum(max(0.0, p.get(outcome, 0.0) - growth * q.get(outcome, 0.0)) for outcome in p),
            sum(max(0.0, q.get(outcome, 0.0) - growth * p.get(outcome, 0.0)) for outcome in q),
        )
        # Chances that should be equal differ in doubles.
        return Lost(epsilon, epsilon, below(max(delta - 1e-12, 0.0)), epsilon**2 / 2)

    def _outcomes(self, count: int) -> dict[int | None, float]:
        """The chance of each number that is shown, and of None, where the key is not."""
        if not count:
            return {None: 1.0}
        cut = self.mechanism.cut
        noise = np.arange(-cut, cut + 1)
        weights = np.exp(-np.abs(noise) / float(self.mechanism.scale))
        chances = (weights / weights.sum()).tolist()
        shown: dict[int | None, float] = {None: 0.0}
        for at, chance in zip((count + noise).tolist(), chances, strict=True):
            place = at if at > cut else None
            shown[place] = shown.get(place, 0.0) + chance
        return shown


@dataclass(frozen=True)
class WeighedKeys:
    """The keys whose weight, with Gaussian noise, is above a threshold."""

    mechanism: WeightedKeys

    def lost(self, one: Mapping[Any, int], other: Mapping[Any, int]) -> Lost:
        """Keys that both tables have move by their weights, and others may give a table away.

        Of (ε, δ)-DP by another theorem all but δ is ε-DP ([KOV15]), and so ε²/2-zCDP: where δ is
        large, that is less than the ρ of the noise.
        """
        both = one.keys() & other.keys()
        moves = [abs(one[key] - other[key]) for key in both if one[key] != other[key]]
        alone = [weight for each in (one, other) for key, weight in each.items() if key not in both]
        variance = self.mechanism.variance
        shown = 1 - math.prod(1 - self._chance(weight) for weight in alone)
        rho = sum((move**2 / (2 * variance) for move in moves), ZERO)
        if not self.mechanism.concentrated:
            rho = min(rho, self.mechanism.epsilon**2 / 2)
        return Lost(delta=below(shown), rho=rho, moves=tuple((move, variance) for move in moves))

    def _chance(self, weight: int) -> float:
        """The chance that a key of this weight is shown; noise is finer than any step here."""
        beyond = (self.mechanism.threshold - weight) / math.sqrt(self.mechanism.variance)
        return math.erfc(beyond / math.sqrt(2)) / 2


Kind = (
    LaplaceNoise
    | StaircaseNoise
    | BoxNoise
    | FoundBounds
    | Coins
    | FinerNoise
    | GaussianNoise
    | LargestCount
    | Quantile
    | HalfWidth
    | Stop
    | SmoothNoise
    | ShownKeys
    | WeighedKeys
)
Secret = Any
"""What goes into a draw, in the form in which its kind compares it."""
