"""A second engine as the oracle: DuckDB on the same rows must say the same.

Rows are compared one by one: grouped by `id`, which is unique, every statistic
is the value of its expression on one row. No noise is drawn anywhere.

Where dpdb means something else, the condition is written twice, first for dpdb
and then for DuckDB. These are all the differences there are:

  /             true division; x / 0 is NULL (DuckDB: infinity)
  %             x % 0 is NULL (DuckDB: NaN, or an error)
  overflow      what leaves the doubles is NULL (DuckDB: infinity)
  arithmetic    always in doubles (DuckDB: BIGINT and DECIMAL); columns and
                constants are DOUBLE for DuckDB here
  CAST          is TRY_CAST
  text→number   ASCII digits only: 1_000, 0x1F, inf, nan are NULL (DuckDB reads them)
  text→integer  of a fraction rounds half to even, as number→integer does
                (DuckDB: half away from zero from text, half to even from DOUBLE)
  →integer      beyond 2^53 is NULL (DuckDB: beyond 2^63)
  text→boolean  true t yes 1, false f no 0 (DuckDB knows y and n, too)
  text→date     YYYY-MM-DD only (DuckDB: also 2020-1-1, and within spaces)
  date↔number   days since 1970-01-01 (DuckDB: no such cast)
  dates         may leave the calendar; as text they are then NULL
  "x"           a string where no column is called x (DuckDB: an error)
  ''            no cell is the empty string: an empty cell is NULL
  SUBSTR        counts from 1; places before the first are there, and empty, as in
                the standard and PostgreSQL (DuckDB: negative places count from the end)
  CLAMP         is dpdb's own: NULL if any argument is
  upper, lower  case is of ASCII letters alone, in ILIKE, too (DuckDB: of all letters)
"""

from __future__ import annotations

import datetime
import math
import random
import re
import string
from fractions import Fraction
from pathlib import Path

import duckdb
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from dpdb.engines.protocol import Engine
from dpdb.errors import MissingBounds, TooLarge
from dpdb.plan.statistics import Grid, Total
from dpdb.policy.catalog import Policy
from dpdb.policy.reader import read_policy
from tests.support.exactly import exactly, planned

ROWS = 60
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


def _cells(chance: random.Random) -> list[str]:
    def maybe(text: object) -> str:
        return "" if chance.random() < 0.15 else str(text)

    def day() -> str:
        first = datetime.date(1960, 1, 1).toordinal()
        return datetime.date.fromordinal(first + chance.randrange(25_000)).isoformat()

    near = chance.choice(["1970-01-01", "1969-12-31", "2020-02-29", "2030-12-31"])
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
    ]


def _world(folder: Path, seed: int, engine: Engine) -> World:
    chance = random.Random(seed)
    rows = [[str(row), *_cells(chance)] for row in range(ROWS)]
    chance.shuffle(rows)
    lines = [",".join('"' + cell.replace('"', '""') + '"' for cell in row) for row in rows]
    (folder / "t.csv").write_text("\n".join(["id,i,j,n,m,t,s,b,c,d,e", *lines]), encoding="utf-8")
    (folder / "t.toml").write_text(POLICY)
    duck = duckdb.connect()
    duck.execute(
        "CREATE TABLE t (id INT, i DOUBLE, j DOUBLE, n DOUBLE, m DOUBLE, t TEXT, s TEXT,"
        " b BOOLEAN, c BOOLEAN, d DATE, e DATE)"
    )
    big, small = string.ascii_uppercase, string.ascii_lowercase
    for name, old, new in (("lower", big, small), ("upper", small, big)):
        duck.execute(f"CREATE MACRO ascii_{name}(x) AS translate(x, '{old}', '{new}')")
    values = [[cell or None for cell in row] for row in rows]
    duck.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", values)
    return World(read_policy(folder / "t.toml"), duck, engine)


@pytest.fixture(scope="module")
def world(tmp_path_factory, open_engine):
    return _world(tmp_path_factory.mktemp("world"), seed=1, engine=open_engine())


@pytest.fixture(scope="module")
def fast_world(tmp_path_factory, open_fast_engine):
    """For generated expressions, of which there are many."""
    return _world(tmp_path_factory.mktemp("world"), seed=1, engine=open_fast_engine())


def _constants(text: str) -> str:
    """Outside strings, DuckDB is to take decimals as doubles; CAST is TRY_CAST, case ASCII's."""
    parts = re.split(r"('(?:[^']|'')*')", text)
    for at in range(0, len(parts), 2):
        parts[at] = re.sub(r"(\d+\.\d+)(?![\w.])", r"\1::DOUBLE", parts[at])
        parts[at] = re.sub(r"\bCAST\(", "TRY_CAST(", parts[at])
        parts[at] = re.sub(r"\b(LOWER|UPPER)\(", r"ascii_\1(", parts[at])
    return "".join(parts)


def _duck_rows(world: World, *expressions: str) -> list[tuple[object, ...]]:
    listed = ", ".join(expressions)
    rows = world.duck.execute(f"SELECT id, {listed} FROM t ORDER BY id").fetchall()
    return [row[1:] for row in rows]


