"""Bounds of an aggregate's argument: those that a query finds, and the error for missing ones."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from dpdb.errors import InvalidOption, MissingBounds, TooLarge
from dpdb.plan.expressions.expressions import (
    Call,
    Cast,
    ColumnRef,
    Expr,
    Literal,
    Slot,
    children,
    conjunction,
)
from dpdb.plan.expressions.single_values import SingleValue, single_value
from dpdb.plan.logical.query import VARIANCES, Aggregate, Function, Options, Output, Query
from dpdb.plan.physical.caps import capped_value, finding_cap, is_total, sought_cap, with_cap
from dpdb.plan.ranges.ranges import Environment, interval
from dpdb.policy.catalog import Column, Kind
from dpdb.policy.names import written

FOUND = Fraction(1, 4)
"""The part of a query's share that finds bounds."""
MOST_SOUGHT = 4
"""The most arguments whose bounds one query finds."""
_SOUGHT = {Function.SUM, Function.AVG, *VARIANCES}
"""The functions of which bounds are found; other ones need none, or keep those declared.

The mean square, as the mean, is worth following as far as some number of rows over ε lie beyond:
an end that is farther out by d has d more noise over n, and cuts d less of each of them. So the
ends of a variance are those of an average. A quantile chooses among gaps by their ranks, so that
any bounds do: the widest gap weighs e^(-ε·rank) times its length.
"""
Bounds = Mapping[Expr, tuple[Fraction, Fraction]]


def sought(query: Query) -> tuple[Expr, ...]:
    """The arguments whose bounds a query finds, each once: those of SUM, AVG and VARIANCE.

    They are columns, and expressions that have no bounds otherwise; or it is the number of each
    unit of which the query finds a cap.
    """
    cap = sought_cap(query)
    if cap is not None:
        declared = replace(query.options, rows_per_unit="declared")
        if not is_total(cap) and sought(replace(query, options=declared)):
            raise InvalidOption(
                "bounds and a cap on rows are found one after the other",
                hint="SET bounds = 'declared' first; a cap that was found is kept",
            )
        return (cap,)
    if query.options.bounds != "find" or query.subqueries:
        return ()
    summed = dict.fromkeys(
        each.argument
        for each, contradiction in zip(query.aggregates, query.contradictions, strict=True)
        if _is_sought(each) and contradiction is None
    )
    found = tuple(each for each in summed if each is not None)
    if len(found) > MOST_SOUGHT:
        raise TooLarge(
            f"bounds of {len(found)} arguments are to be found, {MOST_SOUGHT} are allowed at once",
            hint="ask for fewer averages and sums at once",
        )
    if found and query.options.has_accuracy_goal:
        raise InvalidOption("an error, or a noise_index, cannot be kept with bounds = 'find'")
    if found and query.options.kind.is_euclidean:
        raise InvalidOption("bounds = 'find' goes with noise that is not Gaussian")
    return found


def _is_sought(aggregate: Aggregate) -> bool:
    """Whether bounds of an aggregate can be found: not of one value of each unit."""
    argument = aggregate.argument
    if argument is None or aggregate.function not in _SOUGHT:
        return False
    if argument.kind not in (Kind.INTEGER, Kind.NUMBER) or single_value(argument) is not None:
        return False
    column = argument.operand if isinstance(argument, Cast) else argument
    return isinstance(column, ColumnRef) or not interval(argument, {}).bounded


def finding(query: Query, arguments: Sequence[Expr], limit: int) -> Query:
    """The query that finds the bounds of arguments; whole numbers are at most `limit` from 0."""
    cap = capped_value(arguments[0])
    if cap is not None:
        return finding_cap(query, cap, limit)
    aggregates = []
    for each in arguments:
        argument = each
        if each.kind is Kind.INTEGER and not interval(each, {}).bounded:
            argument = clamp(each, Fraction(-limit), Fraction(limit))
        aggregates.append(Aggregate(Function.APPROX_BOUNDS, argument, _common_filter(query, each)))
    outputs = tuple(
        Output("bounds", Slot("aggregate", index, Kind.TEXT)) for index in range(len(aggregates))
    )
    options = replace(query.options, bounds="alone")
    return Query(query.table, outputs, tuple(aggregates), query.where, options=options)


def _common_filter(query: Query, argument: Expr) -> Expr | None:
    """The FILTER that all aggregates of an argument have."""
    filters = {each.where for each in query.aggregates if each.argument == argument}
    return filters.pop() if len(filters) == 1 else None


