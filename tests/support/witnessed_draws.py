"""A witness of all draws of a session: what goes in, and what comes out.

It stands where noise is drawn. On one table it writes down each draw. On another it lets the same
outcomes come out, so that all that follows is the same, and writes down what went in there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from random import Random
from typing import Any
from unittest import mock

import numpy as np

from dpdb.plan.physical.plan import Plan
from dpdb.privacy.mechanisms.box import Box
from dpdb.privacy.mechanisms.selections.peeling import Peeling
from dpdb.privacy.mechanisms.selections.threshold import Threshold
from dpdb.privacy.mechanisms.selections.weighted_keys import WeightedKeys
from dpdb.privacy.mechanisms.staircase import Staircase
from dpdb.privacy.noise import ends, exponential, halves, smooth, thresholds
from dpdb.privacy.noise.system import SystemNoise
from dpdb.session.purchases import executor
from dpdb.vectors.vector import plain_values
from tests.support.draw_losses import (
    BoxNoise,
    Coins,
    FinerNoise,
    FoundBounds,
    GaussianNoise,
    HalfWidth,
    Kind,
    LaplaceNoise,
    LargestCount,
    Limit,
    Quantile,
    Secret,
    ShownKeys,
    SmoothNoise,
    StaircaseNoise,
    Stop,
    WeighedKeys,
)
from tests.support.loss_sums import Lost, total


@dataclass
class Draw:
    """One draw: what is public of it, what went in, and what came out."""

    kind: Kind
    inputs: list[Secret]
    """For one table and, later, for the other."""
    outcome: Any

    @cached_property
    def lost(self) -> Lost:
        """What it loses between the two tables."""
        one, other = self.inputs
        return self.kind.lost(one, other)


class Source(SystemNoise):
    """Noise of a known seed that passes for private, and remembers what it was last asked for."""

    def __init__(self, seed: int) -> None:
        super().__init__(Random(seed).randbytes)
        self.last: Kind | None = None

    @property
    def private(self) -> bool:
        return True

    def laplace(self, scale: Fraction, size: int) -> Any:
        self.last = LaplaceNoise(scale)
        return super().laplace(scale, size)

    def gaussian(self, variance: Fraction, size: int) -> Any:
        self.last = GaussianNoise(variance)
        return super().gaussian(variance, size)


def _plain(cells: Any) -> tuple[int, ...]:
    return tuple(np.asarray(cells).ravel().tolist())


@dataclass
class Witness:
    """The draws of a session, which is run twice: on one table, and then on the other."""

    source: Source
    chance: Random
    draws: list[Draw] = field(default_factory=list)
    again: Iterator[Draw] | None = None
    """The draws that are still to come out again, where it is the second time."""
    refined: set[bytes] = field(default_factory=set)
    """The noisy values that finer ones were drawn from: of each but once."""

    def lost(self, number: int) -> Lost:
        """What the first of the draws lose together."""
        return total(draw.lost for draw in self.draws[:number])

    def drawn(self, kind: Callable[[], Kind], secret: Secret, draw: Callable[[], Any]) -> Any:
        """The outcome of a draw; its kind is asked for when it has been made."""
        self.source.last = None
        if self.again is None:
            outcome = draw()
            self.draws.append(Draw(kind(), [secret], outcome))
            return outcome
        told = next(self.again, None)
        assert told is not None, kind
        made = (
            draw()
            if isinstance(told.kind, LaplaceNoise | GaussianNoise | StaircaseNoise | BoxNoise)
            else None
        )
        assert made is None or made.shape == told.outcome.shape
        assert kind() == told.kind, (kind(), told.kind)
        told.inputs.append(secret)
        return told.outcome

    @contextmanager
    def watching(self) -> Iterator[None]:
        """All noise is drawn before this witness."""
        with (
            mock.patch.object(executor, "_with_noise", self._added(executor._with_noise)),
            mock.patch.object(ends, "select_bounds", self._bounds(ends.select_bounds)),
            mock.patch.object(executor, "level", self._level(executor.level)),
            mock.patch.object(executor.GradualExecutor, "_gradual", self._gradual()),
            mock.patch.object(executor.Executor, "_select_keys", self._keys()),
            mock.patch.object(exponential, "select_value", self._value(exponential.select_value)),
            mock.patch.object(halves, "select_value", self._value(halves.select_value)),
            mock.patch.object(halves, "select_cut", self._cut(halves.select_cut)),
            mock.patch.object(exponential, "select_index", self._index(exponential.select_index)),
            mock.patch.object(exponential, "select_width", self._width(exponential.select_width)),
            mock.patch.object(thresholds, "stops", self._stops(thresholds.stops)),
            mock.patch.object(exponential, "select_limit", self._limit(exponential.select_limit)),
            mock.patch.object(smooth, "release", self._smooth(smooth.release)),
        ):
            yield

    def _added(self, original: Any) -> Any:
        def with_noise(numbers: Any, mechanism: Any, noise: Any) -> Any:
            def kind() -> Kind:
                if isinstance(mechanism, Staircase):
                    return StaircaseNoise(mechanism.sensitivity, mechanism.steps)
                if isinstance(mechanism, Box):
                    return BoxNoise(mechanism.halves, mechanism.rate)
                assert self.source.last is not None
                return self.source.last

            return self.drawn(kind, _plain(numbers), lambda: original(numbers, mechanism, noise))

        return with_noise

    def _bounds(self, original: Any) -> Any:
        def select_bounds(values: Any, grid: Any, mechanism: Any, noise: Any) -> Any:
            return self.drawn(
                lambda: FoundBounds(mechanism, grid),
                _plain(values),
                lambda: original(values, grid, mechanism, noise),
            )

        return select_bounds

    def _level(self, original: Any) -> Any:
        def level(step: Any, levels: Any, exact: Any, noise: Any) -> Any:
            kind: Kind = Coins()
            if step.needs_data:
                self._refine(levels[step.coarser])
                kind = FinerNoise(step.coarser, step.wanted)
            inputs = _plain(exact) if step.needs_data else ()
            return self.drawn(lambda: kind, inputs, lambda: original(step, levels, exact, noise))

        return level

    def _refine(self, coarse: Any) -> None:
        """Take note that finer noise is drawn from these values."""
        if self.again is None:
            assert coarse.tobytes() not in self.refined
            self.refined.add(coarse.tobytes())

    def _gradual(self) -> Any:
        original = executor.GradualExecutor._gradual.func

        def gradual(executed: Any) -> Any:
            exact, noise = original(executed)
            scales = [plan.releases[0].mechanism.scale for plan in executed.plans]
            return exact, Steps(self, scales, np.asarray(exact.cells), noise)

        kept = cached_property(gradual)
        kept.__set_name__(executor.GradualExecutor, "_gradual")
        return kept

    def _keys(self) -> Any:
        original = executor.Executor._select_keys

        def select_keys(executed: Any, plan: Plan, slots: Any) -> Any:
            """As the executor does it, but by the keys themselves."""
            mechanism = plan.fresh[0].mechanism
            if isinstance(mechanism, Peeling):  # its choices are witnessed one by one
                return original(executed, plan, slots)
            counts = executed.engine.key_counts(plan, slots)
            columns = [plain_values(each, kind, counts.rows) for each, kind in counts.columns]
            keys = list(zip(*columns, strict=True))

            if isinstance(mechanism, WeightedKeys):

                def weigh() -> Any:
                    places = executor.thresholds.select_weighted_keys(
                        counts.weights, mechanism, executed.noise
                    )
                    return tuple(keys[place] for place in places), np.zeros(len(places), int)

                weights = dict(zip(keys, counts.weights.tolist(), strict=True))
                return self.drawn(lambda: WeighedKeys(mechanism), weights, weigh)
            assert isinstance(mechanism, Threshold)

            def draw() -> Any:
                shown, units = executor.thresholds.select_keys(
                    counts.units, mechanism, executed.noise
                )
                return tuple(keys[place] for place in shown), units

            units = dict(zip(keys, counts.units.tolist(), strict=True))
            return self.drawn(lambda: ShownKeys(mechanism), units, draw)

        return select_keys

    def _value(self, original: Any) -> Any:
        def select_value(values: Any, grid: Any, fraction: Any, mechanism: Any, noise: Any) -> Any:
            return self.drawn(
                lambda: Quantile(mechanism.rate, grid, fraction),
                _plain(values),
                lambda: original(values, grid, fraction, mechanism, noise),
            )

        return select_value

    def _cut(self, original: Any) -> Any:
        """What comes out is a point, and the place that a cut is the rank of."""

        def select_cut(values: Any, grid: Any, fraction: Any, mechanism: Any, noise: Any) -> Any:
            def ties(point: int) -> tuple[int, int]:
                left, right = (int(values.searchsorted(point, side=s)) for s in ("left", "right"))
                return left, right - left

            def draw() -> Any:
                point, cut = original(values, grid, fraction, mechanism, noise)
                below, number = ties(point)
                within = Fraction(self.chance.randrange(2**60), 2**60)
                return point, (cut - below + within) / (number + 1)

            point, place = self.drawn(
                lambda: Quantile(mechanism.rate, grid, fraction, cut=True), _plain(values), draw
            )
            below, number = ties(point)
            return point, below + math.floor(place * (number + 1))

        return select_cut

    def _index(self, original: Any) -> Any:
        def select_index(counts: Any, mechanism: Any, noise: Any) -> Any:
            return self.drawn(
                lambda: LargestCount(mechanism.rate),
                _plain(counts),
                lambda: original(counts, mechanism, noise),
            )

        return select_index

    def _width(self, original: Any) -> Any:
        def select_width(
            values: Any, centre: Any, fraction: Any, mechanism: Any, noise: Any
        ) -> Any:
            return self.drawn(
                lambda: HalfWidth(mechanism, centre, fraction),
                _plain(values),
                lambda: original(values, centre, fraction, mechanism, noise),
            )

        return select_width

    def _limit(self, original: Any) -> Any:
        def select_limit(counts: Any, mechanism: Any, noise: Any) -> Any:
            return self.drawn(
                lambda: Limit(mechanism),
                _plain(counts),
                lambda: original(counts, mechanism, noise),
            )

        return select_limit

    def _stops(self, original: Any) -> Any:
        def stops(cells: Any, rungs: Any, mechanism: Any, noise: Any) -> Any:
            return np.concatenate(
                [self._stop(original, each, rungs, mechanism, noise) for each in cells]
            )

        return stops

    def _stop(self, original: Any, values: Any, rungs: Any, mechanism: Any, noise: Any) -> Any:
        rises, plain = rungs[0] <= rungs[-1], _plain(values)
        beyond = tuple(
            sum(value > rung if rises else value < rung for value in plain) for rung in rungs
        )
        return self.drawn(
            lambda: Stop(mechanism), beyond, lambda: original([values], rungs, mechanism, noise)
        )

    def _smooth(self, original: Any) -> Any:
        def release(values: Any, grid: Any, mechanism: Any, noise: Any) -> Any:
            return self.drawn(
                lambda: SmoothNoise(mechanism.delta / mechanism.groups_per_unit),
                smooth.statistic_and_scale(values, grid, mechanism),
                lambda: original(values, grid, mechanism, noise),
            )

        return release


@dataclass
class Steps:
    """Gradual noise before a witness: each step is noted when it is first drawn."""

    witness: Witness
    scales: list[Fraction]
    cells: Any
    noise: Any
    told: list[Any] = field(default_factory=list)

    def at(self, step: int) -> Any:
        while len(self.told) <= step:
            self.told.append(self._next(len(self.told)))
        return self.told[step] - self.cells

    def _next(self, place: int) -> Any:
        def kind() -> Kind:
            if place:
                return FinerNoise(self.scales[place - 1], self.scales[place])
            return LaplaceNoise(self.scales[0])

        cells = self.cells
        return self.witness.drawn(kind, _plain(cells), lambda: cells + self.noise.at(place))
