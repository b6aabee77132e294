"""Statements, names and files made to break things, and what must never be shown."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from dpdb.answers.formats.json_lines import error_as_json
from dpdb.answers.formats.render import FORMATS
from dpdb.errors import DpdbError, error_text
from dpdb.policy.budget import Budget
from dpdb.policy.reader import policy_for
from dpdb.session.session import Session

from .conftest import PEOPLE, Ran, Run

Make = Callable[..., Path]

WHERE = "SELECT COUNT(*) FROM people WHERE "
CANARIES = ("CANARY_7731", "987654321", "7731", "123456.75", "1987-06-05")
"""Planted in cells; none is in a statement or a policy."""
ESCAPES = "\x1b]0;owned\x07\x1b[31m\x9b2J\x9d0;owned\x9c\u202e\u2066\u200f\x7f\x00\x08\u2028"


def unsafe(text: str) -> set[str]:
    """The characters of an output that a terminal would act on."""
    return {c for c in text if c != "\n" and unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp")}


def check(ran: Ran, code: int | None = None) -> None:
    assert ran.code in (0, 1, 2, 3) if code is None else ran.code == code
    assert "Traceback" not in ran.err
    assert unsafe(ran.out) == unsafe(ran.err) == set()
    if ran.code:
        assert ran.err.startswith(("error: ", "usage: "))


# --- Statements

LONG = {
    "spaces": WHERE + " " * 1_000_000 + "age > 3",
    "string": WHERE + f"name = '{'a' * 1_000_000}'",
    "comment": WHERE + f"/* {'a' * 1_000_000} */ age > 3",
    "name": WHERE + f"{'a' * 1_000_000} > 3",
    "quotes": WHERE + "'" * 1_000_001,
    "unclosed": WHERE + "name = '" + "a" * 1_000_000,
    "semicolons": ";" * 1_000_000,
    "opened comments": "/*" * 500_000,
    "dashes": "--\n" * 300_000,
    "not SQL": "\\" * 1_000_000,
}


@pytest.mark.parametrize("text", LONG.values(), ids=LONG)
def test_a_megabyte(run: Run, people: Path, text: str) -> None:
    check(run(people, stdin=text))


DEEP = {
    "parentheses": WHERE + "(" * 10_000 + "age > 3" + ")" * 10_000,
    "open parentheses": WHERE + "(" * 10_000,
    "close parentheses": WHERE + ")" * 10_000,
    "NOT": WHERE + "NOT " * 10_000 + "TRUE",
    "minus": WHERE + "- " * 10_000 + "age > 3",
    "plus": WHERE + "+" * 10_000 + "age > 3",
    "tilde": WHERE + "~" * 10_000 + "age > 3",
    "CASE": WHERE + "CASE WHEN " * 5_000 + "TRUE" + " THEN TRUE END" * 5_000,
    "brackets": WHERE + "age" + "[1]" * 5_000,
    "open brackets": WHERE + "[" * 10_000,
    "braces": WHERE + "{" * 10_000,
    "casts": WHERE + "age" + "::INT" * 5_000 + " > 3",
    "dots": WHERE + "a" + ".a" * 10_000,
    "functions": WHERE + "ABS(" * 5_000 + "age" + ")" * 5_000 + " > 3",
    "subqueries": WHERE + "age > (SELECT MAX(age) FROM people WHERE " * 900 + "TRUE" + ")" * 900,
    "joins": "SELECT COUNT(*) FROM people" + " JOIN people" * 5_000,
    "tables": "SELECT COUNT(*) FROM people" + ", people" * 5_000,
    "unions": "SELECT COUNT(*) FROM people" + " UNION SELECT COUNT(*) FROM people" * 2_000,
    "sums": WHERE + "age" + " + 1" * 9_000 + " > 3",
    "comparisons": WHERE + "age = " * 6_000 + "1",
    "BETWEEN": WHERE + "age BETWEEN " * 5_000 + "1",
    "LIKE": WHERE + "name LIKE " * 5_000 + "'x'",
    "IN": WHERE + "age IN (" * 5_000 + "1",
    "IS NULL": WHERE + "age" + " IS NULL" * 5_000,
    "COLLATE": WHERE + "name" + " COLLATE x" * 5_000 + " = 'a'",
    "INTERVAL": WHERE + "INTERVAL " * 10_000 + "'1'",
    "DATE": WHERE + "DATE " * 10_000 + "'1'",
    "lambdas": WHERE + "x -> " * 5_000 + "1",
    "concatenations": WHERE + "name || " * 5_000 + "'a' = 'b'",
}  # fmt: skip


@pytest.mark.parametrize("text", DEEP.values(), ids=DEEP)
def test_ten_thousand_deep(run: Run, people: Path, text: str) -> None:
    check(run(people, "-c", text), 1)


MANY = {
    "IN list of 100,000": WHERE + f"age IN ({', '.join(map(str, range(100_000)))})",
    "IN list over the limit": WHERE + f"age IN ({', '.join(map(str, range(1_001)))})",
    "columns": f"SELECT {', '.join(['COUNT(*)'] * 201)} FROM people",
    "aggregates": "SELECT LEAST("
    + ", ".join(f"COUNT(*) FILTER (WHERE age > {i})" for i in range(1_000))
    + ") FROM people",
    "noisy values": f"SELECT {', '.join(['MEDIAN(income) FILTER (WHERE age > {})'] * 60)}".format(
        *range(60)
    )
    + " FROM people GROUP BY age, zip",
    "pattern": WHERE + f"name LIKE '{'%a' * 501}'",
    "number": WHERE + "age > " + "1" * 90_000,
    "decimals": WHERE + "age > 0." + "1" * 90_000,
    "groups": "SELECT COUNT(*) FROM people GROUP BY " + "1" * 5_000,
    "order": "SELECT COUNT(*) FROM people ORDER BY " + "1" * 5_000,
    "limit": "SELECT COUNT(*) FROM people LIMIT " + "1" * 5_000,
    # Written in a few characters, larger than any memory:
    "exponent": WHERE + "age > 1e999999999",
    "small exponent": WHERE + "age > 1e-999999999",
    "exponent of a setting": "SET epsilon = 1e999999999",
    "small exponent of a setting": "SET epsilon = 1e-999999999",
    "exponent of an option":
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1e999999999) COUNT(*) FROM people",
    "exponent of a limit": "SELECT COUNT(*) FROM people LIMIT 1e999999999",
    "exponent of a quantile": "SELECT QUANTILE_CONT(age, 1e-999999999) FROM people",
}  # fmt: skip


@pytest.mark.parametrize("text", MANY.values(), ids=MANY)
def test_over_a_limit(run: Run, people: Path, text: str) -> None:
    ran = run(people, "-c", text)
    check(ran, 1)
    # An error is a few lines, however long the statement.
    assert len(ran.err) < 1_000


@pytest.mark.parametrize(
    "text",
    [
        "SELECT COUNT(*) FROM {}",
        "SELECT {}(age) FROM people",
        "SELECT {} {} FROM people",
        WHERE + "{} > 3",
        WHERE + "{}(age) > 3",
        WHERE + "CAST('{}' AS DATE) > '2000-01-01'",
        "SET {} = 3",
        "SET repeats = '{}'",
        "DESCRIBE {}",
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS({} = 3) COUNT(*) FROM people",
    ],
)
def test_long_names_are_cut_short(run: Run, people: Path, text: str) -> None:
    ran = run(people, "-c", text.replace("{}", "a" * 40_000))
    check(ran, 1)
    assert len(ran.err) < 1_000


def test_many_columns_are_not_all_named(run: Run, make: Make) -> None:
    path = make(",".join(f"column{i}" for i in range(5_000)) + "\n")
    ran = run(path, "-c", "SELECT COUNT(*) FROM t WHERE x = 1")
    check(ran, 1)
    assert len(ran.err) < 1_000


@pytest.mark.parametrize("option", ["--epsilon", "--delta", "--bounds"])
@pytest.mark.parametrize("exponent", ["1e999999999", "1e-999999999"])
def test_exponents_on_the_command_line(run: Run, people: Path, option: str, exponent: str) -> None:
    value = f"age=0:{exponent}" if option == "--bounds" else exponent
    ran = run(people, option, value, "-c", "SHOW BUDGET")
    check(ran, 2)


def test_up_to_the_limits(run: Run, people: Path) -> None:
    ages = ", ".join(f"{age}" for age in range(1_000))
    statements = [
        WHERE + "(" * 19 + "age > 3" + ")" * 19,
        WHERE + "NOT " * 18 + "age > 3",
        WHERE + f"age IN ({ages})",
        WHERE + " AND ".join(f"age <> {age}" for age in range(1_200)),
        WHERE + "name LIKE '%a%a%a%a%a%a%a%a'",
        WHERE + "age > " + "(SELECT AVG(age) FROM people WHERE age > " * 9 + "1" + ")" * 9,
        f"SELECT {', '.join(f'COUNT(*) FILTER (WHERE age > {i})' for i in range(200))} FROM people",
        "SELECT age, zip, COUNT(*), MEDIAN(age) FROM people GROUP BY age, zip",
        WHERE + "age > " + "1" * 300,
        WHERE + "age > 0." + "1" * 390,
        WHERE + f"name = '{'a' * 90_000}'",
        f'SELECT COUNT(*) AS "{"a" * 40_000}" FROM people',
    ]
    ran = run(people, "--queries", 100, "--csv", "-c", ";".join(statements))
    check(ran, 0)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT VARIANCE(CLAMP(income * 1e200, 0, 1e250)) FROM people",
        "SELECT STDDEV(CLAMP(income * 1e200, 0, 1e299)) FROM people",
        "EXPLAIN SELECT VARIANCE(CLAMP(income * 1e200, 0, 1e250)) FROM people",
        "SELECT SUM(CLAMP(income * 1e200, -1e299, 1e299)) FROM people",
        "SELECT AVG(CLAMP(income * 1e200, 0, 1e299)) FROM people",
        "SELECT MEDIAN(CLAMP(income * 1e200, 0, 1e299)) FROM people",
        "SELECT SUM(CLAMP(income, 0, 1e-300)), VARIANCE(CLAMP(income, 0, 1e-300)) FROM people",
        "SELECT AVG(CLAMP(income, 7, 7)), VARIANCE(CLAMP(income, 7, 7)) FROM people",
        "SELECT SUM(CLAMP(income, 7, 3)), MEDIAN(CLAMP(income, 7, 3)) FROM people",
        "SELECT SUM(income * income * income * income * income) FROM people",
        "SELECT ROUND(1e300 * AVG(age)), ROUND(1e300 * AVG(age), 9) FROM people",
        "SELECT CAST(1e300 * AVG(age) AS INTEGER), CAST(1e15 * AVG(age) AS DATE) FROM people",
        "SELECT DATE '9999-12-31' + COUNT(*), DATE '0001-01-01' - COUNT(*) FROM people",
        "SELECT SUM(income) * SUM(income) * 1e290 * 1e290 FROM people",
        "SELECT COUNT(*) FROM people WHERE 1e300 * 1e300 > age OR age / 0 > 1 OR age % 0 > 1",
        "SELECT AVG(age) FROM people WHERE age > 60 AND age < 20",
        "SELECT MEDIAN(age), MAX(age), STDDEV(age), MODE(zip) FROM people WHERE FALSE",
    ],
)
@pytest.mark.parametrize("form", ["json", "table"])
def test_extreme_numbers(run: Run, people: Path, text: str, form: str) -> None:
    ran = run(people, "--epsilon", 10_000, "--format", form, "-c", text)
    check(ran)
    if ran.code == 0 and form == "json":
        assert "Infinity" not in ran.out
        assert "NaN" not in ran.out


# --- Characters


@pytest.mark.parametrize("character", [*sorted(unsafe(ESCAPES)), "\ufeff", "\xad", "\U000e0041"])
@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "SELECT {} FROM people",
        "SELECT 1{} FROM people",
        "SELECT {}(age) FROM people",
        'SELECT COUNT(*) AS "{}" FROM people',
        "SELECT COUNT(*) FROM {}",
        'SELECT COUNT(*) FROM "{}"',
        "SELECT COUNT(*) FROM people\n{}\nWHERE nope",
        WHERE + "{} > 3",
        WHERE + "name = '{}'",
        WHERE + '"{}" = name',
        WHERE + "CAST('{}' AS DATE) > '2000-01-01'",
        WHERE + "age > 3 -- {}",
        "/* {} */ SHOW BUDGET x",
        "SET {} = 3",
        "SET repeats = '{}'",
        "DESCRIBE {}",
    ],
)
def test_characters_in_statements(session: Session, character: str, text: str) -> None:
    """In every format, so against the session: the command line prints what these return."""
    statement = text.format(f"a{character}b")
    try:
        answer = session.execute(statement)
    except DpdbError as error:
        shown = [error_as_json(statement, error), error_text(statement, error)]
    else:
        shown = [FORMATS["json"](answer), *(render(answer) for render in FORMATS.values())]
    assert [unsafe(text) for text in shown] == [set()] * len(shown)
    assert json.loads(shown[0])["statement"] == statement


@pytest.fixture(scope="module")
def session() -> Session:
    policy = policy_for(PEOPLE)
    return Session(replace(policy, budget=Budget(Fraction(100), Fraction(0), 10_000)))


@pytest.mark.parametrize("form", FORMATS)
def test_escapes_in_headers(run: Run, make: Make, form: str) -> None:
    name = ESCAPES.replace("\0", "").replace('"', "")
    path = make(f'"{name}",b\n1,2\n')
    script = (
        f'DESCRIBE t; SELECT COUNT("{name}") FROM t; SELECT COUNT(*) AS "{name}" FROM t; '
        f'SELECT nope FROM t; SELECT SUM("{name}") FROM t; '
        f'EXPLAIN SELECT COUNT("{name}") FROM t; SELECT "{name}" FROM t'
    )
    ran = run(path, "--format", form, "--on-error", "continue", "-c", script)
    check(ran, 1)
    if form == "json":
        assert ran.answers[0]["rows"][0][0] == name
        assert ran.answers[2]["columns"] == [name]


@pytest.mark.parametrize("form", FORMATS)
def test_escapes_in_policies(run: Run, make: Make, form: str) -> None:
    name = json.dumps("v" + ESCAPES.replace("\x7f", ""))
    policy = (
        f'[tables.{name}]\npath = "t.csv"\n[tables.{name}.columns]\n'
        f'b = {{ type = "text", values = [{name}, "x"] }}\n'
    )
    path = make("b\nx\n", policy)
    script = (
        "SHOW TABLES; DESCRIBE table; SELECT b, COUNT(*) FROM table GROUP BY b; SELECT b FROM q"
    )
    ran = run(path, "--format", form, "-c", script)
    check(ran, 1)


def test_escapes_in_file_names_and_options(run: Run, people: Path) -> None:
    name = ESCAPES.replace("\0", "").replace("\u2028", "")
    for words in (
        (f"{name}.csv", "-c", "SHOW TABLES"),
        (f"{name}.toml", "-c", "SHOW TABLES"),
        (people, "-f", f"{name}.sql"),
        (people, "--bounds", f"{name}=0:1"),
        ("init", f"{name}.csv"),
    ):
        check(run(*words), 2)


@pytest.mark.parametrize("name", ["a\0b.csv", "a\0b.toml"])
def test_a_nul_in_a_path(run: Run, people: Path, name: str) -> None:
    check(run(name, "-c", "SHOW TABLES"), 2)
    check(run(people, "-f", name), 2)


@pytest.mark.parametrize(
    "text", ["\U000e0001x", "\U0001fffe1", "\U0010fffd", "\U0001f600", "\ud800"]
)
def test_json_gives_back_every_character(run: Run, people: Path, text: str) -> None:
    statement = f'SELECT COUNT(*) AS "{text}" FROM people'
    ran = run(people, "--json", "-c", statement)
    check(ran, 0)
    assert ran.answers[0]["statement"] == statement
    assert ran.answers[0]["columns"] == [text]


FORMULAS = ["=1+1", "+1", "-1", "@SUM(A1)", "=cmd|' /C calc'!A0", "\t=1", "\r=1", "-x", "＝1"]


def test_spreadsheet_formulas(run: Run, make: Make) -> None:
    listed = ", ".join(json.dumps(formula) for formula in FORMULAS)
    policy = f'[tables.t.columns]\nb = {{ type = "text", values = [{listed}] }}\n'
    path = make("b\n" + "".join(f'"{formula}"\n' for formula in FORMULAS), policy)
    aliases = ", ".join(f'b AS "{formula}"' for formula in FORMULAS)
    ran = run(path, "--csv", "-c", f"SELECT {aliases}, COUNT(*) FROM t GROUP BY b; DESCRIBE t")
    check(ran, 0)
    for line in ran.out.splitlines():
        for cell in line.replace('"', "").split(",")[:-1]:
            assert not cell.startswith(("=", "+", "-", "@", "\t", "\r"))


def test_negative_numbers_are_no_formulas(run: Run, people: Path) -> None:
    ran = run(people, "--csv", "-c", "SELECT -1000000 * COUNT(*) AS n FROM people")
    assert ran.out.splitlines()[1].startswith("-")


def test_markdown_tables_stay_tables(run: Run, make: Make) -> None:
    policy = "[tables.t.columns]\nb = { type = 'text', values = ['x|y', 'a\\|b', 'z'] }\n"
    path = make("b\nz\n", policy)
    script = 'SELECT b AS "h|\\|h", COUNT(*) FROM t GROUP BY b'
    lines = run(path, "--format", "markdown", "-c", script).out.splitlines()
    assert len(lines) == 5
    for line in lines:
        bare = line.replace("\\\\", "").replace("\\|", "")
        assert bare.count("|") == 3


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
    assert ran.err == ""
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
    "header with a line feed in it": ('a,b,"c\nd"\n1,x,\n', (1, 1, 1, 1, 1)),
    "more columns than declared": ("z,b,a,c\n9,x,1,8\n", (1, 1, 1, 1, 1)),
    "another case": ("A,B\n1,x\n", (1, 1, 1, 1, 1)),
    "underscored numbers": ("a,b\n1_000,x\n1000,x\n", (2, 1000, 1, 2, 1)),
    "NaN and infinity": ("a,b\nNaN,x\nnan,x\ninf,x\n-Infinity,x\n1e999,x\n5,x\n", (6, 5, 1, 6, 1)),
    "other digits": ("a,b\n\u0661,x\n\uff11,x\n0x1F,x\n5,x\n", (4, 5, 1, 4, 1)),
    "spaces around numbers": ("a,b\n 12 ,x\n+5,x\n1e2,x\n", (3, 117, 3, 3, 1)),
    "out of bounds": ("a,b\n-5,x\n99999,x\n1e300,x\n", (3, 4000, 3, 3, 1)),
    "not UTF-8 in a cell": (b"a,b\n1,caf\xe9\n2,x\n", (2, 3, 2, 2, 2)),
    "NUL in a cell": (b"a,b\n1,x\0y\n2,x\n", (2, 3, 2, 2, 2)),
    "quote that is not closed": ('a,b\n1,"x\n2,y\n3,z\n', (1, 1, 1, 1, 1)),
    "stray quotes": ('a,b\n1,x"y\n2,""z\n3,"x"y\n', (3, 6, 3, 3, 3)),
    "formulas": ("a,b\n1,=1+1\n2,@x\n", (2, 3, 2, 2, 2)),
    "a long cell": (f"a,b\n1,{'x' * 3_000_000}\n2,y\n", (2, 3, 2, 1, 1)),
    "a long number": (f"a,b\n{'1' * 1_000_000},x\n2,y\n", (2, 2, 1, 2, 2)),
    "a large exponent": ("a,b\n1e999999999,x\n1e-999999999,y\n2,z\n", (3, 2, 2, 3, 3)),
    "blank lines": ("\n\na,b\n\n1,x\n\n\n2,y\n\n", (2, 3, 2, 2, 2)),
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
    "duplicate header": ("a,b,a\n1,2,3\n", 1),
    "duplicate header in another case": ("a,b,A\n1,2,3\n", 1),
    "empty header": ("a,b,\n1,2,3\n", 1),
    "blank header": ("a,b, \n1,2,3\n", 1),
    "header on a later line": ("\n\na,b,a\n1,2,3\n", 3),
    "header that is not UTF-8": (b"a,b,caf\xe9\n1,2,3\n", 1),
    "UTF-16": ("a,b\n1,2\n".encode("utf-16"), 1),
    "UTF-16 without a mark": ("a,b\n1,2\n".encode("utf-16-le"), 1),
    "UTF-32": ("a,b\n1,2\n".encode("utf-32"), 1),
    "NUL in the header": (b"a,b,c\0\n1,2,3\n", 1),
    "open quote in the header": ('a,b,"c\n1,2,3\n', 1),
    "semicolons": ("a;b\n1;2\n", 1),
    "tabs": ("a\tb\n1\t2\n", 1),
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
