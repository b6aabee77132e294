"""CUBE, ROLLUP and GROUPING SETS that add up: values, intervals, prices, and what is told again."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement, product
from pathlib import Path
from typing import Any

import pytest

from dpdb.errors import InvalidOption
from dpdb.policy.budget import Budget, Composition, Neighbors
from dpdb.policy.catalog import Column, Kind, Policy, Table
from dpdb.policy.reading.reader import read_policy
from dpdb.privacy.noise.sources import seeded
from dpdb.session.session import Session
from tests.support.lasting import opened_shop
from tests.support.many_sessions import sessions
from tests.support.noiseless import Noiseless

COLUMNS = (
    Column("city", Kind.TEXT, values=("Ely", "Rye", "Wem")),
    Column("ok", Kind.BOOLEAN, nullable=False),
    Column("day", Kind.INTEGER, Fraction(1), Fraction(2)),
    Column("pay", Kind.INTEGER, Fraction(0), Fraction(1000)),
    Column("who", Kind.INTEGER, Fraction(0), Fraction(1000), nullable=False),
)
Rows = list[tuple[Any, ...]]


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Policy:
    path: Path = tmp_path_factory.mktemp("cubes") / "t.csv"
    rows = (
        f"{('Ely', 'Rye', 'Wem')[i % 3] if i % 13 else ''},{str(i % 5 > 1).lower()},"
        f"{1 + i % 2 if i % 7 else ''},{i if i % 11 else ''},{i // 3}"
        for i in range(120)
    )
    path.write_text("city,ok,day,pay,who\n" + "\n".join(rows) + "\n", encoding="utf-8")
    return Policy((Table("t", path, COLUMNS),), Budget(Fraction(1000), Fraction(0), 100))


def with_unit(policy: Policy) -> Policy:
    (table,) = policy.tables
    return replace(policy, tables=(replace(table, unit="who", rows_per_unit=2),))


def adds_up(rows: Rows, keys: int, groupings: int) -> None:
    """Each value is the sum of those of the rows that have one key more.

    Columns are the keys, GROUPING of each, and the values.
    """
    by_level: dict[tuple[int, ...], Rows] = {}
    for row in rows:
        by_level.setdefault(row[keys : keys + groupings], []).append(row)
    for level, coarse in by_level.items():
        for at in (place for place, grouped in enumerate(level) if grouped):
            finer = by_level.get((*level[:at], 0, *level[at + 1 :]), [])
            for row in coarse if finer else []:
                parts = [
                    each for each in finer
                    if all(each[k] == row[k] for k in range(keys) if k != at)
                ]  # fmt: skip
                columns = list(zip(*parts, strict=True))[keys + groupings :]
                sums = [sum(value or 0 for value in column) for column in columns]
                assert sums == [value or 0 for value in row[keys + groupings :]]


GROUPED = "city, ok, day, GROUPING(city), GROUPING(ok), GROUPING(day)"
COUNTS = "COUNT(*), COUNT(pay), COUNT(*) FILTER (WHERE ok), SUM(pay)"
STATEMENTS = [
    f"SELECT {GROUPED}, {COUNTS} FROM t GROUP BY CUBE(city, ok, day)",
    f"SELECT {GROUPED}, {COUNTS} FROM t WHERE who > 9 GROUP BY ROLLUP(city, ok, day)",
    f"SELECT {GROUPED}, COUNT(*) FROM t GROUP BY GROUPING SETS ((city, ok), (day), (city), ())",
    f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(goal = 'totals') {GROUPED}, SUM(pay) FROM t"
    " GROUP BY CUBE(city, ok, day)",
    f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(nonnegative = on, epsilon = 0.1) {GROUPED}, COUNT(*)"
    " FROM t GROUP BY CUBE(city, ok, day)",
]


@pytest.mark.parametrize("text", STATEMENTS)
@pytest.mark.parametrize("change", [lambda policy: policy, with_unit])
def test_what_is_printed_adds_up(text: str, here: Policy, change: Any) -> None:
    policy = change(here)
    for seed in range(3):
        answer = Session(policy, noise=seeded(seed)).execute(text)
        adds_up(list(answer.rows), 3, 3)
        assert answer.cost.queries == 1
    exact = Session(policy, teach=True)
    exact.execute("SET dp = off")
    adds_up(list(exact.execute(text).rows), 3, 3)


def test_composition_by_rho_adds_up(here: Policy) -> None:
    budget = Budget(Fraction(1), Fraction(1, 10**6), 2, composition=Composition.ZCDP)
    session = Session(replace(here, budget=budget), noise=seeded(1))
    adds_up(list(session.execute(STATEMENTS[0]).rows), 3, 3)
    adds_up(list(session.execute(STATEMENTS[1]).rows), 3, 3)
    assert session.balance.epsilon_left >= 0


def test_a_public_number_of_rows_is_the_total(here: Policy) -> None:
    session = Session(replace(here, neighbors=Neighbors.REPLACE), noise=seeded(2))
    text = "SELECT city, GROUPING(city), COUNT(*) FROM t GROUP BY ROLLUP(city)"
    answer = session.execute(text)
    assert answer.rows[-1] == (None, 1, 120)
    assert answer.cost.epsilon == 10
    adds_up(list(answer.rows), 1, 1)
    assert session.execute("SELECT ok, GROUPING(ok), AVG(pay) FROM t GROUP BY CUBE(ok)").rows


def test_explain_says_what_the_answer_costs_and_how_noisy_each_level_is(here: Policy) -> None:
    session = Session(replace(here, budget=Budget(Fraction(1), Fraction(0), 1)))
    text = "SELECT city, ok, COUNT(*) AS n FROM t GROUP BY CUBE(city, ok)"
    explained = session.execute(f"EXPLAIN {text}")
    answer = session.execute(text)
    assert explained.cost == answer.cost
    assert answer.cost.epsilon == sum(each.epsilon for each in answer.releases) == 1
    [told] = [note for note in explained.notes if note.startswith("n: ")]
    named = dict(_told(told))
    rows = zip(answer.rows, answer.intervals, strict=True)
    for at, name in (
        ((8 - 1), "by city, ok"),
        (8 + 3, "by city"),
        (8 + 5, "by ok"),
        (14, "in all"),
    ):
        low, high = answer.intervals[at][-1]
        assert abs((high - low) / 2 - named[name]) <= 1
    assert all(low <= row[-1] <= high for row, (*_, (low, high)) in rows)


def _told(note: str) -> Iterator[tuple[str, float]]:
    """The ± of each level in EXPLAIN's note."""
    for each in note.removeprefix("n: ± ").removesuffix(" (95 % sure)").split(", ± "):
        margin, _, level = each.partition(" ")
        yield level, float(margin)


