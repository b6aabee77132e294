"""Files made to break things, and data that must never be shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpdb.answers.formats.render import FORMATS
from tests.support.command_line import Make, Run
from tests.support.hostile import check

CANARIES = ("CANARY_7731", "987654321", "7731", "123456.75", "1987-06-05")
"""Planted in cells; none is in a statement or a policy."""


# --- Files


POLICY = """
[tables.t.columns]
a = { type = "integer", bounds = [0, 2000] }
b = { type = "text" }
"""
ALL = "SELECT COUNT(*), SUM(a), COUNT(a), COUNT(b), COUNT(DISTINCT b) FROM t"


def exact(run: Run, path: Path, script: str = ALL) -> list[object]:
    """The row of an answer with so much budget that rounding takes the noise away."""
    ran = run(path, "--epsilon", 10_000, "--queries", 1, "--json", "-c", script)
    check(ran, 0)
    assert all(line.startswith("note: ") for line in ran.err.splitlines())
    # Five aggregates of 2,000 epsilon each: the largest noise has a scale of one.
    [row] = ran.rows
    return row


READ = {
    "header only": ("a,b\n", (0, 0, 0, 0, 0)),
    "header without a line feed": ("a,b", (0, 0, 0, 0, 0)),
    "one row": ("a,b\n1,x\n", (1, 1, 1, 1, 1)),
    "no last line feed": ("a,b\n1,x\n2,y", (2, 3, 2, 2, 2)),
    "ragged": ("a,b\n1\n2,x,y\n3,z\n\n4,\n", (4, 10, 4, 2, 2)),
    "byte order mark": (b"\xef\xbb\xbfa,b\n1,x\n", (1, 1, 1, 1, 1)),
    "CRLF": ("a,b\r\n1,x\r\n2,\r\n", (2, 3, 2, 1, 1)),
    "CR": ("a,b\r1,x\r2,y\r", (2, 3, 2, 2, 2)),
    "quoted line feeds": ('a,b\n1,"x\ny"\n2,"x\n\ny"\n', (2, 3, 2, 2, 2)),
    "quoted header": ('"a","b"\n"1","x"\n', (1, 1, 1, 1, 1)),
    "more columns than declared": ("z,b,a,c\n9,x,1,8\n", (1, 1, 1, 1, 1)),
    "space around names": (" a ,\tb\n1,x\n", (1, 1, 1, 1, 1)),
    "another case": ("A,B\n1,x\n", (1, 1, 1, 1, 1)),
    "underscored numbers": ("a,b\n1_000,x\n1000,x\n", (2, 1000, 1, 2, 1)),
    "NaN and infinity": ("a,b\nNaN,x\nnan,x\ninf,x\n-Infinity,x\n1e999,x\n5,x\n", (6, 5, 1, 6, 1)),
    "other digits": ("a,b\n\u0661,x\n\uff11,x\n0x1F,x\n5,x\n", (4, 5, 1, 4, 1)),
    "spaces around numbers": ("a,b\n 12 ,x\n+5,x\n1e2,x\n", (3, 117, 3, 3, 1)),
    "out of bounds": ("a,b\n-5,x\n99999,x\n1e300,x\n", (3, 4000, 3, 3, 1)),
    "not UTF-8 in a cell": (b"a,b\n1,caf\xe9\n2,x\n", (2, 3, 2, 2, 2)),
    "NUL in a cell": (b"a,b\n1,x\0y\n2,x\n", (2, 3, 2, 2, 2)),
    "quote that is not closed": ('a,b\n1,"x\n2,y\n3,z\n', (3, 6, 3, 3, 3)),
    "stray quotes": ('a,b\n1,x"y\n2,""z\n3,"x"y\n', (3, 6, 3, 3, 3)),
    "formulas": ("a,b\n1,=1+1\n2,@x\n", (2, 3, 2, 2, 2)),
    "a long cell": (f"a,b\n1,{'x' * 3_000_000}\n2,y\n", (2, 3, 2, 1, 1)),
    "a long number": (f"a,b\n{'1' * 1_000_000},x\n2,y\n", (2, 2, 1, 2, 2)),
    "a large exponent": ("a,b\n1e999999999,x\n1e-999999999,y\n2,z\n", (3, 2, 2, 3, 3)),
    "blank lines": ("\n\na,b\n\n1,x\n\n\n2,y\n\n", (2, 3, 2, 2, 2)),
    "a name twice": ("a,b,a,A\n1,x,3,4\n", (1, 1, 1, 1, 1)),
    "names that are missing": (",a,b, ,\n9,1,x,8,\n", (1, 1, 1, 1, 1)),
    "tabs in a file named for commas": ("a\tb\n1\tx,y\n", (1, 1, 1, 1, 1)),
    "a mark twice": (b"\xef\xbb\xbf\xef\xbb\xbfa,b\n1,x\n", (1, 1, 1, 1, 1)),
    "UTF-16": ("a,b\n1,é\n2,\u20ac\n".encode("utf-16"), (2, 3, 2, 2, 2)),
    "UTF-32": ("a,b\n1,é\n2,y\n".encode("utf-32"), (2, 3, 2, 2, 2)),
    "Latin-1 in the header": (b"a,b,caf\xe9\n1,\xe8,3\n2,\xe9,3\n", (2, 3, 2, 2, 2)),
    "Excel's line": ("sep=;\r\na;b\r\n1;x\r\n", (1, 1, 1, 1, 1)),
}


@pytest.mark.parametrize(("content", "expected"), READ.values(), ids=READ)
def test_files_that_are_read(
    run: Run, make: Make, content: str | bytes, expected: tuple[int, ...]
) -> None:
    row = exact(run, make(content, POLICY))
    counts = [row[0], *row[2:]]
    assert counts == [expected[0], *expected[2:]]
    assert row[1] == pytest.approx(expected[1], abs=50)


REFUSED: dict[str, tuple[str | bytes, int | None]] = {
    "empty": ("", None),
    "blank lines only": ("\n\r\n\n", None),
    "header on a later line": (b"\n\na,b,\x81\n1,2,3\n", 3),
    "header in no encoding": (b"a,b,\x81\n1,2,3\n", 1),
    "UTF-16 without a mark": ("a,b\n1,2\n".encode("utf-16-le"), 1),
    "NUL in the header": (b"a,b,c\0\n1,2,3\n", 1),
    "open quote in the header": ('a,b,"c\n1,2,3\n', 1),
    # It could as well be a quote that is open by mistake, and the next line a row.
    "header with a line feed in it": ('a,b,"c\nCANARY_7731"\n1,x,\n', 1),
    "binary": (bytes(range(256)) * 8, 1),
    "an enormous header": ("a,b," + "c" * 1_100_000 + "\n1,2,3\n", 1),
    "without a declared column": ("a,c\n1,CANARY_7731\n", 1),
}


@pytest.mark.parametrize(("content", "line"), REFUSED.values(), ids=REFUSED)
@pytest.mark.parametrize("policy", [POLICY, None], ids=["policy", "no policy"])
def test_files_that_are_refused(
    run: Run, make: Make, content: str | bytes, line: int | None, policy: str | None
) -> None:
    if policy is None and content == REFUSED["without a declared column"][0]:
        pytest.skip("without a policy nothing is declared")
    path = make(content, policy)
    # When it is loaded, which is before the first statement: nothing has been paid.
    for script in ("SHOW BUDGET", "SELECT COUNT(*) FROM t"):
        ran = run(path, "-c", script)
        check(ran, 2)
        assert ran.out == ""
        assert f"{path}{f', line {line}' if line else ''}" in ran.err
        assert "7731" not in ran.err
    check(run("init", path), 2 if content != REFUSED["without a declared column"][0] else 0)


def test_a_file_that_is_not_there(run: Run, make: Make) -> None:
    path = make("a,b\n1,x\n", POLICY)
    path.unlink()
    for words in ((path,), (path.with_suffix(".toml"),)):
        ran = run(*words, "-c", "SELECT COUNT(*) FROM t")
        check(ran, 2)
        assert ran.out == ""


# --- Data values


SECRET = (
    "name,age,pay,born,code\n"
    "CANARY_7731,33,123456.75,1987-06-05,987654321\n"
    "x,34,1,1990-01-01,5\n"
    "y,35,2,1991-01-01,6\n"
)
SECRET_POLICY = """
[budget]
epsilon = 10000.0
queries = 1000

