"""The links between the tables of a policy file: chains of units, references, listed values."""

from __future__ import annotations

from dpdb.policy.catalog import Column, Kind, Table
from dpdb.policy.names import OwnedBy, Reference
from dpdb.policy.reading.policy_text import PolicyText
from dpdb.policy.reading.unit_reader import keeps_values
from dpdb.records import dataclass


@dataclass(frozen=True)
class TableLinks:
    """Checks the chains and references of the tables of one policy file."""

    text: PolicyText
    tables: tuple[Table, ...]

    def check(self) -> None:
        """Raise PolicyError where a table names another in a way that cannot hold."""
        for table in self.tables:
            for owner in table.owned_by:
                if owner.chain is not None:
                    self._check_chain(table, owner, owner.chain)
            for column in table.columns:
                where = ("tables", table.name, "columns", column.name)
                if column.references is not None:
                    self._check_reference(table, column, column.references, where)
                if column.values_from is not None:
                    self._check_values(table, column, column.values_from, (*where, "values"))
        self._check_units()

    def _check_chain(self, table: Table, owner: OwnedBy, chain: Reference) -> None:
        """The unit of a row is that of the row it names, and so on until a column names it."""
        where = ("tables", table.name, "unit")
        self._check_named(table, owner.columns, chain, where)
        seen = [table]
        while True:
            after = self._table(chain.table)
            if after in seen:
                circle = " -> ".join(each.name for each in (*seen, after))
                raise self.text.error(f"the units go round in a circle: {circle}", where)
            if after.kind != owner.kind:
                differing = f"a row of {after.name} is about a {after.kind}, and no {owner.kind}"
                raise self.text.error(differing, where)
            seen.append(after)
            if after.chain is None:
                return
            chain = after.chain

    def _check_reference(
        self, table: Table, column: Column, named: Reference, where: tuple[str, ...]
    ) -> None:
        """A reference says that two rows are about one unit."""
        here = (*where, "references")
        if table.unit is None or table.owners:
            raise self.text.error("references goes with a unit, one for each row", here)
        if not keeps_values(column):
            raise self.text.error("a column that references has no bounds and is nullable", here)
        self._check_named(table, (column.name,), named, here)
        if self._table(named.table).kind != table.kind:
            differing = f"a row of {named.table} is about a {self._table(named.table).kind}"
            raise self.text.error(f"{differing}, and no {table.kind}", here)

    def _check_named(
        self, table: Table, names: tuple[str, ...], named: Reference, where: tuple[str, ...]
    ) -> None:
        """The named columns must be the key of a table of units, and of the columns' own types."""
        target = self._table(named.table)
        if target.public:
            raise self.text.error(f"{target.name} is public, and its rows have no unit", where)
        if target.unit is None:
            raise self.text.error(f"each row of {target.name} is a unit of its own", where)
        if target.owners:
            raise self.text.error(f"a row of {target.name} is two units'", where)
        if {*target.key} != {*named.columns}:
            several = ", ".join(f'"{each}"' for each in named.columns)
            hint = f"key = {f'[{several}]' if named.also else several} in [tables.{target.name}]"
            problem = f"{named} {'are' if named.also else 'is'} not declared a unique key"
            raise self.text.error(problem, where, hint)
        for name, there in zip(names, named.columns, strict=True):
            self._check_kinds(table, name, Reference(named.table, there), where)

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
        self, table: Table, name: str, named: Reference, where: tuple[str, ...]
    ) -> None:
        own, other = _column(table, name), _column(self._table(named.table), named.column)
        if own.kind is not other.kind:
            differing = f"{own.name} is {_a(own.kind)}, and {named} {_a(other.kind)}"
            raise self.text.error(differing, where)

    def _check_units(self) -> None:
        """Tables are about the same units, so the columns that hold a kind are of one type."""
        known: dict[str, tuple[Kind, str]] = {}
        for table in self.tables:
            for kind, own in table.unit_types.items():
                other, name = known.setdefault(kind, (own, table.name))
                if own is not other:
                    differing = f"a {kind or 'unit'} is {_a(own)} here, and {_a(other)} in {name}"
                    raise self.text.error(differing, ("tables", table.name, "unit"))

    def _table(self, name: str) -> Table:
        return next(table for table in self.tables if table.name == name)


def _column(table: Table, name: str) -> Column:
    return next(column for column in table.columns if column.name == name)


def _a(kind: Kind | None) -> str:
    return "text" if kind is Kind.TEXT else f"an {kind}" if kind is Kind.INTEGER else f"a {kind}"
