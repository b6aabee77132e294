"""What `dpdb.engines.protocol.Engine` promises, of every engine.

The small tables' results are written out; the large ones' are those of the engine in plain Python.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpdb.engines.protocol import WORD, Engine, Exact, representation
from dpdb.errors import DataFileError
from dpdb.plan.physical.plan import Plan
from dpdb.plan.ranges.statistics import (
    Count,
    Distinct,
    Histogram,
    Joint,
    LimitedDistinct,
    Ranks,
    Tally,
    Total,
)
from dpdb.policy.catalog import Policy
from tests.engines.conformance.conftest import OpenEngine
from tests.engines.conformance.test_order import QUERIES, TOP, UNITS, wild_rows, written
from tests.support.exactly import planned, raw, raw_of, write
from tests.support.plain_engine import PlainEngine

POLICY = """
[tables.t]
{unit}
[tables.t.columns]
who = {{ type = "text" }}
g = {{ type = "text", values = ["a", "b", "c"] }}
x = {{ type = "integer", bounds = [0, 10] }}
y = {{ type = "number", bounds = [-1, 1], step = 0.01 }}
z = {{ type = "number" }}
d = {{ type = "date", bounds = [2000-01-01, 2000-12-31] }}
q = {{ type = "integer", values = [3, 1, 2], nullable = false }}
b = {{ type = "boolean" }}
huge = {{ type = "integer", bounds = [-9007199254740992, 9007199254740992] }}
"""
HEADER = "who,g,x,y,z,d,q,b,huge\n"
ROWS = [
    "ann,a,1,0.5,1e300,2000-02-29,1,true,9007199254740992",
    "ann,a,99,-0.25,,1999-01-01,2,false,9007199254740992",
    "bob,b,,7,-2,,9,,1",
    "cid,x,3,0.005,3,2000-13-01,3,yes,-5",
    ",a,4,0.015,0.5,2000-03-01,1,true,0",
]
HOSTILE = [
    "", ",", ",,,,,,,,,,,,,,", '"', 'a,"b', 'a"b,"a",1', '"a""b","a",2,"0.1"', "ann,a,1e1",
    "ann,a,1e400,nan,inf,2000-02-30,0x1,TRUE,1e16", "ann,A,-1,-1e-400,1e-400,20000101, 1 ,f,1_0",
    " ann,a , 7 ,\t.5,5.,2000-1-1,2.0,No,-9007199254740993", "\0,\0,\0,\0", "\ufeffann,b,٣,½",
    "x" * 10_001 + ",b,2", "ann,b," + "9" * 400, "ann,c,2.5,0.125,1.7976931348623157e308",
    "ann,c,3.5,-0.005,-0.0,0001-01-01,2.4,t,-0", "ann,c,5,0.995,9007199254740993,9999-12-31,2.5,1,5",
    "b\udcffb,a,1,\udcff", "b\udcfeb,a,1", "b\ufffdb,a,1",
]  # fmt: skip
SELECTS = [
    "COUNT(*), COUNT(x), COUNT(z), COUNT(DISTINCT x), COUNT(DISTINCT who), COUNT(DISTINCT z)",
    "SUM(x), AVG(x), VARIANCE(y), SUM(huge), AVG(huge), SUM(y), AVG(d)",
    "SUM(CLAMP(z, -10, 10)), SUM(x * y), SUM(CLAMP(x / y, -5, 5)), SUM(CLAMP(z * z, 0, 1e9))",
    "MEDIAN(x), MIN(y), MAX(d), MEDIAN(CLAMP(z, 0, 1)), MODE(g), MODE(q), MODE(b)",
    "MODE(g, x), MODE(q, y), MODE(b, huge), MODE(g, CLAMP(z * z, -1, 1e9)) FILTER (WHERE b)",
    "COUNT(*) FILTER (WHERE b), SUM(x) FILTER (WHERE who LIKE '%n%'), SUM(LENGTH(who) % 7)",
    "SUM(DISTINCT x), AVG(DISTINCT y), SUM(x, contribution_bounds_per_group => (2, 9)), "
    "COUNT(z, contribution_bounds_per_group => (0, 1)), "
    "AVG(y, contribution_bounds_per_group => (-1, 50)) FILTER (WHERE b)",
    "AVG(x), AVG(huge), AVG(y)",
]
RESTS = ["", " WHERE x > 2", " WHERE b OR g = 'a'", " GROUP BY g", " WHERE y < 0.5 GROUP BY q, b"]
STATEMENTS = [f"SELECT {select} FROM t{rest}" for select in SELECTS for rest in RESTS]
CAPS = {"rows": "", "one": 'unit = "who"', "two": 'unit = "who"\nrows_per_unit = 2',
        "held": 'unit = "who"\nrows_per_unit = 2\nrows_held_per_unit = 3',
        "many": 'unit = "who"\nrows_per_unit = 20'}  # fmt: skip


def table(folder: Path, rows: list[str], unit: str = "") -> Policy:
    return write(folder, "t", encoded(rows), POLICY.format(unit=unit))


def encoded(rows: list[str]) -> bytes:
    return (HEADER + "\n".join(rows) + "\n").encode("utf-8", "surrogateescape")


PlansOf = Callable[[str], tuple[Policy, Mapping[str, Plan]]]


@pytest.fixture(scope="module")
def plans(tmp_path_factory: pytest.TempPathFactory) -> PlansOf:
    """A table for each cap, and the plans of all statements, whatever rows are then written."""

    @cache
    def of(cap: str) -> tuple[Policy, Mapping[str, Plan]]:
        policy = table(tmp_path_factory.mktemp("planned"), [], CAPS[cap])
        return policy, {text: planned(text, policy) for text in STATEMENTS}

    return of


def results(plan: Plan, engine: Engine) -> tuple[Exact, ...]:
    assert not plan.subplans
    return engine.exact(plan, {})


def shown(result: Exact) -> list[Any]:
    """Each cell's integers, and the type that they are held in."""
    if isinstance(result.cells, list):
        return [(cell.dtype, np.asarray(cell).tolist()) for cell in result.cells]
    return [result.cells.dtype, *result.cells.tolist()]


