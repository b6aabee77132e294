"""The desk and its workers: whose turn it is, what is charged, and who is told."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from dpdb.answers.formats.render import FORMATS
from dpdb.answers.wire import from_wire
from dpdb.errors import Busy, DataFileError, LedgerError
from dpdb.policy.reading.reader import read_policy
from dpdb.server.desk import QUEUE, WorkerDesk, place_of
from dpdb.server.messages import LONGEST_REQUEST, Action, Reply, Request, Shape
from dpdb.server.processes import Opening
from dpdb.session.session import Session
from tests.support.desks import COUNT, NEW, POLICY, ROWS, Asking, asking, charges_of
from tests.support.lasting import opened_shop


@pytest.fixture(scope="module")
def shared() -> Iterator[Asking]:
    """Two workers on a lasting budget."""
    with opened_shop(POLICY.format(analysts=""), ROWS) as path, asking(str(path), 2) as made:
        yield made


@pytest.fixture(scope="module")
def passing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asking]:
    """The worker of a budget that is its process's."""
    path = tmp_path_factory.mktemp("passing") / "t.csv"
    path.write_text(ROWS)
    with asking(str(path)) as made:
        yield made


NAMES = ("alice", "bob")


def test_two_analysts_have_two_workers() -> None:
    assert {place_of(name, 2) for name in NAMES} == {0, 1}


def test_what_is_told_is_what_a_session_tells(shared: Asking) -> None:
    alone = Session(read_policy(shared.policy), analyst="alice")
    text = "SELECT AVG(a), COUNT(*) FROM t"
    for action, answer in (
        (Action.EXPLAIN, alone.explain(text)),
        (Action.QUOTE, alone.quote(text)),
        (Action.EXECUTE, alone.execute("DESCRIBE t")),
    ):
        sent = shared.ask("alice", answer.statement, action)
        told = shared.ask("alice", answer.statement, action, shape=Shape.RECORD)
        assert sent.body == FORMATS["json"](answer)
        assert FORMATS["table"](from_wire(told.body)) == FORMATS["table"](answer)
    refused = shared.ask("alice", "SELECT b FROM t")
    assert (refused.error, refused.paid) == ("UnknownName", False)
    assert json.loads(refused.body)["statement"] == "SELECT b FROM t"


def test_an_answer_is_paid_for_once(shared: Asking) -> None:
    first, again = (shared.ask("alice", COUNT.format(2), epsilon="0.25") for _ in range(2))
    assert (first.paid, first.epsilon) == (True, "1/4")
    assert (again.paid, again.epsilon) == (False, "0")
    assert json.loads(first.body)["rows"] == json.loads(again.body)["rows"]


def test_values_and_options_are_sent(shared: Asking) -> None:
    between = shared.ask(
        "alice", "SELECT COUNT(*) FROM t WHERE a BETWEEN ? AND 600", parameters=[500]
    )
    assert json.loads(between.body)["columns"] == ["COUNT(*)"]
    dated = shared.ask("alice", "SELECT ? AS day", parameters=[{"date": "2026-11-27"}])
    assert json.loads(dated.body)["rows"] == [["2026-11-27"]]
    member = ["SELECT COUNT(*) FROM t WHERE a > ?", [700], {"epsilon": "1/8"}]
    planned = shared.ask("alice", "", Action.PLAN, statements=[member, COUNT.format(701)])
    assert len(json.loads(planned.body)["rows"]) == 2
    assert shared.ask("alice", "", Action.PLAN, statements=[7]).error == "UsageError"


def test_nothing_of_another_analyst_is_told(shared: Asking) -> None:
    shared.ask("alice", "SET epsilon = 0.5")
    shared.ask("alice", "CREATE TEMPORARY TABLE mine AS SELECT COUNT(*) AS n FROM t WHERE a > 8")
    shared.ask("alice", COUNT.format(3))
    mate = next(n for n in map(str, range(99)) if place_of(n, 2) == place_of("alice", 2))
    for other in ("bob", mate):  # of another worker, and of the same
        assert shared.rows(other, "SHOW HISTORY") == []
        assert shared.ask(other, "", Action.ANSWERS).body == "[]"
        assert ["epsilon", "default"] in [row[:2] for row in shared.rows(other, "SHOW ALL")]
        assert shared.ask(other, "SELECT n FROM mine").error == "UnknownName"
    assert len(json.loads(shared.ask("alice", "", Action.ANSWERS).body)) >= 2


