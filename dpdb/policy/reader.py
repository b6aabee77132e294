"""Policies from TOML files, from `--bounds`, and from the header of a CSV file alone."""

from __future__ import annotations

import datetime
import math
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from dpdb.errors import DpdbError, PolicyError, UsageError, did_you_mean
from dpdb.policy.budget import (
    LARGEST_QUERIES,
    Budget,
    Composition,
    Neighbors,
    valid_delta,
    valid_epsilon,
)
from dpdb.policy.catalog import Column, Kind, Policy, Table, Value
from dpdb.policy.csv_header import read_header
from dpdb.policy.numbers import MAGNITUDE_LIMIT, days_of, grid_step

MAX_VALUES = 100_000
"""The most values that a column can declare."""


def policy_for(csv: Path) -> Policy:
    """The policy beside a CSV file, or else a policy of the undeclared columns in its header."""
    beside = csv.with_suffix(".toml")
    if beside.is_file():
        return read_policy(beside)
    columns = tuple(Column(name, Kind.TEXT, guessed=True) for name in read_header(csv))
    return Policy((Table(csv.stem, csv, columns),))


def read_policy(path: Path) -> Policy:
    """The policy in a TOML file; raises PolicyError with the line of a mistake."""
    try:
        text = path.read_text(encoding="utf-8-sig")
        document = tomllib.loads(text, parse_float=Decimal)
    except OSError as error:
        raise PolicyError(f"cannot read {path.name}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise PolicyError(f"{path.name} is not UTF-8 text") from None
    except tomllib.TOMLDecodeError as error:
        raise PolicyError(f"{path.name}: {error}") from None
    except (ValueError, ArithmeticError, RecursionError):
        raise PolicyError(f"{path.name}: a number too long, or brackets too deep") from None
    return PolicyReader(path, text).policy(document)


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
                column = _bounded(column, *bounds[name])  # noqa: PLW2901
            columns.append(column)
        tables.append(replace(table, columns=tuple(columns)))
    for name in sorted(unused):
        known = [column.name for table in policy.tables for column in table.columns]
        raise UsageError(f"--bounds: no column {name}", hint=did_you_mean(name, known))
    return replace(policy, tables=tuple(tables))


def _bounded(column: Column, lower: Fraction, upper: Fraction) -> Column:
    """The column with the bounds of `--bounds`; raises UsageError where it cannot have them."""
    if column.values is not None or not (column.guessed or column.kind.ordinal):
        raise UsageError(f"--bounds: {column.name} takes none, being declared otherwise")
    kind = Kind.NUMBER if column.guessed else column.kind
    step = grid_step(lower, upper) if column.bounds is None else column.step
    step = step if kind is Kind.NUMBER else Fraction(1)
    if math.floor(upper / step) < math.ceil(lower / step):
        raise UsageError(f"--bounds: {column.name} has no value between these")
    if max(abs(lower), abs(upper)) / step > MAGNITUDE_LIMIT:
        raise UsageError("--bounds: bounds reach at most 2^53 steps from zero")
    return replace(column, kind=kind, lower=lower, upper=upper, step=step, guessed=False)


@dataclass(frozen=True)
class PolicyReader:
    """Reads one policy file; its text serves to name the line of a mistake."""

    path: Path
    text: str

    def policy(self, document: dict[str, Any]) -> Policy:
        self._check_keys(document, ("budget", "privacy", "tables"), ())
        privacy = self._table(document, "privacy", ())
        self._check_keys(privacy, ("neighbors", "noise", "sample_key"), ("privacy",))
        sample_key = privacy.get("sample_key", "")
        if not isinstance(sample_key, str):
            raise self._error("sample_key is a string", ("privacy", "sample_key"))
        tables = self._table(document, "tables", ())
        if not tables:
            raise PolicyError(f"{self.path.name}: no [tables.NAME] section")
        return Policy(
            tables=tuple(self._data_table(name, tables) for name in tables),
            budget=self._budget(self._table(document, "budget", ())),
            neighbors=Neighbors(
                self._one_of(privacy, ("privacy", "neighbors"), list(Neighbors), "add-remove")
            ),
            noise=self._one_of(privacy, ("privacy", "noise"), ["system", "opendp"], "system"),
            sample_key=sample_key,
        )

    def _one_of(
        self, section: dict[str, Any], where: tuple[str, str], known: list[Any], default: str
    ) -> str:
        """The value of the last key of `where` in its section; it must be one of `known`."""
        value = section.get(where[-1], default)
        if value not in known:
            names = ", ".join(f'"{name}"' for name in known)
            raise self._error(f"{where[-1]} is one of {names}", where)
        return str(value)

    def _budget(self, section: dict[str, Any]) -> Budget:
        self._check_keys(
            section, ("epsilon", "delta", "queries", "composition", "scope"), ("budget",)
        )
        if section.get("scope", "session") != "session":
            raise self._error('scope = "session" is the only one there is yet', ("budget", "scope"))
        default = Budget()
        queries = section.get("queries", default.queries)
        if type(queries) is not int or not 1 <= queries <= LARGEST_QUERIES:
            raise self._error("queries is a whole number, at least 1", ("budget", "queries"))
        return Budget(
            self._checked(section, "epsilon", default.epsilon, valid_epsilon),
            self._checked(section, "delta", default.delta, valid_delta),
            queries,
            Composition(
                self._one_of(section, ("budget", "composition"), list(Composition), "pure")
            ),
        )

    def _checked(
        self,
        section: dict[str, Any],
        key: str,
        default: Fraction,
        valid: Callable[[Fraction], Fraction],
    ) -> Fraction:
        """The number at `key`, as `valid` accepts it."""
        try:
            return valid(self._fraction(section.get(key, default), ("budget", key)))
        except PolicyError:
            raise
        except DpdbError as error:
            raise self._error(error.message, ("budget", key)) from None

    def _data_table(self, name: str, tables: dict[str, Any]) -> Table:
        where = ("tables", name)
        section = self._table(tables, name, ("tables",))
        self._check_keys(section, ("path", "unit", "rows_per_unit", "columns"), where)
        file = section.get("path", f"{name}.csv")
        if not isinstance(file, str):
            raise self._error("path is a string", (*where, "path"))
        declared = self._table(section, "columns", where)
        if not declared:
            raise self._error("a table needs columns", where)
        columns = tuple(self._column(column, declared, (*where, "columns")) for column in declared)
        unit = section.get("unit", "row")
        rows = section.get("rows_per_unit", 1)
        if not isinstance(unit, str) or (unit != "row" and unit not in declared):
            raise self._error('unit is "row" or the name of a column', (*where, "unit"))
        named = next((column for column in columns if column.name == unit), None)
        if named is not None and (
            named.kind not in (Kind.TEXT, Kind.INTEGER)
            or not named.nullable
            or (named.bounds is not None and named.values is None)
        ):
            # A column that is clamped, rounded or filled in could turn two units into one.
            raise self._error(
                "a unit is text or an integer, without bounds, and nullable", (*where, "unit")
            )
        if type(rows) is not int or not 1 <= rows <= 10**6:
            raise self._error(
                "rows_per_unit is a whole number, at least 1", (*where, "rows_per_unit")
            )
        if unit == "row" and rows != 1:
            raise self._error("rows_per_unit goes with a unit", (*where, "rows_per_unit"))
        path = self.path.parent / file
        return Table(name, path, columns, None if unit == "row" else unit, rows)

    def _column(self, name: str, declared: dict[str, Any], above: tuple[str, ...]) -> Column:
        where = (*above, name)
        section = self._table(declared, name, above)
        self._check_keys(section, ("type", "bounds", "values", "step", "nullable"), where)
        if section.get("type") not in list(Kind):
            raise self._error(f"type is one of {', '.join(Kind)}", (*where, "type"))
        column = Column(name, Kind(section["type"]), nullable=section.get("nullable", True))
        if not isinstance(column.nullable, bool):
            raise self._error("nullable is true or false", (*where, "nullable"))
        if "values" in section:
            if "bounds" in section or "step" in section:
                raise self._error("values leave no room for bounds or step", where)
            return self._with_values(column, section["values"], where)
        if "step" in section and (column.kind is not Kind.NUMBER or "bounds" not in section):
            raise self._error("step goes with bounds of a number", (*where, "step"))
        if "bounds" in section:
            column = self._with_bounds(column, section, where)
        elif not column.nullable and column.kind.ordinal:
            raise self._error("a column that is not nullable needs bounds or values", where)
        return column

    def _with_bounds(
        self, column: Column, section: dict[str, Any], where: tuple[str, ...]
    ) -> Column:
        bounds = section["bounds"]
        here = (*where, "bounds")
        if not column.kind.ordinal:
            raise self._error(f"a {column.kind} has no bounds", here)
        if not (isinstance(bounds, list) and len(bounds) == 2):
            raise self._error("bounds are [low, high]", here)
        lower, upper = (Fraction(self._constant(bound, column.kind, here)) for bound in bounds)
        if lower > upper:
            raise self._error("bounds are [low, high], low first", here)
        step = Fraction(1)
        if column.kind is Kind.NUMBER:
            step = self._fraction(section.get("step", grid_step(lower, upper)), (*where, "step"))
        if step <= 0 or math.floor(upper / step) < math.ceil(lower / step):
            raise self._error("step is above 0, and divides the bounds", (*where, "step"))
        if max(abs(lower), abs(upper)) / step > MAGNITUDE_LIMIT:
            raise self._error("bounds reach at most 2^53 steps from zero", here)
        return replace(column, lower=lower, upper=upper, step=step)

    def _with_values(self, column: Column, listed: object, where: tuple[str, ...]) -> Column:
        """The column with its declared values; numbers among them also give bounds and a step."""
        here = (*where, "values")
        if not (isinstance(listed, list) and 1 <= len(listed) <= MAX_VALUES):
            raise self._error(f"values are a list of 1 to {MAX_VALUES}", here)
        values = tuple(self._constant(value, column.kind, here) for value in listed)
        if len(set(values)) != len(values):
            raise self._error("a value is listed twice", here)
        if not column.kind.ordinal:
            return replace(column, values=values)
        numbers = [Fraction(value) for value in values]
        step = Fraction(1, math.lcm(*(number.denominator for number in numbers)))
        if max(abs(number) for number in numbers) / step > MAGNITUDE_LIMIT:
            raise self._error("values reach at most 2^53, in steps of their last decimal", here)
        return replace(column, values=values, lower=min(numbers), upper=max(numbers), step=step)

    def _constant(self, value: object, kind: Kind, where: tuple[str, ...]) -> Value:
        """A TOML value as a constant of a kind; dates may be written as strings."""
        match kind, value:
            case Kind.TEXT, str() if value:
                return value
            case Kind.BOOLEAN, bool():
                return value
            case Kind.INTEGER, int() if not isinstance(value, bool):
                return value
            case Kind.NUMBER, int() | Decimal() if not isinstance(value, bool):
                number = self._fraction(value, where)
                return int(number) if number.denominator == 1 else number
            case Kind.DATE, datetime.date() if not isinstance(value, datetime.datetime):
                return days_of(value)
            case Kind.DATE, str():
                try:
                    return days_of(datetime.date.fromisoformat(value))
                except ValueError:
                    pass
        raise self._error(f"{_shown(value)} is not a {kind}", where)

    def _fraction(self, value: object, where: tuple[str, ...]) -> Fraction:
        finite = not isinstance(value, Decimal) or value.is_finite()
        if isinstance(value, bool) or not isinstance(value, int | Decimal | Fraction) or not finite:
            raise self._error(f"{where[-1]} is a number", where)
        if isinstance(value, Decimal) and not -300 < value.adjusted() < 300:
            raise self._error(f"{where[-1]} is out of range", where)
        return Fraction(value)

    def _table(self, section: dict[str, Any], key: str, above: tuple[str, ...]) -> dict[str, Any]:
        """The subsection at `key`; empty if it is missing."""
        subsection = section.get(key, {})
        if not isinstance(subsection, dict):
            raise self._error(f"{key} is a section or {{ … }}", (*above, key))
        return subsection

    def _check_keys(
        self, section: dict[str, Any], keys: tuple[str, ...], where: tuple[str, ...]
    ) -> None:
        """Raise PolicyError for a key of the section that is not among `keys`."""
        for key in section:
            if key not in keys:
                hint = did_you_mean(key, keys) or f"there are {', '.join(keys)}"
                raise self._error(f"unknown key {_shown(key)}", (*where, key), hint)

    def _error(self, message: str, where: tuple[str, ...], hint: str | None = None) -> PolicyError:
        """A PolicyError that names the file, the line and the key."""
        line = _line(self.text, where)
        at = f", line {line}" if line else ""
        return PolicyError(f"{self.path.name}{at}: {'.'.join(where)}: {message}", hint=hint)


def _shown(value: object) -> str:
    """A value as an error message shows it, shortened to 40 characters."""
    try:
        text = str(value)
    except ValueError:  # an integer has thousands of digits
        text = "this number"
    return text if len(text) <= 40 else f"{text[:40]}…"


def _line(text: str, where: tuple[str, ...]) -> int | None:
    """The line that sets the key at `where`, or else the nearest section above; None if neither.

    tomllib does not give the lines of values, so the keys are searched for one after the other,
    each from the line of the one before.
    """
    lines = text.splitlines()
    start = 0
    last = None
    for depth, key in enumerate(where):
        quoted = rf"""(?:{re.escape(key)}|"{re.escape(key)}"|'{re.escape(key)}')"""
        pattern = re.compile(rf"^\s*\[[^\]]*\b{quoted}\s*[\].]|(?:^|[\s{{,.]){quoted}\s*[=.]")
        for number in range(start, len(lines)):
            if pattern.search(lines[number].split("#")[0]):
                start = last = number
                break
        else:
            if depth == 0:
                return None
    return None if last is None else last + 1
