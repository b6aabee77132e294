"""Answers and what was paid for them, at once or step by step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from dpdb import describing
from dpdb.errors import BudgetExceeded
from dpdb.ledger import FREE, MemoryLedger, Price
from dpdb.plan import Plan
from dpdb.privacy.composition import NOTHING, Sums
from dpdb.privacy.gradual import enough
from dpdb.privacy.mechanisms import Laplace
from dpdb.releases import CONFIDENCE, at_once
from dpdb.releasing import Released, Releaser
from dpdb.sql.query import Options


@dataclass(frozen=True, repr=False)
class Bought:
    """What a query is answered with, and what for."""

    released: Released
    price: Price
    notes: tuple[str, ...] = ()
    step: int = 0
    """Which of the plans it is for, where there are several."""


def buy(plan: Plan, options: Options, ledger: MemoryLedger, releaser: Releaser) -> Bought:
    """Debit before data, and no refunds: what happens after it is paid for."""
    price = ledger.charge(Sums.of(plan.loss), plan.region)
    return Bought(releaser.release(plan), price, describing.kept(options, plan))


def buy_gradually(
    plans: Sequence[Plan], options: Options, ledger: MemoryLedger, releaser: Releaser
) -> Iterator[Bought]:
    """The answers to plans of rising ε, up to the first that is as accurate as asked.

    Gradual release of Laplace noise (Koufogiannis, Han, Pappas 2017): what has been paid in
    the end is the price of the last answer alone. How much that is depends on the noisy
    answers, and on nothing else: ex-post privacy (Ligett, Neel, Roth, Waggoner, Wu 2017).
    Each step's increment is debited before it is looked at. What theorems other than the
    sum of ε need to know is that of the last plan from the first step on: they have nothing
    to say of a price that hangs on the answers.
    """
    price, paid = FREE, Fraction(0)
    releases = None
    for step, plan in enumerate(plans):
        due = plan.loss.epsilon - paid
        last = Sums.of(plans[-1].loss) if not step else NOTHING
        try:
            price += ledger.charge(replace(last, epsilon=due), plan.region, int(not step))
        except BudgetExceeded:
            if not step:
                raise
            return
        paid += due
        releases = releases or releaser.release_gradually(plans)
        released = releases(step)
        reached = _within(plan, released, options)
        notes = describing.bought(options, plan, reached=reached)
        yield Bought(released, price, notes, step)
        if reached:
            return


def _within(plan: Plan, released: Released, options: Options) -> bool:
    """Whether the noise on every cell is within the relative error asked for."""
    (release,), (draws,) = plan.releases, released.noisy.draws
    assert isinstance(release.mechanism, Laplace)
    assert options.relative_error is not None
    confidence = at_once(float(options.confidence or CONFIDENCE), plan.candidates)
    margin = release.mechanism.quantile(confidence)
    return all(enough(value, margin, options.relative_error) for value in draws.tolist())
