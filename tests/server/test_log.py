"""What a server writes of requests and counts: who, when, which statement, its price, no values."""

from __future__ import annotations

import hashlib
import io
import json

import psycopg
import pytest

from dpdb.errors import LedgerError
from dpdb.policy.reading.reader import read_policy
from dpdb.server.log import Log, is_metrics_token
from dpdb.server.messages import Action, Reply, Request
from tests.server.postgres.wired import Wired
from tests.server.served import NearDesk, Served
from tests.support.desks import NEW, POLICY, ROWS
from tests.support.lasting import opened_shop

AT = 1_800_000_000.9
WHEN = "2027-01-15T08:00:00Z"
COUNT = "SELECT COUNT(*) FROM t"
ANSWER = Reply('{"rows": [[4711]]}', paid=True, epsilon="1/10")


class Kept(io.StringIO):
    @property
    def lines(self) -> list[dict[str, object]]:
        return [json.loads(line) for line in self.getvalue().splitlines()]


@pytest.fixture
def kept() -> Kept:
    return Kept()


def logged(to: Kept | None, **options: bool) -> Log:
    return Log(to, clock=lambda: AT, **options)


def test_a_line_says_who_when_which_statement_its_cost_and_the_outcome(kept: Kept) -> None:
    log = logged(kept)
    log.request(log.now(), Request("alice", Action.EXECUTE, COUNT), ANSWER)
    log.request(log.now(), Request("bob", Action.EXPLAIN, COUNT), Reply("{}", "Unsupported"))
    log.request(log.now(), Request("bob", Action.BALANCE), Reply("{}"))
    log.request(log.now(), Request("bob", Action.PLAN, statements=[COUNT]), None)
    log.login("alice", "192.0.2.1")
    log.login(None, "192.0.2.1")
    digest = hashlib.sha256(COUNT.encode()).hexdigest()[:16]
    plan = hashlib.sha256(json.dumps([COUNT]).encode()).hexdigest()[:16]
    paid = {"paid": True, "epsilon": "0.1"}
    free = {"paid": False, "epsilon": "0"}
    unknown = {"paid": None, "epsilon": None}
    assert kept.lines == [{"time": WHEN, **fields} for fields in (
        {"who": "alice", "action": "execute", "statement": digest, **paid, "outcome": "answered"},
        {"who": "bob", "action": "explain", "statement": digest, **free, "outcome": "Unsupported"},
        {"who": "bob", "action": "balance", "statement": None, **free, "outcome": "answered"},
        {"who": "bob", "action": "plan", "statement": plan, **unknown, "outcome": "gone"},
        {"who": "alice", "action": "login", "outcome": "opened", "address": "192.0.2.1"},
        {"who": None, "action": "login", "outcome": "refused", "address": "192.0.2.1"},
    )]  # fmt: skip
    assert "4711" not in kept.getvalue()
    assert "SELECT" not in kept.getvalue()


def test_statements_are_written_on_request_and_end_no_line(kept: Kept) -> None:
    log = logged(kept, statements=True)
    hostile = "SELECT 'a\nb\r\x1b[2J\u2028\u202e\x85\udc80' FROM t"
    log.request(log.now(), Request("a\nb\u202e", Action.EXECUTE, hostile), ANSWER)
    log.login(None, "x\n" * 1000)
    assert len(kept.getvalue().split("\n")) == 3
    assert kept.getvalue().replace("\n", "").isascii()
    assert kept.getvalue().replace("\n", "").isprintable()
    assert [line["who"] for line in kept.lines] == ["a\nb\u202e", None]
    assert kept.lines[0]["text"] == hostile
    assert len(str(kept.lines[1]["address"])) == 100


def test_a_log_that_cannot_be_written_stops_no_answer() -> None:
    class Full(Kept):
        def write(self, _: str) -> int:
            raise OSError(28, "No space left on device")

    log = logged(Full())
    log.request(log.now(), Request("alice", Action.EXECUTE, COUNT), ANSWER)
    assert "dpdb_log_lines_lost_total 1\n" in log.metrics([], 0)