# ------------------------------------------------------------------------- results written out


def test_statistics_of_five_rows(open_engine: OpenEngine, tmp_path: Path) -> None:
    """99 is clamped to 10, x is no value of g, 2000-13-01 is no date, and 9 no value of q."""
    policy, engine = table(tmp_path, ROWS), open_engine()
    for select, expected in {
        "COUNT(*)": [5], "COUNT(x)": [4], "COUNT(d)": [3], "COUNT(g)": [4], "COUNT(z)": [4],
        "COUNT(DISTINCT who)": [3], "COUNT(DISTINCT q)": [3], "COUNT(DISTINCT x)": [4],
        "SUM(x)": [18], "SUM(y)": [50 - 25 + 100 + 0 + 2], "SUM(huge)": [2 * TOP - 4],
        "SUM(CLAMP(z, -1, 1))": [10**3 - 10**3 + 10**3 + 500],
        "SUM(DISTINCT b)": [1], "SUM(DISTINCT CASE WHEN x > 9 THEN 1 ELSE 0 END)": [1],
        "MEDIAN(x)": [[1, 3, 4, 10]], "MODE(g)": [[3, 1, 0]], "MODE(q)": [[2, 2, 1]],
        "MODE(b)": [[1, 3]], "MODE(g, x)": [[15, 0, 0]], "MODE(q, y)": [[101, 51, -25]],
        "MODE(b, huge)": [[TOP, TOP - 5]], "MODE(g, -x)": [[-15, 0, 0]],
        "MODE(q, x) FILTER (WHERE b)": [[3, 5, 0]], "MODE(q, x * NULLIF(x, 1))": [[9, 16, 100]],
    }.items():  # fmt: skip
        [result] = raw(f"SELECT {select} FROM t", policy, engine)
        if select.startswith("SUM(CLAMP"):
            [release] = planned(f"SELECT {select} FROM t", policy).releases
            assert isinstance(release.statistic, Total)
            assert [part * release.statistic.grid.step for part in result] == [1.5]
        else:
            assert result == expected, select


