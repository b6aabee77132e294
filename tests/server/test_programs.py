"""The routes for programs: the objects of `--json`, tokens, statuses, and no cookie."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from dpdb.answers.wire import from_wire
from dpdb.errors import LedgerError
from dpdb.policy.budget import Budget
from dpdb.policy.catalog import Policy
from dpdb.server.asking import Front, Setting
from dpdb.server.http.app import RECORD
from dpdb.server.log import Log
from dpdb.server.messages import Action, Desk, Reply, Request
from dpdb.session.connect import policy_of
from tests.server.served import Known, Served
from tests.support.command_line import PEOPLE

COUNT = "SELECT COUNT(*) FROM people"
TOKEN = "a token of alice"


@pytest.fixture(scope="module")
def policy() -> Policy:
    return replace(policy_of(PEOPLE), budget=Budget(Fraction(1), Fraction(0), 10))


@pytest.fixture(scope="module")
def known(policy: Policy) -> Iterator[Served]:
    with Served(policy, Known({"alice": TOKEN, "bob": "another"})) as server:
        yield server


def test_a_statement_from_its_price_to_its_repeat(known: Served) -> None:
    asked = {"statement": f"{COUNT} WHERE age > ?", "parameters": [30], "epsilon": 0.2}
    answer = known.send("/query", asked, TOKEN).json
    assert answer["cost"] == {"epsilon": 0.2, "delta": 0.0, "queries": 1}
    assert answer["intervals"][0][0][0] < answer["rows"][0][0] < answer["intervals"][0][0][1]
    again = known.send("/query", asked, TOKEN).json
    assert again["repeat"]
    assert again["rows"] == answer["rows"]
    price = known.send("/price", {"statement": "SELECT AVG(age) FROM people"}, TOKEN).json
    assert (price["explain"], price["rows"], price["cost"]["epsilon"]) == (True, [], 0.1)
    values = {"statement": f"{COUNT} WHERE age > ?", "parameters": [30]}
    assert known.send("/price", values, TOKEN).status == 400  # or the price were another's
    explained = known.send("/explain", {"statement": "SELECT AVG(age) FROM people"}, TOKEN).json
    assert {each["column"] for each in explained["releases"]} == {"AVG(age)"}
    bearer = {"Authorization": f"Bearer {TOKEN}"}
    left = known.ask("GET", "/budget", headers=bearer).json["budget"]
    assert left["epsilon_left"] == 0.8
    answers = known.ask("GET", "/answers", headers=bearer).json
    assert [each["rows"] for each in answers] == [answer["rows"]]
    # Bob has not asked anything.
    bearer = {"Authorization": "bearer another"}
    assert known.ask("GET", "/answers", headers=bearer).json == []


def test_a_client_that_goes_away_has_paid(known: Served) -> None:
    asked = {"statement": f"{COUNT} WHERE age > 52"}
    body = json.dumps(asked)
    head = [
        "POST /query HTTP/1.1",
        f"Host: 127.0.0.1:{known.port}",
        f"Authorization: Bearer {TOKEN}",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
    ]
    with socket.create_connection(("127.0.0.1", known.port)) as gone:
        gone.sendall("\r\n".join([*head, "", body]).encode())
    for _ in range(200):
        if asked["statement"] in known.desk.executed():
            break
        time.sleep(0.02)
    assert known.send("/query", asked, TOKEN).json["repeat"]


def test_a_page_lists_what_a_program_has_asked(known: Served) -> None:
    for age in (53, 54):  # and again after another login
        known.send("/query", {"statement": f"{COUNT} WHERE age > {age}"}, TOKEN)
        login = known.post("/login", {"name": "alice", "password": TOKEN})
        assert f"age &gt; {age}</code>" in known.get("/", login.cookie).text


def test_plans_are_told(known: Served) -> None:
    statements = [COUNT, ["SELECT AVG(age) FROM people WHERE age > ?", [30]]]
    plan = known.send("/plan", {"statements": statements}, "another")
    assert plan.json["rows"]


def test_a_client_of_dpdb_is_given_the_record(known: Served) -> None:
    asked = {"statement": "SELECT AVG(age) FROM people"}
    plain = known.send("/explain", asked, TOKEN)
    exact = known.send("/explain", asked, TOKEN, Accept=RECORD)
    assert plain.headers["content-type"] == "application/json"
    assert exact.headers["content-type"] == RECORD
    answer = from_wire(exact.text)
    assert answer.outline is not None
    assert answer.cost.epsilon == Fraction(1, 10)
    refused = known.send("/query", {"statement": "SELECT"}, TOKEN, Accept=RECORD)
    assert refused.headers["content-type"] == "application/json"


@pytest.mark.parametrize(
    ("content", "status", "kind"),
    [
        ({"statement": "SELECT AVG(incme) FROM people"}, 400, "UnknownName"),
        ({"statement": "SELECT * FROM people"}, 400, "Unsupported"),
        ({"statement": COUNT + " WHERE age > 61", "epsilon": 7}, 409, "BudgetExceeded"),
        ({"statement": 7}, 400, "UsageError"),
        ({"statement": COUNT, "epsilon": True}, 400, "UsageError"),
        ({"statement": COUNT, "epsilon": [1]}, 400, "UsageError"),
        ({"statement": COUNT, "seed": 1}, 400, "UsageError"),
        ([COUNT], 400, "UsageError"),
        ({"statement": "x" * 2**20}, 413, "TooLarge"),
    ],
)
def test_refusals_are_objects(known: Served, content: object, status: int, kind: str) -> None:
    response = known.send("/query", content, TOKEN)
    assert (response.status, response.json["error"]["kind"]) == (status, kind)


def test_the_place_of_an_error_is_told(known: Served) -> None:
    error = known.send("/query", {"statement": "SELECT AVG(incme) FROM people"}, TOKEN).json
    assert error["error"] == {
        "kind": "UnknownName",
        "message": "no column incme",
        "hint": "did you mean income?",
        "line": 1,
        "column": 12,
    }


def test_nothing_but_a_token_lets_in(known: Served) -> None:
    login = known.post("/login", {"name": "alice", "password": TOKEN})
    before = len(known.desk.asked)
    for headers in (
        {},
        {"Cookie": login.cookie},
        {"Authorization": "Bearer "},
        {"Authorization": f"Bearer {TOKEN}x"},
        {"Authorization": f"Basic {TOKEN}"},
        {"Authorization": TOKEN},
    ):
        response = known.ask("GET", "/budget", headers=headers)
        assert response.status == 401
        assert response.headers["www-authenticate"] == "Bearer"
        assert response.json["error"]["kind"] == "Unauthorized"
    assert len(known.desk.asked) == before


def test_malformed_bodies(known: Served) -> None:
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
    deep = b'{"statement": "SELECT ?", "parameters": %b}' % (b"[" * 400 + b"]" * 400)
    for body in (
        b"",
        b"{",
        b"\xff",
        b'{"epsilon": NaN}',
        b'{"parameters": [1e999]}',
        b"[" * 100_000,
        b"null",
        deep,
    ):
        response = known.ask("POST", "/query", body, headers)
        assert (response.status, response.json["error"]["kind"]) == (400, "UsageError")
    # No redirect: behind a proxy with TLS it would lead to http, and take the token there.
    assert known.ask("POST", "/query/", b"{}", headers).status == 404
    plain = headers | {"Content-Type": "text/plain"}
    assert known.ask("POST", "/query", b"{}", plain).status == 415


def test_a_full_queue_says_when_to_come(known: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known.desk, "busy", True)
    response = known.send("/query", {"statement": COUNT}, TOKEN)
    assert (response.status, response.headers["retry-after"]) == (429, "1")
    assert response.json["error"]["kind"] == "Busy"


def test_the_log_and_the_counters(known: Served) -> None:
    known.send("/query", {"statement": f"{COUNT} WHERE age > 44"}, "another")
    *_, line = known.log.getvalue().splitlines()
    told = json.loads(line)
    assert (told["who"], told["action"], told["epsilon"]) == ("bob", "execute", "0.1")
    assert "age > 44" not in line
    assert known.get("/metrics").status == 404
    counters = known.ask("GET", "/metrics", headers={"Authorization": "Bearer a token"}).text
    assert 'dpdb_requests_total{action="execute",outcome="answered"}' in counters


def test_without_accounts_no_other_site_may_ask(policy: Policy) -> None:
    """A page elsewhere can send what a form can; of JSON the browser would ask first."""
    with Served(policy, passing=True) as server:
        asked = {"statement": COUNT}
        assert server.send("/query", asked).status == 200
        assert server.send("/query", asked, Sec_Fetch_Site="cross-site").status == 403
        assert server.send("/query", asked, Origin="https://evil.example").status == 403
        assert server.send("/query", asked, Host="evil.example").status == 403
        form = {"Content-Type": "text/plain"}
        assert server.ask("POST", "/query", json.dumps(asked), form).status == 415
        assert server.ask("OPTIONS", "/query").status == 405


def test_the_document_names_the_routes(known: Served) -> None:
    document = known.get("/openapi.json").json
    for path, operations in document["paths"].items():
        [method] = operations
        headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
        response = known.ask(method.upper(), path, "[]" if method == "post" else None, headers)
        assert response.status == (400 if method == "post" else 200)
        assert path in known.get("/api").text
    text = json.dumps(document)
    for place in {each.split('"')[0] for each in text.split('"$ref": "#/')[1:]}:
        found = document
        for name in place.split("/"):
            found = found[name]


def test_assistants_ask_by_the_same_tokens(known: Served) -> None:
    async def asked() -> dict[str, Any]:
        address = f"{known.origin}/mcp"
        async with (
            create_mcp_http_client({"Authorization": "Bearer another"}) as http,
            Client(streamable_http_client(address, http_client=http)) as client,
        ):
            told = await client.call_tool("ask", {"statement": f"{COUNT} WHERE age > 35"})
            return told.structured_content

    assert anyio.run(asked)["cost"]["epsilon"] == 0.1
    assert known.desk.asked[-1].analyst == "bob"
    assert known.ask("POST", "/mcp", "{}").status == 401
    last = json.loads(known.log.getvalue().splitlines()[-1])
    assert (last["action"], last["outcome"]) == ("login", "refused")


@pytest.mark.parametrize("everybody", [None, "you"])
def test_an_analyst_with_an_account_asks_at_a_limited_rate(everybody: str | None) -> None:
    class Still(Desk):
        async def ask(self, request: Request) -> Reply:
            return Reply("{}")

    async def ask_often() -> list[str | None]:
        people = Known({} if everybody else {"alice": TOKEN})
        setting = Setting("people", "http://127.0.0.1", everybody)
        front = Front(Still(), setting, people, Log(None))
        request = Request("alice", Action.QUOTE, COUNT)
        replies = [await front.ask(request) for _ in range(1500)]
        other = await front.ask(replace(request, analyst="bob"))
        front.logins.close()
        return [*(each.error for each in replies), other.error]

    *told, other = asyncio.run(ask_often())
    assert told[:1000] == [None] * 1000
    assert other is None
    assert ("Busy" in told[1000:]) == (everybody is None)


def test_accounts_that_cannot_be_relied_on_are_told_to_nobody_outside(
    policy: Policy, capsys: pytest.CaptureFixture[str]
) -> None:
    class Changed(Known):
        spoilt = False

        @property
        def names(self) -> tuple[str, ...]:
            if self.spoilt:
                raise LedgerError("alice in /srv/ledger was changed")
            return super().names

    people = Changed({"alice": TOKEN})
    with Served(policy, people) as server:
        people.spoilt = True
        bearer = {"Authorization": f"Bearer {TOKEN}"}
        told = server.ask("GET", "/budget", headers=bearer), server.get("/")
    assert [each.status for each in told] == [503, 503]
    assert told[0].json["error"]["kind"] == "LedgerError"
    assert not any("/srv" in each.text or "alice" in each.text for each in told)
    assert capsys.readouterr().err.count("error: alice in /srv/ledger was changed") == 2
