"""Three `dpdb serve`, each a process with workers of its own, on one ledger in PostgreSQL."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from fractions import Fraction
from http.client import HTTPConnection
from pathlib import Path
from random import Random
from threading import Event, Thread
from typing import Any
from urllib.parse import urlencode

import pandas
import pytest
import sqlalchemy

from dpdb.ledger import accounts, custodian
from dpdb.ledger.book.entries import Charge
from dpdb.policy.reading.reader import read_policy
from dpdb.session import budget_overview
from tests.support.lasting import book_of, folder_in_memory, verify
from tests.support.postgres import Server, running_server

POLICY = """
[budget]
name = "shared"
ledger = "{ledger}"
epsilon = {epsilon}
queries = {queries}
[tables.t.columns]
a = {{ type = "integer", bounds = [0, 9] }}
"""
NAMES = ("alice", "bob", "carol")
EACH = Fraction(1, 100)


@dataclass
class Machine:
    """A server that runs, as one analyst reaches it."""

    process: subprocess.Popen[str]
    http: int
    postgres: int

    def kill_worker(self) -> int:
        """Kill a worker, if there is any just now; how many were."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        workers = children.read_text().split()[:1]
        for number in workers:
            os.kill(int(number), signal.SIGKILL)
        return len(workers)

    def ask(self, token: str, statement: str) -> tuple[int, Any]:
        connection = HTTPConnection("127.0.0.1", self.http, timeout=60)
        body = json.dumps({"statement": statement, "epsilon": float(EACH)})
        heads = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        connection.request("POST", "/query", body, heads)
        reply = connection.getresponse()
        told = json.loads(reply.read())
        connection.close()
        return reply.status, told


@contextmanager
def machine(policy: Path) -> Iterator[Machine]:
    words = [sys.executable, "-m", "dpdb", "serve", str(policy)]
    ports = ["--http", "127.0.0.1:0", "--postgres", "127.0.0.1:0"]
    with subprocess.Popen([*words, *ports], stdin=-3, stdout=-1, stderr=-3, text=True) as process:
        try:
            assert process.stdout is not None
            told = process.stdout.readline() + process.stdout.readline()
            found = re.search(r"127\.0\.0\.1:(\d+)/.*-p (\d+)", told, re.DOTALL)
            assert found is not None, told
            yield Machine(process, int(found[1]), int(found[2]))
        finally:
            process.terminate()


@contextmanager
def machines(
    folder: Path, server: Server, epsilon: Fraction, queries: int
) -> Iterator[tuple[Path, list[Machine]]]:
    """Three machines with copies of policy, key and data, as a data owner makes them."""
    made = list[Path]()
    for name in NAMES:
        (folder / name).mkdir(mode=0o700)
        (folder / name / "t.csv").write_text("a\n" + "5\n3\n" * 50)
        path = folder / name / "t.toml"
        text = POLICY.format(ledger=server.address(), epsilon=float(epsilon), queries=queries)
        path.write_text(text)
        if not made:
            budget_overview.open_budget(read_policy(path))
        else:
            key = path.with_suffix(".ledger.key")
            key.touch(mode=0o600)
            key.write_bytes(made[0].with_suffix(".ledger.key").read_bytes())
        made.append(path)
    with ExitStack() as running:
        yield made[0], [running.enter_context(machine(path)) for path in made]


def eventually(holds: Callable[[], bool]) -> bool:
    until = time.monotonic() + 20
    while not holds():
        if time.monotonic() > until:
            return False
        time.sleep(0.1)
    return True


Asker = Callable[[str], tuple[str | None, bool]]
"""The value that a program shows for a statement, if any, and whether the budget is spent."""
PASSWORD = "correct horse battery"


def at_psql(here: Machine, name: str, token: str) -> Asker:
    words = ["psql", "-XAtq", "-h", "127.0.0.1", "-p", str(here.postgres), "-U", name, "-d", "t"]

    def ask(statement: str) -> tuple[str | None, bool]:
        done = subprocess.run(
            [*words, "-v", "VERBOSITY=sqlstate", "-c", statement],
            check=False, capture_output=True, text=True, env={**os.environ, "PGPASSWORD": token},
        )  # fmt: skip
        return done.stdout.strip() or None, "ERROR:  53400" in done.stderr

    return ask


def in_pandas(here: Machine, name: str, token: str) -> Asker:
    address = f"postgresql+psycopg://{name}:{token}@127.0.0.1:{here.postgres}/t"
    engine = sqlalchemy.create_engine(address, poolclass=sqlalchemy.pool.NullPool)

    def ask(statement: str) -> tuple[str | None, bool]:
        try:
            frame = pandas.read_sql(sqlalchemy.text(statement), engine)
        except pandas.errors.DatabaseError as error:
            return None, "ConfigurationLimitExceeded" in str(error)  # 53400
        return str(frame.iloc[0, 0]), False

    return ask