def test_without_limits_a_price_tells_what_others_have_asked(shared: Asking) -> None:
    prices = list[float]()
    for _ in range(2):
        told = shared.ask("bob", COUNT.format(12), Action.QUOTE)
        prices.append(json.loads(told.body)["cost"]["epsilon"])
        shared.ask("alice", COUNT.format(12))
    assert prices[0] > prices[1] == 0


def test_a_queue_is_full(shared: Asking) -> None:
    async def many() -> list[Reply | BaseException]:
        asked = [
            shared.desk.ask(Request("carol", Action.EXECUTE, NEW.format(100 + i)))
            for i in range(12)
        ]
        return await asyncio.gather(*asked, return_exceptions=True)

    assert shared.desk.waiting == (0, 0)
    replies = shared.run(many())
    assert sum(isinstance(reply, Busy) for reply in replies) == 12 - QUEUE - 1
    assert all(reply.paid for reply in replies if isinstance(reply, Reply))


def test_who_goes_away_has_paid_for_what_has_begun_alone(shared: Asking) -> None:
    """That one answer is kept, and told when it is asked for again."""

    async def given_up() -> None:
        asked = [
            asyncio.ensure_future(
                shared.desk.ask(Request("dave", Action.EXECUTE, NEW.format(200 + i)))
            )
            for i in range(5)
        ]
        await asyncio.sleep(0)
        assert sum(shared.desk.waiting) == 4
        for each in asked:
            each.cancel()
        await asyncio.gather(*asked, return_exceptions=True)
        assert sum(shared.desk.waiting) == 0

    shared.run(given_up())
    assert len(shared.rows("dave", "SHOW HISTORY")) == 1
    assert not shared.ask("dave", NEW.format(200)).paid
    assert shared.ask("dave", NEW.format(201)).paid


def test_a_request_is_not_too_long(shared: Asking) -> None:
    assert shared.ask("alice", "x" * LONGEST_REQUEST).error == "TooLarge"
    assert shared.ask("alice", COUNT.format(2), epsilon="1e999999999").error == "InvalidOption"
    for depth in (100, 330, 990, 100_000):
        deep: list[Any] = []
        for _ in range(depth):
            deep = [deep]
        error = shared.ask("alice", COUNT.format(2), parameters=deep).error
        assert error in ("TypeMismatch", "TooLarge", "OutOfResources")
    assert shared.desk.restarts == 0


def test_turns_are_fair(passing: Asking) -> None:
    """All share one session. Who asks once is answered after one answer of who asks eight times."""
    order = list[str]()

    async def ask(analyst: str, number: int) -> None:
        await passing.desk.ask(Request(analyst, Action.EXECUTE, COUNT.format(number)))
        order.append(analyst)

    async def both() -> None:
        await asyncio.gather(*(ask("a", i) for i in range(8)), ask("b", 8))

    passing.run(both())
    assert order.index("b") == 1


def test_a_passing_budget_ends_with_its_process(passing: Asking) -> None:
    """Otherwise whoever ends the process has another budget."""
    assert not passing.desk.lasts
    assert passing.ask("c", COUNT.format(9)).paid
    with pytest.raises(LedgerError, match="ends with its process"):
        passing.run(passing.desk.reload())
    (process,) = passing.desk.processes
    assert process is not None
    os.kill(process, signal.SIGKILL)
    while passing.desk.processes[0] == process:
        passing.run(asyncio.sleep(0.01))
    with pytest.raises(LedgerError, match="ends with its process"):
        passing.ask("a", COUNT.format(1))


def test_a_place_is_the_same_in_another_process() -> None:
    names = [f"person {i}" for i in range(100)]
    code = f"from dpdb.server.desk import place_of; print([place_of(n, 3) for n in {names}])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(run.stdout) == [place_of(name, 3) for name in names]
    assert set(json.loads(run.stdout)) == {0, 1, 2}


def test_a_policy_that_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(DataFileError, match="cannot read"):
        asyncio.run(WorkerDesk.open(Opening([str(tmp_path / "none.csv")])))