def _check_condition(world: World, ours: str, theirs: str) -> None:
    """True, false and NULL on the same rows; as WHERE, as FILTER, and negated."""
    expected = [value for (value,) in _duck_rows(world, f"({theirs})")]
    true, false, null = exactly(
        f"SELECT COUNT(*) FILTER (WHERE {ours}), COUNT(*) FILTER (WHERE NOT ({ours})),"
        f" COUNT(*) FILTER (WHERE ({ours}) IS NULL) FROM t GROUP BY id",
        world.policy,
        world.engine,
    )
    verdicts = {(1, 0, 0): True, (0, 1, 0): False, (0, 0, 1): None}
    assert [verdicts[cell] for cell in zip(true, false, null, strict=True)] == expected
    [[count]] = exactly(f"SELECT COUNT(*) FROM t WHERE {ours}", world.policy, world.engine)
    assert count == sum(value is True for value in expected)
    [per_group] = exactly(
        f"SELECT j, COUNT(*) FROM t WHERE {ours} GROUP BY j", world.policy, world.engine
    )
    found = dict(
        world.duck.execute(f"SELECT j, COUNT(*) FROM t WHERE ({theirs}) GROUP BY j").fetchall()
    )
    cells = planned(f"SELECT j, COUNT(*) FROM t WHERE {ours} GROUP BY j", world.policy).groups
    assert per_group == [found.get(key, 0) for (key,) in cells]
    assert sum(n for key, n in found.items() if key is not None) == sum(per_group)


def _check_number(world: World, ours: str, theirs: str) -> None:
    """The same value on every row, on the grid that is summed over; the same sums."""
    rows = _duck_rows(world, f"({theirs})::DOUBLE", "i > 0")
    text = f"SELECT SUM({ours}), COUNT({ours}) FROM t GROUP BY id"
    sums, counts = exactly(text, world.policy, world.engine)
    grid = _grid(text, world)
    assert counts == [value is not None for value, _ in rows]
    assert sums == [0 if value is None else _on(value, grid) for value, _ in rows]
    known = [value for value, _ in rows if value is not None]
    text = f"SELECT SUM({ours}), COUNT({ours}), COUNT(DISTINCT {ours}) FROM t"
    assert exactly(text, world.policy, world.engine) == [
        [sum(_on(value, grid) for value in known)],
        [len(known)],
        [len(set(known))],
    ]
    text = f"SELECT SUM({ours}) FILTER (WHERE i > 0) FROM t"
    narrowed = _grid(text, world)
    chosen = [_on(value, narrowed) for value, positive in rows if positive and value is not None]
    assert exactly(text, world.policy, world.engine) == [[sum(chosen)]]


def _grid(text: str, world: World) -> Grid:
    """The grid of the first release, which is a sum."""
    total = planned(text, world.policy).releases[0].statistic
    assert isinstance(total, Total)
    return total.grid


def _on(value: float, grid: Grid) -> Fraction:
    """The grid point for a value; the grid may end less than a step inside the bounds."""
    nearest = round(Fraction(value * grid.step.denominator / grid.step.numerator))
    clamped = min(max(nearest, grid.lower), grid.upper)
    assert abs(clamped - nearest) <= 1
    return clamped * grid.step


def _check_text(world: World, ours: str, theirs: str) -> None:
    """The same NULLs, lengths and number of distinct texts; every text equal to itself."""
    rows = _duck_rows(world, f"({theirs})", f"length({theirs})")
    known, lengths = exactly(
        f"SELECT COUNT({ours}), SUM(CLAMP(LENGTH({ours}), 0, 100)) FROM t GROUP BY id",
        world.policy,
        world.engine,
    )
    assert known == [text is not None for text, _ in rows]
    assert lengths == [length or 0 for _, length in rows]
    texts = {text for text, _ in rows if text is not None}
    [[distinct]] = exactly(f"SELECT COUNT(DISTINCT {ours}) FROM t", world.policy, world.engine)
    assert distinct == len(texts)
    for text in sorted(texts)[:6]:
        quoted = "'" + str(text).replace("'", "''") + "'"
        [[same]] = exactly(
            f"SELECT COUNT(*) FROM t WHERE {ours} = {quoted}", world.policy, world.engine
        )
        assert same == sum(row[0] == text for row in rows)


def _pair(case: str | tuple[str, str]) -> tuple[str, str]:
    return (case, _constants(case)) if isinstance(case, str) else (case[0], _constants(case[1]))


READABLE = "t IN ('5', '-7', ' 12 ', '2.5', '3.5', '1e2', '.5', '0')"
"""What of TEXTS is a number to dpdb."""

