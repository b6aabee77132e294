"""The key `tight` of a column; other keys are tested where their effects are."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpdb.errors import PolicyError
from dpdb.policy.reading.reader import read_policy
from dpdb.session.session import Session


def policy_file(tmp_path: Path, column: str) -> Path:
    path = tmp_path / "t.toml"
    path.write_text(f'[tables.t]\npath = "t.csv"\n[tables.t.columns]\nx = {{ {column} }}\n')
    return path


@pytest.mark.parametrize(("tight", "mechanism"), [("true", "exponential"), ("false", "walk")])
def test_tight_bounds_change_how_extremes_are_found(
    tight: str, mechanism: str, tmp_path: Path
) -> None:
    path = policy_file(tmp_path, f'type = "integer", bounds = [0, 1000000], tight = {tight}')
    answer = Session(read_policy(path)).execute("EXPLAIN SELECT MIN(x), MAX(x) FROM t")
    assert [release.mechanism for release in answer.releases] == [mechanism] * 2


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ('type = "integer", bounds = [0, 9], tight = "yes"', "tight is true or false"),
        ('type = "integer", tight = true', "tight goes with bounds"),
    ],
)
def test_tight_is_a_boolean_beside_bounds(column: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match=message):
        read_policy(policy_file(tmp_path, column))
