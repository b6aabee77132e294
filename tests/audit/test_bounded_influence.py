"""Attacks 8 to 12: on scales, counts, keys, units and bounds that might follow the rows."""

from __future__ import annotations

import itertools
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from dpdb.engines.memory import MemoryEngine
from dpdb.errors import MissingBounds, SetupError, Unsupported
from dpdb.policy.catalog import Policy
from dpdb.policy.reading.column_reader import with_bounds
from dpdb.policy.reading.reader import policy_for
from dpdb.session.session import Session
from tests.support.exactly import planned, raw_of, write
from tests.support.known_attacks import HEADER, POLICY, ROWS, people, rich
from tests.support.noiseless import Noiseless


def test_a08_the_scale_is_read_off_the_policy(tmp_path):
    """Ten zeros, then a five: a scale that follows the data shows the difference."""
    queries = ["SUM(pay)", "AVG(pay)", "VARIANCE(pay)", "MEDIAN(pay)", "COUNT(DISTINCT pay)"]
    text = f"SELECT {', '.join(queries)} FROM t"
    zeros = ["0,,,0,,,"] * 10
    files = (zeros, [*zeros, "0,,,5,,,"], [])
    reports = {query: [] for query in (text, "SELECT SUM(pay) FROM t")}
    for rows in files:
        policy = people(tmp_path, rows)
        for query, found in reports.items():
            found.append(Session(policy).execute(query).releases)
    for found in reports.values():
        assert found == found[:1] * 3
    together, alone = (found[0] for found in reports.values())
    [total] = alone
    assert (total.sensitivity, total.scale) == (1000, 1000 / Fraction(1, 10))
    # SUM, AVG and VARIANCE are one vector, which has a third of the query's loss.
    vector = [r for r in together if r.column == "SUM(pay)"]
    assert {r.group for r in vector} == {1}
    for part in vector:
        assert part.scale == part.sensitivity / Fraction(1, 30)


def test_a09_an_average_does_not_use_the_exact_number_of_rows(tmp_path):
    """(U-L)/n is not the sensitivity of a mean when n is secret."""
    query = "SELECT AVG(pay) FROM t"
    files = (ROWS[:1], ROWS[:2])
    reports = [Session(people(tmp_path, rows)).execute(query).releases for rows in files]
    assert reports[0] == reports[1]
    # The number of rows is read from two noisy sums: each row adds U - L to both together.
    assert [r.aggregate for r in reports[0]] == ["sum_above_lower", "sum_below_upper"]
    assert [r.sensitivity for r in reports[0]] == [1100, 1100]
    counted = rich(people(tmp_path, ROWS, "replace"))
    # NULLs are not averaged over, so that the number of rows is not what is divided by.
    answer = Session(counted).execute(query)
    assert [release.aggregate for release in answer.releases] == ["sum", "count"]


def test_a10_group_keys_are_declared(tmp_path):
    """GROUP BY a surname: that a group is there at all gives away its only member."""
    errors = set()
    for rows in (ROWS, ROWS[:1], [], [*ROWS, "1,Zoe,33,0,Atlantis,true,2000-01-01"]):
        session = Session(people(tmp_path, rows))
        with pytest.raises(Unsupported) as refused:
            session.execute("SELECT name, COUNT(*) FROM t GROUP BY name")
        errors.add((str(refused.value), refused.value.hint))
        answer = session.execute("SELECT city, COUNT(*) FROM t GROUP BY city")
        assert [city for city, _ in answer.rows] == ["Rome", "Oslo", "=cmd()"]
    assert len(errors) == 1


World = tuple[Policy, MemoryEngine]


def worlds(folder: Path, header: str, files: list[list[str]], text: str) -> list[World]:
    """Files that differ in their rows, each with an engine that has it loaded."""
    found = []
    for number, rows in enumerate(files):
        (folder / str(number)).mkdir()
        policy = write(folder / str(number), "t", header + "\n".join(rows), text)
        found.append((policy, MemoryEngine()))
    return found


def check_moves(query: str, files: list[World], *, every: bool) -> None:
    """No release moves further than its sensitivity between the first file and another.

    With `every`, nor between any two. What moves a vector is added up over its parts.
    """
    plans = [planned(query, *world, together=True) for world in files]
    results = [raw_of(plan, engine) for plan, (_, engine) in zip(plans, files, strict=True)]
    pairs = itertools.combinations(results, 2) if every else ((results[0], r) for r in results[1:])
    for one, other in pairs:
        for release, before, after in zip(plans[0].releases, one, other, strict=True):
            moved = np.abs(np.array(before, dtype=object) - np.array(after, dtype=object)).sum()
            assert moved <= release.mechanism.sensitivity, query


