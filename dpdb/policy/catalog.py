"""The catalog: tables and columns as the policy declares them."""

from __future__ import annotations

from dataclasses import field
from enum import StrEnum
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from dpdb.errors import PolicyError, UsageError
from dpdb.policy.budget import Budget, LastingBudget, Neighbors, Timing
from dpdb.policy.cell_format import PLAIN, CellFormat
from dpdb.policy.csv.csv_format import CsvFormat
from dpdb.policy.frames import HeldFrame
from dpdb.policy.names import OwnedBy, Reference
from dpdb.policy.storage import ServerTable, Storage, file_kind, files_of
from dpdb.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


LONGEST_TEXT = 10_000
"""The most bytes of a text that counts; a longer one is NULL."""
USUAL_ROWS_HELD = 1_000
"""The rows of a unit that a table holds where the policy says nothing and needs no more."""
MOST_ROWS_HELD = 100_000
"""The most rows of a unit that a table can hold."""
_TEXTS_A_ROW = 100
"""The bytes of texts that each row that may be held adds to the budget of its unit."""

Value = bool | int | Fraction | str
"""A constant; a date is an integer, the days since 1970-01-01, and a timestamp the microseconds."""


class Kind(StrEnum):
    """The types of columns and expressions."""

    INTEGER = "integer"
    NUMBER = "number"
    TEXT = "text"
    BOOLEAN = "boolean"
    DATE = "date"
    TIMESTAMP = "timestamp"

    @property
    def ordinal(self) -> bool:
        """Whether the values are ordered numbers, dates or timestamps, which can have bounds."""
        return self.whole or self is Kind.NUMBER

    @property
    def whole(self) -> bool:
        """Whether the values are held as whole numbers: integers, days or microseconds."""
        return self is Kind.INTEGER or self.temporal

    @property
    def temporal(self) -> bool:
        """Whether the values are dates or timestamps."""
        return self in (Kind.DATE, Kind.TIMESTAMP)


@dataclass(frozen=True, repr=False)
class Column:
    """A column as declared.

    `lower`, `upper` and `step` are in the column's own unit (days for dates, microseconds for
    timestamps). Cells are clamped to the bounds. A cell that cannot be read, or is not among the
    declared `values`, is NULL; in a column that is not `nullable` it is the first declared value,
    or else the lower bound.
    """

    name: str
    kind: Kind
    lower: Fraction | None = None
    upper: Fraction | None = None
    step: Fraction = Fraction(1)
    values: tuple[Value, ...] | None = None
    nullable: bool = True
    tight: bool = False
    """Whether the bounds are known, from the subject, to be near the least and greatest values."""
    guessed: bool = False
    """Whether no policy declares the type; each query then reads the column as text or number."""
    references: Reference | None = None
    """The key that the column names a row by, which is about the same unit as its own row."""
    values_from: Reference | None = None
    """The column of a public table whose values are the declared ones."""
    length: int = LONGEST_TEXT
    """The most bytes, in UTF-8, of a text that counts; a longer cell is NULL."""
    cells: CellFormat = PLAIN
    """The format of the cells."""
    label: str = field(default="", compare=False)
    """The name in messages of a column that a SELECT makes; empty where it is `name`."""

    def __repr__(self) -> str:
        return f"Column({self.name!r})"

    @property
    def called(self) -> str:
        """The column's name in messages."""
        return self.label or self.name

    @property
    def bounds(self) -> tuple[Fraction, Fraction] | None:
        """The declared range, from bounds or from declared numbers; None if there is none."""
        if self.lower is None or self.upper is None:
            return None
        return self.lower, self.upper


def usual_rows_held(rows_per_unit: int) -> int:
    """The rows of a unit that a table holds where its policy does not say."""
    return max(USUAL_ROWS_HELD, rows_per_unit)


class MadeUp(Protocol):
    """The rows of a trial, made up from a policy."""

    def cells(self, table: str) -> Mapping[str, Sequence[str | None]]:
        """The cells of each column of a table, as a CSV file has them; None for NULL."""
        ...