def test_a_date_is_the_timestamp_of_its_midnight(open_engine: OpenEngine, tmp_path: Path) -> None:
    rows = "2000-02-29,2000-02-29\n2000-02-29,2000-02-29 23:59\n1969-12-31,1969-12-31 00:00:01\n"
    columns = 'd = { type = "date" }\np = { type = "timestamp" }\n'
    policy = write(tmp_path, "t", "d,p\n" + rows, f"[tables.t.columns]\n{columns}")
    for condition, expected in {"d = p": 1, "d < p": 2, "d = CAST(p AS DATE)": 3}.items():
        text = f"SELECT COUNT(*) FROM t WHERE {condition}"
        assert raw(text, policy, open_engine()) == [[expected]]


def test_cells_are_in_the_order_of_the_groups(open_engine: OpenEngine, tmp_path: Path) -> None:
    policy, engine = table(tmp_path, ROWS), open_engine()
    assert raw("SELECT g, COUNT(*) FROM t GROUP BY g", policy, engine) == [[3, 1, 0]]
    assert raw("SELECT q, COUNT(*) FROM t GROUP BY q", policy, engine) == [[2, 2, 1]]
    assert raw("SELECT COUNT(*) FROM t GROUP BY q, b", policy, engine) == [[0, 1, 0, 2, 1, 0]]
    assert raw("SELECT MEDIAN(x) FROM t GROUP BY g", policy, engine) == [[[1, 4, 10], [], []]]


def test_a_unit_has_no_more_rows_than_its_cap(open_engine: OpenEngine, tmp_path: Path) -> None:
    """Of rows that WHERE lets through, and none of rows that name no unit."""
    rows = [f"u{unit},a,{unit},,,,,," for unit in range(5) for _ in range(unit)] + [",a,9,,,,,,"]
    policy, engine = table(tmp_path, rows, CAPS["two"]), open_engine()
    assert raw("SELECT COUNT(*), SUM(x) FROM t", policy, engine) == [[7], [1 + 4 + 6 + 8]]
    [counts] = raw("SELECT x, COUNT(*) FROM t WHERE x >= 3 GROUP BY x", policy, engine)
    assert sorted(counts)[-2:] == [2, 2]
    assert sum(counts) == 4


@pytest.mark.parametrize("key", ["", 'key = "id"\n', 'key = ["g", "id"]\n'])
def test_the_rows_held_of_a_unit_are_the_same_in_each_engine(
    open_fast_engine: OpenEngine, tmp_path: Path, key: str
) -> None:
    """By the key or all columns, before any filter; what names no unit is nobody's."""
    declared = (
        f'[tables.t]\nunit = "who"\n{key}rows_per_unit = 3\nrows_held_per_unit = 7\n'
        '[tables.t.columns]\nwho = { type = "text" }\nid = { type = "integer" }\n'
        'g = { type = "text", values = ["a", "b"] }\nx = { type = "integer", bounds = [0, 99] }\n'
    )
    chance = random.Random(8)
    cells = [(chance.choice(["ann", "bob", "čeněk", ""]), at) for at in range(90)]
    rows = [f"{who},{at},{chance.choice('abc')},{chance.randrange(99)}" for who, at in cells]
    policy = write(tmp_path, "t", "\n".join(["who,id,g,x", *rows]) + "\n", declared)
    wheres = ["", " WHERE x > 30", " WHERE g = 'a'", " WHERE x > 60 OR g = 'b'"]
    texts = [f"SELECT SUM(x), COUNT(*) FROM t{where}" for where in wheres]
    texts += [f"{text} GROUP BY g" for text in texts]
    same_as_plain(in_plain_python(policy, texts), open_fast_engine())


