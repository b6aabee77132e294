"""Whole statements without noise against DuckDB: aliases, groups, HAVING, ORDER BY, LIMIT.

What rows mean is compared in test_semantics.py; here it is how a SELECT
is put together. All aggregates are exact without noise: counts and sums of
integers, and averages. ORDER BY ends with all keys, so that the order is no
matter of chance. Keys have no missing cells, as a group of NULL is not shown.
"""

from __future__ import annotations

import math
import random
from pathlib import Path

import duckdb
import pytest

from dpdb.policy.reading.reader import read_policy
from dpdb.session.session import Session
from tests.support.noiseless import Noiseless

POLICY = """
[budget]
epsilon = 10000
queries = 1000
[tables.t]
{unit}
[tables.t.columns]
who = {{ type = "text" }}
age = {{ type = "integer", bounds = [1, 4], nullable = false }}
zip = {{ type = "integer", values = [10, 20, 30], nullable = false }}
pay = {{ type = "integer", bounds = [-9, 9] }}
"""
UNITS = {"rows": "", "people": 'unit = "who"\nrows_per_unit = 3'}
NAMES = ["age", "zip", "pay", "a", "b", "n", "AGE"]
KEYS = ["age", "zip"]
STATEMENTS = 100
"""Of each kind of table; `make test-long` has thousands of larger ones."""


class World:
    """The same rows twice."""

    def __init__(self, folder: Path, unit: str):
        chance = random.Random(7)
        rows = [
            (f"u{i // 3}", chance.randint(1, 4), chance.choice([10, 20, 30]), _pay(chance))
            for i in range(150)
        ]
        # All groups are there, as they are in dpdb's answers.
        rows += [(f"v{a}{z}", a, z, 1) for a in (1, 2, 3, 4) for z in (10, 20, 30)]
        lines = [",".join("" if cell is None else str(cell) for cell in row) for row in rows]
        (folder / "t.csv").write_text("\n".join(["who,age,zip,pay", *lines]))
        (folder / "t.toml").write_text(POLICY.format(unit=UNITS[unit]))
        self.session = Session(read_policy(folder / "t.toml"), noise=Noiseless())
        self.duck = duckdb.connect()
        self.duck.execute("CREATE TABLE t (who TEXT, age BIGINT, zip BIGINT, pay BIGINT)")
        self.duck.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", rows)

    def check(self, sql: str) -> None:
        """Both give the same rows in the same order."""
        ours, theirs = self.session.execute(sql).rows, self.duck.execute(sql).fetchall()
        assert len(ours) == len(theirs), sql
        for row, other in zip(ours, theirs, strict=True):
            for mine, cell in zip(row, other, strict=True):
                assert mine == cell or math.isclose(float(mine), float(cell)), sql  # type: ignore[arg-type]


def _pay(chance: random.Random) -> int | None:
    return None if chance.random() < 0.1 else chance.randint(-9, 9)


@pytest.fixture(scope="module", params=UNITS)
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> World:
    return World(tmp_path_factory.mktemp("world"), request.param)


def _aggregate(chance: random.Random) -> str:
    column = chance.choice(["age", "zip", "pay"])
    call = chance.choice(["COUNT(*)", f"COUNT({column})", f"SUM({column})", f"AVG({column})",
                          "COUNT(DISTINCT pay)", "SUM(DISTINCT pay)", "AVG(DISTINCT pay)"])  # fmt: skip
    if call.startswith(("COUNT(*", "SUM")) and chance.random() < 0.3:
        call += f" FILTER (WHERE {chance.choice(['age > 1', 'zip <> 20', 'pay IS NULL'])})"
    # A SUM of nothing is 0 here, and NULL in DuckDB.
    return f"COALESCE({call}, 0)" if "SUM" in call else call


