"""The types that the cells of a sample suggest for columns, for the draft of a policy."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dpdb.policy.catalog import Kind
from dpdb.policy.timestamps import read_timestamp
from dpdb.records import dataclass
from dpdb.vectors import grammar

PLACEHOLDERS = frozenset(
    ("na", "n/a", "#n/a", "nan", "null", "none", "nil", "-", "--", ".", "..", ":", "?", "n.v.")
)
"""What people write into cells of which they know nothing."""
_WORDS = frozenset(("true", "false", "yes", "no", "on", "off"))
_LETTERS = (frozenset("tf"), frozenset("yn"))
_WHOLE = re.compile(r"\s*[+-]?[0-9]+\s*")
_LEADING_ZERO = re.compile(r"0[0-9]+")
_DECIMAL_COMMA = re.compile(r"[+-]?[0-9]+,[0-9]+")
_DECIMAL_POINT = re.compile(r"[+-]?[0-9]+\.[0-9]+")


@dataclass(frozen=True)
class SuggestedType:
    """What a column seems to be."""

    kind: Kind
    unreadable: int
    """How many cells of the sample it would make NULL, empty ones left out."""
    repeats: bool
    """Whether several rows have the same value."""


def suggested_type(cells: Sequence[str], decimal: str) -> SuggestedType:
    """The type that nearly all of a column's cells have; text if there is none.

    Empty cells and placeholders say nothing. One other cell, or one in twenty, may be wrong.
    """
    filled = [cell for cell in cells if cell]
    telling = [cell for cell in filled if cell.strip().casefold() not in PLACEHOLDERS]
    repeats = len(set(telling)) < len(telling)
    for kind in (Kind.BOOLEAN, Kind.DATE, Kind.TIMESTAMP, Kind.NUMBER):
        fitting = _fitting(kind, telling, decimal)
        wrong = len(telling) - len(fitting)
        if len(fitting) > wrong and wrong <= max(1, len(telling) // 20):
            if kind is Kind.NUMBER and all(_WHOLE.fullmatch(cell) for cell in fitting):
                kind = Kind.INTEGER  # noqa: PLW2901
            return SuggestedType(kind, len(filled) - len(fitting), repeats)
    return SuggestedType(Kind.TEXT, 0, repeats)


def suggested_decimal(columns: Sequence[Sequence[str]]) -> str:
    """The decimal mark that more cells have."""
    commas = sum(bool(_DECIMAL_COMMA.fullmatch(cell)) for cells in columns for cell in cells)
    points = sum(bool(_DECIMAL_POINT.fullmatch(cell)) for cells in columns for cell in cells)
    return "," if commas > points else "."


def _fitting(kind: Kind, cells: list[str], decimal: str) -> list[str]:
    """The cells that are of a kind."""
    match kind:
        case Kind.BOOLEAN:
            return _booleans(cells)
        case Kind.DATE:
            return [cell for cell in cells if grammar.date(cell) is not None]
        case Kind.TIMESTAMP:
            return [cell for cell in cells if read_timestamp(cell) is not None]
    if any(_LEADING_ZERO.fullmatch(cell) for cell in cells):
        return []  # As numbers, 007 and 7 would be the same.
    return [cell for cell in cells if grammar.number(grammar.with_point(cell, decimal)) is not None]


def _booleans(cells: list[str]) -> list[str]:
    """The cells that say true or false; letters do only where both of a pair are there."""
    said = {cell.lower() for cell in cells}
    words = _WORDS.union(*(pair for pair in _LETTERS if pair <= said))
    return [cell for cell in cells if cell.lower() in words]
