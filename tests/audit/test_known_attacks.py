"""The known attacks, tried end to end: one test or more for each id of the list.

A5 (time of a draw), A6 (time of an answer), A14 to A16 (ledgers that last) and
the statistics of the sampler are tried beside what they attack.
"""

from __future__ import annotations

import contextlib
import csv
import io
import itertools
import json
import logging
import math
import random
import sys
import time
import traceback
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from dpdb.engines.memory.csv_loader import load
from dpdb.engines.memory.engine import MemoryEngine
from dpdb.engines.protocol import Exact
from dpdb.errors import (
    BudgetExceeded,
    DpdbError,
    InvalidOption,
    MissingBounds,
    PolicyError,
    SetupError,
    StatementError,
    TooLarge,
    Unsupported,
)
from dpdb.interfaces.cli import main as cli
from dpdb.ledger.memory import MemoryLedger
from dpdb.ledger.protocol import Price
from dpdb.plan.expressions import ColumnRef
from dpdb.policy.budget import Budget
from dpdb.policy.catalog import Policy
from dpdb.policy.reader import policy_for, with_bounds
from dpdb.privacy.accounting.composition import ComposedLoss
from dpdb.privacy.accounting.loss import pure
from dpdb.privacy.mechanisms import Laplace
from dpdb.privacy.noise.system import SystemNoise
from dpdb.session.session import Session
from dpdb.sql.splitting import split
from dpdb.vectors.evaluate import Frame, evaluate
from tests.support.exactly import exactly, planned, write
from tests.support.noiseless import Noiseless

HEADER = "id,name,age,pay,city,smoker,born\n"
POLICY = """
[budget]
epsilon = 1
queries = 10
[privacy]
neighbors = "{neighbors}"
[tables.t.columns]
id = {{ type = "integer", bounds = [0, 200] }}
name = {{ type = "text" }}
age = {{ type = "integer", bounds = [0, 120] }}
pay = {{ type = "number", bounds = [-100, 1000], step = 0.25 }}
city = {{ type = "text", values = ["Rome", "Oslo", "=cmd()"] }}
smoker = {{ type = "boolean" }}
born = {{ type = "date", bounds = [1900-01-01, 2020-12-31] }}
"""
ROWS = [
    f"{i},{name}{i},{20 + i},{i * 37 % 900}.25,{city},{smoker},19{50 + i}-03-04"
    for i, (name, city, smoker) in enumerate(
        [("Ann", "Rome", "true"), ("Bob", "Oslo", "false"), ("Cid", "Rome", "")] * 10
    )
]


def people(folder: Path, rows: list[str] = ROWS, neighbors: str = "add-remove") -> Policy:
    policy = POLICY.format(neighbors=neighbors)
    return write(folder, "t", HEADER + "".join(f"{row}\n" for row in rows), policy)


def rich(policy: Policy, epsilon: int = 10_000, queries: int = 1000) -> Policy:
    """The policy with a budget that lasts."""
    return replace(policy, budget=Budget(Fraction(epsilon), Fraction(0), queries))


def seeded(seed: int) -> SystemNoise:
    """The real sampler over bytes that are the same every time."""
    return SystemNoise(random.Random(seed).randbytes)


class Added:
    """A source of noise that says what it is told."""

    private = True

    def __init__(self, *values: int):
        self.values = values

    def laplace(self, scale, size):
        return np.resize(np.array(self.values, dtype=np.int64), size)

    def below(self, bound):
        return bound // 2


def test_a01_outputs_lie_on_the_grid_whatever_the_exact_result(tmp_path):
    """Doubles that only one of two exact results can produce (Mironov 2012)."""
    rows = [f"{i},,,{pay},,," for i, pay in enumerate([0, 0.25] * 50)]
    policy = rich(people(tmp_path, rows))
    query = "SELECT SUM(pay), COUNT(*), SUM(pay / 3) FROM t GROUP BY id"
    steps = [release.unit for release in planned(query, policy).releases]
    assert steps[:2] == [Fraction(1, 4), 1]
    seen: dict[int, set[Fraction]] = {0: set(), 1: set()}
    for seed in range(20):
        session = Session(policy, noise=seeded(seed))
        for number, row in enumerate(session.execute(f"{query} HAVING COUNT(*) > -99999").rows):
            for value, step in zip(row, steps, strict=True):
                nearest = round(Fraction(value) / step)
                assert value == nearest * step.numerator / step.denominator
            seen[number % 2].add(Fraction(row[0]))
    assert all(value.denominator in (1, 2, 4) for values in seen.values() for value in values)
    # Both exact results reach the same points, as far as 1,000 draws each can show.
    assert len(seen[0] & seen[1]) > 20


def test_a02_a_row_moves_a_sum_of_large_values_no_further_than_claimed(tmp_path):
    """Doubles at 2^53: the order of rows, or one row more, moves a float sum by thousands."""
    column = '[tables.t.columns]\nx = { type = "integer", bounds = '
    top = 2**53
    with pytest.raises(PolicyError):
        write(tmp_path, "t", "x\n", f"{column}[{top}, {top + 2}] }}\n")
    body = [str(top)] + ["1"] * 1000
    sums = []
    for rows in (body, body[::-1], [*body, "1"], [*body, str(top + 2)], [*body, "1e300"]):
        policy = write(tmp_path, "t", "x\n" + "\n".join(rows), f"{column}[1, {top}] }}\n")
        [[total]] = exactly("SELECT SUM(x) FROM t", policy)
        sums.append(total)
    assert sums == [top + 1000, top + 1000, top + 1001, 2 * top + 1000, 2 * top + 1000]


def test_a03_sums_past_64_bits_do_not_wrap(tmp_path):
    """2^62 + 2^62 is negative in 64 bits: the sign gives away a row."""
    top = 2**53
    text = f'[tables.t.columns]\nx = {{ type = "integer", bounds = [0, {top}] }}\n'
    policy = rich(write(tmp_path, "t", "x\n" + f"{2**62}\n" * 3000, text))
    session = Session(policy, noise=Noiseless())
    query = "SELECT SUM(x), SUM(x) > 5, ABS(SUM(x)) FROM t HAVING SUM(x) > 0 AND SUM(x) <> 7"
    assert session.execute(query).rows == ((3000 * top, True, float(3000 * top)),)
    assert session.execute("SELECT AVG(x) FROM t").rows == ((float(top),),)


