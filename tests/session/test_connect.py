"""The library: `dpdb.connect`, its arguments and errors, and that it is what the command line does."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from threading import Event, Thread
from typing import Any

import numpy as np
import pytest

import dpdb
from dpdb.answers.formats.json_lines import as_json
from dpdb.interfaces.cli.main import main
from dpdb.ledger.protocol import FREE
from dpdb.session.connect import policy_of

PEOPLE = Path(__file__).parents[2] / "sample_data" / "people.csv"
STUDENTS = PEOPLE.with_name("students.csv")
CE = PEOPLE.with_name("ce.csv")
SLOW = ("numpy", "re2", "pandas", "polars", "pyarrow", "sqlalchemy", "sqlglot", "prompt_toolkit", "rich", "matplotlib", "jinja2",
        "IPython")  # fmt: skip


def loaded_by(program: str) -> set[str]:
    """The slow modules that a program has loaded in the end."""
    code = f"import sys\n{program}\nprint(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(SLOW) & set(run.stdout.split())


def test_import_is_cheap() -> None:
    assert not loaded_by("import dpdb; dpdb.connect; dpdb.DpdbError; dpdb.Policy; dpdb.Answer")
    # What a statement costs can be told before numpy is imported.
    assert loaded_by("import dpdb; dpdb.Session") == {"sqlglot"}


def test_every_public_name_is_there() -> None:
    assert dir(dpdb) == sorted(dpdb.__all__)
    assert {name for name in dpdb.__all__ if getattr(dpdb, name, None) is None} == set()
    with pytest.raises(AttributeError, match="no attribute 'conect'"):
        dpdb.conect  # noqa: B018


def test_every_error_is_public() -> None:
    def kinds(kind: type[dpdb.DpdbError]) -> set[str]:
        return {kind.__name__}.union(*map(kinds, kind.__subclasses__()))

    assert kinds(dpdb.DpdbError) <= set(dpdb.__all__)


@pytest.mark.parametrize(
    "tenth", [0.1, "0.1", ".1", "1e-1", Fraction(1, 10), np.float64(0.1)], ids=repr
)
def test_numbers_are_taken_as_written(tenth: Any) -> None:
    db = dpdb.connect(PEOPLE, epsilon=tenth, queries=2)
    assert db.balance.budget.epsilon == Fraction(1, 10)
    assert db.execute("SELECT COUNT(*) FROM people").cost.epsilon == Fraction(1, 20)


def test_bounds_are_taken_as_written() -> None:
    bounds = {"income": ("0", 0.1)}
    column = dpdb.connect(PEOPLE, bounds=bounds).policy.tables[0].column("income")
    assert column is not None
    assert column.bounds == (0, Fraction(1, 10))


@pytest.mark.parametrize(
    ("kind", "sources", "arguments"),
    [
        (dpdb.UsageError, [], {}),
        (dpdb.UsageError, [PEOPLE, PEOPLE], {}),
        (dpdb.UsageError, [PEOPLE, CE], {}),
        (dpdb.UsageError, [PEOPLE], {"bounds": {"height": (0, 3)}}),
        (dpdb.UsageError, [PEOPLE], {"seed": 1}),
        (dpdb.DataFileError, [PEOPLE.with_name("nobody.csv")], {}),
        (dpdb.DataFileError, [PEOPLE.parent], {}),
        (dpdb.PolicyError, [PEOPLE.with_name("nobody.toml")], {}),
        (dpdb.InvalidOption, [PEOPLE], {"epsilon": "much"}),
        (dpdb.InvalidOption, [PEOPLE], {"epsilon": float("nan")}),
        (dpdb.InvalidOption, [PEOPLE], {"epsilon": float("inf")}),
        (dpdb.InvalidOption, [PEOPLE], {"epsilon": True}),
        (dpdb.InvalidOption, [PEOPLE], {"epsilon": 0}),
        (dpdb.InvalidOption, [PEOPLE], {"delta": 1}),
        (dpdb.InvalidOption, [PEOPLE], {"delta": [0]}),
        (dpdb.InvalidOption, [PEOPLE], {"queries": 0}),
        (dpdb.InvalidOption, [PEOPLE], {"queries": 2.0}),
        (dpdb.InvalidOption, [PEOPLE], {"composition": "zcpd", "delta": 1e-6}),
        (dpdb.InvalidOption, [PEOPLE], {"composition": "zcdp"}),
        (dpdb.InvalidOption, [PEOPLE], {"neighbors": "rows"}),
        (dpdb.InvalidOption, [PEOPLE], {"bounds": {"age": 65}}),
        (dpdb.InvalidOption, [PEOPLE], {"bounds": {"age": (65, 18)}}),
        (dpdb.InvalidOption, [PEOPLE], {"bounds": {"age": (18, None)}}),
        (dpdb.UsageError, [PEOPLE], {"separator": ";"}),
        (dpdb.InvalidOption, [PEOPLE], {"separator": ";;"}),
        (dpdb.InvalidOption, [PEOPLE], {"separator": 3}),
        (dpdb.InvalidOption, [PEOPLE], {"encoding": "utf-7"}),
        (dpdb.InvalidOption, [PEOPLE], {"no_header": "ab"}),
        (dpdb.InvalidOption, [PEOPLE], {"no_header": []}),
        (dpdb.InvalidOption, [PEOPLE], {"no_header": ["a", 2]}),
        (dpdb.InvalidOption, [PEOPLE], {"no_header": ["a", "A"]}),
        (dpdb.InvalidOption, [PEOPLE], {"teach": True, "seed": "3"}),
        (dpdb.InvalidOption, [PEOPLE], {"teach": True, "seed": -3}),
    ],
)
def test_wrong_argument_is_a_typed_error(
    kind: type[dpdb.DpdbError], sources: list[Path], arguments: dict[str, Any]
) -> None:
    with pytest.raises(dpdb.DpdbError) as caught:
        dpdb.connect(*sources, **arguments)
    assert type(caught.value) is kind


def test_failed_statement_is_a_typed_error_that_says_where() -> None:
    db = dpdb.connect(str(PEOPLE), epsilon=1, queries=1)
    statement = "SELECT AVG(incme) FROM people"
    for ask in (db.execute, db.explain, db.quote):
        with pytest.raises(dpdb.UnknownName, match="no column incme") as caught:
            ask(statement)
        assert (caught.value.place.line, caught.value.place.column) == (1, 12)  # type: ignore[union-attr]
        assert caught.value.statement == statement
        assert caught.value.hint == "did you mean income?"
    db.execute("SELECT COUNT(*) FROM people")
    with pytest.raises(dpdb.BudgetExceeded):
        db.execute("SELECT COUNT(age) FROM people")
    with pytest.raises(dpdb.Unsupported, match="only a SELECT has a cost"):
        db.explain("SHOW BUDGET")


def test_failure_inside_says_nothing_of_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    db = dpdb.connect(CE)

    def fail(*_: object) -> None:
        raise ValueError("a cell")

    monkeypatch.setattr(db, "_explained", fail)
    with pytest.raises(dpdb.InternalError) as caught:
        db.explain("SELECT COUNT(*) FROM ce")
    assert "a cell" not in str(caught.value)


def test_sources_are_joined() -> None:
    policy = dpdb.connect(PEOPLE).policy
    db = dpdb.connect(policy, STUDENTS)
    assert [row[0] for row in db.execute("SHOW TABLES").rows] == ["people", "students"]
    assert dpdb.connect(PEOPLE.with_suffix(".toml")).policy == policy


QUERIES = (
    "SELECT COUNT(*) FROM people",
    "SELECT zip, COUNT(*) AS n, AVG(age) FROM people GROUP BY zip ORDER BY n DESC LIMIT 3",
    "SELECT MEDIAN(income), VARIANCE(age) FROM people WHERE age > 30",
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(error = 100) COUNT(*) FROM people WHERE age > 40",
    "SELECT COUNT(*) FROM people WHERE age > (SELECT AVG(age) FROM people)",
    "SELECT COUNT(*) FROM people",
)


@pytest.mark.parametrize("composition", ["pure", "zcdp"])
def test_price_is_what_execute_takes(composition: str) -> None:
    db = dpdb.connect(PEOPLE, epsilon=2, delta=1e-6, queries=20, composition=composition)
    for query in QUERIES:
        price, before = db.explain(query).cost, db.balance
        answer = db.execute(query)
        assert answer.cost == price
        assert db.balance.epsilon_left == before.epsilon_left - price.epsilon
        assert db.balance.queries_left == before.queries_left - price.queries
    assert db.explain(QUERIES[0]).cost.queries == 0


def test_answers_are_those_of_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--teach", "--seed", "3", "--epsilon", "0.7", "--bounds", "income=0:90000.5"]
    statements = ";".join((*QUERIES, "SHOW BUDGET", "EXPLAIN SELECT SUM(age) FROM people"))
    shown = []
    for form, as_text in (("json", as_json), ("table", repr)):
        assert main([str(PEOPLE), *arguments, "--format", form, "-c", statements]) == 0
        db = dpdb.connect(PEOPLE, epsilon=0.7, bounds={"income": (0, 90000.5)}, teach=True, seed=3)
        answers = [db.execute(statement) for statement in statements.split(";")]
        separator = "\n" if form == "json" else "\n\n"
        assert capsys.readouterr().out == separator.join(map(as_text, answers)) + "\n"
        shown = answers
    assert not shown[0].private


def test_session_shows_its_tables_and_its_budget() -> None:
    db = dpdb.connect(PEOPLE, STUDENTS.with_suffix(".csv"))
    db.execute("SELECT COUNT(*) FROM people")
    assert repr(db) == "<Session on people, students: ε 0.9 of 1, 9 of 10 queries left>"


def test_threads_are_answered_one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two that ask the same together pay once, and so get one answer."""
    db = dpdb.connect(PEOPLE)
    inside, answer, execute = [], Event(), db._execute

    def noted(text: str, read: Any) -> dpdb.Answer:
        inside.append(text)
        assert answer.wait(60)
        return execute(text, read)

    monkeypatch.setattr(db, "_execute", noted)
    answers: list[dpdb.Answer] = []
    query = QUERIES[0]
    threads = [Thread(target=lambda: answers.append(db.execute(query))) for _ in range(3)]
    for thread in threads:
        thread.start()
    threads[-1].join(0.1)
    together = len(inside)
    answer.set()
    for thread in threads:
        thread.join()
    assert together == 1
    assert len({each.rows for each in answers}) == 1
    assert sorted(each.repeat for each in answers) == [False, True, True]
    assert db.balance.queries_left == 9


