"""The accounts of people who ask a server: rows of the ledger beside its chain of entries.

An account has a name, which is an analyst's, a password for the page and a token for programs. The
ledger keeps what both can be checked with: scrypt of a password (RFC 7914), and of a token, which
nobody can guess, SHA-256 and a verifier of SCRAM-SHA-256 (RFC 5802, 7677). Each row is sealed with
the ledger's key. No entry, and so no export of entries, has anything of it.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
import time
import unicodedata
from concurrent.futures import Future, wait
from dataclasses import asdict, replace
from threading import Lock, Thread

from dpdb.errors import LedgerError, UsageError, did_you_mean
from dpdb.ledger.book.book import Account, Book
from dpdb.ledger.book.corrections import open_book
from dpdb.ledger.book.state import decision_of
from dpdb.ledger.protocol import seal
from dpdb.policy.budget import LONGEST_NAME, LastingBudget, is_name
from dpdb.records import dataclass

SHORTEST_PASSWORD = 12
LONGEST_PASSWORD = 1024
_COST = 2**15, 8, 3
"""N, r and p of scrypt: a quarter of a second and 32 MiB."""
_MEMORY = 2**26
_TURNS = 4096
"""The iterations of SCRAM; RFC 7677 (4) asks for no fewer."""
_PURPOSE = b"an account"
_PATIENCE = 1.0
"""Seconds for which the server waits for its accounts, as it answers nobody meanwhile."""
OLDEST = 30.0
"""Seconds for which accounts count that cannot be read anew: more than a database may take."""


@dataclass(frozen=True)
class User:
    """An account, without anything by which one could log in."""

    name: str
    made: int
    """In seconds since 1970."""
    password: str | None = None
    """`scrypt N r p salt hash`, the last two in hexadecimal; None for programs alone."""
    token: str | None = None
    """SHA-256 of the token, in hexadecimal."""
    scram: str | None = None
    """The verifier of the token, in the form in which PostgreSQL keeps one of a password."""

    @property
    def text(self) -> str:
        """The account as it is kept beside its name."""
        fields = {key: value for key, value in asdict(self).items() if key != "name"}
        return json.dumps(fields, sort_keys=True)

    def seal(self, key: bytes) -> bytes:
        """The message authentication code of all of it."""
        return seal(key, _PURPOSE, (self.name, self.text))

    @property
    def mark(self) -> str:
        """A text that is another when the account is made anew."""
        return f"{self.made} {self.password}"

    def with_token(self) -> tuple[User, str]:
        """The account with a new token in place of any other, and the token."""
        token = f"dpdb_{secrets.token_urlsafe(32)}"
        digest = hashlib.sha256(token.encode()).hexdigest()
        return replace(
            self, token=digest, scram=scram_verifier(token, secrets.token_bytes(16))
        ), token


def new_user(name: str, password: str | None) -> User:
    """An account that is not in the ledger yet; raises UsageError for what cannot be one."""
    if not is_name(name) or name != _normal(name).strip():
        raise UsageError(
            f"the name of an account has 1 to {LONGEST_NAME} visible characters, composed ones "
            "(NFC), and no blank at its ends"
        )
    if password is None:
        return User(name, int(time.time()))
    if not SHORTEST_PASSWORD <= len(_normal(password)) <= LONGEST_PASSWORD:
        raise UsageError(
            f"a password has {SHORTEST_PASSWORD} to {LONGEST_PASSWORD} characters",
            hint="several words are easy to type and hard to guess",
        )
    salt = secrets.token_bytes(16)
    fields = "scrypt", *_COST, salt.hex(), _scrypt(password, salt, *_COST).hex()
    return User(name, int(time.time()), " ".join(map(str, fields)))


def scram_verifier(password: str, salt: bytes) -> str:
    """A verifier of SCRAM-SHA-256: StoredKey and ServerKey of RFC 5802 (3)."""
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, _TURNS)
    client = hmac.digest(salted, b"Client Key", "sha256")
    stored, server = hashlib.sha256(client).digest(), hmac.digest(salted, b"Server Key", "sha256")
    return _verifier(salt, stored, server)


def _verifier(*parts: bytes) -> str:
    salt, stored, server = (base64.b64encode(each).decode() for each in parts)
    return f"SCRAM-SHA-256${_TURNS}:{salt}${stored}:{server}"


def users(book: Book, key: bytes) -> dict[str, User]:
    """All accounts by name, in order; raises LedgerError where a row was changed."""
    return _checked(book, key, book.accounts())


def _checked(book: Book, key: bytes, rows: list[tuple[str, str, bytes]]) -> dict[str, User]:
    found = dict[str, User]()
    for name, text, kept in rows:
        if not hmac.compare_digest(seal(key, _PURPOSE, (name, text)), kept):
            raise LedgerError(
                f"the account {name} in {book.place} was changed by something else than dpdb",
                hint=f"dpdb user remove {name} POLICY, and add it again",
            )
        found[name] = User(name, **json.loads(text))
    return found


def insert(book: Book, key: bytes, user: User) -> None:
    """Add an account, in a transaction; raises UsageError where there is one of the name."""
    with book.changing():
        if user.name in _names(book):
            raise UsageError(
                f"there is an account {user.name} already",
                hint="dpdb user token NAME POLICY makes a new token, and dpdb user password NAME "
                "POLICY sets a new password",
            )
        book.put_account(user.name, (user.text, user.seal(key)))


def delete(book: Book, name: str) -> None:
    """Remove an account, in a transaction; raises UsageError where there is none."""
    with book.changing():
        _check_known(book, name)
        book.put_account(name, None)


def new_password(book: Book, name: str, password: str) -> None:
    """Set the password of an account; its sessions end, and its token stays."""
    made = new_user(name, password).password
    with book.changing():
        _check_known(book, name)
        key = key_of(book)
        user = replace(users(book, key)[name], password=made)
        book.put_account(name, (user.text, user.seal(key)))


def new_token(book: Book, name: str) -> str:
    """A new token for an account; any other of it ends."""
    with book.changing():
        _check_known(book, name)
        key = key_of(book)
        user, token = users(book, key)[name].with_token()
        book.put_account(name, (user.text, user.seal(key)))
    return token


def key_of(book: Book) -> bytes:
    """The ledger's key."""
    return bytes.fromhex(decision_of(book, book.last().entry).key)