def test_a03_averages_in_groups_do_not_wrap(tmp_path):
    """The centre of the bounds, which the analyst chooses, times the rows of a group."""
    rows = [f"{i % 3},,33,,,," for i in range(6000)]
    policy = rich(people(tmp_path, rows))
    query = "SELECT AVG(age * 70000000000000) FROM t"
    [total, count] = exactly(f"{query} GROUP BY smoker", policy)
    assert (total, count) == ([0, 0], [0, 0])
    [total, _] = exactly(f"{query} WHERE id < 2 GROUP BY id", policy)
    centre = 120 * 70_000_000_000_000 // 2
    assert total == [2000 * (33 * 70_000_000_000_000 - centre)] * 2


BAD_NUMBERS = ["NaN", "nan", "inf", "-Infinity", "1_000", "٣٣", "３３", "0x1F", "1e400", "", " ",
               "1,5", "--1", "1e", "True", "½", "5 5", "1" + "0" * 400]  # fmt: skip


ODD_BOUNDS = """
[tables.t.columns]
x = { type = "number", bounds = [0, 1.275], step = 0.01 }
y = { type = "integer", bounds = [-10, 0] }
z = { type = "number", bounds = [0, 1e-12] }
"""


@pytest.mark.parametrize(
    "query",
    [
        "SELECT SUM(x), AVG(x), MIN(x), VARIANCE(x) FROM t WHERE x >= 1.275",
        "SELECT SUM(x) FROM t WHERE x BETWEEN 0.001 AND 0.002",
        "SELECT SUM(1 / y) FROM t WHERE y > 5",
        "SELECT SUM(1 / y), MAX(y % y) FROM t WHERE y > 5 AND y IN (1, 2, NULL)",
        "SELECT SUM(y) FROM t WHERE y IN (NULL)",
        "SELECT SUM(z), AVG(z), MEDIAN(z), STDDEV(z) FROM t",
        "SELECT SUM(x) FROM t WHERE x > 5 OR y > 3 OR x < -1",
    ],
)
def test_a03_ends_of_bounds_are_no_trouble(tmp_path, query):
    """Bounds off the grid, narrowed to nothing, or touching zero where it is divided by."""
    policy = rich(write(tmp_path, "t", "x,y,z\n1.27,0,0\n0,-10,1\n", ODD_BOUNDS))
    with contextlib.suppress(StatementError):  # an InternalError is none
        Session(policy).execute(query)


def test_a04_a_cell_that_is_no_number_is_null(tmp_path, capfd):
    """NaN passes clamps, `1_000` is a number to Python, infinities swallow sums."""
    rows = [f'1,x,"{cell}","{cell}",Rome,true,2000-01-01' for cell in BAD_NUMBERS]
    policy = rich(people(tmp_path, rows))
    session = Session(policy, noise=Noiseless())
    answer = session.execute("SELECT COUNT(age), COUNT(pay), SUM(age), SUM(pay), COUNT(*) FROM t")
    assert answer.rows == ((0, 0, 0, 0.0, len(BAD_NUMBERS)),)
    assert capfd.readouterr() == ("", "")


TRAPS = [
    "SELECT SUM(CLAMP(1 / (age - 33), 0, 1)) FROM t",
    "SELECT COUNT(*) FROM t WHERE 1 / (age - 33) > 0",
    "SELECT COUNT(CAST(name AS INTEGER)) FROM t",
    "SELECT COUNT(CASE WHEN name = 'Zoe' THEN pay * 1e300 * 1e300 END) FROM t",
    "SELECT SUM(CLAMP(CASE WHEN name = 'Zoe' THEN 1 / 0 ELSE 0 END, 0, 1)) FROM t",
    "SELECT COUNT(born + 3000000 * age) FROM t",
    "SELECT COUNT(*) FROM t WHERE name = NULL",
    "SELECT SUM(COALESCE(1, id)) FROM t WHERE SUBSTR(name, -2147483647, 2147483647) = ''",
]


@pytest.mark.parametrize("query", TRAPS)
def test_a07_no_row_makes_a_query_fail_and_failing_is_paid_for(tmp_path, query):
    """A query written to fail for one person's row only."""
    costs = []
    for rows in (ROWS, [*ROWS, "99,Zoe,33,0,Rome,true,2000-01-01"], [], ROWS[:1]):
        session = Session(people(tmp_path, rows))
        answer = session.execute(query)
        costs.append((answer.cost, answer.balance, answer.releases))
    assert costs == costs[:1] * 4


def test_a07_the_debit_comes_before_the_rows(tmp_path, monkeypatch):
    """Ctrl-C, or a crash, after the rows were read: what they could tell is paid for."""

    def interrupted(self, plan, slots):
        raise KeyboardInterrupt

    session = Session(people(tmp_path))
    monkeypatch.setattr(MemoryEngine, "exact", interrupted)
    with pytest.raises(KeyboardInterrupt):
        session.execute("SELECT COUNT(*) FROM t")
    monkeypatch.undo()
    assert session.execute("SHOW BUDGET").balance.queries_left == 9


def test_a08_the_scale_is_read_off_the_policy(tmp_path):
    """Ten zeros, then a five: a scale that follows the data shows the difference."""
    queries = ["SUM(pay)", "AVG(pay)", "VARIANCE(pay)", "MEDIAN(pay)", "COUNT(DISTINCT pay)"]
    text = f"SELECT {', '.join(queries)} FROM t"
    zeros = ["0,,,0,,,"] * 10
    files = (zeros, [*zeros, "0,,,5,,,"], [])
    reports = [Session(people(tmp_path, rows)).execute(text).releases for rows in files]
    assert reports == reports[:1] * 3
    [total] = [r for r in reports[0] if r.column == "SUM(pay)"]
    assert (total.sensitivity, total.scale) == (1000, 1000 / (Fraction(1, 50)))


