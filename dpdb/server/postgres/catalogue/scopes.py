"""The tables that an expression sees, and the aggregates and windows over their rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dpdb.policy.catalog import Kind
from dpdb.records import dataclass
from dpdb.server.postgres.catalogue.parts import NULL, Bound, Columns, Env
from dpdb.server.postgres.protocol import Refusal


@dataclass(frozen=True)
class Source:
    """A table of FROM; one without columns has each column, which is NULL."""

    name: str
    columns: Columns
    place: int
    """The place of its row among those that expressions see."""


@dataclass(frozen=True)
class Fold:
    """An aggregate, which has a value for some rows, or a window, with a value for each of them."""

    kind: Kind
    values: Callable[[Sequence[Env]], Any]
    is_window: bool = False


class Scope:
    """The tables of a SELECT, and those of the queries around it."""

    def __init__(self, base: int, number: int, outer: Scope | None):
        """The rows of `number` tables begin at the place `base`; aggregates stand after them."""
        self.sources: list[Source] = []
        self.number, self.slot = number, base + number
        self.outer = outer
        self.folds: list[Fold] | None = None
        """The aggregates of its select list; None where none may be."""

    @property
    def end(self) -> int:
        """The first place after its own rows."""
        return self.slot + 1

    def owner(self, table: str, name: str) -> int | None:
        """The place of the first own table that has a column; None where none has."""
        own = (each for each in self.sources if table in ("", each.name))
        found = (s.place for s in own if any(known.lower() == name for known, _ in s.columns))
        return next(found, None)

    def column(self, table: str, name: str) -> Bound | None:
        """A column; that of the innermost query, and there of the first table, that has it."""
        own = [each for each in self.sources if table in ("", each.name)]
        for source in own:
            for at, (known, kind) in enumerate(source.columns):
                if known.lower() == name:
                    return _cell(source.place, at, kind)
        if table and own and name in ("ctid", "tableoid", "xmin"):
            return Bound(Kind.INTEGER, lambda _: 0)
        if any(not source.columns for source in own):
            return NULL
        if table and own:
            return None
        if self.outer is not None:
            return self.outer.column(table, name)
        if table:
            raise Refusal("42P01", f"no table {table[:63]} in this statement")
        return None

    def folded(self, make: Callable[[Scope], Fold]) -> Bound:
        """An aggregate or a window over the rows; its own expressions may have none."""
        if self.folds is None:
            raise Refusal("42803", "aggregates are not allowed here")
        inside = Scope(self.slot, 0, self.outer)
        inside.sources = self.sources
        fold, place = make(inside), len(self.folds)
        self.folds.append(fold)
        return _cell(self.slot, place, fold.kind)


def _cell(place: int, at: int, kind: Kind) -> Bound:
    return Bound(kind, lambda env: env[place][at])
