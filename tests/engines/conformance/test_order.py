"""Exact results do not depend on the order of the rows, whatever the values are."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpdb.engines.memory import MemoryEngine
from dpdb.engines.values import exact_sums
from tests.support.exactly import planned, raw, raw_of, write

TOP = 2**53
POLICY = """
[privacy]
neighbors = "{neighbors}"
[tables.t]
{unit}
[tables.t.columns]
who = {{ type = "text" }}
g = {{ type = "integer", values = [1, 2, 3] }}
h = {{ type = "boolean" }}
small = {{ type = "integer", bounds = [-3, 3] }}
huge = {{ type = "integer", bounds = [-9007199254740992, 9007199254740992] }}
far = {{ type = "integer", bounds = [9007199254740000, 9007199254740992] }}
money = {{ type = "number", bounds = [-1000000000, 1000000000], step = 0.01 }}
wide = {{ type = "number" }}
born = {{ type = "date", bounds = [1900-01-01, 2030-12-31] }}
name = {{ type = "text" }}
"""
UNITS = {
    "rows": "",
    "one row a unit": 'unit = "who"',
    "three rows a unit": 'unit = "who"\nrows_per_unit = 3',
}
ARGUMENTS = ["small", "huge", "far", "money", "CLAMP(wide, -1e15, 1e15)", "small * huge",
             "CLAMP(money * wide, -1e9, 1e9)", "money / 3", "LENGTH(name) % 5",
             "CASE WHEN h THEN huge ELSE small END"]  # fmt: skip
FUNCTIONS = ["SUM", "AVG", "VARIANCE", "STDDEV_POP", "MIN", "MEDIAN", "COUNT"]
QUERIES = [
    f"SELECT {', '.join(f'{function}({argument})' for function in FUNCTIONS)} FROM t{rest}"
    for argument in ARGUMENTS
    for rest in ("", " WHERE small >= 0", " GROUP BY g", " WHERE money < 1e8 GROUP BY g, h")
] + [
    f"SELECT COUNT(*), COUNT(name), COUNT(DISTINCT name), COUNT(DISTINCT wide), MODE(g), MODE(h),"
    f" COUNT(DISTINCT LOWER(name)), AVG(born), MAX(born) FROM t{rest}"
    for rest in ("", " WHERE name LIKE '%a%' OR h", " GROUP BY g", " GROUP BY h, g")
]


def wild_rows(seed: int) -> list[str]:
    """A few units with many rows each; 2^53 beside ones; values over thirty orders."""
    chance = random.Random(seed)

    def row() -> str:
        cells = [
            chance.choice(["ann", "bob", "cid", "", f"u{chance.randrange(200)}"]),
            chance.choice(["1", "2", "3", "4", ""]),
            chance.choice(["true", "false", ""]),
            str(chance.randint(-3, 3)),
            str(chance.choice([TOP, -TOP, 1, 1, 1, TOP - 1, chance.randint(-TOP, TOP)])),
            str(chance.choice([TOP, TOP - 992, chance.randint(TOP - 992, TOP)])),
            f"{chance.randint(-(10**11), 10**11) / 100:.2f}",
            repr(chance.uniform(-1, 1) * 10.0 ** chance.randint(-15, 15)),
            f"{chance.randint(1900, 2030)}-{chance.randint(1, 12):02}-{chance.randint(1, 28):02}",
            chance.choice(["Ada", "ada", "Åsa", "bob", "", "x" * 100]),
        ]
        return ",".join("" if chance.random() < 0.05 else cell for cell in cells)

    return [row() for _ in range(500)] + [f"u{i},1,true,1,1,,1,1,,one" for i in range(100)]


def written(folder: Path, lines: list[str], **options: str):
    header = "who,g,h,small,huge,far,money,wide,born,name\n"
    return write(folder, "t", header + "\n".join(lines), POLICY.format(**options))


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("neighbors", ["add-remove", "replace"])
def test_shuffled_rows_give_the_same_results(tmp_path, unit, neighbors):
    lines = wild_rows(seed=5)
    orders = [sorted(lines), random.Random(1).sample(lines, len(lines))]
    policy = written(tmp_path, lines, neighbors=neighbors, unit=UNITS[unit])
    # Each query is asked of every kind of unit, and in turn of either kind of neighbours.
    share = QUERIES[(len(unit) + (neighbors == "replace")) % 2 :: 2]
    plans = {query: planned(query, policy) for query in share}
    results = []
    for order in orders:
        assert written(tmp_path, order, neighbors=neighbors, unit=UNITS[unit]) == policy
        engine = MemoryEngine()
        results.append({query: raw_of(plan, engine) for query, plan in plans.items()})
    assert results[0] == results[1]


def test_two_to_the_53_beside_a_thousand_ones(tmp_path):
    """As doubles, ones added to 2^53 one by one vanish, and added first they do not."""
    ones = ["a,1,true,1,1,,1,1,,"] * 1000
    for lines in ([f"a,1,true,1,{TOP},,1,1,,", *ones], [*ones, f"a,1,true,1,{TOP},,1,1,,"]):
        policy = written(tmp_path, lines, neighbors="add-remove", unit="")
        assert raw("SELECT SUM(huge) FROM t", policy) == [[TOP + 1000]]
        assert raw("SELECT SUM(huge) FROM t GROUP BY g", policy) == [[TOP + 1000, 0, 0]]
        assert raw("SELECT AVG(far) FROM t GROUP BY g", policy) == [[[0, 0]] * 3]


@pytest.mark.parametrize("keys", ["", " GROUP BY g"])
def test_sums_past_64_bits(tmp_path, keys):
    """3,000 times 2^53 is past 2^64, and so are the bounds taken off for an average."""
    lines = [f"a,1,true,1,{TOP},{TOP},1,1,," for _ in range(3000)]
    policy = written(tmp_path, lines, neighbors="add-remove", unit="")
    [total] = raw(f"SELECT SUM(huge) FROM t{keys}", policy)
    assert total[0] == 3000 * TOP
    # An average is read from the sums of the distances to the bounds, here [2^53 - 992, 2^53].
    [distances] = raw(f"SELECT AVG(far) FROM t{keys}", policy)
    assert distances[0] == [3000 * 992, 0]
    [far] = raw(f"SELECT SUM(far) FROM t{keys}", policy)
    assert far[0] == 3000 * TOP


def test_averages_far_from_zero_do_not_wrap(tmp_path):
    """The analyst can choose the bounds: here [9·10^15 - 300, 9·10^15 + 300]."""
    lines = ["a,1,true,3,1,,1,1,,"] * 3000
    policy = written(tmp_path, lines, neighbors="add-remove", unit="")
    query = "SELECT AVG(small * 100 + 9000000000000000) FROM t"
    for keys in ("", " GROUP BY g"):
        [distances] = raw(query + keys, policy)
        assert distances[0] == [3000 * 600, 0]


values = st.integers(-TOP, TOP) | st.sampled_from([TOP, -TOP, 0, 1, -1, 2**32, -(2**32), 2**21])
many = st.lists(values, max_size=40)


@given(many, st.integers(1, 2000))
def test_a_total_is_python_s_sum(numbers, times):
    array = np.repeat(np.array(numbers, dtype=np.int64), times)
    largest = max((abs(number) for number in numbers), default=0)
    assert exact_sums.total(array, largest) == sum(numbers) * times
    assert exact_sums.total(array, TOP) == sum(numbers) * times


@given(st.lists(st.tuples(st.integers(0, 4), values), max_size=40), st.integers(1, 2000))
def test_grouped_totals_are_python_s_sums(rows, times):
    """The last group is for rows outside all cells."""
    groups = np.repeat(np.array([group for group, _ in rows], dtype=np.int64), times)
    array = np.repeat(np.array([value for _, value in rows], dtype=np.int64), times)
    largest = max((abs(value) for _, value in rows), default=0)
    expected = [sum(value for g, value in rows if g == group) * times for group in range(4)]
    for bound in (largest, TOP):
        assert exact_sums.grouped_total(groups, array, 4, bound).tolist() == expected


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2**40)), max_size=30))
def test_grouped_squares_are_python_s_sums(rows):
    groups = np.array([group for group, _ in rows], dtype=np.int64)
    squares = np.array([value for _, value in rows], dtype=np.int64)
    expected = [sum(value for g, value in rows if g == group) for group in range(2)]
    assert exact_sums.grouped_total(groups, squares, 2, 2**40).tolist() == expected


@pytest.mark.parametrize("kind", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64"])
def test_narrow_columns_do_not_overflow(kind):
    info = np.iinfo(kind)
    low, high = max(int(info.min), -TOP), min(int(info.max), TOP)
    array = np.repeat(np.array([low, high, high], dtype=kind), 5000)
    expected = (low + 2 * high) * 5000
    assert exact_sums.total(array, max(-low, high)) == expected
    groups = np.zeros(len(array), dtype=np.uint8)
    assert exact_sums.grouped_total(groups, array, 1, max(-low, high)).tolist() == [expected]


@settings(max_examples=30)
@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(-9, 9)), max_size=12), st.randoms())
def test_capped_units_keep_the_same_rows(tmp_path_factory, rows, chance):
    """Which rows of a unit stay is decided by what is in them, not by where they stand."""
    shuffled = chance.sample(rows, len(rows))
    results = []
    for order in (rows, shuffled):
        policy = write(
            tmp_path_factory.mktemp("capped"),
            "t",
            "who,x\n" + "".join(f"{who},{x}\n" for who, x in order),
            '[tables.t]\nunit = "who"\nrows_per_unit = 2\n[tables.t.columns]\n'
            'who = { type = "text" }\nx = { type = "integer", bounds = [-9, 9] }\n',
        )
        results.append(raw("SELECT COUNT(*), SUM(x), MEDIAN(x) FROM t", policy))
    assert results[0] == results[1]
    assert results[0][0] == [sum(min(2, sum(w == who for w, _ in rows)) for who in "abc")]
