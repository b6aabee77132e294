"""Policies from TOML files, and from the header of a CSV file alone."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from dpdb.errors import DpdbError, PolicyError
from dpdb.policy.budget import (
    LARGEST_QUERIES,
    Budget,
    Composition,
    Neighbors,
    valid_delta,
    valid_epsilon,
)
from dpdb.policy.catalog import Column, Kind, Policy, Table
from dpdb.policy.column_reader import ColumnReader
from dpdb.policy.csv_header import read_header
from dpdb.policy.policy_text import PolicyText


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
        return Policy(
            tables=tuple(self._data_table(name, tables) for name in tables),
            budget=self._budget(self.text.section(document, "budget", ())),
            neighbors=Neighbors(
                self.text.one_of(privacy, ("privacy", "neighbors"), list(Neighbors), "add-remove")
            ),
            noise=self.text.one_of(privacy, ("privacy", "noise"), ["system", "opendp"], "system"),
            sample_key=sample_key,
        )

    def _budget(self, section: dict[str, Any]) -> Budget:
        self.text.check_keys(
            section, ("epsilon", "delta", "queries", "composition", "scope"), ("budget",)
        )
        if section.get("scope", "session") != "session":
            raise self.text.error(
                'scope = "session" is the only one there is yet', ("budget", "scope")
            )
        default = Budget()
        queries = section.get("queries", default.queries)
        if type(queries) is not int or not 1 <= queries <= LARGEST_QUERIES:
            raise self.text.error("queries is a whole number, at least 1", ("budget", "queries"))
        return Budget(
            self._checked(section, "epsilon", default.epsilon, valid_epsilon),
            self._checked(section, "delta", default.delta, valid_delta),
            queries,
            Composition(
                self.text.one_of(section, ("budget", "composition"), list(Composition), "pure")
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
            return valid(self.text.fraction(section.get(key, default), ("budget", key)))
        except PolicyError:
            raise
        except DpdbError as error:
            raise self.text.error(error.message, ("budget", key)) from None

    def _data_table(self, name: str, tables: dict[str, Any]) -> Table:
        where = ("tables", name)
        section = self.text.section(tables, name, ("tables",))
        self.text.check_keys(section, ("path", "unit", "rows_per_unit", "columns"), where)
        file = section.get("path", f"{name}.csv")
        if not isinstance(file, str):
            raise self.text.error("path is a string", (*where, "path"))
        declared = self.text.section(section, "columns", where)
        if not declared:
            raise self.text.error("a table needs columns", where)
        reader = ColumnReader(self.text)
        columns = tuple(reader.column(name, declared, (*where, "columns")) for name in declared)
        unit, rows = self._unit(section, columns, where)
        return Table(name, self.text.path.parent / file, columns, unit, rows)

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
