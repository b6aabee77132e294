"""A ledger in PostgreSQL: what the server must be, who may write, and connections that end."""

from __future__ import annotations

import os
import re
import signal
import sys
import time
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import quote

import psycopg
import pytest

from dpdb import manual
from dpdb.errors import InvalidOption, LedgerError
from dpdb.ledger import custodian, people
from dpdb.ledger.book import database, server, server_book
from dpdb.ledger.book import server as server_module
from dpdb.ledger.book.server_book import ServerBook, with_key, without_key
from dpdb.ledger.lasting import LastingLedger
from dpdb.ledger.people import Accounts, new_user
from dpdb.policy.budget import LedgerServer, ledger_at
from dpdb.policy.catalog import Policy
from dpdb.privacy.accounting.composition import ComposedLoss
from dpdb.privacy.accounting.loss import pure
from tests.support.lasting import folder_in_memory, ledgers_on, opened, policy_in, verify
from tests.support.ledger_trials import forked, survives_stops
from tests.support.postgres import Server, losing, running_server

LOSS = ComposedLoss.of(pure(Fraction(1, 10)))


@pytest.fixture(autouse=True)
def on_server(server: Server) -> Iterator[None]:
    with ledgers_on(server):
        yield


@pytest.fixture
def ledger(folder: Path) -> LastingLedger:
    return opened(folder)


def again(opened_before: LastingLedger, **changed: Any) -> LastingLedger:
    assert opened_before.policy.lasting is not None
    lasting = replace(opened_before.policy.lasting, **changed)
    return LastingLedger.open(replace(opened_before.policy, lasting=lasting), "alice")


def place_of(policy: Policy) -> LedgerServer:
    assert policy.lasting is not None
    assert isinstance(policy.lasting.ledger, LedgerServer)
    return policy.lasting.ledger


def schema_of(ledger: LastingLedger) -> str:
    return place_of(ledger.policy).schema


def as_role(ledger: LastingLedger, role: str) -> LedgerServer:
    place = place_of(ledger.policy)
    return replace(place, address=place.address.replace("user=custodian", f"user={role}"))


def charged(ledger: LastingLedger) -> int:
    return len(verify(again(ledger).book)) - 1


# ------------------------------------------------------------------------ whose rights, whose key


def test_the_grants_of_the_manual_are_what_a_role_needs(
    ledger: LastingLedger, server: Server
) -> None:
    """A server asks and logs in by them; it changes no entry, and makes no account."""
    [told] = re.findall(r"```sql\n(CREATE ROLE .*?)```", manual.page("ledger"), re.DOTALL)
    schema = schema_of(ledger)
    text = told.replace("clinic", schema).replace("dpdb", f"role_{schema}")
    server.execute(*filter(str.strip, text.split(";")))
    custodian.add_user(ledger.book, "custodian", new_user("alice", None), None)
    role = as_role(ledger, f"role_{schema}")
    mine = again(ledger, ledger=role)
    mine.charge(LOSS, None)
    mine.keep("scope", "text")
    assert mine.policy.lasting is not None
    assert Accounts(mine.policy.lasting).names == ("alice",)
    with psycopg.connect(server.address(user=f"role_{schema}"), autocommit=True) as connection:
        for change in (
            "DELETE FROM {}.entries", "UPDATE {}.entries SET text = ''", "TRUNCATE {}.entries",
            "DELETE FROM {}.head", "INSERT INTO {}.head SELECT * FROM {}.head",
            "DELETE FROM {}.kept", "UPDATE {}.kept SET text = ''", "DELETE FROM {}.users",
            "INSERT INTO {}.users VALUES ('mallory', '', '')", "DROP TABLE {}.entries",
        ):  # fmt: skip
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(change.replace("{}", schema))
    with pytest.raises(LedgerError, match="the role may not do this"):
        custodian.remove_user(mine.book, "custodian", "alice")
    verify(mine.book)


