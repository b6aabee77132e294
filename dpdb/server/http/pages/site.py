"""The page of an analyst: login, statement, price, answer, history, CSV; all by plain forms.

The script of the page sends the same forms, with the header `Dpdb-Part`, and takes from the answer
the parts that changed; so no route is for the script alone.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from urllib.parse import urlsplit

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from dpdb.answers.formats.render import as_csv
from dpdb.answers.record import AnswerRecord
from dpdb.errors import DpdbError, InvalidOption
from dpdb.policy.catalog import Table
from dpdb.policy.names import written
from dpdb.records import dataclass
from dpdb.server.asking import STATUSES, Front, Given, fresh, result
from dpdb.server.http.guard import MOST_BODY, MOST_BODY_OF_STRANGERS, form_of
from dpdb.server.http.pages import html
from dpdb.server.http.pages.help import PAGES, help_view
from dpdb.server.logins import REFUSED, BrowserSession
from dpdb.server.messages import Action
from dpdb.sql.text.splitting import split

_MOST_FIELDS = 10
_ID = re.compile(r"[\w-]{1,40}", re.ASCII)
"""The id of a form."""
_STATIC = {"page.css": "text/css", "page.js": "text/javascript", "icon.svg": "image/svg+xml"}
_TOO_OLD = InvalidOption(
    "this page was too old, and nothing was asked", hint="it is fresh now: press the button again"
)


@dataclass(frozen=True)
class _Visitor:
    """A browser with a session, and the secret of its cookie."""

    session: BrowserSession
    secret: str
    new: bool = False
    """Whether the cookie is yet to be set."""


class Site:
    """The pages of a front."""

    def __init__(self, front: Front):
        self._front = front
        setting = front.setting
        # Cookies of one host are shared by its ports.
        port = urlsplit(setting.origin).port or ""
        self._cookie = "__Host-dpdb" if setting.secure else f"dpdb{port}"

    @property
    def routes(self) -> list[Route]:
        """The routes of the pages."""
        return [
            Route("/", self.home, methods=["GET"]),
            Route("/login", self.login, methods=["GET", "POST"]),
            Route("/logout", self.logout, methods=["POST"]),
            Route("/ask", self.ask, methods=["POST"]),
            Route("/answer/{id}", self.answer, methods=["GET"]),
            Route("/answer/{id}/csv", self.csv, methods=["GET"]),
            Route("/help", self.help, methods=["GET"]),
            Route("/static/{name}", self.static, methods=["GET"]),
        ]

    async def home(self, request: Request) -> Response:
        """The page without an answer."""
        visitor = self._visitor(request)
        return _to_login() if visitor is None else await self._page(visitor)

    async def login(self, request: Request) -> Response:
        """The form for a name and a password, with one message for every refusal.

        It has no token, as there is no session yet: the browser's word keeps other sites out.
        """
        title = self._front.setting.title
        if request.method != "POST":
            return HTMLResponse(html.rendered("login", title=title, refusal=""))
        fields = await self._form(request, MOST_BODY_OF_STRANGERS)
        name, password = fields.get("name", ""), fields.get("password", "")
        opened = await self._front.logins.login(name, password, request.state.address)
        self._front.log.login(name if opened else None, request.state.address)
        if opened is None:
            return HTMLResponse(html.rendered("login", title=title, refusal=REFUSED), 403)
        self._front.logins.sessions.end(request.cookies.get(self._cookie, ""))
        self._front.list_anew(opened[1].analyst)
        response = RedirectResponse("/", 303)
        self._set_cookie(response, opened[0])
        return response

    async def logout(self, request: Request) -> Response:
        """End the session."""
        visitor = self._visitor(request)
        fields = await self._form(request, MOST_BODY_OF_STRANGERS)
        if visitor is not None and visitor.session.is_own(fields.get("csrf", "")):
            self._front.logins.sessions.end(visitor.secret)
        response = _to_login()
        response.delete_cookie(self._cookie, secure=self._front.setting.secure, httponly=True)
        return response

    async def ask(self, request: Request) -> Response:
        """The page with what was asked for: an answer, a price, or an inserted name."""
        visitor = self._visitor(request)
        most = MOST_BODY_OF_STRANGERS if visitor is None or visitor.new else MOST_BODY
        fields = await self._form(request, most)
        if visitor is None:
            return _to_login()
        typed = fields.get("statement", "").replace("\r\n", "\n")
        if not visitor.session.is_own(fields.get("csrf", "")):
            return await self._page(visitor, typed, shown=_TOO_OLD, status=403)
        analyst, part = visitor.session.analyst, "dpdb-part" in request.headers
        pieces = [piece.text for piece in split(typed)]
        statement = pieces[0] if len(pieces) == 1 else typed.strip()
        if "insert" in fields:
            space = " " if typed and not typed[-1].isspace() else ""
            return await self._page(visitor, typed + space + fields["insert"])
        if not statement:
            return await self._page(visitor, typed)
        match fields.get("do"):
            case "price":
                quote = await self._front.look(analyst, Action.QUOTE, statement)
                price = html.price_view(statement, quote)
                if part:
                    return HTMLResponse(html.rendered("part", price=price, answer=None))
                return await self._page(visitor, typed, price=price)
            case "explain":
                shown = await self._front.look(analyst, Action.EXPLAIN, statement)
                return await self._page(visitor, typed, asked=statement, shown=shown)
        form = fields.get("form", "")
        given = await self._front.run(analyst, form if _ID.fullmatch(form) else fresh(), statement)
        return await self._page(
            visitor, typed, asked=statement, id=given.id, shown=await given.answer()
        )

    async def answer(self, request: Request) -> Response:
        """An earlier answer, on the page."""
        visitor = self._visitor(request)
        if visitor is None:
            return _to_login()
        given = self._front.given(visitor.session.analyst, request.path_params["id"])
        if given is None:
            raise HTTPException(404)
        # What was left then is not what is left now.
        balance = await self._front.look(visitor.session.analyst, Action.BALANCE)
        return await self._page(
            visitor, given.statement, id=given.id, shown=await given.answer(), balance=balance
        )

    async def csv(self, request: Request) -> Response:
        """An answer as a file for a spreadsheet, with the ends of the intervals."""
        visitor = self._visitor(request)
        given = visitor and self._front.given(visitor.session.analyst, request.path_params["id"])
        answer = given and await given.answer()
        if not isinstance(answer, AnswerRecord):
            raise HTTPException(404)
        named = {"content-disposition": 'attachment; filename="answer.csv"'}
        text = await asyncio.to_thread(as_csv, answer, intervals=True)
        return Response(f"{text}\n", media_type="text/csv", headers=named)

    async def help(self, request: Request) -> Response:
        """A topic of the manual, for whoever may ask."""
        if self._visitor(request) is None:
            return _to_login()
        wanted = request.query_params.get("topic", "")
        found = await asyncio.to_thread(help_view, wanted)
        text = html.rendered("help", help=found, pages=PAGES)
        return HTMLResponse(text, 404 if found.refusal else 200)

    async def static(self, request: Request) -> Response:
        """The style, the script and the icon."""
        name = request.path_params["name"]
        if name not in _STATIC:
            raise HTTPException(404)
        return Response(html.static(name), media_type=_STATIC[name])

    def _visitor(self, request: Request) -> _Visitor | None:
        """The session of the browser; None where somebody has to log in first."""
        sessions = self._front.logins.sessions
        secret = request.cookies.get(self._cookie, "")
        session = sessions.find(secret)
        if session is not None:
            return _Visitor(session, secret)
        everybody = self._front.people.everybody
        if everybody is None:
            return None
        secret, session = sessions.open(everybody)
        return _Visitor(session, secret, new=True)

    async def _form(self, request: Request, most: int) -> dict[str, str]:
        """The fields of a form that one of our pages has sent; others are refused with 403."""
        secure = self._front.setting.secure
        return await form_of(request, most, fields=_MOST_FIELDS, secure=secure)

    async def _page(
        self,
        visitor: _Visitor,
        statement: str = "",
        *,
        asked: str = "",
        id: str = "",  # noqa: A002 (of the answer)
        shown: AnswerRecord | DpdbError | None = None,
        price: html.PriceView | None = None,
        balance: AnswerRecord | DpdbError | None = None,
        status: int = 200,
    ) -> Response:
        front, analyst = self._front, visitor.session.analyst
        await front.list_earlier(analyst)
        tables = await front.tables(analyst)
        answer = shown if isinstance(shown, AnswerRecord) else None
        balance = balance or answer or await front.look(analyst, Action.BALANCE)
        if isinstance(shown, DpdbError):
            status = max(status, STATUSES.get(shown.kind, 400))
        error = html.error_view(asked or statement, shown) if isinstance(shown, DpdbError) else None

        def page() -> str:
            return html.rendered(
                "page",
                title=front.setting.title,
                analyst=analyst,
                named=front.people.everybody is None,
                passing=front.setting.passing,
                csrf=visitor.session.csrf,
                form=fresh(),
                statement=statement,
                rows=min(max(4, statement.count("\n") + 1), 16),
                price=price,
                error=error,
                answer=answer and html.answer_view(answer, f"/answer/{id}/csv" if id else ""),
                balance=html.budget_view(balance.balance)
                if isinstance(balance, AnswerRecord)
                else None,
                tables=[html.table_view(table) for table in tables],
                examples=_examples(tables),
                history=[line for line in map(_line, front.history(analyst)) if line],
            )

        # A long answer takes a second, in which others are answered, too.
        response = HTMLResponse(await asyncio.to_thread(page), status)
        if visitor.new:
            self._set_cookie(response, visitor.secret)
        return response

    def _set_cookie(self, response: Response, secret: str) -> None:
        secure = self._front.setting.secure
        response.set_cookie(
            self._cookie, secret, path="/", secure=secure, httponly=True, samesite="strict"
        )


def _to_login() -> Response:
    return RedirectResponse("/login", 303)


def _line(given: Given) -> html.HistoryView | None:
    """The line of the history; None for what is no answer to a query."""
    if given.line is None:
        answer = result(given.reply.result())
        given.line = (None,)
        if isinstance(answer, AnswerRecord) and answer.query and not answer.explain:
            given.line = (html.history_view(given.id, answer),)
    line: html.HistoryView | None = given.line[0]
    return line


def _examples(tables: Sequence[Table]) -> list[str]:
    """Statements to begin with: a count, an average, and one by group, where columns allow it."""
    if not tables:
        return []
    name, columns = written(tables[0].name), tables[0].columns
    numbers = [
        f"AVG({written(each.name)})" for each in columns if each.bounds and each.values is None
    ]
    keys = [written(each.name) for each in columns if each.values is not None]
    asked = ["COUNT(*)", *numbers[:1]]
    grouped = [f"SELECT {key}, {asked[-1]} FROM {name} GROUP BY {key}" for key in keys[:1]]  # noqa: S608 (to be typed)
    return [*(f"SELECT {each} FROM {name}" for each in asked), *grouped]  # noqa: S608