def test_a09_an_average_does_not_use_the_exact_number_of_rows(tmp_path):
    """(U-L)/n is not the sensitivity of a mean when n is secret."""
    query = "SELECT AVG(pay) FROM t"
    files = (ROWS[:1], ROWS[:2])
    reports = [Session(people(tmp_path, rows)).execute(query).releases for rows in files]
    assert reports[0] == reports[1]
    assert [release.aggregate for release in reports[0]] == ["sum", "count"]
    assert reports[0][0].sensitivity == 550
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

    With `every`, nor between any two.
    """
    results = [exactly(query, *world) for world in files]
    releases = planned(query, *files[0]).releases
    pairs = itertools.combinations(results, 2) if every else ((results[0], r) for r in results[1:])
    for one, other in pairs:
        for release, before, after in zip(releases, one, other, strict=True):
            moved = sum(abs(a - b) for a, b in zip(before, after, strict=True))
            assert moved <= release.mechanism.sensitivity * release.unit, query


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
        for function in ("COUNT(*)", "SUM(x)", "COUNT(DISTINCT x)", "SUM(1)", "AVG(x)", "COUNT(x)"):
            query = f"SELECT {function} FROM t{tail}"
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
    for expression in EXTREMES:
        for tail in ("", " WHERE id < 50"):
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


REWORDINGS = [
    "SELECT SUM(age) FROM t WHERE age >= 30 AND pay < 500 AND name <> 'x'",
    "select   sum( AGE )\nfrom T -- again\nwhere 30 <= age and (500 > pay) and 'x' != name",
    "SELECT SUM(\"age\") AS total FROM t x WHERE x.name <> 'x' AND x.pay < 500 AND x.age >= 30",
    "SELECT /* ; */ SUM(age) + 0 FROM table WHERE pay < 500 AND (age >= 30 AND name <> 'x') LIMIT 3",
    "SELECT -SUM(age) FROM t WHERE name <> 'x' AND age >= 30 AND pay < 500 AND age >= 30"
    " HAVING SUM(age) IS NOT NULL ORDER BY 1",
]


def test_a13_repeats_and_rewordings_are_free_and_tell_nothing_new(tmp_path):
    """The mean of a hundred noisy answers is the exact one."""
    session = Session(people(tmp_path))
    first = session.execute(REWORDINGS[0])
    assert not first.repeat
    for number in range(100):
        answer = session.execute(REWORDINGS[number % len(REWORDINGS)])
        assert answer.repeat
        assert answer.cost == Price()
        assert abs(answer.rows[0][0]) == abs(first.rows[0][0])
    assert answer.balance == first.balance
    assert session.execute(f"EXPLAIN {REWORDINGS[2]}").cost == Price()


DIFFERENT = [
    "SELECT COUNT(*) FROM t",
    "SELECT COUNT(age) FROM t",
    "SELECT COUNT(DISTINCT age) FROM t",
    "SELECT SUM(age) FROM t",
    "SELECT SUM(id) FROM t",
    "SELECT AVG(age) FROM t",
    "SELECT SUM(age) FROM t WHERE age > 30",
    "SELECT SUM(age) FROM t WHERE age >= 30",
    "SELECT SUM(age) FROM t WHERE age < 30",
    "SELECT SUM(age) FROM t WHERE 30 < id",
    "SELECT SUM(age) FILTER (WHERE smoker) FROM t",
    "SELECT SUM(age) FROM t WHERE NOT smoker",
    "SELECT SUM(age) FROM t WHERE name = 'a'",
    "SELECT SUM(age) FROM t WHERE name = 'A'",
    "SELECT SUM(age) FROM t WHERE name LIKE 'a'",
    "SELECT SUM(age) FROM t WHERE name LIKE 'a%'",
    "SELECT SUM(age) FROM t WHERE name LIKE 'a!%' ESCAPE '!'",
    "SELECT SUM(age) FROM t WHERE name LIKE 'a_'",
    "SELECT SUM(age) FROM t WHERE name IN ('a', 'b')",
    "SELECT SUM(age) FROM t WHERE name NOT IN ('a', 'b')",
    "SELECT SUM(age - 1) FROM t",
    "SELECT SUM(1 - age) FROM t",
    "SELECT SUM(age) FROM t GROUP BY smoker",
    "SELECT MIN(age) FROM t",
    "SELECT MAX(age) FROM t",
    "SELECT MEDIAN(age) FROM t",
    "SELECT QUANTILE(age, 0.25) FROM t",
    "SELECT SUM(age) FROM t WHERE age > (SELECT AVG(age) FROM t)",
    "SELECT SUM(age) FROM t WHERE age > (SELECT MIN(age) FROM t)",
    "SELECT SUM(age) FROM t WHERE age > (SELECT AVG(age) FROM t WHERE smoker)",
    "SELECT SUM(age) FROM t WHERE age > (SELECT AVG(age) + 1 FROM t)",
    "SELECT SUM(age) FROM t WHERE smoker = TRUE",
    "SELECT SUM(age) FROM t WHERE smoker IS TRUE",
    "SELECT SUM(CASE WHEN smoker THEN age ELSE 0 END) FROM t",
    "SELECT SUM(CASE WHEN smoker THEN 0 ELSE age END) FROM t",
    "SELECT COUNT(*) FROM t WHERE CAST(age AS TEXT) = '1'",
    "SELECT COUNT(*) FROM t WHERE age = 1",
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.5) COUNT(*) FROM t",
]


def test_a13_different_questions_are_not_taken_for_repeats(tmp_path):
    """An answer given again to another question is wrong, and paid for by nobody."""
    session = Session(rich(people(tmp_path), epsilon=1000))
    for query in DIFFERENT:
        assert not session.execute(query).repeat, query
    for query in DIFFERENT:
        assert session.execute(query).repeat, query
    never = session.execute("SELECT SUM(age) FROM t WHERE name NOT IN ('a', NULL)")
    assert (never.repeat, never.rows, never.releases) == (False, ((None,),), ())
    assert session.execute("SHOW BUDGET").balance.queries_left == 1000 - len(DIFFERENT)


def test_a13_fresh_noise_is_paid_for(tmp_path):
    session = Session(people(tmp_path))
    session.execute("SET repeats = 'fresh'")
    for left in range(9, -1, -1):
        assert session.execute("SELECT COUNT(*) FROM t").balance.queries_left == left
    with pytest.raises(BudgetExceeded):
        session.execute("SELECT COUNT(*) FROM t")


def asking(options, select="COUNT(*) FROM t"):
    return f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS({options}) {select}"


def with_delta(policy):
    return replace(policy, budget=Budget(Fraction(100), Fraction(1, 10**5), 1000))


OTHERWISE = [
    asking("epsilon = 0.2"), asking("epsilon = 0.2000001"), asking("error = 30"),
    asking("error = 30.5, confidence = 0.96"), asking("relative_error = 0.5"),
    asking("relative_error = 0.4"), asking("relative_error = 0.5, confidence = 0.9"),
    asking("relative_error = 0.5, epsilon = 1"), asking("mechanism = 'gaussian'"),
    asking("mechanism = 'gaussian', delta = 1e-9"), asking("mechanism = 'gaussian', epsilon = 0.2"),
    asking("noise_index = [1, 3]", "COUNT(*), SUM(age) FROM t"),
    asking("noise_index = [1, 4]", "COUNT(*), SUM(age) FROM t"),
]  # fmt: skip
THE_SAME = [
    (asking("epsilon = 0.2"), asking("noise_index = [7], epsilon = 0.2")),
    (asking("error = 30"), asking("error = 3e1, confidence = 0.95")),
    (asking("mechanism = 'gaussian'"), asking("delta = 1e-8, mechanism = Gaussian")),
    (asking("epsilon = 0.1, mechanism = laplace, sensitivity = smooth"), "SELECT COUNT(*) FROM t"),
]


def test_a13_options_draw_no_other_noise_for_nothing(tmp_path):
    """One question, asked with options that vary a little: each answer is paid for, or the same."""
    session = Session(with_delta(people(tmp_path)))
    spent = Fraction(0)
    for query in OTHERWISE:
        answer = session.execute(query)
        assert not answer.repeat, query
        loss = sum((release.epsilon for release in answer.releases), Fraction(0))
        assert answer.cost.epsilon >= loss > 0
        assert answer.cost.delta == sum(release.delta for release in answer.releases)
        spent += answer.cost.epsilon
    assert session.balance.epsilon_left == 100 - spent
    for first, again in [*THE_SAME, *zip(OTHERWISE, OTHERWISE, strict=True)]:
        expected = session.execute(first).rows
        answer = session.execute(again)
        assert (answer.repeat, answer.rows) == (True, expected), again
    assert session.balance.epsilon_left == 100 - spent - Fraction(1, 10)


BAD_EPSILONS = ["-10", "0", "NaN", "'nan'", "inf", "1e-320", "1e400", "1e999999999", "-1e999999999",
                "1e-999999999", "0.1 + 0.1", "1_000", "0x10", "10001", "TRUE", "NULL", "--1",
                "1/3"]  # fmt: skip


@pytest.mark.parametrize("epsilon", BAD_EPSILONS)
def test_a17_no_such_epsilon(tmp_path, epsilon):
    """A negative price fills the budget up, NaN passes every comparison, 1e-320 is free."""
    session = Session(people(tmp_path))
    started = time.monotonic()
    for text in (
        f"SET epsilon = {epsilon}",
        f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = {epsilon}) COUNT(*) FROM t",
    ):
        with pytest.raises((InvalidOption, StatementError)):
            session.execute(text)
    assert time.monotonic() - started < 2
    assert session.execute("SHOW BUDGET").balance.epsilon_left == 1


@pytest.mark.parametrize("option", ["--epsilon", "--bounds", "--delta"])
@pytest.mark.parametrize("value", ["1e999999999", "1e-999999999", "nan", "-inf"])
def test_a17_no_such_option(tmp_path, option, value):
    """The same on the command line, in no time."""
    people(tmp_path)
    value = f"age=0:{value}" if option == "--bounds" else value
    started = time.monotonic()
    with pytest.raises(SystemExit) as left:
        sys.exit(cli.main([str(tmp_path / "t.csv"), "-c", "SHOW BUDGET", option, value]))
    assert left.value.code == 2
    assert time.monotonic() - started < 2


def test_a17_ten_tenths_are_one(tmp_path):
    """As doubles, ten times 0.1 is less than 1, and 0.1 + 0.2 more than 0.3."""
    session = Session(people(tmp_path))
    session.execute("SET epsilon = 0.1")
    for number in range(10):
        assert session.execute(f"SELECT COUNT(*) FROM t WHERE age > {number}").cost.queries == 1
    balance = session.execute("SHOW BUDGET").balance
    assert (balance.epsilon_left, balance.queries_left) == (0, 0)
    with pytest.raises(BudgetExceeded):
        session.execute("SELECT COUNT(*) FROM t")


def test_a17_three_thirds_are_one(tmp_path):
    policy = replace(people(tmp_path), budget=Budget(Fraction(1), Fraction(0), 3))
    session = Session(policy)
    for number in range(3):
        session.execute(f"SELECT COUNT(*), SUM(age), AVG(pay) FROM t WHERE age > {number}")
    assert session.execute("SHOW BUDGET").balance.epsilon_left == 0


def test_a17_a_refusal_takes_nothing(tmp_path):
    ledger = MemoryLedger(Budget(Fraction(1), Fraction(0), 2))
    for epsilon, queries in ((2, 1), (Fraction(1, 2), 3)):
        with pytest.raises(BudgetExceeded):
            ledger.charge(ComposedLoss.of(pure(Fraction(epsilon))), None, queries)
    assert ledger.balance.epsilon_left == 1
    session = Session(people(tmp_path))
    session.execute("SET epsilon = 0.6")
    session.execute("SELECT COUNT(*) FROM t")
    with pytest.raises(BudgetExceeded) as refused:
        session.execute("SELECT SUM(age) FROM t")
    assert all(part in str(refused.value) for part in ("0.6 requested", "0.4 left", "0.2"))
    session.execute("SET epsilon = 0.4")
    assert session.execute("SELECT SUM(age) FROM t").balance.epsilon_left == 0


WORKLOAD = [*DIFFERENT, *REWORDINGS, *TRAPS,
            "SELECT AVG(pay), VARIANCE(pay), MEDIAN(pay), MODE(city), COUNT(DISTINCT id) FROM t",
            "SELECT city, AVG(pay), COUNT(*) FROM t GROUP BY city HAVING COUNT(*) > 3",
            "SELECT COUNT(*) FROM t WHERE age > (SELECT AVG(age) FROM t WHERE age >"
            " (SELECT MEDIAN(age) FROM t)) AND pay < (SELECT AVG(pay) FROM t)"]  # fmt: skip


@pytest.mark.parametrize("neighbors", ["add-remove", "replace"])
def test_a17_what_is_charged_is_what_the_mechanisms_add_up_to(tmp_path, neighbors):
    """Overspending: a query whose releases lose more than its price."""
    policy = rich(people(tmp_path, ROWS, neighbors))
    session = Session(policy)
    spent = Fraction(0)
    for query in WORKLOAD:
        answer = session.execute(query)
        loss = sum((release.epsilon for release in answer.releases), Fraction(0))
        assert Session(policy).execute(query).cost.epsilon == loss, query
        # Filters that exclude each other share a price: see test_parallel.py.
        assert answer.cost.epsilon <= (0 if answer.repeat else loss), query
        for release in answer.releases:
            assert (
                release.sensitivity == 0 or release.scale >= release.sensitivity / release.epsilon
            )
        spent += answer.cost.epsilon
    assert session.execute("SHOW BUDGET").balance.epsilon_left == 10_000 - spent


def test_a17_the_parts_of_an_index_are_the_whole(tmp_path):
    """1/3 and 1/7 and so on: in doubles they would leave something over, or take too much."""
    policy = replace(people(tmp_path), budget=Budget(Fraction(1), Fraction(0), 3))
    session = Session(policy)
    aggregates = "COUNT(*), SUM(age), SUM(pay), COUNT(name), SUM(id)"
    for number in range(3):
        index = f"noise_index = [3, 7, 0.1, 1e-6, {number + 11}]"
        answer = session.execute(asking(index, f"{aggregates} FROM t WHERE age > {number}"))
        assert answer.cost.epsilon == Fraction(1, 3)
    assert session.balance.epsilon_left == 0


def test_a18_what_is_asked_for_has_a_price_of_its_own(tmp_path):
    """Whatever the rows are; only for a relative error the noisy answer has a say."""
    selects = {
        "error = 12": "city, COUNT(*), COUNT(age) FROM t GROUP BY city",
        "noise_index = [1, 5]": "COUNT(*), SUM(pay) FROM t WHERE name = 'Zoe'",
        "mechanism = 'gaussian'": "city, AVG(pay), COUNT(*) FROM t GROUP BY city",
        "sensitivity = 'smooth'": "city, MEDIAN(pay), MAX(age) FROM t GROUP BY city",
        "relative_error = 0.1": "COUNT(*) FROM t WHERE name = 'Zoe'",
    }
    found = []
    for rows in (ROWS, ROWS[:1], [], [*ROWS, "99,Zoe,33,0,Rome,true,2000-01-01"]):
        session = Session(with_delta(people(tmp_path, rows)))
        texts = [asking(options, select) for options, select in selects.items()]
        told = [session.execute(f"EXPLAIN {text}") for text in texts]
        answers = [session.execute(text) for text in texts[:-1]]
        found.append([(a.cost, a.releases, a.notes, a.columns) for a in (*told, *answers)])
        assert [a.cost for a in answers] == [a.cost for a in told[:-1]]
        assert session.execute(texts[-1]).cost.epsilon <= told[-1].cost.epsilon
    assert found == found[:1] * 4


def test_a18_the_price_is_a_function_of_the_text(tmp_path):
    """Charged for each group that is seen, the price tells which are there."""
    explained = set()
    for rows in (ROWS, ROWS[:1], [], ["1,a,1,1,Atlantis,maybe,"] * 50):
        session = Session(people(tmp_path, rows))
        promised = session.execute("EXPLAIN SELECT city, COUNT(*) FROM t GROUP BY city").cost
        answer = session.execute("SELECT city, COUNT(*) FROM t GROUP BY city")
        assert answer.cost == promised
        explained.add((promised, answer.balance, len(answer.rows)))
    assert len(explained) == 1


def test_a19_metadata_comes_from_the_policy(tmp_path):
    """Row counts, extremes and values that a catalogue or EXPLAIN would show."""
    shown = set()
    for rows in (ROWS, [], ["7777,Canary,77,777.75,Rome,true,1977-07-07"] * 7):
        session = Session(people(tmp_path, rows))
        texts = ("SHOW TABLES", "DESCRIBE t", "SHOW BUDGET", "EXPLAIN SELECT MAX(pay) FROM t",
                 "EXPLAIN SELECT COUNT(*) FROM t WHERE name = 'Canary'")  # fmt: skip
        shown.add(
            tuple((session.execute(text).rows, session.execute(text).releases) for text in texts)
        )
    assert len(shown) == 1
    assert "7777" not in str(shown)


def test_a20_intervals_are_around_the_noisy_value(tmp_path):
    """An interval around the true value, or as wide as the data, gives both away."""
    query = "SELECT COUNT(*), SUM(pay) FROM t"
    shown = {}
    for name, rows in {"all": ROWS, "none": [], "one": ROWS[:1]}.items():
        policy = people(tmp_path, rows)
        [[count], [total]] = exactly(query, policy)
        # Noise that makes both noisy values the same on every file.
        answer = Session(policy, noise=Moved([50 - count, 4 * (700 - total)])).execute(query)
        shown[name] = (answer.rows, answer.intervals)
    assert shown["all"] == shown["none"] == shown["one"]
    [(interval, _)] = shown["all"][1]
    assert interval[0] + interval[1] == 100


class Moved:
    """A different constant for each release."""

    private = True

    def __init__(self, moves: list[Fraction]):
        self.moves = iter(moves)

    def laplace(self, scale, size):
        return np.full(size, int(next(self.moves)), dtype=np.int64)

    def below(self, bound):
        return bound // 2


GROUPS = 1500
SHAPES = {
    "flat": [5.0] * 20, "spread": [i * 37 % 1000 / 100 for i in range(60)], "two ends": [0.0, 10.0],
    "one outlier": [0.0] * 30 + [10.0], "at the top": [10.0] * 40, "halves": [0.0, 10.0] * 100,
}  # fmt: skip


def _statistics(shape: list[float]) -> dict[str, float]:
    number, total = len(shape), sum(shape)
    mean = total / number
    variance = sum((x - mean) ** 2 for x in shape) / number
    sample = variance * number / (number - 1)
    above = [x for x in shape if x > 3] or [0]
    return {
        "COUNT(*)": number, "SUM(x)": total, "AVG(x)": mean, "VAR_POP(x)": variance,
        "VARIANCE(x)": sample, "STDDEV_POP(x)": math.sqrt(variance), "STDDEV(x)": math.sqrt(sample),
        "SUM(x) / COUNT(*)": mean, "100.0 * SUM(x) / COUNT(*) - 3": 100 * mean - 3,
        "COUNT(*) FILTER (WHERE x > 3) / COUNT(*)": sum(x > 3 for x in shape) / number,
        "SUM(x) - 2 * COUNT(*)": total - 2 * number, "COUNT(*) * SUM(x)": number * total,
        "ROUND(AVG(x), 1)": float(f"{mean:.1f}"), "GREATEST(COUNT(*), 3)": max(number, 3),
        # The range of these is not between their values at the ends of the intervals.
        f"ABS(COUNT(*) - {number})": 0, f"SUM(x) / (COUNT(*) - {number - 1})": total,
        "COUNT(*) * 1000000000000000000": number * 10**18,
        "COUNT(*) * COUNT(*)": number**2, "COUNT(*) % 7": number % 7,
        f"(COUNT(*) - {number}) * (SUM(x) - {total})": 0,
        "CASE WHEN COUNT(*) > 10 THEN 1 ELSE 0 END": int(number > 10),
        "AVG(x) FILTER (WHERE x > 3)": sum(above) / len(above),
    }  # fmt: skip


UNSTATED = ("COUNT(*) % 7", "CASE WHEN COUNT(*) > 10 THEN 1 ELSE 0 END")
"""Neither grows nor falls with the count throughout; no interval beats a wrong one."""


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("epsilon", [1, 20, 32])
def test_a20_intervals_cover_the_truth(tmp_path, shape, epsilon):
    """95 % intervals that hold less often mislead; a shortfall of 4.8 σ is one in a million."""
    rows = [f"{group},{x}" for group in range(GROUPS) for x in SHAPES[shape]]
    text = (
        f"[budget]\nepsilon = {epsilon}\nqueries = 1\n[tables.t.columns]\n"
        f'g = {{ type = "integer", bounds = [0, {GROUPS - 1}] }}\n'
        'x = { type = "number", bounds = [0, 10], step = 0.01 }\n'
    )
    policy = write(tmp_path, "t", "g,x\n" + "\n".join(rows), text)
    engine = MemoryEngine()
    for number, (expression, truth) in enumerate(_statistics(SHAPES[shape]).items()):
        session = Session(policy, noise=seeded(number))
        session._loaded_engine = engine
        answer = session.execute(f"SELECT {expression} FROM t GROUP BY g")
        stated = [cell for (cell,) in answer.intervals if cell not in (None, (None, None))]
        # Where the noise leaves a divisor's sign open there is none to state.
        assert len(stated) == GROUPS or "/" in expression or expression in UNSTATED
        missed = sum(not low - 1e-6 <= truth <= high + 1e-6 for low, high in stated)
        allowed = 0.05 * GROUPS + 4.8 * math.sqrt(0.05 * 0.95 * GROUPS)
        assert missed <= allowed, (expression, missed / GROUPS)


def test_a20_what_has_no_value_has_no_interval(tmp_path):
    nothing = "(SELECT 1 / (COUNT(*) - COUNT(*)) FROM t)"
    answer = Session(people(tmp_path)).execute(f"SELECT COUNT(*) + {nothing} FROM t")
    assert answer.rows == ((None,),)
    assert answer.intervals in (((None,),), (((None, None),),))


@pytest.mark.parametrize("scale", [Fraction(1, 3), 1, 10, 10**6, 2**40, 1058908973318373, 2**50])
def test_a20_a_margin_holds_back_one_in_twenty(scale):
    """Near the largest scales exp(-1/scale) has few digits left, and the margin fell short."""
    mechanism = Laplace(1, 1 / Fraction(scale))
    margin = Fraction(mechanism.quantile(0.95))
    # P(|x| > z) = 2·exp(-(z+1)/scale) / (1 + exp(-1/scale))
    beyond = 2 * math.exp(-(margin + 1) / scale) / (1 + math.exp(-1 / Fraction(scale)))
    assert beyond <= 0.05 * (1 + 1e-6)
    assert margin <= max(1, Fraction(31, 10) * Fraction(scale))


def test_a21_noise_cannot_be_predicted(tmp_path, capsys):
    """Two sessions with the same stream, or one whose seed is known, have no noise."""
    query = "SELECT COUNT(*), SUM(pay) FROM t"
    policy = replace(people(tmp_path), budget=Budget(Fraction(1, 10**6), Fraction(0), 1))
    answers = {Session(policy).execute(query).rows for _ in range(5)}
    assert len(answers) == 5
    for text in ("SET seed = 1", "SET noise = 'seeded'", "SET teach = 'on'", "SET dp = 'off'",
                 "SET sensitivity = 'local'", "SET reveal = 'on'"):  # fmt: skip
        with pytest.raises(DpdbError):
            Session(policy).execute(text)
    assert cli.main([str(tmp_path / "t.csv"), "--seed", "1", "-c", query]) == 2
    assert capsys.readouterr().out == ""


def test_a22_noise_comes_before_rounding(tmp_path):
    """A true value rounded to tens, then noise of scale 1: which ten shows."""
    policy = people(tmp_path, ROWS[:10])
    answer = Session(policy, noise=Added(4)).execute("SELECT COUNT(*), ROUND(COUNT(*), -1) FROM t")
    assert answer.rows == ((14, 10),)
    answer = Session(policy, noise=Added(6)).execute("SELECT ROUND(COUNT(*), -1) FROM t")
    assert answer.rows == ((20,),)


def test_a23_rows_are_chosen_and_ordered_after_noise(tmp_path):
    """ORDER BY, LIMIT and HAVING on exact values choose rows that the noise then decorates."""
    policy = people(tmp_path)
    # 20 in Rome, 10 in Oslo, 0 in =cmd(); noise turns them round.
    noise = Added(-20, 0, 30)
    order = "SELECT city FROM t GROUP BY city ORDER BY COUNT(*)"
    session = Session(policy, noise=noise)
    assert session.execute(order).rows == (("Rome",), ("Oslo",), ("=cmd()",))
    assert session.execute(f"{order} DESC LIMIT 1").rows == (("=cmd()",),)
    having = "SELECT city FROM t GROUP BY city HAVING COUNT(*) > 5"
    assert session.execute(having).rows == (("Oslo",), ("=cmd()",))
    for refused in ("SELECT COUNT(*) FROM t TABLESAMPLE (10 PERCENT)",
                    "SELECT COUNT(*) FROM t ORDER BY age", "SELECT name FROM t LIMIT 1",
                    "SELECT COUNT(*) FROM t HAVING age > 3",
                    "SELECT COUNT(*) FROM (SELECT age FROM t LIMIT 5)"):  # fmt: skip
        with pytest.raises(StatementError):
            session.execute(refused)


CANARIES = ("Kanarienvogel", "7654321")
CANARY_ROW = "77,Kanarienvogel,7654321,7654321,Kanarienvogel,Kanarienvogel,2000-01-01"


def _says(thing: object) -> str:
    return f"{thing!r} {thing!s} {thing}"


def test_a24_nothing_that_holds_rows_shows_them(tmp_path, caplog):
    """Logs, tracebacks and debuggers print what is in hand."""
    caplog.set_level(logging.DEBUG)
    bounds = POLICY.format(neighbors="add-remove").replace("[0, 120]", "[0, 10000000]")
    policy = write(tmp_path, "t", f"{HEADER}{CANARY_ROW}\n", bounds)
    loaded = load(policy.tables[0], [column.name for column in policy.tables[0].columns])
    columns = loaded.columns
    engine = MemoryEngine()
    plan = planned("SELECT SUM(age), MAX(age), MODE(city) FROM t WHERE name LIKE 'K%'", policy)
    exact = engine.exact(plan, {})
    session = Session(policy)
    session.execute("SELECT SUM(age), COUNT(DISTINCT name) FROM t WHERE name LIKE 'K%'")
    rows = Frame(columns)
    held = [
        exact, exact[0], Exact(np.array([7654321])), engine, session, session._loaded_engine, columns,
        rows, loaded, *columns.values(), engine._tables, session._purchases, list(session._purchases.values()),
        *(evaluate(ColumnRef(column), rows) for column in policy.tables[0].columns),
    ]  # fmt: skip
    for thing in held:
        assert not any(canary in _says(thing) for canary in CANARIES), type(thing)
    assert not any(canary in caplog.text for canary in CANARIES)


def test_a24_a_traceback_shows_no_cell(tmp_path):
    """What a fault of ours would print if the prompt let it through."""
    people(tmp_path, [CANARY_ROW])
    policy = people(tmp_path, [CANARY_ROW])
    session = Session(policy)

    class Broken:
        def laplace(self, scale, size):
            raise RuntimeError("out of entropy")

    session._noise = Broken()
    try:
        session.execute("SELECT SUM(age) FROM t WHERE name = 'x'")
    except DpdbError as error:
        frames = traceback.TracebackException.from_exception(error, capture_locals=True)
        shown = "".join(frames.format())
    assert "dpdb failed to answer" in shown
    assert not any(canary in shown for canary in CANARIES)


def test_a24_a_fault_of_ours_shows_no_cell(tmp_path, monkeypatch, capsys):
    """numpy's errors quote the value they stumble over; the command must not."""

    def stumble(*_):
        raise ValueError("could not convert string to float: 'Kanarienvogel'")

    people(tmp_path, [CANARY_ROW])
    monkeypatch.setattr(MemoryEngine, "exact", stumble)
    code = cli.main([str(tmp_path / "t.csv"), "-c", "SELECT COUNT(*) FROM t WHERE age > 3"])
    shown = capsys.readouterr()
    assert code not in (0, 2, 3)
    assert "error" in shown.err
    assert "Kanarienvogel" not in shown.err + shown.out