def test_a_number_names_a_unit_in_one_group_or_in_several(
    open_engine: OpenEngine, tmp_path: Path
) -> None:
    """Where no unit is in more groups than count, nothing is left to be hashed."""
    policy = (
        '[tables.t]\nunit = "id"\nrows_per_unit = 9\ngroups_per_unit = 1\n[tables.t.columns]\n'
        'id = { type = "integer" }\ng = { type = "text", values = ["a", "b"] }\n'
    )
    for name, rows, most in [("one", "1,a\n1,a\n2,b\n", 3), ("two", "1,a\n1,b\n2,b\n", 2)]:
        asked = write(
            tmp_path, name, f"id,g\n{rows}", policy.replace("[tables.t", f"[tables.{name}")
        )
        [counts] = raw(f"SELECT COUNT(*) FROM {name} GROUP BY g", asked, open_engine())
        assert sum(counts) == most


def test_a_subquery_s_value_is_a_constant(open_engine: OpenEngine, tmp_path: Path) -> None:
    policy, engine = table(tmp_path, ROWS), open_engine()
    text = "SELECT COUNT(*) FROM t WHERE x > (SELECT AVG(x) FROM t)"
    assert raw(text, policy, engine) == [[1]]


@pytest.mark.parametrize("cap", CAPS)
def test_the_segments_of_a_histogram_add_up_to_its_counts(
    open_engine: OpenEngine, tmp_path: Path, cap: str
) -> None:
    """Their number and their type follow from the plan."""
    policy, engine = table(tmp_path, [*ROWS * 2, *HOSTILE[7:]], CAPS[cap]), open_engine()
    counts = (
        "COUNT(*) FILTER (WHERE x > 2), COUNT(*) FILTER (WHERE x > 4), COUNT(x), COUNT(*), "
        "COUNT(*) FILTER (WHERE q = 1 AND x < 9), COUNT(*) FILTER (WHERE q <> 1 OR x * x > 9)"
    )
    for rest in RESTS:
        text = f"SELECT {counts} FROM t{rest}"
        plan = planned(text, policy, together=True)
        [result] = results(plan, engine)
        [histogram] = [release.statistic for release in plan.releases]
        assert isinstance(histogram, Histogram)
        assert isinstance(result.cells, np.ndarray)
        assert result.cells.dtype == WORD
        assert result.cells.shape == (plan.cells, len(histogram.segments))
        sums = [result.cells[:, list(e.segments or ())].sum(axis=1) for e in plan.estimates]
        assert [each.tolist() for each in sums] == raw(text, policy, engine)


def test_rows_counts_all_rows(open_engine: OpenEngine, tmp_path: Path) -> None:
    for number, rows in enumerate((ROWS, [], ROWS * 3, ["", *ROWS, ""])):
        folder = tmp_path / str(number)
        folder.mkdir()
        [declared] = table(folder, rows).tables
        assert open_engine().rows(declared) == len([row for row in rows if row])


# ------------------------------------------------------------------------- what a result may tell


@pytest.mark.parametrize("cap", ["rows", "many"])
@pytest.mark.parametrize("rows", [ROWS, [], HOSTILE, ROWS * 8], ids=["few", "none", "bad", "many"])
def test_the_shape_follows_from_the_plan(
    open_engine: OpenEngine, plans: PlansOf, rows: list[str], cap: str
) -> None:
    """Number of cells and types of arrays, whatever the rows are; only ranks have a length."""
    policy, asked = plans(cap)
    policy.tables[0].path.write_bytes(encoded(rows))
    engine = open_engine()
    for plan in asked.values():
        exact = results(plan, engine)
        assert len(exact) == len(plan.releases)
        for release, result in zip(plan.releases, exact, strict=True):
            assert len(result.cells) == plan.cells
            assert "exact results" in repr(result)
            match release.statistic, result.cells:
                case LimitedDistinct(limits=limits), array:
                    assert array.dtype == WORD  # type: ignore[union-attr]
                    assert array.shape == (plan.cells, len(limits))  # type: ignore[union-attr]
                case Count() | Distinct(), array:
                    assert array.dtype == WORD  # type: ignore[union-attr]
                case Total() as total, array:
                    largest = max(abs(end) for end in total.bounds)
                    assert array.dtype == representation(largest)  # type: ignore[union-attr]
                case Joint(parts=parts) as joint, array:
                    largest = max(abs(end) for ends in joint.signed_bounds for end in ends)
                    assert array.dtype == representation(largest)  # type: ignore[union-attr]
                    assert array.shape == (plan.cells, len(parts))  # type: ignore[union-attr]
                case Ranks(grid=grid), list(arrays):
                    assert {array.dtype for array in arrays} == {WORD}
                    for values in (np.asarray(array).tolist() for array in arrays):
                        assert values == sorted(values)
                        assert all(grid.lower <= value <= grid.upper for value in values)
                case Tally(values=values) as tally, list(arrays):
                    held = representation(max(abs(end) for end in tally.bounds))
                    assert {(a.dtype, a.shape) for a in arrays} == {(held, (len(values),))}
                case _:
                    pytest.fail(f"{release.statistic} as {type(result.cells)}")


