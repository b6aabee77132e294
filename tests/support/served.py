"""Sessions behind HTTP, each an analyst's by token, as a server of dpdb has them."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from dpdb.answers.formats.json_lines import error_as_json
from dpdb.answers.wire import to_wire
from dpdb.errors import reportable
from dpdb.ledger.terms import public_terms
from dpdb.session.session import Session
from dpdb.sql.text.parameters import from_json


def answered(session: Session, path: str, body: dict[str, Any]) -> str:
    """What the server tells a session that asks for exact answers."""
    match path:
        case "/tables":
            return json.dumps(public_terms(session.policy))
        case "/answers":
            return f"[{','.join(map(to_wire, session.answers()))}]"
        case "/budget":
            return to_wire(session.execute("SHOW BUDGET"))
        case "/plan":
            members = [
                (t, from_json(p), {n: Fraction(e) for n, e in o.items()})
                for t, p, o in body["statements"]
            ]
            return to_wire(session.plan(members))
        case "/price":
            return to_wire(session.quote(body["statement"]))
    ask = {"/query": session.execute, "/explain": session.explain}[path]
    options = {name: Fraction(body[name]) for name in ("epsilon", "delta") if name in body}
    return to_wire(ask(body["statement"], from_json(body.get("parameters")), **options))


@contextmanager
def served(session_of: Callable[[str], Session | None]) -> Iterator[str]:
    """The address of a server; `session_of` gives the session of a token."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version, disable_nagle_algorithm = "HTTP/1.1", True

        def do_GET(self) -> None:
            self._reply({})

        def do_POST(self) -> None:
            self._reply(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

        def _reply(self, body: dict[str, Any]) -> None:
            session = session_of(self.headers.get("Authorization", "").removeprefix("Bearer "))
            status, text = 401, "who?"
            if session is not None:
                try:
                    status, text = 200, answered(session, self.path, body)
                except Exception as error:
                    shown = reportable(error)
                    status, text = 400, error_as_json(shown.statement, shown)
            content = text.encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
