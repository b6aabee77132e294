"""Which rows of a privacy unit count when it has more than its cap.

The rule is written down here a second time, over lists of Python: each cell comes with what it
should be hashed as, worked out by hand. The engine must agree, on random files.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from dpdb.engines.memory import MemoryEngine
from dpdb.policy.catalog import Policy
from tests.support.exactly import raw, write
from tests.support.row_hashes import Cell, row_hash


class Column(NamedTuple):
    declared: str
    cells: dict[str, Cell]
    """How each is written in the file, and as what it is hashed."""


def texts(*values: str) -> dict[str, Cell]:
    return {value: value for value in values} | {"": None}


LONG = "long " * 700
COLUMNS = {
    "who": Column('type = "text"', texts("ann", "bob", "čeněk", "d|e", "~", "7")),
    "id": Column('type = "integer"', {"7": 7, "-3": -3, "9000000000000000": 9 * 10**15,
                                      "007": 7, "": None}),
    "n": Column('type = "integer", bounds = [0, 5]',
                {"0": 0, "3": 3, "5": 5, "99": 5, "-1": 0, "x": None, "": None}),
    "money": Column('type = "number", bounds = [-1, 1], step = 0.01',
                    {"0.5": 50, "-0.25": -25, "7": 100, "0.004": 0, "": None}),
    "born": Column('type = "date"', {"1970-01-02": 1, "1969-12-31": -1, "no": None}),
    "b": Column('type = "boolean"', {"true": 1, "false": 0, "": None}),
    "code": Column('type = "integer", values = [30, 4]',
                   {"4": 4, "30": 30, "31": None}),
    "price": Column('type = "number", values = [0.5, 1.25]', {"0.5": 2, "1.25": 5, "2": None}),
    "day": Column('type = "date", values = [2000-01-01, 2000-01-03]',
                  {"2000-01-01": 10957, "2000-01-03": 10959, "": None}),
    "seen": Column('type = "timestamp"', {"1970-01-01 00:01": 60, "1969-12-31T23:59:59Z": -1,
                                          "1970-01-01 00:00:02.7": 3, "never": None}),
    "shift": Column('type = "timestamp", values = [1970-01-01T00:00:02, 1970-01-01T00:00:01]',
                    {"1970-01-01 00:00:01": 10**6, "1970-01-01 01:00:02+01": 2 * 10**6, "": None}),
    "lab": Column('type = "text", values = ["b", "a"]', {"a": "a", "b": "b", "c": None}),
    "note": Column('type = "text"', texts("x", "x|y", LONG, "ä")),
    "sure": Column('type = "boolean", nullable = false', {"true": 1, "": 0}),
    "wide": Column('type = "number"', {"2.5": 2.5, "-1e9": -1e9, "-0": 0.0, "7": 7.0, "": None}),
}  # fmt: skip
NUMBERS = {"0": 0, "3": 3, "5": 5, "99": 5, "-1": 0}
QUERY = (
    "SELECT COUNT(*), SUM(n), COUNT(n), SUM(CLAMP(wide, -9, 9)), COUNT(DISTINCT note), MEDIAN(n),"
    " COUNT(*) FILTER (WHERE b) FROM t{where}"
)
Row = dict[str, str]


def drawn(seed: int, number: int = 120) -> list[Row]:
    chance = random.Random(seed)
    return [
        {name: chance.choice(list(column.cells)) for name, column in COLUMNS.items()}
        for _ in range(number)
    ]


def written(
    folder: Path,
    rows: Iterable[Row],
    unit: str,
    cap: int,
    *,
    key: str = "",
    names: Sequence[str] = tuple(COLUMNS),
) -> Policy:
    """A file and its policy, with columns in this order."""
    declared = {name: column.declared for name, column in COLUMNS.items()}
    lines = [",".join(f'"{row[name]}"' for name in names) for row in rows]
    policy = [
        f'[privacy]\nsample_key = "{key}"\n[tables.t]\nunit = "{unit}"\nrows_per_unit = {cap}',
        "[tables.t.columns]",
        *(f"{name} = {{ {declared[name]} }}" for name in names),
    ]
    folder.mkdir(parents=True, exist_ok=True)
    return write(folder, "t", "\n".join([",".join(names), *lines, ""]), "\n".join(policy))


# ------------------------------------------------------------------------- the rule, once more


class Rule(NamedTuple):
    """How rows are chosen; what is not the default is what they must not be chosen by."""

    key: str = ""
    before_where: bool = False
    owner: bool = True
    names: bool = True
    smallest: bool = False


def rank(row: Row, unit: str, rule: Rule) -> Any:
    cells = [
        (f"column {name if rule.names else ''}", column.cells[row[name]])
        for name, column in COLUMNS.items()
    ]
    owner = [("owner ", COLUMNS[unit].cells[row[unit]])] if rule.owner else []
    return COLUMNS["n"].cells[row["n"]] or 0 if rule.smallest else row_hash(rule.key, owner + cells)


def kept(
    rows: list[Row], unit: str, cap: int, where: Callable[[Row], bool], rule: Rule
) -> list[Row]:
    if not rule.before_where:
        rows = list(filter(where, rows))
    groups: dict[Cell, list[Row]] = {}
    for row in rows:
        groups.setdefault(COLUMNS[unit].cells[row[unit]], []).append(row)
    groups.pop(None, None)
    chosen = [
        row
        for group in groups.values()
        for row in sorted(group, key=lambda row: rank(row, unit, rule))[:cap]
    ]
    return list(filter(where, chosen))


def by_hand(rows: list[Row]) -> list[Any]:
    """What QUERY's releases are of these rows; sums without bounds of their own are in 1e-9."""
    numbers = sorted(NUMBERS[row["n"]] for row in rows if row["n"] in NUMBERS)
    wide: list[Any] = [COLUMNS["wide"].cells[row["wide"]] for row in rows]
    clamped = [min(max(value, -9.0), 9.0) for value in wide if value is not None]
    notes = {row["note"] for row in rows} - {""}
    true = sum(row["b"] == "true" for row in rows)
    total = round(sum(clamped) * 10**9)
    return [[len(rows)], [sum(numbers)], [len(numbers)], [total], [len(notes)], [numbers], [true]]


