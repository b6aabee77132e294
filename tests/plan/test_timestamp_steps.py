"""The step of the grid on which timestamps are aggregated."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from dpdb.plan.ranges.grids import step_of
from dpdb.policy.catalog import Column, Kind, Policy, Table
from dpdb.policy.timestamps import DAY, HOUR, MINUTE, SECOND
from dpdb.sql.selects.statements import Select, statement

COLUMNS = (
    Column("s", Kind.TIMESTAMP, step=Fraction(SECOND)),
    Column("f", Kind.TIMESTAMP),
    Column("v", Kind.TIMESTAMP, Fraction(6 * HOUR), Fraction(22 * HOUR), values=(6 * HOUR, 22 * HOUR)),
    Column("d", Kind.DATE),
    Column("b", Kind.BOOLEAN),
)  # fmt: skip


@pytest.mark.parametrize(
    ("text", "step"),
    [
        ("s", SECOND),
        ("f", 1),
        ("v", 2 * HOUR),
        ("CAST(d AS TIMESTAMP)", DAY),
        ("DATE_TRUNC('minute', f)", MINUTE),
        ("DATE_TRUNC('month', f)", DAY),
        ("s + INTERVAL 1 MONTH", SECOND),
        ("v + INTERVAL 90 MINUTE", HOUR // 2),
        ("COALESCE(s, d)", SECOND),
        ("CLAMP(v, '2024-01-01', '2024-01-01 12:30')", HOUR // 2),
        ("CASE WHEN b THEN v ELSE CAST(d AS TIMESTAMP) END", 2 * HOUR),
    ],
)
def test_the_step_is_the_coarsest_that_holds_every_value(text: str, step: int) -> None:
    policy = Policy((Table("t", Path("t.csv"), COLUMNS),))
    found = statement(f"SELECT MAX({text}) FROM t", policy)
    assert isinstance(found, Select)
    argument = found.query.aggregates[0].argument
    assert argument is not None
    assert step_of(argument, Fraction(0), Fraction(DAY)) == step