[tables.t.columns]
name = { type = "text" }
age = { type = "integer", bounds = [0, 120] }
pay = { type = "number", bounds = [0, 1000], step = 0.01 }
born = { type = "date", bounds = [1900-01-01, 2030-12-31] }
code = { type = "integer" }
"""
PROBES = [
    "SELECT COUNT(*) FROM t WHERE CAST(name AS INTEGER) > 0",
    "SELECT SUM(CLAMP(CAST(name AS NUMBER), 0, 1)) FROM t",
    "SELECT COUNT(*) FROM t WHERE CAST(name AS DATE) > '1987-01-01' OR CAST(name AS BOOLEAN)",
    "SELECT COUNT(*) FROM t WHERE 1 / (age - 33) > 0",
    "SELECT SUM(CLAMP(1 / (age - 33), 0, 1)) FROM t",
    "SELECT COUNT(*) FROM t WHERE age % (age - 33) > 0",
    "SELECT COUNT(*) FROM t WHERE CASE WHEN age = 33 THEN 1e300 * 1e300 * pay ELSE 0 END > 0",
    "SELECT SUM(CASE WHEN age = 33 THEN pay * 1e300 ELSE 0 END) FROM t",
    "SELECT SUM(CASE WHEN name = 'CANARY' THEN code ELSE 0 END) FROM t",
    "SELECT COUNT(*) FROM t WHERE CASE WHEN age = 33 THEN CAST(1e15 * pay AS DATE) END IS NULL",
    "SELECT COUNT(*) FROM t WHERE CAST(CAST(code AS DATE) AS TEXT) = 'x'",
    "SELECT COUNT(*) FROM t WHERE born + code > '1990-01-01'",
    "SELECT COUNT(*) FROM t WHERE SUBSTR(name, 2000000000, 2000000000) = ''",
    "SELECT COUNT(*) FROM t WHERE SUBSTR(name, -2000000000) LIKE '%7%'",
    "SELECT COUNT(*) FROM t WHERE ROUND(code * 1e290, 9) > 0",
    "SELECT COUNT(*) FROM t WHERE age = 33 AND name = age",
    "SELECT COUNT(*) FROM t WHERE name LIKE 'CANARY!' ESCAPE '!'",
    "SELECT MAX(name) FROM t",
    "SELECT MODE(name) FROM t",
    "SELECT name, COUNT(*) FROM t GROUP BY name",
    "SELECT code, COUNT(*) FROM t GROUP BY code",
    "SELECT STRING_AGG(name, ',') FROM t",
    "SELECT ARG_MAX(name, age) FROM t",
    "SELECT FIRST(name) FROM t",
    "SELECT name FROM t",
    "SELECT *, COUNT(*) FROM t",
    "SELECT SUM(code) FROM t",
    "SELECT MEDIAN(code) FROM t WHERE code > 0",
    "SELECT COUNT(*) FROM t WHERE nam = 'x'",
    "SELECT COUNT(*) FROM t WHERE age > (SELECT name FROM t)",
    "SELECT COUNT(*) FROM t ORDER BY name",
    "SELECT COUNT(*) FROM t LIMIT code",
    "DESCRIBE t", "SHOW TABLES", "SHOW BUDGET", "EXPLAIN SELECT AVG(pay), MAX(born) FROM t",
    "EXPLAIN SELECT COUNT(*) FROM t WHERE name LIKE 'C%'", "DESCRIBE name", "SET repeats = name",
    "SET epsilon = 20000",
]  # fmt: skip


@pytest.mark.parametrize("form", FORMATS)
def test_no_data_value_is_shown(run: Run, make: Make, form: str) -> None:
    path = make(SECRET, SECRET_POLICY)
    script = ";".join([*PROBES, "SET epsilon = 5000", "SELECT COUNT(*) FROM t",
                       "SELECT AVG(age) FROM t", "SELECT SUM(age) FROM t"])  # fmt: skip
    ran = run(path, "--format", form, "--on-error", "continue", "-c", script)
    check(ran, 3)
    for canary in CANARIES:
        assert canary not in ran.out
        assert canary not in ran.err


def test_what_is_said_does_not_depend_on_rows(run: Run, make: Make) -> None:
    """On files of no row, of one, and of several the same statements fail the same way."""
    header, canary, *others = SECRET.splitlines(keepends=True)
    said = []
    for rows in ([], [canary], others[:1], [canary, *others]):
        path = make("".join([header, *rows]), SECRET_POLICY)
        script = "SET epsilon = 1; " + ";".join(PROBES)
        ran = run(path, "--json", "--on-error", "continue", "-c", script)
        check(ran)
        answers = ran.answers
        for answer in answers:
            if answer.get("private"):
                answer["rows"] = len(answer["rows"])
                del answer["intervals"]
        said.append((ran.code, ran.err, answers))
    assert said[0] == said[1] == said[2] == said[3]


@pytest.mark.parametrize("rows", ["", "5\n", "5\n6\n"])
@pytest.mark.parametrize(
    "condition",
    ["a > 3", "a = 5", "a = a", "a <> 5 OR a IS NULL", "a BETWEEN 1 AND 9", "a IN (5, 6)",
     "CASE WHEN a > 3 THEN TRUE ELSE FALSE END", "NULLIF(a, 5) IS NULL", "a + 1 > 5", "1 = 1",
     "5 > 3 AND a > 3", "COALESCE(a, 3) > 3", "LEAST(a, 3) < GREATEST(a, 5)", "a::TEXT = '5'",
     "a > (SELECT MIN(a) FROM t)", "a::BOOLEAN", "NOT a = 5", "a % 2 = 1", "ROUND(a) = 5"],
)  # fmt: skip
def test_files_of_no_row_and_of_one(run: Run, make: Make, rows: str, condition: str) -> None:
    policy = '[tables.t.columns]\na = { type = "integer", bounds = [0, 9] }\n'
    path = make("a\n" + rows, policy)
    ran = run(
        path, "--json", "-c",
        f"SELECT COUNT(*), SUM(a), AVG(a), MEDIAN(a), STDDEV(a), COUNT(DISTINCT a) "
        f"FROM t WHERE {condition}; "
        f"SELECT a, COUNT(*) FROM t WHERE {condition} GROUP BY a; "
        f"SELECT SUM(CASE WHEN {condition} THEN 1 ELSE 0 END), MAX(a) FILTER (WHERE {condition}) "
        "FROM t",
    )  # fmt: skip
    check(ran, 0)
