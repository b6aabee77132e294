"""Statements about the connection itself: transactions, which are none, and settings.

No transaction is kept: what was answered was paid, and ROLLBACK gives nothing back. Drivers begin
and end transactions around everything, and set what they rely on; these statements have the tags
and the states that PostgreSQL would tell.
"""

from __future__ import annotations

import re

from dpdb.policy.catalog import Kind
from dpdb.server.postgres.protocol import RELEASE, Refusal
from dpdb.server.postgres.results import Result

_REPORTED = (
    "server_version", "server_encoding", "client_encoding", "application_name", "is_superuser",
    "session_authorization", "DateStyle", "IntervalStyle", "TimeZone", "integer_datetimes",
    "standard_conforming_strings",
)  # fmt: skip
"""The settings of which a client is told each value."""
_FIXED = {
    "server_version": RELEASE,
    "server_version_num": "150000",
    "server_encoding": "UTF8",
    "is_superuser": "off",
    "integer_datetimes": "on",
    "standard_conforming_strings": "on",
    "DateStyle": "ISO, MDY",
    "IntervalStyle": "postgres",
    "TimeZone": "UTC",
    "bytea_output": "hex",
    "lc_collate": "C",
    "lc_ctype": "C",
    "max_identifier_length": "63",
    "max_index_keys": "32",
    "transaction_read_only": "off",
}
"""Settings whose values are the server's; that a client sets another is not told as an error."""
_FREE = {
    "client_encoding": "UTF8",
    "application_name": "",
    "client_min_messages": "notice",
    "default_transaction_isolation": "read committed",
    "default_transaction_read_only": "off",
    "transaction_isolation": "read committed",
    "extra_float_digits": "1",
    "idle_in_transaction_session_timeout": "0",
    "jit": "off",
    "lock_timeout": "0",
    "row_security": "on",
    "search_path": '"$user", public',
    "session_characteristics": "",
    "statement_timeout": "0",
    "synchronize_seqscans": "on",
    "dp_intervals": "off",
}
"""Settings that a client sets, with their first values; most have no effect."""
_UTF8 = ("utf8", "utf-8", "unicode", "sql_ascii", "auto")
_LONGEST = 200
_SET = re.compile(r"SET\s+(?:SESSION\s+|LOCAL\s+)?([\w.]+)\s*(?:=|\bTO\b)\s*(.*)", re.I | re.S)
_OPTION = re.compile(r"-c\s*([\w.]+)=(\S*)")
"""A setting among the options of a server's command line, as in PGOPTIONS."""
_WORDS = ("TRANSACTION", "TIME", "CHARACTERISTICS", "AUTHORIZATION", "ROLE")
"""Words after SET that begin what is no setting, and has no effect."""
_FAILED = "current transaction is aborted, commands ignored until end of transaction block"


_DEALLOCATE = re.compile(r'DEALLOCATE\s+(?:PREPARE\s+)?(?:"((?:[^"]|"")*)"|([^\s";]+))', re.I)


def deallocated(text: str) -> str | None:
    """The statement that DEALLOCATE names; None for all of them."""
    found = _DEALLOCATE.match(text)
    if found is None:
        raise Refusal("42601", "DEALLOCATE names a prepared statement, or ALL")
    quoted, word = found[1], found[2]
    if quoted is not None:
        return quoted.replace('""', '"')
    return None if word.upper() == "ALL" else word.lower()


