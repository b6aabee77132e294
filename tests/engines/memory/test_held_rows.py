"""Which rows of a unit are held, and how many bytes its texts have."""

from __future__ import annotations

import random
from collections import defaultdict
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from dpdb.engines.memory import MemoryEngine
from dpdb.engines.units.caps import Units
from dpdb.engines.units.held_rows import HeldRows, has_budget, within_budget
from dpdb.engines.units.keys import Owners
from dpdb.policy.catalog import Column, Kind, Table
from dpdb.vectors.columns import Codes, Numbers
from tests.support.exactly import planned, raw, write
from tests.support.row_hashes import row_hash

POLICY = """\
[tables.t]
unit = "who"
rows_per_unit = {cap}
rows_held_per_unit = {held}
[tables.t.columns]
who = {{ type = "integer" }}
x = {{ type = "integer", bounds = [0, 1_000_000] }}
s = {{ type = "text" }}
"""
MADE = [
    "SELECT SUM(n) FROM (SELECT who, COUNT(*) AS n FROM t GROUP BY who) AS u",
    "SELECT SUM(n) FROM (SELECT who, COUNT(*) AS n FROM t WHERE x < 40 GROUP BY who) AS u",
    "SELECT SUM(n) FROM (SELECT a.who, COUNT(*) AS n FROM t a JOIN t b ON a.who = b.who "
    "GROUP BY a.who) AS u",
    "SELECT SUM(k) FROM (SELECT who, ROW_NUMBER() OVER (PARTITION BY who ORDER BY x) AS k "
    "FROM t) AS u",
]


def rows(seed: int, units: int = 3, each: int = 20) -> list[tuple[int, int]]:
    """Rows of units, no two of which have the same number."""
    made = [(at % units, at) for at in range(units * each)]
    return random.Random(seed).sample(made, len(made))


def file_of(made: list[tuple[int, int]], names: str = "who,x,s") -> str:
    order = names.split(",")
    cells = [{"who": who, "x": x, "s": f"s{x}"} for who, x in made]
    return "\n".join([names, *(",".join(str(row[name]) for name in order) for row in cells)]) + "\n"


def held_by_hand(made: list[tuple[int, int]], held: int) -> list[int]:
    """The numbers of the rows that have the least hashes of their unit."""
    of_unit = defaultdict(list)
    for who, x in made:
        cells = [("owner ", who), ("column who", who), ("column x", x), ("column s", f"s{x}")]
        of_unit[who].append((row_hash("", cells), x))
    return sorted(x for own in of_unit.values() for _, x in sorted(own)[:held])


def test_the_rows_with_the_least_hashes_are_held_whatever_is_asked(tmp_path: Path) -> None:
    made = rows(1)
    policy = write(tmp_path, "t", file_of(made), POLICY.format(cap=5, held=5))
    numbers = held_by_hand(made, 5)
    assert raw("SELECT SUM(x) FROM t", policy, MemoryEngine()) == [[sum(numbers)]]
    for least in (10, 30, 50):
        few = [number for number in numbers if number >= least]
        text = f"SELECT COUNT(*), SUM(x) FROM t WHERE x >= {least}"
        assert raw(text, policy, MemoryEngine()) == [[len(few)], [sum(few)]], "no others"


@pytest.mark.parametrize("names", ["who,x,s", "s,x,who"])
def test_neither_the_order_of_rows_nor_of_columns_has_a_say(tmp_path: Path, names: str) -> None:
    found = []
    for seed in range(3):
        (folder := tmp_path / str(seed)).mkdir()
        text = file_of(rows(seed), names if seed else "who,x,s")
        policy = write(folder, "t", text, POLICY.format(cap=3, held=5))
        asked = ["SELECT SUM(x) FROM t WHERE x > 20", "SELECT COUNT(DISTINCT s) FROM t", *MADE]
        found.append([raw(each, policy, MemoryEngine()) for each in asked])
    assert found[0] == found[1] == found[2]


def test_made_tables_have_the_held_rows_alone(tmp_path: Path) -> None:
    made = rows(2)
    policy = write(tmp_path, "t", file_of(made), POLICY.format(cap=5, held=5))
    few = len([number for number in held_by_hand(made, 5) if number < 40])
    expected = [15, few, 3 * 25, 3 * 15]
    assert [raw(text, policy, MemoryEngine()) for text in MADE] == [[[n]] for n in expected]


