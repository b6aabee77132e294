"""The log of a server, a line of JSON for each request, and the counters for Prometheus.

Both hold what follows from statements, the policy and the budget, and from nothing else: no values
of answers, and no durations, as these follow from rows. The time of a line is that at which the
request came, in whole seconds. Errors of which analysts see an outline are whole in the log.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from typing import TextIO

from dpdb.ledger.protocol import LONGEST_STATEMENT
from dpdb.policy.numbers import decimal
from dpdb.server.messages import Reply, Request

ANSWERED, GONE = "answered", "gone"
"""The outcomes of requests that are no error: answered, and given up by whoever asked."""
_Samples = Iterable[tuple[dict[str, str], float]]


class Log:
    """Writes lines, and counts; a line that cannot be written is counted, and no error."""

    def __init__(
        self, to: TextIO | None, *, statements: bool = False, clock: Callable[[], float] = time.time
    ):
        """`statements` says whether texts of statements are written, too, and not only hashes."""
        self._to, self._statements, self._clock = to, statements, clock
        self._requests = Counter[tuple[str, str]]()
        self._logins = Counter[str]()
        self._told: dict[str, Fraction] = defaultdict(Fraction)
        self._unwritten = 0

    def now(self) -> int:
        """The time of a request that comes now."""
        return int(self._clock())

    def request(self, came: int, request: Request, reply: Reply | None) -> None:
        """Note a request of an analyst.

        Without a reply its asker was gone before, and whether it was paid is not known.
        """
        outcome = GONE if reply is None else reply.error or ANSWERED
        self._requests[str(request.action), outcome] += 1
        epsilon = None if reply is None else Fraction(reply.epsilon)
        if epsilon:
            self._told[request.analyst] += epsilon
        text = json.dumps(request.statements) if request.statements else request.text
        shown = {"text": text[:LONGEST_STATEMENT]} if text and self._statements else {}
        if reply is not None and reply.reason:
            shown["reason"] = reply.reason
            if self._to is None:
                print(reply.reason, file=sys.stderr, flush=True)
        self._write(
            came,
            request.analyst,
            action=str(request.action),
            statement=hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:16]
            if text
            else None,
            paid=None if reply is None else reply.paid,
            epsilon=None if epsilon is None else decimal(epsilon, 9),
            outcome=outcome,
            **shown,
        )

    def login(self, analyst: str | None, address: str) -> None:
        """Note a login; of one that was refused the name is not written, which can be a password.

        A token that is not known is one, too.
        """
        outcome = "refused" if analyst is None else "opened"
        self._logins[outcome] += 1
        self._write(self.now(), analyst, action="login", outcome=outcome, address=address[:100])

    def _write(self, came: int, who: str | None, **fields: object) -> None:
        if self._to is None:
            return
        when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(came))
        # In ASCII, so that no character of a name or a statement ends a line or moves a cursor.
        line = json.dumps({"time": when, "who": who} | fields, ensure_ascii=True)
        try:
            self._to.write(f"{line}\n")
            self._to.flush()
        except (OSError, ValueError):
            self._unwritten += 1

    def metrics(self, waiting: Sequence[int], restarts: int) -> str:
        """The counters in the text format of Prometheus, version 0.0.4.

        `waiting` has for each worker the statements in its queues.
        """
        families: tuple[tuple[str, str, str, _Samples], ...] = (
            ("dpdb_requests_total", "counter", "Requests of analysts.", (
                ({"action": action, "outcome": outcome}, count)
                for (action, outcome), count in self._requests.items()
            )),
            ("dpdb_logins_total", "counter", "Logins and unknown tokens.", (
                ({"outcome": outcome}, count) for outcome, count in self._logins.items()
            )),
            ("dpdb_epsilon_total", "counter", "Epsilon paid since the server was started.", (
                ({"analyst": name}, float(told)) for name, told in self._told.items()
            )),
            ("dpdb_waiting", "gauge", "Statements that wait for a worker.", (
                ({"worker": str(number)}, count) for number, count in enumerate(waiting)
            )),
            ("dpdb_worker_restarts_total", "counter", "Workers that ended and were replaced.",
             [({}, restarts)]),
            ("dpdb_log_lines_lost_total", "counter", "Lines that could not be written.",
             [({}, self._unwritten)]),
        )  # fmt: skip
        return "".join(line for family in families for line in _exposed(*family))


def is_metrics_token(header: str | None, token: str) -> bool:
    """Whether a request's Authorization header is that of the custodian's Prometheus."""
    wanted = f"Bearer {token}".encode()
    return hmac.compare_digest((header or "").encode(errors="surrogatepass"), wanted)


def _exposed(name: str, kind: str, about: str, samples: _Samples) -> Iterator[str]:
    yield f"# HELP {name} {about}\n# TYPE {name} {kind}\n"
    for labels, value in samples:
        pairs = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels.items())
        yield f"{name}{{{pairs}}} {value!r}\n" if pairs else f"{name} {value!r}\n"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")
