"""The release of the keys that are found in the data, its noise, and the counts it answers.

A key that is shown comes with its noisy number of units. Where the query asks for that number, it
is not drawn again.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction

from dpdb.errors import InvalidOption, TooLarge, Unsupported
from dpdb.plan.expressions.expressions import Cast, ColumnRef, Expr, Slot, children
from dpdb.plan.logical.query import Aggregate, Function, Query
from dpdb.plan.physical.bounds import in_query
from dpdb.plan.physical.context import PlanningContext
from dpdb.plan.physical.mechanism_choice import key_selection, largest_groups, weighted_keys
from dpdb.plan.physical.release import Release
from dpdb.plan.ranges.group_keys import is_found, key_values
from dpdb.plan.ranges.ranges import Environment, interval, narrow
from dpdb.plan.ranges.statistics import KeyUnits
from dpdb.plan.relations.contradictions import contradiction
from dpdb.plan.relations.privacy_ids import names_unit
from dpdb.plan.releases.shared_moments import counts_all_rows
from dpdb.policy.budget import SMALLEST_DELTA, Neighbors
from dpdb.policy.catalog import Kind
from dpdb.policy.names import written
from dpdb.privacy.accounting.accountants import BudgetShare
from dpdb.privacy.mechanisms.mechanism import KeySelection
from dpdb.privacy.mechanisms.selections.peeling import is_of_use

_MOST_CHOICES = 1_000_000
"""The most weights for the choice of the largest groups: a few seconds."""
_USUAL_DELTA = Fraction(1, 10**6)
"""The session's δ that the hint proposes."""


def selects_keys(query: Query) -> bool:
    """Whether keys are to be found in the data, and some row might have one."""
    if not query.found_places:
        return False
    return contradiction(query.table, query.where) is None


def number_of_selections(query: Query) -> int:
    """Number of SELECTs, of the query and its subqueries, that find keys in the data."""
    return selects_keys(query) + sum(map(number_of_selections, query.subqueries))


def told_by_keys(query: Query, context: PlanningContext) -> tuple[int, ...]:
    """The indices of the aggregates that the release of the keys answers.

    These are COUNT(DISTINCT unit), and COUNT(*) where a unit has one row. With declared keys beside
    those that are found there are none, as each of the latter has several groups.
    """
    return () if query.top or _are_weighted(query, context) else _may_be_told(query)


def with_top_groups(query: Query, context: PlanningContext) -> Query:
    """The query with its LIMIT as the number of groups to choose, if that is better.

    Of declared groups ORDER BY … DESC has the number of units first. A public rule says whether to
    choose the largest ones is better than to draw the numbers of all.
    """
    order, number = query.order[:1], query.limit or 0
    unlike = query.having or query.offset or query.subqueries or query.cube or query.found_places
    if type(query) is not Query or unlike or not order or context.remembered:
        return query
    slot, options = order[0].expression, context.options
    if not isinstance(slot, Slot) or slot.role != "aggregate" or not order[0].descending:
        return query
    if options.has_accuracy_goal or query.contradictions[slot.index] is not None:
        return query
    groups = _groups(query, context)
    counted = _counts_units(query.aggregates[slot.index], query)
    if not (counted and number) or not is_of_use(number, groups, concentrated=context.concentrated):
        return query
    size = math.prod(len(key_values(key, query.where, {})) for key in query.keys)
    exact = all(key.kind is not Kind.NUMBER for key in query.keys)
    fits = exact and number < size and number * size <= _MOST_CHOICES
    return replace(query, top=number) if fits else query


def _may_be_told(query: Query) -> tuple[int, ...]:
    undeclared = len(query.found_places)
    if not selects_keys(query) or undeclared < len(query.keys):
        return ()
    told = (index for index, each in enumerate(query.aggregates) if _counts_units(each, query))
    return tuple(index for index in told if query.contradictions[index] is None)


def _are_weighted(query: Query, context: PlanningContext) -> bool:
    """Whether keys are found by weights: a public rule.

    They are where fewer units need to have a key that way, if each has as many keys as it may. The
    counts that a threshold tells then take a share of their own. Not under `replace`, where a unit
    changes two sets of keys, nor where keys of few units are hidden whatever the noise.
    """
    replaced = context.policy.neighbors is Neighbors.REPLACE
    if replaced or max(query.least_units, query.minimum_units) > 1 or not selects_keys(query):
        return False
    told = _may_be_told(query)
    apart = 1 + len(query.aggregates)
    by_weights, by_threshold = (
        key_share(context.share.part(Fraction(1, parts)), context)
        for parts in (apart - len(told) + bool(told), apart - len(told))
    )
    groups = _groups(query, context)
    if groups == 1 or min(by_weights.delta, by_threshold.delta) < SMALLEST_DELTA:
        return False
    with suppress(TooLarge):
        weighted = weighted_keys(groups, by_weights).shown_from
        return weighted < key_selection(groups, 1, by_threshold).shown_from
    return False


