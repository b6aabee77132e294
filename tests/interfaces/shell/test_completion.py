"""Completion: what fits at the cursor, and nothing from the rows."""

from __future__ import annotations

from pathlib import Path

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from dpdb.errors import DpdbError
from dpdb.interfaces.console.commands import COMMANDS
from dpdb.interfaces.prompt.completion import ShellCompleter
from dpdb.interfaces.prompt.words import NAMED_ARGUMENTS
from dpdb.plan.expressions.functions import AGGREGATES, FUNCTIONS
from dpdb.policy.reading.reader import policy_for, read_policy
from dpdb.session.session import Session
from dpdb.sql.aggregates.named_arguments import PER_GROUP, PER_ROW
from dpdb.sql.syntax.option_names import OPTIONS, SETTINGS, TERMS
from tests.support.noiseless import Noiseless

POLICY = """
[tables.people.columns]
name = { type = "text" }
age = { type = "integer", bounds = [18, 65] }
zip = { type = "integer", values = [31643, 80127] }
member = { type = "boolean" }
city = { type = "text", values = ["Rome", "Val d'Or"] }
born = { type = "date", values = [2000-01-31] }
"net worth" = { type = "number" }
[tables.us-employment.columns]
jobs = { type = "number" }
[tables.pets.columns]
kind = { type = "text", values = ["cat"] }
"""
COLUMNS = {"name", "age", "zip", "member", "city", "born", '"net worth"'}
GROUPABLE = {"age", "zip", "member", "city", "born"}
TABLES = {"people", "pets", '"us-employment"'}
SECRET = "Zebulon"


@pytest.fixture
def completer(tmp_path: Path) -> ShellCompleter:
    header = "name,age,zip,member,city,born,net worth\n"
    (tmp_path / "people.csv").write_text(f"{header}{SECRET},44,31643,true,{SECRET},2000-01-31,7\n")
    (tmp_path / "pets.csv").write_text(f"kind\n{SECRET}\n")
    (tmp_path / "us-employment.csv").write_text("jobs\n7\n")
    (tmp_path / "people.toml").write_text(POLICY)
    return ShellCompleter(read_policy(tmp_path / "people.toml"), dict.fromkeys(COMMANDS, ""))


@pytest.fixture
def session(completer: ShellCompleter, tmp_path: Path) -> Session:
    return Session(read_policy(tmp_path / "people.toml"), noise=Noiseless())


def offered(completer: ShellCompleter, text: str) -> list[str]:
    """What is offered at the `|` in the text, or at its end."""
    before, _, after = text.partition("|")
    document = Document(before + after, len(before))
    found = completer.get_completions(document, CompleteEvent(completion_requested=True))
    return [completion.text for completion in found]