def test_counters_are_in_the_format_of_prometheus() -> None:
    log = logged(None)
    for _ in range(3):
        log.request(log.now(), Request("alice", Action.EXECUTE, COUNT), ANSWER)
    log.request(
        log.now(), Request('q"\\\n', Action.EXECUTE, COUNT), Reply("{}", paid=True, epsilon="1/3")
    )
    log.request(log.now(), Request("bob", Action.QUOTE, COUNT), Reply("{}", "BudgetExceeded"))
    log.login(None, "192.0.2.1")
    assert (
        log.metrics([2, 0], 1)
        == r"""# HELP dpdb_requests_total Requests of analysts.
# TYPE dpdb_requests_total counter
dpdb_requests_total{action="execute",outcome="answered"} 4
dpdb_requests_total{action="quote",outcome="BudgetExceeded"} 1
# HELP dpdb_logins_total Logins and unknown tokens.
# TYPE dpdb_logins_total counter
dpdb_logins_total{outcome="refused"} 1
# HELP dpdb_epsilon_total Epsilon paid since the server was started.
# TYPE dpdb_epsilon_total counter
dpdb_epsilon_total{analyst="alice"} 0.3
dpdb_epsilon_total{analyst="q\"\\\n"} 0.3333333333333333
# HELP dpdb_waiting Statements that wait for a worker.
# TYPE dpdb_waiting gauge
dpdb_waiting{worker="0"} 2
dpdb_waiting{worker="1"} 0
# HELP dpdb_worker_restarts_total Workers that ended and were replaced.
# TYPE dpdb_worker_restarts_total counter
dpdb_worker_restarts_total 1
# HELP dpdb_log_lines_lost_total Lines that could not be written.
# TYPE dpdb_log_lines_lost_total counter
dpdb_log_lines_lost_total 0
"""
    )


def test_metrics_are_for_whoever_has_their_token() -> None:
    assert is_metrics_token("Bearer secret", "secret")
    for wrong in (
        None,
        "",
        "Bearer ",
        "Bearer secre",
        "Bearer secret ",
        "secret",
        "Bearer \udc80é",
    ):
        assert not is_metrics_token(wrong, "secret")


@pytest.mark.parametrize(
    ("gone", "outline", "hint"),
    [
        ("t.csv", "the data of a table cannot be used now", "its cost stays spent; the data owner"),
        ("t.ledger", "the ledger of this budget cannot be used now", "the data owner finds"),
    ],
)
def test_paths_of_the_data_owner_are_in_the_log_alone(gone: str, outline: str, hint: str) -> None:
    with opened_shop(POLICY.format(analysts=""), ROWS) as path:
        desk = NearDesk(read_policy(path))
        with Served(None, desk=desk) as pages, Wired(desk) as wire, wire.connect() as client:
            assert pages.send("/price", {"statement": NEW.format(0)}).status == 200
            assert client.execute("SHOW TABLES").fetchall()
            (path.parent / gone).rename(path.parent / "elsewhere")
            told = pages.send("/query", {"statement": NEW.format(1)}).json["error"]
            with pytest.raises(psycopg.Error, match=outline) as refused:
                client.execute(NEW.format(2))
        assert told["message"] == outline
        assert told["hint"].startswith(hint)
        assert refused.value.diag.message_hint == told["hint"]
        assert str(path.parent) not in f"{told}{refused.value}"
        for log in (pages.log, wire.log):
            reason = json.loads(log.getvalue().splitlines()[-1])["reason"]
            assert str(path.parent / gone) in reason


def test_a_front_without_a_log_tells_its_owner(capsys: pytest.CaptureFixture[str]) -> None:
    error = LedgerError("/srv/t.ledger is damaged", hint="a backup")
    logged(None).request(0, Request("alice", Action.EXECUTE), Reply.of_error("", error))
    assert capsys.readouterr().err == "error: /srv/t.ledger is damaged\nhint: a backup\n"