def test_where_a_unit_has_one_row_nothing_but_the_unit_is_looked_at() -> None:
    columns = (Column("who", Kind.INTEGER), Column("s", Kind.TEXT))
    read = list[tuple[str, ...]]()

    def reading(_: Table, names: object) -> dict[str, Numbers | Codes]:
        read.append(tuple(names))  # type: ignore[arg-type]
        return {"who": Numbers(np.arange(3), Fraction(1), None, 0)}

    table = Table("t", Path(), columns, "who", key=("who",))
    owners = HeldRows((table,)).owners(table, reading, "")
    assert owners is not None
    assert owners.numbers.tolist() == [0, 1, 2]
    assert read == [("who",)]
    assert not has_budget(table, columns[1])


def test_texts_beyond_the_budget_of_their_unit_are_null(tmp_path: Path) -> None:
    """100 bytes for each row that is held, 10,000 at least: of the others none is lost."""
    cells = [(1, at, "é" * 1_000) for at in range(30)] + [(2, at, "b" * 10) for at in range(30)]
    text = "who,x,s\n" + "".join(f"{who},{x},{s}{x}\n" for who, x, s in cells)
    policy = write(tmp_path, "t", text, POLICY.format(cap=30, held=30))
    engine = MemoryEngine()
    assert raw("SELECT COUNT(s) FROM t WHERE who = 2", policy, engine) == [[30]]
    # 2,001 or 2,002 bytes each
    assert raw("SELECT COUNT(s), COUNT(*) FROM t WHERE who = 1", policy, engine) == [[4], [30]]
    few = raw("SELECT COUNT(s), SUM(x) FROM t WHERE who = 1 AND s IS NOT NULL", policy, engine)
    order = sorted(range(30), key=lambda x: row_hash("", [
        ("owner ", 1), ("column who", 1), ("column x", x), ("column s", "é" * 1_000 + str(x)),
    ]))  # fmt: skip
    assert few == [[4], [sum(order[:4])]], "the first ones by their hashes"


@pytest.mark.parametrize("seed", range(20))
def test_the_budget_is_that_of_each_unit_alone(seed: int) -> None:
    chance = np.random.default_rng(seed)
    texts = tuple("x" * int(size) for size in chance.integers(0, 60, 8))
    codes, units = chance.integers(0, 9, 50), chance.integers(-1, 4, 50).astype(np.int32)
    names = Numbers(units.astype(np.int64), Fraction(1), None, 0)
    which = Numbers(np.arange(50), Fraction(1), None, 0)
    rows = Units.hashed_by([Column("x", Kind.INTEGER)], {"x": which}, Owners(units, names), "")
    kept = within_budget(Codes(codes, texts), rows, 200)
    sizes = np.array([*map(len, texts), 0])[codes]
    order = rows.hashes(np.arange(50)).argsort()
    for unit in range(4):
        own = [row for row in order.tolist() if units[row] == unit]
        assert kept[own].tolist() == (np.cumsum(sizes[own]) <= 200).tolist()
    assert kept[units < 0].all()


def test_the_budget_follows_from_the_policy() -> None:
    def table(held: int) -> Table:
        return Table("t", Path(), (), "who", rows_held_per_unit=held)

    assert [table(held).text_budget for held in (2, 100, 1_000)] == [10_000, 10_000, 100_000]
    assert has_budget(table(1_000), Column("s", Kind.TEXT))
    assert not has_budget(table(1_000), Column("s", Kind.TEXT, length=100))
    assert not has_budget(table(1_000), Column("s", Kind.TEXT, values=("a",)))
    assert not has_budget(table(1_000), Column("who", Kind.TEXT))


CHAINED = """\
[tables.orders]
unit = "who"
key = "id"
rows_per_unit = 30
rows_held_per_unit = 30
[tables.orders.columns]
id = { type = "text" }
who = { type = "integer" }
[tables.t]
unit = "id -> orders.id"
rows_per_unit = 30
rows_held_per_unit = 30
[tables.t.columns]
id = { type = "text" }
s = { type = "text" }
"""


def test_the_keys_of_a_chain_are_texts_within_the_budget(tmp_path: Path) -> None:
    """They differ in the rows of a unit, unlike what names the unit itself."""
    keys = [f"{at:02}{'k' * 1_998}" for at in range(30)]
    (tmp_path / "orders.csv").write_text("id,who\n" + "".join(f"{key},1\n" for key in keys))
    policy = write(tmp_path, "t", "id,s\n" + "".join(f"{key},{key}\n" for key in keys), CHAINED)
    engine = MemoryEngine(tables=policy.tables)
    asked = [f"SELECT COUNT(*) FROM t WHERE UPPER({name}) LIKE '%K'" for name in ("s", "id")]
    assert [raw(text, policy, engine) for text in asked] == [[[5]], [[5]]]
    assert raw("SELECT COUNT(*) FROM t", policy, engine) == [[30]]
    works = [planned(text, policy).work for text in asked]
    assert works[0] == works[1]
