"""What Enter does with a text, and what is run of it."""

from __future__ import annotations

import pytest

from dpdb.interfaces.shell.entries import Command, Sql, entries, finished, open_statement, open_text


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
