"""The application of the HTTP server: the routes for programs, and with them those of the pages.

Programs send and get JSON, the same objects as `--json` prints. They name themselves by a token,
never by a cookie, so that no page of another site can ask for them.
"""

from __future__ import annotations

import asyncio
import json
import math
import signal
import sys
import threading
import time
from collections.abc import AsyncIterator, Collection, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from ssl import SSLContext
from typing import Any, NoReturn

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request as Asked
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from dpdb.answers.answer import Answer
from dpdb.errors import DpdbError, LedgerError, error_text
from dpdb.server.asking import STATUSES, Front, result
from dpdb.server.http.assistants import AssistantsApp
from dpdb.server.http.guard import MOST_BODY, MOST_OF_ADDRESS, Guard, body_of, is_own, limited
from dpdb.server.http.pages import html
from dpdb.server.http.pages.site import Site
from dpdb.server.limits import Rates, network
from dpdb.server.log import is_metrics_token
from dpdb.server.messages import Action, Reply, Request, Shape

RECORD = "application/vnd.dpdb.record+json"
"""The media type of the exact record of an answer, which dpdb's own client asks for."""
_STRANGERS = (5.0, 50)
"""The requests with a wrong token that an address may send: a second in the long run, and at once.
"""
_KEEP_ALIVE, _GRACE = 15, 30
"""The seconds that a quiet connection stays, and those in which a stopped server still answers."""
_QUESTIONS = {
    "/query": (Action.EXECUTE, "Answer a statement. Its price is paid, also if you go away."),
    "/price": (Action.QUOTE, "The price of a SELECT, told without looking at a row; free."),
    "/explain": (Action.EXPLAIN, "What a SELECT would draw, with which noise and cost; free."),
    "/plan": (Action.PLAN, "Plan statements together, so that they share what they draw; free."),
}
"""The questions that are asked by POST."""
_LISTINGS = {
    "/budget": (Action.BALANCE, "What is left of the budget, as SHOW BUDGET tells."),
    "/tables": (Action.TABLES, "Tables and columns, as the policy declares them."),
    "/answers": (Action.ANSWERS, "The answers that you were given, each with its cost."),
}
"""The questions that are asked by GET."""
_DEEPEST = 8
"""The most levels of a body, of which none has more than six."""
_FIELDS = ("statement", "parameters", "epsilon", "delta")


def application(front: Front, hosts: Collection[str], *, proxy: str | None = None) -> Guard:
    """The application of a front; `hosts` are the names by which it may be called."""
    programs = _Programs(front)
    assistants = AssistantsApp(programs, programs.analyst, list(hosts), [front.setting.origin])
    routes: list[BaseRoute] = [
        *Site(front).routes,
        *(Route(path, programs.question, methods=["POST"]) for path in _QUESTIONS),
        *(Route(path, programs.listing, methods=["GET"]) for path in _LISTINGS),
        Route("/openapi.json", _openapi, methods=["GET"]),
        Route("/api", _api, methods=["GET"]),
        Route("/healthz", _healthz, methods=["GET"]),
        Route("/metrics", programs.metrics, methods=["GET"]),
        Route("/mcp", assistants),
    ]

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with assistants.running():
            yield

    handlers = {HTTPException: _refused, LedgerError: _unknown, Exception: _failed}
    app = Starlette(routes=routes, exception_handlers=handlers, lifespan=lifespan)
    app.router.redirect_slashes = False  # to an address of http, where a proxy has the TLS
    return Guard(app, hosts=hosts, proxy=proxy)


class _Programs:
    """Answers programs, each known by its token."""

    def __init__(self, front: Front):
        self._front = front
        self._strangers = Rates(*_STRANGERS, time.monotonic)

    async def ask(self, request: Request) -> Answer:
        """The answer to an assistant; raises DpdbError."""
        reply = await self._front.ask(replace(request, shape=Shape.RECORD))
        answer = await asyncio.to_thread(result, reply)
        if isinstance(answer, DpdbError):
            answer.statement = request.text
            raise answer
        return answer

    async def question(self, asked: Asked) -> Response:
        """The answer to a statement, or its price, or the plan of several."""
        analyst = self.analyst(asked)
        action, _ = _QUESTIONS[asked.url.path]
        fields = _object(asked, await body_of(asked, MOST_BODY))
        if action is Action.PLAN:
            statements = fields.pop("statements", None)
            if fields or not isinstance(statements, list):
                _malformed('{"statements": ["SELECT …", ["SELECT … WHERE x > ?", [30]]]}')
            request = Request(analyst, action, statements=statements)
        else:
            request = _statement(analyst, action, fields)
        return await self._answer(asked, request)

    async def listing(self, asked: Asked) -> Response:
        """The budget, the tables, or earlier answers."""
        action, _ = _LISTINGS[asked.url.path]
        return await self._answer(asked, Request(self.analyst(asked), action))

    async def _answer(self, asked: Asked, request: Request) -> Response:
        exact = RECORD in asked.headers.get("accept", "")
        if exact:
            request = replace(request, shape=Shape.RECORD)
        reply = await self._front.ask(request)
        media = RECORD if exact and reply.error is None else "application/json"
        return _told(reply, media)

    async def metrics(self, asked: Asked) -> Response:
        """The counters for Prometheus, which has a token of its own."""
        token = self._front.setting.metrics_token
        if token is None or not is_metrics_token(asked.headers.get("authorization"), token):
            raise HTTPException(404)
        text = self._front.log.metrics(self._front.desk.waiting, self._front.desk.restarts)
        return PlainTextResponse(text, media_type="text/plain; version=0.0.4")

    def analyst(self, asked: Asked) -> str:
        """The analyst of the token; raises HTTPException 401 where there is none that is known."""
        everybody = self._front.people.everybody
        if everybody is not None:
            sites = asked.headers.get("sec-fetch-site"), asked.headers.get("origin")
            if any(sites) and not is_own(asked, secure=self._front.setting.secure):
                raise HTTPException(403, "the request is from another site")
            return everybody
        scheme, _, token = asked.headers.get("authorization", "").partition(" ")
        analyst = self._front.people.by_token(token.strip()) if scheme.lower() == "bearer" else None
        if analyst is not None:
            return analyst
        if not self._strangers.allows(network(asked.state.address)):
            raise HTTPException(429, "too many requests without a token", {"retry-after": "10"})
        self._front.log.login(None, asked.state.address)  # so a flood does not fill the disk
        raise HTTPException(
            401, "a token is needed: Authorization: Bearer …", {"www-authenticate": "Bearer"}
        )


