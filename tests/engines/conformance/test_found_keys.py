"""Keys that are found in the data, of every engine: what is counted, and which rows have them."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dpdb.answers.tables.groups import with_keys
from dpdb.engines.memory import MemoryEngine
from dpdb.engines.protocol import Engine
from dpdb.plan.physical.plan import Plan
from dpdb.plan.planner import plan
from dpdb.policy.catalog import Policy
from dpdb.policy.reading.reader import read_policy
from dpdb.privacy.accounting.accountants import BudgetShare
from dpdb.sql.selects.binder import bind
from dpdb.sql.text.tokens import read_tokens
from dpdb.vectors.vector import plain_values
from tests.engines.conformance.conftest import OpenEngine
from tests.support.plain_engine import PlainEngine

POLICY = """
[tables.t]
{unit}
[tables.t.columns]
who = {{ type = "text" }}
city = {{ type = "text" }}
n = {{ type = "integer" }}
day = {{ type = "date" }}
ok = {{ type = "boolean" }}
g = {{ type = "text", values = ["b", "a"] }}
x = {{ type = "integer", bounds = [0, 10] }}
"""
HEADER = "who,city,n,day,ok,g,x\n"
ROWS = """\
ann,Ulm,3,2020-01-02,true,a,1
ann,Ulm,3,2020-01-02,true,a,2
ann,Bonn,-7,,false,b,3
bob,ulm,,2019-12-31,,a,4
bob,,3,2020-01-02,true,,5
cid,Ulm,12,2020-01-02,true,b,6
,Bonn,12,2020-01-02,true,a,7
"""
SHARE = BudgetShare(epsilon=10**4, delta=10**-6)  # type: ignore[arg-type]
Found = list[tuple[tuple[object, ...], int]]


def table(folder: Path, rows: str, unit: str = "") -> Policy:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "t.csv").write_text(HEADER + rows, encoding="utf-8")
    (folder / "t.toml").write_text(POLICY.format(unit=unit), encoding="utf-8")
    return read_policy(folder / "t.toml")


def planned(
    keys: str, policy: Policy, rest: str = "", groups: int | None = None, what: str = "SUM(x)"
) -> Plan:
    sql = f"SELECT {what} FROM t {rest} GROUP BY {keys}"
    tables = tuple(replace(each, groups_per_unit=groups) for each in policy.tables)
    policy = replace(policy, tables=tables)
    return plan(bind(read_tokens(sql), sql, policy), policy, SHARE, lambda _: 0)


def found(engine: Engine, asked: Plan) -> Found:
    counts = engine.key_counts(asked, {})
    columns = [plain_values(vector, kind, counts.rows) for vector, kind in counts.columns]
    return list(zip(zip(*columns, strict=True), counts.units.tolist(), strict=True))


def exact(engine: Engine, asked: Plan, *keys: tuple[Any, ...]) -> list[Any]:
    shown = with_keys(asked, keys)
    return [result.cells.tolist() for result in engine.exact(shown, {})]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ("city", [(("Bonn",), 2), (("Ulm",), 3), (("ulm",), 1), ((None,), 1)]),
        ("n", [((-7,), 1), ((3,), 3), ((12,), 2), ((None,), 1)]),
        ("day", [((18261,), 1), ((18263,), 5), ((None,), 1)]),
        ("LOWER(city)", [(("bonn",), 2), (("ulm",), 4), ((None,), 1)]),
        ("n, city", [((-7, "Bonn"), 1), ((3, "Ulm"), 2), ((3, None), 1), ((12, "Bonn"), 1),
                     ((12, "Ulm"), 1), ((None, "ulm"), 1)]),
        ("city, g", [(("Bonn",), 2), (("Ulm",), 3), (("ulm",), 1)]),  # the row without g has none
    ],
)  # fmt: skip
def test_rows_are_counted_where_each_is_a_unit(
    keys: str, expected: Found, open_engine: OpenEngine, tmp_path: Path
) -> None:
    asked = planned(keys, table(tmp_path, ROWS))
    assert found(open_engine(), asked) == expected


def test_units_are_counted_once_for_each_key(open_engine: OpenEngine, tmp_path: Path) -> None:
    policy = table(tmp_path, ROWS, 'unit = "who"\nrows_per_unit = 3')
    assert found(open_engine(), planned("city", policy)) == [
        (("Bonn",), 1), (("Ulm",), 2), (("ulm",), 1), ((None,), 1)]  # fmt: skip
    assert found(open_engine(), planned("n", policy, "WHERE x < 5")) == [
        ((-7,), 1), ((3,), 1), ((None,), 1)]  # fmt: skip


def test_a_unit_s_weights_have_the_norm_of_one(open_engine: OpenEngine, tmp_path: Path) -> None:
    """Of two cities each of ann's and bob's has ⌊2^30/√2⌋, and the one of cid's 2^30."""
    half = math.isqrt(2**59)
    for unit, expected in {
        'unit = "who"\nrows_per_unit = 3': [half, half + 2**30, half, half],
        "": [2 * 2**30, 3 * 2**30, 2**30, 2**30],
    }.items():
        folder = tmp_path / str(len(unit))
        counts = open_engine().key_counts(planned("city", table(folder, ROWS, unit)), {})
        assert counts.weights.tolist() == expected