def in_browser(here: Machine, name: str, password: str) -> Asker:
    def send(path: str, **fields: str) -> tuple[str, str]:
        connection = HTTPConnection("127.0.0.1", here.http, timeout=60)
        heads = {"Content-Type": "application/x-www-form-urlencoded", "Cookie": cookie}
        heads["Sec-Fetch-Site"] = "same-origin"
        connection.request("POST" if fields else "GET", path, urlencode(fields), heads)
        reply = connection.getresponse()
        page = reply.read().decode()
        connection.close()
        return page, (reply.getheader("set-cookie") or "").partition(";")[0]

    cookie = ""
    _, cookie = send("/login", name=name, password=password)

    def ask(statement: str) -> tuple[str | None, bool]:
        csrf = re.search(r'name="csrf" value="([^"]*)"', send("/")[0])
        assert csrf is not None
        page, _ = send("/ask", csrf=csrf[1], do="run", statement=statement)
        found = re.search(r"<td[^>]*>\s*(-?\d+)", page)
        return found and found[1], "budget" in page and 'role="alert"' in page

    return ask


@pytest.mark.examples(2000, 20)
def test_three_servers_spend_one_budget_to_the_last(examples: int, tried) -> None:
    """By psql, pandas, a browser and programs, while workers are killed.

    Each sees the same answer to the same question.
    """
    epsilon, pause, random = examples * EACH, 10.0 if examples > 100 else 2.0, Random(3)
    kills, done = list[int](), Event()
    with (
        running_server("") as server, folder_in_memory() as folder,
        machines(folder, server, epsilon, examples) as (policy, all_three),
        ThreadPoolExecutor(4) as threads,
    ):  # fmt: skip
        terms = read_policy(policy)
        tokens = [
            budget_overview.add_user(terms, name, PASSWORD, None, token=True) or ""
            for name in NAMES
        ]
        asking = list(zip(all_three, tokens, strict=True))
        same = "SELECT COUNT(*) FROM t"
        at_once = list(threads.map(lambda each: each[0].ask(each[1], same), asking))
        assert [status for status, _ in at_once] == [200] * 3
        paid = [Fraction(str(told["cost"]["epsilon"])) for _, told in at_once]
        assert EACH <= sum(paid) <= 3 * EACH
        programs = [
            at_psql(all_three[0], "alice", tokens[0]),
            in_pandas(all_three[1], "bob", tokens[1]),
            in_browser(all_three[2], "carol", PASSWORD),
            at_psql(all_three[2], "alice", tokens[0]),
        ]
        shown = {str(told["rows"][0][0]) for _, told in at_once}
        assert shown | {ask(same)[0] for ask in programs} == {min(shown)}

        def spend(number: int) -> tuple[Fraction, bool]:
            """What was told to be paid, and whether nothing is left."""
            here, token = asking[number % 3]
            status, told = here.ask(token, f"{same} WHERE a * {number} < {number}")
            if status == 200:
                return Fraction(str(told["cost"]["epsilon"])), False
            assert told["error"]["kind"] in ("BudgetExceeded", "LedgerError", "OutOfResources")
            return Fraction(0), told["error"]["kind"] == "BudgetExceeded"

        def kill() -> None:
            while not done.wait(pause):
                kills.append(random.choice(all_three).kill_worker())

        killer, seen, told = Thread(target=kill), dict[str, set[str | None]](), sum(paid)
        killer.start()
        try:
            for number in range(examples):
                question = f"{same} WHERE a * {number} < {5 * number}"
                answers = list(threads.map(lambda ask, asked=question: ask(asked), programs))
                seen[question] = {value for value, _ in answers} - {None}
                told += EACH * len(seen[question])
                first = examples + 12 * number
                results = list(threads.map(spend, range(first, first + 12)))
                told += sum(each for each, _ in results)
                if all(over for _, over in answers + results):
                    break
        finally:
            done.set()
            killer.join()
        assert eventually(lambda: all(ask("SELECT 1 AS one")[0] == "1" for ask in programs))
        for question, values in seen.items():
            again = [ask(question) for ask in programs]
            assert len(values | {value for value, _ in again}) == 1, (question, values, again)
            assert all(value is not None or over for value, over in again)
        entries = verify(book_of(policy))
        charges = [each.entry.event for each in entries if isinstance(each.entry.event, Charge)]
        assert entries[-1].entry.totals.loss.epsilon == epsilon
        assert len(charges) * EACH >= epsilon >= told
        assert epsilon - told <= (16 * sum(kills) + 3 * len(seen)) * EACH
        assert {ask(same)[0] for ask in programs} == shown
        custodian.remove_user(custodian.book_of(terms), accounts.user(), "bob")
        for here in all_three:
            assert eventually(lambda here=here: here.ask(tokens[1], same)[0] == 401)
            assert here.ask(tokens[0], same)[0] == 200
    tried(f"{len(charges)} charges, {sum(kills)} kills, ε {float(epsilon - told)} not told")
