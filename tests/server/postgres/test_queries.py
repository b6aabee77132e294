"""Statements by psql and psycopg: what is answered, told and paid."""

from __future__ import annotations

import psycopg
import pytest

from tests.server.postgres.wired import Wired


def test_psql_shows_an_answer_and_its_accuracy(wired: Wired) -> None:
    printed = wired.psql("SELECT COUNT(*) AS n FROM people")
    assert printed.code == 0
    assert printed.out.split()[0] == "n"
    assert "± " in printed.err
    assert "left: ε" in printed.err


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