def test_intervals_hold_the_exact_values(here: Policy) -> None:
    """At 95 %; of 100 answers each level misses by 4.9 standard errors with probability 1e-6."""
    text = "SELECT city, ok, COUNT(*), SUM(pay), AVG(pay) FROM t GROUP BY CUBE(city, ok)"
    policy, runs = replace(here, budget=Budget(Fraction(4), Fraction(0), 1)), 100
    exact = Session(policy, noise=Noiseless()).execute(text).rows
    held = [[0] * 5 for _ in exact]
    for session in sessions(policy, map(seeded, range(runs))):
        answer = session.execute(text)
        for counted, row, ends in zip(held, exact, answer.intervals, strict=True):
            for column in (2, 3, 4):
                low, high = ends[column]
                counted[column] += low - 1e-9 <= row[column] <= high + 1e-9
    most = 4.9 * math.sqrt(0.95 * 0.05 * runs)
    for level in (exact[0:1], exact[8:9], exact[12:13], exact[14:15]):
        (place,) = (exact.index(row) for row in level)
        assert all(held[place][column] >= 0.95 * runs - most for column in (2, 3, 4))


def test_goals_and_options_are_for_levels_that_add_up(here: Policy) -> None:
    session = Session(here)
    for text in (
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(goal = 'cells') COUNT(*) FROM t",
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(nonnegative = on) ok, MAX(pay) FROM t"
        " GROUP BY CUBE(ok)",
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(nonnegative = on) ok, city, COUNT(*) FROM t"
        " GROUP BY GROUPING SETS ((ok), (city))",
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(goal = 'all') ok, COUNT(*) FROM t"
        " GROUP BY CUBE(ok)",
    ):
        with pytest.raises(InvalidOption):
            session.execute(text)
    assert session.balance.epsilon_left == 1000


