"""Statements by psql, psycopg and asyncpg: what is answered, told and paid."""

from __future__ import annotations

import asyncio
import csv
import datetime
from decimal import Decimal

import asyncpg
import psycopg
import pytest

from dpdb.server.postgres import held
from dpdb.server.postgres.connection import Connection
from tests.server.postgres.wired import Wired

COUNT = "SELECT COUNT(*) AS n FROM people WHERE age > {} AND name = {}"


def test_several_statements_end_at_the_first_error_whose_place_psql_shows(wired: Wired) -> None:
    first = "SELECT COUNT(*) FROM visits"
    printed = wired.psql(f"{first}; SELECT COUNT(nam) FROM people; {first} WHERE ward = 'a'")
    assert printed.code == 1
    assert printed.out.count("(1 row)") == 1
    lines = printed.err.splitlines()
    place = next(i for i, line in enumerate(lines) if line.startswith("LINE 1: "))
    assert lines[place][lines[place + 1].index("^") :].startswith("nam)")
    assert "HINT:  did you mean name?" in lines


def test_an_error_has_the_state_of_postgresql(wired: Wired) -> None:
    states = {
        "SELECT COUNT(*) FROM nothing": "42P01",
        "SELECT COUNT(nam) FROM people": "42703",
        "SELECT COUNT(nofun(age)) FROM people": "42883",
        "SELECT * FROM people": "0A000",
        "SELECT COUNT(*) FRM people": "42601",
        "SELECT COUNT(*) FROM people WHERE age = 'x'": "42804",
        "SET nothing = 1": "42704",
        "COPY people TO STDOUT": "0A000",
        "LISTEN here": "0A000",
        "INSERT INTO people VALUES (1)": "0A000",
        "SET client_encoding = 'LATIN1'": "22023",
    }
    with wired.connect() as connection:
        for text, state in states.items():
            with pytest.raises(psycopg.Error) as refused:
                connection.execute(text)
            assert refused.value.sqlstate == state, text
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_a_transaction_has_the_states_of_one_and_gives_nothing_back(wired: Wired) -> None:
    states = psycopg.pq.TransactionStatus
    text = "SELECT COUNT(*) FROM people WHERE age < 21"
    with psycopg.connect(wired.address()) as connection:
        (first,) = connection.execute(text).fetchone()
        assert connection.info.transaction_status == states.INTRANS
        with pytest.raises(psycopg.Error):
            connection.execute("SELECT nam FROM people")
        assert connection.info.transaction_status == states.INERROR
        with pytest.raises(psycopg.errors.InFailedSqlTransaction):
            connection.execute(text)
        connection.rollback()
        assert connection.info.transaction_status == states.IDLE
        with connection.transaction(), connection.transaction():
            assert connection.execute(text).fetchone() == (first,)
    with wired.connect() as connection:
        before = connection.execute("SHOW BUDGET").fetchall()
        connection.execute(text)
        assert connection.execute("SHOW BUDGET").fetchall() == before


def test_psycopg_describes_before_it_asks_and_sends_typed_values(wired: Wired) -> None:
    with wired.connect() as connection:
        first = connection.execute("SELECT COUNT(*) AS n FROM people WHERE age > 30")
        assert [each.name for each in first.description] == ["n"]
        assert first.description[0].type_code == 20
        (told,) = first.fetchone()
        for binary in (False, True):
            cursor = connection.cursor(binary=binary)
            again = cursor.execute("SELECT COUNT(*) AS n FROM people WHERE age > %s", [30])
            assert again.fetchall() == [(told,)]
        for value in (30, "30", 30.0, Decimal(30)):
            cursor.execute("SELECT COUNT(*) AS n FROM people WHERE age > %s", [value])
            assert cursor.fetchall() == [(told,)]
        with pytest.raises(psycopg.Error) as refused:
            connection.execute("SELECT COUNT(*) FROM people WHERE age > %s", ["old"])
        assert refused.value.sqlstate == "22P02"


def test_psycopg_reads_rows_in_parts_and_prepares(wired: Wired) -> None:
    with wired.connect() as connection:
        text = "SELECT zip, COUNT(*) AS n FROM people WHERE age > %s GROUP BY zip"
        rows = [connection.execute(text, [25], prepare=True).fetchall() for _ in range(2)]
        assert rows[0] == rows[1]
        assert [key for key, _ in rows[0]] == [31643, 80127]