class Control:
    """The state of a connection: its transaction and its settings."""

    def __init__(self, name: str):
        self.transaction = "I"
        """I outside a transaction, T in one, E in one that failed."""
        self._first = {**_FIXED, **_FREE, "session_authorization": name}
        self._values = dict(self._first)
        self._names = {each.lower(): each for each in self._first}

    def __getitem__(self, name: str) -> str:
        """The value of a setting."""
        return self._values[name]

    @property
    def reported(self) -> dict[str, str]:
        """The settings that a client is told, with their values."""
        return {name: self._values[name] for name in _REPORTED}

    @property
    def settings(self) -> dict[str, str]:
        """All settings, by their names in lower case."""
        return {name.lower(): value for name, value in self._values.items()}

    def fail(self) -> None:
        """A statement failed."""
        if self.transaction == "T":
            self.transaction = "E"

    def columns(self, text: str) -> tuple[tuple[str, Kind], ...] | None:
        """The columns of a statement about the connection; None where it has no rows."""
        name = self._shown(text)
        return None if name is None else ((name, Kind.TEXT),)

    def result(self, text: str) -> Result | None:
        """The result of a statement about the connection; None where it is about something else.

        Raises Refusal.
        """
        words = re.findall(r"[\w.*]+", text[:_LONGEST].upper())
        if (tag := self._transaction(words)) is not None:
            return Result(tag)
        if self.transaction == "E":
            raise Refusal("25P02", _FAILED)
        match words:
            case ["SET", "SESSION" | "LOCAL", name, *_] | ["SET", name, *_] if name in _WORDS:
                return Result("SET")
            case ["SET", *_] if (found := _SET.match(text)) and self._knows(found[1]):
                self._set(self._names[found[1].lower()], found[2])
                return Result("SET")
            case ["SHOW", *_] if (name := self._shown(text)) is not None:
                return Result("SHOW", ((name, Kind.TEXT),), [(self._values[name],)])
            case ["DISCARD", "PLANS" | "SEQUENCES" | "TEMP" | "TEMPORARY" as part]:
                return Result(f"DISCARD {part}")
            case ["RESET" | "DISCARD", "ALL"]:
                self._values = dict(self._first)
                return Result("RESET" if words[0] == "RESET" else "DISCARD ALL")
            case ["RESET", name] if self._knows(name):
                self._values[self._names[name.lower()]] = self._first[self._names[name.lower()]]
                return Result("RESET")
            case ["DEALLOCATE", *names]:
                return Result("DEALLOCATE ALL" if names[-1:] == ["ALL"] else "DEALLOCATE")
            case ["UNLISTEN", *_]:
                return Result("UNLISTEN")
            case ["COPY", *_]:
                hint = "COPY (SELECT COUNT(*) FROM t) TO STDOUT sends an answer"
                raise Refusal("0A000", "COPY of tables is not supported", hint)
            case ["LISTEN" | "NOTIFY" | "LOCK" as word, *_]:
                raise Refusal("0A000", f"{word} is not supported", "dpdb help serve")
        return None

    def _transaction(self, words: list[str]) -> str | None:
        """The tag of a statement about a transaction."""
        match words:
            case ["BEGIN", *_]:
                tag, after = "BEGIN", "T"
            case ["START", "TRANSACTION", *_]:
                tag, after = "START TRANSACTION", "T"
            case ["ROLLBACK" | "ABORT", "TO", *_] | ["ROLLBACK", "WORK" | "TRANSACTION", "TO", *_]:
                self._check_begun()
                tag, after = "ROLLBACK", "T"
            case [("COMMIT" | "ROLLBACK"), "PREPARED", *_]:
                raise Refusal("0A000", "prepared transactions are not supported")
            case ["COMMIT" | "END", *_]:
                tag, after = "ROLLBACK" if self.transaction == "E" else "COMMIT", "I"
            case ["ROLLBACK" | "ABORT", *_]:
                tag, after = "ROLLBACK", "I"
            case ["SAVEPOINT" | "RELEASE" as tag, *_] if self.transaction != "E":
                self._check_begun()
                after = "T"
            case _:
                return None
        if words[0] in ("BEGIN", "START") and self.transaction == "E":
            raise Refusal("25P02", _FAILED)
        self.transaction = after
        return tag

    def _check_begun(self) -> None:
        if self.transaction == "I":
            raise Refusal("25P01", "this is for transactions, and none has begun")

    def _knows(self, name: str) -> bool:
        return name.lower() in self._names

    def _shown(self, text: str) -> str | None:
        """The setting that SHOW asks for; None where the statement is another."""
        words = re.findall(r"[\w.]+", text[:_LONGEST].lower())
        match words:
            case ["show", "transaction", "isolation", "level"]:
                return "transaction_isolation"
            case ["show", "time", "zone"]:
                return "TimeZone"
            case ["show", name] if name in self._names:
                return self._names[name]
        return None

    def start(self, options: dict[str, str]) -> list[str]:
        """Set what the client's first message asks for; the names that are not known."""
        unknown, also = [], dict(_OPTION.findall(options.get("options", "")))
        for name, value in (also | options).items():
            if name.startswith("_pq_."):
                unknown.append(name)
            elif self._knows(name):
                self._set(self._names[name.lower()], value)
        return unknown

    def _set(self, name: str, written: str) -> None:
        value = written.strip().strip("'\"")
        if name == "client_encoding" and value.lower() not in (*_UTF8, "default"):
            raise Refusal("22023", "texts are in UTF-8 here", "SET client_encoding = 'UTF8'")
        if name == "dp_intervals" and value.lower() not in ("on", "off", "true", "false"):
            raise Refusal("22023", "dp_intervals is on or off", "SET dp_intervals = on")
        if name in _FREE and name != "client_encoding":
            default = value.lower() == "default"
            self._values[name] = self._first[name] if default else value[:_LONGEST]

    @property
    def intervals(self) -> bool:
        """Whether the ends of intervals are columns."""
        return self["dp_intervals"].lower() in ("on", "true")