@pytest.mark.parametrize(("text", "expected"), [
    ("", {"SELECT", "WITH", "EXPLAIN SELECT", "SHOW BUDGET", "SHOW TABLES", "SHOW ALL", "DESCRIBE",
          "SET"}),
    ("SELECT COUNT(*) FROM ", TABLES),
    ("SELECT COUNT(*) FROM pe", {"people", "pets"}),
    ("SELECT COUNT(*) FROM people JO", {"JOIN"}),
    ("SELECT COUNT(*) FROM people JOIN ", TABLES),
    ("SELECT COUNT(*) FROM people, pe", {"people", "pets"}),
    ("SELECT COUNT(*) FROM people JOIN pets ON pets.", {"kind"}),
    ("SELECT COUNT(*) FROM people p JOIN pets AS b ON p.age = 1 AND b.", {"kind"}),
    ("SELECT COUNT(pets.", {"kind"}),
    ("SELECT COUNT(pets.|) FROM people, pets", {"kind"}),
    ("SELECT people.", GROUPABLE),
    ("SELECT COUNT(*) FROM us-em", {'"us-employment"'}),
    ("WITH old AS (SELECT * FROM people) SELECT COUNT(*) FROM ", {*TABLES, "old"}),
    ("WITH a(x) AS (SELECT 1 FROM pets), b AS (SELECT x FROM ", {*TABLES, "a"}),
    ("WITH a AS (", {"SELECT"}),
    ("SELECT COUNT(*) FROM (", {"SELECT"}),
    ("DESCRIBE ", TABLES),
    ("SHOW ", {"BUDGET", "HISTORY", "TABLES", "ALL"}),
    ("EXPLAIN ", {"SELECT"}),
    ("SELECT COUNT(*) FROM people WHERE zip = ", {"31643", "80127"}),
    ("SELECT COUNT(*) FROM people WHERE zip = 3", {"31643"}),
    ("SELECT COUNT(*) FROM people WHERE zip IN (31643, ", {"31643", "80127"}),
    ("SELECT COUNT(*) FROM people WHERE zip NOT IN (8", {"80127"}),
    ("SELECT COUNT(*) FROM people WHERE city <> ", {"'Rome'", "'Val d''Or'"}),
    ("SELECT COUNT(*) FROM people WHERE city = 'V", {"'Val d''Or'"}),
    ("SELECT COUNT(*) FROM people WHERE born = ", {"'2000-01-31'"}),
    ("SELECT COUNT(*) FROM people WHERE member = ", {"true", "false"}),
    ("SELECT COUNT(*) FROM people WHERE people.", COLUMNS),
    ("SELECT |FROM pets", None),
    ("SELECT COUNT(*) FROM people GROUP ", {"BY"}),
    ("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(", {f"{name} = " for name in OPTIONS | TERMS}),
    ("SELECT WITH ANONYMIZATION OPTIONS(epsilon = 1, max_r", {"max_rows_contributed = "}),
    ("SELECT SUM(age, contr", {f"{name} => (" for name in NAMED_ARGUMENTS}),
    ("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 1, d", {"delta = "}),
    ("SET ", {f"{name} = " for name in SETTINGS}),
    ("SELECT 1; SHOW ", {"BUDGET", "HISTORY", "TABLES", "ALL"}),
    (".mo", {".mode"}),
    (".timer ", {"on", "off"}),
    (".schema p", {"people", "pets"}),
    (".help sens", {"sensitivity"}),
    ("SELECT 'x ", set()),
    ("SELECT COUNT(*) FROM people LIMIT 1", set()),
])  # fmt: skip
def test_offers(completer: ShellCompleter, text: str, expected: set[str] | None) -> None:
    if expected is not None:
        assert set(offered(completer, text)) == expected


def test_operands(completer: ShellCompleter) -> None:
    first = set(offered(completer, "SELECT | FROM people"))
    assert first >= GROUPABLE | {f"{name}(" for name in (*AGGREGATES, *FUNCTIONS)}
    assert not first & (COLUMNS - GROUPABLE | {"kind"})
    inside = set(offered(completer, "SELECT SUM(| FROM people"))
    assert inside >= {"age", "ABS("}
    assert "SUM(" not in inside
    rows = set(offered(completer, "SELECT COUNT(*) FROM people WHERE "))
    assert rows >= COLUMNS | {"ABS(", "NOT"}
    assert "COUNT(" not in rows
    assert {"*", "DISTINCT"} <= set(offered(completer, "SELECT COUNT("))
    assert "kind" in offered(completer, "SELECT | FROM pets")


NESTED = ["SUM(ABS(", "MIN(COALESCE(", "MAX(NULLIF(", "AVG(CLAMP(", "COUNT(LOWER(", "COUNT(LENGTH(",
          "AVG(ROUND(", "COUNT(GREATEST(", "COUNT(CLAMP(", "COUNT(DISTINCT ", "SUM(COALESCE(",
          "SUM(NVL(", "AVG(ZEROIFNULL(", "SUM(NULLIFZERO(", "MAX(IFNULL(", "COUNT(EQUAL_NULL(",
          "PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY "]  # fmt: skip