class Drawn:
    """A random SELECT, a part at a time."""

    def __init__(self, chance: random.Random):
        self.chance = chance
        self.keys = chance.sample(KEYS, chance.choice([0, 1, 1, 2, 2]))
        self.aliases: list[str] = []

    def expression(self) -> str:
        """Over keys, aggregates and the aliases so far that no column hides."""
        leaves = [_aggregate(self.chance), *self.keys, *self._free]
        first, second = (self.chance.choice(leaves) for _ in range(2))
        shapes = ["{0}", "{0}", "{0} + {1}", "{0} * 2 - {1}", "ABS({0} - 15)"]
        return self.chance.choice(shapes).format(first, second)

    @property
    def _free(self) -> list[str]:
        return [name for name in self.aliases if name.lower() not in ("age", "zip", "pay")]

    def text(self) -> str:
        chance = self.chance
        items, positions = [*self.keys, _aggregate(chance)], {}
        items += [self.expression() for _ in range(chance.randint(0, 2))]
        chance.shuffle(items)
        listed = []
        for position, item in enumerate(items, 1):
            # Of two aliases that are the same DuckDB takes now the one, now the other.
            taken = {alias.lower() for alias in self.aliases}
            name = chance.choice([*(n for n in NAMES if n.lower() not in taken), None])
            listed.append(item if name is None else f"{item} AS {name}")
            if item in self.keys:
                positions[item] = str(position)
            if name is not None:
                self.aliases.append(name)
        sql = f"SELECT {', '.join(listed)} FROM t"
        if chance.random() < 0.3:
            sql += f" WHERE {chance.choice(['pay > -5', 'pay < 5 AND who IS NOT NULL'])}"
        if self.keys:
            groups = [chance.choice([key, positions[key]]) for key in self.keys]
            sql += f" GROUP BY {', '.join(groups)}"
        if chance.random() < 0.4:
            sql += f" HAVING {self.expression()} {chance.choice(['>', '<=', '<>'])} 20"
        return sql + self._page()

    def _page(self) -> str:
        chance = self.chance
        terms = [chance.choice([*self.aliases, self.expression()]) for _ in range(2)]
        terms = [chance.choice([term, f"{term} DESC"]) for term in terms]
        page = f" ORDER BY {', '.join([*terms, *(f't.{key}' for key in self.keys)])}"
        if chance.random() < 0.5:
            page += f" LIMIT {chance.randint(0, 5)}"
            if chance.random() < 0.5:
                page += f" OFFSET {chance.randint(0, 3)}"
        return page


@pytest.mark.parametrize("first", range(0, STATEMENTS, 20))
def test_random_statements_have_the_same_rows(world: World, first: int) -> None:
    for seed in range(first, first + 20):
        world.check(Drawn(random.Random(seed)).text())


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT age AS zip, zip AS z, zip + 1 AS y, COUNT(*) FROM t GROUP BY age, zip"
        " ORDER BY t.age, t.zip",
        "SELECT age AS zip, COUNT(*) FROM t GROUP BY age, zip HAVING zip = 10 ORDER BY t.age",
        "SELECT -age AS age, COUNT(*) FROM t GROUP BY age ORDER BY age",
        "SELECT -age AS age, COUNT(*) FROM t GROUP BY age ORDER BY (age) DESC",
        "SELECT -age AS age, COUNT(*) FROM t GROUP BY age ORDER BY age + 0",
        "SELECT -age AS age, COUNT(*) FROM t GROUP BY age ORDER BY t.age",
        "SELECT COUNT(*) AS n, n + 1 AS m FROM t HAVING n > 1 ORDER BY m + n",
        "SELECT zip, age AS a, COUNT(*) AS zip FROM t GROUP BY 2, 1 ORDER BY zip, a LIMIT 3",
    ],
)
def test_a_column_hides_an_alias_but_in_order_by(world: World, sql: str) -> None:
    world.check(sql)


@pytest.mark.parametrize("keys", ["", "zip", "zip, age"])
@pytest.mark.parametrize(("ours", "theirs"), [
    ("SUM(pay, contribution_bounds_per_group => (-3, 4))",
     "SUM(LEAST(GREATEST(total, -3), 4)) FILTER (WHERE known > 0)"),
    ("COUNT(pay, contribution_bounds_per_group => (0, 2))", "SUM(LEAST(known, 2))"),
    ("COUNT(*, contribution_bounds_per_group => (0, 2))", "SUM(LEAST(rows, 2))"),
    ("AVG(pay, contribution_bounds_per_group => (-4, 5))",
     "AVG(LEAST(GREATEST(mean, -4), 5)) FILTER (WHERE known > 0)"),
])  # fmt: skip
def test_what_each_unit_comes_to_in_a_group_is_clamped(
    world: World, keys: str, ours: str, theirs: str
) -> None:
    """DuckDB is told what it means: a GROUP BY of the unit, too, within one without it."""
    unit = world.session.policy.tables[0].unit or "rowid"
    columns = f"{keys}, " if keys else ""
    last = f" GROUP BY {keys} ORDER BY {keys}" if keys else ""
    inner = (f"SELECT {columns}SUM(pay) AS total, AVG(pay) AS mean, COUNT(pay) AS known, "
             f"COUNT(*) AS rows FROM t GROUP BY {columns}{unit}")  # fmt: skip
    found = world.session.execute(f"SELECT {columns}{ours} FROM t{last}").rows
    expected = world.duck.execute(f"SELECT {columns}{theirs} FROM ({inner}){last}").fetchall()
    assert len(found) == len(expected) > 0
    for row, other in zip(found, expected, strict=True):
        assert tuple(row[:-1]) == other[:-1]
        assert math.isclose(row[-1], other[-1], abs_tol=1e-9)  # type: ignore[arg-type]


def test_bins_are_those_of_the_other_engine(world: World) -> None:
    """DuckDB's histogram is a map from the upper ends; what is above all of them comes last."""
    [row] = world.session.execute("SELECT HISTOGRAM(pay, [-5, 0, 3]) FROM t").rows
    [[bins]] = world.duck.execute("SELECT HISTOGRAM(pay, [-5, 0, 3]) FROM t").fetchall()
    assert list(row) == [bins[end] for end in sorted(bins)]
