"""How much work a ledger has with the filters that it keeps."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from dpdb.ledger.spending import MemoryLedger
from dpdb.plan.expressions.expressions import ColumnRef, Compare, Literal
from dpdb.plan.relations.regions import Region, region
from dpdb.policy.budget import Budget
from dpdb.policy.catalog import Column, Kind, Table
from dpdb.privacy.accounting.composition import ComposedLoss
from dpdb.privacy.accounting.loss import pure

AGE = Column("age", Kind.INTEGER, Fraction(0), Fraction(1000))
TABLE = Table("t", Path("t.csv"), (AGE,))
LOSS = ComposedLoss.of(pure(Fraction(1)))


def below(age: int) -> Region:
    """The rows with a smaller age: such filters exclude none of each other."""
    return region(TABLE, Compare("<", ColumnRef(AGE), Literal(age, Kind.INTEGER)))


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> list[Region]:
    """The regions with which others were compared."""
    regions: list[Region] = []
    excludes = Region.excludes

    def watched(self: Region, other: Region) -> bool:
        regions.append(other)
        return excludes(self, other)

    monkeypatch.setattr(Region, "excludes", watched)
    return regions


def test_filters_asked_again_and_again_are_compared_once_a_charge(compared: list[Region]) -> None:
    ledger = MemoryLedger(Budget(Fraction(1000), Fraction(0), 1000))
    for _ in range(20):
        for age in (30, 40, 50):
            ledger.charge(LOSS, below(age))
    assert len(compared) <= 60 * 2
    assert ledger.balance.epsilon_left == 1000 - 60