INJECTIONS = [
    line
    for line in Path(__file__).with_name("injections.sql").read_text(encoding="utf-8").splitlines()
    if not line.startswith("--")
]


@pytest.mark.parametrize("text", INJECTIONS)
def test_a25_what_is_not_on_the_list_is_refused(tmp_path, text, monkeypatch):
    """Raw aggregates, file functions and statements that another engine would run."""
    monkeypatch.chdir(tmp_path)
    session = Session(people(tmp_path))
    before = sorted(tmp_path.iterdir())
    with pytest.raises(StatementError):
        session.execute(text)
    assert session._loaded_engine is None
    assert session.execute("SHOW BUDGET").balance.queries_left == 10
    assert sorted(tmp_path.iterdir()) == before


def test_a25_strings_end_where_the_parser_says(tmp_path):
    """`\\'` is an end of string to one lexer and not to another: between them a row leaks."""
    session = Session(rich(people(tmp_path)), noise=Noiseless())
    text = r"SELECT COUNT(*) FROM t WHERE name = '\' OR 1 = 1 --'"
    [piece] = split(text)
    assert session.execute(piece.text).rows == ((30,),)
    text = r"SELECT COUNT(*) FROM t WHERE name = '\'; SHOW BUDGET; SELECT '"
    assert [piece.text for piece in split(text)][1:] == ["SHOW BUDGET", "SELECT '"]
    for name in [
        "a;b",
        "it''s",
        "--",
        "/*",
        "*/",
        '"',
        "\\",
        "\\\\''",
        "{{x}}",
        "{# #}",
        "%(x)s",
        "?",
    ]:
        [piece] = split(f"SELECT COUNT(*) FROM t WHERE name = '{name}'")
        assert session.execute(piece.text).rows == ((0,),), name


