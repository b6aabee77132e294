"""Receipt, exact results, noise: the one place where they meet.

An executor asks the engine for nothing unless a ledger's receipt covers what the plan's mechanisms
lose together. Nothing leaves it but noisy values (in teaching mode also what they hide), and they
leave on a tick: who interrupts the work finds nothing of it kept.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import field, replace
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, assert_never

import numpy as np

from dpdb.answers.estimates import Draws, Noisy
from dpdb.answers.record import Disclosure
from dpdb.answers.tables.derived import subquery_answers
from dpdb.answers.tables.groups import with_keys
from dpdb.answers.tables.weighted_sums import sums_of
from dpdb.errors import InternalError, paid_for
from dpdb.plan.logical.query import KeyRow, are_sought
from dpdb.plan.physical.plan import Plan
from dpdb.plan.physical.release import Release
from dpdb.plan.ranges.statistics import FilledLadder, Ranks, Statistic, Tally
from dpdb.privacy.accounting.composition import ComposedLoss
from dpdb.privacy.mechanisms.box import Box
from dpdb.privacy.mechanisms.gaussian import Gaussian
from dpdb.privacy.mechanisms.laplace import Laplace
from dpdb.privacy.mechanisms.mechanism import Additive
from dpdb.privacy.mechanisms.selections.bracket import Bracket
from dpdb.privacy.mechanisms.selections.caps import FoundCaps
from dpdb.privacy.mechanisms.selections.ends import FoundEnds
from dpdb.privacy.mechanisms.selections.exponential import Exponential
from dpdb.privacy.mechanisms.selections.found_limit import FoundLimit
from dpdb.privacy.mechanisms.selections.found_room import FoundRoom
from dpdb.privacy.mechanisms.selections.halves import Halves
from dpdb.privacy.mechanisms.selections.peeling import Peeling
from dpdb.privacy.mechanisms.selections.threshold import Threshold
from dpdb.privacy.mechanisms.selections.walk import Walk
from dpdb.privacy.mechanisms.selections.weighted_keys import WeightedKeys
from dpdb.privacy.mechanisms.smooth import Smooth
from dpdb.privacy.mechanisms.staircase import Staircase
from dpdb.privacy.noise import box, ends, exponential, halves, smooth, staircase, thresholds
from dpdb.privacy.noise.refinement import level
from dpdb.records import dataclass
from dpdb.session.exact_values import disclosures
from dpdb.session.purchases.shared_levels import Series, Shared, loss_of_step
from dpdb.vectors.vector import plain_values

if TYPE_CHECKING:
    from typing import Any

    import numpy.typing as npt

    from dpdb.engines.protocol import Engine, Exact, KeyCounts
    from dpdb.ledger.protocol import Receipt
    from dpdb.plan.expressions.expressions import Slot
    from dpdb.plan.relations.regions import Region
    from dpdb.privacy.levels import Step
    from dpdb.privacy.noise.protocols import Noise
    from dpdb.privacy.noise.refinement import GradualNoise
    from dpdb.vectors.vector import AnyVector


Reading = Callable[[float], AbstractContextManager[object]]
"""Waits for a tick at the end of work to which one unit can add so many seconds."""


def _check_receipt(loss: ComposedLoss, region: Region, receipt: Receipt) -> None:
    """Refuse a plan whose mechanisms lose more than was charged for.

    The loss is that of every release that would be drawn, subqueries' included, beyond what was
    released before. In a session it is what was charged, so that a refusal is a mistake of
    ours; then an error is better than a release that nobody accounts for.
    """
    if not receipt.covers(loss, region):
        raise InternalError("this plan would reveal more than its cost, and nothing was drawn")


@dataclass(frozen=True, repr=False)
class NoisyResult:
    """The noisy values of a plan, and in teaching mode what they hide."""

    noisy: Noisy
    revealed: tuple[Disclosure, ...] = ()


@dataclass(frozen=True, repr=False)
class Executor:
    """Draws the releases of plans that are paid for."""

    engine: Engine
    noise: Noise
    teach: bool
    known: Draws = ()
    """The noisy values of the releases that a plan recalls."""
    reading: Reading = field(kw_only=True)
    """Within it rows are looked at."""

    def execute(self, plan: Plan, receipt: Receipt, shared: Shared | None = None) -> NoisyResult:
        """The noisy results of a plan, and nothing of the exact ones.

        Releases that were made before, as `shared` says, get the noise that goes with what was
        released. Raises InternalError, and asks the engine for nothing, where the receipt does not
        cover the plan.
        """
        shared = shared or Shared(plan)
        with paid_for():
            _check_receipt(shared.loss, plan.region, receipt)
            with self.reading(plan.work.seconds):
                return self._execute(shared)

    def execute_search(
        self, plan: Plan, then: Callable[[Noisy], Plan], receipt: Receipt
    ) -> tuple[NoisyResult, NoisyResult]:
        """The bounds that a plan seeks, and the answer that follows `then`; both on one tick.

        The receipt is for both. Raises InternalError where it does not cover one of them.
        """
        (search,) = plan.subplans
        with paid_for():
            _check_receipt(search.composed_loss, search.region, receipt)
            with self.reading(plan.work.seconds):
                found = self._execute(Shared(search))
                answer = then(found.noisy)
                _check_receipt(answer.composed_loss, answer.region, receipt)
                return found, self._execute(Shared(answer))

    def _execute(self, shared: Shared) -> NoisyResult:
        plan = shared.plan
        inner = [self._execute(Shared(subplan)) for subplan in plan.subplans]
        subresults = tuple(each.noisy for each in inner)
        revealed = [disclosure for each in inner for disclosure in each.revealed]
        if plan.derived is not None:
            return NoisyResult(Noisy((), {}, subresults), tuple(revealed))
        subqueries = subquery_answers(plan, subresults)
        known, keys = self.known[: plan.recalled], tuple[KeyRow, ...]()
        if are_sought(plan.found):
            keys, units = self._select_keys(plan, subqueries)
            plan, known = with_keys(plan, keys), (*known, units)
        # No key may be shown, and then there is nothing more to be drawn.
        releases = plan.exact_releases if plan.cells else ()
        results: Sequence[Exact | None] = [None] * len(releases)
        if releases and shared.needs_data:
            results = self.engine.exact(plan, subqueries)
        exact = [_sums(*each) for each in zip(releases, results, strict=True)]
        if self.teach:
            revealed += disclosures(plan, [each for each in exact if each is not None])
        draws: list[npt.NDArray[Any]] = [*known]
        centre_of = plan.centres
        for release, result in zip(releases, exact, strict=True):
            series_and_step = shared.steps.get(len(draws))
            if series_and_step is not None:
                draws.append(self._at_level(*series_and_step, result))
            else:
                assert result is not None
                centre = centre_of.get(len(draws))
                around = None if centre is None else draws[centre]
                draws.append(self._draw(release, result, around))
        return NoisyResult(Noisy(tuple(draws), subqueries, subresults, keys), tuple(revealed))

    def _at_level(self, series: Series, step: Step, exact: Exact | None) -> npt.NDArray[Any]:
        """A level of a series; only a finer one than all that are there needs the exact values."""
        values = np.asarray(exact.cells) if exact is not None and step.needs_data else None
        return level(step, series.levels, values, self.noise)

    def _select_keys(
        self, plan: Plan, slots: Mapping[Slot, AnyVector]
    ) -> tuple[tuple[KeyRow, ...], npt.NDArray[np.int64]]:
        """The keys that are shown, with their noisy numbers of units.

        Nothing of the other keys that rows have leaves this method.
        """
        counts, (release, *_) = self.engine.key_counts(plan, slots), plan.fresh
        match release.mechanism:
            case Threshold() as mechanism:
                shown, units = thresholds.select_keys(counts.units, mechanism, self.noise)
            case WeightedKeys() as mechanism:
                shown = thresholds.select_weighted_keys(counts.weights, mechanism, self.noise)
                units = np.zeros(len(shown), np.int64)  # their number is not told
            case Peeling() as mechanism:
                return _largest(plan, counts, mechanism, self.noise)
            case other:
                raise AssertionError(f"{other.name} selects no keys")
        rows = counts.rows[shown]
        columns = [plain_values(vector, kind, rows) for vector, kind in counts.columns]
        return tuple(zip(*columns, strict=True)), units

    def _draw(
        self, release: Release, exact: Exact, centres: npt.NDArray[Any] | None
    ) -> npt.NDArray[Any]:
        """The noisy values of a release; a bracket is around the `centres`, released before."""
        mechanism, statistic, noise = release.mechanism, release.statistic, self.noise
        chosen: Sequence[object]
        match mechanism:
            case Laplace(sensitivity=0):
                return np.asarray(exact.cells)
            case Laplace() | Gaussian() | Staircase() | Box():
                return _with_noise(np.asarray(exact.cells), mechanism, noise)
            case Exponential():
                chosen = [_selected(each, statistic, mechanism, noise) for each in exact.cells]
            case Bracket():
                fraction = _ranks(statistic).fraction
                assert centres is not None
                around = centres if centres.ndim == 1 else centres[:, release.column]
                chosen = [
                    exponential.select_width(values, centre, fraction, mechanism, noise)
                    for values, centre in zip(exact.cells, around.tolist(), strict=True)
                ]
            case Halves():
                grid = _ranks(statistic).ends
                chosen = [halves.select_quantiles(v, grid, mechanism, noise) for v in exact.cells]
            case FoundEnds() | FoundCaps() | FoundRoom():
                assert isinstance(statistic, Ranks | FilledLadder)
                grid = statistic.ends
                chosen = [ends.select_bounds(v, grid, mechanism, noise) for v in exact.cells]
            case Walk():
                rungs = _ranks(statistic).rungs
                return thresholds.stops(list(exact.cells), rungs, mechanism, noise)
            case Smooth():
                grid = _ranks(statistic).ends
                chosen = [smooth.release(values, grid, mechanism, noise) for values in exact.cells]
            case FoundLimit():
                return _at_limit(np.asarray(exact.cells), mechanism, noise)
            case Threshold() | WeightedKeys() | Peeling():
                raise AssertionError("keys are selected before the rest is drawn")
            case other:
                assert_never(other)
        return np.array(chosen, dtype=np.int64)


def _sums(release: Release, exact: Exact | None) -> Exact | None:
    """The exact result, or the sums of it that a strategy draws."""
    if release.strategy is None or exact is None:
        return exact
    return replace(exact, cells=sums_of(release.strategy, np.asarray(exact.cells)))


def _selected(cell: Any, statistic: Statistic, mechanism: Exponential, noise: Noise) -> int:  # noqa: ANN401 (numbers, or sorted values)
    """The index of a cell's commonest value, or its quantile."""
    if isinstance(statistic, Tally):
        return exponential.select_index(np.asarray(cell).tolist(), mechanism, noise)
    ranks = _ranks(statistic)
    return exponential.select_value(cell, ranks.ends, ranks.fraction, mechanism, noise)