def account_name(typed: str) -> str:
    """The name of the account that somebody means; what has the same one is one in all."""
    return _normal(typed[: LONGEST_NAME * 4])


class Accounts:
    """The accounts as a server asks for them: read anew when the ledger can have changed.

    Where a server has the ledger, that is each second. If it does not answer, what was read last
    counts for a while, and then nobody is known.
    """

    def __init__(self, lasting: LastingBudget):
        self._book, self._lock = open_book(lasting), Lock()
        self._key = key_of(self._book)
        self._known = dict[str, User]()
        self._rows = list[Account]()
        self._version: object = None
        self._read_at = 0.0
        self._reading: tuple[object, Future[list[Account]]] | None = None
        """The reading that was begun last, and for which version."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all accounts, in order."""
        return tuple(self._users)

    def by_password(self, name: str, password: str) -> str | None:
        """The analyst, or None, after the same work whether there is the account or not."""
        name = account_name(name)
        user = self._users.get(name)
        kept = None if user is None else user.password
        if kept is None:
            kept = " ".join(map(str, ("scrypt", *_COST, bytes(16).hex(), "")))
        _, n, r, p, salt, wanted = kept.split(" ")
        got = _scrypt(password, bytes.fromhex(salt), int(n), int(r), int(p))
        return name if hmac.compare_digest(got.hex(), wanted) else None

    def by_token(self, token: str) -> str | None:
        """The analyst whose token it is, or None."""
        digest = hashlib.sha256(token.encode(errors="surrogatepass")).hexdigest()
        holders = [
            user.name for user in self._users.values()
            if hmac.compare_digest(user.token or "", digest)
        ]  # fmt: skip
        return holders[0] if holders else None

    def verifier(self, name: str) -> str | None:
        """The verifier of SCRAM-SHA-256 of the account's token; None where there is none."""
        user = self._users.get(name)
        return None if user is None else user.scram

    def decoy(self, name: str) -> str:
        """A verifier that no token fits, for a name that has none.

        It follows from the name and the ledger's key, so that its salt stays what it was after a
        restart, and at another server: otherwise it would tell who has an account.
        """
        own = hmac.digest(self._key, b"a decoy", "sha256")
        salt = hmac.digest(own, name.encode(errors="replace"), "sha256")
        return _verifier(salt[:16], secrets.token_bytes(32), secrets.token_bytes(32))

    def mark(self, name: str) -> str | None:
        """A text of the account, another once it is made anew; None where there is none."""
        user = self._users.get(name)
        return None if user is None else user.mark

    @property
    def _users(self) -> dict[str, User]:
        with self._lock:
            version = self._book.accounts_version
            if version != self._version and (rows := self._read(version)) is not None:
                if rows != self._rows:
                    self._known = _checked(self._book, self._key, rows)
                self._rows, self._version, self._read_at = rows, version, time.monotonic()
            elif version != self._version and self._are_old:
                raise LedgerError(
                    f"{self._book.place} does not answer, and nobody is known",
                    hint="try again when it does",
                )
            return self._known

    def _read(self, version: object) -> list[Account] | None:
        """The accounts; None where they do not come soon, as from a machine that hangs.

        A reading that fails is none, too, while the last one counts.
        """
        begun, patience = self._reading, 0.0
        if begun is None or (begun[0] != version and begun[1].done()):
            reading, patience = Future[list[Account]](), _PATIENCE
            begun = self._reading = version, reading
            Thread(target=self._fetch, args=[reading], daemon=True).start()
        if not wait([begun[1]], patience).done or begun[0] != version:
            return None
        self._reading = None
        if isinstance(begun[1].exception(), LedgerError) and not self._are_old:
            return None
        return begun[1].result()

    @property
    def _are_old(self) -> bool:
        return time.monotonic() - self._read_at > OLDEST

    def _fetch(self, reading: Future[list[Account]]) -> None:
        try:
            reading.set_result(self._book.accounts())
        except BaseException as error:
            reading.set_exception(error)


def _check_known(book: Book, name: str) -> None:
    names = _names(book)
    if name not in names:
        hint = did_you_mean(name, names) or "dpdb user list POLICY tells which there are"
        raise UsageError(f"there is no account {name}", hint=hint)


def _names(book: Book) -> list[str]:
    return [name for name, *_ in book.accounts()]


def _scrypt(password: str, salt: bytes, n: int, r: int, p: int) -> bytes:
    """A hash of a password; one that is longer than any has another than any."""
    text = _normal(password[: LONGEST_PASSWORD * 4])
    given = text.encode(errors="surrogatepass")
    return hashlib.scrypt(given, salt=salt, n=n, r=r, p=p, maxmem=_MEMORY)


def _normal(text: str) -> str:
    """A text as it is compared: keyboards differ in how they compose a letter.

    The time grows with the square of the length, so what strangers send is cut before it.
    """
    return unicodedata.normalize("NFC", text)
