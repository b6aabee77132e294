"""How many joined rows an engine holds, so far as everybody may know it beforehand.

An engine holds the rows of private tables, however many there are. What a join makes of each of
them is bounded here, by caps and by what is known of public tables, and so is the number of rows
that public tables make together. Neither depends on a private row.
"""

from __future__ import annotations

from dpdb.errors import Place, TooLarge
from dpdb.plan.facts import Facts
from dpdb.plan.relations import Joined, Relation, Source, scans
from dpdb.plan.stability import Shape

MAX_HELD = 1_000
"""The most joined rows that are held for each row of a private table."""
MAX_PUBLIC_HELD = 5_000_000
"""The most rows that a join of public tables alone makes."""


def check_counted(source: Source, where: Place | None) -> None:
    """Refuse a query that has to hold too many joined rows until all are counted.

    A unit keeps no more rows than its cap, so that asking for a lower cap helps.
    """
    if not isinstance(source, Joined) or source.public:
        return
    if min(source.fan_out, source.rows_per_unit) > MAX_HELD:
        raise TooLarge(
            f"{source.fan_out} joined rows for each row, {MAX_HELD} are allowed",
            hint=f"OPTIONS (max_rows_contributed = {MAX_HELD}) counts fewer of each"
            f" {source.unit_in_words}; or join on more columns",
            place=where,
        )


def check_made(source: Source, where: Place | None) -> None:
    """Refuse a table that is made of so many joined rows for each row, of which none is left out.

    What a unit comes to is worked out from all of its rows, without a cap.
    """
    if isinstance(source, Joined) and source.fan_out > MAX_HELD:
        raise TooLarge(
            f"{source.fan_out} joined rows for each row, {MAX_HELD} are allowed",
            hint="join on more columns, or join in the outer SELECT",
            place=where,
        )


def check_public(relation: Relation, known: Shape, facts: Facts) -> None:
    """Refuse a join of public tables that may make too many rows."""
    first = next(scans(relation))
    rows = facts.fan_out(first.table, ()) * known.fan_out
    if rows > MAX_PUBLIC_HELD:
        raise TooLarge(
            f"{_called(relation)} make up to {rows} rows, {MAX_PUBLIC_HELD} are allowed",
            hint="join on more columns, or on a key",
        )


def _called(relation: Relation) -> str:
    return " and ".join(map(str, scans(relation)))