def _ranks(statistic: Statistic) -> Ranks:
    assert isinstance(statistic, Ranks)
    return statistic


def _largest(
    plan: Plan, counts: KeyCounts, mechanism: Peeling, noise: Noise
) -> tuple[tuple[KeyRow, ...], npt.NDArray[np.int64]]:
    """The largest of the groups that the policy lists, of which rows may have none."""
    assert plan.found is not None
    candidates = [*product(*plan.found.among)]
    columns = [plain_values(vector, kind, counts.rows) for vector, kind in counts.columns]
    units = dict(zip(zip(*columns, strict=True), counts.units.tolist(), strict=True))
    scores = [units.get(key, 0) for key in candidates]
    chosen = exponential.select_largest(scores, mechanism, noise)
    return tuple(candidates[index] for index in chosen), np.zeros(len(chosen), np.int64)


def _at_limit(
    counts: npt.NDArray[np.int64], mechanism: FoundLimit, noise: Noise
) -> npt.NDArray[np.int64]:
    """For each cell its noisy number at a limit, and the limit, which is the same for all."""
    limit = exponential.select_limit(counts.sum(axis=0), mechanism, noise)
    exact = counts[:, mechanism.passes.index(limit)]
    noisy = _with_noise(exact, mechanism.noise(limit), noise)
    return np.column_stack((noisy, np.full_like(noisy, limit)))