def test_the_rows_of_shown_keys_are_counted_and_no_others(
    open_engine: OpenEngine, tmp_path: Path
) -> None:
    engine, policy = open_engine(), table(tmp_path, ROWS)
    assert exact(engine, planned("city", policy), ("Ulm",), ("nobody",), (None,)) == [[9, 0, 5]]
    # For each city first g = b and then g = a, as the policy declares them.
    assert exact(engine, planned("city, g", policy), ("Bonn",), ("Ulm",)) == [[3, 7, 6, 3]]


TOTALS = ("SUM(x), SUM(DISTINCT x), SUM(x, contribution_bounds_per_group => (2, 3)), "
          "COUNT(n, contribution_bounds_per_group => (0, 2)), "
          "AVG(x, contribution_bounds_per_group => (1, 9)) FILTER (WHERE ok)")  # fmt: skip


@pytest.mark.parametrize(("groups", "seed"), [(None, 0), (1, 1), (2, 2)])
def test_random_rows_are_counted_as_one_by_one(
    seed: int, groups: int | None, tmp_path: Path, open_fast_engine: OpenEngine
) -> None:
    chance = random.Random(seed)
    cells = (["", "u", "v", "w"], ["", "Ulm", "ULM", "é"], ["", "1", "2", "x"],
             ["", "2020-02-29"], ["", "1", "no"], ["a", "b", ""], ["1", "2"])  # fmt: skip
    rows = "".join(",".join(map(chance.choice, cells)) + "\n" for _ in range(60))
    policy = table(tmp_path, rows, 'unit = "who"\nrows_per_unit = 4')
    for keys in ("city", "g, n, city", "UPPER(city), day", "n, g"):
        asked = planned(keys, policy, groups=groups, what=TOTALS)
        fast, plain = found(open_fast_engine(), asked), found(PlainEngine(), asked)
        assert fast == plain
        shown = [key for key, _ in fast if chance.random() < 0.5] or [fast[0][0]]
        of_both = [exact(engine, asked, *shown) for engine in (open_fast_engine(), PlainEngine())]
        assert of_both[0] == of_both[1]


@pytest.mark.parametrize(
    ("keys", "where", "expected"),
    [
        ("city", "city IN ('ulm', 'Ulm')", [9, 4]),
        ("n", "n IN (12, -7, 3)", [3, 8, 13]),
        ("x", "x IN (2, 7, 4)", [2, 4, 7]),
        ("n * 2", "n * 2 IN (24, 6)", [8, 13]),
        ("day", "day = '2019-12-31' AND ok IS NULL", [4]),
    ],
)
def test_keys_that_where_lists_are_the_groups(
    keys: str, where: str, expected: list[int], open_engine: OpenEngine, tmp_path: Path
) -> None:
    asked = planned(keys, table(tmp_path, ROWS), f"WHERE {where}")
    assert asked.found is None
    assert exact(open_engine(), asked) == [expected]


def test_a_unit_is_in_so_many_groups_and_no_more(tmp_path: Path, open_engine: OpenEngine) -> None:
    rows = "".join(f"ann,c{i},1,,,a,1\n" for i in range(6)) + "bob,c0,1,,,a,1\n"
    policy = table(tmp_path, rows, 'unit = "who"\nrows_per_unit = 6')
    counts = [found(open_engine(), planned("city", policy, groups=most)) for most in (None, 2, 1)]
    assert [sum(units for _, units in each) for each in counts] == [7, 3, 2]


def test_keys_and_counts_are_in_no_repr(tmp_path: Path) -> None:
    counts = MemoryEngine().key_counts(planned("city", table(tmp_path, ROWS)), {})
    assert "Ulm" not in repr(counts)
