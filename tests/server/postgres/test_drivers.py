"""Drivers of PostgreSQL: connect, describe, ask, values, errors, repeats, budget, cancel."""

from __future__ import annotations

import asyncio
import datetime
from decimal import Decimal

import asyncpg
import pg8000.dbapi
import psycopg
import pytest

from tests.server.postgres.wired import Wired

COUNT = "SELECT COUNT(*) AS n FROM people WHERE age > {} AND name = {}"


def counted(wired: Wired) -> int:
    """The statements that were to be answered so far."""
    return len(wired.desk.executed())


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
        assert refused.value.sqlstate == "42804"


def test_psycopg_reads_rows_in_parts_and_prepares(wired: Wired) -> None:
    with wired.connect() as connection:
        text = "SELECT zip, COUNT(*) AS n FROM people WHERE age > %s GROUP BY zip"
        rows = [connection.execute(text, [25], prepare=True).fetchall() for _ in range(2)]
        assert rows[0] == rows[1]
        assert [key for key, _ in rows[0]] == [31643, 80127]


def test_asyncpg_is_told_types_of_values_and_columns(wired: Wired) -> None:
    async def ask() -> None:
        connection = await asyncpg.connect(wired.address(), ssl=False)
        statement = await connection.prepare(COUNT.format("$1", "$2"))
        before = counted(wired)
        assert [each.name for each in statement.get_parameters()] == ["int8", "text"]
        assert [(each.name, each.type.name) for each in statement.get_attributes()] == [
            ("n", "int8")
        ]
        assert counted(wired) == before
        told = await statement.fetchval(30, "Abel")
        assert await connection.fetchval(COUNT.format("30", "'Abel'")) == told
        born = await connection.fetchrow(
            "SELECT MEDIAN(born) AS d, MEDIAN(seen) AS t, AVG(income) AS x, 'a' AS s, TRUE AS b "
            "FROM people WHERE born > $1 AND seen < $2 AND income < $3 AND member = $4",
            *(datetime.date(1975, 1, 1), datetime.datetime(2025, 1, 1), 99999.5, True),
        )
        types = [type(each) for each in born.values()]
        assert types == [datetime.date, datetime.datetime, float, str, bool]
        with pytest.raises(asyncpg.UndefinedColumnError):
            await connection.fetch("SELECT COUNT(nam) FROM people")
        async with connection.transaction():
            cursor = await connection.cursor("SELECT zip, COUNT(*) FROM people GROUP BY zip")
            assert [row[0] for row in await cursor.fetch(1)] == [31643]
            assert [row[0] for row in await cursor.fetch(5)] == [80127]
        await connection.reset()
        await connection.close()

    asyncio.run(ask())


def test_pg8000_sends_texts_that_are_read_as_constants_would_be(wired: Wired) -> None:
    connection = pg8000.dbapi.connect("alice", host="127.0.0.1", port=wired.port, database="people")
    cursor = connection.cursor()
    cursor.execute(COUNT.format("%s", "%s"), (30, "Abel"))
    (told,) = cursor.fetchone()
    assert [each[0] for each in cursor.description] == ["n"]
    cursor.execute(COUNT.format("30", "'Abel'"))
    assert cursor.fetchone() == [told]
    with pytest.raises(pg8000.dbapi.DatabaseError) as refused:
        cursor.execute("SELECT COUNT(nam) FROM people")
    assert refused.value.args[0]["C"] == "42703"
    connection.rollback()
    cursor.execute(COUNT.format("30", "'Abel'"))
    connection.close()
