"""Statements that find the bounds of their sums and averages first, for a part of their ε.

The search and the answer are two plans under one charge, as a query and its scalar subquery are.
Price, path and EXPLAIN do not depend on the bounds. Bounds that were found are public: they are
kept, and later statements use them for nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING

from dpdb.answers.suggested_bounds import plain_value
from dpdb.errors import InternalError, paid_for, printable
from dpdb.plan.expressions.expressions import Cast, ColumnRef, Expr, columns_of
from dpdb.plan.identity import identity
from dpdb.plan.logical.query import Function
from dpdb.plan.physical.bounds import clamp, found_over, sought, with_bounds
from dpdb.plan.physical.caps import CappedValue, capped_value, is_total, with_declared_total
from dpdb.plan.physical.plan import Plan
from dpdb.plan.physical.release import Release
from dpdb.plan.planner import with_found_bounds
from dpdb.plan.ranges.statistics import FilledLadder, Ranks
from dpdb.policy.catalog import Kind
from dpdb.policy.numbers import decimal
from dpdb.privacy.accounting.composition import ComposedLoss
from dpdb.privacy.mechanisms.mechanism import BoundsSelection
from dpdb.session.purchases.kept_answers import Chosen, KeptAnswer
from dpdb.session.purchases.shared_levels import Shared

Ends = tuple[Fraction, Fraction]

if TYPE_CHECKING:
    from dpdb.answers.estimates import Noisy
    from dpdb.ledger.protocol import Ledger
    from dpdb.plan.logical.query import Query
    from dpdb.plan.physical.context import RowCount
    from dpdb.plan.relations.relations import Source
    from dpdb.policy.catalog import Policy
    from dpdb.session.purchases.memory import Memory
    from dpdb.session.purchases.purchases import OpenExecutor, Purchase
    from dpdb.vectors.vector import Array


def chosen(query: Query, memory: Memory, choose: Callable[[Query], Chosen]) -> Chosen:
    """The plans of a query, with the bounds that are known.

    A statement that was answered before some of them were known is a repeat all the same.
    """
    query = with_declared_total(query) or query
    arguments = sought(query)
    known = {each: _known(each, query, memory) for each in arguments}
    bounds = {each: ends for each, ends in known.items() if ends is not None}
    if not bounds:
        return choose(query)

    def choose_with(some: Mapping[Expr, Ends]) -> Chosen:
        unit = query.table.unit_in_words
        notes = tuple(f"{_clamped(each, ends, unit)}, found before" for each, ends in some.items())
        return replace(choose(with_bounds(query, some)), notes=notes)

    subsets = (
        dict(some) for size in range(len(bounds)) for some in combinations(bounds.items(), size)
    )
    before = (each for some in subsets if (each := choose_with(some)).before is not None)
    return next(before, None) or choose_with(bounds)


def _known(argument: Expr, query: Query, memory: Memory) -> Ends | None:
    """The bounds of an argument that were found of a whole table, or of the rows of the query."""
    columns = tuple(columns_of(argument).values())
    for where in dict.fromkeys((None, found_over(query, argument))):
        kept = memory.named(_name(query.table, argument, where), query.table, columns)
        if kept is not None:
            return _ends(kept.fresh[0], kept.purchase.result.noisy.draws[0])
    return None


def _name(table: Source, argument: Expr, where: Expr | None) -> str:
    return identity(("bounds", table, argument, where))


def _ends(release: Release, drawn: Array) -> Ends:
    """The bounds that were drawn, in the units of the argument."""
    assert isinstance(release.statistic, Ranks | FilledLadder)
    low, high = drawn[0].tolist()
    return low * release.statistic.grid.step, high * release.statistic.grid.step


def purchase(
    plan: Plan, policy: Policy, rows: RowCount, ledger: Ledger, open_executor: OpenExecutor
) -> Purchase:
    """The bounds and the answer, charged for at once, before any row is looked at."""
    from dpdb.answers.estimates import Noisy  # noqa: PLC0415 (numpy)
    from dpdb.session.purchases.executor import NoisyResult  # noqa: PLC0415 (numpy)
    from dpdb.session.purchases.purchases import Purchase  # noqa: PLC0415 (numpy)

    (search,) = plan.subplans

    def answering(found: Noisy) -> Plan:
        answer = with_found_bounds(plan, _found(plan, found), policy, rows)
        if not ComposedLoss.of(answer.loss + search.loss).is_at_most(plan.composed_loss):
            raise InternalError("found bounds would cost more than was charged for")
        return answer

    receipt = Shared(plan).charge(ledger)
    with paid_for():
        first, second = open_executor().execute_search(plan, answering, receipt)
        noisy = Noisy(second.noisy.draws, {}, (first.noisy,), second.noisy.keys)
        revealed = (*first.revealed, *second.revealed)
        return Purchase(NoisyResult(noisy, revealed), receipt.price)


def keep(chosen: Chosen, bought: Purchase, withheld: bool, memory: Memory) -> None:
    """Remember a statement, and its bounds unless they are `withheld`."""
    (plan,), noisy = chosen.plans, bought.result.noisy
    memory.keep(chosen, bought)
    assert plan.sought is not None
    if withheld:
        return
    (search,), (found,) = plan.subplans, noisy.subresults
    for argument, release, drawn in zip(
        plan.sought.arguments, search.releases, found.draws, strict=True
    ):
        own = replace(bought.result, noisy=replace(found, draws=(drawn,)), revealed=())
        query = plan.sought.query
        name = _name(query.table, argument, found_over(query, argument))
        kept = KeptAnswer(name, replace(bought, result=own), (release,), (), (), ())
        memory.keep_named(kept)


def shown(plan: Plan, noisy: Noisy, policy: Policy, rows: RowCount) -> tuple[Plan, tuple[str, ...]]:
    """The plan of an answer whose bounds were found, and notes on them.

    Of too few rows bounds mean little, and so does the answer: it is NULL.
    """
    from dpdb.answers.estimates import points  # noqa: PLC0415 (numpy)
    from dpdb.answers.tables.groups import with_all_keys  # noqa: PLC0415 (numpy)
    from dpdb.vectors.vector import Vector  # noqa: PLC0415 (numpy)

    assert plan.sought is not None
    bounds = _found(plan, noisy)
    answer = replace(with_found_bounds(plan, bounds, policy, rows), subplans=plan.subplans)
    filled = with_all_keys(answer, noisy)
    values = list(points(filled, noisy.draws).values()) if filled.cells else []
    notes, withheld = [], set[Expr | None]()
    (search,) = plan.subplans
    for release, (argument, ends) in zip(search.releases, bounds.items(), strict=True):
        assert isinstance(release.mechanism, BoundsSelection)
        spent = decimal(release.mechanism.loss.epsilon)
        found = _clamped(argument, ends, plan.table.unit_in_words)
        found += f", found with ε {spent} and kept: free next time"
        if (cap := capped_value(argument)) is not None:
            notes += [found, _left_out(plan, cap, ends)]
            continue
        clamped = clamp(argument, *ends)
        counts = [
            float(value.values.sum())
            for value, each in zip(values, answer.estimates, strict=False)
            if isinstance(value, Vector)
            and each.aggregate.argument == clamped
            and each.aggregate.function is Function.COUNT
        ]
        needed = release.mechanism.rows_needed
        if max(counts, default=0.0) < needed:
            withheld.add(clamped)
            notes.append(f"too few rows to find bounds: about {needed:,} are needed")
            continue
        notes.append(f"{found}; what lies beyond is not in ±")
    estimates = tuple(
        replace(each, is_withheld=each.aggregate.argument in withheld)
        if each.aggregate.function is not Function.COUNT
        else each
        for each in answer.estimates
    )
    return replace(answer, estimates=estimates), tuple(notes)


def _found(plan: Plan, noisy: Noisy) -> dict[Expr, Ends]:
    """The bounds that were found, of each argument."""
    assert plan.sought is not None
    (search,), (first, *_) = plan.subplans, noisy.subresults or (noisy,)
    found = {}
    for argument, release, drawn in zip(
        plan.sought.arguments, search.releases, first.draws, strict=True
    ):
        found[argument] = _ends(release, drawn)
    return found


def _clamped(argument: Expr, ends: Ends, unit: str) -> str:
    low, high = (plain_value(end, argument.kind) for end in ends)
    cap = capped_value(argument)
    if cap is not None and not is_total(argument):
        return f"{high} {'row' if high == 1 else 'rows'} of each {printable(unit)} count at most"
    names = ", ".join(printable(each.called) for each in columns_of(argument).values())
    if not isinstance(argument, ColumnRef | Cast):
        names = f"an expression of {names}"
    clamped = names if cap is None else f"what each {printable(unit)} adds"
    return f"{clamped} was clamped to {low} … {high}"


def _left_out(plan: Plan, cap: CappedValue, ends: Ends) -> str:
    """The rule for what a cap leaves out: nothing that is released says how much it is."""
    if cap.caps == "averages":
        return "± leaves out what the other rows would change"
    if ends == cap.bounds:
        return "± leaves out what lies beyond that, and no higher cap is looked for"
    often = plain_value(round(30 * max(map(abs, ends)) / plan.loss.epsilon), Kind.INTEGER)
    return f"± leaves out what lies beyond that: often 0 to {often} in all, more if few have most"
