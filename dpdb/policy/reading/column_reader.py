"""The columns of a policy file, the columns that they refer to, and bounds of the command line."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

from dpdb.errors import UsageError, did_you_mean
from dpdb.policy.catalog import LONGEST_TEXT, Column, Kind, Policy, Value
from dpdb.policy.cell_format import SPACE, THOUSANDS, CellFormat, check_formats
from dpdb.policy.names import Reference
from dpdb.policy.numbers import MAGNITUDE_LIMIT, days_of, fits_doubles, grid_step
from dpdb.policy.reading.policy_text import PolicyText, shown
from dpdb.policy.timestamps import SECOND, read_timestamp, timestamp_of
from dpdb.records import dataclass


@dataclass(frozen=True)
class ReferenceReader:
    """Reads references to the tables of one policy file."""

    text: PolicyText
    tables: dict[str, Any]
    """The section of the tables, as it is written."""

    def reference(self, written: object, where: tuple[str, ...]) -> Reference:
        """The column that is written as `table.column`; a name may have a dot in it, too."""
        if not isinstance(written, str) or "." not in written:
            raise self.text.error(f"{where[-1]} names a column, as in orders.id", where)
        parts = written.split(".")
        for at in range(1, len(parts)):
            table, column = ".".join(parts[:at]), ".".join(parts[at:])
            declared = self.text.section(self.tables, table, ("tables",))
            if column in self.text.section(declared, "columns", ("tables", table)):
                return Reference(table, column)
        raise self.text.error(f"no column {shown(written)} is declared", where)


MAX_VALUES = 100_000
"""The most values that a column can declare."""

CELL_KEYS = ("format", "null", "thousands", "prefix", "suffix", "percent")
"""The keys that say how cells are written."""

KEYS = (
    *("type", "bounds", "values", "step", "nullable", "tight", "references", "length"),
    *CELL_KEYS,
)


@dataclass(frozen=True)
class ColumnReader:
    """Reads the columns of one policy file."""

    text: PolicyText
    references: ReferenceReader
    null: tuple[str, ...] = ()
    """The texts that mean NULL in the columns of the table."""
    decimal: str = "."
    """The decimal mark of the file."""

    def column(self, name: str, declared: dict[str, Any], above: tuple[str, ...]) -> Column:
        """The column `name` of the section that declares columns."""
        where = (*above, name)
        section = self.text.section(declared, name, above)
        self.text.check_keys(section, KEYS, where)
        if section.get("type") not in list(Kind):
            raise self.text.error(f"type is one of {', '.join(Kind)}", (*where, "type"))
        column = Column(
            name,
            Kind(section["type"]),
            nullable=section.get("nullable", True),
            tight=section.get("tight", False),
        )
        for key, value in (("nullable", column.nullable), ("tight", column.tight)):
            if not isinstance(value, bool):
                raise self.text.error(f"{key} is true or false", (*where, key))
        if "tight" in section and "bounds" not in section:
            raise self.text.error("tight goes with bounds", (*where, "tight"))
        if "references" in section:
            named = self.references.reference(section["references"], (*where, "references"))
            column = replace(column, references=named)
        column = replace(
            column,
            length=self._length(section, column.kind, where),
            cells=self._cells(section, column.kind, where),
        )
        if "values" in section:
            if "bounds" in section or "step" in section:
                raise self.text.error("values leave no room for bounds or step", where)
            if isinstance(section["values"], str):
                named = self.references.reference(section["values"], (*where, "values"))
                return replace(column, values_from=named)
            return self._with_values(column, section["values"], where)
        if column.kind is Kind.TIMESTAMP:
            column = replace(column, step=self._timestamp_step(section, where))
        elif "step" in section and (column.kind is not Kind.NUMBER or "bounds" not in section):
            raise self.text.error("step goes with bounds of a number", (*where, "step"))
        if "bounds" in section:
            column = self._with_bounds(column, section, where)
        elif not column.nullable and column.kind.ordinal:
            raise self.text.error("a column that is not nullable needs bounds or values", where)
        return column

    def _length(self, section: dict[str, Any], kind: Kind, where: tuple[str, ...]) -> int:
        """The most bytes of a text that counts."""
        if "length" not in section:
            return LONGEST_TEXT
        here, length = (*where, "length"), section["length"]
        if kind is not Kind.TEXT or "values" in section:
            raise self.text.error("length goes with a text without values", here)
        if type(length) is not int or not 1 <= length <= LONGEST_TEXT:
            raise self.text.error(f"length is a whole number from 1 to {LONGEST_TEXT:,}", here)
        return length

    def _cells(self, section: dict[str, Any], kind: Kind, where: tuple[str, ...]) -> CellFormat:
        """The format of the cells of a column."""
        number = kind in (Kind.INTEGER, Kind.NUMBER)
        for key, fits, label in (
            ("format", kind.temporal, "a date or a timestamp"),
            *((key, number, "a number") for key in ("thousands", "prefix", "suffix")),
            ("percent", kind is Kind.NUMBER, "the type number"),
        ):
            if key in section and not fits:
                raise self.text.error(f"{key} goes with {label}", (*where, key))
        null = null_texts(self.text, section, where)
        formats = section.get("format", [])
        formats = [formats] if isinstance(formats, str) else formats
        if not isinstance(formats, list) or not all(isinstance(each, str) for each in formats):
            raise self.text.error("format is a text, or a list of them", (*where, "format"))
        self.text.accepted(formats, check_formats, (*where, "format"))
        marks = {key: section.get(key, "") for key in ("thousands", "prefix", "suffix")}
        for key, mark in marks.items():
            if not isinstance(mark, str) or re.search(f"[0-9{SPACE}]", mark.strip(" ")):
                raise self.text.error(f"{key} is a text without digits", (*where, key))
        if "thousands" in section and marks["thousands"] not in THOUSANDS:
            known = ", ".join(f'"{mark}"' for mark in THOUSANDS[:5])
            raise self.text.error(f"thousands is one of {known}", (*where, "thousands"))
        if marks["thousands"] == self.decimal:
            raise self.text.error("thousands is another mark than decimal", (*where, "thousands"))
        percent = section.get("percent", False)
        if not isinstance(percent, bool):
            raise self.text.error("percent is true or false", (*where, "percent"))
        null = self.null if null is None else null
        marks = {key: mark if key == "thousands" else mark.strip() for key, mark in marks.items()}
        return CellFormat(tuple(formats), null, **marks, percent=percent)

    def _with_bounds(
        self, column: Column, section: dict[str, Any], where: tuple[str, ...]
    ) -> Column:
        bounds = section["bounds"]
        here = (*where, "bounds")
        if not column.kind.ordinal:
            raise self.text.error(f"a {column.kind} has no bounds", here)
        if not (isinstance(bounds, list) and len(bounds) == 2):
            raise self.text.error("bounds are [low, high]", here)
        lower, upper = (Fraction(self._constant(bound, column.kind, here)) for bound in bounds)
        if lower > upper:
            raise self.text.error("bounds are [low, high], low first", here)
        step = column.step
        if column.kind is Kind.NUMBER:
            step = self.text.fraction(
                section.get("step", grid_step(lower, upper)), (*where, "step")
            )
        if step <= 0 or math.floor(upper / step) < math.ceil(lower / step):
            raise self.text.error("step is above 0, and divides the bounds", (*where, "step"))
        if max(abs(lower), abs(upper)) / step > MAGNITUDE_LIMIT:
            raise self.text.error("bounds reach at most 2^53 steps from zero", here)
        if not fits_doubles(lower, upper, step):
            raise self.text.error("step has too many digits", (*where, "step"))
        return replace(column, lower=lower, upper=upper, step=step)

    def _timestamp_step(self, section: dict[str, Any], where: tuple[str, ...]) -> Fraction:
        """The step of timestamps in microseconds; the policy gives it in seconds."""
        here = (*where, "step")
        step = self.text.fraction(section.get("step", 1), here) * SECOND
        if step < 1 or step.denominator != 1:
            raise self.text.error("step is in seconds, a microsecond or a multiple of it", here)
        return step

    def _with_values(self, column: Column, listed: object, where: tuple[str, ...]) -> Column:
        """The column with its declared values; numbers among them also give bounds and a step."""
        here = (*where, "values")
        if not (isinstance(listed, list) and 1 <= len(listed) <= MAX_VALUES):
            raise self.text.error(f"values are a list of 1 to {MAX_VALUES}", here)
        values = tuple(self._constant(value, column.kind, here) for value in listed)
        if len(set(values)) != len(values):
            raise self.text.error("a value is listed twice", here)
        if not column.kind.ordinal:
            return replace(column, values=values)
        numbers = [Fraction(value) for value in values]
        step = Fraction(1, math.lcm(*(number.denominator for number in numbers)))
        if max(abs(number) for number in numbers) / step > MAGNITUDE_LIMIT:
            raise self.text.error("values reach at most 2^53, in steps of their last decimal", here)
        if not fits_doubles(min(numbers), max(numbers), step):
            raise self.text.error("values have too many decimals", here)
        return replace(column, values=values, lower=min(numbers), upper=max(numbers), step=step)

    def _constant(self, value: object, kind: Kind, where: tuple[str, ...]) -> Value:
        """A TOML value as a constant of a kind; dates and timestamps may be strings."""
        match kind, value:
            case Kind.TEXT, str() if value:
                return value
            case Kind.BOOLEAN, bool():
                return value
            case Kind.INTEGER, int() if not isinstance(value, bool):
                return value
            case Kind.NUMBER, int() | Decimal() if not isinstance(value, bool):
                number = self.text.fraction(value, where)
                return int(number) if number.denominator == 1 else number
            case Kind.DATE, datetime.date() if not isinstance(value, datetime.datetime):
                return days_of(value)
            case Kind.TIMESTAMP, datetime.date() | str():
                read = read_timestamp(value) if isinstance(value, str) else timestamp_of(value)
                if read is not None:
                    return read
            case Kind.DATE, str():
                try:
                    return days_of(datetime.date.fromisoformat(value))
                except ValueError:
                    pass
        raise self.text.error(f"{shown(value)} is no {kind}", where)


def null_texts(
    text: PolicyText, section: dict[str, Any], where: tuple[str, ...]
) -> tuple[str, ...] | None:
    """The texts that mean NULL in a table or a column; None if the section says nothing."""
    if "null" not in section:
        return None
    null = [section["null"]] if isinstance(section["null"], str) else section["null"]
    if not isinstance(null, list) or not all(isinstance(each, str) for each in null):
        raise text.error('null is a list of texts, such as ["NA", "-"]', (*where, "null"))
    return tuple(dict.fromkeys(each.strip(SPACE) for each in null if each.strip(SPACE)))


def with_bounds(policy: Policy, bounds: Mapping[str, tuple[Fraction, Fraction]]) -> Policy:
    """The policy with the bounds of `--bounds`, which make an undeclared column a number.

    Raises UsageError for bounds that no column can have.
    """
    tables = []
    unused = set(bounds)
    for table in policy.tables:
        columns = []
        for column in table.columns:
            name = next((n for n in bounds if n.casefold() == column.name.casefold()), None)
            if name is not None:
                unused.discard(name)
                if column.name == table.unit:
                    raise UsageError(f"--bounds: {name} is the unit: clamped, two would become one")
                if column.name in table.identifiers:
                    raise UsageError(f"--bounds: {name} names rows: clamped, two would become one")
                column = _bounded(column, *bounds[name])  # noqa: PLW2901
            columns.append(column)
        tables.append(replace(table, columns=tuple(columns)))
    for name in sorted(unused):
        known = [column.name for table in policy.tables for column in table.columns]
        raise UsageError(f"--bounds: no column {name}", hint=did_you_mean(name, known))
    return replace(policy, tables=tuple(tables))


def _bounded(column: Column, lower: Fraction, upper: Fraction) -> Column:
    """The column with the bounds of `--bounds`; raises UsageError where it cannot have them."""
    listed = column.values is not None or column.values_from is not None
    numeric = column.kind.ordinal and column.kind is not Kind.TIMESTAMP
    if listed or not (column.guessed or numeric):
        raise UsageError(f"--bounds: {column.name} takes none, being declared otherwise")
    kind = Kind.NUMBER if column.guessed else column.kind
    step = grid_step(lower, upper) if column.bounds is None else column.step
    step = step if kind is Kind.NUMBER else Fraction(1)
    if math.floor(upper / step) < math.ceil(lower / step):
        raise UsageError(f"--bounds: {column.name} has no value between these")
    if max(abs(lower), abs(upper)) / step > MAGNITUDE_LIMIT:
        raise UsageError("--bounds: bounds reach at most 2^53 steps from zero")
    if not fits_doubles(lower, upper, step):
        raise UsageError("--bounds: bounds reach at most 1e300 from zero")
    return replace(column, kind=kind, lower=lower, upper=upper, step=step, guessed=False)
