"""The same rows in dpdb and in DuckDB, and what must be the same of them."""

from __future__ import annotations

import datetime
import random
import string
from fractions import Fraction
from pathlib import Path

import duckdb
from hypothesis import strategies as st

from dpdb.engines.protocol import Engine
from dpdb.plan.physical.plan import Plan
from dpdb.plan.ranges.grids import Grid
from dpdb.plan.ranges.statistics import Count, Total
from dpdb.policy.catalog import Policy
from dpdb.policy.reading.reader import read_policy
from tests.support.exactly import exactly, exactly_of, planned

ROWS = 60
HEADER = "id,i,j,n,m,t,s,b,c,d,e,p,q"
POLICY = """
[tables.t.columns]
id = { type = "integer", bounds = [0, 59], nullable = false }
i = { type = "integer", bounds = [-50, 50] }
j = { type = "integer", values = [-3, 0, 1, 2, 7] }
n = { type = "number", bounds = [-100, 100], step = 0.01 }
m = { type = "number", bounds = [-5, 5], step = 0.125 }
t = { type = "text" }
s = { type = "text", values = ["a", "b", "B", "abc", "x_y", "10%"] }
b = { type = "boolean" }
c = { type = "boolean" }
d = { type = "date", bounds = [1960-01-01, 2030-12-31] }
e = { type = "date", bounds = [1960-01-01, 2030-12-31] }
p = { type = "timestamp", bounds = [1960-01-01T00:00:00, 2030-12-31T23:59:59] }
q = { type = "timestamp", bounds = [1960-01-01, 2030-12-31T23:59:59.999999], step = 0.000001 }
"""
TEXTS = ["a", "b", "A", "ab", "abc", "Abc", "a%c", "a_c", "10%", "x_y", "x!y", "é", "É", "naïve",
         " a", "a ", "a\nb", "it's", 'say "hi"', "5", "-7", " 12 ", "2.5", "3.5", "1e2", ".5",
         "1_000", "0x1F", "inf", "nan", "1e400", "٣", "true", "F", "Yes", "0", "maybe",
         "2020-02-29", "2021-02-29", "2020-1-1", "1969-12-31", "%", "_", "\\",
         "aaaaaaaaab"]  # fmt: skip


class World:
    """The same rows twice."""

    def __init__(self, policy: Policy, duck: duckdb.DuckDBPyConnection, engine: Engine):
        self.policy = policy
        self.engine = engine
        self.duck = duck


