"""What the custodian declares: tables, columns, bounds, privacy unit and budget."""

from __future__ import annotations

import datetime
import re
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from pathlib import Path

from dpdb.errors import InvalidOption, Place

EPOCH = datetime.date(1970, 1, 1)
MAGNITUDE_LIMIT = 2**53
"""No value, in steps of its grid, is larger: all are exact both as int64 and as double."""

SMALLEST_EPSILON = Fraction(1, 10**9)
LARGEST_EPSILON = Fraction(10**4)
SMALLEST_DELTA = Fraction(1, 10**100)
"""The least that a composition theorem, or a release, can work with."""
LARGEST_QUERIES = 10**9

Value = bool | int | Fraction | str
"""A constant: dates are integers, days since 1970-01-01."""


class Kind(StrEnum):
    """The types of columns and expressions."""

    INTEGER = "integer"
    NUMBER = "number"
    TEXT = "text"
    BOOLEAN = "boolean"
    DATE = "date"

    @property
    def ordinal(self) -> bool:
        """Whether values lie on a line and can be bounded."""
        return self in (Kind.INTEGER, Kind.NUMBER, Kind.DATE)


class Neighbors(StrEnum):
    """The neighbour relations: what one privacy unit may change."""

    ADD_REMOVE = "add-remove"
    REPLACE = "replace"


class Composition(StrEnum):
    """The theorems by which statements add up."""

    PURE = "pure"
    ADVANCED = "advanced"
    ZCDP = "zcdp"


@dataclass(frozen=True, repr=False)
class Column:
    """One column as declared.

    `lower`, `upper` and `step` are in the column's own unit (days for dates).
    Cells are clamped to the bounds; a cell that cannot be read, or is not among
    declared `values`, is NULL, or in a column that is not `nullable` the lower
    bound, respectively the first declared value.
    """

    name: str
    kind: Kind
    lower: Fraction | None = None
    upper: Fraction | None = None
    step: Fraction = Fraction(1)
    values: tuple[Value, ...] | None = None
    nullable: bool = True
    guessed: bool = False
    """No policy declares the type: a query reads it as text or number, as it needs."""

    def __repr__(self) -> str:
        return f"Column({self.name!r})"

    @property
    def bounds(self) -> tuple[Fraction, Fraction] | None:
        """The declared range, from bounds or numeric declared values."""
        if self.lower is None or self.upper is None:
            return None
        return self.lower, self.upper


@dataclass(frozen=True)
class Table:
    """One CSV file and what is declared of it."""

    name: str
    path: Path
    columns: tuple[Column, ...]
    unit: str | None = None
    """The column that names the privacy unit; None where each row is a unit."""
    rows_per_unit: int = 1
    """A query counts at most so many rows of a unit."""

    def column(self, name: str) -> Column | None:
        """The column called `name`; an exact match goes before one in another case."""
        folded = name.casefold()
        matches = [column for column in self.columns if column.name.casefold() == folded]
        return next((c for c in matches if c.name == name), matches[0] if matches else None)


@dataclass(frozen=True)
class Budget:
    """The total privacy loss and number of queries allowed."""

    epsilon: Fraction = Fraction(1)
    delta: Fraction = Fraction(0)
    queries: int = 10
    composition: Composition = Composition.PURE


@dataclass(frozen=True)
class Policy:
    """Everything about the data that is public."""

    tables: tuple[Table, ...]
    budget: Budget = field(default_factory=Budget)
    neighbors: Neighbors = Neighbors.ADD_REMOVE
    noise: str = "system"
    """The source of noise: `system` or `opendp`."""
    sample_key: str = ""
    """Of a unit with more rows than its cap, another key makes others count."""

    def table(self, name: str) -> Table | None:
        """The table called `name`; `table` means the only one."""
        folded = name.casefold()
        for table in self.tables:
            if table.name.casefold() == folded:
                return table
        return self.tables[0] if folded == "table" and len(self.tables) == 1 else None


_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")


def exact_number(text: str) -> Fraction | None:
    """The number that `text` writes, exactly; None if it is none, or absurdly long."""
    if len(text) > 4_200 or not _NUMBER.fullmatch(text):
        return None
    return Fraction(text)


def grid_step(lower: Fraction, upper: Fraction) -> Fraction:
    """The grid for values in [lower, upper] where none is declared.

    A power of ten that leaves nine or ten significant digits: far below any
    noise, and far from the magnitude limit.
    """
    magnitude = max(abs(lower), abs(upper), Fraction(1, 10**9))
    exponent = len(str(magnitude.numerator // magnitude.denominator)) if magnitude >= 1 else 0
    return Fraction(10) ** (exponent - 10)


def valid_epsilon(value: Fraction, place: Place | None = None) -> Fraction:
    """`value` if it can be a privacy loss."""
    if not SMALLEST_EPSILON <= value <= LARGEST_EPSILON:
        raise InvalidOption(
            f"epsilon must be between {decimal(SMALLEST_EPSILON)} and {decimal(LARGEST_EPSILON)}",
            place=place,
        )
    return value


def valid_delta(value: Fraction, place: Place | None = None) -> Fraction:
    """`value` if it can be a probability of failure."""
    if not 0 <= value < 1:
        raise InvalidOption("delta must be at least 0 and below 1", place=place)
    return value


def valid_budget(budget: Budget) -> Budget:
    """`budget` if the theorem it is to be kept by has the δ it needs."""
    if budget.composition is not Composition.PURE and budget.delta < SMALLEST_DELTA:
        raise InvalidOption(
            f"composition = {budget.composition} needs delta of {decimal(SMALLEST_DELTA)} or more",
            hint="for instance delta = 1e-6; it should be far below 1 / the number of rows",
        )
    return budget


def decimal(value: Fraction, digits: int = 10) -> str:
    """A fraction as people write it."""
    return f"{float(value):.{digits}g}"