def _counts_units(aggregate: Aggregate, query: Query) -> bool:
    if aggregate.where is not None:
        return False
    if aggregate.function is Function.COUNT:
        return query.table.rows_per_unit == 1 and counts_all_rows(aggregate)
    units = aggregate.function is Function.COUNT_DISTINCT
    return units and names_unit(aggregate.argument, query.table, always=True)


def key_share(share: BudgetShare, context: PlanningContext) -> BudgetShare:
    """The share of the keys, with all of the query's δ if no other releases need any."""
    options, smooth = context.options, context.options.sensitivity == "smooth"
    if smooth or (options.kind.is_euclidean and not share.concentrated):
        return share
    return replace(share, delta=context.share.delta / context.selections)


def check_no_goal(query: Query) -> None:
    """Refuse a goal of accuracy for a query whose keys are found in the data."""
    if selects_keys(query):
        raise InvalidOption(
            "an error, or a noise_index, cannot be kept with group values found in the data",
            hint="list the group values in the policy",
        )


def key_release(query: Query, context: PlanningContext, share: BudgetShare) -> Release:
    """The release of the keys that are found in the data.

    Raises Unsupported for keys that cannot be found privately, and without δ.
    """
    if query.top:
        one_sided = context.policy.neighbors is Neighbors.ADD_REMOVE
        size = math.prod(len(key_values(key, query.where, {})) for key in query.keys)
        chosen = largest_groups(query.top, size, share, one_sided=one_sided)
        return Release("groups", KeyUnits(), chosen)
    for place in query.found_places:
        _check(query.keys[place], query, context, share)
    if _are_weighted(query, context):
        mechanism = weighted_keys(_groups(query, context), share)
    else:
        mechanism = threshold(query, context, share)
    return Release("keys", KeyUnits(), mechanism)


def threshold(query: Query, context: PlanningContext, share: BudgetShare) -> KeySelection:
    """The threshold that spends a share."""
    least = max(query.least_units, query.minimum_units)
    return key_selection(_groups(query, context), least, share)


def _groups(query: Query, context: PlanningContext) -> int:
    """The most keys that one unit can have, or under `replace` lose and gain."""
    table, replaced = query.table, context.policy.neighbors is Neighbors.REPLACE
    most = query.groups_per_unit or table.rows_per_unit
    return min(most, table.rows_per_unit) * (2 if replaced else 1)


def _check(key: Expr, query: Query, context: PlanningContext, share: BudgetShare) -> None:
    """Refuse numbers with decimals as keys, and all keys without δ."""
    name = written(key.column.called) if isinstance(key, ColumnRef) else "this expression"
    if key.kind is Kind.NUMBER and is_found(key, query.where):
        rounded = in_query(key.column) if isinstance(key, ColumnRef) else "x"
        raise Unsupported(
            f"cannot group by {name}: it has decimals, and the policy lists no values",
            hint=f"round it, as in FLOOR({rounded} / 10) * 10, or list its values in the policy",
        )
    if share.delta >= SMALLEST_DELTA:
        return
    usual = replace(share, delta=_USUAL_DELTA / context.policy.budget.queries)
    units = threshold(query, context, usual).shown_from
    of_whom = "rows" if query.table.unit is None else f"different {query.table.unit_in_words}"
    raise Unsupported(
        f"cannot group by {name}: the policy lists no values",
        hint=f"{_declaring(key, narrow(query.where, {}))}; or start "
        f"with --delta 1e-6, which shows groups of about {units} or more {of_whom}",
    )


def _declaring(key: Expr, known: Environment) -> str:
    """A hint at ways to declare the values of a key."""
    dates = sorted(_unbounded_dates(key, known).items())
    if dates and not isinstance(key, ColumnRef):
        (column, kind), *_ = dates
        name, day = written(column), f"{kind.upper()} '…'"
        between = f"WHERE {name} BETWEEN {day} AND {day}"
        return f"give {name} bounds in the policy, or in the query, {between}"
    name = in_query(key.column) if isinstance(key, ColumnRef) else "x"
    return f"list them as values in the policy, or some in the query, WHERE {name} IN (…)"


def _unbounded_dates(expression: Expr, known: Environment) -> dict[str, Kind]:
    """The columns without bounds that are dates or timestamps, or are read so if undeclared."""
    match expression:
        case ColumnRef(column=column, kind=kind) if kind.temporal:
            return {} if interval(expression, known).bounded else {column.called: kind}
        case Cast(operand=ColumnRef(column=column), kind=kind) if column.guessed and kind.temporal:
            return {} if interval(expression, known).bounded else {column.called: kind}
    dates: dict[str, Kind] = {}
    for part in children(expression):
        dates |= _unbounded_dates(part, known)
    return dates
