"""Tables that differ in labels alone, or in all but labels, are told apart wherever they stand.

Each statement is asked of SQLite, too, which knows nothing of what was asked before.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dpdb.engines.memory import MemoryEngine
from dpdb.errors import SyntaxFault, Unsupported
from dpdb.plan.physical.plan import Plan
from dpdb.plan.planner import plan
from dpdb.policy.catalog import Policy
from dpdb.policy.reading.reader import read_policy
from dpdb.privacy.accounting.accountants import BudgetShare
from dpdb.session import budget_overview
from dpdb.session.session import Session
from dpdb.sql.selects.statements import Select, statement
from tests.support.exactly import raw_of
from tests.support.lasting import book_of, folder_in_memory, opened_shop, verify
from tests.support.noiseless import Noiseless

POLICY = """
[budget]
{name}
epsilon = 10_000
queries = 200
[privacy]
unit_name = "person"
[tables.t]
unit = "p"
rows_per_unit = 4
[tables.t.columns]
p = {{ type = "integer" }}
a = {{ type = "integer", bounds = [0, 900] }}
b = {{ type = "integer", bounds = [0, 3] }}
"""
ROWS = [(p, 300 + p * p + 7 * n, (p + n) % 4) for p in range(8) for n in range(1 + p % 3)]
TABLES = {
    "per unit": "(SELECT p, SUM(a) AS {}, SUM(b) AS {} FROM t GROUP BY p)",
    "union": "(SELECT p, a AS {}, b AS {} FROM t UNION ALL SELECT p, a + 1, b FROM t WHERE b > 1)",
    "windows": "(SELECT p, MAX(a) OVER (PARTITION BY p) AS {}, MAX(b) OVER (PARTITION BY p) AS {} FROM t)",
    "union of units": "(SELECT p, SUM(a) AS {}, SUM(b) AS {} FROM t GROUP BY p UNION ALL SELECT p, MAX(a), MAX(b) FROM t GROUP BY p)",
    "rows of groups": "(SELECT p, x AS {}, y AS {} FROM (SELECT p, SUM(a) AS x, SUM(b) AS y FROM t GROUP BY p) WHERE y > 0)",
    "windows over groups": "(SELECT p, SUM(x) OVER (PARTITION BY p) AS {}, SUM(y) OVER (PARTITION BY p) AS {} FROM (SELECT p, SUM(a) AS x, SUM(b) AS y FROM t GROUP BY p))",
}  # fmt: skip
ASKED = {
    "FROM": "SELECT SUM(x) FROM {} s",
    "FILTER": "SELECT SUM(x) FILTER (WHERE x > 1), COUNT(*) FILTER (WHERE x < 3) FROM {} s",
    "WITH": "WITH s AS {} SELECT SUM(x), COUNT(*) FROM s WHERE x > 1",
    "EXISTS": "SELECT COUNT(*) FROM t WHERE EXISTS (SELECT 1 FROM {} s WHERE s.p = t.p AND s.x > 1)",
    "NOT EXISTS": "SELECT COUNT(*) FROM t WHERE NOT EXISTS (SELECT 1 FROM {} s WHERE s.p = t.p AND s.x > 1)",
    "IN": "SELECT SUM(a) FROM t WHERE p IN (SELECT p FROM {} s WHERE s.x > 1)",
    "JOIN": "SELECT COUNT(*) FROM t JOIN {} s ON s.p = t.p WHERE s.x > 1",
    "scalar": "SELECT COUNT(*) FROM t WHERE a > (SELECT AVG(x) FROM {} s)",
}


def labelled(table: str, one: str, other: str) -> str:
    return TABLES[table].format(one, other)


@pytest.fixture(scope="module")
def sqlite() -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE t (p INTEGER, a INTEGER, b INTEGER)")
    connection.executemany("INSERT INTO t VALUES (?, ?, ?)", ROWS)
    yield connection
    connection.close()


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Policy:
    folder = tmp_path_factory.mktemp("identity")
    (folder / "t.csv").write_text(csv())
    (folder / "t.toml").write_text(POLICY.format(name=""))
    return read_policy(folder / "t.toml")


@pytest.fixture
def lasting() -> Iterator[Path]:
    with opened_shop(POLICY.format(name='name = "labels"'), csv()) as path:
        yield path


def csv() -> str:
    return "p,a,b\n" + "".join(f"{p},{a},{b}\n" for p, a, b in ROWS)


def truth(sqlite: sqlite3.Connection, text: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in sqlite.execute(text)]


def told(session: Session, text: str) -> tuple[list[tuple[Any, ...]], bool]:
    """The rows of an answer, and whether it repeats another."""
    answer = session.execute(text)
    return [tuple(row) for row in answer.rows], answer.repeat


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("table", TABLES)
def test_labels_exchanged_are_another_question_and_labels_renamed_the_same(
    sqlite: sqlite3.Connection, policy: Policy, table: str, asked: str
) -> None:
    session = Session(policy, noise=Noiseless())
    for first, second in (("x", "y"), ("y", "x")):
        text = ASKED[asked].format(labelled(table, first, second))
        assert told(session, text) == (truth(sqlite, text), False)
    # The name of the column that is not read is nobody's business, nor is that of the other.
    for first, second in (("x", "other"), ("z", "x")):
        text = ASKED[asked].format(labelled(table, first, second))
        assert told(session, text) == (truth(sqlite, text), True)


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("asked", [
    "SELECT SUM(s.x), SUM(u.x) FROM {} s JOIN {} u ON s.p = u.p",
    "SELECT COUNT(*) FROM {} s WHERE s.x > 1 AND p IN (SELECT p FROM {} u WHERE u.x > 1)",
    "SELECT COUNT(*) FROM {} s WHERE EXISTS (SELECT 1 FROM {} u WHERE u.p = s.p AND u.x > s.x)",
    "SELECT COUNT(*) FROM t WHERE p IN (SELECT p FROM {} u WHERE u.x > 1) OR p IN (SELECT p FROM {} v WHERE v.x > 1)",
    "SELECT SUM(x) FROM (SELECT x FROM {} s UNION ALL SELECT x FROM {} u)",
])  # fmt: skip
def test_two_tables_of_one_statement_are_told_apart(
    sqlite: sqlite3.Connection, policy: Policy, table: str, asked: str
) -> None:
    session = Session(policy, noise=Noiseless())
    exchanged = labelled(table, "x", "y"), labelled(table, "y", "x")
    for one, other in (exchanged, exchanged[::-1], (exchanged[0],) * 2, (exchanged[1],) * 2):
        text = asked.format(one, other)
        assert told(session, text)[0] == truth(sqlite, text)


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("table", TABLES)
def test_statements_are_planned_together_by_structure(
    sqlite: sqlite3.Connection, policy: Policy, table: str, asked: str
) -> None:
    """Each is answered from its own rows, and by its own bounds."""
    session = Session(policy, noise=Noiseless())
    labels = ("x", "y"), ("y", "x"), ("x", "z")
    texts = [ASKED[asked].format(labelled(table, *each)) for each in labels]
    session.plan(texts)
    alone = [Session(policy).execute(f"EXPLAIN {text}").releases for text in texts]
    for text, own in zip(texts, alone, strict=True):
        answer = session.execute(text)
        assert [tuple(row) for row in answer.rows] == truth(sqlite, text)
        if asked == "FROM":
            assert [each.sensitivity for each in answer.releases] == [e.sensitivity for e in own]


@pytest.mark.parametrize("asked", ["FROM", "EXISTS", "IN", "JOIN"])
@pytest.mark.parametrize("table", TABLES)
def test_in_a_ledger_neither_is_made_of_the_other(
    sqlite: sqlite3.Connection, lasting: Path, table: str, asked: str
) -> None:
    """At a little more ε a release is refined from one of the same, at full price from no other."""
    spent = 0
    for epsilon, labels, more in (
        (2000, ("x", "y"), 2000), (2100, ("y", "x"), 2100), (2150, ("x", "u"), 150), (2175, ("v", "x"), 75),
    ):  # fmt: skip
        question = ASKED[asked].format(labelled(table, *labels))
        options = f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = {epsilon})"
        text = question.replace("SELECT", options, 1)
        ((value,),), repeat = told(Session(read_policy(lasting)), text)
        ((exact,),) = truth(sqlite, question)
        assert (abs(value - exact) < 100, repeat) == (True, False)
        spent += more
        assert verify(book_of(lasting))[-1].entry.totals.loss.epsilon == spent
        assert told(Session(read_policy(lasting)), text) == ([(value,)], True)


def test_a_batch_is_answered_by_the_bounds_that_its_releases_declare(tmp_path: Path) -> None:
    """One order of 734512: its sum, and the number of orders, under one label."""
    (tmp_path / "o.csv").write_text("cust,amt\n1,734512\n")
    (tmp_path / "o.toml").write_text(
        '[budget]\nepsilon = 2\nqueries = 10\n[tables.o]\nunit = "cust"\nrows_per_unit = 3\n'
        '[tables.o.columns]\ncust = { type = "integer" }\n'
        'amt = { type = "integer", bounds = [0, 1_000_000] }\n'
    )
    read = "SELECT SUM(v) FROM (SELECT cust, SUM(amt) AS {}, COUNT(*) AS {} FROM o GROUP BY cust) k"
    texts = [read.format("v", "w"), read.format("w", "v")]
    session = Session(read_policy(tmp_path / "o.toml"), noise=Noiseless())
    session.plan(texts)
    answers = [session.execute(text) for text in texts]
    assert [answer.rows for answer in answers] == [((734512,),), ((1,),)]
    assert [answer.releases[0].sensitivity for answer in answers] == [3_000_000, 3]


def test_messages_name_columns_as_the_statement_does(policy: Policy) -> None:
    """Also where the filter of another statement, which is the same, was read before."""
    for label in ("x", "amount"):
        text = f"SELECT COUNT(*) FROM (SELECT p, SUM(b) AS {label} FROM t GROUP BY p) WHERE {label} > 99"
        ((note, *_),) = [Session(policy).execute(text).notes]
        assert f"no row can match the filter on {label}" in note


def test_a_sum_is_clamped_at_the_release(policy: Policy) -> None:
    """Whatever rows an engine is given: no row adds more than the noise is for."""
    plans = [planned(f"SELECT SUM(x) FROM {labelled('per unit', *each)} s", policy)
             for each in (("x", "y"), ("y", "x"))]  # fmt: skip
    of_a, of_b = plans
    mixed = replace(of_b, table=of_a.table, releases=(with_column(of_b, "a1"),))
    (release,) = mixed.releases
    persons = len({p for p, *_ in ROWS})
    ((most,),) = raw_of(mixed, MemoryEngine())
    assert most == persons * release.statistic.grid.upper  # type: ignore[union-attr]


def planned(text: str, policy: Policy) -> Plan:
    read = statement(text, policy)
    assert isinstance(read, Select)
    return plan(read.query, policy, BudgetShare(1), lambda _: 0)  # type: ignore[arg-type]


def with_column(of: Plan, name: str) -> Any:
    """The release of a plan with a column of another name, whose bounds it declares."""
    (release,) = of.releases
    argument: Any = release.statistic.argument  # type: ignore[union-attr]
    column = replace(argument.column, name=name)
    return replace(
        release, statistic=replace(release.statistic, argument=replace(argument, column=column))
    )  # type: ignore[type-var]


SHOP = Path("sample_data/shop/shop.toml")
HIDDEN = (
    "SELECT COUNT(*) FROM (SELECT c.id AS k FROM customers c JOIN (SELECT customer_id, COUNT(*) AS"
    " {name} FROM orders GROUP BY customer_id) s ON s.customer_id = c.id GROUP BY c.id, s.{name}"
    " HAVING s.{name} >= 1) t WHERE (SELECT COUNT(*) FROM orders o WHERE o.customer_id = t.k"
    " AND o.amount > 499) >= 0"
)


@pytest.mark.parametrize("name", ["count", "n", "customer_id", "sum"])
def test_a_key_that_is_not_selected_has_a_name_of_its_own(name: str) -> None:
    """HAVING read a column of the table that is attached, of which both were called the same."""
    named = HIDDEN.format(name=name) if name != "customer_id" else HIDDEN.format(name='"orders.id"')
    assert told(Session(read_policy(SHOP), noise=Noiseless()), named)[0] == [(1421,)]


@pytest.mark.parametrize("looked", [
    "EXISTS (SELECT 1 FROM orders p WHERE p.customer_id = c.id AND p.amount > 499)",
    "c.id IN (SELECT customer_id FROM orders WHERE amount > 499)",
    "o.amount > (SELECT AVG(p.amount) FROM orders p WHERE p.customer_id = c.id)",
    "EXISTS (SELECT 1 FROM products q WHERE q.price > o.amount)",
    "c.region IN (SELECT id FROM regions WHERE id > 1)",
])  # fmt: skip
def test_what_is_looked_up_in_on(looked: str) -> None:
    """In ON of an inner join it is a condition as in WHERE; in that of an outer join it is none."""
    session = Session(read_policy(SHOP), noise=Noiseless())
    read = "SELECT COUNT(*) FROM customers c {} JOIN orders o ON o.customer_id = c.id {} {}"
    inner = told(session, read.format("", "AND", looked))
    assert inner[0] == told(session, read.format("", "WHERE", looked))[0]
    with pytest.raises(Unsupported, match="the ON of a LEFT JOIN looks into no further table"):
        session.execute(read.format("LEFT", "AND", looked))
    for outer in ("RIGHT", "FULL"):
        with pytest.raises(Unsupported):
            session.execute(read.format(outer, "AND", looked))


def test_tables_that_share_a_column_s_name_are_found_again() -> None:
    """What a subquery reads under the name of another column is read by later sessions, too."""
    text = "SELECT COUNT(*) FROM t WHERE amt > (SELECT AVG(amt) FROM b)"
    with folder_in_memory() as folder:
        for name in ("t", "b"):
            (folder / f"{name}.csv").write_text("amt\n" + "1\n3\n5\n" * 20)
        path = folder / "t.toml"
        path.write_text(
            '[budget]\nname = "two"\nepsilon = 5\nqueries = 9\n'
            '[tables.t.columns]\namt = { type = "integer", bounds = [0, 9] }\n'
            '[tables.b.columns]\namt = { type = "integer", bounds = [0, 5] }\n'
        )
        budget_overview.open_budget(read_policy(path))
        first, second = (Session(read_policy(path)).execute(text) for _ in range(2))
    assert (first.repeat, second.repeat, second.cost.epsilon) == (False, True, 0)
    assert first.rows == second.rows


@pytest.mark.parametrize("halves", ["\ud83d\ude00", "\ud83d", "\ud83d\\ude00"])
def test_halves_of_a_character_are_not_taken_for_it(tmp_path: Path, halves: str) -> None:
    """In JSON, by which things are known, two halves are written as the character is."""
    (tmp_path / "t.csv").write_text("s\n" + "\U0001f600\n" * 50)
    (tmp_path / "t.toml").write_text('[tables.t.columns]\ns = { type = "text" }\n')
    own = Session(read_policy(tmp_path / "t.toml"), noise=Noiseless())
    with pytest.raises(SyntaxFault, match="half of a surrogate pair"):
        own.execute(f"SELECT COUNT(*) FROM t WHERE s = '{halves}'")
    assert told(own, "SELECT COUNT(*) FROM t WHERE s = '\U0001f600'") == ([(50,)], False)
    assert told(own, "SELECT COUNT(*) FROM t WHERE s = '\udc80'") == ([(0,)], False)
