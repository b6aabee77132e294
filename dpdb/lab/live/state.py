"""The state of a class: what has happened, one event after another, each a line of its file.

A restart reads the file again: seats, bits, answers and scores are then what they were.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import secrets
import time
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from dpdb.errors import UsageError, printable
from dpdb.lab.live.parts import Contest, Event, Room, Seat, Sheet

MOST_SEATS = 60
LONGEST_NAME = 30
VERSION = 1
LOBBY, ROOM, CONTEST, SHEET = PAGES = ("lobby", "room", "contest", "sheet")
"""The pages that the whole class can be on."""


class Unwelcome(Exception):
    """A name or a code with which nobody can join, and why."""


class State:
    """The state that the class's file tells."""

    def __init__(self) -> None:
        self.title, self.code, self.teacher, self.board, self.seed = "", "", "", "", 0
        self.seats: dict[int, Seat] = {}
        self.page = LOBBY
        self.room, self.contest = Room(), Contest()
        self.sheet, self.sheet_at, self.solved = "", 0.0, False
        """The sheet of now, since when, and whether its solutions are shown."""
        self._sheets: dict[tuple[str, int], Sheet] = {}
        self.forms: set[str] = set()
        """The ids of the forms that have had their effect."""

    def apply(self, event: Event) -> None:
        """Change as an event tells; raises LookupError, TypeError or ValueError for another."""
        self.forms |= {event["form"]} if "form" in event else set()
        part, _, what = event["kind"].partition(".")
        match part:
            case "class":
                self._apply(what, event)
            case "seat":
                self._apply_to_seat(what, event)
            case "room":
                self.room.apply(what, event)
            case "contest":
                self.contest.apply(what, event)
            case "sheet":
                self._apply_to_sheet(what, event)
            case _:
                raise ValueError

    def _apply(self, what: str, event: Event) -> None:
        match what:
            case "begin" if event["version"] == VERSION:
                for name in ("title", "code", "teacher", "board", "seed"):
                    setattr(self, name, event[name])
            case "show":
                self.page = event["page"]
            case _:
                raise ValueError

    def _apply_to_seat(self, what: str, event: Event) -> None:
        if what == "join":
            number = len(self.seats) + 1
            self.seats[number] = Seat(number, event["name"], event["key"])
            return
        seat = self.seats[event["seat"]]
        match what:
            case "knock":
                seat.knock = event["key"]
            case "admit":
                seat.key, seat.knock = seat.knock if event["admitted"] else seat.key, ""
            case "remove":
                seat.gone = True
            case "bit":
                seat.bit = event["bit"]
            case _:
                raise ValueError

    def _apply_to_sheet(self, what: str, event: Event) -> None:
        match what:
            case "choose":
                self.sheet, self.sheet_at, self.solved = event["sheet"], event["at"], False
            case "solve":
                self.solved = event["solved"]
            case "keep" | "check" | "hand":
                found = self._sheets.setdefault((event["sheet"], event["seat"]), Sheet())
                found.apply(what, event)
            case _:
                raise ValueError

    def sheet_of(self, seat: int) -> Sheet:
        """A seat's sheet of now."""
        return self._sheets.get((self.sheet, seat), Sheet())

    @property
    def present(self) -> list[Seat]:
        """The seats of those who were not sent away."""
        return [seat for seat in self.seats.values() if not seat.gone]

    def seat_of(self, key: str) -> Seat | None:
        """The seat of a browser."""
        return next((seat for seat in self.present if seat.key == key), None)

    def knocking(self, key: str) -> Seat | None:
        """The seat that another browser waits for."""
        return next((seat for seat in self.present if key and seat.knock == key), None)

    def named(self, name: str) -> Seat | None:
        """The seat of a name, however its letters are written."""
        return next((each for each in self.present if _same(each.name) == _same(name)), None)


class ClassFile:
    """The file of a class, and the state that it tells; one process has it open."""

    def __init__(self, path: Path, title: str):
        """Open the file, or begin it; raises UsageError where that cannot be done."""
        self.state, self.number, self._file = State(), 0, _opened(path)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            for event in _events(self._file):
                self._apply(event)
                last = float(event["at"])
        except OSError:
            self._file.close()
            raise UsageError(f"another server has the class of {path} open") from None
        except (AttributeError, LookupError, TypeError, ValueError):
            self._file.close()
            raise UsageError(
                f"{path} is not the file of a class", hint="--file names another"
            ) from None
        if not self.number:
            self.record(
                "class.begin",
                version=VERSION,
                title=title,
                code=f"{secrets.randbelow(10**6):06}",
                teacher=secrets.token_urlsafe(16),
                board=secrets.token_urlsafe(16),
                seed=secrets.randbits(62),
            )
        elif self.state.contest.since is not None:
            # Nobody could ask while the server was away: the clock stands since it was last heard.
            self.record("contest.clock", at=last, running=False)

    def record(self, kind: str, **fields: Any) -> None:  # noqa: ANN401 (values of JSON)
        """Note in the file that something happened, and let it happen."""
        event = {"kind": kind, "at": round(time.time(), 3)} | fields
        self._file.write(json.dumps(event, ensure_ascii=False, allow_nan=False) + "\n")
        self._file.flush()
        self._apply(event)

    def join(self, name: str, key: str) -> None:
        """Give a browser a seat, or let it wait for the one of that name; raises Unwelcome."""
        name = " ".join(unicodedata.normalize("NFC", name).split())
        if not (0 < len(name) <= LONGEST_NAME) or printable(name) != name:
            raise Unwelcome(f"a name has 1 to {LONGEST_NAME} letters")
        if self.state.seat_of(key) or self.state.knocking(key):
            return
        taken = self.state.named(name)
        if taken is not None and taken.knock:
            raise Unwelcome("another browser waits for that name: ask the teacher")
        if taken is not None:
            self.record("seat.knock", seat=taken.number, key=key)
        elif len(self.state.present) >= MOST_SEATS:
            raise Unwelcome(f"all {MOST_SEATS} seats are taken")
        else:
            self.record("seat.join", name=name, key=key)

    def close(self) -> None:
        """Let another process have the file."""
        self._file.close()

    def _apply(self, event: Event) -> None:
        self.state.apply(event)
        self.number += 1


def hashed(secret: str) -> str:
    """The text by which the class's file knows the secret of a cookie."""
    return hashlib.sha256(secret.encode(errors="replace")).hexdigest()


def _same(name: str) -> str:
    return unicodedata.normalize("NFKC", name).casefold()


def _opened(path: Path) -> TextIO:
    """The file, which its owner alone can read."""
    try:
        number = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
        return os.fdopen(number, "r+", encoding="utf-8", newline="\n")
    except OSError as error:
        raise UsageError(
            f"cannot write the class's file {path}: {error.strerror}", hint="--file names another"
        ) from None


def _events(file: TextIO) -> Iterator[Event]:
    """The events of a file; the half of a line that a crash left is cut off."""
    file.seek(0)
    whole = 0
    for line in iter(file.readline, ""):
        if not line.endswith("\n"):
            file.truncate(whole)
            break
        whole += len(line.encode())
        yield json.loads(line)
    file.seek(0, os.SEEK_END)