UNIT = (
    '[tables.{name}]\nunit = "id"\nkey = "k"\n[tables.{name}.columns]\nid = {{ type = "{kind}" }}\n'
)
KEY = 'k = { type = "integer" }\n'


def policy_file(folder: Path, name: str, kind: str, word: str | None = None) -> Path:
    """A table about a unit of that type, which the policy calls by a word."""
    (folder / f"{name}.csv").write_text("id,k\n1,2\n", encoding="utf-8")
    privacy = "" if word is None else f'[privacy]\nunit_name = "{word}"\n'
    path = folder / f"{name}.toml"
    path.write_text(privacy + UNIT.format(name=name, kind=kind) + KEY, encoding="utf-8")
    return path


def test_policies_that_are_joined_are_about_one_unit(tmp_path: Path) -> None:
    one, word = policy_file(tmp_path, "a", "text"), policy_file(tmp_path, "b", "text", "patient")
    assert policy_of(one, word).unit == policy_of(word, one).unit == "patient"
    assert policy_of(one).unit == "unit"
    with pytest.raises(dpdb.UsageError, match="what they call a unit"):
        policy_of(word, policy_file(tmp_path, "c", "text", "nurse"))
    with pytest.raises(dpdb.UsageError, match="the type of their units"):
        policy_of(one, policy_file(tmp_path, "d", "integer"))


