"""Debit, exact results, noise: the one place where they meet.

A plan is charged to the ledger before the engine looks at a row, and nothing
leaves here but noisy values (in teaching mode also what they hide).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from dpdb.answers import accuracy_notes
from dpdb.answers.answer import Disclosure
from dpdb.answers.estimates import Noisy, points, scalar
from dpdb.errors import BudgetExceeded
from dpdb.ledger.memory import MemoryLedger
from dpdb.ledger.protocol import FREE, Price
from dpdb.plan.expressions import Slot
from dpdb.plan.plan import CONFIDENCE, Plan, Release, at_once
from dpdb.plan.query import Options
from dpdb.plan.statistics import Ranks, Tally
from dpdb.privacy.accounting.composition import NO_LOSS, ComposedLoss
from dpdb.privacy.gradual_release import enough
from dpdb.privacy.mechanisms import Exponential, Gaussian, Laplace, Smooth
from dpdb.privacy.noise import exponential, smooth
from dpdb.session.teaching import disclosures
from dpdb.vectors.vector import AnyVector

if TYPE_CHECKING:
    from typing import Any

    import numpy.typing as npt

    from dpdb.engines.memory.engine import MemoryEngine
    from dpdb.engines.protocol import Exact
    from dpdb.privacy.noise.source import Noise


@dataclass(frozen=True, repr=False)
class Purchase:
    """What a query is answered with, and what for."""

    result: NoisyResult
    price: Price
    notes: tuple[str, ...] = ()
    step: int = 0
    """Which of the plans it is for, where there are several."""


def settled() -> Purchase:
    """What a plan needs that the policy alone answers: nothing, not even a query."""
    return Purchase(NoisyResult(Noisy((), {})), FREE)


def buy(plan: Plan, options: Options, ledger: MemoryLedger, executor: Executor) -> Purchase:
    """Debit before data, and no refunds: what happens after it is paid for."""
    price = ledger.charge(ComposedLoss.of(plan.loss), plan.region)
    return Purchase(executor.execute(plan), price, accuracy_notes.kept(options, plan))


def buy_gradually(
    plans: Sequence[Plan], options: Options, ledger: MemoryLedger, executor: Executor
) -> Iterator[Purchase]:
    """The answers to plans of rising ε, up to the first that is as accurate as asked.

    Gradual release of Laplace noise ([KHP17]): what has been paid in
    the end is the price of the last answer alone. How much that is depends on the noisy
    answers, and on nothing else: ex-post privacy ([LNRWW17]).
    Each step's increment is debited before it is looked at. What theorems other than the
    sum of ε need to know is that of the last plan from the first step on: they have nothing
    to say of a price that hangs on the answers.
    """
    price, paid = FREE, Fraction(0)
    releases = None
    for step, plan in enumerate(plans):
        due = plan.loss.epsilon - paid
        last = ComposedLoss.of(plans[-1].loss) if not step else NO_LOSS
        try:
            price += ledger.charge(replace(last, epsilon=due), plan.region, int(not step))
        except BudgetExceeded:
            if not step:
                raise
            return
        paid += due
        releases = releases or executor.execute_gradually(plans)
        released = releases(step)
        reached = _is_accurate(plan, released, options)
        notes = accuracy_notes.bought(options, plan, reached=reached)
        yield Purchase(released, price, notes, step)
        if reached:
            return


def _is_accurate(plan: Plan, released: NoisyResult, options: Options) -> bool:
    """Whether the noise on every cell is within the relative error asked for."""
    (release,), (draws,) = plan.releases, released.noisy.draws
    assert isinstance(release.mechanism, Laplace)
    assert options.relative_error is not None
    confidence = at_once(float(options.confidence or CONFIDENCE), plan.competing_rows)
    margin = release.mechanism.quantile(confidence)
    return all(enough(value, margin, options.relative_error) for value in draws.tolist())


@dataclass(frozen=True, repr=False)
class NoisyResult:
    """The noisy values of a plan, and in teaching mode what they hide."""

    noisy: Noisy
    revealed: tuple[Disclosure, ...] = ()


@dataclass(frozen=True, repr=False)
class Executor:
    """Draws the releases of plans."""

    engine: MemoryEngine
    noise: Noise
    teach: bool

    def execute(self, planned: Plan) -> NoisyResult:
        """Exact results, noise on each, and nothing of the exact ones left."""
        subqueries: dict[Slot, AnyVector] = {}
        within: list[Noisy] = []
        revealed: list[Disclosure] = []
        for index, subplan in enumerate(planned.subplans):
            inner = self.execute(subplan)
            slot = Slot("subquery", index, subplan.outputs[0].expression.kind)
            noisy = inner.noisy
            subqueries[slot] = scalar(subplan, points(subplan, noisy.draws), noisy.subqueries)
            within.append(noisy)
            revealed += inner.revealed
        exact = self.engine.exact(planned, subqueries)
        if self.teach:
            revealed += disclosures(planned, exact)
        draws = tuple(
            self._draw(release, result)
            for release, result in zip(planned.releases, exact, strict=True)
        )
        return NoisyResult(Noisy(draws, subqueries, tuple(within)), tuple(revealed))

    def execute_gradually(self, plans: Sequence[Plan]) -> Callable[[int], NoisyResult]:
        """The noisy values of the first, second, … of plans that differ in their ε alone.

        Each is a coarser view of the next, so whoever has seen some has seen no more than
        the last of them tells.
        """
        from dpdb.privacy.noise.gradual import ladder  # noqa: PLC0415 (few queries are gradual)

        (exact,) = self.engine.exact(plans[0], {})
        mechanisms = [plan.releases[0].mechanism for plan in plans]
        scales = [each.scale for each in mechanisms if isinstance(each, Laplace)]
        noises = ladder(scales, len(exact.cells), self.noise)

        def released(step: int) -> NoisyResult:
            revealed = disclosures(plans[step], [exact]) if self.teach else ()
            return NoisyResult(Noisy((exact.cells + noises[step],), {}), tuple(revealed))

        return released

    def _draw(self, drawn: Release, exact: Exact) -> npt.NDArray[Any]:
        mechanism, statistic, noise = drawn.mechanism, drawn.statistic, self.noise
        match mechanism, statistic:
            case Laplace(sensitivity=0), _:
                return np.asarray(exact.cells)
            case Laplace(scale=scale), _:
                return np.asarray(exact.cells + noise.laplace(scale, len(exact.cells)))
            case Gaussian(variance=variance), _:
                return np.asarray(exact.cells + noise.gaussian(variance, len(exact.cells)))
            case Exponential(), Ranks(grid=grid, fraction=fraction):
                ends = (grid.lower, grid.upper)
                chosen = [
                    exponential.select_value(values, ends, fraction, mechanism, noise)
                    for values in exact.cells
                ]
            case Exponential(), Tally():
                chosen = [
                    exponential.select_index(counts.tolist(), mechanism, noise)
                    for counts in exact.cells
                ]
            case Smooth(), Ranks(grid=grid):
                ends = (grid.lower, grid.upper)
                chosen = [smooth.release(values, ends, mechanism, noise) for values in exact.cells]
            case _:
                raise AssertionError(type(statistic))
        return np.array(chosen, dtype=np.int64)
