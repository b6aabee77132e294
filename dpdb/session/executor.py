"""Receipt, exact results, noise: the one place where they meet.

An executor asks the engine for nothing unless a ledger's receipt covers what the plan's mechanisms
lose together. Nothing leaves it but noisy values (in teaching mode also what they hide).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from dpdb.answers.derived import scalar_value
from dpdb.answers.estimates import Draws, Noisy
from dpdb.answers.group_rows import with_keys
from dpdb.answers.record import Disclosure
from dpdb.errors import InternalError
from dpdb.plan.expressions import Slot
from dpdb.plan.found_keys import KeyRow, are_sought
from dpdb.plan.plan import Plan, Release
from dpdb.plan.statistics import Ranks, Tally
from dpdb.privacy.bracket import Bracket
from dpdb.privacy.halves import Halves
from dpdb.privacy.mechanisms import Exponential, Gaussian, Laplace, Smooth
from dpdb.privacy.noise import bracket, exponential, halves, smooth, thresholding, walk
from dpdb.privacy.thresholding import Threshold
from dpdb.privacy.walk import Walk
from dpdb.session.teaching import disclosures
from dpdb.vectors.plain import plain_values
from dpdb.vectors.vector import AnyVector

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    import numpy.typing as npt

    from dpdb.engines.protocol import Engine, Exact
    from dpdb.ledger.protocol import Receipt
    from dpdb.privacy.noise.gradual import GradualNoise
    from dpdb.privacy.noise.source import Noise


def check_receipt(plan: Plan, receipt: Receipt) -> None:
    """Refuse a plan whose mechanisms lose more than was charged for.

    The loss is that of every release that would be drawn, subqueries' included. In a session it
    is what was charged, so that a refusal is a mistake of ours; then an error is better than a
    release that nobody accounts for.
    """
    if not receipt.covers(plan.composed_loss, plan.region):
        raise InternalError(
            "this plan would reveal more than was charged for, and nothing was drawn",
            hint="what it cost stays paid",
        )


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

    def execute(self, plan: Plan, receipt: Receipt) -> NoisyResult:
        """Exact results, noise on each, and nothing of the exact ones left.

        Raises InternalError, and asks the engine for nothing, where the receipt does not cover
        the plan.
        """
        check_receipt(plan, receipt)
        return self._execute(plan)

    def _execute(self, plan: Plan) -> NoisyResult:
        subqueries: dict[Slot, AnyVector] = {}
        subresults: list[Noisy] = []
        revealed: list[Disclosure] = []
        for index, subplan in enumerate(plan.subplans):
            inner = self._execute(subplan)
            subresults.append(inner.noisy)
            revealed += inner.revealed
            if plan.derived is None:
                slot = Slot("subquery", index, subplan.outputs[0].expression.kind)
                subqueries[slot] = scalar_value(subplan, inner.noisy)
        if plan.derived is not None:
            return NoisyResult(Noisy((), {}, tuple(subresults)), tuple(revealed))
        known = self.known[: plan.recalled]
        keys: tuple[KeyRow, ...] = ()
        if are_sought(plan.found):
            keys, units = self._select_keys(plan, subqueries)
            plan, known = with_keys(plan, keys), (*known, units)
        # No key may be shown, and then there is nothing more to be drawn.
        exact = self.engine.exact(plan, subqueries) if plan.cells else ()
        if self.teach:
            revealed += disclosures(plan, exact)
        draws: list[npt.NDArray[Any]] = []
        centres: npt.NDArray[Any] = np.zeros(0)
        for release, result in zip(plan.exact_releases if plan.cells else (), exact, strict=True):
            draws.append(self._draw(release, result, centres))
            if not isinstance(release.mechanism, Bracket):
                centres = draws[-1]
        noisy = Noisy((*known, *draws), subqueries, tuple(subresults), keys)
        return NoisyResult(noisy, tuple(revealed))

    def _select_keys(
        self, plan: Plan, slots: Mapping[Slot, AnyVector]
    ) -> tuple[tuple[KeyRow, ...], npt.NDArray[np.int64]]:
        """The keys that are shown of those that rows have, and their noisy numbers of units.

        Of the others nothing leaves this method.
        """
        counts, (release, *_) = self.engine.key_counts(plan, slots), plan.fresh
        assert isinstance(release.mechanism, Threshold)
        shown, units = thresholding.select_keys(counts.units, release.mechanism, self.noise)
        rows = counts.rows[shown]
        columns = [plain_values(vector, kind, rows) for vector, kind in counts.columns]
        return tuple(zip(*columns, strict=True)), units

    def _draw(self, release: Release, exact: Exact, centres: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The noisy values of a release; a bracket is around the `centres`, released before."""
        mechanism, statistic, noise = release.mechanism, release.statistic, self.noise
        match mechanism, statistic:
            case Laplace(sensitivity=0), _:
                return np.asarray(exact.cells)
            case Laplace(scale=scale), _:
                return _with_noise(exact, lambda size: noise.laplace(scale, size))
            case Gaussian(variance=variance), _:
                return _with_noise(exact, lambda size: noise.gaussian(variance, size))
            case Exponential(), Ranks(grid=grid, fraction=fraction):
                ends = (grid.lower, grid.upper)
                chosen = [
                    exponential.select_value(values, ends, fraction, mechanism, noise)
                    for values in exact.cells
                ]
            case Bracket(), Ranks(fraction=fraction):
                around = centres if centres.ndim == 1 else centres[:, release.column]
                chosen = [
                    bracket.select_width(values, centre, fraction, mechanism, noise)
                    for values, centre in zip(exact.cells, around.tolist(), strict=True)
                ]
            case Halves(), Ranks(grid=grid):
                ends = (grid.lower, grid.upper)
                return np.array(
                    [halves.select_quantiles(v, ends, mechanism, noise) for v in exact.cells],
                    dtype=np.int64,
                )
            case Exponential(), Tally():
                chosen = [
                    exponential.select_index(counts.tolist(), mechanism, noise)
                    for counts in exact.cells
                ]
            case Walk(), Ranks():
                return walk.stops(list(exact.cells), statistic.rungs, mechanism, noise)
            case Smooth(), Ranks(grid=grid):
                ends = (grid.lower, grid.upper)
                chosen = [smooth.release(values, ends, mechanism, noise) for values in exact.cells]
            case _:
                raise AssertionError(type(statistic))
        return np.array(chosen, dtype=np.int64)