def random_cells(chance: random.Random) -> list[str]:
    def maybe(text: object) -> str:
        return "" if chance.random() < 0.15 else str(text)

    def day() -> str:
        first = datetime.date(1960, 1, 1).toordinal()
        return datetime.date.fromordinal(first + chance.randrange(25_000)).isoformat()

    def clock(step: int) -> str:
        time = datetime.timedelta(microseconds=chance.randrange(86_400_000_000 // step) * step)
        at = f"{datetime.datetime.min + time:%H:%M:%S.%f}"
        return at if step == 1 else chance.choice([at[:8], at[:5]])

    near = chance.choice(["1970-01-01", "1969-12-31", "2020-02-29", "2030-12-31"])
    moment = chance.choice([f"{near} {clock(1)}", f"{day()}T{clock(1)}", f"{near} 23:59:59.999999"])
    return [
        maybe(chance.choice([chance.randint(-50, 50), chance.randint(-3, 3)])),
        maybe(chance.choice([-3, 0, 1, 2, 7])),
        maybe(chance.choice([chance.randint(-10_000, 10_000), chance.randint(-3, 3) * 50]) / 100),
        maybe(chance.randint(-40, 40) / 8),
        maybe(chance.choice(TEXTS)),
        maybe(chance.choice(["a", "b", "B", "abc", "x_y", "10%"])),
        maybe(chance.choice(["true", "false"])),
        maybe(chance.choice(["true", "false"])),
        maybe(day()),
        maybe(chance.choice([day(), near])),
        maybe(f"{chance.choice([day(), near])} {clock(1_000_000)}"),
        maybe(moment),
    ]


def two_engines(folder: Path, seed: int, engine: Engine) -> World:
    chance = random.Random(seed)
    rows = [[str(row), *random_cells(chance)] for row in range(ROWS)]
    chance.shuffle(rows)
    lines = [",".join('"' + cell.replace('"', '""') + '"' for cell in row) for row in rows]
    (folder / "t.csv").write_text("\n".join([HEADER, *lines]), encoding="utf-8")
    (folder / "t.toml").write_text(POLICY)
    duck = duckdb.connect()
    # DuckDB 2.0 packs some sums of groups into fewer bits than they have, and then fails.
    duck.execute("SET disabled_optimizers = 'compressed_materialization'")
    duck.execute(
        "CREATE TABLE t (id INT, i DOUBLE, j DOUBLE, n DOUBLE, m DOUBLE, t TEXT, s TEXT,"
        " b BOOLEAN, c BOOLEAN, d DATE, e DATE, p TIMESTAMP, q TIMESTAMP)"
    )
    big, small = string.ascii_uppercase, string.ascii_lowercase
    for name, old, new in (("lower", big, small), ("upper", small, big)):
        duck.execute(f"CREATE MACRO ascii_{name}(x) AS translate(x, '{old}', '{new}')")
    values = [[cell or None for cell in row] for row in rows]
    duck.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", values)
    return World(read_policy(folder / "t.toml"), duck, engine)


def duck_rows(world: World, *expressions: str) -> list[tuple[object, ...]]:
    listed = ", ".join(expressions)
    rows = world.duck.execute(f"SELECT id, {listed} FROM t ORDER BY id").fetchall()
    return [row[1:] for row in rows]


def check_condition(world: World, ours: str, theirs: str) -> None:
    """True, false and NULL on the same rows; as FILTER and negated, and as WHERE."""
    expected = duck_rows(world, f"({theirs})", "j")
    true, false, null = exactly(
        f"SELECT COUNT(*) FILTER (WHERE {ours}), COUNT(*) FILTER (WHERE NOT ({ours})),"
        f" COUNT(*) FILTER (WHERE ({ours}) IS NULL) FROM t GROUP BY id",
        world.policy,
        world.engine,
    )
    verdicts = {(1, 0, 0): True, (0, 1, 0): False, (0, 0, 1): None}
    assert [verdicts[cell] for cell in zip(true, false, null, strict=True)] == [
        value for value, _ in expected
    ]
    plan = planned(f"SELECT j, COUNT(*) FROM t WHERE {ours} GROUP BY j", world.policy)
    [keys] = plan.key_values
    assert exactly_of(plan, world.engine) == [[expected.count((True, key)) for key in keys]]


def check_number(world: World, ours: str, theirs: str) -> None:
    """The same value on every row, on the grid that is summed over; the same sums."""
    rows = duck_rows(world, f"({theirs})::DOUBLE", "i > 1")
    plan = planned(f"SELECT SUM({ours}), COUNT({ours}) FROM t GROUP BY id", world.policy)
    sums, counts = exactly_of(plan, world.engine)
    grid = grid_of(plan)
    assert counts == [value is not None for value, _ in rows]
    assert sums == [0 if value is None else grid_point(value, grid) for value, _ in rows]
    known = [value for value, _ in rows if value is not None]
    plan = planned(
        f"SELECT SUM({ours}) FILTER (WHERE i > 1), SUM({ours}), COUNT({ours}),"
        f" COUNT(DISTINCT {ours}) FROM t",
        world.policy,
    )
    narrowed = grid_of(plan)
    chosen = [value for value, positive in rows if positive and value is not None]
    assert exactly_of(plan, world.engine) == [
        [sum(grid_point(value, narrowed) for value in chosen)],
        [sum(grid_point(value, grid) for value in known)],
        [len(known)],
        [len(set(known))],
    ]


def grid_of(plan: Plan) -> Grid:
    """The grid of the first release, which is a sum; one of zeros and ones may be a count."""
    total = plan.releases[0].statistic
    if isinstance(total, Count):
        return Grid(Fraction(1), 0, 1)
    assert isinstance(total, Total)
    return total.grid


def grid_point(value: float, grid: Grid) -> Fraction:
    """The grid point for a value; the grid may end less than a step inside the bounds."""
    nearest = round(Fraction(value * grid.step.denominator / grid.step.numerator))
    clamped = min(max(nearest, grid.lower), grid.upper)
    assert abs(clamped - nearest) <= 1
    return clamped * grid.step


def check_text(world: World, ours: str, theirs: str) -> None:
    """The same NULLs, lengths and number of distinct texts; every text equal to itself."""
    rows = duck_rows(world, f"({theirs})", f"length({theirs})")
    known, lengths = exactly(
        f"SELECT COUNT({ours}), SUM(CLAMP(LENGTH({ours}), 0, 100)) FROM t GROUP BY id",
        world.policy,
        world.engine,
    )
    assert known == [text is not None for text, _ in rows]
    assert lengths == [length or 0 for _, length in rows]
    texts = [text for text, _ in rows if text is not None]
    some = sorted(set(texts))[:4]
    quoted = ["'" + str(text).replace("'", "''") + "'" for text in some]
    equal = "".join(f", COUNT(*) FILTER (WHERE {ours} = {text})" for text in quoted)
    found = exactly(f"SELECT COUNT(DISTINCT {ours}){equal} FROM t", world.policy, world.engine)
    assert found == [[len(set(texts))], *([texts.count(text)] for text in some)]


# Generated expressions: each strategy makes pairs, of dpdb's text and DuckDB's.
Pair = tuple[str, str]


def number_constant(value: int | float) -> Pair:
    text = f"{value:g}" if value >= 0 else f"({value:g})"
    return text, f"{text}::DOUBLE"


number_leaves = st.one_of(
    st.sampled_from([(name, name) for name in ("i", "j", "n", "m", "id")]),
    st.builds(number_constant, st.sampled_from([-7, -1, 0, 1, 2, 3, 10, 0.5, 0.25, -2.5])),
)
