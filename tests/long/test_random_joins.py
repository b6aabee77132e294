"""Joins, EXISTS and IN at random, against SQLite: what is answered is each customer's own."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from dpdb.policy.reading.reader import read_policy
from tests.support.random_joins import check
from tests.support.units import policy_text, random_database


@pytest.mark.examples(5000, 30)
def test_random_joins_are_unit_wise(tmp_path: Path, examples: int, tried) -> None:
    (tmp_path / "units.toml").write_text(policy_text(orders=100, lines=100))
    policy = read_policy(tmp_path / "units.toml")
    answered = 0
    for seed in range(examples):
        chance = Random(seed)
        databases = [random_database(chance) for _ in range(4)]
        answered += check(chance, policy, databases, tmp_path)
    assert answered > examples // 10
    tried(f"{examples} relations, {answered} of them answered")
