"""Logins of people at a browser: sessions, and the pauses that guessing a password has.

All of it is state of one event loop. Passwords are checked in two threads, and others wait: a check
takes a quarter of a second and 32 MiB, which logins at once could otherwise take many times over.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import secrets
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from dpdb.ledger.people import account_name
from dpdb.records import dataclass
from dpdb.server.limits import DAY, HOUR, Clock, Lockout, network
from dpdb.server.messages import People

REFUSED = "name or password is wrong, or there were too many tries: wait, and try again"
"""The message of every refusal."""
LONGEST_SESSION = 12 * 3600.0
LONGEST_PAUSE = 30 * 60.0
"""The seconds after the last request at which a session ends."""
MOST_SESSIONS = 100
"""The most sessions of an analyst; when there are more, the one that was quiet longest ends."""
CHECKS_AT_ONCE = 2
MOST_WAITING = 20
"""The most logins that wait for a check, after which others are refused."""


@dataclass
class BrowserSession:
    """A browser that has logged in."""

    analyst: str
    csrf: str
    """The text that each form of the session carries: another site cannot read it."""
    mark: str | None
    """The account's text at the login (`People.mark`)."""
    begun: float
    seen: float

    def is_own(self, csrf: str) -> bool:
        """Whether a form is one of this session."""
        return hmac.compare_digest(self.csrf.encode(), csrf.encode(errors="replace"))


class Sessions:
    """The sessions of browsers, found by the hash of a cookie's secret.

    `mark` tells for a name the text of its account, or None where it was removed. A session ends
    when that text is another than at its beginning.
    """

    def __init__(self, mark: Callable[[str], str | None], clock: Clock = time.monotonic):
        self._mark, self._clock = mark, clock
        self._sessions: dict[bytes, BrowserSession] = {}

    def open(self, analyst: str) -> tuple[str, BrowserSession]:
        """A new session, and the secret for its cookie, which is not kept."""
        now = self._clock()
        for known in [k for k, session in self._sessions.items() if not self._lives(session, now)]:
            del self._sessions[known]
        own = [key for key, session in self._sessions.items() if session.analyst == analyst]
        if len(own) >= MOST_SESSIONS:
            del self._sessions[min(own, key=lambda key: self._sessions[key].seen)]
        secret = secrets.token_urlsafe(32)
        csrf = secrets.token_urlsafe(32)
        session = BrowserSession(analyst, csrf, self._mark(analyst), now, now)
        self._sessions[_digest(secret)] = session
        return secret, session

    def find(self, secret: str) -> BrowserSession | None:
        """The session of a cookie; None where it has ended, or never was."""
        session, now = self._sessions.get(_digest(secret)), self._clock()
        if session is None:
            return None
        mark = self._mark(session.analyst)
        if mark is None or mark != session.mark or not self._lives(session, now):
            self.end(secret)
            return None
        session.seen = now
        return session

    def end(self, secret: str) -> None:
        """End the session of a cookie, if there is one."""
        self._sessions.pop(_digest(secret), None)

    def _lives(self, session: BrowserSession, now: float) -> bool:
        return now - session.begun < LONGEST_SESSION and now - session.seen < LONGEST_PAUSE


class Logins:
    """Checks of passwords, with pauses by name and by address.

    A success forgives the failures of its name alone: who has an account cannot use it to go on
    guessing those of others. So some 110 passwords of a name can be tried in a day, from wherever.
    Tokens need no pauses, as 32 random bytes cannot be guessed.
    """

    def __init__(self, people: People, clock: Clock = time.monotonic):
        self.sessions = Sessions(people.mark, clock)
        self._people = people
        self._names, self._addresses = Lockout(clock, DAY), Lockout(clock, HOUR)
        self._threads = ThreadPoolExecutor(CHECKS_AT_ONCE, "dpdb-login")
        self._waiting = 0

    async def login(
        self, name: str, password: str, address: str
    ) -> tuple[str, BrowserSession] | None:
        """A new session, with the secret for its cookie; None where it is REFUSED.

        The session that the browser had before is for the caller to end.
        """
        name = account_name(name)  # or other ways to write one would each have their tries
        tries = (self._names, _digest(name).hex()), (self._addresses, network(address))
        if self._waiting >= MOST_WAITING or not all(lock.is_open(key) for lock, key in tries):
            return None
        for lock, key in tries:
            lock.begin(key)
        self._waiting += 1
        analyst: str | None = None
        try:
            check = self._people.by_password
            loop = asyncio.get_running_loop()
            analyst = await loop.run_in_executor(self._threads, check, name, password)
        finally:  # A browser that goes away has tried, too.
            self._waiting -= 1
            for lock, key in tries:
                lock.end(key, failed=analyst is None)
        if analyst is None:
            return None
        self._names.forgive(tries[0][1])
        return self.sessions.open(analyst)

    def close(self) -> None:
        """End the threads."""
        self._threads.shutdown(wait=False, cancel_futures=True)


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode(errors="surrogatepass")).digest()