def _with_noise(exact: Exact, noise: Callable[[int], npt.NDArray[np.int64]]) -> npt.NDArray[Any]:
    """Every number with noise of its own."""
    numbers = np.asarray(exact.cells)
    return np.asarray((numbers.ravel() + noise(numbers.size)).reshape(numbers.shape))


@dataclass(frozen=True, repr=False)
class GradualExecutor:
    """Draws the answers to plans that differ in their ε alone, which rises from plan to plan.

    Each answer is a coarser view of the next, so whoever has seen some has seen no more than the
    last of them tells.
    """

    executor: Executor
    plans: Sequence[Plan]

    def execute(self, step: int, receipt: Receipt) -> NoisyResult:
        """The noisy values of one of the plans; the receipt is for all steps up to this one.

        Raises InternalError where the receipt does not cover the plan: at the first step before
        the engine is asked, and at a later one before its noise is drawn.
        """
        plan = self.plans[step]
        check_receipt(plan, receipt)
        exact, noise = self._gradual
        revealed = disclosures(plan, [exact]) if self.executor.teach else ()
        return NoisyResult(Noisy((exact.cells + noise.at(step),), {}), tuple(revealed))

    @cached_property
    def _gradual(self) -> tuple[Exact, GradualNoise]:
        """The exact result, and the noise of the steps: the same for all of them."""
        from dpdb.privacy.noise.gradual import GradualNoise  # noqa: PLC0415 (few are gradual)

        (exact,) = self.executor.engine.exact(self.plans[0], {})
        mechanisms = [plan.releases[0].mechanism for plan in self.plans]
        scales = [each.scale for each in mechanisms if isinstance(each, Laplace)]
        return exact, GradualNoise(scales, len(exact.cells), self.executor.noise)
