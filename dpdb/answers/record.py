"""The answer to a statement as plain values, of which every format shows a part."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from enum import Enum, auto
from fractions import Fraction
from functools import cached_property
from itertools import repeat
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from dpdb.errors import folded, reportable
from dpdb.ledger.protocol import FREE, Balance, Price
from dpdb.policy.catalog import Kind
from dpdb.privacy.accounting.composition import NO_LOSS, Theorem
from dpdb.records import dataclass

if TYPE_CHECKING:
    from dpdb.plan.physical.plan import Plan

Cell = int | float | str | bool | None
CellInterval = tuple[Cell, Cell] | None
"""The two ends of a cell's 95 % interval; None where the cell has none.

An end is None where only the bounds limit the exact value on its side.
"""


T = TypeVar("T")
R = TypeVar("R", bound="AnswerRecord")


class Detail(Generic[T]):
    """A detail of an answer, which is worked out when it is first asked for.

    A copy for another process has the value alone, and not the inputs of `find`.
    """

    def __init__(self, find: Callable[[], T]):
        self._find = find

    @classmethod
    def of(cls, value: T) -> Detail[T]:
        """The detail with a known value."""
        return cls(lambda: value)

    @cached_property
    def value(self) -> T:
        """The value, found at the first call; raises DpdbError, as a statement does."""
        try:
            return self._find()
        except Exception as error:
            raise reportable(error) from None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Detail) and self.value == other.value

    def __hash__(self) -> int:
        return hash(self.value)

    def __reduce__(self) -> tuple[Callable[[T], Detail[T]], tuple[T]]:
        return self.of, (self.value,)


class CellAccuracy(NamedTuple):
    """The accuracy of a column's cells."""

    ends: tuple[tuple[Cell, ...], tuple[Cell, ...]]
    """The lower and the upper ends of their 95 % intervals."""
    only_noise: tuple[bool, ...] | None = None
    """For each cell, whether its interval is as wide as its bounds; None where none can be."""
    unknown: tuple[bool, ...] | None = None
    """For each cell of a quantile, whether its interval is as wide; its value may be good."""


@dataclass(frozen=True, repr=False)
class CellColumn:
    """A column of an answer: its cells, from the first row to the last."""

    cells: tuple[Cell, ...]
    accuracy_detail: Detail[CellAccuracy | None] = Detail.of(None)

    @property
    def accuracy(self) -> CellAccuracy | None:
        """The accuracy of the cells; None without intervals."""
        return self.accuracy_detail.value

    @property
    def intervals(self) -> Iterable[CellInterval]:
        """The interval of each cell."""
        if self.accuracy is None:
            return repeat(None, len(self.cells))
        return zip(*self.accuracy.ends, strict=True)

    @property
    def only_noise(self) -> tuple[bool, ...] | None:
        """For each cell, whether its interval is as wide as its bounds; None where none can be."""
        return None if self.accuracy is None else self.accuracy.only_noise


def columns_of(rows: Sequence[tuple[Cell, ...]], number: int) -> tuple[CellColumn, ...]:
    """Rows of `number` cells without intervals, as columns."""
    return tuple(CellColumn(tuple(row[i] for row in rows)) for i in range(number))


def guessed_kind(cells: Iterable[Cell]) -> Kind:
    """The type of a column of public cells, which no query says."""
    found = {type(cell) for cell in cells if cell is not None}
    if found == {bool}:
        return Kind.BOOLEAN
    if found and found <= {int, float}:
        return Kind.INTEGER if found == {int} else Kind.NUMBER
    return Kind.TEXT


class Origin(Enum):
    """The source of the cells of a column, which the query and the policy decide."""

    KEY = auto()
    """Cells without an interval: a key, a constant, the end of an interval."""
    EXACT = auto()
    """Aggregates without noise, such as a public number of rows."""
    NOISY = auto()
    """Aggregates with noise."""


@dataclass(frozen=True)
class ReleaseReport:
    """The report of a part of a release; its numbers are in the column's unit."""

    column: str
    aggregate: str
    mechanism: str
    sensitivity: Fraction | None
    """None where it depends on the rows (smooth sensitivity), and so must stay secret."""
    scale: Fraction | None
    """The scale of the noise; None where the sensitivity is None."""
    epsilon: Fraction
    delta: Fraction = Fraction(0)
    margin: float | None = None
    """With probability CONFIDENCE the noise of all competing rows is within ± this much at once."""
    competing_rows: int = 1
    """The number of groups among which noise decides which are shown; 1 where all are."""
    group: int = 1
    """Parts with the same number are one vector, which has this ε and this δ once."""
    recalled: bool = False
    """Whether it was drawn for an earlier statement, which paid for it."""
    source: str | None = None
    """The earlier releases that it was computed from, in words; None if it was drawn."""


