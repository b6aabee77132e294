"""One suite for each client: describe, ask, values, errors, repeats, budget, cancel, reconnect."""

from __future__ import annotations

import asyncio
import datetime
import threading
from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest

from dpdb.policy.reading.reader import read_policy
from dpdb.server.messages import Action, Reply, Request
from tests.server.postgres import jdbc
from tests.server.postgres.drivers import DRIVERS, Driver, JdbcDriver
from tests.server.postgres.told import Refused
from tests.server.postgres.wired import PEOPLE, POLICY, VISITS, Wired
from tests.server.served import Known, NearDesk

COLUMNS = ["age", "income", "zip", "name", "born", "seen", "member"]
ROLES = ("asker", "spender", "canceller", "reader")
SLOW = "SELECT COUNT(*) AS n FROM people WHERE age > 64"


class SlowDesk(NearDesk):
    """Statements about people over 64 wait until they are cancelled."""

    begun = threading.Event()

    async def ask(self, request: Request) -> Reply:
        if request.action is Action.EXECUTE and "age > 64" in request.text:
            self.begun.set()
            await asyncio.sleep(60)
        return await super().ask(request)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wired]:
    folder = tmp_path_factory.mktemp("driven")
    (folder / "people.toml").write_text(POLICY.replace("= 1000", "= 3"))
    (folder / "people.csv").write_text(PEOPLE)
    (folder / "visits.csv").write_text(VISITS)
    names = {f"{driver}_{role}": f"dpdb_{driver}" for driver, role in product(DRIVERS, ROLES)}
    with Wired(SlowDesk(read_policy(folder / "people.toml")), Known(names)) as made:
        yield made
    if JdbcDriver.machine is not None:
        JdbcDriver.machine.shutdown()
        JdbcDriver.machine = None


@pytest.fixture(params=DRIVERS)
def kind(request: pytest.FixtureRequest) -> str:
    if reason := DRIVERS[request.param].missing():
        pytest.skip(reason)
    return request.param


def opened(server: Wired, kind: str, role: str) -> Driver:
    return DRIVERS[kind](server.port, f"{kind}_{role}", f"dpdb_{kind}")


def counted(server: Wired) -> int:
    """The statements that were to be answered so far."""
    return len(server.desk.executed())


def test_a_client_asks_is_told_the_accuracy_and_repeats_for_nothing(
    server: Wired, kind: str
) -> None:
    driver = opened(server, kind, "asker")
    before = counted(server)
    assert driver.ask("SELECT * FROM people LIMIT 0").labels == COLUMNS
    assert driver.ask("SELECT current_user").rows == [(f"{kind}_asker",)]
    assert counted(server) == before
    told = driver.ask("SELECT COUNT(*) AS n FROM people WHERE age > 30 AND name = 'Abel'")
    assert told.labels == ["n"]
    assert "± " in told.said
    assert "left: ε" in told.said
    text = "SELECT COUNT(*) AS n FROM people WHERE age > ? AND name = ?"
    again = driver.ask(text, [30, "Abel"])
    assert again.rows == told.rows
    assert "free" in again.said
    driver.ask("SET dp_intervals = on")
    wide = driver.ask("SELECT zip, COUNT(*) AS n FROM people GROUP BY zip")
    assert wide.labels == ["zip", "n", "n_low", "n_high"]
    assert [int(row[0]) for row in wide.rows] == [31643, 80127]
    assert all(float(low) < float(n) < float(high) for _, n, low, high in wide.rows)
    driver.close()


def test_an_error_has_its_state_and_place_and_no_client_reads_a_table(
    server: Wired, kind: str
) -> None:
    driver = opened(server, kind, "asker")
    with pytest.raises(Refused) as refused:
        driver.ask("SELECT COUNT(nam) FROM people")
    assert (refused.value.state, refused.value.place or 14) == ("42703", 14)
    if driver.tells_places:
        assert refused.value.place is not None
        assert "did you mean name?" in refused.value.message
    with pytest.raises(Refused) as refused:
        driver.ask("SELECT * FROM people")
    assert refused.value.state == "0A000"
    assert "SELECT COUNT(*)" in refused.value.message or not driver.tells_places
    assert driver.ask("SELECT 1").rows in ([(1,)], [("1",)])
    driver.close()


def test_a_spent_budget_is_told_and_answers_stay_after_a_new_connection(
    server: Wired, kind: str
) -> None:
    driver = opened(server, kind, "spender")
    text = "SELECT COUNT(*) AS n FROM people WHERE age < {}"
    first, *_ = [driver.ask(text.format(age)).rows for age in (30, 40, 50)]
    with pytest.raises(Refused) as refused:
        driver.ask(text.format(60))
    assert refused.value.state == "53400"
    driver.close()
    again = opened(server, kind, "spender")
    assert again.ask(text.format(30)).rows == first
    again.close()


