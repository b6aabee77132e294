"""One table, and sessions that are asked for more than an ε."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from random import Random

import pytest

from dpdb.errors import BudgetExceeded, DpdbError, InvalidOption
from dpdb.policy.budget import Budget, Neighbors
from dpdb.policy.catalog import Column, Kind
from dpdb.privacy.noise.protocols import Noise
from dpdb.privacy.noise.system import SystemNoise
from dpdb.session.session import Session
from tests.support.brute import ADD_REMOVE, Row, world

PLENTY = Budget(Fraction(1000), Fraction(1, 10**5), 100)
COLUMNS = (
    Column("g", Kind.TEXT, values=("a", "b", "c")),
    Column("x", Kind.INTEGER, Fraction(-2), Fraction(5)),
    Column("k", Kind.INTEGER, Fraction(3), Fraction(7), nullable=False),
    Column("m", Kind.NUMBER, Fraction(0), Fraction(100), Fraction(1, 4)),
    Column("w", Kind.INTEGER),
)
ROWS: list[Row] = [
    ("a", "-2", "3", "17.25", "5"),
    ("b", "5", "7", "99", "-70"),
    ("a", "", "", "", ""),
    ("z", "1", "5", "0.5", "12"),
]


def opened(
    budget: Budget = PLENTY, relation: Neighbors = ADD_REMOVE, noise: Noise | None = None
) -> Session:
    here = world(COLUMNS, relation, budget=budget)
    here.source.rows = ROWS
    return Session(here.policy, noise=noise)


def asking(options: str, select: str) -> str:
    return f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS({options}) {select}"


def refused(session: Session, text: str, kind: type[DpdbError] = InvalidOption) -> str:
    """What is said of a statement that is refused, by EXPLAIN as well; it costs nothing."""
    before = session.balance
    with pytest.raises(kind) as caught:
        session.execute(text)
    if kind is not BudgetExceeded:
        with pytest.raises(kind):
            session.execute(f"EXPLAIN {text}")
    assert session.balance == before
    return f"{caught.value.message} {caught.value.hint}"


@dataclass
class Record:
    """A source of noise that notes the scales, or variances, asked of it."""

    asked: list[Fraction] = field(default_factory=list)
    source: SystemNoise = field(default_factory=lambda: SystemNoise(Random(1).randbytes))
    private = True

    def laplace(self, scale, size):
        self.asked.append(scale)
        return self.source.laplace(scale, size)

    def gaussian(self, variance, size):
        self.asked.append(variance)
        return self.source.gaussian(variance, size)

    def below(self, bound):
        return self.source.below(bound)