def test_a_group_of_null_is_shown_where_there_can_be_one(here: Policy) -> None:
    session = Session(here, noise=Noiseless())
    for where, groups in (
        ("", 4),
        ("WHERE who > 3", 4),
        ("WHERE city IS NOT NULL", 3),
        ("WHERE city IN ('Ely', 'Rye') AND who > 3", 2),
        ("WHERE city = 'Ely' OR city = 'Rye'", 2),
    ):
        rows = session.execute(f"SELECT city, COUNT(*) FROM t {where} GROUP BY ROLLUP(city)").rows
        assert len(rows) == groups + 1
        assert sum(number for _, number in rows[:-1]) == rows[-1][1]
        rows = session.execute(f"SELECT ok, COUNT(*) FROM t {where} GROUP BY ROLLUP(ok)").rows
        assert len(rows) == 3


def test_levels_of_no_rows_are_free(here: Policy) -> None:
    text = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(goal = 'cells') ok, COUNT(*) FROM t"
    answer = Session(here).execute(f"{text} WHERE who > 2000 GROUP BY CUBE(ok)")
    assert answer.rows == ((False, 0), (True, 0), (None, 0))
    assert answer.cost.epsilon == 0


def test_counts_of_at_least_zero_say_how_they_are_biased(here: Policy) -> None:
    session = Session(replace(here, budget=Budget(Fraction(1), Fraction(0), 10)), noise=seeded(4))
    text = STATEMENTS[-1]
    answer = session.execute(text)
    assert min(row[-1] for row in answer.rows) == 0
    assert any("small counts are too high" in note for note in answer.notes)
    assert any(
        "small counts are too high" in note for note in session.execute(f"EXPLAIN {text}").notes
    )
    again = session.execute(text.replace("nonnegative = on, ", ""))
    assert again.repeat
    assert min(row[-1] for row in again.rows) < 0


def test_filters_orders_and_windows_read_the_values_that_add_up(here: Policy) -> None:
    text = "SELECT city, ok, COUNT(*) AS n{} FROM t GROUP BY CUBE(city, ok)"
    session = Session(here, noise=seeded(5))
    rows = session.execute(text.format("")).rows
    for more, chosen in (
        (" HAVING COUNT(*) > 20", [row for row in rows if row[-1] > 20]),
        (" ORDER BY n DESC LIMIT 3", sorted(rows, key=lambda row: -row[-1])[:3]),
    ):
        answer = session.execute(text.format("") + more)
        assert answer.repeat
        assert sorted(map(repr, answer.rows)) == sorted(map(repr, chosen))
        assert any("all 15 groups at once" in note for note in answer.notes)
    ranked = session.execute(text.format(", RANK() OVER (ORDER BY COUNT(*) DESC)"))
    assert [row[:3] for row in ranked.rows] == [*rows]


def test_repeats_are_free_and_fresh_noise_is_paid(here: Policy) -> None:
    session = Session(replace(here, budget=Budget(Fraction(1), Fraction(0), 10)))
    text = "SELECT city, ok, COUNT(*) FROM t GROUP BY CUBE(city, ok)"
    first = session.execute(text)
    again = session.execute(text)
    assert (again.rows, again.repeat, again.cost.epsilon) == (first.rows, True, 0)
    session.execute("SET repeats = 'fresh'")
    fresh = session.execute(text)
    assert fresh.cost == first.cost
    assert fresh.rows != first.rows