def test_a_role_that_can_only_read_verifies_and_spends_nothing(
    ledger: LastingLedger, server: Server
) -> None:
    schema = schema_of(ledger)
    reader = f"reader_{schema}"
    server.execute(f"CREATE ROLE {reader} LOGIN")
    with pytest.raises(LedgerError, match="the role may not"):
        again(ledger, ledger=as_role(ledger, reader))
    server.execute(f"GRANT USAGE ON SCHEMA {schema} TO {reader}",
                   f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {reader}")  # fmt: skip
    mine = again(ledger, ledger=as_role(ledger, reader))
    assert len(verify(mine.book)) == 1
    with pytest.raises(LedgerError, match="the role may not") as refused:
        mine.charge(LOSS, None)
    assert "dpdb help ledger" in str(refused.value.hint)
    assert charged(ledger) == 0


def test_the_key_is_in_its_file_alone(ledger: LastingLedger, server: Server) -> None:
    ledger.charge(LOSS, None)
    assert ledger.policy.lasting is not None
    key = ledger.policy.lasting.key
    assert key is not None
    assert key.stat().st_mode & 0o777 == 0o600
    with psycopg.connect(server.address()) as connection:
        rows = connection.execute(f"SELECT text FROM {schema_of(ledger)}.entries").fetchall()
    assert key.read_text().strip() not in str(rows)
    key.chmod(0o644)
    with pytest.raises(LedgerError, match="its owner alone"):
        again(ledger)
    key.chmod(0o600)
    key.write_text("11" * 32)
    with pytest.raises(LedgerError, match="is not its key"):
        again(ledger)
    key.unlink()
    with pytest.raises(LedgerError, match="cannot read"):
        again(ledger)
    os.mkfifo(key, 0o600)
    with pytest.raises(LedgerError, match="its owner alone"):
        again(ledger)
    key.unlink()
    for kept in (False, True):
        with pytest.raises(LedgerError, match="there is a ledger already"):
            custodian.open_budget(ledger.policy, "custodian", "00" * 32, {})
        assert key.exists() == kept  # a ledger that was there has another
        key.touch()


def test_a_schema_is_named_as_a_word_of_sql(folder: Path) -> None:
    made = policy_in(folder)
    assert made.lasting is not None
    named = replace(made.lasting, ledger=replace(place_of(made), schema="user"))
    policy = replace(made, lasting=named)
    custodian.open_budget(policy, "custodian", "00" * 32, {})
    LastingLedger.open(policy, "alice").charge(LOSS, None)


@pytest.mark.parametrize("said", ['"key":""', '\\"key\\":\\"\\"', "key", '","key":"ab"'])
def test_what_is_said_is_not_taken_for_a_key(ledger: LastingLedger, said: str) -> None:
    ledger.recording(f"SELECT '{said}'").charge(LOSS, None)
    text = ledger.book.last().entry.text
    assert with_key(without_key(text, "ab"), "ab") == text
    verify(again(ledger).book)


# ---------------------------------------------------------------------------- what the server is


def test_functions_and_operators_are_postgresql_s_own(
    ledger: LastingLedger, server: Server
) -> None:
    """Others make `||` and a clock that would run with the rights of the ledger's role."""
    other = f"other_{schema_of(ledger)}"
    role = f"role_{other}"
    server.execute(
        f"CREATE SCHEMA {other}",
        f"CREATE FUNCTION {other}.fails(name, name) RETURNS text LANGUAGE SQL AS 'SELECT 1/0'",
        f"CREATE OPERATOR {other}.|| (leftarg = name, rightarg = name, function = {other}.fails)",
        f"CREATE FUNCTION {other}.clock_timestamp() RETURNS timestamptz LANGUAGE SQL"
        " AS $$ SELECT timestamptz '2040-01-01' $$",
        f"CREATE ROLE {role} LOGIN SUPERUSER",
        f"ALTER ROLE {role} SET search_path = {other}, pg_catalog, public",
    )
    mine = again(ledger, ledger=as_role(ledger, role))
    mine.charge(LOSS, None)
    assert abs(mine.book.last().entry.time - time.time()) < 60


def test_a_server_that_can_forget_is_refused(ledger: LastingLedger, server: Server) -> None:
    for setting in ("full_page_writes", "fsync"):
        server.execute(f"ALTER SYSTEM SET {setting} = off", "SELECT pg_reload_conf()")
        try:
            time.sleep(0.1)
            for ask in (lambda: ledger.charge(LOSS, None), lambda: again(ledger)):
                with pytest.raises(LedgerError, match="can lose what it has committed"):
                    ask()
        finally:
            server.execute("ALTER SYSTEM RESET ALL", "SELECT pg_reload_conf()")
            time.sleep(0.1)
    ledger.charge(LOSS, None)
    assert charged(ledger) == 1


def test_each_transaction_waits_for_the_disk_and_leaves_nothing(
    folder: Path, server: Server
) -> None:
    """Whatever the database's defaults are, and whichever connection a pooler gives."""
    server.execute("CREATE DATABASE odd")
    for each in ("synchronous_commit = off", "TimeZone = 'Pacific/Apia'",
                 "default_transaction_isolation = 'serializable'", "search_path = 'nowhere'",
                 "default_transaction_read_only = on", "standard_conforming_strings = off",
                 "bytea_output = 'escape'"):  # fmt: skip
        server.execute(f"ALTER DATABASE odd SET {each}")
    made = policy_in(folder)
    place = ledger_at(f"{server.address(database='odd')}&schema=odd")
    assert made.lasting is not None
    policy = replace(made, lasting=replace(made.lasting, ledger=place))
    custodian.open_budget(policy, "custodian", "00" * 32, {})
    ledger = LastingLedger.open(policy, "alice")
    ledger.recording("SELECT '\\'' -- é").charge(LOSS, None)
    ledger.keep("scope", "\\ ' é \\x00")
    assert ledger.kept("scope", 0)[0].kept.text == "\\ ' é \\x00"
    assert len(verify(ledger.book)) == 2
    assert abs(ledger.book.last().entry.time - time.time()) < 60
    ask = ledger.book._ask
    with ledger.book.changing():
        assert ask("SHOW synchronous_commit") == [("on",)]
    assert ask("SHOW synchronous_commit") == [("off",)]
    assert ask("SELECT count(*) FROM pg_prepared_statements") == [(0,)]
    assert ask("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'") == [(0,)]


@pytest.mark.parametrize(
    "change",
    [
        "ALTER TABLE {}.entries SET UNLOGGED",
        "ALTER TABLE {}.kept ADD COLUMN more text",
        "DROP TABLE {}.users",
        "ALTER TABLE {}.entries ENABLE ROW LEVEL SECURITY",
        "CREATE RULE no AS ON INSERT TO {}.entries DO INSTEAD NOTHING",
        "DELETE FROM {}.head",
        "INSERT INTO {}.head SELECT * FROM {}.head",
        "UPDATE {}.head SET number = number + 1",
        "DELETE FROM {}.entries WHERE number = 1",
        "UPDATE {}.entries SET text = replace(text, '1/10', '1/99')",
    ],
)
def test_tables_that_somebody_has_changed(
    ledger: LastingLedger, server: Server, change: str
) -> None:
    ledger.charge(LOSS, None)
    server.execute(change.replace("{}", schema_of(ledger)))
    with pytest.raises(LedgerError, match="damaged"):
        again(ledger)


def test_an_older_backup_is_told_by_the_anchor(folder: Path, server: Server) -> None:
    policy = policy_in(folder, anchor=folder / "anchor")
    custodian.open_budget(policy, "custodian", "00" * 32, {})
    ledger = LastingLedger.open(policy, "alice")
    schema = place_of(policy).schema
    server.execute(f"CREATE TABLE {schema}.backup AS SELECT * FROM {schema}.head")
    ledger.charge(LOSS, None)
    server.execute(f"DELETE FROM {schema}.entries WHERE number > 0",
                   f"DELETE FROM {schema}.head",
                   f"INSERT INTO {schema}.head SELECT * FROM {schema}.backup")  # fmt: skip
    with pytest.raises(LedgerError, match="older than it was a moment ago"):
        ledger.charge(LOSS, None)
    with pytest.raises(LedgerError, match=r"is older than .*anchor says"):
        LastingLedger.open(policy, "alice")


def test_a_database_in_another_encoding(ledger: LastingLedger, server: Server) -> None:
    server.execute("CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0")
    place = ledger_at(server.address(database="latin"))
    with pytest.raises(LedgerError, match="not in UTF-8"):
        again(ledger, ledger=place)


def test_a_ledger_of_another_budget(ledger: LastingLedger) -> None:
    with pytest.raises(LedgerError, match="name is test there, another here"):
        again(ledger, name="another")


def test_the_clock_is_the_server_s(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine whose clock is ahead renews nothing, and one that is behind is not refused."""
    policy = policy_in(folder, period=30)
    custodian.open_budget(policy, "custodian", "00" * 32, {})
    ledger, now = LastingLedger.open(policy, "alice"), time.time()
    for days in (40, -40):
        monkeypatch.setattr(time, "time", lambda days=days: now + days * 86_400)
        ledger.charge(LOSS, None)
    assert [each.entry.event.action for each in verify(ledger.book)] == ["open"] + 2 * ["charge"]
    assert abs(ledger.book.last().entry.time - now) < 60


# --------------------------------------------------------------------------- addresses and words


@pytest.mark.parametrize(
    "address", ["postgresql://bob:secret@127.0.0.1:1/x", "postgresql:///x?host=/n&password=secret",
                "postgresql://bob:secret@127.0.0.1:1/x?unknown=1", "postgresql://b:secret%@h/x"]
)  # fmt: skip
def test_no_message_has_a_password(ledger: LastingLedger, address: str) -> None:
    with pytest.raises(LedgerError) as refused:
        again(ledger, ledger=ledger_at(address))
    assert "secret" not in f"{refused.value} {refused.value.hint} {ledger_at(address)!r}"


@pytest.mark.parametrize("address", ["postgresql://h", "mysql://h/x", "postgresql://h/x?schema=A",
                                     "postgresql://h/x?schema=a&schema=b", "postgresql://[/x", "",
                                     "postgresql://bob:a/secret@h/x", "postgresql://bob:a@secret@h/x"])  # fmt: skip
def test_what_is_no_ledger(address: str) -> None:
    with pytest.raises(InvalidOption, match="ledger is") as refused:
        ledger_at(address)
    assert "secret" not in str(refused.value)


def test_the_driver_is_named_where_it_is_missing(
    ledger: LastingLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "dpdb.ledger.book.server_book", None)
    with pytest.raises(LedgerError, match="psycopg is not installed"):
        again(ledger)


def test_a_server_that_another_can_replace_needs_an_anchor(ledger: LastingLedger) -> None:
    with pytest.raises(LedgerError, match="several hosts") as refused:
        again(ledger, ledger=ledger_at("postgresql://one,two/x"))
    assert "anchor" in str(refused.value.hint)


def test_a_server_that_hangs_stops_nobody_for_long(
    ledger: LastingLedger, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who asks gives up; a front knows the accounts that it has read last, and then none."""
    monkeypatch.setattr(people, "_PATIENCE", 0.01)
    monkeypatch.setattr(
        server_module, "_STEP", [*server_module._STEP, "SET LOCAL statement_timeout = 300"]
    )
    custodian.add_user(ledger.book, "custodian", new_user("alice", None), None)
    assert ledger.policy.lasting is not None
    known = Accounts(ledger.policy.lasting)
    until = time.monotonic() + 10
    while known.names != ("alice",) and time.monotonic() < until:
        time.sleep(0.05)
    with psycopg.connect(server.address()) as other:
        schema = schema_of(ledger)
        other.execute(f"LOCK TABLE {schema}.users, {schema}.entries IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(LedgerError, match="another process holds the ledger"):
            ledger.charge(LOSS, None)
        time.sleep(1)  # accounts are read anew in each second
        for _ in range(4):  # that some of the readings fail changes nothing
            assert known.names == ("alice",)
            time.sleep(0.2)
        monkeypatch.setattr(people, "OLDEST", 0.5)
        with pytest.raises(LedgerError, match=r"does not answer|holds the ledger"):
            print(known.names)
    ledger.charge(LOSS, None)
    assert charged(ledger) == 1


# ----------------------------------------------------------------------------- connections that end


def end(ledger: LastingLedger, server: Server) -> None:
    """End the connection, as a restart of the server would."""
    [(number,)] = ledger.book._ask("SELECT pg_backend_pid()")
    server.execute(f"SELECT pg_terminate_backend({number}, 5000)")


def test_a_connection_that_ended_between_statements(ledger: LastingLedger, server: Server) -> None:
    for _ in range(3):
        end(ledger, server)
        ledger.charge(LOSS, None)
    assert charged(ledger) == 3


def test_a_connection_that_ends_before_commit(
    ledger: LastingLedger, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ended(*_: object) -> None:
        end(ledger, server)

    with monkeypatch.context() as broken:
        broken.setattr("dpdb.ledger.accounts.Change.check_covered", ended)
        with pytest.raises(LedgerError, match=r"nothing is answered|nothing was charged"):
            ledger.charge(LOSS, None)
    assert charged(ledger) == 0
    ledger.charge(LOSS, None)
    assert charged(ledger) == 1


@pytest.mark.parametrize("arrives", [True, False])
def test_a_connection_that_is_lost_during_commit(
    ledger: LastingLedger, monkeypatch: pytest.MonkeyPatch, arrives: bool
) -> None:
    """It is not told, and not charged again: the next statement reads what is there."""
    send = server.Server.send

    def lost(self: server.Server, *statements: Any) -> Any:
        if statements[-1] != ("COMMIT",):
            return send(self, *statements)
        if arrives:
            send(self, *statements)
        assert self._connection is not None
        self._connection.close()
        raise psycopg.OperationalError("lost")

    with monkeypatch.context() as broken:
        broken.setattr(server.Server, "send", lost)
        with pytest.raises(LedgerError, match="was lost during COMMIT") as unknown:
            ledger.charge(LOSS, None)
    assert unknown.value.hint == "ask again: what is left is read anew"
    assert charged(ledger) == arrives
    assert ledger.balance.epsilon_left == 1 - Fraction(arrives, 10)
    ledger.charge(LOSS, None)
    assert charged(ledger) == arrives + 1


def test_a_fork_leaves_the_connection_to_its_process(ledger: LastingLedger) -> None:
    before = ledger.book._ask("SELECT pg_backend_pid()")

    def ends() -> None:
        with pytest.raises(LedgerError, match="forked"):
            ledger.charge(LOSS, None)
        # Python calls all of them when it ends; others here would remove the parent's folders.
        closes = [
            each for each in weakref.finalize._registry if each.peek()[1] is server_module._close
        ]
        assert closes
        for each in closes:
            each()

    assert os.waitpid(forked(ends), 0)[1] == 0
    ledger.charge(LOSS, None)
    assert ledger.book._ask("SELECT pg_backend_pid()") == before


@pytest.mark.parametrize("step", ["last", "_insert", "_commit"])
def test_an_interruption_leaves_no_lock(
    ledger: LastingLedger, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(ServerBook, step, interrupted)
        with pytest.raises(KeyboardInterrupt):
            ledger.charge(LOSS, None)
    again(ledger).charge(LOSS, None)
    ledger.charge(LOSS, None)
    assert charged(ledger) == 2


@pytest.mark.parametrize(("setting", "charges"), [("lock", 0), ("idle_in_transaction_session", 1)])
def test_nobody_holds_the_ledger_for_ever(
    ledger: LastingLedger, monkeypatch: pytest.MonkeyPatch, setting: str, charges: int
) -> None:
    """Who waits gives up, and who does not go on loses it."""
    usual, short = (
        f"SET LOCAL {setting}_timeout = '{server.WAIT}s'",
        f"SET LOCAL {setting}_timeout = 99",
    )
    monkeypatch.setattr(
        "dpdb.ledger.book.server_book.BEGIN",
        [text.replace(usual, short) for text in server.BEGIN],
    )
    holder = again(ledger)
    with suppress(LedgerError), holder.book.changing():
        if charges:
            ledger.charge(LOSS, None)
        else:
            with pytest.raises(LedgerError, match="another process holds the ledger"):
                ledger.charge(LOSS, None)
    assert charged(ledger) == charges


# ------------------------------------------------------------------------ servers that are silent


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits long: not for the server, nor for others at it."""
    monkeypatch.setattr(server, "PATIENCE", 1.0)
    monkeypatch.setattr(database, "WAIT", 0.5)
    monkeypatch.setitem(server._LIVELINESS, "connect_timeout", 2)
    long, short = f"lock_timeout = '{server.WAIT}s'", "lock_timeout = '300ms'"
    begin = [text.replace(long, short) for text in server.BEGIN]
    monkeypatch.setattr("dpdb.ledger.book.server_book.BEGIN", begin)


@contextmanager
def frozen(ledger: LastingLedger) -> Iterator[None]:
    """The process of the server that answers the ledger does not run."""
    [(number,)] = ledger.book._ask("SELECT pg_backend_pid()")
    os.kill(number, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(number, signal.SIGCONT)


@pytest.mark.usefixtures("impatient")
def test_a_frozen_process_of_the_server(ledger: LastingLedger) -> None:
    """Threads that wait are refused, and later ones have another connection."""
    with frozen(ledger), ThreadPoolExecutor(4) as threads:
        asked = [threads.submit(ledger.charge, LOSS, None) for _ in range(4)]
        refused = [str(each.exception()) for each in asked if each.exception()]
        assert "the server of the ledger does not answer, and nothing is answered" in refused
        assert charged(ledger) == 4 - len(refused)
        ledger.charge(LOSS, None)
    assert charged(ledger) == 5 - len(refused)


@pytest.mark.usefixtures("impatient")
def test_a_process_of_the_server_that_is_frozen_before_commit(
    ledger: LastingLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It keeps others from charging, and commits when it goes on."""
    with ExitStack() as held, monkeypatch.context() as broken:
        broken.setattr(
            "dpdb.ledger.accounts.Change.check_covered",
            lambda _: held.enter_context(frozen(ledger)),
        )
        with pytest.raises(LedgerError, match="was lost during COMMIT"):
            ledger.charge(LOSS, None)
        broken.undo()
        for each in (again(ledger), ledger):
            assert each.balance.epsilon_left == 1
            with pytest.raises(LedgerError, match="another process holds the ledger"):
                each.charge(LOSS, None)
    until = time.monotonic() + 20
    while charged(ledger) < 1 and time.monotonic() < until:
        time.sleep(0.05)
    ledger.charge(LOSS, None)
    assert (charged(ledger), ledger.balance.epsilon_left) == (2, Fraction(4, 5))


@pytest.mark.usefixtures("impatient")
def test_a_network_that_loses_answers(
    ledger: LastingLedger, server: Server, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with losing(server.socket, folder) as lost:
        place = place_of(ledger.policy)
        ends = (quote(str(each), "") for each in (server.socket, folder))
        far = replace(place, address=place.address.replace(*ends))
        mine = again(ledger, ledger=far)
        mine.charge(LOSS, None)
        with monkeypatch.context() as broken:
            broken.setattr("dpdb.ledger.accounts.Change.check_covered", lambda _: lost.set())
            with pytest.raises(LedgerError, match="was lost during COMMIT"):
                mine.charge(LOSS, None)
        assert charged(ledger) == 2
        with pytest.raises(LedgerError, match="cannot connect to the ledger"):
            print(mine.balance)
        lost.clear()
        assert mine.balance.epsilon_left == Fraction(4, 5)


def test_a_standby_is_refused() -> None:
    with folder_in_memory() as folder, running_server("") as own, ledgers_on(own):
        before = opened(folder)
        before.charge(LOSS, None)
        own.stop()
        (own.socket / "data" / "standby.signal").touch()
        own.start()
        for ask in (lambda: before.charge(LOSS, None), lambda: again(before)):
            with pytest.raises(LedgerError, match="it is a standby") as refused:
                ask()
            assert refused.value.hint == "the address is that of the primary server"


def test_the_clock_of_the_server_is_set_back(
    ledger: LastingLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An hour is tolerated; after more the owner accepts that the entries before were late."""
    ledger.charge(LOSS, None)
    at = ledger.book.last().entry.time
    for hours, refused in ((0.9, False), (2, True)):
        back = f"clock_timestamp() - interval '{hours} hours'"
        monkeypatch.setattr(
            "dpdb.ledger.book.server_book._LAST",
            server_book._LAST.replace("clock_timestamp()", back),
        )
        with pytest.raises(LedgerError, match="the clock") if refused else nullcontext():
            ledger.charge(LOSS, None)
    assert (charged(ledger), ledger.book.last().entry.time) == (2, at)
    custodian.accept(ledger.book, ledger.policy, "custodian", "the clock was wrong", {})
    again(ledger).charge(LOSS, None)
    assert ledger.book.last().entry.time < at


def test_a_server_that_is_stopped_has_charged_all_that_was_granted(folder: Path) -> None:
    with running_server("") as own, ledgers_on(own):
        survives_stops(folder, own, 2, Random(3))