CONDITIONS: list[str | tuple[str, str]] = [
    # comparisons, of every kind
    "i = 3", "i <> 3", "i != -3", "i < 0", "i <= 0", "i > 2.5", "i >= j", "j = 7", "j < i",
    "n = 1.5", "n < -0.5", "n > i", "m = 0.125", "m <> n", "-i > 10", "i = -j", "+i = 3",
    "t = 'a'", "t <> 'a'", "t < 'b'", "t >= 'a'", "t = s", "t < s", "s = 'B'", "'b' > s",
    "t = 'it''s'", "t = 'a\nb'", "t = ' a'", "t = 'É'", "t > 'z'",
    "b", "NOT b", "b = TRUE", "b <> FALSE", "b < c", "b = c", "b <= c", "TRUE = b",
    "d = '2020-02-29'", "d < DATE '1990-01-01'", "d >= e", "e <> '1970-01-01'", "'2000-01-01' > d",
    ('t = "a"', "t = 'a'"),
    # three-valued logic
    "i > 0 AND j > 0", "i > 0 OR j > 0", "NOT (i > 0 AND b)", "NOT (i > 0 OR b)", "b AND c",
    "b OR c", "b AND NOT c OR i = 1", "b AND NULL", "b OR NULL", "NOT NULL", "NULL AND FALSE",
    "NULL OR TRUE", "i = NULL", "NULL <> j", "t = NULL", "NULL = t", "t < NULL", "NULL = NULL",
    "b = NULL", "d = NULL", "s = NULL", "(i > 0) = b", "(t = 'a') OR b", "i > 0 AND i < 10 AND b",
    "i IS NULL", "i IS NOT NULL", "t IS NULL", "s IS NOT NULL", "NOT b IS NULL", "d IS NULL",
    "NULL IS NULL", "(i > 0) IS NULL", "b IS TRUE", "b IS FALSE", "b IS NOT TRUE",
    "b IS NOT FALSE", "(i > j) IS TRUE", "(i > j) IS NOT TRUE", "NOT (t = s) IS TRUE",
    # constants alone
    "TRUE", "FALSE", "1 = 1", "1 = 0", "1 < 2 AND 2 < 3", "NOT 1 = 1", "'a' = 'a'", "'a' < 'b'",
    "1 + 1 = 2", "TRUE = TRUE", "2 BETWEEN 1 AND 3", "1 IN (1, 2)", "NULL IN (1)", "NULL IN ('a')",
    "NULL IS NOT NULL", "1 = 1 AND i > 0", "1 = 1 OR t = 'a'", "'a' LIKE 'a'", "'a' IN ('a', 'b')",
    "LENGTH('abc') = 3", "DATE '2020-01-01' = '2020-01-01'",
    # BETWEEN and IN
    "i BETWEEN -3 AND 3", "i NOT BETWEEN -3 AND 3", "i BETWEEN 3 AND -3", "i BETWEEN j AND n",
    "i BETWEEN NULL AND 3", "i NOT BETWEEN NULL AND 3", "t BETWEEN 'a' AND 'b'",
    "t BETWEEN NULL AND 'b'", "d BETWEEN '1970-01-01' AND e", "n BETWEEN -0.5 AND 0.5",
    "i IN (1, 2, 3)", "i NOT IN (1, 2, 3)", "i IN (1, NULL)", "i NOT IN (1, NULL)", "i IN (NULL)",
    "i NOT IN (NULL)", "n IN (0.5, 1, 1.5)", "t IN ('a', 'b')", "t NOT IN ('a', NULL)",
    "t IN (NULL)", "s IN ('b', 'abc')", "j IN (0, 1)", "b IN (TRUE)", "b NOT IN (TRUE, NULL)",
    "d IN ('2020-02-29', '1970-01-01')", "i IN (j, 3)", "t IN (s, 'a')", "i + 1 IN (2, 3)",
    "i NOT IN (j, NULL)",
    # LIKE
    "t LIKE 'a'", "t LIKE 'a%'", "t LIKE '%a'", "t LIKE '%a%'", "t LIKE '_'", "t LIKE '__'",
    "t LIKE '%'", "t LIKE ''", "t LIKE '%%'", "t LIKE '_%'", "t LIKE '%_'", "t LIKE '_%_'",
    "t LIKE 'a_c'", "t LIKE '%b_'", "t LIKE '%a%b%'", "t LIKE 'a%b'", "t LIKE '%a_b'",
    "t NOT LIKE 'a%'", "t LIKE 'a!_c' ESCAPE '!'", "t LIKE '10!%' ESCAPE '!'",
    "t LIKE 'x!!y' ESCAPE '!'", "t LIKE '%!%' ESCAPE '!'", "t NOT LIKE 'a|%%' ESCAPE '|'",
    "t ILIKE 'A%'", ("t ILIKE 'É'", "t = 'É'"), "t NOT ILIKE '%B%'", "s LIKE 'x\\_y'", "s LIKE '%\\%'",
    "t LIKE 'aaa%aab'", "t LIKE '%aab%ab'", "LOWER(t) LIKE 'a_c'", "t LIKE NULL",
    "t NOT LIKE NULL", "t LIKE 'a%' AND s LIKE '%b%'",
    # CASE, IF, COALESCE, NULLIF as conditions
    "CASE WHEN i > 0 THEN b ELSE c END", "CASE WHEN b THEN TRUE END",
    "CASE i WHEN 1 THEN b WHEN 2 THEN c ELSE FALSE END", "CASE WHEN NULL THEN b ELSE c END",
    "CASE NULL WHEN NULL THEN TRUE ELSE FALSE END", "IF(b, i > 0, j > 0)", "COALESCE(b, c)",
    "COALESCE(b, FALSE)", "COALESCE(TRUE, b)", "COALESCE(NULL, b)", "NULLIF(b, c)",
    "NULLIF(b, TRUE) IS NULL", "COALESCE(t, s) = 'a'", "COALESCE('x', t) = 'x'",
    "COALESCE(t, 'none') = 'none'", "NULLIF(t, 'a') IS NULL", "NULLIF('a', t) = 'a'",
    "CASE WHEN b THEN t ELSE s END = 'a'", "CASE t WHEN 'a' THEN 1 WHEN 'b' THEN 2 END = 2",
    "CASE WHEN t = 'a' THEN NULL ELSE t END IS NULL", "CASE WHEN TRUE THEN 'x' ELSE t END = 'x'",
    # texts
    "LOWER(t) = 'abc'", "UPPER(t) = 'ABC'", "LENGTH(t) = 1", "LENGTH(t) > LENGTH(s)",
    "SUBSTR(t, 2) = 'bc'", "SUBSTR(t, 1, 1) = 'a'", "SUBSTR(t, 2, 1) = '%'", "SUBSTR(t, 9) = 'b'",
    "SUBSTR(t, 5, 0) = ''", "LENGTH(SUBSTR(t, 2, 3)) = 3", "LOWER(NULL) = t",
    ("SUBSTR(t, 0, 2) = 'a'", "substr(t, 1, 1) = 'a'"),
    ("SUBSTR(t, -1, 3) = 'a'", "substr(t, 1, 1) = 'a'"),
    ("SUBSTR(t, -9) = t", "t IS NOT NULL OR NULL"),
    ("SUBSTR(t, 2, -1) = ''", "t IS NOT NULL OR NULL"),
    # arithmetic within conditions
    "i + j > 3", "i - j = 0", "i * 2 = 4", "i * j = n", "ABS(i) = 3", "ABS(n) < 1",
    "ROUND(n) = 1", "FLOOR(n) = -1", "CEIL(n) = 1", "GREATEST(i, j) = i", "LEAST(i, j, n) < 0",
    "n + 0.1 = 0.6", "d + 1 = '2020-03-01'", "d - e > 0", "d - 365 < e", "GREATEST(d, e) = d",
    ("i / j = 1", "i / NULLIF(j, 0) = 1"), ("1 / j IS NULL", "1 / NULLIF(j, 0) IS NULL"),
    ("i % 2 = 1", "i % 2 = 1"), ("i % 2 = -1", "i % 2 = -1"), ("i % j = 0", "i % NULLIF(j, 0) = 0"),
    ("(i % 0) IS NULL", "TRUE"), ("n * 1e300 * 1e300 IS NULL", "n <> 0 OR n IS NULL"),
    # CAST
    ("CAST(t AS INTEGER) = 5", f"CASE WHEN {READABLE} THEN t = '5' END"),
    ("TRY_CAST(t AS INTEGER) = 100", f"CASE WHEN {READABLE} THEN t = '1e2' END"),
    ("CAST(t AS DOUBLE) > 3", f"CASE WHEN {READABLE} THEN CAST(t AS DOUBLE) > 3 END"),
    ("t::INTEGER IN (2, 4)", f"CASE WHEN {READABLE} THEN t IN ('2.5', '3.5') END"),
    ("CAST(t AS BOOLEAN)", "CASE WHEN lower(t) IN ('true', 't', 'yes', '1') THEN TRUE"
     " WHEN lower(t) IN ('false', 'f', 'no', '0') THEN FALSE END"),
    ("CAST(t AS DATE) = '2020-02-29'",
     "CASE WHEN regexp_full_match(t, '\\d{4}-\\d\\d-\\d\\d') THEN TRY_CAST(t AS DATE) END"
     " = DATE '2020-02-29'"),
    ("CAST(i AS BOOLEAN)", "i <> 0"), ("CAST(n AS BOOLEAN) = b", "(n <> 0) = b"),
    ("CAST(i AS TEXT) = '3'", "CAST(CAST(i AS BIGINT) AS TEXT) = '3'"),
    ("CAST(n AS TEXT) = '0.5'", "CAST(n AS TEXT) = '0.5'"),
    "CAST(b AS TEXT) = 'true'", "CAST(d AS TEXT) LIKE '2020-%'", "CAST(t AS TEXT) = t",
    ("CAST(CAST(i AS TEXT) AS INTEGER) = i", "i = i"),
    ("CAST(NULL AS INTEGER) = i", "NULL = i"), ("CAST(NULL AS TEXT) = t", "NULL = t"),
    ("CAST(i AS DATE) = '1970-01-04'", "i = 3"),
    ("CAST(d AS INTEGER) = 0", "d = DATE '1970-01-01'"),
    ("CAST(i * 1e14 AS INTEGER) IS NULL", "abs(i) * 1e14 > 2**53 OR i IS NULL"),
    ("CAST(d + 100000000 AS TEXT) IS NULL", "TRUE"),
    ("i::TEXT = '3'", "i = 3"),
]  # fmt: skip

