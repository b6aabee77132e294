"""Sessions with parameters: repeats, plans, ledgers, analysts, and values that fight back."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

import dpdb
from dpdb.answers.formats.json_lines import as_json
from dpdb.interfaces.cli.main import main
from dpdb.policy.reading.reader import read_policy
from dpdb.session.session import Session
from tests.support.noiseless import Noiseless

COUNT = "SELECT COUNT(*) AS n FROM t WHERE "
TEXT, QUOTED = "O'Brien; -- ?", "'O''Brien; -- ?'"
LASTING = """
[budget]
name = "shop"
epsilon = 8
queries = 40
[budget.analysts]
alice = { epsilon = 4 }
bob = { epsilon = 4 }
"""
TABLES = """
[tables.t.columns]
a = { type = "integer", bounds = [0, 9] }
x = { type = "number", bounds = [0, 9] }
g = { type = "text", values = ["x", "y", "O'Brien; -- ?"] }
day = { type = "date" }
"""
ROWS = "a,x,g,day\n" + "5,0.5,x,2001-02-03\n3,1,y,\n,,y,2002-03-04\n" * 20


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "t.csv").write_text(ROWS, encoding="utf-8")
    (tmp_path / "t.toml").write_text(TABLES, encoding="utf-8")
    return tmp_path / "t.toml"


@pytest.fixture
def lasting(path: Path) -> Path:
    """The same table with a budget that lasts."""
    path.write_text(LASTING + TABLES, encoding="utf-8")
    assert main(["budget", "open", str(path)]) == 0
    return path


@pytest.fixture
def db(path: Path) -> Session:
    return dpdb.connect(path, epsilon=4, queries=8)


SAME = [
    (f"{COUNT}a > ?", [3], f"{COUNT}a > 3"),
    (f"{COUNT}a > :low AND g = {{g}}", {"low": 3, "g": TEXT}, f"{COUNT}a > 3 AND g = {QUOTED}"),
    (f"{COUNT}a IN ?", [[5, 3]], f"{COUNT}a IN (3, 5)"),
    (f"{COUNT}day = ?", [datetime.date(2001, 2, 3)], f"{COUNT}day = '2001-02-03'"),
    (f"{COUNT}a = ?", [3.0], f"{COUNT}a = 3"),
    ("SELECT g, COUNT(*) FROM t GROUP BY g LIMIT ?", [1], "SELECT g, COUNT(*) FROM t GROUP BY g LIMIT 1"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "values", "literal"), SAME)
def test_a_value_and_its_constant_are_one_question(
    db: Session, text: str, values: Any, literal: str
) -> None:
    for first, second in (((text, values), (literal, None)), ((literal, None), (text, values))):
        own = dpdb.connect(db.policy)
        bought, repeat = own.execute(*first), own.execute(*second)
        assert (bought.repeat, repeat.repeat) == (False, True)
        assert repeat.rows == bought.rows
        assert own.explain(*first).cost.epsilon == 0
        assert own.balance.queries_left == own.balance.budget.queries - 1


def test_other_values_are_other_questions(db: Session) -> None:
    """Values that Python holds for equal have different types, and the parse cache knows."""
    asked = [
        db.explain("SELECT COUNT(*), ? FROM t", [value]) for value in (1, True, 1.0, "1", None)
    ]
    written = ["1", "TRUE", "1.0", "'1'", "NULL"]
    assert [answer.statement.split()[2] for answer in asked] == written
    assert [answer.types[1] for answer in asked] == ["integer", "boolean", "number", "text", "text"]
    assert not db.execute(f"{COUNT}a > ?", [3]).repeat
    assert not db.execute(f"{COUNT}a > ?", [5]).repeat


def test_values_are_taken_when_they_are_given(db: Session) -> None:
    listed = [3]
    first = db.execute(f"{COUNT}a IN ?", [listed])
    listed.append(5)
    second = db.execute(f"{COUNT}a IN ?", [listed])
    assert (first.statement, second.statement) == (f"{COUNT}a IN (3)", f"{COUNT}a IN (3, 5)")
    assert not second.repeat


def test_answers_errors_and_ledgers_show_values(lasting: Path) -> None:
    session = Session(read_policy(lasting), analyst="alice")
    text = f"{COUNT}g = ? AND a > ?"
    answer = session.execute(text, [TEXT, 3])
    assert answer.statement == f"{COUNT}g = {QUOTED} AND a > 3"
    assert answer.statement in as_json(answer)
    [[_, recorded, _, _]] = session.execute("SHOW HISTORY").rows
    assert recorded == answer.statement
    again = Session(read_policy(lasting), analyst="alice")
    for asked in ((recorded,), (text, [TEXT, 3])):
        assert again.execute(*asked).repeat
        assert again.execute(*asked).rows == answer.rows
    with pytest.raises(dpdb.TypeMismatch) as caught:
        session.execute(text, ["x", "y"])
    assert caught.value.statement == text


def test_analysts_pay_for_values_as_for_constants(lasting: Path) -> None:
    Session(read_policy(lasting), analyst="alice").execute(f"{COUNT}a > ?", [3])
    bob = Session(read_policy(lasting), analyst="bob")
    costs = [bob.explain(f"{COUNT}a > 3").cost, bob.explain(f"{COUNT}a > ?", [3]).cost]
    assert costs[0] == costs[1] == bob.execute(f"{COUNT}a > ?", [3]).cost
    assert bob.execute(f"{COUNT}a > 3").repeat


def test_statements_are_planned_together_with_values(db: Session) -> None:
    texts = ["SELECT SUM(a) FROM t WHERE g = ?", "SELECT AVG(a) FROM t WHERE g = :g"]
    planned = db.plan([(texts[0], ["x"]), (texts[1], {"g": "x"}), "SELECT COUNT(*) FROM t"])
    literal = dpdb.connect(db.policy)
    assert planned.rows == literal.plan([
        "SELECT SUM(a) FROM t WHERE g = 'x'", "SELECT AVG(a) FROM t WHERE g = 'x'",
        "SELECT COUNT(*) FROM t",
    ]).rows  # fmt: skip
    assert db.balance.epsilon_left == 4
    assert db.execute("SELECT SUM(a) FROM t WHERE g = 'x'").cost.queries == 3
    assert db.execute(texts[1], {"g": "x"}).cost.epsilon == 0
    assert db.execute(texts[1], {"g": "y"}).cost.epsilon > 0


def test_statements_are_planned_together_with_their_epsilon(db: Session) -> None:
    text = "SELECT SUM(a) FROM t WHERE g = ?"
    average, own = "SELECT AVG(a) FROM t WHERE g = 'x'", {"epsilon": 0.2}
    db.plan([(text, ["x"], own), (average, None, own)])
    assert db.explain(text, ["x"]).cost.queries == 1
    assert db.explain(text, ["x"], epsilon=0.2).cost.queries == 2
    assert db.execute(text, ["x"], epsilon="0.2").cost.queries == 2
    assert db.execute(average, **own).cost.epsilon == 0
    with pytest.raises(dpdb.InvalidOption, match="between") as caught:
        db.plan([(text, ["y"], {"epsilon": 0})])
    assert caught.value.statement == text


@pytest.mark.parametrize(
    "statements",
    [
        "SELECT 1",
        [3],
        3,
        None,
        [(3, [3])],
        [("a", [1], 2)],
        {"a"},
        [()],
        [("a", [1], {"seed": 2})],
        [("a", [1], {}, 3)],
    ],
)
def test_what_cannot_be_planned_is_a_usage_error(db: Session, statements: Any) -> None:
    with pytest.raises(dpdb.UsageError, match="planned together") as caught:
        db.plan(statements)
    assert caught.value.hint is not None


class Listed:
    """A value that does what it is told when it is asked for its list, and may not be shown."""

    def __init__(self, act: Callable[[], Any]):
        self._act = act

    def tolist(self) -> Any:
        return self._act()

    def __repr__(self) -> str:
        raise AssertionError("it was shown")

    __str__ = __repr__


def test_values_that_raise_or_ask_are_refused_before_anything_is_paid(db: Session) -> None:
    def fail() -> None:
        raise ValueError("a secret")

    with pytest.raises(dpdb.InternalError) as caught:
        db.execute(f"{COUNT}a IN ?", [Listed(fail)])
    assert "secret" not in str(caught.value)
    with pytest.raises(dpdb.UsageError, match="its own thread"):
        db.execute(f"{COUNT}a IN ?", [Listed(lambda: [db.execute(f"{COUNT}a > 3").scalar()])])
    with pytest.raises(dpdb.TypeMismatch, match="type Listed"):
        db.execute(f"{COUNT}a IN ?", [Listed(lambda: Listed(fail))])

    def interrupted() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        db.execute(f"{COUNT}a IN ?", [Listed(interrupted)])
    assert db.balance.queries_left == 8
    assert db.execute(f"{COUNT}a IN ?", [Listed(lambda: [3])]).cost.queries == 1


def test_nothing_but_noisy_values_depends_on_rows(path: Path) -> None:
    shown = []
    for rows in (ROWS, "a,x,g,day\n9,9,x,1999-01-01\n"):
        path.with_suffix(".csv").write_text(rows, encoding="utf-8")
        db = Session(read_policy(path), noise=Noiseless())
        told: list[object] = []
        for asked, values, _ in SAME:
            told += [as_json(db.explain(asked, values)), db.execute(asked, values).cost]
            told.append(tuple(map(str, db.execute(asked, values).df().dtypes)))
        for values in ([], [1, 2], [object()], [[1]], ["x"]):
            with pytest.raises(dpdb.DpdbError) as caught:
                db.execute(f"{COUNT}a > ?", values)
            told.append((caught.value.message, caught.value.hint, caught.value.place))
        shown.append(told)
    assert shown[0] == shown[1]


def test_epsilon_and_delta_are_options_of_a_select(db: Session) -> None:
    answer = db.execute(f"{COUNT}a > ?", [3], epsilon=0.2)
    assert answer.cost.epsilon == Fraction(1, 5)
    assert db.explain(f"{COUNT}a > 5", epsilon="0.3", delta=0).cost.epsilon == Fraction(3, 10)
    written = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 0.2) COUNT(*) FROM t WHERE a > 3"
    assert db.execute(written).repeat
    for arguments, fragment in (
        ({"epsilon": 0}, "between"),
        ({"epsilon": "much"}, "is a number"),
        ({"epsilon": True}, "is a number"),
        ({"delta": 1}, "below 1"),
    ):
        with pytest.raises(dpdb.InvalidOption, match=fragment):
            db.execute(f"{COUNT}a > 1", **arguments)
    with pytest.raises(dpdb.InvalidOption, match="given twice"):
        db.execute(written, epsilon=0.2)
    with pytest.raises(dpdb.InvalidOption, match="exclude each other"):
        db.execute(written.replace("epsilon = 0.2", "error = 3"), epsilon=0.2)
    with pytest.raises(dpdb.Unsupported, match="only a SELECT"):
        db.execute("SHOW BUDGET", epsilon=0.2)
    assert db.balance.epsilon_left == 4 - Fraction(1, 5)


def test_sql_is_execute_and_explain_costs_nothing(db: Session) -> None:
    explained = db.explain(f"{COUNT}a > ?", [3])
    assert explained.explain
    assert as_json(explained) == as_json(db.explain(f"EXPLAIN {COUNT}a > ?", [3])).replace(
        "EXPLAIN ", ""
    )
    assert db.sql(f"{COUNT}a > ?", [3]).cost == explained.cost
    assert db.balance.queries_left == 7


def test_a_closed_session_answers_nothing(path: Path) -> None:
    with dpdb.connect(path) as db:
        answer = db.execute("SELECT COUNT(*) FROM t")
    for ask in (db.execute, db.explain, db.quote, lambda text: db.plan([text])):
        with pytest.raises(dpdb.UsageError, match="the session is closed") as caught:
            ask("SELECT COUNT(*) FROM t")
        assert caught.value.hint is not None
    db.close()
    assert "queries left" in repr(db)
    assert answer.intervals
    assert db._loaded_engine is None


def test_closing_waits_for_the_answer_of_another_thread(
    db: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside, go, execute = Event(), Event(), db._execute

    def held(*arguments: Any) -> dpdb.Answer:
        inside.set()
        assert go.wait(60)
        return execute(*arguments)

    monkeypatch.setattr(db, "_execute", held)
    answers: list[dpdb.Answer] = []
    asking = Thread(target=lambda: answers.append(db.execute("SELECT COUNT(*) FROM t")))
    asking.start()
    assert inside.wait(60)
    closing = Thread(target=db.close)
    closing.start()
    closing.join(0.1)
    assert closing.is_alive()
    go.set()
    asking.join()
    closing.join()
    assert len(answers) == 1
    with pytest.raises(dpdb.UsageError, match="closed"):
        db.execute("SELECT COUNT(*) FROM t")


def test_a_table_of_an_answer_has_the_values_that_it_was_asked_with(db: Session) -> None:
    table = "CREATE TEMP TABLE v AS SELECT g, COUNT(*) AS n FROM t WHERE a > ? GROUP BY g"
    assert db.explain(table, [3]).cost.queries == 1
    with pytest.raises(dpdb.UnknownName, match="no table v"):
        db.execute("SELECT SUM(n) FROM v")
    made = db.execute(table, [3])
    assert made.statement == table.replace("?", "3")
    total = db.execute("SELECT SUM(n) FROM v WHERE g = ?", ["x"])
    assert (total.scalar(), total.cost.queries) == (dict(made.rows)["x"], 0)
    with pytest.raises(dpdb.DpdbError):
        db.execute(table.replace("TABLE v", "TABLE ?"), ["w", 3])


def test_answers_of_a_session_have_their_values(db: Session, lasting: Path) -> None:
    own = dpdb.connect(lasting, analyst="alice")
    for each in (db, own):
        bought = each.execute(f"{COUNT}g = ? AND a > ?", [TEXT, 3])
        each.execute(f"{COUNT}g = :g AND a > 3", {"g": TEXT})
        [given] = each.answers()
        assert (given.statement, given.rows, given.cost) == (
            bought.statement, bought.rows, bought.cost,
        )  # fmt: skip
