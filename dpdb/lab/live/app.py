"""The application of a class: who may see what, the forms, and the events that keep pages fresh.

A student is known by a cookie, the teacher and the projector by links that the command prints.
Each event is the whole state of a view, so a page that slept, or was reloaded, has missed nothing.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections import Counter
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from hmac import compare_digest
from pathlib import Path
from socket import socket

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from dpdb.lab.classroom.scores import as_csv
from dpdb.lab.live import sheets, views
from dpdb.lab.live.actions import Actions
from dpdb.lab.live.contest import Referee
from dpdb.lab.live.game import Game
from dpdb.lab.live.state import ClassFile, Unwelcome, hashed
from dpdb.server.http.app import HttpServer
from dpdb.server.http.guard import MOST_BODY, MOST_BODY_OF_STRANGERS, Guard, form_of
from dpdb.server.limits import Rates, network

HEARTBEAT = 15.0
"""Seconds after which a comment keeps a quiet stream of events alive."""
SETTLE = 0.1
"""Seconds in which several changes become one event."""
_TRIES = (2.0, 60)
"""The joins of an address: a second in the long run, and at once: a class may have one address."""
_FORMS = (5.0, 100)
"""The forms of a seat likewise: each is kept for good."""
_OF_ADDRESS = 400
"""The connections from one address: those of a whole class."""
_MOST_FIELDS = 100
_COOKIE_AGE = 14 * 24 * 3600


class LiveClass:
    """The pages of a class."""

    def __init__(self, file: ClassFile, folder: Path):
        self.file = file
        self.game = Game(file, folder, self.change)
        self.referee = Referee(file, folder, self.change)
        self.actions = Actions(file, self.game, self.referee)
        self.here: Counter[int] = Counter()
        """The open pages of each seat."""
        self._changes, self._event, self._closing = 0, asyncio.Event(), False
        self._rates = Rates(*_TRIES, time.monotonic)
        self._posts = Rates(*_FORMS, time.monotonic)

    @property
    def routes(self) -> list[Route]:
        """The addresses of the class."""
        return [
            Route("/", self.home, methods=["GET"]),
            Route("/join", self.join, methods=["POST"]),
            Route("/seat", self.seat, methods=["POST"]),
            Route("/t/{key}", self.enter, methods=["GET"]),
            Route("/board", self.shown, methods=["GET"]),
            Route("/control", self.shown, methods=["GET"]),
            Route("/teach", self.teach, methods=["POST"]),
            Route("/contest.csv", self.scores, methods=["GET"]),
            Route("/sheet.csv", self.answers, methods=["GET"]),
            Route("/events/{view}", self.events, methods=["GET"]),
            Route("/static/{name}", _static, methods=["GET"]),
        ]

    def change(self) -> None:
        """Let all pages that are open see the state anew."""
        self._changes += 1
        self._event.set()
        self._event = asyncio.Event()

    def close(self) -> None:
        """End all streams of events."""
        self._closing = True
        self._event.set()

    async def home(self, request: Request) -> Response:
        """The page of a student: of the seat, of the wait for one, or to join."""
        response = HTMLResponse(self._home(request))
        if not self._secret(request):
            # Before joining, so that a form that is sent twice comes from one browser.
            self._set_cookie(response, "seat", secrets.token_urlsafe(32))
        return response

    async def join(self, request: Request) -> Response:
        """Take a seat with the code on the board and a name."""
        fields = await self._form(request)
        secret = self._secret(request)
        try:
            if not self._rates.allows(network(request.state.address)):
                raise Unwelcome("too many tries from here: wait a little")
            if not secret:
                raise Unwelcome("this browser keeps no cookies, and a seat is one")
            code = "".join(fields.get("code", "").split())
            if not compare_digest(code.encode(), self.file.state.code.encode()):
                raise Unwelcome("the code is another one: see the board")
            self.file.join(fields.get("name", ""), hashed(secret))
        except Unwelcome as why:
            return HTMLResponse(self._home(request, str(why), fields), 403)
        self.change()
        return RedirectResponse("/", 303)

    async def seat(self, request: Request) -> Response:
        """Do what a student's form asks for."""
        seat = self.file.state.seat_of(hashed(self._secret(request)))
        fields = await self._form(request, MOST_BODY if seat else MOST_BODY_OF_STRANGERS)
        if seat is None:
            return RedirectResponse("/", 303)
        try:
            if not self._posts.allows(str(seat.number)):
                raise Unwelcome("too fast: wait a second")
            await self.actions.do(seat, fields)
        except Unwelcome as why:
            return HTMLResponse(self._home(request, str(why), fields), 400)
        self.change()
        return RedirectResponse("/", 303)

    async def enter(self, request: Request) -> Response:
        """Make a browser the teacher's, or the projector's, by the secret link."""
        key, state = request.path_params["key"].encode(), self.file.state
        for own, path in ((state.teacher, "control"), (state.board, "board")):
            if compare_digest(key, own.encode()):
                response = RedirectResponse(f"/{path}", 303)
                self._set_cookie(response, path, own)
                return response
        raise HTTPException(404)

    async def shown(self, request: Request) -> Response:
        """The projector's page, or the teacher's."""
        view = request.url.path[1:]
        self._check(request, view)
        return HTMLResponse(views.page(view, self._shown(request, view)))

    async def teach(self, request: Request) -> Response:
        """Do what a button of the teacher asks for."""
        self._check(request, "control")
        fields = await self._form(request)
        try:
            await self.actions.teach(fields)
        except (LookupError, ValueError):
            raise HTTPException(400, "this page was too old: reload it") from None
        self.change()
        return RedirectResponse("/control", 303)

    async def scores(self, request: Request) -> Response:
        """The contest's table as a file for a spreadsheet."""
        self._check(request, "control")
        return _csv("contest", as_csv(self.referee.scores()))

    async def answers(self, request: Request) -> Response:
        """The answers to the sheet of now, with marks and the key."""
        self._check(request, "control")
        if not self.file.state.sheet:
            raise HTTPException(404, "no sheet was chosen")
        return _csv(self.file.state.sheet, sheets.as_csv(self.file.state))

    async def events(self, request: Request) -> Response:
        """The stream of a view's states, each with a number."""
        view = request.path_params["view"]
        if view != "seat":
            self._check(request, view)
        key = hashed(self._secret(request))
        headers = {"x-accel-buffering": "no"}
        return StreamingResponse(
            self._stream(request, view, key), media_type="text/event-stream", headers=headers
        )

    async def _stream(self, request: Request, view: str, key: str) -> AsyncIterator[str]:
        seat = self.file.state.seat_of(key) if view == "seat" else None
        if seat is not None:
            self.here[seat.number] += 1
            self.change()
        last = None
        try:
            while not self._closing:
                changes, event = self._changes, self._event
                shown = self._shown(request, view)
                if shown != last:
                    told = {"number": changes, "page": shown.page, "html": shown.html}
                    yield f"id: {changes}\ndata: {json.dumps(told)}\n\n"
                    last = shown
                try:
                    await asyncio.wait_for(event.wait(), HEARTBEAT)
                    await asyncio.sleep(SETTLE)
                except TimeoutError:
                    yield ": still here\n\n"
        finally:
            if seat is not None:
                self.here[seat.number] -= 1
                self.change()

    def _shown(self, request: Request, view: str) -> views.Shown:
        """The state of a view, as it is now."""
        if view == "board":
            origin = f"http://{request.headers['host']}"
            return views.board(self.file.state, self.game, self.referee, origin)
        if view == "control":
            return views.control(self.file.state, self.game, self.referee, self.here)
        key = hashed(self._secret(request))
        seat = self.file.state.seat_of(key)
        if seat is None:
            return views.stranger(self.file.state, self.file.state.knocking(key))
        return views.seat(self.file.state, seat, self.game, self.referee)

    def _home(
        self, request: Request, refusal: str = "", typed: dict[str, str] | None = None
    ) -> str:
        return views.page("seat", self._shown(request, "seat"), refusal=refusal, typed=typed or {})

    async def _form(self, request: Request, most: int = MOST_BODY_OF_STRANGERS) -> dict[str, str]:
        return await form_of(request, most, fields=_MOST_FIELDS, secure=False)

    def _check(self, request: Request, view: str) -> None:
        """Raise HTTPException unless the browser has the link of a view; the teacher sees both."""
        state = self.file.state
        wanted = {"control": {"control": state.teacher},
                  "board": {"control": state.teacher, "board": state.board}}.get(view)  # fmt: skip
        if wanted is None:
            raise HTTPException(404)
        for name, own in wanted.items():
            given = request.cookies.get(self._cookie(name), "")
            if compare_digest(given.encode(), own.encode()):
                return
        raise HTTPException(403, "this page has a secret link: dpdb lab serve has printed it")

    def _secret(self, request: Request) -> str:
        return request.cookies.get(self._cookie("seat"), "")

    def _set_cookie(self, response: Response, name: str, value: str) -> None:
        # Lax, as the links are followed from elsewhere; forms are checked by their Origin.
        response.set_cookie(
            self._cookie(name), value, _COOKIE_AGE, path="/", httponly=True, samesite="lax"
        )

    def _cookie(self, name: str) -> str:
        """The name of a cookie of this class: another class on the host has others."""
        return f"dpdb-{name}-{hashed(self.file.state.board)[:8]}"


def _csv(name: str, text: str) -> Response:
    named = {"content-disposition": f'attachment; filename="{name}.csv"'}
    return Response(text, media_type="text/csv", headers=named)


async def _static(request: Request) -> Response:
    found = views.static(request.path_params["name"])
    if found is None:
        raise HTTPException(404)
    return Response(found[0], media_type=found[1])


async def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return HTMLResponse(views.message(error.detail), error.status_code, error.headers)


def application(live: LiveClass, hosts: Collection[str]) -> Guard:
    """The application of a class; `hosts` are the names by which it may be called."""

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        live.referee.resume()
        yield
        await live.referee.close()

    handlers = {HTTPException: _refused}
    app = Starlette(routes=live.routes, exception_handlers=handlers, lifespan=lifespan)
    app.router.redirect_slashes = False
    return Guard(app, hosts=hosts)


class ClassServer(HttpServer):
    """Serves a class until SIGTERM or SIGINT; streams of events end first."""

    def __init__(self, live: LiveClass, hosts: Collection[str]):
        super().__init__(application(live, hosts), of_address=_OF_ADDRESS)
        self._live = live

    async def shutdown(self, sockets: list[socket] | None = None) -> None:
        self._live.close()
        await super().shutdown(sockets)
