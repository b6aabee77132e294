"""The number of rows that public tables make together, which an engine holds."""

from __future__ import annotations

from dpdb.errors import TooLarge
from dpdb.plan.facts import Facts
from dpdb.plan.relations import Relation, scans
from dpdb.plan.stability import Shape

MAX_PUBLIC_HELD = 5_000_000
"""The most rows that a join of public tables alone makes."""


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
