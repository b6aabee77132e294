"""All rows there can be, and sessions over them."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import numpy.typing as npt

from dpdb.policy.budget import Budget, Neighbors
from dpdb.policy.catalog import Column, Kind
from dpdb.session.session import Session
from tests.support.brute import ADD_REMOVE, REPLACE, world
from tests.support.noiseless import Noiseless

COLUMNS = (
    Column("n", Kind.INTEGER, Fraction(0), Fraction(3)),
    Column("s", Kind.TEXT, values=("a", "b", "c")),
    Column("f", Kind.BOOLEAN),
)
ROWS = list(product(["", "0", "1", "2", "3"], ["", "a", "b", "c"], ["", "true", "false"]))
"""All that there can be."""
LARGE = Budget(Fraction(1000), Fraction(0), 10**6)
RELATIONS = [ADD_REMOVE, REPLACE]
Mask = npt.NDArray[np.bool_]


def session(relation: Neighbors, budget: Budget = LARGE, unit: str | None = None) -> Session:
    columns = COLUMNS if unit is None else (*COLUMNS, Column(unit, Kind.TEXT))
    here = world(columns, relation, unit, 1 if unit is None else 2, budget)
    here.source.rows = [(*row, "1")[: len(columns)] for row in ROWS]
    return Session(here.policy, noise=Noiseless())


def prices(here: Session, *statements: str) -> list[Fraction]:
    """In twentieths of ε."""
    return [here.execute(sql).cost.epsilon * 20 for sql in statements]


def counting(*conditions: str, epsilon: str = "0.05") -> list[str]:
    options = f"WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = {epsilon})"
    return [f"SELECT {options} COUNT(*) FROM t WHERE {each}" for each in conditions]