def test_a26_nothing_printed_moves_the_cursor_or_computes(tmp_path, capsys):
    """Escape sequences in headers, formulas in cells."""
    header = 'id,"\x1b]0;x\x07",age,pay,"\x9bc",smoker,"\u202eevil"\n'
    (tmp_path / "odd.csv").write_text(header + "\n".join(ROWS), encoding="utf-8")
    statements = (
        'DESCRIBE odd; SELECT COUNT("\x1b]0;x\x07") FROM odd; SELECT COUNT("\x9bc") AS "=1+1" FROM odd;'
        ' SELECT COUNT(*) AS "\x1b[2J", COUNT(*) AS "\u202e", COUNT(*) AS "@x" FROM odd;'
        ' SELECT "\x1b[31m" FROM odd; SELECT COUNT(\x1b[31m) FROM odd; SELECT COUNT(nobody) FROM odd'
    )
    for form in ("table", "csv", "json", "markdown", "vertical"):
        cli.main([str(tmp_path / "odd.csv"), "--format", form, "--on-error", "continue",
                  "-c", statements])  # fmt: skip
        shown = capsys.readouterr()
        for character in "\x1b\x07\x9b\u202e":
            assert character not in shown.out + shown.err, form
        if form == "csv":
            cells = [cell for row in csv.reader(io.StringIO(shown.out)) for cell in row]
            assert not any(cell.startswith(("=", "@", "+")) for cell in cells)
    people(tmp_path)
    query = "SELECT city, COUNT(*) FROM t GROUP BY city"
    cli.main([str(tmp_path / "t.csv"), "--csv", "-c", query])
    assert "'=cmd()," in capsys.readouterr().out


