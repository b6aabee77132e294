"""What Enter does with a text, and what is run of it."""

from __future__ import annotations

import pytest

from dpdb.interfaces.console.entries import (
    Command,
    Sql,
    entries,
    finished,
    interjection,
    open_statement,
    open_text,
)


@pytest.mark.parametrize("text", [
    "", "  \n", ".mode csv", "SELECT 1;", "SELECT 1; SHOW BUDGET;", "SELECT\n1;\n", "-- nothing",
    "SELECT ';'; -- done", "/* ; */ SELECT 1;", ".tables\nSELECT 1;", "SELECT 1;\n.tables",
])  # fmt: skip
def test_enter_runs(text: str) -> None:
    assert finished(text)


@pytest.mark.parametrize("text", [
    "SELECT 1", "SELECT 1;\nSHOW", "SELECT ';", 'SELECT ";', "SELECT 1 /* ;", "/* open ;",
    "SELECT 1 -- ;", "SELECT\n.tables", "SELECT 1; SELECT 2", "next; /* open",
])  # fmt: skip
def test_enter_goes_on(text: str) -> None:
    assert not finished(text)


def test_commands_between_statements() -> None:
    text = "SELECT 1; SELECT '\n.x';\n.mode csv;\n  .read  a b \nSHOW BUDGET"
    assert list(entries(text)) == [
        Sql("SELECT 1"), Sql("SELECT '\n.x'"), Command(".mode", "csv"), Command(".read", "a b"),
        Sql("SHOW BUDGET"),
    ]  # fmt: skip


@pytest.mark.parametrize(("text", "rest"), [
    ("SELECT 1; SELECT ", "SELECT "), ("SELECT 1;\n.mo", ".mo"), ("SELECT 1;", ""), ("", ""),
    ("SELECT\n", "SELECT\n"), ("SELECT 'a ", "SELECT 'a "), ("a /* ", "a /* "),
])  # fmt: skip
def test_what_is_being_typed(text: str, rest: str) -> None:
    assert open_text(text) == rest


def test_the_statement_to_be_priced_is_the_last() -> None:
    assert open_statement("SELECT 1;\nSELECT 2;") == "SELECT 2"
    assert open_statement("SELECT 1; SELECT 2") == "SELECT 2"
    assert open_statement(".mode csv") == ""


@pytest.mark.parametrize(("line", "command"), [
    (".tables", Command(".tables", "")), ("\\d", Command(".tables", "")),
    ("\\d t", Command(".schema", "t")), ("\\q;", Command(".quit", "")),
    ("\\x off", Command(".mode", "table")), ("\\timing on", Command(".timer", "on")),
    ("\\foo 1", Command("\\foo", "1")), ("  quit ", Command(".quit", "")),
])  # fmt: skip
def test_commands_at_both_prompts(line: str, command: Command) -> None:
    assert list(entries(line)) == [command]
    assert finished(line)
    if not line.endswith(";"):
        assert interjection(f"SELECT a,\n{line}") == ("SELECT a,", command)


@pytest.mark.parametrize("text", [
    "SELECT '\n.tables", "SELECT /*\n\\d", 'SELECT "\nquit', "SELECT a *\n.5", "GROUP BY\nexit;",
    "SELECT 1;\n.tables", ".tables", "SELECT\nhelpful", "SELECT\n. x",
])  # fmt: skip
def test_lines_that_are_part_of_a_statement_or_stand_alone(text: str) -> None:
    assert interjection(text) is None


def test_a_long_line_of_statements_is_read_in_one_pass() -> None:
    """Looking back for the start of the line at each statement would take hours."""
    assert sum(1 for _ in entries("SHOW ALL;" * 100_000)) == 100_000
