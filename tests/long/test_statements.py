"""Whole statements without noise: DuckDB says the same on the same rows."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from dpdb.engines.memory import MemoryEngine
from dpdb.errors import MissingBounds, TooLarge
from dpdb.policy.budget import Budget
from dpdb.policy.catalog import Policy
from dpdb.session.session import Session
from tests.long.parts import Part
from tests.long.samples import sampled
from tests.long.statements import Statement, statements
from tests.support.noiseless import Noiseless
from tests.support.two_engines import World, two_engines

PLENTY = Budget(Fraction(10**9), Fraction(0), 10**5)
"""So much for each statement that no bounds are too large for it."""
ROWS = 60
CAP = 3
TOLERANCE = 1e-5
"""Sixty rows, each rounded to a grid of 10^-7 at most."""


class Units:
    """Tables of units: rows whose owner is not known are not there for DuckDB either."""

    def __init__(self, unit: str, rows_per_unit: int):
        self.unit, self.rows_per_unit = unit, rows_per_unit

    def of(self, world: World) -> Policy:
        world.duck.execute(f"DELETE FROM t WHERE {self.unit} IS NULL")
        (table,) = world.policy.tables
        owned = replace(
            table,
            unit=self.unit,
            rows_per_unit=self.rows_per_unit,
            rows_held_per_unit=ROWS,
        )
        return replace(world.policy, tables=(owned,))


def _same(ours: Any, theirs: Any) -> bool:
    """Two cells; of nothing, DuckDB says NULL where dpdb says what is within the bounds."""
    if theirs is None or isinstance(theirs, (bool, str)):
        return theirs is None or ours == theirs
    return ours is not None and math.isclose(ours, theirs, rel_tol=1e-9, abs_tol=TOLERANCE)


def _alike(ours: Sequence[Any], theirs: Sequence[Any]) -> bool:
    return all(_same(a, b) for a, b in zip(ours, theirs, strict=True))


def _in_any_order(ours: list[Any], theirs: list[Any]) -> list[Any]:
    """Ours, each in the place of a row of theirs like it; rows that say the most choose first."""
    left, placed = list(ours), list(theirs)
    for at in sorted(range(len(theirs)), key=lambda at: theirs[at].count(None)):
        found = next((row for row in left if _alike(row, theirs[at])), None)
        if found is not None:
            left.remove(found)
            placed[at] = found
    return placed if not left else ours


def _compare(session: Session, world: World, statement: Statement) -> str:
    try:
        answer = session.execute(statement.ours)
    except (MissingBounds, TooLarge) as error:
        return type(error).__name__
    theirs = world.duck.execute(statement.theirs).fetchall()
    ours = list(answer.rows)
    rows = ours if statement.ordered else _in_any_order(ours, theirs)
    same = len(rows) == len(theirs) and all(map(_alike, rows, theirs))
    assert same, f"{statement.ours}\ndpdb:   {ours}\nDuckDB: {theirs}"
    return "compared"


def _opened(policy: Policy, teaching: bool) -> Session:
    session = Session(replace(policy, budget=PLENTY), noise=Noiseless(), teach=teaching)
    if teaching:
        session.execute("SET dp = 'off'")
    return session


def _run(part: Part, folder: Path, tried, units: Units | None = None, teaching: bool = False):
    world = two_engines(folder, part.seed, MemoryEngine())
    session = _opened(units.of(world) if units else world.policy, teaching)
    outcomes: Counter[str] = Counter()

    def check(statement: Statement) -> None:
        outcomes[_compare(session, world, statement)] += 1

    part.each(statements(teaching, units.unit if units else None), check)
    tried(f"{part}: {dict(outcomes)}")
    assert outcomes["compared"] > 0.8 * outcomes.total()


@pytest.mark.examples(10_000, 10)
def test_statements(part: Part, tmp_path, tried):
    _run(part, tmp_path, tried)


@pytest.mark.examples(4_000, 10)
def test_statements_in_teaching_mode(part: Part, tmp_path, tried):
    _run(part, tmp_path, tried, teaching=True)


@pytest.mark.examples(2_000, 10)
@pytest.mark.parametrize("units", [Units("t", ROWS), Units("id", 1)], ids=["few", "each"])
def test_statements_on_units(part: Part, units: Units, tmp_path, tried):
    _run(part, tmp_path, tried, units)


@pytest.mark.examples(2_000, 10)
def test_statements_on_units_with_too_many_rows(part: Part, tmp_path, tried):
    """Subqueries have samples of their own: they are left to the other tests."""
    world = two_engines(tmp_path, part.seed, MemoryEngine())
    session = _opened(Units("s", CAP).of(world), teaching=False)
    world.duck.execute("ALTER TABLE t RENAME TO everything")
    outcomes: Counter[str] = Counter()

    def check(statement: Statement) -> None:
        kept = sampled(world.duck, "s", CAP, statement.where)
        listed = ", ".join(map(str, [-1, *kept]))
        world.duck.execute(
            f"CREATE OR REPLACE TEMP VIEW t AS SELECT * FROM everything WHERE id IN ({listed})"
        )
        outcomes[_compare(session, world, statement)] += 1

    part.each(statements().filter(lambda made: "(SELECT" not in made.where), check)
    tried(f"{part}: {dict(outcomes)}")
    assert outcomes["compared"] > 0.8 * outcomes.total()