def test_a26_json_says_what_was_meant(tmp_path, capsys):
    """Escaping must not turn one character into two others."""
    people(tmp_path)
    label = "a\x9b\u202e\U000e0041\U0010ffff\U0001f600\x7f"
    cli.main([str(tmp_path / "t.csv"), "--json", "-c", f'SELECT COUNT(*) AS "{label}" FROM t'])
    assert json.loads(capsys.readouterr().out)["columns"] == [label]


def _wide(number: int) -> str:
    return ", ".join(["COUNT(*)"] * number)


EXHAUSTING = {
    "parentheses": "SELECT COUNT(*) FROM t WHERE " + "(" * 50 + "age" + ")" * 50 + " > 3",
    "more parentheses": "SELECT " + "(" * 2400 + "1" + ")" * 2400 + " FROM t",
    "NOTs": "SELECT COUNT(*) FROM t WHERE " + "NOT " * 500 + "smoker",
    "minuses": "SELECT SUM(" + "- " * 3000 + "age) FROM t",
    "sums": "SELECT COUNT(*) FROM t WHERE " + " + ".join(["age"] * 2400) + " > 3",
    "comparisons": "SELECT COUNT(*) FROM t WHERE age " + "= age " * 2400,
    "IS": "SELECT COUNT(*) FROM t WHERE age" + " IS NOT NULL" * 1600,
    "casts": "SELECT COUNT(age" + "::int" * 2400 + ") FROM t",
    "CASEs": "SELECT COUNT(" + "CASE WHEN smoker THEN " * 50 + "1" + " END" * 50 + ") FROM t",
    "IN": f"SELECT COUNT(*) FROM t WHERE age IN ({', '.join(map(str, range(100_000)))})",
    "a pattern": f"SELECT COUNT(*) FROM t WHERE name LIKE '{'%a' * 5000}'",
    "a cross product": "SELECT COUNT(*) FROM t GROUP BY id, age, city, smoker",
    "columns": f"SELECT {_wide(900)} FROM t",
    "more columns": f"SELECT {_wide(3000)} FROM t",
    "unions": "SELECT COUNT(*) FROM t" + " UNION SELECT COUNT(*) FROM t" * 600,
    "joins": "SELECT COUNT(*) FROM t" + " JOIN t" * 2400,
    "subqueries": "SELECT COUNT(*) FROM t WHERE age > "
    + "(SELECT AVG(age) FROM t WHERE age > " * 30,
    "a long text": "SELECT COUNT(*) FROM t WHERE name = '" + "x" * 1_000_000 + "'",
    "a huge number": "SELECT COUNT(*) FROM t WHERE age < 1e999999999",
    "a tiny number": "SELECT COUNT(*) FROM t WHERE age < 1e-999999999",
    "digits": "SELECT COUNT(*) FROM t WHERE age < " + "9" * 50_000,
    "LIMIT": "SELECT COUNT(*) FROM t LIMIT 1e999999999",
    "brackets": "SELECT COUNT(*) FROM t WHERE age" + "[1]" * 1600 + " > 3",
    "comments": "SELECT COUNT(*) FROM t " + "/* " * 3000,
}