def test_a_client_cancels_a_statement_and_asks_on(server: Wired, kind: str) -> None:
    driver = opened(server, kind, "canceller")
    if not driver.cancels:
        driver.close()
        pytest.skip(f"{kind} cannot cancel")
    SlowDesk.begun.clear()
    caught = list[Refused]()

    def ask() -> None:
        try:
            driver.ask(SLOW)
        except Refused as error:
            caught.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    assert SlowDesk.begun.wait(20)
    driver.cancel()
    thread.join(20)
    assert [each.state for each in caught] == ["57014"]
    assert driver.ask("SELECT 1").rows in ([(1,)], [("1",)])
    driver.close()


@pytest.fixture
def java(server: Wired) -> Iterator[Any]:
    """A connection by JDBC."""
    if reason := jdbc.missing():
        pytest.skip(reason)
    driver = opened(server, "jdbc", "reader")
    assert isinstance(driver, JdbcDriver)
    yield driver.java
    driver.close()


def test_the_metadata_of_jdbc_are_those_of_the_policy(server: Wired, java: Any) -> None:
    before = counted(server)

    def told(name: str, *given: Any, of: tuple[str, ...]) -> list[tuple[str, ...]]:
        labels, rows, _ = java.metadata(name, *given)
        places = [[each.upper() for each in labels].index(label) for label in of]
        return [tuple(row[place] for place in places) for row in rows]

    kinds = ["TABLE", "VIEW"]
    tables = told("getTables", None, None, "%", kinds, of=("TABLE_SCHEM", "TABLE_NAME"))
    assert tables == [("public", "people"), ("public", "visits")]
    types = told(
        "getColumns", None, "public", "people", "%", of=("COLUMN_NAME", "TYPE_NAME", "NULLABLE")
    )
    assert types == [
        ("age", "int8", "0"), ("income", "float8", "1"), ("zip", "int8", "1"),
        ("name", "text", "1"), ("born", "date", "1"), ("seen", "timestamp", "1"),
        ("member", "bool", "1"),
    ]  # fmt: skip
    assert ("public",) in told("getSchemas", of=("TABLE_SCHEM",))
    assert told("getCatalogs", of=("TABLE_CAT",)) == [("people",)]
    assert {("int8",), ("date",)} <= set(told("getTypeInfo", of=("TYPE_NAME",)))
    of_table = None, "public", "people"
    for name, given in {
        "getPrimaryKeys": of_table,
        "getImportedKeys": of_table,
        "getExportedKeys": of_table,
        "getIndexInfo": (*of_table, False, True),
        "getProcedures": (None, None, "%"),
        "getFunctions": (None, None, "%"),
        "getUDTs": (None, "public", "%", None),
    }.items():
        assert java.metadata(name, *given).rows == [], name
    assert java.metadata("getDatabaseProductName").rows == [("PostgreSQL",)]
    assert len(java.metadata("getSQLKeywords").rows) == 1
    assert counted(server) == before


def test_jdbc_sets_intervals_when_it_connects(server: Wired, java: Any) -> None:
    assert JdbcDriver.machine is not None
    options = {"user": "jdbc_reader", "password": "dpdb_jdbc", "options": "-c dp_intervals=on"}
    wide = JdbcDriver.machine.Jdbc(f"127.0.0.1:{server.port}", options)
    told = wide.ask("SELECT zip, COUNT(*) AS n FROM people GROUP BY zip")
    assert told.labels == ["zip", "n", "n_low", "n_high"]
    wide.close()


def test_jdbc_prepares_sends_in_binary_and_fetches_in_parts(server: Wired, java: Any) -> None:
    text = "SELECT COUNT(*) AS n FROM people WHERE age > ? AND name = ? AND born > ?"
    before = counted(server)
    assert java.described(text) == (["n"], [("int8",), ("int8", "text", "date")], "")
    assert counted(server) == before
    given = [30, "Abel", datetime.date(1975, 1, 1)]
    first = java.ask(text, given)
    assert java.ask(text, given, times=7).rows == first.rows  # the driver's fifth is in binary
    parts = java.fetched("SELECT zip, COUNT(*) AS n FROM people GROUP BY zip", 1)
    assert [key for key, _ in parts.rows] == ["31643", "80127"]
    with pytest.raises(Refused) as refused:
        java.ask(SLOW, seconds=1)
    assert refused.value.state == "57014"
