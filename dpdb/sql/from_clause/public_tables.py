"""Public tables in joins: their group keys, and their rows without a match.

`WHERE regions.landscape = 'coast' GROUP BY regions.name` can have rows for the names of coasts
alone, which everybody may know. The condition that the key is one of these names follows from the
other conditions and changes no answer; so it is added, and groups without any row are not shown.

All units together decide which public rows of a LEFT JOIN have no match. So these rows are left
out, and that must not change an answer: a group of public keys is shown anyway, and an aggregate
ignores the NULLs that stand for a missing private row, whatever WHERE says of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import assert_never

from dpdb.errors import Place, StatementError
from dpdb.plan.expressions.expressions import (
    Arithmetic,
    Cast,
    ColumnRef,
    Expr,
    InList,
    Literal,
    Slot,
    columns_of,
    compare,
    conjunction,
    conjuncts,
    logic,
    slots,
)
from dpdb.plan.expressions.single_values import SingleValue
from dpdb.plan.logical.query import Output, PublicRows, Query
from dpdb.plan.relations.relations import (
    Equality,
    Facts,
    Join,
    Joined,
    JoinKind,
    Mark,
    Relation,
    Scan,
    Source,
    certain_scans,
    scans,
)
from dpdb.policy.catalog import Policy, Value
from dpdb.sql.from_clause.arrangement import joined, refusal_of_unmatched
from dpdb.sql.scalars.predicates import MAX_LIST
from dpdb.sql.scopes.views import TableInJoin

ValueRows = tuple[tuple[Value, ...], ...]


def with_public_keys(query: Query, policy: Policy, facts: Facts) -> Query:
    """The query, with its keys of public tables limited to values that occur there."""
    source = query.table
    if not isinstance(source, Joined) or source.public:
        return query
    values = [_listed(key, source.relation, query.where, policy, facts) for key in query.keys]
    query = replace(query, where=conjunction(query.where, *values))
    combined = _combined(query, source.relation, policy, facts)
    return replace(query, having=conjunction(query.having, combined))


def _combined(query: Query, relation: Relation, policy: Policy, facts: Facts) -> Expr | None:
    """The condition that a group's public keys occur together in a public row; None without any.

    Keys that are found in the data are left out, as only they can be NULL in a group.
    """
    keys = {
        Slot("key", index, key.kind): key
        for index, key in enumerate(query.keys)
        if index not in query.found_places
    }
    relation = _matched(relation, tuple(keys.values()))
    equalities = list(_equalities(relation))
    public = [scan for scan in certain_scans(relation) if scan.table.public]
    keys_of: dict[tuple[Scan, ...], dict[Slot, Expr]] = {}
    for slot, key in keys.items():
        equal = [a if b == key else b for a, b in equalities if key in (a, b)]
        of_each = ((each, _together(each, public, equalities)) for each in (key, *equal))
        if known := next(((each, scans) for each, scans in of_each if scans), None):
            keys_of.setdefault(known[1], {})[slot] = known[0]
    held = [*(compare("=", *pair) for pair in equalities), *conjuncts(query.where)]
    return conjunction(
        *(
            _row_of(read, _rows(tuple(read.values()), scans, _own(held, scans), policy, facts))
            for scans, read in keys_of.items()
            if len(read) > 1
        )
    )


def _matched(relation: Relation, keys: tuple[Expr, ...]) -> Relation:
    """The relation with only those rows whose keys, columns of public tables, are not NULL.

    If a LEFT JOIN finds no row, the columns of its right side are NULL.
    """
    match relation:
        case Join(left=left, right=right, kind=kind):
            columns = [key for key in keys if isinstance(key, ColumnRef) and _reads(key, [right])]
            left_out = kind is JoinKind.LEFT and right.table.public and columns
            kind = JoinKind.INNER if left_out else kind
            return replace(relation, left=_matched(left, keys), kind=kind)
        case Mark(left=left):
            return replace(relation, left=_matched(left, keys))
        case Scan():
            return relation
        case _:
            assert_never(relation)


def _row_of(keys: Mapping[Slot, Expr], rows: ValueRows) -> Expr | None:
    """The condition that the keys are one of these rows; None if there are none or too many."""
    if not 0 < len(rows) <= MAX_LIST:
        return None
    equal: Iterator[list[Expr]] = (
        [compare("=", key, Literal(value, key.kind)) for key, value in zip(keys, row, strict=True)]
        for row in rows
    )
    return logic("or", [logic("and", each) for each in equal])


def _listed(
    key: Expr, relation: Relation, where: Expr | None, policy: Policy, facts: Facts
) -> InList | None:
    """The condition that a key is one of its values in public rows; None without any."""
    equalities = list(_equalities(relation))
    equal = [a if b == key else b for a, b in equalities if key in (a, b)]
    public = [scan for scan in certain_scans(relation) if scan.table.public]
    for each in (key, *equal):
        together = _together(each, public, equalities)
        known = [*(compare("=", *pair) for pair in equalities), *conjuncts(where)]
        own = _own(known, together)
        if not together or (each == key and not own):
            continue
        values = tuple(v for (v,) in _rows((each,), together, own, policy, facts))
        if values and len(values) <= MAX_LIST:
            return InList(key, values, null=False)
    return None


def _own(conditions: Iterable[Expr], scans: Sequence[Scan]) -> list[Expr]:
    """The conditions that read these public tables and nothing else."""
    return [each for each in conditions if _reads(each, scans) and not slots(each, "subquery")]


def _rows(
    keys: tuple[Expr, ...],
    scans: Sequence[Scan],
    conditions: Sequence[Expr],
    policy: Policy,
    facts: Facts,
) -> ValueRows:
    """The different values of expressions in the rows of public tables that meet conditions."""
    parts = [TableInJoin(scan, str(scan), JoinKind.INNER, None, None) for scan in scans]
    outputs = tuple(Output("key", key) for key in keys)
    try:
        source, rest = joined(parts, conjunction(*conditions), policy, facts)
        rows = facts.rows(PublicRows(source, outputs, (), where=rest))
    except StatementError:  # too many rows to look at
        return ()
    known = {
        tuple(value for value in row if value is not None) for row in rows or () if None not in row
    }
    return tuple(sorted(known, key=repr))


def _equalities(relation: Relation) -> Iterator[Equality]:
    """The equalities that hold in all rows of a relation."""
    match relation:
        case Join(kind=kind, left=left, on=on):
            yield from _equalities(left)
            yield from on if kind is JoinKind.INNER else ()
        case Mark(left=left):
            yield from _equalities(left)
        case Scan():
            pass
        case _:
            assert_never(relation)


def _together(
    key: Expr, public: Sequence[Scan], equalities: Sequence[Equality]
) -> tuple[Scan, ...]:
    """The public tables that a key reads, and those joined with them; none for a private key."""
    tables = [scan for scan in public if _reads(key, [scan])]
    if not tables or slots(key, "subquery"):
        return ()
    for _ in public:
        for scan in public:
            pairs = (compare("=", *pair) for pair in equalities)
            linked = any(_reads(p, [*tables, scan]) for p in pairs if not _reads(p, tables))
            if scan not in tables and linked:
                tables.append(scan)
    return tuple(scan for scan in public if scan in tables)


def _reads(expression: Expr, scans: Sequence[Scan]) -> bool:
    """Whether an expression reads columns of these tables, and no others."""
    own = {scan.name(column) for scan in scans for column in scan.table.columns}
    return bool(columns_of(expression)) and set(columns_of(expression)) <= own


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