def test_cursors_go_forward_and_end_with_their_transaction(wired: Wired) -> None:
    """DECLARE is paid once, fetches are free, and an error is at its place."""
    text = "SELECT zip, COUNT(*) AS n FROM people WHERE age > %s GROUP BY zip"
    with psycopg.connect(wired.address()) as connection:
        rows = connection.execute(text, [36]).fetchall()
        connection.commit()
        asked = len(wired.desk.executed())
        for form in (False, True):
            with connection.cursor("c", binary=form) as cursor:
                cursor.itersize = 1
                described = cursor.execute(text, [36]).description
                assert [each.name for each in described] == ["zip", "n"]
                assert [*cursor] == rows
        assert len(wired.desk.executed()) == asked + 2
        connection.execute("DECLARE one CURSOR FOR SELECT zip FROM people GROUP BY zip")
        assert connection.execute("FETCH NEXT FROM one").fetchall() == [(31643,)]
        moved = connection.execute("MOVE ALL IN one")
        assert (moved.statusmessage, connection.execute("FETCH one").fetchall()) == ("MOVE 1", [])
        connection.execute('DECLARE "Two" NO SCROLL CURSOR WITH HOLD FOR SELECT 1')
        with pytest.raises(psycopg.errors.DuplicateCursor):
            connection.execute('DECLARE "Two" CURSOR FOR SELECT 1')
        connection.rollback()
        for gone in ("one", '"Two"'):
            with pytest.raises(psycopg.errors.InvalidCursorName):
                connection.execute(f"FETCH 1 FROM {gone}")
            connection.rollback()
        with pytest.raises(psycopg.Error) as refused:
            connection.execute("DECLARE c CURSOR FOR SELECT COUNT(nam) FROM people")
        assert refused.value.diag.statement_position == "35"
    with wired.connect() as connection:
        asked = len(wired.desk.executed())
        for wrong, state in {
            "DECLARE c CURSOR FOR SELECT COUNT(*) FROM people": "25P01",
            "DECLARE c BINARY CURSOR WITH HOLD FOR SELECT 1": "0A000",
            "DECLARE c CURSOR WITH HOLD FOR SHOW BUDGET": "42601",
            "FETCH PRIOR FROM c": "0A000",
            "CLOSE c": "34000",
        }.items():
            with pytest.raises(psycopg.Error) as refused:
                connection.execute(wrong)
            assert refused.value.sqlstate == state, wrong
        assert len(wired.desk.executed()) == asked
        connection.execute("DECLARE c CURSOR WITH HOLD FOR SELECT 1 AS one")
        assert connection.execute("FETCH ALL FROM c").fetchall() == [(1,)]
        assert connection.execute("CLOSE ALL").statusmessage == "CLOSE CURSOR ALL"