PAIRS = [f"{name}(" for name in AGGREGATES if name.startswith(("CORR", "COVAR", "REGR"))]


def calls_of(name: str) -> list[str]:
    return [f"{each}(" for each in (name, *AGGREGATES[name].aliases)]


ENDS = {**dict.fromkeys(calls_of("QUANTILE_CONT"), ", 0.5)"),
        **dict.fromkeys(calls_of("APPROX_QUANTILES"), ", 2)"), "HISTOGRAM(": ", [1])",
        **dict.fromkeys(calls_of("APPROX_TOP_COUNT"), ", 2)"), "APPROX_TOP_SUM(": ", age, 2)", **dict.fromkeys(PAIRS, ", {0})"), "AVG(CLAMP(": ", 0, 1))", "COUNT(CLAMP(": ", {0}, {0}))",
        "COUNT(GREATEST(": ", {0}))", **dict.fromkeys(["MIN(COALESCE(", "MAX(NULLIF(",
        "SUM(COALESCE(", "SUM(NVL(", "MAX(IFNULL(", "COUNT(EQUAL_NULL("], ", {0}))")}  # fmt: skip
CALLS = [f"{name}(" for name in AGGREGATES
         if name not in (*AGGREGATES["COUNT_IF"].aliases, "COUNT_IF") and "PERCENTILE_" not in name]  # fmt: skip


def _end(end: str, column: str) -> str:
    dated = end.replace("0, 1", "'2000-01-01', '2000-12-31'") if column == "born" else end
    return dated.format(column)


@pytest.mark.parametrize("call", [*CALLS, *NESTED])
def test_a_column_is_offered_where_it_is_accepted(
    completer: ShellCompleter, session: Session, call: str
) -> None:
    end = ENDS.get(call, ")" * call.count("("))
    end = ")" if "WITHIN" in call else end
    accepted = {
        column
        for column in COLUMNS
        if is_answered(session, f"SELECT {call}{column}{_end(end, column)} FROM people")
    }
    assert set(offered(completer, f"SELECT {call}| FROM people")) & COLUMNS == accepted


@pytest.mark.parametrize("text", [
    "SELECT COUNT(*) FROM people GROUP BY |", "SELECT zip, COUNT(*) FROM people GROUP BY zip, |",
    "SELECT |, COUNT(*) FROM people", "SELECT | FROM people GROUP BY zip, \"city\" HAVING 1 = 1",
    "SELECT zip FROM people GROUP BY zip ORDER BY |", "SELECT COUNT(*) FROM people GROUP BY zip HAVING |",
    "SELECT ROUND(| FROM people GROUP BY zip",
])  # fmt: skip
def test_keys_are_offered_where_they_are_accepted(
    completer: ShellCompleter, session: Session, text: str
) -> None:
    def is_accepted(column: str) -> bool:
        whole = text.replace("ROUND(|", "COALESCE(|, |)").replace("|, COUNT", "|, COUNT")
        whole = whole.replace("HAVING |", "HAVING | IS NULL").replace("|", column)
        if "GROUP" not in whole:
            whole += f" GROUP BY {column}"
        return is_answered(session, whole.replace("SELECT ", "SELECT COUNT(*) + 0, ", 1))

    shown = set(offered(completer, text))
    assert shown & COLUMNS == {column for column in COLUMNS if is_accepted(column)}
    in_group = text.endswith(("BY |", "zip, |")) and "ORDER" not in text
    assert ("ABS(" in shown, "SUM(" in shown) == (not in_group, not in_group)


