"""Public rows that a LEFT JOIN keeps without a match: no aggregate may count them.

All units together decide which rows have no match. So they are left out, and that must not
change an answer: a group of public keys is shown anyway, and an aggregate ignores the NULLs that
stand for a missing private row, whatever WHERE says of them.
"""

from __future__ import annotations

from collections.abc import Iterable

from dpdb.errors import Place, Unsupported
from dpdb.plan.expressions.expressions import Arithmetic, Cast, ColumnRef, Expr, columns_of
from dpdb.plan.expressions.single_values import SingleValue
from dpdb.plan.logical.query import Query
from dpdb.plan.relations.relations import Joined, Source, scans


def refusal_of_unmatched(public: str, unit: str, where: Place | None) -> Unsupported:
    """The error for rows of a public table that are kept without a match."""
    return Unsupported(
        f"a row of {public} without a match would tell that no {unit} has one",
        hint="use JOIN, or COUNT of a private column: groups are shown even if nobody is in them",
        place=where,
    )


def check_ignored(query: Query, where: Place | None, *, only_units: bool) -> None:
    """Refuse a query that would count public rows without a match.

    A query that counts `only_units` asks itself that rows without a unit do not count.
    """
    source = query.table
    if not isinstance(source, Joined) or source.unmatched is None:
        return
    private = {
        scan.name(column)
        for scan in scans(source.relation)
        if not scan.table.public
        for column in scan.table.columns
    }
    counted = (each.argument for each in query.aggregates)
    ignored = only_units or all(
        argument is not None and _is_null_without(argument, private) for argument in counted
    )
    of_public = (not private & set(columns_of(key)) for key in query.keys)
    if not (ignored and all(of_public)):
        raise refusal_of_unmatched(source.unmatched, source.unit_in_words, where)


def check_matched(source: Source, where: Place | None) -> None:
    """Refuse a table within FROM that would have public rows without a match."""
    if isinstance(source, Joined) and source.unmatched is not None:
        raise refusal_of_unmatched(source.unmatched, source.unit_in_words, where)


def _is_null_without(expression: Expr, private: Iterable[str]) -> bool:
    """Whether an expression is NULL if the private row is missing."""
    match expression:
        case ColumnRef(column=SingleValue(argument=argument)):
            return argument is not None and _is_null_without(argument, private)
        case ColumnRef(column=column):
            return column.name in private
        case Arithmetic(left=left, right=right):
            return _is_null_without(left, private) or _is_null_without(right, private)
        case Cast(operand=operand):
            return _is_null_without(operand, private)
    return False
