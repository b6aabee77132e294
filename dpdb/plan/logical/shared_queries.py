"""Queries of rows of two units: what is answered of them, and the room that each unit has.

COUNT, SUM and AVG are answered, over tables, joins that keep the subset rule (see
`plan.relations.shared_rows`) and filters, in one group or in declared groups. All else is refused,
before anything is paid. Units of all kinds have the room of the largest cap T: the noise pays for
it. In groups a unit of a kind has ⌊T / G⌋ rows in each, and one at least, if it can be in G groups:
one if all keys are a function of its rows' owner, and else as many as there are values of the
others.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dpdb.errors import Place, Unsupported
from dpdb.plan.expressions.expressions import columns_of
from dpdb.plan.expressions.single_values import single_value
from dpdb.plan.logical.query import Function, Query
from dpdb.plan.logical.row_tables import RowUnion, stored_tables
from dpdb.plan.ranges.group_keys import key_values
from dpdb.plan.ranges.statistics import Count, FilledLadder, Joint, Statistic, Total
from dpdb.plan.relations.relations import Joined, Mark, Relation, Scan, relation_of, scans
from dpdb.plan.relations.shared_rows import columns_of_owner, of_units
from dpdb.policy.catalog import Table
from dpdb.privacy.mechanisms.kinds import NoiseKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dpdb.plan.relations.relations import Source

ANSWERED = (Function.COUNT, Function.SUM, Function.AVG)
"""The aggregates of rows of two units that are answered."""
_HINTS = {
    Function.MIN: "COUNT(*) FILTER (WHERE x < …)",
    Function.MAX: "COUNT(*) FILTER (WHERE x > …)",
    Function.QUANTILE: "COUNT(*) FILTER (WHERE x > …)",
    Function.COUNT_DISTINCT: "COUNT(*)",
}

Rooms = tuple[tuple[int, int], ...]
"""For each kind of unit the most groups that one is in, and its room in each, in rows."""


def check_shared(query: Query) -> None:
    """Raise Unsupported where a query asks more of rows of two units than is answered."""
    for subquery in query.subqueries:
        check_shared(subquery)
    check_source(query.table)
    kinds = query.table.kinds
    if not kinds:
        return
    words, options = of_units(kinds), query.options
    for each in query.aggregates:
        if each.function not in ANSWERED:
            name = each.function.value.upper().replace("_", " ")
            hint = _HINTS.get(each.function, "COUNT, SUM and AVG are answered")
            raise _refused(f"{name} of rows of {words}", hint, each.place)
        if single_value(each.argument) is not None:
            problem = f"values of each unit, or each once, of rows of {words}"
            raise _refused(problem, "COUNT, SUM and AVG of rows are answered", each.place)
    if query.minimum_units > 1:
        raise _refused(
            f"whether {query.minimum_units} units have rows of {words}",
            "ask tables whose rows are one unit's, or leave minimum_units out of the policy",
        )
    if query.found_places or query.cube:
        problem = f"keys that are found, or levels of them, in rows of {words}"
        raise _refused(problem, "declare the values of each key: values = […], in the policy")
    if options.kind is NoiseKind.STAIRCASE or options.sensitivity == "smooth":
        raise _refused(f"other noise on rows of {words}", "Laplace and Gaussian noise are drawn")
    if options.rows_per_unit == "totals":
        raise _refused(f"what units add in all, of rows of {words}", "leave rows_per_unit out")
    if query.table.groups_per_unit is not None:
        raise _refused(f"a cap on the groups of {words}", "max_rows_contributed is a lower cap")


def check_source(source: Source) -> None:
    """Raise Unsupported where tables of several kinds are put together, but for joins of keys."""
    tables = [each for each in stored_tables(source) if each.owned_by]
    kinds = tuple(dict.fromkeys(owner.kind for each in tables for owner in each.owned_by))
    if not any(each.owners for each in tables) and len(kinds) < 2:
        return
    if source.kinds and _is_plain(source):
        return
    raise _refused(
        f"windows, GROUP BY in FROM, and tables put together, with rows of {of_units(kinds)}",
        "COUNT, SUM and AVG of the rows as they are: FROM, JOIN, WHERE, GROUP BY",
    )


def _is_plain(source: Source) -> bool:
    """Whether a source is of stored tables, or of several parts that are; joined by keys alone."""
    match source:
        case RowUnion(parts=parts):
            return all(_is_plain(part.source) for part in parts)
        case Joined(relation=relation):
            marked = any(isinstance(each, Mark) for each in _nodes(relation))
            return not marked and all(type(scan.table) is Table for scan in scans(relation))
    return type(source) is Table


def _nodes(relation: Relation) -> Iterator[Relation]:
    """A relation, and those on the left sides of its joins and lookups."""
    yield relation
    if not isinstance(relation, Scan):
        yield from _nodes(relation.left)


def _refused(message: str, hint: str, place: Place | None = None) -> Unsupported:
    return Unsupported(f"{message} would tell of one of them", hint=hint, place=place)


def rooms_of(query: Query) -> Rooms:
    """The groups and rooms of the units of a query; none where rows have one owner."""
    source, most = query.table, query.table.rows_per_unit
    return tuple(
        (groups, max(1, most // groups))
        for groups in (_groups(query, kind) for kind in source.kinds)
    )


def _groups(query: Query, kind: str) -> int:
    """The most groups that the rows of a unit of a kind are in."""
    own = columns_of_owner(relation_of(query.table), kind)
    free = (key for key in query.keys if not columns_of(key).keys() <= own)
    return math.prod(len(key_values(key, query.where, {})) for key in free)


def check_filled(table: Source, statistics: Iterable[Statistic]) -> None:
    """Raise Unsupported where a statistic of rows of two units is not made of filled sums.

    A room that is no 64-bit number is refused, too: engines hold rooms as such.
    """
    for each in statistics if table.kinds else ():
        parts: list[Statistic] = [each.filled] if isinstance(each, FilledLadder) else [each]
        if isinstance(each, Joint):
            parts = [part.statistic for part in each.parts]
        for part in parts:
            if not (isinstance(part, Count | Total) and part.rooms):
                words = of_units(table.kinds)
                raise _refused(f"statistics of rows of {words}", "COUNT, SUM and AVG")
            most = max(map(abs, part.bounds)) if isinstance(part, Total) else 1
            if most * max(part.rooms) >= 2**63:
                raise Unsupported(
                    f"a sum of {max(part.rooms)} values of up to {most} steps takes over 64 bits",
                    hint="declare a larger step, narrower bounds or a lower rows_per_unit",
                )