def test_what_names_rows_has_no_bounds(tmp_path: Path) -> None:
    path = policy_file(tmp_path, "a", "integer")
    for column, said in (("id", "is the unit"), ("k", "names rows")):
        with pytest.raises(dpdb.UsageError, match=said):
            policy_of(path, bounds={column: (0, 9)})


@pytest.mark.parametrize("text", [
    "SELECT (SELECT SUM(a) FROM t) - (SELECT AVG(b) FROM t)",
    "SELECT COUNT(*) FROM t WHERE a > (SELECT AVG(b) FROM t)",
])  # fmt: skip
def test_the_price_of_a_repeat_is_nothing_where_the_number_of_rows_is_public(
    tmp_path: Path, text: str
) -> None:
    """A quote does not count rows, and so knew nothing of answers that were planned with n."""
    (tmp_path / "t.csv").write_text("a,b\n" + "3,1\n4,2\n" * 50)
    (tmp_path / "t.toml").write_text(
        '[privacy]\nneighbors = "replace"\n[tables.t.columns]\n'
        'a = { type = "integer", bounds = [0, 9] }\n'
        'b = { type = "integer", bounds = [0, 9], nullable = false }\n'
    )
    own = dpdb.connect(tmp_path / "t.toml")
    assert own.explain(text).cost == own.execute(text).cost != FREE
    assert own.explain(text).cost == own.execute(f"EXPLAIN {text}").cost == FREE
    assert own.execute(text).repeat