def _object(asked: Asked, body: bytes) -> dict[str, Any]:
    """The object of a body; raises HTTPException where it is none."""
    if asked.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise HTTPException(415, "the body is JSON: Content-Type: application/json")
    try:
        fields = json.loads(body, parse_constant=_malformed, parse_float=_finite)
    except (ValueError, RecursionError):
        fields = None
    inner = [fields]
    for _ in range(_DEEPEST):
        inner = [each for part in inner for each in _parts(part)]
    if not isinstance(fields, dict) or inner:
        _malformed('{"statement": "SELECT …"}')
    return fields


def _parts(value: object) -> Collection[object]:
    """The values within a value of JSON."""
    return value if isinstance(value, list) else value.values() if isinstance(value, dict) else ()


def _statement(analyst: str, action: Action, fields: dict[str, Any]) -> Request:
    statement = fields.get("statement")
    parameters = fields.get("parameters")
    losses = [fields.get(name) for name in ("epsilon", "delta")]
    known = isinstance(statement, str) and isinstance(parameters, list | dict | None)
    numbers = all(
        each is None or (isinstance(each, int | float | str) and not isinstance(each, bool))
        for each in losses
    )
    if not (known and numbers) or set(fields) - set(_FIELDS):
        _malformed('{"statement": "SELECT …", "parameters": [30], "epsilon": 0.1, "delta": null}')
    if action is Action.QUOTE and len(fields) > 1:
        _malformed('{"statement": "SELECT …"}; /explain takes values and options')
    epsilon, delta = (None if each is None else str(each) for each in losses)
    return Request(analyst, action, str(statement), parameters, epsilon, delta)


def _finite(text: str) -> float:
    """A number of JSON; raises HTTPException for one beyond any float, such as 1e999."""
    number = float(text)
    if math.isinf(number):
        _malformed(f"no value is as large as {text[:40]}")
    return number


def _malformed(hint: str) -> NoReturn:
    raise HTTPException(400, f"the body is not as it should be: {hint}")


def _told(reply: Reply, media: str) -> Response:
    """A reply with its status; who has too many statements in the queue is told when to come."""
    if reply.error is None:
        return Response(reply.body, media_type=media)
    status = STATUSES.get(reply.error, 400)
    headers = {"retry-after": "1"} if status == 429 else None
    return Response(reply.body, status, headers, media)


async def _refused(asked: Asked, error: Exception) -> Response:
    """An error of HTTP: for a page as HTML, for a program as JSON."""
    assert isinstance(error, HTTPException)
    path = asked.url.path
    if path in _QUESTIONS or path in _LISTINGS:
        kinds = {401: "Unauthorized", 403: "Forbidden", 413: "TooLarge", 429: "Busy",
                 503: "LedgerError"}  # fmt: skip
        told = {"kind": kinds.get(error.status_code, "UsageError"), "message": error.detail}
        content = {"statement": "", "error": told | {"hint": None}}
        return JSONResponse(content, error.status_code, error.headers)
    text = html.rendered("message", message=error.detail)
    return HTMLResponse(text, error.status_code, error.headers)


async def _unknown(asked: Asked, error: Exception) -> Response:
    """Accounts that are not to be relied on: why is for the data owner."""
    assert isinstance(error, LedgerError)
    print(error_text("", error), file=sys.stderr, flush=True)
    return await _refused(asked, HTTPException(503, "this server cannot read its accounts"))


async def _failed(_: Asked, __: Exception) -> Response:
    """An error of the server itself, of which nothing is told."""
    return PlainTextResponse("the server failed to answer this request\n", 500)


async def _healthz(_: Asked) -> Response:
    return PlainTextResponse("ok\n")


async def _openapi(_: Asked) -> Response:
    return Response(html.static("openapi.json"), media_type="application/json")


async def _api(_: Asked) -> Response:
    operations = [
        (method, path, about)
        for method, paths in (("POST", _QUESTIONS), ("GET", _LISTINGS))
        for path, (_action, about) in paths.items()
    ]
    document = html.static("openapi.json").decode()
    return HTMLResponse(html.rendered("api", operations=operations, document=document))


class HttpServer(uvicorn.Server):
    """Serves an application until SIGTERM or SIGINT, and then ends as it should."""

    def __init__(
        self,
        app: Guard,
        *,
        proxy: str | None = None,
        tls: SSLContext | None = None,
        of_address: int = MOST_OF_ADDRESS,
    ):
        super().__init__(
            uvicorn.Config(
                app,
                http=limited(proxy, tls, of_address),
                ws="none",
                lifespan="on",
                log_config=None,
                log_level="error",
                access_log=False,
                proxy_headers=False,
                server_header=False,
                timeout_keep_alive=_KEEP_ALIVE,
                timeout_graceful_shutdown=_GRACE,
            )
        )

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop at a signal; uvicorn's own way would then end the process by that signal.

        After the last answer of the door another signal ends what the process waits for.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.handle_exit, number, None)
        yield
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)