NUMBERS: list[str | tuple[str, str]] = [
    "i", "j", "n", "m", "-i", "-n", "+j", "3", "0.25", "i + j", "i - j", "i * j", "n + m", "n * m",
    "n - 0.25", "i * 3 - 2 * j", "(i + j) * (i - j)", "2 * (n + 1)", "i * n",
    ("i / 4", "i / 4"), ("CLAMP(i / j, -60, 60)", "i / NULLIF(j, 0)"),
    ("CLAMP(n / m, -3, 3)", "CASE WHEN n / NULLIF(m, 0) IS NULL THEN NULL"
     " ELSE greatest(-3, least(3, n / m)) END"),
    ("i / 3.0", "i / 3"), ("1 / 3", "1.0 / 3"), ("i % 7", "i % 7"), ("n % 3", "n % 3"),
    ("i % j", "i % NULLIF(j, 0)"), ("-i % 4", "(-i) % 4"), ("n % m", "n % NULLIF(m, 0)"),
    "ABS(i)", "ABS(n)", "ABS(i - j)", "FLOOR(n)", "CEIL(n)", "FLOOR(-n)", "FLOOR(i)", "CEIL(m)",
    ("ROUND(n)", "round(n, 0)"), ("ROUND(m)", "round(m, 0)"), ("ROUND(n, 1)", "round(n, 1)"),
    ("ROUND(n, -1)", "round(n, -1)"), ("ROUND(i, -1)", "round(i, -1)"),
    ("ROUND(m, 2)", "round(m, 2)"),
    ("ROUND(0.49999999999999994)", "round(0.49999999999999994, 0)"),
    ("CLAMP(ROUND(i + 4503599627370497.0) - 4503599627370497, -60, 60)", "i"),
    ("ROUND(i + 0.5)", "round(i + 0.5, 0)"), ("ROUND(n, 9)", "round(n, 9)"),
    ("ROUND(0.49999999999999994)", "round(0.49999999999999994, 0)"),
    ("ROUND(4503599627370497)", "4503599627370497"),
    "LEAST(i, j)", "GREATEST(i, j)", "LEAST(i, n, 0)", "GREATEST(n, m, i)", "GREATEST(i, -i)",
    ("LEAST(i, NULL)", "i"), ("GREATEST(NULL, j, NULL)", "j"),
    ("CLAMP(n, -1, 1)", "CASE WHEN n IS NOT NULL THEN greatest(-1, least(1, n)) END"),
    ("CLAMP(i, 5, 5)", "CASE WHEN i IS NOT NULL THEN 5 END"),
    ("CLAMP(i, j, 10)", "CASE WHEN i + j IS NOT NULL THEN least(greatest(i, j), 10) END"),
    ("CLAMP(LENGTH(t), 0, 50)", "length(t)"),
    "COALESCE(i, 0)", "COALESCE(i, j)", "COALESCE(i, j, -1)", "COALESCE(n, i)", "COALESCE(1, j)",
    "COALESCE(NULL, i)", "NULLIF(i, 1)", "NULLIF(n, 0.5)", "NULLIF(i, j)", "NULLIF(j, 7)",
    "CASE WHEN b THEN i ELSE j END", "CASE WHEN b THEN i END", "CASE WHEN i > 0 THEN 1 ELSE 0 END",
    "CASE WHEN t = 'a' THEN 1 WHEN t LIKE 'a%' THEN 2 ELSE 0 END",
    "CASE WHEN b THEN NULL ELSE i END",
    "CASE j WHEN 0 THEN 10 WHEN 1 THEN 20 WHEN 7 THEN -5 END", "IF(b, n, m)", "IF(i > 0, i, NULL)",
    "CASE WHEN b THEN CASE WHEN c THEN 1 ELSE 2 END ELSE 3 END", "CASE WHEN TRUE THEN i END",
    "CASE WHEN NULL THEN 1 ELSE i END",
    ("CAST(b AS INTEGER)", "b::INT"), ("CAST(b AS DOUBLE)", "b::INT"),
    ("CAST(i > 0 AS INTEGER)", "(i > 0)::INT"), ("CAST(i AS DOUBLE)", "i"),
    ("CAST(n AS INTEGER)", "round_even(n, 0)"), ("CAST(m AS INTEGER)", "round_even(m, 0)"),
    ("CAST(n AS INTEGER) + 0.5", "round_even(n, 0) + 0.5"),
    ("CAST(CAST(i AS BOOLEAN) AS INTEGER)", "(i <> 0)::INT"),
    ("CLAMP(CAST(t AS INTEGER), -100, 100)",
     f"CASE WHEN {READABLE} THEN round_even(TRY_CAST(t AS DOUBLE), 0) END"),
    ("CLAMP(CAST(s AS INTEGER), -100, 100)", "NULL"),
    ("CLAMP(CAST(CAST(i AS TEXT) AS DOUBLE), -50, 50)", "i"),
    ("d - e", "d - e"), ("d - DATE '2000-01-01'", "d - DATE '2000-01-01'"),
    ("CAST(d AS INTEGER)", "d - DATE '1970-01-01'"),
    ("(d + i) - d", "CASE WHEN d IS NOT NULL THEN i END"), ("d - e + i", "d - e + i"),
    ("CASE WHEN i * 1e299 * 1e10 IS NULL THEN 0 ELSE 1 END",
     "CASE WHEN i = 0 THEN 1 ELSE 0 END"),
]  # fmt: skip