@pytest.mark.parametrize("cap", CAPS)
def test_the_order_of_rows_does_not_matter(
    open_engine: OpenEngine, plans: PlansOf, cap: str
) -> None:
    rows, orders = [*ROWS * 3, *HOSTILE[7:12]], []
    policy, asked = plans(cap)
    for seed in range(2):
        policy.tables[0].path.write_bytes(encoded(random.Random(seed).sample(rows, len(rows))))
        engine = open_engine()
        orders.append([raw_of(asked[text], engine) for text in STATEMENTS[::4]])
    assert orders[0] == orders[1]


def test_a_missing_file_is_said_to_be_missing(open_engine: OpenEngine, tmp_path: Path) -> None:
    policy = table(tmp_path, ROWS)
    plan = planned("SELECT COUNT(*) FROM t", policy)
    policy.tables[0].path.unlink()
    with pytest.raises(DataFileError):
        open_engine().exact(plan, {})
    with pytest.raises(DataFileError):
        open_engine().rows(policy.tables[0])


# ------------------------------------------------------------------------- against plain Python


Expected = dict[str, tuple[Plan, list[list[Any]]]]


def in_plain_python(policy: Policy, texts: list[str]) -> Expected:
    """The plan of each statement, and its integers, bit by bit, in their types."""
    plain = PlainEngine()
    plans = {text: planned(text, policy, plain) for text in texts}
    return {text: (plan, [*map(shown, results(plan, plain))]) for text, plan in plans.items()}


def same_as_plain(expected: Expected, engine: Engine) -> None:
    for text, (plan, own) in expected.items():
        assert [*map(shown, results(plan, engine))] == own, text


@pytest.fixture(params=CAPS, scope="module")
def hostile(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Expected:
    chance = random.Random(5)
    mixed = [",".join(chance.choice(HOSTILE[7:]).split(",")[:1] + chance.choice(ROWS).split(",")[1:])
             for _ in range(30)]  # fmt: skip
    rows, folder = [*ROWS, *mixed, *HOSTILE], tmp_path_factory.mktemp("hostile")
    return in_plain_python(table(folder, rows, CAPS[request.param]), STATEMENTS)


def test_hostile_cells_are_the_same_as_in_plain_python(
    open_fast_engine: OpenEngine, hostile: Expected
) -> None:
    """Cells that are cut off or too long, that are no numbers, doubles or UTF-8."""
    same_as_plain(hostile, open_fast_engine())


@pytest.fixture(params=UNITS, scope="module")
def wild(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Expected:
    rows, folder = random.Random(3).sample(wild_rows(seed=6), 60), tmp_path_factory.mktemp("wild")
    policy = written(folder, rows, neighbors="replace", unit=UNITS[request.param])
    return in_plain_python(policy, QUERIES[::3])


def test_wild_values_are_the_same_as_in_plain_python(
    open_fast_engine: OpenEngine, wild: Expected
) -> None:
    """2^53 beside ones, values over thirty orders of magnitude, units with many rows."""
    same_as_plain(wild, open_fast_engine())
