"""Two tables for everything in this folder: the people, and a small one with every type."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from dpdb.policy.budget import Budget
from dpdb.policy.catalog import Policy
from dpdb.policy.reading.reader import read_policy
from dpdb.session.session import Session

HERE = Path(__file__).parent
PEOPLE = HERE.parents[1] / "sample_data" / "people.toml"


@pytest.fixture(scope="session")
def policy() -> Policy:
    tables = (*read_policy(PEOPLE).tables, *read_policy(HERE / "visits.toml").tables)
    return Policy(tables, Budget(Fraction(10_000), Fraction(1, 10), 100_000))


@pytest.fixture(scope="module")
def session(policy: Policy) -> Session:
    """Shared, because loading is slow; tests that change a setting take their own."""
    return Session(policy)
