"""The data of one trial: invented people, their declaration, and the truth for scoring."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from dpdb.errors import DataFileError
from dpdb.policy.budget import Budget, Neighbors
from dpdb.policy.catalog import Column, Kind, Policy, Table
from dpdb.policy.names import OwnedBy, quoted_text, written
from dpdb.policy.reading.reader import policy_for, read_policy
from dpdb.records import dataclass

Row = Sequence[object]


@dataclass(frozen=True, repr=False)
class Scenario:
    """A table with a secret in it.

    `columns` is the text under [tables.NAME.columns] of a policy file, in the order of the rows'
    cells. For somebody's own file, it is the columns that its policy declares.
    """

    columns: str | tuple[Column, ...]
    rows: Sequence[Row]
    truth: object
    table: str = "people"
    neighbors: str = "replace"
    unit: str | None = None
    rows_per_unit: int = 1
    owners: tuple[str, ...] = ()
    """The columns that name the two owners of each row, which are the names of their kinds, too."""

    @property
    def declared(self) -> tuple[Column, ...]:
        """The columns with their declarations."""
        return _declared(self.columns) if isinstance(self.columns, str) else self.columns

    def policy(self, directory: Path, epsilon: Fraction, queries: int) -> Policy:
        """A policy for the rows, which are written to `directory`."""
        path = directory / f"{self.table}.csv"
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(column.name for column in self.declared)
            writer.writerows(self.rows)
        table = Table(self.table, path, self.declared, self.unit, self.rows_per_unit)
        if self.owners:
            owners = tuple(OwnedBy(name, name) for name in self.owners)
            table = replace(table, unit=self.owners[0], owners=owners)
        budget = Budget(epsilon, Fraction(0), queries)
        return Policy((table,), budget, Neighbors(self.neighbors))

    def with_keys_of_its_rows(self, name: str) -> Scenario:
        """The scenario with the mistake of declaring the values that the rows of a column have."""
        place = [column.name for column in self.declared].index(name)
        values = tuple(sorted({str(row[place]) for row in self.rows}))
        columns = tuple(
            replace(column, values=values) if column.name == name else column
            for column in self.declared
        )
        return replace(self, columns=columns)


@cache
def _declared(columns: str) -> tuple[Column, ...]:
    with TemporaryDirectory() as directory:
        path = Path(directory) / "policy.toml"
        path.write_text(f"[tables.t.columns]\n{columns}", encoding="utf-8")
        return read_policy(path).tables[0].columns


@dataclass(frozen=True, repr=False)
class Victim:
    """A row of a file, and the column and text that single it out, as SQL writes them."""

    index: int
    column: str
    text: str

    @property
    def alone(self) -> str:
        """A condition that this row alone fulfils."""
        return f"{self.column} = {self.text}"

    @property
    def others(self) -> str:
        """A condition that all other rows fulfil, even those where the column is NULL."""
        return f"{self.column} != {self.text} OR {self.column} IS NULL"


@dataclass(frozen=True)
class SecretColumn:
    """A numeric column of a file, and the whole numbers that its bounds are nearest to."""

    column: Column
    least: int
    most: int

    @property
    def written(self) -> str:
        """The column's name as SQL has it."""
        return written(self.column.name)


@dataclass(frozen=True, repr=False)
class DataFile:
    """Somebody's own CSV file, on which an attack is tried."""

    table: Table
    rows: tuple[tuple[str, ...], ...]

    @classmethod
    def read(cls, path: Path) -> DataFile:
        """The file, declared by the policy beside it, or by its header alone."""
        from dpdb.lab.studies.cells import text_rows  # noqa: PLC0415 (numpy)

        table = policy_for(path).tables[0]
        return cls(table, tuple(text_rows(table)))

    @property
    def written(self) -> str:
        """The table's name as SQL has it."""
        return written(self.table.name)

    @property
    def notice(self) -> str:
        """Who may see what is told of the file."""
        return (
            "For the data owner's eyes, not to be published: real cells of "
            f"{self.table.path.name}, and exact answers from its rows."
        )

    def place(self, column: Column) -> int:
        """The index of a column in a row."""
        return self.table.columns.index(column)

    def victim(self) -> Victim:
        """The first row with a cell of text that no other row has."""
        for column in self.table.columns:
            if column.kind is Kind.TEXT:
                cells = Counter(row[self.place(column)] for row in self.rows)
                for index, row in enumerate(self.rows):
                    text = row[self.place(column)]
                    if text and cells[text] == 1:
                        return Victim(index, written(column.name), quoted_text(text))
        raise DataFileError("no cell of text singles out a row of this file")

    def measure(self) -> SecretColumn:
        """The last numeric column with bounds; the victim's cell in it is the secret."""
        measures = [
            SecretColumn(column, round(column.bounds[0]), round(column.bounds[1]))
            for column in self.table.columns
            if column.kind in (Kind.INTEGER, Kind.NUMBER) and column.bounds and not column.values
        ]
        if not measures:
            raise DataFileError(
                "the file has no numeric column with bounds to be found out",
                hint="`dpdb init FILE.csv -o FILE.toml` drafts a policy to declare them in",
            )
        return measures[-1]

    def with_cell(self, index: int, column: Column, value: object) -> list[Row]:
        """The rows with one cell changed."""
        rows: list[Row] = list(self.rows)
        changed = list(rows[index])
        changed[self.place(column)] = value
        rows[index] = changed
        return rows

    def scenario(self, rows: Sequence[Row], truth: object, neighbors: str) -> Scenario:
        """The file with some of its rows changed."""
        name = self.table.name
        return Scenario(self.table.columns, rows, truth, table=name, neighbors=neighbors)


_FIRST = """
Ada Alan Barbara Claude Donald Edsger Frances Grace Hedy Ivan John Katherine Leslie Margaret
Niklaus Olga Peter Radia Shafi Tim Ursula Vint Whitfield Xiaoyun Yuri
"""
_LAST = """
Adler Becker Chen Diaz Evans Fischer Garcia Huber Ito Jensen Kaya Lopez Moreau Novak Okafor
Patel Quinn Rossi Sato Tran
"""


def names(number: int) -> list[str]:
    """`number` different names, at most 500; always the same ones."""
    first, last = _FIRST.split(), _LAST.split()
    return [f"{first[i % 25]} {last[(i + i // 100) % 20]}" for i in range(number)]