@pytest.mark.parametrize("name", EXHAUSTING)
def test_a27_large_statements_are_refused_at_once(tmp_path, name):
    """A statement that takes the stack, the memory or the afternoon."""
    session = Session(people(tmp_path))
    started = time.monotonic()
    with pytest.raises(StatementError) as refused:
        session.execute(EXHAUSTING[name])
    assert time.monotonic() - started < 5
    assert len(refused.value.message) < 200
    assert session._loaded_engine is None


FAR_FETCHED = {
    "items": ", ".join(["epsilon=1"] * 1_200),
    "more items": ", ".join(["epsilon=1"] * 9_000),
    "most items": ", ".join(["epsilon=1"] * 10_000),
    "names": ", ".join(f"option{i} = {i}" for i in range(1_200)),
    "a long name": "x" * 90_000 + " = 1",
    "brackets": "noise_index = " + "[" * 2_400 + "1" + "]" * 2_400,
    "brackets that stay open": "noise_index = " + "[" * 15,
    "an index": f"noise_index = [{', '.join(['1'] * 1000)}]",
    "a long index": f"noise_index = [{'1,' * 2_400}1]",
    "commas": "," * 4_900,
    "equals": "=" * 9_800,
    "minuses": "epsilon = " + "- " * 4_900 + "1",
    "digits": f"error = {'9' * 90_000}",
    "an exponent": "error = 1e999999999",
    "a large error": "error = 1e300",
    "a small error": "error = 1e-300",
    "a small relative error": "relative_error = 1e-999999999",
    "certainty": "error = 1, confidence = 0.9999999999999999999",
    "more than certainty": f"error = 1, confidence = 0.{'9' * 80_000}",
    "no confidence": "error = 1, confidence = 1e-4000",
    "weights": "noise_index = [1e12, 1e-12]",
    "delta": "mechanism = 'gaussian', delta = 1e-4000",
}