STRINGS: list[str | tuple[str, str]] = [
    "t", "s", "LOWER(t)", "UPPER(s)", "LOWER(UPPER(s))", "SUBSTR(t, 1, 2)", "SUBSTR(t, 3)",
    "SUBSTR(LOWER(t), 2, 1)", "COALESCE(t, s)", "COALESCE(t, s, 'none')", "COALESCE(NULL, t)",
    "NULLIF(t, s)", "NULLIF(s, 'a')", "CASE WHEN b THEN t ELSE s END", "CASE WHEN b THEN t END",
    "CASE WHEN t = 'a' THEN 'yes' ELSE 'no' END", "IF(b, 'x', NULL)", "'constant'",
    ("CAST(i AS TEXT)", "CAST(CAST(i AS BIGINT) AS TEXT)"), ("CAST(n AS TEXT)", "CAST(n AS TEXT)"),
    ("CAST(m AS TEXT)", "CAST(m AS TEXT)"), "CAST(b AS TEXT)", "CAST(d AS TEXT)",
    "CAST(i > 0 AS TEXT)", "CAST(d + 1 AS TEXT)",
    ("CAST(ROUND(n) AS TEXT)", "CAST(CAST(round(n, 0) AS BIGINT) AS TEXT)"),
]  # fmt: skip


