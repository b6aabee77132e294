"""The catalogue as psql, SQLAlchemy and pandas ask for it: from the policy alone, and free."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas
import psycopg
import pytest
import sqlalchemy
from sqlalchemy.ext.asyncio import create_async_engine

from dpdb.policy.catalog import Column, Kind, Table
from dpdb.policy.reading.reader import policy_in
from dpdb.server.messages import Action, Desk, Reply, Request, Shape
from dpdb.server.postgres.catalogue.statements import bound
from dpdb.server.postgres.catalogue.tables import Tables
from dpdb.server.postgres.protocol import Refusal
from dpdb.server.worker import Sessions
from tests.server.postgres.wired import Wired


@pytest.fixture(scope="module")
def engine(wired: Wired) -> Iterator[sqlalchemy.Engine]:
    url = wired.address().replace("postgresql:", "postgresql+psycopg:")
    made = sqlalchemy.create_engine(url)
    yield made
    made.dispose()


def cells(printed: str) -> list[list[str]]:
    """The cells of a table that psql prints."""
    lines = [line for line in printed.splitlines() if "|" in line]
    return [[cell.strip() for cell in line.split("|")] for line in lines]


def test_psql_lists_tables_columns_schemas_databases_and_roles(wired: Wired) -> None:
    asked = len(wired.desk.executed())
    for command in (r"\d", r"\dt"):
        assert cells(wired.psql(command).out)[1:] == [
            ["public", "people", "table", "alice"],
            ["public", "visits", "table", "alice"],
        ]
    assert cells(wired.psql(r"\d people").out)[1:] == [
        ["age", "bigint", "", "not null", ""],
        ["income", "double precision", "", "", ""],
        ["zip", "bigint", "", "", ""],
        ["name", "text", "", "", ""],
        ["born", "date", "", "", ""],
        ["seen", "timestamp without time zone", "", "", ""],
        ["member", "boolean", "", "", ""],
    ]
    assert "Did not find any relation" in wired.psql(r"\d nothing").err
    assert cells(wired.psql(r"\dn").out)[1:] == [["public", "alice"]]
    assert cells(wired.psql(r"\l").out)[1][:3] == ["people", "alice", "UTF8"]
    assert cells(wired.psql(r"\du").out)[1][0] == "alice"
    assert len(wired.desk.executed()) == asked


def reflected(engine: sqlalchemy.Engine | sqlalchemy.Connection) -> sqlalchemy.MetaData:
    known = sqlalchemy.MetaData()
    known.reflect(engine)
    return known


def types_of(known: sqlalchemy.MetaData) -> dict[str, str]:
    return {column.name: str(column.type) for column in known.tables["people"].columns}


def test_sqlalchemy_reflects_the_same_by_other_drivers(
    wired: Wired, engine: sqlalchemy.Engine
) -> None:
    expected = types_of(reflected(engine))
    own = sqlalchemy.create_engine(wired.address().replace(":", "+pg8000:", 1))
    assert types_of(reflected(own)) == expected
    own.dispose()

    async def by_asyncpg() -> sqlalchemy.MetaData:
        own = create_async_engine(wired.address().replace(":", "+asyncpg:", 1))
        async with own.connect() as connection:
            known = await connection.run_sync(reflected)
        await own.dispose()
        return known

    assert types_of(asyncio.run(by_asyncpg())) == expected


def test_sqlalchemy_reflects_the_policy(wired: Wired, engine: sqlalchemy.Engine) -> None:
    asked = len(wired.desk.executed())
    known = reflected(engine)
    assert sorted(known.tables) == ["people", "visits"]
    assert types_of(known) == {
        "age": "BIGINT",
        "income": "DOUBLE PRECISION",
        "zip": "BIGINT",
        "name": "TEXT",
        "born": "DATE",
        "seen": "TIMESTAMP",
        "member": "BOOLEAN",
    }
    inspector = sqlalchemy.inspect(engine)
    assert inspector.get_schema_names() == ["information_schema", "public"]
    assert inspector.get_view_names() == []
    assert inspector.has_table("people")
    assert not inspector.has_table("nobody")
    assert len(wired.desk.executed()) == asked


def test_pandas_reads_a_query_and_no_whole_table(engine: sqlalchemy.Engine) -> None:
    text = "SELECT zip, COUNT(*) AS n FROM people WHERE age > %(age)s GROUP BY zip"
    frame = pandas.read_sql(text, engine, params={"age": 25})
    assert list(frame.columns) == ["zip", "n"]
    assert list(frame["zip"]) == [31643, 80127]
    with pytest.raises(pandas.errors.DatabaseError, match="single rows are never shown"):
        pandas.read_sql_table("visits", engine)


def test_no_rows_of_a_table_are_its_columns_and_free(wired: Wired) -> None:
    names = ["age", "income", "zip", "name", "born", "seen", "member"]
    asked = len(wired.desk.executed())
    with wired.connect() as connection:
        for text in (
            "SELECT * FROM people LIMIT 0",
            'SELECT * FROM "people" WHERE 1 = 0',
            "SELECT * FROM public.people WHERE false",
            "SELECT * FROM (SELECT * FROM people) AS q WHERE (0 = 1)",
        ):
            cursor = connection.execute(text)
            assert [each.name for each in cursor.description] == names
            assert cursor.fetchall() == []
        cursor = connection.execute("SELECT zip AS z, name FROM people LIMIT 0")
        assert [(each.name, each.type_code) for each in cursor.description] == [
            ("z", 20),
            ("name", 25),
        ]
    assert len(wired.desk.executed()) == asked


def test_the_catalogue_and_data_do_not_mix(wired: Wired) -> None:
    asked = len(wired.desk.executed())
    refused = {
        "SELECT COUNT(*) FROM people, pg_catalog.pg_class": "0A000",
        "SELECT (SELECT COUNT(*) FROM people) FROM pg_class": "0A000",
        "SELECT relname FROM pg_class WHERE relname IN (SELECT name FROM people)": "0A000",
        "SELECT * FROM pg_catalog.pg_nothing": "0A000",
        "SELECT pg_read_file('x') FROM pg_class": "0A000",
        "SELECT nothing FROM pg_class": "42703",
        "SELECT 1 FROM pg_attribute a, pg_attribute b, pg_attribute c, pg_attribute d, "
        "pg_attribute e, pg_attribute f": "54001",
        "SELECT relname FROM pg_class WHERE relname ~ '(a'": "2201B",
    }
    with wired.connect() as connection:
        for text, state in refused.items():
            with pytest.raises(psycopg.Error) as error:
                connection.execute(text)
            assert error.value.sqlstate == state, text
    assert len(wired.desk.executed()) == asked


def test_what_drivers_ask_about_the_server(wired: Wired) -> None:
    answers: dict[str, Any] = {
        "SELECT current_database()": "people",
        "SELECT current_schema()": "public",
        "SELECT pg_catalog.current_schema()": "public",
        "SELECT current_user": "alice",
        "SELECT count(*) FROM pg_catalog.pg_class": 2,
        "SELECT to_regtype('bigint')": 20,
        "SELECT 'people'::regclass::text": "people",
        "SELECT typname FROM pg_type WHERE oid = 701": "float8",
        "SELECT table_name FROM information_schema.tables ORDER BY 1 DESC LIMIT 1": "visits",
        "SELECT data_type FROM information_schema.columns WHERE column_name = 'born'": "date",
        "SHOW transaction isolation level": "read committed",
        "SHOW standard_conforming_strings": "on",
        "SELECT current_setting('server_version_num')": "150000",
        "SELECT CASE WHEN relkind = 'r' THEN 'table' END FROM pg_class WHERE relname LIKE 'peo%'": "table",
        "SELECT relname FROM pg_class WHERE relname NOT LIKE 'v%'": "people",
        "SELECT a.attname FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid "
        "WHERE c.relname = 'visits' AND a.attnum > 0": "ward",
    }
    with wired.connect() as connection:
        for text, told in answers.items():
            assert connection.execute(text).fetchall() == [(told,)], text


def asked(text: str, tables: Tables) -> list[tuple[Any, ...]]:
    """The rows of a statement about the catalogue."""
    found = bound(text, [], (), tables, tables.told_to("alice", {}))
    assert found is not None
    return found.rows()


@pytest.fixture(scope="module")
def large() -> Tables:
    """The catalogue of twenty tables with fifty columns each."""
    columns = tuple(Column(f"c{at}", Kind.INTEGER) for at in range(50))
    return Tables([Table(f"t{at}", Path("t.csv"), columns) for at in range(20)], "large")


@pytest.mark.parametrize(
    "text",
    [
        "SELECT 1 FROM pg_attribute a, pg_attribute b, pg_attribute c, pg_attribute d, pg_class e",
        "SELECT count(*) FROM pg_am, generate_series(1, 1000000000)",
        "SELECT g FROM pg_am, generate_series(1, 150000) g ORDER BY 1",
        "SELECT repeat('x', 1000000000), version()",
        "SELECT replace(repeat('a', 90000), 'a', repeat('b', 90000)), version()",
        "SELECT array_to_string(array_agg(repeat('x', 9000)), ',') FROM pg_attribute",
        "SELECT count(*) FROM pg_attribute WHERE repeat('ab', 40000) ~ '(a|b)*a(a|b)*c'",
        "SELECT (SELECT count(*) FROM pg_attribute b WHERE b.attnum < a.attnum) FROM pg_attribute a",
        "WITH " + ", ".join(f"c{n} AS (SELECT a.oid FROM {f'c{n - 1}' if n else 'pg_class'} a, "
                            f"{f'c{n - 1}' if n else 'pg_class'} b)" for n in range(9)) + " SELECT * FROM c8",
    ],
)  # fmt: skip
def test_work_is_limited(large: Tables, text: str) -> None:
    with pytest.raises(Refusal) as refused:
        asked(text, large)
    assert refused.value.state == "54001"


@pytest.mark.parametrize(
    "text",
    [
        "SELECT 1 FROM pg_class WHERE relname ~ '((a{30}){30}){30}'",
        "SELECT 1 FROM pg_class WHERE relname ~ '(a'",
        "SELECT 9223372036854775807 + 1, version()",
        "SELECT x FROM pg_class",
        "SELECT count(count(*)) FROM pg_class",
        "SELECT 1 FROM pg_class GROUP BY 7",
        "SELECT 1 FROM pg_class LIMIT -1",
        "WITH RECURSIVE a AS (SELECT oid FROM pg_class) SELECT * FROM a",
        "SELECT pg_sleep(10), version()",
        "SELECT lower(5), version()",
    ],
)
def test_what_is_not_understood_is_refused(large: Tables, text: str) -> None:
    with pytest.raises(Refusal):
        asked(text, large)


def test_queries_as_tools_write_them(large: Tables) -> None:
    answers: dict[str, list[tuple[Any, ...]]] = {
        "SELECT count(*) FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid "
        "JOIN pg_type t ON t.oid = a.atttypid WHERE c.relname <> 't3'": [(950,)],
        "SELECT c.relname, count(*), max(a.attnum), string_agg(a.attname, ',' ORDER BY a.attnum) "
        "FILTER (WHERE a.attnum < 3) FROM pg_class c, pg_attribute a WHERE a.attrelid = c.oid "
        "GROUP BY 1 HAVING c.relname LIKE 't1_' ORDER BY 1 DESC LIMIT 1": [("t19", 50, 50, "c0,c1")],
        "WITH a AS (SELECT relname AS n FROM pg_class) SELECT array_agg(n ORDER BY n) FROM a "
        "WHERE n IN ('t1', 't2')": [("{t1,t2}",)],
        "SELECT (WITH a AS (SELECT min(attnum) AS n FROM pg_attribute) SELECT n + c.oid FROM a) "
        "FROM pg_class c WHERE relname IN ('t0', 't5') ORDER BY 1": [(16385,), (16390,)],
        "SELECT c.relname, t.typname FROM pg_class c FULL JOIN pg_type t ON c.relname = t.typname "
        "WHERE c.relname = 't0' OR t.typname = 'bool' ORDER BY 1": [("t0", None), (None, "bool")],
        "SELECT t.typname FROM pg_class c RIGHT JOIN pg_type t ON t.oid = c.oid "
        "WHERE t.typname = 'text'": [("text",)],
        "SELECT row_number() OVER (PARTITION BY attrelid ORDER BY attnum DESC) FROM pg_attribute "
        "WHERE attname = 'c7' OR attname = 'c8' LIMIT 2": [(2,), (1,)],
        "SELECT bool_or(attnotnull), sum(attnum), min(attname), count(DISTINCT attnum) "
        "FROM pg_attribute WHERE false": [(None, None, None, 0)],
        "SELECT 't1'::regclass, 't1'::regclass = oid FROM pg_class WHERE oid = 't1'::regclass": [
            ("t1", True)
        ],
        "SELECT u.x, u.n FROM pg_am, unnest(ARRAY['a', 'b']) WITH ORDINALITY AS u(x, n)": [
            ("a", 1), ("b", 2)
        ],
        "SELECT version() IS NULL, NULL = 1, NULL IS DISTINCT FROM 1, 5 / 0, -7 / 2, 1 IN (2, NULL)": [
            (False, None, True, None, -3, None)
        ],
        "SELECT d.description, i.indisprimary FROM pg_class c LEFT JOIN pg_description d "
        "ON d.objoid = c.oid LEFT JOIN pg_index i ON i.indrelid = c.oid LIMIT 1": [(None, None)],
        "SELECT conname, nothing(conkey) FROM pg_constraint": [],
    }  # fmt: skip
    for text, told in answers.items():
        assert asked(text, large) == told, text


class Changing(Desk):
    """A desk whose policy has another table each time that a process was replaced."""

    def __init__(self) -> None:
        self.times = 0

    @property
    def restarts(self) -> int:
        return self.times

    async def ask(self, request: Request) -> Reply:
        assert request.action is Action.TABLES
        columns = {"a": {"type": "boolean"}}
        table = {"path": "t.csv", "columns": columns}
        policy = policy_in({"budget": {"epsilon": 1.0}, "tables": {f"t{self.times}": table}})
        return Reply(Sessions(policy).tables(Shape.RECORD))


def test_the_catalogue_follows_the_policy_at_once() -> None:
    desk = Changing()
    with Wired(desk) as wired, wired.connect() as connection:
        for desk.times in range(3):
            told = connection.execute("SELECT relname FROM pg_class").fetchall()
            assert told == [(f"t{desk.times}",)]