@pytest.mark.parametrize("name", FAR_FETCHED)
def test_a27_options_that_nobody_means_are_refused_at_once(tmp_path, name):
    session = Session(with_delta(people(tmp_path)))
    started = time.monotonic()
    for text in (asking(FAR_FETCHED[name], "COUNT(*), SUM(age) FROM t"),
                 asking(FAR_FETCHED[name]), f"SET {FAR_FETCHED[name]}"):  # fmt: skip
        with pytest.raises((StatementError, InvalidOption)) as refused:
            session.execute(text)
        assert 10 < len(refused.value.message) <= 301
    assert time.monotonic() - started < 5
    assert session._loaded_engine is None
    assert session.balance.epsilon_left == 100


LARGE = {
    "ORs": " OR ".join(f"age = {i} AND id = 3" for i in range(600)),
    "a list": f"age IN ({', '.join(map(str, range(1000)))})",
    "LIKE": f"name LIKE '{'%a' * 400}%b'",
    "LIKE with places": f"name LIKE '%{'_a' * 200}b%'",
}


@pytest.mark.parametrize("name", LARGE)
def test_a27_what_is_allowed_is_answered_in_time(tmp_path, name):
    """The dearest conditions within the limits, on cells made for them."""
    rows = [f"1,{'a' * 20_000}{i},1,1,Rome,true,2000-01-01" for i in range(20)]
    session = Session(people(tmp_path, [*ROWS, *rows]))
    started = time.monotonic()
    session.execute(f"SELECT COUNT(*) FROM t WHERE {LARGE[name]}")
    assert time.monotonic() - started < 5


def test_a27_epsilon_too_small_to_select_with_is_refused(tmp_path):
    """At the smallest share the weights of a selection are all alike, and their rate is zero."""
    policy = replace(people(tmp_path), budget=Budget(Fraction(1, 10**9), Fraction(0), 10**9))
    session = Session(policy)
    for function in ("MIN(age)", "MEDIAN(pay)", "MODE(city)", "COUNT(*)", "SUM(pay)"):
        with pytest.raises((TooLarge, InvalidOption)):
            session.execute(f"SELECT {function} FROM t")
    assert session.execute("SHOW BUDGET").balance.queries_left == 10**9