FILTERS: dict[str, Callable[[Row], bool]] = {
    "": lambda _: True,
    " WHERE lab = 'a' OR b": lambda row: row["lab"] == "a" or row["b"] == "true",
    " WHERE n > 2": lambda row: NUMBERS.get(row["n"], 0) > 2,
}


@pytest.mark.parametrize("where", FILTERS)
@pytest.mark.parametrize("unit", ["who", "id", "note"])
@pytest.mark.parametrize("cap", [1, 4, 15])
def test_the_rows_with_the_least_hashes_after_the_filter(
    tmp_path: Path, unit: str, cap: int, where: str
) -> None:
    """With one of three keys, in turn."""
    seed = (cap + len(unit) + [*FILTERS].index(where)) % 3
    key, rows = ["", "2026", "k|ey"][seed], drawn(seed)
    policy = written(tmp_path, rows, unit, cap, key=key)
    expected = kept(rows, unit, cap, FILTERS[where], Rule(key))
    assert raw(QUERY.format(where=where), policy) == by_hand(expected)


@pytest.mark.parametrize(
    "rule",
    [
        Rule(before_where=True),
        Rule(owner=False),
        Rule(names=False),
        Rule(smallest=True),
        Rule("another key"),
    ],
    ids=str,
)
def test_other_rules_choose_other_rows(tmp_path: Path, rule: Rule) -> None:
    """What the cap was before, and what it might be: these files tell each from what it is."""
    where = " WHERE n > 2"
    rows = drawn(1)
    policy = written(tmp_path, rows, "who", 4)
    found = raw(QUERY.format(where=where), policy)
    assert found == by_hand(kept(rows, "who", 4, FILTERS[where], Rule()))
    assert found != by_hand(kept(rows, "who", 4, FILTERS[where], rule))


def test_the_order_of_rows_and_of_columns_changes_nothing(tmp_path: Path) -> None:
    rows, names = drawn(9), [*COLUMNS]
    results = []
    for number in range(6):
        chance = random.Random(number)
        shuffled = chance.sample(rows, len(rows)) if number else rows
        order = chance.sample(names, len(names)) if number else names
        policy = written(tmp_path / str(number), shuffled, "who", 3, names=order)
        results.append([raw(QUERY.format(where=where), policy) for where in FILTERS])
    assert all(result == results[0] for result in results)


# ------------------------------------------------------------------------- what follows from it


def values(folder: Path, rows: Iterable[tuple[str, int]], cap: int, key: str = "") -> Policy:
    policy = (
        f'[privacy]\nsample_key = "{key}"\n[tables.t]\nunit = "who"\nrows_per_unit = {cap}\n'
        '[tables.t.columns]\nwho = { type = "text" }\n'
        'x = { type = "integer", bounds = [0, 99] }\n'
        'g = { type = "integer", values = [0, 1] }\n'
    )
    lines = "".join(f"{who},{x},{x % 3}\n" for who, x in rows)
    return write(folder, "t", f"who,x,g\n{lines}", policy)