def found_over(query: Query, argument: Expr) -> Expr | None:
    """The condition on the rows whose values decide the bounds of an argument."""
    return conjunction(query.where, _common_filter(query, argument))


def found_part(arguments: Sequence[Expr]) -> Fraction:
    """The part of a query's share that finds the bounds of arguments, or a cap."""
    cap = capped_value(arguments[0])
    return FOUND if cap is None else cap.part


def clamp(argument: Expr, low: Fraction, high: Fraction) -> Call:
    """The argument, clamped to bounds."""
    whole = argument.kind is Kind.INTEGER
    ends = (Literal(int(each) if whole else each, argument.kind) for each in (low, high))
    return Call("clamp", (argument, *ends), argument.kind)


def with_bounds(query: Query, bounds: Bounds, *, counted: bool = False) -> Query:
    """The query with these arguments of COUNT, SUM, AVG and VARIANCE clamped.

    With `counted` it has the number of each of them besides, in one vector with their sums, and
    noise whose loss does not depend on the bounds, as that of Gaussian noise of a few steps does.
    So what is drawn, and its loss, are the same whichever bounds these are.
    """
    options = query.options
    if counted:
        options = replace(options, mechanism=options.kind, bounds="found")
    for each, ends in bounds.items():
        if (cap := capped_value(each)) is not None:
            return with_cap(replace(query, options=options), cap, ends)
    aggregates = [
        replace(each, argument=clamp(each.argument, *bounds[each.argument]))
        if each.function in {Function.COUNT, *_SOUGHT}
        and each.argument is not None
        and each.argument in bounds
        else each
        for each in query.aggregates
    ]
    if counted:
        clamped = {clamp(each, *ends) for each, ends in bounds.items()}
        aggregates += dict.fromkeys(
            Aggregate(Function.COUNT, each.argument, each.where)
            for each in aggregates
            if each.argument in clamped and each.function is not Function.COUNT
        )
    return replace(query, aggregates=tuple(aggregates), options=options)


def in_query(column: Column) -> str:
    """The column as a hint writes it: x for one of a join, whose table may have another name."""
    return "x" if "." in column.name else written(column.called)


def missing_bounds(
    aggregate: Aggregate, known: Environment, options: Options, *, found: bool = True
) -> MissingBounds:
    """The error, which names the first column without bounds, and says if they can be `found`."""
    assert aggregate.argument is not None
    named = next(_unbounded(aggregate.argument, known), None)
    if named is None:
        what, hint = "this expression", "wrap it in CLAMP(x, low, high)"
    else:
        what, name = named.column.called, in_query(named.column)
        dated = named.kind.temporal  # the command line has no dates, nor have powers of two
        option = what.rpartition(".")[2] if what == named.column.name else what
        option = "" if dated else f" or --bounds {shlex.quote(f'{option}=LOW:HIGH')},"
        made = named.column.label and named.column.label != named.column.name
        declared = "" if made else f"declare bounds for {what} in the policy,{option} or "
        suggestion, search = f"; for some epsilon APPROX_BOUNDS({name}) suggests some", ""
        if dated or not found:
            suggestion = ""
        elif aggregate.function is Function.QUANTILE and options.bounds != "find":
            suggestion, search = "", "SET bounds = 'find' looks for it without any bounds; or "
        elif not _is_sought(aggregate) or options.has_accuracy_goal or options.kind.is_euclidean:
            pass
        elif options.bounds == "find":
            search = "ask in a SELECT over tables alone, for which bounds are found; or "
        else:
            suggestion, search = "", "SET bounds = 'find' spends a quarter of epsilon on some; or "
        low, high = ("'2000-01-01'", "'2029-12-31'") if dated else ("low", "high")
        hint = (
            f"{search}{declared}write CLAMP({name}, {low}, {high}), "
            f"or WHERE {name} BETWEEN {low} AND {high}{suggestion}"
        )
    message = f"{what} has no bounds, so one row could change the answer without limit"
    return MissingBounds(message, hint=hint, place=aggregate.place)


def _unbounded(expression: Expr, known: Environment) -> Iterator[ColumnRef]:
    """The columns within an expression that have no bounds and can have some: no texts."""
    match expression:
        case ColumnRef(column=SingleValue(argument=argument)) if argument is not None:
            yield from _unbounded(argument, known)
        case (ColumnRef() as column) | Cast(
            operand=ColumnRef(column=Column(guessed=True)) as column,
            kind=Kind.NUMBER | Kind.INTEGER,
        ) if expression.kind.ordinal:
            if not interval(expression, known).bounded:
                yield column
        case _:
            for child in children(expression):
                yield from _unbounded(child, known)
