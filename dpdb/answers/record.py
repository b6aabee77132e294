"""What a statement gives back, as plain values: what every format shows a part of."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from dpdb.ledger.protocol import FREE, Balance, Price
from dpdb.policy.catalog import Kind

if TYPE_CHECKING:
    from dpdb.plan.plan import Plan

Cell = int | float | str | bool | None
CellInterval = tuple[Cell, Cell] | None


@dataclass(frozen=True)
class ReleaseReport:
    """One noisy thing, as reported: numbers are in the analyst's units."""

    column: str
    aggregate: str
    mechanism: str
    sensitivity: Fraction | None
    """None, as is the scale, where it hangs on the rows: smooth sensitivity is as secret."""
    scale: Fraction | None
    epsilon: Fraction
    delta: Fraction = Fraction(0)
    margin: float | None = None
    """Noise is within ± this much with probability CONFIDENCE, of all candidates at once."""
    candidates: int = 1
    """Of how many rows noise has a say in which are shown."""


@dataclass(frozen=True)
class Disclosure:
    """What privacy forbids to show and teaching mode can: an exact statistic and its noise."""

    column: str
    stat: float
    scale: float


@dataclass(frozen=True, repr=False)
class AnswerRecord:
    """Everything about an answered statement."""

    statement: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    balance: Balance
    intervals: tuple[tuple[CellInterval, ...], ...] = ()
    only_noise: tuple[tuple[bool, ...], ...] = ()
    """Which values say nothing that the policy does not say; empty where none does."""
    kinds: tuple[Kind, ...] = ()
    """The types of the columns of a query, from its plan; empty where no query is answered."""
    releases: tuple[ReleaseReport, ...] = ()
    cost: Price = FREE
    query: bool = False
    """Whether this answers a SELECT, rather than showing or setting something."""
    repeat: bool = False
    explain: bool = False
    private: bool = True
    revealed: tuple[Disclosure, ...] = ()
    notes: tuple[str, ...] = ()
    """Of intervals, of an error that was asked for, of what EXPLAIN's rows and values are."""
    plan: Plan | None = None
    """What EXPLAIN explains."""