def test_the_mean_of_what_is_kept_is_the_mean(tmp_path: Path) -> None:
    """500 units of 20 rows, 5 of each kept: α = 0.001. The smallest of each would have mean 14.

    Samples without replacement of r out of n: Var = Σ S²/r·(1 - r/n) over the units, divided
    by the square of their number (Cochran 1977, "Sampling Techniques", theorem 2.2).
    """
    chance = random.Random(4)
    units = [[chance.randrange(100) for _ in range(20)] for _ in range(500)]
    rows = [(f"u{i}", x) for i, unit in enumerate(units) for x in unit]
    [[total], [count]] = raw("SELECT SUM(x), COUNT(*) FROM t", values(tmp_path, rows, 5))
    assert count == 500 * 5
    means = [sum(unit) / 20 for unit in units]
    spread = [
        sum((x - mean) ** 2 for x in unit) / 19 for unit, mean in zip(units, means, strict=True)
    ]
    error = (sum(spread) / 5 * (1 - 5 / 20)) ** 0.5 / 500
    assert abs(total / count - sum(means) / 500) < 3.29 * error
    assert sum(sum(sorted(unit)[:5]) for unit in units) / count < 15


def test_with_other_sample_keys_every_row_has_its_turn(tmp_path: Path) -> None:
    """100 keys choose 5 rows of 20: 25 times each, by a χ² with 19 degrees of freedom, α = 0.001.

    Each is chosen n·p times on average, with Var = n·p·(1 - p)·20/19 within the plane of a
    constant sum, so that Σ(observed - n·p)²/(n·p·(1 - p))·19/20 is such a χ².
    """
    rows = [("ann", x) for x in range(20)]
    times = [0] * 20
    for key in range(100):
        policy = values(tmp_path, rows, 5, key=f"key {key}")
        [chosen] = raw("SELECT MEDIAN(x) FROM t", policy)
        for x in chosen[0]:
            times[x] += 1
    assert sum(times) == 100 * 5
    expected, rest = 25, 0.75
    assert sum((n - expected) ** 2 for n in times) / (expected * rest) * 19 / 20 < 43.82


def test_one_sample_serves_all_aggregates_groups_and_filters(tmp_path: Path) -> None:
    chance = random.Random(2)
    rows = [(chance.choice("abcd"), chance.randrange(100)) for _ in range(200)]
    engine, policy = MemoryEngine(), values(tmp_path, rows, 7)
    [[median], [total], [count], [zero], [one]] = raw(
        "SELECT MEDIAN(x), SUM(x), COUNT(*), COUNT(*) FILTER (WHERE g = 0),"
        " COUNT(*) FILTER (WHERE g = 1) FROM t",
        policy,
        engine,
    )
    assert (len(median), sum(median), count) == (28, total, 28)
    [groups] = raw("SELECT g, COUNT(*) FROM t GROUP BY g", policy, engine)
    # Rows of the undeclared key 2 were in the sample, too.
    assert groups == [zero, one] == [sum(x % 3 == g for x in median) for g in (0, 1)]
    assert sum(groups) < 28


def test_rows_that_are_filtered_out_take_nobody_s_place(tmp_path: Path) -> None:
    policy = values(tmp_path, [("ann", x) for x in range(100)], 5)
    for low in (0, 40, 95, 96, 99):
        [[count]] = raw(f"SELECT COUNT(*) FROM t WHERE x >= {low}", policy)
        assert count == min(5, 100 - low)


def test_rows_of_nobody_are_left_out(tmp_path: Path) -> None:
    policy = values(tmp_path, [("", x) for x in range(9)] + [("ann", 1)], 3)
    assert raw("SELECT COUNT(*), COUNT(DISTINCT who) FROM t", policy) == [[1], [1]]
    assert raw("SELECT COUNT(*) FROM t WHERE who IS NULL", policy) == [[0]]


def test_a_subquery_has_a_sample_of_its_own(tmp_path: Path) -> None:
    """Of the 50 rows below the average 5 count, though the average was that of 5 others."""
    policy = values(tmp_path, [("ann", 0)] * 50 + [("ann", 90)] * 50, 5)
    [[count]] = raw("SELECT COUNT(*) FROM t WHERE x < (SELECT AVG(x) FROM t WHERE x > 5)", policy)
    assert count == 5