@pytest.mark.parametrize("case", CONDITIONS, ids=str)
def test_a_condition_holds_on_the_same_rows(world, case):
    _check_condition(world, *_pair(case))


@pytest.mark.parametrize("case", NUMBERS, ids=str)
def test_a_number_is_the_same_on_every_row(world, case):
    ours, theirs = _pair(case)
    _check_number(world, ours, theirs)


@pytest.mark.parametrize("case", STRINGS, ids=str)
def test_a_text_is_the_same_on_every_row(world, case):
    _check_text(world, *_pair(case))


def test_two_group_keys(world):
    """Cells are in the order of the declared values; NULL keys are in none of them."""
    text = "SELECT j, s, COUNT(*), SUM(i) FROM t WHERE i > -40 GROUP BY j, s"
    counts, sums = exactly(text, world.policy, world.engine)
    found = {
        (j, s): (n, total)
        for j, s, n, total in world.duck.execute(
            "SELECT j, s, COUNT(*), SUM(i) FROM t WHERE i > -40 GROUP BY j, s"
        ).fetchall()
    }
    cells = planned(text, world.policy).groups
    assert len(cells) == 5 * 6
    assert counts == [found.get(cell, (0, 0))[0] for cell in cells]
    assert sums == [found.get(cell, (0, 0))[1] for cell in cells]


def test_a_boolean_key(world):
    counts, distinct = exactly(
        "SELECT COUNT(*), COUNT(DISTINCT t) FROM t GROUP BY b", world.policy, world.engine
    )
    theirs = world.duck.execute(
        "SELECT COUNT(*), COUNT(DISTINCT t) FROM t WHERE b IS NOT NULL GROUP BY b ORDER BY b"
    ).fetchall()
    assert list(zip(counts, distinct, strict=True)) == theirs


def test_ranks_are_the_sorted_values(world):
    [[ranks]] = exactly("SELECT MEDIAN(n) FROM t WHERE i > 0", world.policy, world.engine)
    theirs = world.duck.execute(
        "SELECT n FROM t WHERE i > 0 AND n IS NOT NULL ORDER BY n"
    ).fetchall()
    assert [float(value) for value in ranks] == [value for (value,) in theirs]


def test_a_tally_counts_declared_values(world):
    [[tally]] = exactly("SELECT MODE(s) FROM t WHERE b", world.policy, world.engine)
    found = dict(world.duck.execute("SELECT s, COUNT(*) FROM t WHERE b GROUP BY s").fetchall())
    assert tally == [found.get(value, 0) for value in ["a", "b", "B", "abc", "x_y", "10%"]]


def test_a_subquery_is_a_constant(world):
    [[count]] = exactly(
        "SELECT COUNT(*) FROM t WHERE i > (SELECT AVG(i) FROM t)", world.policy, world.engine
    )
    theirs = world.duck.execute(
        "SELECT COUNT(*) FROM t WHERE i > (SELECT AVG(i) FROM t)"
    ).fetchall()
    assert [(count,)] == theirs