@pytest.mark.parametrize(
    "text", ["SELECT COUNT(*) FROM (SELECT | FROM people)", "WITH t AS (SELECT | FROM people)"]
)
def test_within_from_and_with_there_are_columns_and_no_aggregates(
    completer: ShellCompleter, session: Session, text: str
) -> None:
    shown = set(offered(completer, text))
    assert shown >= COLUMNS | {"*", "ABS("}
    assert not shown & {f"{name}(" for name in AGGREGATES}
    whole = text if text.startswith("SELECT") else f"{text} SELECT COUNT(*) FROM t"
    for operand in ("*", *COLUMNS):
        assert is_answered(session, whole.replace("|", operand))
    outside = offered(completer, "SELECT | FROM (SELECT age FROM people)")
    assert "SUM(" in outside


def test_conditions_take_every_column(completer: ShellCompleter) -> None:
    for start in ("SELECT SUM(CASE WHEN ", "SELECT COUNT(*) FILTER (WHERE ", "SELECT AVG(IF(",
                  "SELECT COUNT_IF(", "SELECT COUNT(*) FROM people WHERE age > 1 AND "):  # fmt: skip
        assert set(offered(completer, f"{start}| FROM people")) >= COLUMNS


def test_undeclared_columns_are_offered_where_they_are_clamped(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n")
    completer = ShellCompleter(policy_for(tmp_path / "t.csv"), {})
    assert not {"a", "b"} & set(offered(completer, "SELECT AVG("))
    assert not {"a", "b"} & set(offered(completer, "SELECT COUNT(*) FROM t GROUP BY "))
    assert {"a", "b"} <= set(offered(completer, "SELECT AVG(CLAMP("))
    assert {"a", "b"} <= set(offered(completer, "SELECT COUNT("))


def is_answered(session: Session, statement: str) -> bool:
    try:
        session.execute(f"EXPLAIN {statement}")
    except DpdbError:
        return False
    return True


def test_keywords_after_operands(completer: ShellCompleter) -> None:
    assert "FROM" in offered(completer, "SELECT COUNT(*) ")
    assert "WHERE" in offered(completer, "SELECT COUNT(*) FROM people ")
    assert {"AND", "GROUP BY"} <= set(
        offered(completer, "SELECT COUNT(*) FROM people WHERE age > 3 ")
    )


def test_small_letters_stay_small(completer: ShellCompleter) -> None:
    assert offered(completer, "select cou")[0] == "count("
    assert "where" in offered(completer, "select count(*) from people wh")


@pytest.mark.parametrize("name", [name for name, each in COMMANDS.items() if each.files])
def test_file_names_after_the_commands_for_files(
    name: str, completer: ShellCompleter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "queries.sql").touch()
    monkeypatch.chdir(tmp_path)
    assert offered(completer, f"{name} que") == ["ries.sql"]


def test_never_a_value_from_the_rows(completer: ShellCompleter) -> None:
    statement = (
        f"SELECT zip, COUNT(*) FROM people WHERE city = 'Z' AND name = 'Z' AND kind = '{SECRET}"
    )
    for end in range(len(statement)):
        found = completer.get_completions(
            Document(statement[:end]), CompleteEvent(completion_requested=True)
        )
        for completion in found:
            assert SECRET not in completion.text + completion.display_text
            assert "44" not in completion.text


def test_nothing_comes_up_at_an_empty_prompt(completer: ShellCompleter) -> None:
    typed = CompleteEvent(text_inserted=True)
    assert not list(completer.get_completions(Document("SHOW TABLES;"), typed))


def test_the_vocabulary_is_the_dialect() -> None:
    assert list(NAMED_ARGUMENTS) == [PER_ROW, PER_GROUP]


def test_what_teaching_can_set_is_offered_there_only(tmp_path: Path) -> None:
    (tmp_path / "pets.csv").write_text("kind\n")
    policy = policy_for(tmp_path / "pets.csv")
    plain, taught = (ShellCompleter(policy, {}, teach=teach) for teach in (False, True))
    assert set(offered(taught, "SET ")) - set(offered(plain, "SET ")) == {"dp = ", "reveal = "}