LASTING = """
[budget]
name = "cubes"
epsilon = 2
queries = 2
[tables.t.columns]
g = { type = "text", values = ["x", "y"] }
h = { type = "integer", values = [1, 2, 3], nullable = false }
"""


def test_a_ledger_keeps_levels_for_later_sessions_and_for_others() -> None:
    text = "SELECT g, h, COUNT(*) FROM t GROUP BY CUBE(g, h)"
    with opened_shop(LASTING, "g,h\n" + "x,1\n,2\ny,3\n" * 40) as shop:
        first = Session(read_policy(shop)).execute(text)
        again = Session(read_policy(shop)).execute(text)
        other = Session(read_policy(shop), analyst="bob").execute(text)
        assert again.rows == first.rows
        assert again.repeat
        assert first.cost.epsilon == 1
        assert other.cost.epsilon == 1  # who was told nothing pays, as for any answer


def test_a_plan_of_several_statements_leaves_cubes_alone(here: Policy) -> None:
    session = Session(here)
    text = "SELECT city, ok, COUNT(*) FROM t GROUP BY CUBE(city, ok)"
    session.plan([text, "SELECT COUNT(*) FROM t"])
    assert session.execute(text).cost.epsilon == 10


KEYS = (
    Column("a", Kind.BOOLEAN),
    Column("b", Kind.BOOLEAN),
)


@pytest.mark.usefixtures("planned_once")
@pytest.mark.parametrize("neighbors", Neighbors)
def test_no_pair_of_small_tables_loses_more_than_is_charged(
    neighbors: Neighbors, tmp_path: Path
) -> None:
    """All tables of up to three rows over two keys of two values and NULL, and all neighbours.

    The loss is Σ |change| / scale over all values that are drawn; some pair has .8 of the charge.
    """
    text = "SELECT a, b, GROUPING(a, b), COUNT(*) FROM t WHERE a OR NOT a OR a IS NULL GROUP BY CUBE(a, b)"
    cells = [*product(("true", "false", ""), repeat=2)]
    drawn: dict[tuple[int, ...], dict[tuple[Any, ...], int]] = {}
    plan = None
    for number in range(4):
        for chosen in combinations_with_replacement(range(len(cells)), number):
            path = tmp_path / "t.csv"
            path.write_text("a,b\n" + "".join(f"{','.join(cells[at])}\n" for at in chosen))
            policy = Policy(
                (Table("t", path, KEYS),), Budget(Fraction(1), Fraction(0), 1), neighbors
            )
            session = Session(policy, noise=Noiseless())
            plan = plan or session.execute(f"EXPLAIN {text}")
            drawn[chosen] = {row[:3]: row[3] for row in session.execute(text).rows}
    assert plan is not None
    assert plan.plan is not None
    [cube] = plan.plan.cubes
    scales = {}
    for place, level in zip(cube.places, cube.cube.levels, strict=True):
        for release in plan.plan.subplans[place].releases:
            grouped = sum(2 ** (1 - key) for key in (0, 1) if key not in level)
            scales[grouped] = release.mechanism.scale
    losses = []
    for one, other in product(drawn, repeat=2):
        same = len(one) == len(other)
        shared = _shared(one, other)
        near = shared == len(one) - 1 if same else shared == len(one) == len(other) - 1
        if near and same is (neighbors is Neighbors.REPLACE):
            pairs = zip(drawn[one].items(), drawn[other].values(), strict=True)
            losses.append(
                sum(
                    abs(own - by) / scales[level]
                    for ((_, _, level), own), by in pairs
                    if level in scales
                )
            )
    assert 0.8 * plan.cost.epsilon <= max(losses) <= plan.cost.epsilon


def _shared(one: tuple[int, ...], other: tuple[int, ...]) -> int:
    left = list(other)
    for each in one:
        if each in left:
            left.remove(each)
    return len(other) - len(left)
