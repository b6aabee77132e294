"""The units of a table in a policy file: whose its rows are, and how much of a unit counts."""

from __future__ import annotations

import re
from typing import Any

from dpdb.policy.catalog import MOST_ROWS_HELD, Column, Kind, usual_rows_held
from dpdb.policy.names import OwnedBy, Reference
from dpdb.policy.reading.column_reader import ReferenceReader
from dpdb.policy.reading.policy_text import PolicyText
from dpdb.records import dataclass

OF_UNITS = ("unit", "rows_per_unit", "groups_per_unit", "rows_held_per_unit")
"""The keys that a public table does not have."""

_CHAIN = re.compile(r"(.+?)\s*->\s*(.+)")
_SEVERAL = re.compile(r"(.+\.)?\(\s*(.+?)\s*\)")
"""Columns of one table: `(product, supplier_id)`, or `offers.(product, supplier_id)`."""


@dataclass(frozen=True)
class UnitsOfRows:
    """The unit of a table, as declared, in the terms of `Table`."""

    column: str | None = None
    chain: Reference | None = None
    rows: int = 1
    groups: int | None = None
    held: int | None = None
    finds: bool = False
    kind: str = ""
    owners: tuple[OwnedBy, ...] = ()


@dataclass(frozen=True)
class UnitReader:
    """Reads the keys of a table that are about units."""

    text: PolicyText
    references: ReferenceReader
    kinds: tuple[str, ...]
    """The kinds of units that the policy declares; none where there is one, without a name."""
    section: dict[str, Any]
    """The section of the table."""
    columns: tuple[Column, ...]
    where: tuple[str, ...]

    def units(self) -> UnitsOfRows:
        """The columns that say whom a row is about, and how much of a unit counts."""
        section, unit = self.section, self.section.get("unit", "row")
        if unit == "row":
            for key in OF_UNITS[1:]:
                if section.get(key, 1) != 1:
                    raise self.text.error(f"{key} goes with a unit", (*self.where, key))
            return UnitsOfRows()
        owners = self._owners(unit)
        kinds = tuple(dict.fromkeys(each.kind for each in owners))
        if len(owners) > 1:
            return self._shared(owners, kinds)
        [owner] = owners
        finds = section.get("rows_per_unit") == "find"
        rows = 1 if finds else max(self._rows(kinds).values())
        groups = self._cap("groups_per_unit") if "groups_per_unit" in section else None
        held = self._held(rows)
        return UnitsOfRows(
            owner.column, owner.chain, held if finds else rows, groups, held, finds, owner.kind
        )

    def _shared(self, owners: tuple[OwnedBy, ...], kinds: tuple[str, ...]) -> UnitsOfRows:
        """The units of rows with two owners: the room of all is the largest cap."""
        for key in ("groups_per_unit", "rows_held_per_unit"):
            if key in self.section:
                raise self.text.error(f"{key} is for rows of one unit", (*self.where, key))
        if self.section.get("rows_per_unit") == "find":
            problem = "rows_per_unit of rows of two units is declared, and not found"
            hint = "declare the most that may count; SET rows_per_unit = 'find' looks for fewer"
            raise self.text.error(problem, (*self.where, "rows_per_unit"), hint)
        most = max(self._rows(kinds).values())
        return UnitsOfRows(owners[0].column, owners[0].chain, most, held=most, owners=owners)

    def _owners(self, unit: object) -> tuple[OwnedBy, ...]:
        """The columns that name the owners of a row: one, or two."""
        here = (*self.where, "unit")
        if not isinstance(unit, dict):
            if len(self.kinds) > 1:
                hint = f'unit = {{ {self.kinds[0]} = "…" }}'
                raise self.text.error("units are of several kinds: say which", here, hint)
            return (self._owner(self.kinds[0] if self.kinds else "", unit, here),)
        named: list[tuple[str, object]] = []
        for kind, written in unit.items():
            if kind not in self.kinds:
                known = ", ".join(self.kinds) or 'none: units = ["customer", "supplier"]'
                raise self.text.error(f"kinds of units in [privacy] are {known}", (*here, kind))
            named += [
                (kind, each) for each in (written if isinstance(written, list) else [written])
            ]
        owners = tuple(self._owner(kind, each, (*here, kind)) for kind, each in named)
        if len({*owners}) < len(owners):
            raise self.text.error("an owner is named twice", here, "leave out one of the two")
        if not 1 <= len(owners) <= 2:
            problem = f"a row belongs to {len(owners)} units, and 1 or 2 are possible"
            raise self.text.error(problem, here, "leave out the column that is not protected")
        used = [name for owner in owners for name in owner.columns]
        if len(used) > len({*used}) and any(len(owner.columns) > 1 for owner in owners):
            raise self.text.error("a column in parentheses is of one owner's chain", here)
        return owners

    def _owner(self, kind: str, unit: object, here: tuple[str, ...]) -> OwnedBy:
        """A column that names a unit, or a row of another table that is about one."""
        names, chain = [column.name for column in self.columns], None
        if isinstance(unit, str) and unit not in names and (parts := _CHAIN.fullmatch(unit)):
            unit, chain = self._chain(parts[1], parts[2], here)
        if not isinstance(unit, str):
            raise self.text.error('unit is "row" or the name of a column', here)
        owner = OwnedBy(kind, unit, chain)
        for name in owner.columns:
            if name not in names:
                raise self.text.error('unit is "row" or the name of a column', here)
            column = self.columns[names.index(name)]
            if column.kind not in (Kind.TEXT, Kind.INTEGER) or not keeps_values(column):
                # A column that is clamped, rounded or filled in could turn two units into one.
                raise self.text.error(
                    "a unit is text or an integer, without bounds, and nullable", here
                )
        return owner

    def _chain(self, here: str, there: str, where: tuple[str, ...]) -> tuple[str, Reference]:
        """The first column on the left side of a chain, and the key that all of them name."""
        own, key = _SEVERAL.fullmatch(here), _SEVERAL.fullmatch(there)
        if own is None and key is None:
            return here, self.references.reference(there, where)
        left, right = ([] if each is None else re.split(r"\s*,\s*", each[2]) for each in (own, key))
        if not len({*left}) == len(left) == len(right) == len({*right}) or not (key and key[1]):
            hint = 'unit = "(product, supplier_id) -> offers.(product, supplier_id)"'
            raise self.text.error("a chain has as many columns as the key it names", where, hint)
        first, *more = (self.references.reference(f"{key[1]}{name}", where) for name in right)
        also = tuple(zip(left[1:], (each.column for each in more), strict=True))
        return left[0], Reference(first.table, first.column, also)

    def _rows(self, kinds: tuple[str, ...]) -> dict[str, int]:
        """The cap on the rows of a unit of each kind."""
        written, here = self.section.get("rows_per_unit", 1), (*self.where, "rows_per_unit")
        if not isinstance(written, dict):
            return dict.fromkeys(kinds, whole(self.text, written, here))
        if {*written} != {*kinds} or kinds == ("",):
            raise self.text.error(f"rows_per_unit is for each {' and '.join(kinds)}", here)
        return {kind: whole(self.text, written[kind], here) for kind in kinds}

    def _held(self, rows: int) -> int:
        """The rows of a unit that the table holds."""
        if "rows_held_per_unit" not in self.section:
            return usual_rows_held(rows)
        held = self._cap("rows_held_per_unit")
        if held < rows:
            here = (*self.where, "rows_held_per_unit")
            raise self.text.error("rows_held_per_unit is at least rows_per_unit", here)
        return held

    def _cap(self, key: str) -> int:
        return whole(self.text, self.section[key], (*self.where, key))


def whole(
    text: PolicyText, value: object, where: tuple[str, ...], most: int = MOST_ROWS_HELD
) -> int:
    """A whole number from 1 on; raises PolicyError where the policy has another value."""
    if type(value) is not int or not 1 <= value <= most:
        raise text.error(f"{where[-1]} is a whole number from 1 to {most:,}", where)
    return value


def keeps_values(column: Column) -> bool:
    """Whether the column holds each value that a cell can name, or else NULL."""
    return column.nullable and (column.bounds is None or column.values is not None)
