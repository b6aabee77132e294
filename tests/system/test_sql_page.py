"""The manual's page on SQL: each example is answered, each name is listed, each table is true."""

from __future__ import annotations

import re
from functools import cache

import pytest
import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError
from sqlglot.parser import Parser

import dpdb
from dpdb import manual
from dpdb.plan.expressions import functions
from dpdb.sql.aggregates.windows import NAMES as WINDOWS
from dpdb.sql.syntax.option_names import OPTIONS, SETTINGS, TEACHING, TERMS
from tests.support.pages import code, table
from tests.support.shell_lines import ROOT

PAGE = manual.page("sql")
SAMPLES = ("sample_data/people.csv", "sample_data/shop/shop.toml")
POLICY = """
[tables.t]
path = "t.csv"
[tables.t.columns]
x = { type = "number", bounds = [0, 100] }
y = { type = "number", bounds = [0, 100] }
free = { type = "number" }
n = { type = "integer", bounds = [0, 100] }
s = { type = "text" }
z = { type = "text", values = ["a", "b"] }
d = { type = "date", bounds = [2000-01-01, 2030-12-31] }
ts = { type = "timestamp", bounds = [2000-01-01, 2030-12-31] }
b = { type = "boolean" }
"""
ROWS = [
    f"{i % 50},{i % 7},{i},{i % 9},a,{'ab'[i % 2]},2020-01-01,2020-01-01,true" for i in range(999)
]


@pytest.fixture(scope="module")
def t(tmp_path_factory: pytest.TempPathFactory) -> dpdb.Session:
    """A session on a table with the columns that the page's functions are called with."""
    folder = tmp_path_factory.mktemp("sql_page")
    (folder / "t.toml").write_text(POLICY, encoding="utf-8")
    (folder / "t.csv").write_text("\n".join(["x,y,free,n,s,z,d,ts,b", *ROWS]), encoding="utf-8")
    return dpdb.connect(folder / "t.toml", epsilon=10_000, queries=100)


@cache
def samples() -> tuple[dpdb.Session, ...]:
    return tuple(dpdb.connect(ROOT / name) for name in SAMPLES)


FUNCTIONS, AGGREGATES = table(PAGE, "function", "NULL when"), table(PAGE, "function", "has ±")
STATEMENTS = [each for each in code(PAGE) if re.match("(SELECT|WITH|EXPLAIN) .*FROM", each)]


def calls(row: list[str]) -> dict[str, str]:
    """The call in the first cell of a row, and that of each alias, by their names."""
    [call] = code(row[0])
    names = [re.split(r"\(", call)[0], *code(row[1])]
    return {name: re.sub(r"^\w+", name, call) for name in names}


NAMES = {name: call for row in (*FUNCTIONS, *AGGREGATES) for name, call in calls(row).items()}


STATEMENTS += [
    statement.strip()
    for block in re.findall(r"```sql\n(.*?)```", PAGE, flags=re.DOTALL)
    for statement in block.split(";\n")
    if statement.strip()
]


@pytest.mark.parametrize("statement", STATEMENTS)
def test_statement_is_answered(statement: str) -> None:
    people, shop = samples()
    session = people if re.search(r"\bpeople\b", statement) else shop
    session.explain(statement.removeprefix("EXPLAIN "))


@pytest.mark.parametrize("row", FUNCTIONS, ids=lambda row: row[0])
def test_function_and_its_aliases_are_answered(row: list[str], t: dpdb.Session) -> None:
    for call in calls(row).values():
        t.explain(f"SELECT COUNT(*) FROM t WHERE {call} IS NOT NULL")


@pytest.mark.parametrize("row", AGGREGATES, ids=lambda row: row[0])
def test_aggregate_needs_bounds_and_has_intervals_as_the_page_says(
    row: list[str], t: dpdb.Session
) -> None:
    for call in calls(row).values():
        answer = t.execute(f"SELECT {call} FROM t")
        if row[3] == "yes":
            assert all(None not in line[-1] for line in answer.intervals)  # type: ignore[operator]
        elif row[3] == "no":
            assert all(line[-1] is None for line in answer.intervals)
        elif row[3] == "one end":
            assert answer.intervals[0][0].count(None) == 1  # type: ignore[union-attr]
    unbounded = re.sub(r"\b[xy]\b", "free", call)
    if row[2] == "yes":
        with pytest.raises(dpdb.MissingBounds):
            t.explain(f"SELECT {unbounded} FROM t")
    elif unbounded != call:
        t.explain(f"SELECT {unbounded} FROM t")


@pytest.mark.parametrize(
    "example", [each for row in table(PAGE, "operator") for each in code(row[1])]
)
def test_operator_is_answered(example: str, t: dpdb.Session) -> None:
    t.explain(f"SELECT COUNT(*) FROM t WHERE ({example}) IS NOT NULL")


OWN_OF_SQLGLOT = {
    "DATE_TO_DATE_STR", "DECODE_CASE", "STR_POSITION", "TIME_TO_TIME_STR", "TS_OR_DS_TO_DATE_STR",
}  # fmt: skip
"""Names that its generators have for themselves, and no system."""


def _parsed(call: str) -> type | None:
    """What sqlglot takes a call for; None if it does not know the function."""
    try:
        node = sqlglot.parse_one(call)
    except (ParseError, IndexError):
        return None
    return None if isinstance(node, exp.Anonymous) else type(node)


def test_each_name_that_is_answered_is_listed(t: dpdb.Session) -> None:
    """A function that sqlglot knows by several names is on the page with all that are answered."""
    meant = {_parsed(call) for call in NAMES.values()} - {None}
    known = {*Parser.FUNCTIONS, *Parser.FUNCTION_PARSERS} - OWN_OF_SQLGLOT
    unlisted = {
        name
        for name in known - set(NAMES)
        for arguments in ("(x)", "(x, 2)", "(x, 2, 3)", "(x AS INTEGER)")
        if _parsed(name + arguments) in meant
    }
    for name in unlisted:
        for call in NAMES.values():
            with pytest.raises(dpdb.StatementError):
                t.explain("SELECT " + re.sub(r"^\w+", name, call) + " FROM t")


@pytest.mark.parametrize(
    ("rows", "functions"), [(FUNCTIONS, functions.FUNCTIONS), (AGGREGATES, functions.AGGREGATES)]
)
def test_the_page_lists_the_names_and_aliases_of_the_table(
    rows: list[list[str]], functions: dict[str, functions.Function]
) -> None:
    listed: dict[str, set[str]] = {}
    for row in rows:
        listed.setdefault(next(iter(calls(row))), set()).update(code(row[1]))
    listed.pop("DP_INTERVAL_LOW", None)
    assert listed == {each.name: set(each.aliases) for each in functions.values()}


def test_each_window_function_is_listed() -> None:
    assert [name for name in WINDOWS if f"`{name}`" not in PAGE] == []


def test_options_and_settings_are_those_of_the_code() -> None:
    """Under SET and OPTIONS the table says where each is taken."""
    rows = {code(row[0])[0].split(" ")[0]: row for row in table(PAGE, "SET", "OPTIONS")}
    assert {name for name, row in rows.items() if row[1] == "yes"} == set(SETTINGS)
    assert {name for name, row in rows.items() if row[1] == "`--teach`"} == set(TEACHING)
    assert {name for name, row in rows.items() if row[2] == "yes"} == {*OPTIONS, *TERMS}