def _with_noise(
    numbers: npt.NDArray[Any], mechanism: Additive | Box, noise: Noise
) -> npt.NDArray[Any]:
    """Every number with noise of its own, or every row of numbers with that of one box."""
    match mechanism:
        case Laplace(scale=scale):
            drawn = noise.laplace(scale, numbers.size)
        case Gaussian(variance=variance):
            drawn = noise.gaussian(variance, numbers.size)
        case Staircase():
            drawn = staircase.draws(mechanism, noise, numbers.size)
        case Box():
            drawn = box.draws(mechanism, noise, len(numbers)).ravel()
        case other:
            assert_never(other)
    return np.asarray((numbers.ravel() + drawn).reshape(numbers.shape))


@dataclass(frozen=True, repr=False)
class GradualExecutor:
    """Draws the answers to plans that differ in their ε alone, which rises from plan to plan.

    Each answer is a coarser view of the next, so whoever has seen some has seen no more than the
    last of them tells.
    """

    executor: Executor
    plans: Sequence[Plan]
    released: Mapping[int, npt.NDArray[Any]] = field(default_factory=dict)
    """The noisy values by one of the plans that were released before; those after it go on.

    Empty where none were.
    """

    def execute(self, step: int, receipt: Receipt) -> NoisyResult:
        """The noisy values of one of the plans; the receipt is for all steps up to this one.

        Where some were released before, the receipt is for what is new since then.

        Raises InternalError where the receipt does not cover the plan: at the first step before
        the engine is asked, and at a later one before its noise is drawn.
        """
        plan = self.plans[step]
        with paid_for():
            _check_receipt(self._new_loss(plan), plan.region, receipt)
            exact, noise = self._gradual
        revealed = disclosures(plan, [exact]) if self.executor.teach else ()
        return NoisyResult(Noisy((exact.cells + noise.at(step),), {}), tuple(revealed))

    def _new_loss(self, plan: Plan) -> ComposedLoss:
        """The loss of a plan beyond what was released before."""
        for step in self.released:
            return loss_of_step(plan, self.plans[step].loss.epsilon)
        return plan.composed_loss

    @cached_property
    def _gradual(self) -> tuple[Exact, GradualNoise]:
        """The exact result, and the noise of the steps: the same for all of them."""
        from dpdb.privacy.noise.refinement import GradualNoise  # noqa: PLC0415 (few are gradual)

        with self.executor.reading(self.plans[0].work.seconds):
            (exact,) = self.executor.engine.exact(self.plans[0], {})
        noises = [plan.releases[0].noise for plan in self.plans]
        scales = [noise.scale for noise in noises if noise is not None and noise.is_gradual]
        released = {step: values - exact.cells for step, values in self.released.items()}
        return exact, GradualNoise(scales, len(exact.cells), self.executor.noise, released)
