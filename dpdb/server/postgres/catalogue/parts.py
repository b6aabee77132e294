"""The parts of bound statements: columns and values of a kind, rows, and limits of the work."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Sequence
from math import isfinite
from typing import Any

from sqlglot import exp

from dpdb.policy.catalog import Kind
from dpdb.records import dataclass
from dpdb.server.postgres.protocol import Refusal
from dpdb.server.postgres.values import TRUTHS

MOST_STEPS = 200_000
"""The most rows and expressions that a statement takes."""
LONGEST_NUMBER = 30
"""The most characters of a number."""
LONGEST_TEXT = 100_000
"""The most characters of a text that a statement makes."""
_CHARACTERS = 64
"""The characters of a text that are a step."""
_INT8 = range(-(2**63), 2**63)
Row = tuple[Any, ...]
Env = tuple[Row, ...]
"""The rows that an expression sees, by the places of their tables."""
Columns = tuple[tuple[str, Kind], ...]


@dataclass(frozen=True)
class Listing:
    """A table of the catalogue; one without columns is empty, and has each column."""

    columns: Columns
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Bound:
    """An expression: its kind, and its value for rows; NULL is None."""

    kind: Kind
    value: Callable[[Env], Any]
    shown: Callable[[Any], str] | None = None
    """The name that is shown in place of a number, as of a `regclass`."""


NULL = Bound(Kind.TEXT, lambda _: None)


@dataclass(frozen=True)
class Query:
    """A query: its columns, and its rows for the rows around it."""

    columns: Columns
    rows: Callable[[Env], Sequence[Row]]
    is_empty: bool = False
    """Whether it has no rows because a table that it needs has none."""


class Work:
    """The steps that a statement may still take: a limit of the text and the policy alone."""

    def __init__(self) -> None:
        self._left = MOST_STEPS

    def spend(self, steps: int) -> None:
        """Take some steps; raises Refusal."""
        self._left -= steps
        if self._left < 0:
            raise Refusal("54001", "the statement takes too many steps in the catalogue")

    def joined(self, texts: Iterable[str], between: str = "") -> str:
        """The texts as one, if it is not too long; raises Refusal."""
        parts = list(texts)
        size = sum(map(len, parts)) + len(between) * max(len(parts) - 1, 0)
        self.check_length(size)
        return between.join(parts)

    def check_length(self, size: int) -> None:
        """Refuse a text that would be too long, and count its characters."""
        if size > LONGEST_TEXT:
            raise Refusal("54001", f"a text in the catalogue has at most {LONGEST_TEXT} characters")
        self.spend(1 + size // _CHARACTERS)


def refused(node: exp.Expr | str) -> Refusal:
    """The error of what the catalogue does not answer."""
    what = node if isinstance(node, str) else f"{node.key} here: {node.sql('postgres')[:80]}"
    return Refusal("0A000", f"this part of the catalogue is not answered ({what})")


def whole(value: int) -> int:
    """A whole number of the catalogue; raises Refusal where it has more than 64 bits."""
    if value not in _INT8:
        raise Refusal("22003", "a whole number of the catalogue does not fit 64 bits")
    return value


def read_as(value: Any, kind: Kind) -> Any:  # noqa: ANN401
    """A value in another kind; NULL where it cannot be read so."""
    if value is None or isinstance(value, tuple):
        return value
    match kind:
        case Kind.INTEGER | Kind.NUMBER:
            try:
                read = int(value) if kind is Kind.INTEGER else float(value)
            except (ValueError, OverflowError):
                return None
            return read if isfinite(read) else None
        case Kind.DATE | Kind.TIMESTAMP:
            of = datetime.date if kind is Kind.DATE else datetime.datetime
            try:
                return str(of.fromisoformat(str(value)))
            except ValueError:
                return None
        case Kind.BOOLEAN:
            return value if isinstance(value, bool) else TRUTHS.get(str(value).lower())
    return shown(value)


def shown(value: object) -> str:
    """A value as PostgreSQL's cast to a text has it; members of an array are between braces."""
    if isinstance(value, tuple):
        return "{" + ",".join(map(_member, value)) + "}"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _member(value: object) -> str:
    text = "NULL" if value is None else str(value)
    return text[:1].lower() if isinstance(value, bool) else text


def listed(value: Any) -> Sequence[Any]:  # noqa: ANN401
    """The members of an array, which can be written as `{a,b}`."""
    if isinstance(value, str):
        inside = value.strip("{}")
        return [each.strip().strip('"') for each in inside.split(",")] if inside else []
    return value if isinstance(value, tuple) else ()


def alike(left: Bound, right: Bound) -> tuple[Callable[[Env], Any], Callable[[Env], Any]]:
    """Two values in one kind: a text beside another kind is read as that."""
    if left.kind is not right.kind and Kind.TEXT in (left.kind, right.kind):
        kind = right.kind if left.kind is Kind.TEXT else left.kind
        return in_kind(left, kind), in_kind(right, kind)
    return left.value, right.value


def in_kind(bound: Bound, kind: Kind) -> Callable[[Env], Any]:
    """The values of an expression, read in a kind."""
    value = bound.value
    return value if bound.kind is kind else lambda env: read_as(value(env), kind)


def common(bound: Sequence[Bound]) -> Kind:
    """The kind of expressions of which one is chosen."""
    kinds = [each.kind for each in bound if each is not NULL]
    first = next((kind for kind in kinds if kind is not Kind.TEXT), Kind.TEXT)
    return first if all(kind in (first, Kind.TEXT) for kind in kinds) else Kind.TEXT


def compared(compare: Callable[[Any, Any], Any], left: Any, right: Any) -> bool | None:  # noqa: ANN401
    """A comparison; NULL where a side is."""
    if left is None or right is None:
        return None
    told: bool = compare(left, right)
    return told


def negated(value: bool | None) -> bool | None:
    """NOT of a truth."""
    return None if value is None else not value


def minus(value: Any) -> Any:  # noqa: ANN401
    """The negative of a number."""
    return None if value is None else -value


def member(array: Any, place: int | None, first: int) -> Any:  # noqa: ANN401
    """A member of an array, counted from `first`: sqlglot counts by constants from 0."""
    members, at = listed(array), -1 if place is None else place - first
    return members[at] if 0 <= at < len(members) else None


def numbered(value: Any, find: Callable[[str], int | None], kind: str) -> int | None:  # noqa: ANN401
    """The number of a name; a number, also in a text, is itself."""
    if value is None or isinstance(value, int):
        return value
    text = str(value)
    if text.isdecimal() and len(text) <= LONGEST_NUMBER:
        return int(text)
    found = find(text)
    if found is None and kind == "regclass":
        raise Refusal("42P01", f'relation "{text[:63]}" does not exist')
    return found


def calculated(node: exp.Expr, left: Any, right: Any) -> int | float | None:  # noqa: ANN401
    """The result of a calculation; NULL by zero."""
    match node:
        case exp.Add():
            made = left + right
        case exp.Sub():
            made = left - right
        case exp.Mul():
            made = left * right
        case exp.Div() | exp.Mod() if right == 0:
            return None
        case exp.Div():
            made = left / right if isinstance(left, float) else int(left / right)
        case exp.Mod():
            made = left - right * int(left / right)
        case exp.BitwiseAnd():
            made = int(left) & int(right)
        case exp.BitwiseOr():
            made = int(left) | int(right)
        case _:
            raise refused(node)
    if isinstance(made, int):
        return whole(made)
    return made if isfinite(made) else None
