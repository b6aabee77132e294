"""A policy file, read into a policy; and bounds given on the command line."""

from __future__ import annotations

import math
import stat
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from dpdb.errors import PolicyError, UsageError, did_you_mean
from dpdb.policy.budget import Neighbors, Timing
from dpdb.policy.catalog import Column, Kind, Policy, Reference, Table
from dpdb.policy.csv.csv_format import CsvFormat, unpacked_name
from dpdb.policy.numbers import MAGNITUDE_LIMIT, fits_doubles, grid_step
from dpdb.policy.reading.budget_reader import BudgetReader
from dpdb.policy.reading.policy_text import PolicyText
from dpdb.policy.reading.table_reader import TableReader, keeps_values
from dpdb.policy.schemas.table_files import undeclared_tables
from dpdb.policy.storage import is_pattern
from dpdb.records import dataclass

KEYS = ("neighbors", "noise", "sample_key", "timing", "unit")
"""The keys of the section on privacy."""


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


def policy_for(data: Path, form: CsvFormat | None = None, names: Sequence[str] = ()) -> Policy:
    """The policy beside a data file, or else that of the tables of which only the file tells.

    Without a policy a CSV file is written as `form` says; without a header, too, its columns are
    called `names`.
    """
    beside = unpacked_name(data).with_suffix(".toml")
    if is_pattern(data) or not beside.exists():
        return Policy(undeclared_tables(data, form, names))
    policy = read_policy(beside)
    if not any(_is_of(table, data) for table in policy.tables):
        raise PolicyError(
            f"{beside} is about other files than {data}",
            hint=f'say in it path = "{data.name}", or give the policy instead of the file',
        )
    return policy


def _is_of(table: Table, data: Path) -> bool:
    """Whether a table has its rows in this file."""
    if table.server is not None:
        return False
    if table.path.exists() and data.exists():
        return table.path.samefile(data)
    return table.path.absolute() == data.absolute()


def read_policy(path: Path) -> Policy:
    """The policy in a TOML file; raises PolicyError with the line of a mistake."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # there may be no end to it
            raise PolicyError(f"{path.name} is not a regular file")
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
        self.text.check_keys(privacy, KEYS, ("privacy",))
        tables = self.text.section(document, "tables", ())
        if not tables:
            raise PolicyError(f"{self.text.path.name}: no [tables.NAME] section")
        reader = TableReader(self.text, tables)
        declared = tuple(reader.table(name) for name in tables)
        TableLinks(self.text, declared).check()
        budget = BudgetReader(self.text, self.text.section(document, "budget", ()))
        return Policy(
            tables=declared,
            budget=budget.budget(),
            neighbors=Neighbors(
                self.text.one_of(privacy, ("privacy", "neighbors"), list(Neighbors), "add-remove")
            ),
            noise=self.text.one_of(privacy, ("privacy", "noise"), ["system", "opendp"], "system"),
            sample_key=self._text_at(privacy, "sample_key", ""),
            lasting=budget.lasting(),
            timing=Timing(self.text.one_of(privacy, ("privacy", "timing"), list(Timing), "plain")),
            unit=self._text_at(privacy, "unit", "unit") or "unit",
        )

    def _text_at(self, privacy: dict[str, Any], key: str, default: str) -> str:
        """A string of the section on privacy."""
        value = privacy.get(key, default)
        if not isinstance(value, str):
            raise self.text.error(f"{key} is a string", ("privacy", key))
        return value


@dataclass(frozen=True)
class TableLinks:
    """Checks the chains and references of the tables of one policy file."""

    text: PolicyText
    tables: tuple[Table, ...]

    def check(self) -> None:
        """Raise PolicyError where a table names another in a way that cannot hold."""
        for table in self.tables:
            if table.chain is not None:
                self._check_chain(table, table.chain)
            for column in table.columns:
                where = ("tables", table.name, "columns", column.name)
                if column.references is not None:
                    self._check_reference(table, column, column.references, where)
                if column.values_from is not None:
                    self._check_values(table, column, column.values_from, (*where, "values"))
        self._check_units()

    def _check_chain(self, table: Table, chain: Reference) -> None:
        """The unit of a row is that of the row it names, and so on until a column names it."""
        where = ("tables", table.name, "unit")
        self._check_named(table, table.unit, chain, where)
        seen = [table]
        while (link := seen[-1].chain) is not None:
            after = self._table(link.table)
            if after in seen:
                circle = " -> ".join(each.name for each in (*seen, after))
                raise self.text.error(f"the units go round in a circle: {circle}", where)
            seen.append(after)

    def _check_reference(
        self, table: Table, column: Column, named: Reference, where: tuple[str, ...]
    ) -> None:
        """A reference says that two rows are about one unit."""
        here = (*where, "references")
        if table.unit is None:
            raise self.text.error("references goes with a unit", here)
        if not keeps_values(column):
            raise self.text.error("a column that references has no bounds and is nullable", here)
        self._check_named(table, column.name, named, here)

    def _check_named(
        self, table: Table, name: str | None, named: Reference, where: tuple[str, ...]
    ) -> None:
        """The named column must be the key of a table of units, and of the column's own type."""
        target = self._table(named.table)
        if target.public:
            raise self.text.error(f"{target.name} is public, and its rows have no unit", where)
        if target.unit is None:
            raise self.text.error(f"each row of {target.name} is a unit of its own", where)
        if target.key != (named.column,):
            hint = f'key = "{named.column}" in [tables.{target.name}]'
            raise self.text.error(f"{named} is not declared a key", where, hint)
        self._check_kinds(table, name, named, where)

    def _check_values(
        self, table: Table, column: Column, named: Reference, where: tuple[str, ...]
    ) -> None:
        """Values can be read from a public table alone."""
        if table.public:
            raise self.text.error("the values of a public table are those of its rows", where)
        if not self._table(named.table).public:
            hint = f"if everybody may know its rows: public = true in [tables.{named.table}]"
            raise self.text.error(f"{named.table} is not public", where, hint)
        if column.kind is Kind.NUMBER:
            raise self.text.error("numbers are listed one by one", where)
        self._check_kinds(table, column.name, named, where)

    def _check_kinds(
        self, table: Table, name: str | None, named: Reference, where: tuple[str, ...]
    ) -> None:
        own, other = _column(table, name), _column(self._table(named.table), named.column)
        if own.kind is not other.kind:
            differing = f"{own.name} is {_a(own.kind)}, and {named} {_a(other.kind)}"
            raise self.text.error(differing, where)

    def _check_units(self) -> None:
        """All tables are about one unit, so the columns that hold it are of one type."""
        holders = [table for table in self.tables if table.unit_kind is not None]
        for table in holders[1:]:
            own, other = table.unit_kind, holders[0].unit_kind
            if own is not other:
                differing = f"a unit is {_a(own)} here, and {_a(other)} in {holders[0].name}"
                raise self.text.error(differing, ("tables", table.name, "unit"))

    def _table(self, name: str) -> Table:
        return next(table for table in self.tables if table.name == name)


def _column(table: Table, name: str | None) -> Column:
    return next(column for column in table.columns if column.name == name)


def _a(kind: Kind | None) -> str:
    return "text" if kind is Kind.TEXT else f"an {kind}" if kind is Kind.INTEGER else f"a {kind}"
