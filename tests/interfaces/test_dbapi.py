"""DB-API 2.0: rows with their types, errors, closed connections, threads, and no refunds."""

from __future__ import annotations

import datetime
from pathlib import Path
from threading import Thread
from typing import Any

import pandas as pd
import pytest

import dpdb
from dpdb import dbapi

PEOPLE = Path(__file__).parents[2] / "sample_data" / "people.csv"
COUNT = "SELECT COUNT(*) FROM people WHERE age > ?"
TYPED = """\
SELECT zip, AVG(age) AS mean, COUNT(*) > 10 AS many, MAX(DATE '2020-01-02') AS day,
       TIMESTAMP '2020-01-02 03:04:05' AS at, 'x' AS word
FROM people GROUP BY zip LIMIT 2"""


@pytest.fixture
def connection() -> dbapi.Connection:
    return dbapi.connect(PEOPLE, epsilon=1, queries=10)


def test_rows_and_their_description(connection: dbapi.Connection) -> None:
    cursor = connection.cursor()
    assert (cursor.description, cursor.rowcount) == (None, -1)
    text = TYPED.replace("MAX(DATE '2020-01-02')", "DATE '2020-01-02'")
    rows = cursor.execute(text + ";").fetchall()
    assert cursor.rowcount == len(rows) == 2
    assert [type(cell) for cell in rows[0]] == [
        int, float, bool, datetime.date, datetime.datetime, str,
    ]  # fmt: skip
    assert rows[0][3:] == (datetime.date(2020, 1, 2), datetime.datetime(2020, 1, 2, 3, 4, 5), "x")
    assert cursor.description is not None
    names, types, *_, nullable = zip(*cursor.description, strict=True)
    assert names == ("zip", "mean", "many", "day", "at", "word")
    assert all(nullable)
    kinds = (dbapi.NUMBER, dbapi.NUMBER, None, dbapi.DATETIME, dbapi.DATETIME, dbapi.STRING)
    for kind in (dbapi.NUMBER, dbapi.DATETIME, dbapi.STRING, dbapi.BINARY, dbapi.ROWID):
        assert [each == kind for each in types] == [each is kind for each in kinds]


def test_statements_without_noise_have_rows(connection: dbapi.Connection) -> None:
    cursor = connection.cursor()
    assert cursor.execute("SHOW TABLES").fetchone() == ("people", 5, "row")
    assert [row[2] for row in cursor.execute("EXPLAIN " + COUNT, [30])] == ["laplace"]
    assert cursor.execute("SET epsilon = 0.2").fetchall() == [("epsilon", "0.2")]


def test_a_cursor_after_an_error_has_no_rows_of_before(connection: dbapi.Connection) -> None:
    cursor = connection.cursor()
    cursor.execute(COUNT, [30])
    with pytest.raises(dbapi.ProgrammingError):
        cursor.execute(COUNT, [])
    assert (cursor.description, cursor.rowcount) == (None, -1)
    for fetch in (cursor.fetchone, cursor.fetchmany, cursor.fetchall, cursor.__iter__):
        with pytest.raises(dbapi.ProgrammingError, match="no answer"):
            fetch()
    with pytest.raises(dbapi.NotSupportedError, match="executemany"):
        cursor.executemany(COUNT, [[1], [2]])


def test_an_interrupted_cursor_has_no_rows(
    connection: dbapi.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    cursor = connection.cursor().execute(COUNT, [30])

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(connection.session, "execute", interrupted)
    with pytest.raises(KeyboardInterrupt):
        cursor.execute(COUNT, [40])
    with pytest.raises(dbapi.ProgrammingError):
        cursor.fetchone()


@pytest.mark.parametrize(
    ("kind", "statement", "cause"),
    [
        ("ProgrammingError", "SELECT COUNT(* FROM people", dpdb.SyntaxFault),
        ("ProgrammingError", "SELECT COUNT(nope) FROM people", dpdb.UnknownName),
        ("ProgrammingError", "SET epsilon = 0", dpdb.InvalidOption),
        ("NotSupportedError", "INSERT INTO people VALUES (1)", dpdb.Unsupported),
        ("NotSupportedError", "SELECT name FROM people", dpdb.Unsupported),
        ("OperationalError", "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 2) COUNT(*) FROM people",
         dpdb.BudgetExceeded),
    ],
)  # fmt: skip
def test_errors_are_those_of_the_standard(
    connection: dbapi.Connection, kind: str, statement: str, cause: type[dpdb.DpdbError]
) -> None:
    with pytest.raises(dbapi.DatabaseError) as caught:
        connection.cursor().execute(statement)
    assert type(caught.value) is getattr(dbapi, kind) is getattr(connection, kind)
    assert isinstance(caught.value.__cause__, cause)
    assert str(caught.value).startswith(caught.value.__cause__.message)
    assert (caught.value.__cause__.hint or "") in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "arguments", "options"),
    [
        (dbapi.OperationalError, [PEOPLE.with_name("nobody.csv")], {}),
        (dbapi.InterfaceError, [], {}),
        (dbapi.ProgrammingError, [PEOPLE], {"epsilon": 0}),
    ],
)
def test_a_connection_that_cannot_be_made(
    kind: type[dbapi.Error], arguments: list[Any], options: dict[str, Any]
) -> None:
    with pytest.raises(kind):
        dbapi.connect(*arguments, **options)


def test_closed_connections_and_cursors_answer_nothing(connection: dbapi.Connection) -> None:
    cursor, other = connection.cursor().execute(COUNT, [30]), connection.cursor()
    other.close()
    with pytest.raises(dbapi.InterfaceError, match="the cursor is closed"):
        other.execute(COUNT, [30])
    session = connection.session
    connection.close()
    for act in (cursor.fetchone, lambda: cursor.execute(COUNT, [30]), connection.commit,
                connection.rollback, connection.cursor, connection.close):  # fmt: skip
        with pytest.raises(dbapi.InterfaceError, match="the connection is closed"):
            act()
    with pytest.raises(dpdb.UsageError, match="closed"):
        session.execute(COUNT, [30])


def test_a_session_outlives_the_connections_that_are_lent() -> None:
    db = dpdb.connect(PEOPLE)
    for _ in range(2):
        with dbapi.Connection(db) as lent:
            lent.cursor().execute(COUNT, [30])
    assert db.balance.queries_left == 9


def test_a_rollback_gives_nothing_back(connection: dbapi.Connection) -> None:
    connection.cursor().execute(COUNT, [30])
    left = connection.session.balance
    connection.rollback()
    connection.commit()
    assert connection.session.balance == left
    assert left.queries_left == 9


def test_threads_with_cursors_of_their_own_get_their_own_rows(
    connection: dbapi.Connection,
) -> None:
    """The same question is paid for once; eight others are paid for one by one."""
    rows: dict[int, Any] = {}

    def ask(number: int) -> None:
        cursor = connection.cursor()
        cursor.execute("SELECT COUNT(*), ? FROM people WHERE age > ?", [number, number % 4])
        rows[number] = cursor.fetchall()

    threads = [Thread(target=ask, args=[number]) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {number: row[0][1] for number, row in rows.items()} == {n: n for n in range(8)}
    assert all(rows[number][0][0] == rows[number + 4][0][0] for number in range(4))
    assert connection.session.balance.queries_left == 10 - 4


def test_pandas_reads_from_a_connection(connection: dbapi.Connection) -> None:
    with pytest.warns(UserWarning, match="SQLAlchemy"):
        frame = pd.read_sql(COUNT + " AND zip = ?", connection, params=[30, 10025])
    assert list(frame.columns) == ["COUNT(*)"]
