"""No intermediate table has more rows of a unit than the plan says, and each kind has as many."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from pathlib import Path
from random import Random

import numpy as np
import pytest

from dpdb.engines.relations.leaves import Leaves, Rows
from dpdb.engines.units.caps import Units
from dpdb.plan.relations import stability
from dpdb.plan.relations.stability import _Shapes
from dpdb.policy.catalog import Policy
from dpdb.vectors.vector import Bools
from tests.support.rows_of_a_unit import BASE, Seen, TooMany, check, random_statement, write

KINDS = (
    "scan",
    "JOIN",
    "LEFT JOIN",
    "FULL JOIN",
    "JOIN of public rows",
    "LEFT JOIN of public rows",
    "lookup",
    "lookup with a condition on pairs",
    "public lookup with a condition on pairs",
    "pairs of lookup with a condition on pairs",
    "pairs of JOIN",
    "PerUnit",
    "RowUnion",
    "WindowedRows",
)


@pytest.fixture
def policies(tmp_path: Path) -> list[Policy]:
    """The unit at all its caps, and beyond them: its rows match each other, or do not."""
    made = []
    for at, (alike, times) in enumerate(product((True, False), (1, 3))):
        folder = tmp_path / str(at)
        folder.mkdir()
        made.append(write(folder, alike=alike, times=times))
    return made


@pytest.mark.examples(20_000, 80)
def test_no_node_has_more_rows_of_a_unit(policies: list[Policy], examples: int, tried) -> None:
    seen, answered = Seen(), 0
    for read in BASE:
        assert check(f"SELECT COUNT(*) FROM {read} t", policies, seen), read
    for seed in range(examples):
        answered += check(random_statement(Random(seed)), policies, seen)
    assert answered > examples // 4
    for kind in KINDS:
        assert seen[f"reached {kind}"] > 0, (kind, seen)
    tried(f"{examples} statements, {answered} of them answered")


def of_one(*_: object) -> int:
    return 1


def always(*_: object) -> bool:
    return True


def all_of(rows: Units, *_: object) -> Bools:
    return np.ones(len(rows.owners.numbers), dtype=np.bool_)


def as_they_are(_: Leaves, rows: Rows, *__: object) -> Rows:
    return rows


@pytest.mark.parametrize(
    ("fault", "read"),
    [
        pytest.param((_Shapes, "_fan_out", of_one), "o JOIN p39 ON TRUE", id="f = 1"),
        pytest.param(
            (stability, "_has_key", always), "l a JOIN l b ON a.cust = b.cust", id="K without a key"
        ),
        pytest.param((Units, "capped", all_of), "l JOIN c ON l.cust = c.id", id="no H"),
        pytest.param(
            (Leaves, "capped", as_they_are), "l a JOIN l b ON a.cust = b.cust", id="all enter"
        ),
        pytest.param(
            (Leaves, "few_alike", as_they_are),
            "l a JOIN l b ON a.cust = b.cust AND a.v = b.v",
            id="all that are alike enter",
        ),
    ],
)
def test_the_check_notices(
    fault: tuple[object, str, Callable[..., object]],
    read: str,
    policies: list[Policy],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Mutants, one for each premise of the theorem."""
    text = f"SELECT COUNT(*) FROM {read}"
    assert check(text, policies, Seen())
    monkeypatch.setattr(*fault)
    with pytest.raises(TooMany):
        check(text, policies, Seen())
