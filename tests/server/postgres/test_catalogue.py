"""The catalogue as psql, SQLAlchemy and pandas ask for it: from the policy alone, and free."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas
import psycopg
import pytest
import sqlalchemy

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


def test_sqlalchemy_reflects_the_policy(wired: Wired, engine: sqlalchemy.Engine) -> None:
    asked = len(wired.desk.executed())
    known = sqlalchemy.MetaData()
    known.reflect(engine)
    assert sorted(known.tables) == ["people", "visits"]
    types = {column.name: str(column.type) for column in known.tables["people"].columns}
    assert types == {
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