def test_rows_of_cursors_are_bounded(wired: Wired, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their cells, labels and names: each is text that stays in the server's memory."""
    monkeypatch.setattr(held, "MOST_WAITING_BYTES", 500)
    long = "x" * 500
    with wired.connect() as connection:
        connection.execute("DECLARE a CURSOR WITH HOLD FOR SELECT 1 AS a, 2 AS b, 3 AS c")
        for name, select in (
            ("b", "SELECT 1 AS a, 2 AS b, 3 AS c"),
            ("c", f"SELECT 1 AS {long}"),
            (long, "SELECT 1"),
        ):
            with pytest.raises(psycopg.Error) as refused:
                connection.execute(f"DECLARE {name} CURSOR WITH HOLD FOR {select}")
            assert refused.value.sqlstate == "53400"


def test_a_text_of_many_fetches_waits_for_its_client(
    wired: Wired, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Eight characters ask for a label of 90,000; what is not taken stays little."""
    waiting, send = list[int](), Connection._send

    def noted(self: Connection, part: bytes) -> None:
        send(self, part)
        waiting.append(self.writer.transport.get_write_buffer_size())

    monkeypatch.setattr(Connection, "_send", noted)
    declared = f'DECLARE c CURSOR WITH HOLD FOR SELECT 1 AS "{"x" * 90_000}"'
    with wired.connect() as connection:
        connection.execute(declared)
        connection.execute("FETCH c;" * 200)
    assert len(waiting) > 400
    assert max(waiting) < 2**20


def test_psql_fetches_some_rows_at_a_time(wired: Wired) -> None:
    text = "SELECT zip, name, COUNT(*) FROM people GROUP BY zip, name"
    whole, parts = wired.psql(text), wired.psql("\\set FETCH_COUNT 3", text)
    assert parts.out == whole.out
    assert "(4 rows)" in whole.out


def test_an_answer_is_copied_in_each_format(wired: Wired) -> None:
    """Once it is paid: psql, ConnectorX and psycopg read it so."""
    text = "SELECT zip, name, COUNT(*) AS n FROM people GROUP BY zip, name"
    with wired.connect() as connection:
        rows = connection.execute(text).fetchall()
        paid = connection.execute("SHOW BUDGET").fetchall()
        for form in ("text", "binary"):
            with connection.cursor().copy(f"COPY ({text}) TO STDOUT (FORMAT {form})") as copy:
                copy.set_types(["int8", "text", "int8"])
                assert [*copy.rows()] == rows
        with connection.cursor().copy(f"COPY ({text}) TO STDOUT WITH CSV HEADER") as copy:
            lines = b"".join(bytes(each) for each in copy).decode().splitlines()
        assert [*csv.reader(lines)] == [["zip", "name", "n"], *([*map(str, row)] for row in rows)]
        assert connection.execute("SHOW BUDGET").fetchall() == paid
        odd = "SELECT 'a,\"b' AS x, '' AS y, NULL AS z, 'c\\d' AS w, TRUE AS t"
        for form, expected in (
            ("csv", '"a,""b","",,c\\d,t\n'),
            ("text", 'a,"b\t\t\\N\tc\\\\d\tt\n'),
        ):
            with connection.cursor().copy(f"COPY ({odd}) TO STDOUT (FORMAT {form})") as copy:
                assert b"".join(bytes(each) for each in copy).decode() == expected
        with pytest.raises(psycopg.Error) as refused:
            connection.execute("COPY (SELECT COUNT(nam) FROM people) TO STDOUT")
        assert refused.value.diag.statement_position == "20"
        for wrong in ("COPY people TO STDOUT", "COPY (SELECT 1) TO STDOUT (DELIMITER ';')",
                      "COPY people FROM STDIN", "COPY (SELECT 1) TO '/tmp/x'"):  # fmt: skip
            with pytest.raises(psycopg.errors.FeatureNotSupported):
                connection.execute(wrong)
    printed = wired.psql(f"\\copy ({text}) TO STDOUT CSV")
    assert printed.out.splitlines() == lines[1:]


def test_psqlodbc_declares_and_rolls_back(wired: Wired) -> None:
    """The texts of psqlODBC 13 with Use Declare/Fetch."""
    select = 'BEGIN;declare "SQL_CUR0x1" cursor with hold for SELECT COUNT(*) FROM visits;'
    with wired.connect() as connection:
        for end in ('close "SQL_CUR0x1";commit', "ROLLBACK"):
            told = connection.pgconn.exec_(f'{select}fetch 2 in "SQL_CUR0x1"'.encode())
            assert told.ntuples == 1
            connection.pgconn.exec_(end.encode())
            assert connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE


def test_asyncpg_is_told_types_of_values_and_columns(wired: Wired) -> None:
    async def ask() -> None:
        connection = await asyncpg.connect(wired.address(), ssl=False)
        statement = await connection.prepare(COUNT.format("$1", "$2"))
        before = len(wired.desk.executed())
        assert [each.name for each in statement.get_parameters()] == ["int8", "text"]
        assert [(each.name, each.type.name) for each in statement.get_attributes()] == [
            ("n", "int8")
        ]
        assert len(wired.desk.executed()) == before
        told = await statement.fetchval(30, "Abel")
        assert await connection.fetchval(COUNT.format("30", "'Abel'")) == told
        born = await connection.fetchrow(
            "SELECT MEDIAN(born) AS d, MEDIAN(seen) AS t, AVG(income) AS x, 'a' AS s, TRUE AS b "
            "FROM people WHERE born > $1 AND seen < $2 AND income < $3 AND member = $4",
            *(datetime.date(1975, 1, 1), datetime.datetime(2025, 1, 1), 99999.5, True),
        )
        types = [type(each) for each in born.values()]
        assert types == [datetime.date, datetime.datetime, float, str, bool]
        async with connection.transaction():
            cursor = await connection.cursor("SELECT zip, COUNT(*) FROM people GROUP BY zip")
            assert [row[0] for row in await cursor.fetch(1)] == [31643]
            assert [row[0] for row in await cursor.fetch(5)] == [80127]
        await connection.reset()
        await connection.close()

    asyncio.run(ask())