@dataclass(frozen=True)
class Table:
    """Rows and their declaration: those of a file, of several files, or of a table of a server."""

    name: str
    path: Path
    columns: tuple[Column, ...]
    unit: str | None = None
    """The name of the column that says whom a row is about; None where each row is a unit."""
    rows_per_unit: int = 1
    """The most rows of one unit that a query counts."""
    csv: CsvFormat = field(default_factory=CsvFormat)
    """The declared format of a CSV file."""
    chain: Reference | None = None
    """The key that the unit column names a row by: its unit is this row's, too."""
    public: bool = False
    """Whether everybody may know the rows; a public table has no unit."""
    key: tuple[str, ...] = ()
    """The names of the columns that tell any two rows apart; none where nothing is declared."""
    at_most: tuple[tuple[str, int], ...] = ()
    """Columns of a public table, each with the most rows that share one of its values."""
    groups_per_unit: int | None = None
    """The most groups in which a unit counts; None where only its rows are limited."""
    stored_as: str | None = None
    """The table's name inside a file of several; None where it is `name`."""
    engine: str | None = None
    """The engine of the table's queries: `memory`, `stream` or `spark`; None: by storage."""
    server: ServerTable | None = None
    """The table of a server or cluster that has the rows; None where a file has them."""
    rows_held_per_unit: int | None = None
    """The most rows of one unit that are held, before any filter; None for the usual number."""
    also: tuple[Path, ...] = ()
    """The files, besides that at `path`, whose rows are those of the table, too."""
    frame: HeldFrame | None = field(default=None, repr=False)
    """The frame in memory that has the rows; None where a file or a server has them."""
    made_up: MadeUp | None = field(default=None, repr=False)
    """The rows of a trial, in place of a file or a server; None where the rows are data."""
    workers: int | None = None
    """The processes that read a Parquet file at once; None: by the size of the file."""
    finds_cap: bool = False
    """Whether a part of a query's ε finds a cap on the rows of a unit, up to `rows_per_unit`."""
    kind: str = ""
    """The kind of unit; empty where the policy declares no kinds, or rows have two owners."""
    owners: tuple[OwnedBy, ...] = ()
    """The two owners of each row; none where rows have one. `unit` and `chain` are the first's."""

    def __hash__(self) -> int:
        """The hash of the name alone, since a table can have many columns with many values."""
        return hash(self.name)

    @property
    def has_one_row_per_unit(self) -> bool:
        """Whether no unit has two rows: a row is a unit, or the unit's column is the key."""
        apart = bool(self.chain or self.owners)
        return self.unit is None or (self.key == (self.unit,) and not apart)

    @property
    def rows_held(self) -> int:
        """The most rows of one unit that the table holds, before any filter.

        The cap on the rows that count is below it, and a query can lower that cap alone. A table
        whose rows have two owners holds all of them; this is then the declared cap, and the work
        of as many rows is bounded.
        """
        if self.has_one_row_per_unit:
            return 1
        usual = self.rows_per_unit if self.owners else usual_rows_held(self.rows_per_unit)
        return self.rows_held_per_unit or usual

    @property
    def text_budget(self) -> int:
        """The most bytes that the texts of a unit have in one column."""
        return max(LONGEST_TEXT, _TEXTS_A_ROW * self.rows_held)

    @property
    def told_apart_by(self) -> tuple[Column, ...]:
        """The columns that tell rows apart: those of the key, or all, as of rows of two owners."""
        return tuple(c for c in self.columns if not self.key or self.owners or c.name in self.key)

    @cached_property
    def storage(self) -> Storage:
        """The kind of file or server that has the rows."""
        if self.made_up is not None:
            return Storage.TRIAL
        if self.frame is not None:
            return Storage.FRAME
        return file_kind(self.path) if self.server is None else self.server.storage

    @property
    def place(self) -> str:
        """The place of the rows, as messages say it."""
        if self.frame is not None:
            return f"the frame {self.name}"
        if self.made_up is not None:
            return f"the trial rows of {self.name}"
        if self.server is not None:
            return self.server.place
        return ", ".join(map(str, self.paths))

    @property
    def paths(self) -> tuple[Path, ...]:
        """The paths of the table's files, each of which may be a pattern; none elsewhere."""
        return () if self.frame or self.made_up or self.server else (self.path, *self.also)

    @property
    def files(self) -> tuple[Path, ...]:
        """All files of the table; raises DataFileError where one cannot be read."""
        return files_of(*self.paths)

    def named(self, file: Path) -> str:
        """The name of one of its files in messages: if a pattern found it, all paths."""
        return str(file) if file in self.paths else self.place

    @property
    def is_streamed(self) -> bool:
        """Whether queries go over the rows block by block, rather than hold columns in memory."""
        if self.engine is None:
            return self.storage.value.streamed
        return self.engine == "stream"

    @property
    def in_spark(self) -> bool:
        """Whether queries are evaluated by a cluster of Spark, where the rows are."""
        if self.engine is None:
            return self.storage is Storage.SPARK
        return self.engine == "spark"

    @property
    def name_in_file(self) -> str:
        """The table's name inside a file of several."""
        return self.name if self.stored_as is None else self.stored_as

    @property
    def owned_by(self) -> tuple[OwnedBy, ...]:
        """The columns that name the owners of rows; none where each row is a unit, or public."""
        alone = () if self.unit is None else (OwnedBy(self.kind, self.unit, self.chain),)
        return self.owners or alone

    @property
    def kinds(self) -> tuple[str, ...]:
        """The different kinds of the two owners of each row; none where rows have one owner."""
        return tuple(dict.fromkeys(each.kind for each in self.owners))

    @property
    def unit_as_written(self) -> str:
        """The unit as the policy writes it: `row`, a column, or a column and the key it names."""
        return ", ".join(map(str, self.owned_by)) or "row"

    @property
    def unit_in_words(self) -> str:
        """The word for a unit of this table in messages: row, the unit column, or `unit of T`."""
        if self.kind or self.kinds:
            return self.kind or " or ".join(self.kinds)
        if self.chain is not None:
            return f"unit of {self.chain.table}"
        return "row" if self.unit is None else self.unit

    @property
    def names_every_unit(self) -> bool:
        """Whether the unit column is never NULL; in a table that a SELECT makes it can be."""
        return True

    @property
    def unit_types(self) -> Mapping[str, Kind]:
        """The type of the column that names units, for each kind that a column names itself."""
        named = ((each.kind, self.column(each.column)) for each in self.owned_by if not each.chain)
        return {kind: column.kind for kind, column in named if column is not None}

    @property
    def identifiers(self) -> frozenset[str]:
        """The names of the columns that name a unit or a row: what they hold is never changed."""
        references = (column.name for column in self.columns if column.references is not None)
        naming = (name for each in self.owned_by for name in each.columns if name)
        return frozenset((*self.key, *references, *naming))

    def column(self, name: str) -> Column | None:
        """The column called `name`, first exactly, then in any case; None if there is none."""
        folded = name.casefold()
        matches = [column for column in self.columns if column.name.casefold() == folded]
        return next((c for c in matches if c.name == name), matches[0] if matches else None)