def test_a_budget_is_spent_to_the_end_and_not_beyond() -> None:
    """Alice has a limit, Bob what is left; they ask two workers at once."""
    share = Fraction(1, 100)
    limits = "analysts = { alice = { epsilon = 0.2 }, bob = { epsilon = 0.5 } }"
    policy = POLICY.format(analysts=limits).replace("epsilon = 1000", "epsilon = 0.5")
    with opened_shop(policy, ROWS) as path, asking(str(path), 2) as made:

        async def spend(name: str) -> Fraction:
            spent, number = Fraction(0), 0
            while True:
                number += 1
                text = NEW.format(2 * number + NAMES.index(name))
                reply = await made.desk.ask(Request(name, Action.EXECUTE, text))
                if reply.error:
                    assert reply.error == "BudgetExceeded", reply.body
                    return spent
                spent += Fraction(reply.epsilon)

        async def both() -> list[Fraction]:
            return list(await asyncio.gather(*map(spend, NAMES)))

        assert made.run(both()) == [Fraction(1, 5), Fraction(3, 10)]
        charged = charges_of(path)
        assert [sum(charged[name]) for name in NAMES] == [20 * share, 30 * share]


def test_a_policy_is_opened_anew(shared: Asking) -> None:
    """Who is being answered is answered; a policy that cannot be opened changes nothing."""
    before, text = shared.desk.processes, shared.policy.read_text()

    async def reloaded() -> list[Reply]:
        asked = [
            shared.desk.ask(Request(name, Action.EXECUTE, NEW.format(name)))
            for name in ("300", "301", "302")
        ]
        begun = [asyncio.ensure_future(each) for each in asked]
        await asyncio.sleep(0)
        await shared.desk.reload()
        return await asyncio.gather(*begun)

    async def renewed() -> None:
        while None in shared.desk.processes or {*before} & {*shared.desk.processes}:
            await asyncio.sleep(0.01)

    assert all(reply.paid for reply in shared.run(reloaded()))
    shared.run(renewed())
    assert shared.ask("alice", "SHOW TABLES").error is None
    after = shared.desk.processes
    assert not set(before) & set(after)
    shared.policy.write_text(text.replace("999_999", "9"))  # not what its owner has accepted
    with pytest.raises(LedgerError, match="not what the ledger"):
        shared.run(shared.desk.reload())
    shared.policy.write_text(text)
    assert shared.desk.processes == after


def test_a_session_begins_anew_after_its_worker(shared: Asking) -> None:
    """Bob is told so once; what was paid for is free."""
    shared.ask("bob", "SET epsilon = 0.5")
    paid = shared.rows("bob", COUNT.format(4))
    process, restarts = shared.desk.processes[place_of("bob", 2)], shared.desk.restarts
    assert process is not None
    os.kill(process, signal.SIGKILL)
    while (reply := shared.ask("bob", "SHOW ALL")).error:
        assert reply.error == "OutOfResources"
    assert shared.desk.restarts == restarts + 1
    told = json.loads(reply.body)
    assert ["epsilon", "default"] in [row[:2] for row in told["rows"]]
    assert any("began anew" in note for note in told["notes"])
    again = json.loads(shared.ask("bob", COUNT.format(4)).body)
    assert (again["rows"], again["repeat"]) == (paid, True)
    assert not any("began anew" in note for note in again.get("notes", ()))


def test_a_worker_whose_front_is_gone_ends_what_it_has_begun() -> None:
    """Its answer is kept, so that it is free; what the worker prints goes nowhere."""
    with opened_shop(POLICY.format(analysts=""), ROWS) as path:
        ours, theirs = socket.socketpair()
        with theirs:
            words = [sys.executable, "-m", "dpdb.server.worker", str(theirs.fileno())]
            worker = subprocess.Popen(words, pass_fds=[theirs.fileno()], stdout=-1, stderr=-2)
        with ours, ours.makefile("rb") as lines:
            ours.sendall(Opening([str(path)]).line)
            assert lines.readline().startswith(b"0 ")
            limits = Path(f"/proc/{worker.pid}/limits").read_text()
            ours.sendall(b"1 0 " + Request("eve", Action.EXECUTE, NEW.format(1)).line)
        assert worker.communicate(timeout=60) == (b"", None)
        assert worker.returncode == 0
        assert re.search("Max core file size +0 +0 ", limits)
        assert Session(read_policy(path), analyst="eve").execute(NEW.format(1)).repeat