# Generated expressions: each strategy makes pairs, of dpdb's text and DuckDB's.
Pair = tuple[str, str]
Pairs = st.SearchStrategy[Pair]


def _join(shape: str, *parts: Pair, duck: str | None = None) -> Pair:
    ours = shape.format(*(part[0] for part in parts))
    return ours, (duck or shape).format(*(part[1] for part in parts))


def _number_constant(value: int | float) -> Pair:
    text = f"{value:g}" if value >= 0 else f"({value:g})"
    return text, f"{text}::DOUBLE"


# A bare NULL has no type of its own; these do.
NULL_NUMBER = ("NULLIF(1, 1)", "NULL::DOUBLE")
NULL_TEXT = ("NULLIF('a', 'a')", "NULL::TEXT")
NULL_TRUTH = ("NULLIF(TRUE, TRUE)", "NULL::BOOLEAN")

number_leaves = st.one_of(
    st.sampled_from([(name, name) for name in ("i", "j", "n", "m", "id")]),
    st.builds(_number_constant, st.sampled_from([-7, -1, 0, 1, 2, 3, 10, 0.5, 0.25, -2.5])),
)
text_leaves = st.one_of(
    st.sampled_from([("t", "t"), ("s", "s")]),
    st.sampled_from(["a", "b", "abc", "x_y", "10%", "", "É", "it''s"]).map(
        lambda text: (f"'{text}'",) * 2
    ),
)
date_leaves = st.sampled_from(
    [("d", "d"), ("e", "e"), ("DATE '2000-02-29'",) * 2, ("DATE '1970-01-01'",) * 2]
)
truth_leaves = st.sampled_from([("b", "b"), ("c", "c"), ("TRUE", "TRUE"), ("FALSE", "FALSE")])
patterns = st.text(st.sampled_from("ab%_é!c1"), max_size=6)


def _like(text: Pair, pattern: str, negated: bool) -> Pair:
    word = "NOT LIKE" if negated else "LIKE"
    return _join("({0} " + word + f" '{pattern}')", text)


def _members(operand: Pair, items: list[Pair], negated: bool) -> Pair:
    word = "NOT IN" if negated else "IN"
    ours = ", ".join(item[0] for item in items)
    theirs = ", ".join(item[1] for item in items)
    return f"({operand[0]} {word} ({ours}))", f"({operand[1]} {word} ({theirs}))"


def _made(shape: str, *parts: Pairs, duck: str | None = None) -> Pairs:
    return st.builds(lambda *chosen: _join(shape, *chosen, duck=duck), *parts)


def _numbers(number, text, date, truth):
    return st.one_of(
        _made("({0} + {1})", number, number),
        _made("({0} - {1})", number, number),
        _made("({0} * {1})", number, number),
        _made("({0} / {1})", number, number, duck="({0} / NULLIF({1}, 0))"),
        _made("({0} % {1})", number, number, duck="({0} % NULLIF({1}, 0))"),
        _made("(-{0})", number, duck="(0 - {0})"),
        _made("ABS({0})", number),
        _made("FLOOR({0})", number),
        _made("CEIL({0})", number),
        st.integers(-2, 3).flatmap(lambda digits: _made(f"ROUND({{0}}, {digits})", number)),
        _made("LEAST({0}, {1}, {2})", number, number, number),
        _made("GREATEST({0}, {1})", number, number),
        _made("COALESCE({0}, {1})", number, number),
        _made("NULLIF({0}, {1})", number, number),
        _made("CASE WHEN {0} THEN {1} ELSE {2} END", truth, number, number),
        _made("CASE WHEN {0} THEN {1} END", truth, number),
        _made("CASE {0} WHEN {1} THEN {2} ELSE {3} END", text, text, number, number),
        _made("LENGTH({0})", text, duck="length({0})::DOUBLE"),
        _made("({0} - {1})", date, date, duck="({0} - {1})::DOUBLE"),
        _made("CAST({0} AS INTEGER)", truth, duck="{0}::INT::DOUBLE"),
        _made("CAST({0} AS INTEGER)", number, duck="round_even({0}, 0)"),
    )


def _texts(number, text, date, truth):
    return st.one_of(
        _made("LOWER({0})", text, duck="ascii_lower({0})"),
        _made("UPPER({0})", text, duck="ascii_upper({0})"),
        st.tuples(st.integers(1, 4), st.integers(0, 4)).flatmap(
            lambda place: _made(f"SUBSTR({{0}}, {place[0]}, {place[1]})", text)
        ),
        _made("COALESCE({0}, {1})", text, text),
        _made("NULLIF({0}, {1})", text, text),
        _made("CASE WHEN {0} THEN {1} ELSE {2} END", truth, text, text),
        _made("CAST({0} AS TEXT)", truth),
        _made("CAST({0} AS TEXT)", date),
    )


