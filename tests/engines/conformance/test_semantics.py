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

import re
from itertools import product

import pytest

from tests.support.exactly import exactly, planned
from tests.support.two_engines import check_condition, check_number, check_text


def _constants(text: str) -> str:
    """Outside strings, DuckDB is to take decimals as doubles; CAST is TRY_CAST, case ASCII's."""
    parts = re.split(r"('(?:[^']|'')*')", text)
    for at in range(0, len(parts), 2):
        parts[at] = re.sub(r"(\d+\.\d+)(?![\w.])", r"\1::DOUBLE", parts[at])
        parts[at] = re.sub(r"\bCAST\(", "TRY_CAST(", parts[at])
        parts[at] = re.sub(r"\b(LOWER|UPPER)\(", r"ascii_\1(", parts[at])
    return "".join(parts)


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
    "t || s = 'aa'", "t || 'b' LIKE 'a%b'", "'a' || t || s || 'c' LIKE '%ab%'", "t || NULL IS NULL",
    "d || t LIKE '2020-%'", "b || s = 'truea'", "LENGTH(t || s) > 4", "t || '' = t",
    "t || 1 + 1 = 'a2'", ("i || t = '3a'", "CAST(i AS BIGINT) || t = '3a'"),
    "'a' || 'b' = 'ab'", "t || s IN ('aa', 'bb')", "t || s < s || t",
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
def test_a_condition_holds_on_the_same_rows(fast_world, case):
    check_condition(fast_world, *_pair(case))


@pytest.mark.parametrize("case", CONDITIONS[::9], ids=str)
def test_to_the_plain_engine_a_condition_holds_on_the_same_rows(plain_world, case):
    check_condition(plain_world, *_pair(case))


@pytest.mark.parametrize("case", NUMBERS, ids=str)
def test_a_number_is_the_same_on_every_row(fast_world, case):
    check_number(fast_world, *_pair(case))


@pytest.mark.parametrize("case", NUMBERS[::9], ids=str)
def test_to_the_plain_engine_a_number_is_the_same_on_every_row(plain_world, case):
    check_number(plain_world, *_pair(case))


@pytest.mark.parametrize("case", STRINGS, ids=str)
def test_a_text_is_the_same_on_every_row(world, case):
    check_text(world, *_pair(case))


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
    cells = list(product(*planned(text, world.policy).key_values))
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


def test_a_tally_adds_up_the_weights_of_declared_values(world):
    text = "SELECT MODE(s, i) FROM t WHERE b"
    [[tally]] = exactly(text, world.policy, world.engine)
    found = dict(world.duck.execute("SELECT s, SUM(i) FROM t WHERE b GROUP BY s").fetchall())
    assert tally == [found.get(value) or 0 for value in ["a", "b", "B", "abc", "x_y", "10%"]]


def test_a_subquery_is_a_constant(world):
    [[count]] = exactly(
        "SELECT COUNT(*) FROM t WHERE i > (SELECT AVG(i) FROM t)", world.policy, world.engine
    )
    theirs = world.duck.execute(
        "SELECT COUNT(*) FROM t WHERE i > (SELECT AVG(i) FROM t)"
    ).fetchall()
    assert [(count,)] == theirs