@dataclass(frozen=True)
class Disclosure:
    """An exact statistic and the scale of its noise, which only teaching mode may show."""

    column: str
    stat: float
    scale: float


@dataclass(frozen=True)
class Line:
    """A line to fold into what fits: the first begins with `lead`, the others with `hanging`."""

    text: str
    lead: str = ""
    hanging: str = ""
    folds: bool = True
    """Whether the line may be broken at spaces."""

    def folded(self, columns: int | None) -> list[str]:
        """The line within so many columns."""
        return folded(self.text, columns if self.folds else None, self.lead, self.hanging)


@dataclass(frozen=True)
class Outline:
    """The parts of a plan that formats tell, for an answer that came here without one."""

    summary: tuple[tuple[str, str], ...]
    """EXPLAIN's first lines: the name of a column, and its accuracy; then the cost."""
    tree: tuple[Line, ...]
    """EXPLAIN's tree."""
    margins: tuple[tuple[str, str], ...]
    """The columns whose ± is known beforehand, and each ± in a few words."""
    work: tuple[tuple[str, int | float | str], ...]
    """The work that one unit can add, by its names in JSON; empty where it is little."""
    theorem: Theorem
    """The theorem that pays for the answers so far and this one."""


@dataclass(frozen=True, repr=False)
class AnswerRecord:
    """A statement with its rows, their accuracy, its price and what is left of the budget.

    Intervals, reports of releases and notes are worked out when they are first asked for. They are
    functions of the noisy values and of the public plan, and so is the time that they take: when
    that is, or whether at all, gives nothing more away ([DR14] Proposition 2.1).
    """

    statement: str
    columns: tuple[str, ...]
    """The names of the columns."""
    cells: tuple[CellColumn, ...]
    """The columns themselves; none in the answer to an EXPLAIN, which has no rows."""
    balance: Balance
    kinds: tuple[Kind, ...] = ()
    """The types of the columns of a query, from its plan; empty where no query is answered."""
    origins: tuple[Origin, ...] = ()
    """The source of each column of a query; empty where no query is answered."""
    release_detail: Detail[tuple[ReleaseReport, ...]] = Detail.of(())
    cost: Price = FREE
    query: bool = False
    """Whether this answers a SELECT, rather than showing or setting something."""
    repeat: bool = False
    """Whether the answer was paid for before, and so is free."""
    explain: bool = False
    """Whether this answers an EXPLAIN: a plan and a price, and no rows."""
    private: bool = True
    """Whether the answer is differentially private; in teaching mode none is."""
    revealed: tuple[Disclosure, ...] = ()
    note_detail: Detail[tuple[str, ...]] = Detail.of(())
    bounding: tuple[str, ...] = ()
    """Sentences on the values that are clamped and the rows left out, before the noise.

    Intervals are of the noise alone: how far clamping and caps move a value is private.
    """
    told: frozenset[str] = frozenset()
    """The sentences on bounding that the session has told before: the footer leaves them out."""
    plan: Plan | None = None
    """The plan that EXPLAIN shows."""
    outline: Outline | None = None
    """The parts of the plan that formats tell, in an answer that comes from a server."""
    summary: tuple[tuple[str, str], ...] = ()
    """Names and texts that say for people what the table says for programs."""
    trial: bool = False
    """Whether the answer is from made-up rows, for practice; `cost` is then nothing."""
    would_cost: Price | None = None
    """The price that a trial's answer would have; None where no trial is answered."""

    @classmethod
    def of_trial(cls: type[R], answer: R) -> R:
        """The answer, marked as one from made-up rows; nothing was paid for it."""
        return replace(answer, trial=True, cost=FREE, would_cost=answer.cost)

    @property
    def theorem(self) -> Theorem:
        """The theorem that pays for the answers so far; after EXPLAIN, that for one more."""
        if self.outline is not None:
            return self.outline.theorem
        unpaid = None if self.cost == FREE else self.plan
        return self.balance.theorem(unpaid.composed_loss if unpaid else NO_LOSS)

    @property
    def releases(self) -> tuple[ReleaseReport, ...]:
        """The reports of what was drawn, or of what EXPLAIN says would be."""
        return self.release_detail.value

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences on intervals, on an error asked for and on keys that are not shown."""
        return self.note_detail.value

    @property
    def types(self) -> tuple[Kind, ...]:
        """The types of the columns: integer, number, text, boolean, date or timestamp."""
        return self.kinds or tuple(guessed_kind(column.cells) for column in self.cells)

    @cached_property
    def rows(self) -> tuple[tuple[Cell, ...], ...]:
        """The cells, row by row."""
        return tuple(zip(*(column.cells for column in self.cells), strict=True))

    @cached_property
    def intervals(self) -> tuple[tuple[CellInterval, ...], ...]:
        """The 95 % interval of each cell, row by row."""
        return tuple(zip(*(column.intervals for column in self.cells), strict=True))
