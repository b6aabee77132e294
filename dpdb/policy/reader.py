"""Policies from TOML files, and from the header of a CSV file alone."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from dpdb.errors import PolicyError
from dpdb.policy.budget import Neighbors
from dpdb.policy.budget_reader import BudgetReader
from dpdb.policy.catalog import Column, Kind, Policy, Table
from dpdb.policy.column_reader import ColumnReader
from dpdb.policy.csv_format import (
    CsvFormat,
    unpacked_name,
    valid_decimal,
    valid_encoding,
    valid_header,
    valid_quote,
    valid_separator,
)
from dpdb.policy.csv_header import read_header
from dpdb.policy.policy_text import PolicyText

_FORMAT: dict[str, Callable[[object], Any]] = {
    "separator": valid_separator,
    "encoding": valid_encoding,
    "quote": valid_quote,
    "decimal": valid_decimal,
    "header": valid_header,
}
"""The keys of a table that say how its file is written."""


def policy_for(csv: Path, form: CsvFormat | None = None, names: Sequence[str] = ()) -> Policy:
    """The policy beside a CSV file, or else that of a table of which only the header is known.

    Without a policy the file is written as `form` says; without a header, too, its columns are
    called `names`.
    """
    beside = unpacked_name(csv).with_suffix(".toml")
    if beside.is_file():
        return read_policy(beside)
    return Policy((undeclared_table(csv, form or CsvFormat(), names),))


def undeclared_table(csv: Path, form: CsvFormat, names: Sequence[str] = ()) -> Table:
    """The table of a file of whose columns nothing is known but names, which are in its header.

    Where the form is of a file without one, they are `names`.
    """
    if form.header:
        names = read_header(csv, form).names
    columns = tuple(Column(name, Kind.TEXT, guessed=True) for name in names)
    return Table(unpacked_name(csv).stem, csv, columns, csv=form)


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
    return PolicyReader(PolicyText(path, text)).policy(document)


@dataclass(frozen=True)
class PolicyReader:
    """Reads one policy file."""

    text: PolicyText

    def policy(self, document: dict[str, Any]) -> Policy:
        self.text.check_keys(document, ("budget", "privacy", "tables"), ())
        privacy = self.text.section(document, "privacy", ())
        self.text.check_keys(privacy, ("neighbors", "noise", "sample_key"), ("privacy",))
        sample_key = privacy.get("sample_key", "")
        if not isinstance(sample_key, str):
            raise self.text.error("sample_key is a string", ("privacy", "sample_key"))
        tables = self.text.section(document, "tables", ())
        if not tables:
            raise PolicyError(f"{self.text.path.name}: no [tables.NAME] section")
        budget = BudgetReader(self.text, self.text.section(document, "budget", ()))
        return Policy(
            tables=tuple(self._data_table(name, tables) for name in tables),
            budget=budget.budget(),
            neighbors=Neighbors(
                self.text.one_of(privacy, ("privacy", "neighbors"), list(Neighbors), "add-remove")
            ),
            noise=self.text.one_of(privacy, ("privacy", "noise"), ["system", "opendp"], "system"),
            sample_key=sample_key,
            lasting=budget.lasting(),
        )

    def _data_table(self, name: str, tables: dict[str, Any]) -> Table:
        where = ("tables", name)
        section = self.text.section(tables, name, ("tables",))
        known = ("path", "unit", "rows_per_unit", *_FORMAT, "columns")
        self.text.check_keys(section, known, where)
        file = section.get("path", f"{name}.csv")
        if not isinstance(file, str):
            raise self.text.error("path is a string", (*where, "path"))
        declared = self.text.section(section, "columns", where)
        if not declared:
            raise self.text.error("a table needs columns", where)
        reader = ColumnReader(self.text)
        columns = tuple(reader.column(name, declared, (*where, "columns")) for name in declared)
        unit, rows = self._unit(section, columns, where)
        form = self._format(section, where)
        return Table(name, self.text.path.parent / file, columns, unit, rows, form)

    def _format(self, section: dict[str, Any], where: tuple[str, ...]) -> CsvFormat:
        """How the file is written, as far as the section says so."""
        given = {
            key: self.text.accepted(section[key], valid, (*where, key))
            for key, valid in _FORMAT.items()
            if key in section
        }
        return self.text.accepted(given, lambda values: CsvFormat(**values), (*where, "quote"))

    def _unit(
        self, section: dict[str, Any], columns: tuple[Column, ...], where: tuple[str, ...]
    ) -> tuple[str | None, int]:
        """The name of the column that holds the unit, None for rows, and the most rows of one."""
        unit = section.get("unit", "row")
        rows = section.get("rows_per_unit", 1)
        named = next((column for column in columns if column.name == unit), None)
        if not isinstance(unit, str) or (unit != "row" and named is None):
            raise self.text.error('unit is "row" or the name of a column', (*where, "unit"))
        if named is not None and (
            named.kind not in (Kind.TEXT, Kind.INTEGER)
            or not named.nullable
            or (named.bounds is not None and named.values is None)
        ):
            # A column that is clamped, rounded or filled in could turn two units into one.
            raise self.text.error(
                "a unit is text or an integer, without bounds, and nullable", (*where, "unit")
            )
        if type(rows) is not int or not 1 <= rows <= 10**6:
            raise self.text.error(
                "rows_per_unit is a whole number, at least 1", (*where, "rows_per_unit")
            )
        if unit == "row" and rows != 1:
            raise self.text.error("rows_per_unit goes with a unit", (*where, "rows_per_unit"))
        return None if unit == "row" else unit, rows