@dataclass(frozen=True)
class Policy:
    """Everything about the data that is public."""

    tables: tuple[Table, ...]
    budget: Budget = field(default_factory=Budget)
    neighbors: Neighbors = Neighbors.ADD_REMOVE
    noise: str = "system"
    """The source of noise: `system` or `opendp`."""
    sample_key: str = ""
    """Decides, with a hash, which rows count of a unit with more rows than its cap."""
    lasting: LastingBudget | None = None
    """The ledger that keeps what is spent; None where each session has a budget of its own."""
    timing: Timing = Timing.PLAIN
    unit: str = "unit"
    """The word for a privacy unit in messages, such as customer."""
    minimum_units: int = 1
    """The fewest units of any group that is shown."""

    def __post_init__(self) -> None:
        shared = next((table.name for table in self.tables if table.owners), None)
        if shared and self.neighbors is Neighbors.REPLACE:
            raise PolicyError(f'{shared} has rows of two units: neighbors is "add-remove"')
        frames = (table.frame for table in self.tables if table.frame is not None)
        vars(self)["_frames"] = tuple(frame.given_away() for frame in frames)

    @property
    def is_trial(self) -> bool:
        """Whether the rows are made up, for practice; raises UsageError where some alone are."""
        made_up = {table.made_up is not None for table in self.tables}
        if len(made_up) > 1:
            raise UsageError(
                "trial rows and data do not go together", hint="a trial is a session of its own"
            )
        return made_up == {True}

    def table(self, name: str) -> Table | None:
        """The table called `name`; `table` means the only one. None if there is none."""
        folded = name.casefold()
        for table in self.tables:
            if table.name.casefold() == folded:
                return table
        return self.tables[0] if folded == "table" and len(self.tables) == 1 else None
