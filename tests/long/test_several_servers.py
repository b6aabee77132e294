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
from typing import Any

import psycopg
import pytest

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
queries = 1_000_000
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

    @property
    def worker(self) -> int:
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return int(children.read_text().split()[0])

    def ask(self, token: str, statement: str) -> tuple[int, Any]:
        connection = HTTPConnection("127.0.0.1", self.http, timeout=60)
        body = json.dumps({"statement": statement, "epsilon": float(EACH)})
        heads = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        connection.request("POST", "/query", body, heads)
        reply = connection.getresponse()
        told = json.loads(reply.read())
        connection.close()
        return reply.status, told

    def ask_as_driver(self, name: str, token: str, statement: str) -> Any:
        address = f"postgresql://{name}@127.0.0.1:{self.postgres}/t"
        with psycopg.connect(address, password=token, autocommit=True) as connection:
            return connection.execute(statement).fetchall()[0][0]


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
    folder: Path, server: Server, epsilon: Fraction
) -> Iterator[tuple[Path, list[Machine]]]:
    """Three machines with copies of policy, key and data, as a data owner makes them."""
    made = list[Path]()
    for name in NAMES:
        (folder / name).mkdir(mode=0o700)
        (folder / name / "t.csv").write_text("a\n" + "5\n3\n" * 50)
        path = folder / name / "t.toml"
        path.write_text(POLICY.format(ledger=server.address(), epsilon=float(epsilon)))
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


@pytest.mark.examples(2000, 20)
def test_three_servers_spend_one_budget_to_the_last(examples: int, tried) -> None:
    """While workers are killed; each sees the same answer to the same question."""
    epsilon, random = examples * EACH, Random(3)
    with (
        running_server("") as server, folder_in_memory() as folder,
        machines(folder, server, epsilon) as (policy, all_three), ThreadPoolExecutor(4) as threads,
    ):  # fmt: skip
        terms = read_policy(policy)
        tokens = [budget_overview.add_user(terms, name, None, None, token=True) for name in NAMES]
        asking = list(zip(all_three, tokens, strict=True))
        same = "SELECT COUNT(*) FROM t"
        at_once = list(threads.map(lambda each: each[0].ask(each[1], same), asking))
        assert [status for status, _ in at_once] == [200] * 3
        paid = [Fraction(str(told["cost"]["epsilon"])) for _, told in at_once]
        assert len({str(told["rows"]) for _, told in at_once}) == 1
        assert EACH <= sum(paid) <= 3 * EACH
        driven = all_three[2].ask_as_driver("alice", tokens[0], same)
        assert driven == at_once[0][1]["rows"][0][0]

        def spend(number: int) -> tuple[Fraction, bool]:
            """What was told to be paid, and whether nothing is left."""
            here, token = asking[number % 3]
            status, told = here.ask(token, f"{same} WHERE a * {number} < {number}")
            if status == 200:
                return Fraction(str(told["cost"]["epsilon"])), False
            assert told["error"]["kind"] in ("BudgetExceeded", "LedgerError")
            return Fraction(0), told["error"]["kind"] == "BudgetExceeded"

        told, number, kills = sum(paid), 1, 0
        while True:
            results = list(threads.map(spend, range(number, number + 12)))
            number += 12
            told += sum(each for each, _ in results)
            if all(over for _, over in results):
                break
            if examples > 100 and random.random() < 0.1:
                os.kill(random.choice(all_three).worker, signal.SIGKILL)
                kills += 1
        entries = verify(book_of(policy))
        charges = [each.entry.event for each in entries if isinstance(each.entry.event, Charge)]
        assert entries[-1].entry.totals.loss.epsilon == epsilon
        assert len(charges) * EACH >= epsilon >= told
        assert epsilon - told <= 12 * kills * EACH
        again = [here.ask(token, same) for here, token in asking]
        assert {str(each["rows"]) for _, each in again} == {str(at_once[0][1]["rows"])}
        custodian.remove_user(custodian.book_of(terms), accounts.user(), "bob")
        for here in all_three:
            assert eventually(lambda here=here: here.ask(tokens[1], same)[0] == 401)
            assert here.ask(tokens[0], same)[0] == 200
    tried(f"{len(charges)} charges, {kills} workers killed, ε {float(epsilon - told)} not told")
