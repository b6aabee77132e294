"""The page on clients: its session of psql is typed, and what it says is refused is."""

from __future__ import annotations

import asyncio
import re
import shlex
import subprocess
from collections.abc import Iterator

import asyncpg
import psycopg
import pytest

from dpdb import manual
from dpdb.policy.reading.reader import read_policy
from tests.server.postgres.drivers import DRIVERS
from tests.server.postgres.wired import Wired
from tests.server.served import Known, NearDesk
from tests.support.pages import tables

PAGE = manual.page("clients")
POLICY = """
[budget]
epsilon = 1.0
queries = 10

[tables.clinic]
path = "clinic.csv"

[tables.clinic.columns]
age = { type = "integer", bounds = [0, 120] }
"""
COUNT = "SELECT COUNT(*) AS n FROM clinic"
WIDE = ["n", "n_low", "n_high"]


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wired]:
    folder = tmp_path_factory.mktemp("clinic")
    (folder / "clinic.csv").write_text("age\n" + "40\n50\n" * 200, encoding="utf-8")
    (folder / "clinic.toml").write_text(POLICY, encoding="utf-8")
    names = dict.fromkeys(("robot", "other"), "token")
    desk = NearDesk(read_policy(folder / "clinic.toml"))
    with Wired(desk, Known(names), database="clinic") as made:
        yield made


def masked(text: str) -> str:
    """A text whose numbers, and the widths that follow from them, do not count."""
    return re.sub(r"([ -])\1+", r"\1", re.sub(r"\d+(\.\d+)?", "9", text))


def psql(clinic: Wired, words: list[str], **env: str) -> str:
    """What psql shows, on a terminal's one screen."""
    given = [str(clinic.port) if word == "5433" else word for word in words]
    own = {"PGPASSWORD": "token", "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", **env}
    done = subprocess.run(
        [*given, "-X", "-w"], env=own, check=False, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    return done.stdout


def test_psql_shows_what_the_page_shows(clinic: Wired) -> None:
    [session] = re.findall(r"```text\n(.*?)```", PAGE, flags=re.DOTALL)
    steps = [step.split("\n", 1) for step in re.split(r"(?m)^\$ ", session)[1:]]
    assert len(steps) == 4
    for command, expected in steps:
        words = shlex.split(command)
        assert words[0] == "psql"
        assert masked(psql(clinic, words).strip()) == masked(expected.strip())


def test_what_the_page_says_is_refused_is_refused(clinic: Wired) -> None:
    cells = [row[0] for table in tables(PAGE) for row in table if "statement" in table[0]]
    statements = [cell.strip("`") for cell in cells if cell.startswith("`")]
    assert len(statements) == 8
    with psycopg.connect(clinic.address("robot", "token"), autocommit=True) as connection:
        for text in statements:
            with pytest.raises(psycopg.Error) as refused:
                connection.execute(text)
            assert refused.value.sqlstate == "0A000", text
        told = connection.execute("SELECT COUNT(*) FROM clinic")
        assert told.description[0].name == "COUNT(*)"


def test_intervals_are_set_when_a_program_connects(clinic: Wired) -> None:
    address = clinic.address("other", "token")
    with psycopg.connect(address, options="-c dp_intervals=on", autocommit=True) as connection:
        assert [each.name for each in connection.execute(COUNT).description] == WIDE

    async def ask() -> list[str]:
        connection = await asyncpg.connect(
            address, ssl=False, server_settings={"dp_intervals": "on"}
        )
        told = await connection.fetchrow(COUNT)
        await connection.close()
        return list(told.keys())

    assert asyncio.run(ask()) == WIDE
    words = ["psql", "-h", "127.0.0.1", "-p", "5433", "-U", "other", "clinic", "-c", COUNT]
    assert "n_low" in psql(clinic, words, PGOPTIONS="-c dp_intervals=on")


def test_each_program_that_the_page_calls_tested_is() -> None:
    rows = [row for table in tables(PAGE) for row in table if row[1:2] == ["tested"]]
    named = re.findall(r"\w+", " ".join(row[0] for row in rows).lower())
    assert {name for name in named if not name.isdigit()} == {
        driver.partition("_")[0] for driver in DRIVERS
    }