def _dates(number, text, date, truth):
    return st.one_of(
        st.integers(-400, 400).flatmap(lambda days: _made(f"({{0}} + {days})", date)),
        _made("COALESCE({0}, {1})", date, date),
        _made("GREATEST({0}, {1})", date, date),
        _made("NULLIF({0}, {1})", date, date),
        _made("IF({0}, {1}, {2})", truth, date, date),
    )


def _truths(number, text, date, truth):
    signs = st.sampled_from(["=", "<>", "<", "<=", ">", ">="])
    asked = st.sampled_from(["TRUE", "FALSE", "NOT TRUE", "NOT FALSE"])
    null = st.just(("NULL", "NULL"))
    members = st.lists(number_leaves | null, min_size=1, max_size=4)
    words = st.lists(text_leaves | null, min_size=1, max_size=4)
    return st.one_of(
        *(
            st.builds(lambda sign, a, b: _join(f"({{0}} {sign} {{1}})", a, b), signs, kind, kind)
            for kind in (number, text, date, truth)
        ),
        _made("({0} AND {1})", truth, truth),
        _made("({0} OR {1})", truth, truth),
        _made("({0} AND {1} OR NOT {2})", truth, truth, truth),
        _made("(NOT {0})", truth),
        _made("({0} IS NULL)", st.one_of(number, text, date, truth)),
        asked.flatmap(lambda words: _made(f"({{0}} IS {words})", truth)),
        _made("({0} BETWEEN {1} AND {2})", number, number, number),
        _made("({0} NOT BETWEEN {1} AND {2})", date, date, date),
        st.builds(_members, number, members, st.booleans()),
        st.builds(_members, text, words, st.booleans()),
        st.builds(_like, text, patterns, st.booleans()),
        _made("COALESCE({0}, {1})", truth, truth),
        _made("CASE WHEN {0} THEN {1} END", truth, truth),
    )


def _grown(depth: int):
    """Strategies for numbers, texts, dates and truths of at most this depth."""
    leaves = (
        number_leaves | st.just(NULL_NUMBER),
        text_leaves | st.just(NULL_TEXT),
        date_leaves,
        truth_leaves | st.just(NULL_TRUTH),
    )
    if depth == 0:
        return leaves
    below = _grown(depth - 1)
    grow = (_numbers, _texts, _dates, _truths)
    return tuple(_opaque(leaf | make(*below)) for leaf, make in zip(leaves, grow, strict=True))


def _opaque(inner: Pairs) -> Pairs:
    """The same, without the megabytes of its repr."""

    @st.composite
    def pairs(draw):
        return draw(inner)

    return pairs()


NUMBER, TEXT, _, TRUTH = _grown(3)
GENERATED = settings(
    max_examples=100,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@GENERATED
@given(pair=TRUTH)
def test_a_generated_condition_holds_on_the_same_rows(fast_world, pair):
    _check_condition(fast_world, *pair)


@GENERATED
@given(pair=NUMBER)
def test_a_generated_number_is_the_same_on_every_row(fast_world, pair):
    values = [value for (value,) in _duck_rows(fast_world, pair[1])]
    # Doubles leave their range only after more operations than are nested here.
    assert all(value is None or math.isfinite(value) for value in values)
    ours = f"CLAMP({pair[0]}, -500, 500)"
    theirs = f"CASE WHEN ({pair[1]}) IS NOT NULL THEN greatest(-500, least(500, {pair[1]})) END"
    _check_number(fast_world, ours, theirs)


@GENERATED
@given(pair=TEXT)
def test_a_generated_text_is_the_same_on_every_row(fast_world, pair):
    _check_text(fast_world, *pair)


RANGES = st.one_of(
    st.builds(
        lambda name, sign, value: _join(f"({{0}} {sign} {{1}})", (name, name), value),
        st.sampled_from(["i", "j", "n", "m"]),
        st.sampled_from(["=", "<", "<=", ">", ">="]),
        number_leaves,
    ),
    st.builds(_members, st.just(("j", "j")), st.lists(number_leaves, min_size=1), st.booleans()),
    _made("({0} BETWEEN {1} AND {2})", number_leaves, number_leaves, number_leaves),
    _made("(NOT {0})", TRUTH),
    TRUTH,
)
CONDITION = _opaque(
    RANGES | _made("({0} AND {1})", RANGES, RANGES) | _made("({0} OR {1})", RANGES, RANGES)
)


@GENERATED
@given(pair=_grown(2)[0], condition=CONDITION)
def test_bounds_narrowed_by_where_hold_the_values(fast_world, pair, condition):
    """What WHERE admits is not clamped: the planned bounds are around all of it."""
    text = f"SELECT SUM({pair[0]}) FROM t WHERE {condition[0]}"
    try:
        grid = _grid(text, fast_world)
    except (MissingBounds, TooLarge):
        assume(False)
    rows = _duck_rows(fast_world, f"({pair[1]})::DOUBLE", f"({condition[1]})")
    expected = sum(_on(value, grid) for value, chosen in rows if chosen and value is not None)
    assert exactly(text, fast_world.policy, fast_world.engine) == [[expected]]