@pytest.mark.parametrize("neighbors", ["add-remove", "replace"])
def test_a11_one_person_with_many_rows_counts_as_declared(tmp_path, neighbors):
    """20 rows of one customer move a sum 20 times as far as one row."""
    text = f"""
        [privacy]
        neighbors = "{neighbors}"
        [tables.t]
        unit = "who"
        rows_per_unit = 3
        [tables.t.columns]
        who = {{ type = "text" }}
        x = {{ type = "integer", bounds = [0, 10] }}
        g = {{ type = "integer", values = [1, 2] }}
        """
    others = [f"p{i},{i % 10},1" for i in range(30)]
    eve = [["eve,10,1"] * 20, ["eve,10,2"] * 3, ["eve,0,2", "eve,5,2"] * 9, ["eve,10,1"]]
    absent = ["eve,9,1"] if neighbors == "replace" else []
    files = worlds(tmp_path, "who,x,g\n", [others + rows for rows in (absent, *eve)], text)
    for tail in ("", " WHERE x >= 0", " WHERE x > 3", " GROUP BY g"):
        for selected in (
            "COUNT(*)", "SUM(x)", "COUNT(DISTINCT x)", "SUM(1)", "AVG(x)", "COUNT(x)",
            "COUNT(*), COUNT(x), SUM(x), VARIANCE(x)",
            "COUNT(*) FILTER (WHERE x > 4), COUNT(*) FILTER (WHERE x > 5), COUNT(*)",
        ):  # fmt: skip
            query = f"SELECT {selected} FROM t{tail}"
            check_moves(query, files, every=neighbors == "replace")


def test_a11_units_are_not_merged_by_bounds(tmp_path):
    """Clamped to bounds, several people would be one unit, and push each other's rows out."""
    text = '[tables.t]\nunit = "id"\n[tables.t.columns]\nid = { type = "integer" }\n'
    policy = write(tmp_path, "t", "id\n1\n2\n300\n", text)
    with pytest.raises(SetupError):
        with_bounds(policy, {"id": (Fraction(0), Fraction(5))})


EXTREMES = [
    "SUM(CASE WHEN id = 7 THEN pay * 1000 END)",
    "SUM(pay)",
    "SUM(CLAMP(pay * pay, -5, 70))",
    "SUM(COALESCE(pay, 900))",
    "SUM(pay) FILTER (WHERE age > 30)",
    "SUM(ABS(pay) + age)",
    "SUM(GREATEST(pay, NULL, 5))",
    "SUM(CLAMP(1e200 * pay * 1e200, 6, 7))",
    "SUM(id % 3 - 2)",
    "SUM(CLAMP(CAST(name AS DOUBLE), -3, 4))",
    "SUM(CASE WHEN pay > 3 THEN 5 ELSE 6 END)",
    "SUM(LEAST(age, 9) * IF(smoker, 2, -2))",
    "SUM(CAST(smoker AS INTEGER))",
    "SUM(NULLIF(age, 3))",
    "SUM(ROUND(pay, -2))",
    "SUM(-age)",
    "SUM(age - 60)",
    "SUM(CAST(CAST(age AS BOOLEAN) AS INTEGER))",
]
EXTREME_CELLS = ["0", "7", "33", "120", "-1e300", "1e300", "3", "NaN", "", "61"]


@pytest.mark.parametrize("neighbors", ["add-remove", "replace"])
@pytest.mark.parametrize("nulls", ["", ", nullable = false"])
def test_a12_no_row_adds_more_than_is_claimed(tmp_path, neighbors, nulls):
    """Clamping before the last operation, or not at all; a NULL where none was expected."""
    text = POLICY.format(neighbors=neighbors).replace(" }\n", f"{nulls} }}\n")
    body = ["7,5,40,3.5,Rome,true,2000-01-01"]
    extremes = [",".join([cell] * 7) for cell in EXTREME_CELLS]
    files = [[*body, extreme] for extreme in extremes]
    if neighbors == "add-remove":
        files = [body, *files]
    loaded = worlds(tmp_path, HEADER, files, text)
    for expression, tail in zip(EXTREMES, itertools.cycle(["", " WHERE id < 50"]), strict=False):
        query = f"SELECT {expression} FROM t{tail}"
        check_moves(query, loaded, every=neighbors == "replace")


def test_a12_without_bounds_there_is_no_sum(tmp_path):
    """Bounds that nobody declared would have to be read off the data."""
    policy = people(tmp_path)
    session = Session(policy)
    for expression in ("LENGTH(name)", "1 / age", "CAST(name AS DOUBLE)", "pay * 1e300"):
        with pytest.raises(MissingBounds):
            session.execute(f"SELECT SUM({expression}) FROM t")
    assert session.execute("SHOW BUDGET").balance.queries_left == 10


@pytest.mark.parametrize(
    "condition", ["age BETWEEN 0 AND 50", "age >= 0 AND 50 >= age", "age IN (0, 30, 50)"]
)
def test_a12_a_range_in_where_bounds_a_column_nobody_declared(tmp_path, condition):
    """As the hint says; what is outside is not counted, so it cannot add more."""
    (tmp_path / "t.csv").write_text("age\n30\n50\n1e300\n-1e300\nNaN\n")
    session = Session(rich(policy_for(tmp_path / "t.csv")), noise=Noiseless())
    answer = session.execute(f"SELECT SUM(age) FROM t WHERE {condition}")
    assert answer.rows == ((80.0,),)
    assert answer.releases[0].sensitivity == 50
