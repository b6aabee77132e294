"""Joined and grouped statements at random, against SQLite: an answer without noise is the exact one."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from dpdb.policy.reading.reader import read_policy
from tests.support import random_statements
from tests.support.units import DENSE, policy_text, random_database


@pytest.mark.examples(20_000, 40)
def test_statements_are_answered_as_by_sqlite(tmp_path: Path, examples: int, tried) -> None:
    (tmp_path / "units.toml").write_text(policy_text(orders=100, lines=100))
    DENSE.write(tmp_path)  # public tables are read to know what everybody may
    policy = read_policy(tmp_path / "units.toml")
    answered = 0
    for seed in range(examples):
        chance = Random(seed)
        databases = [random_database(chance) for _ in range(3)]
        answered += random_statements.check(chance, policy, databases)
    assert answered > examples // 10
    tried(f"{examples} statements, {answered} of them answered")
