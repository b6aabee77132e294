"""The answers that a SELECT over answers reads: each is remembered by itself, too."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from dpdb.session.memory import Chosen
from dpdb.session.query_plans import identity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dpdb.answers.estimates import Draws
    from dpdb.plan.derived import DerivedQuery
    from dpdb.plan.plan import Plan
    from dpdb.plan.query import Query
    from dpdb.session.purchases import Purchase


def read_again(
    query: DerivedQuery,
    chosen: Chosen,
    choose: Callable[[Query], Chosen],
    draws: Callable[[Plan], Draws],
) -> Chosen:
    """The plan over answers that were all given before, and so are free; otherwise as `chosen`.

    `choose` gives the plans of each of them as if it were asked for, and `draws` what a plan
    recalls.
    """
    if chosen.before is not None or query.options.has_accuracy_goal:
        return chosen
    found = [choose(replace(each, options=query.options)) for each in query.subqueries]
    if not all(each.is_free or each.plans[-1].settled for each in found):
        return chosen
    from dpdb.answers.estimates import Noisy  # noqa: PLC0415 (numpy)
    from dpdb.session.purchases import settled  # noqa: PLC0415

    planned = chosen.plans[-1]
    read = [each.before or settled(draws(each.plans[-1])) for each in found]
    noisy = Noisy((), {}, tuple(each.result.noisy for each in read))
    subplans = tuple(
        # Noise decides here which rows are shown, and not where the answer was asked for alone.
        replace(each.plans[-1], competing_rows=subplan.competing_rows)
        for each, subplan in zip(found, planned.subplans, strict=True)
    )
    again = settled()
    again = replace(again, result=replace(again.result, noisy=noisy))
    return Chosen((replace(planned, subplans=subplans),), chosen.key, again)


def parts(
    chosen: Chosen, query: DerivedQuery, purchase: Purchase
) -> Iterator[tuple[Chosen, Purchase]]:
    """What was bought of each answer, as if it had been asked for alone."""
    plan, result = chosen.plans[purchase.step], purchase.result
    for subplan, noisy in zip(plan.subplans, result.noisy.subresults, strict=True):
        own = replace(purchase, result=replace(result, noisy=noisy, revealed=()), step=0)
        yield Chosen((subplan,), identity(subplan, query.options)), own
