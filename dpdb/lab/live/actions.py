"""The actions of a class: what the forms of students and the buttons of the teacher do."""

from __future__ import annotations

from dpdb.lab.catalogue import catalogue
from dpdb.lab.live import sheets
from dpdb.lab.live.contest import TASKS, Referee
from dpdb.lab.live.game import Game
from dpdb.lab.live.parts import Seat
from dpdb.lab.live.state import PAGES, ClassFile, Unwelcome

MOST_EPSILON, MOST_MINUTES = 20.0, 600


class Actions:
    """Carries out forms; each field is checked here or by who it is for."""

    def __init__(self, file: ClassFile, game: Game, referee: Referee):
        self._file, self._game, self._referee = file, game, referee

    async def do(self, seat: Seat, fields: dict[str, str]) -> None:
        """Carry out a student's form; raises Unwelcome."""
        form = fields.get("form", "")
        match fields.get("do"):
            case "bit" if fields.get("bit") in ("0", "1"):
                self._file.record("seat.bit", seat=seat.number, bit=int(fields["bit"]))
            case "question":
                chairs = len(self._file.state.room.bits)
                chosen = [n for n in range(1, chairs + 1) if f"chair{n}" in fields]
                if not chosen:
                    raise Unwelcome("choose a seat, or several")
                await self._game.ask(seat, chosen, form)
            case "keep" | "check" | "hand" as what if self._file.state.sheet:
                if fields.get("sheet") != self._file.state.sheet:
                    raise Unwelcome("the class has another sheet now")
                told = sheets.event(self._file.state, seat, fields, checked=what != "keep")
                self._file.record(f"sheet.{what}", **told)
            case "ask" | "explain" as what:
                await self._referee.ask(seat, fields, explain=what == "explain")
            case "guess":
                await self._referee.guess(seat, fields)
            case "file":
                await self._referee.hand_in(seat, fields)
            case _:
                raise Unwelcome("the page was too old, and is fresh now: try again")

    async def teach(self, fields: dict[str, str]) -> None:
        """Carry out a button of the teacher; raises LookupError or ValueError for an old one."""
        what, _, which = fields.get("do", "").partition(":")
        match what:
            case "show" if which in PAGES:
                self._file.record("class.show", page=which)
            case "play" | "asks" if which in ("0", "1", "2"):
                await self._game.begin(int(which), class_asks=what == "asks")
            case "pause":
                self._game.paused = not self._game.paused
            case "end":
                self._game.end()
            case "clear":
                self._game.clear()
            case "sheet" if fields.get("sheet") in (sheets.QUIZ, *catalogue()):
                self._file.record("sheet.choose", sheet=fields["sheet"])
            case "solve" if which in ("on", "off"):
                self._file.record("sheet.solve", solved=which == "on")
            case "open" | "clock" | "reveal":
                self._teach_contest(what, which, fields)
            case "admit" | "refuse":
                seat = self._file.state.seats[int(which)]
                if seat.knock:
                    self._file.record("seat.admit", seat=seat.number, admitted=what == "admit")
            case "remove":
                self._file.record("seat.remove", seat=self._file.state.seats[int(which)].number)
            case _:
                raise ValueError

    def _teach_contest(self, what: str, which: str, fields: dict[str, str]) -> None:
        match what:
            case "open" if fields.get("task") in TASKS:
                epsilon, minutes = float(fields["epsilon"]), int(fields["minutes"])
                if not (0 < epsilon <= MOST_EPSILON and 0 < minutes <= MOST_MINUTES):
                    raise ValueError
                told = {"task": fields["task"], "epsilon": epsilon, "minutes": minutes}
                self._file.record("contest.open", **told)
            case "clock" if which in ("go", "stop"):
                self._file.record("contest.clock", running=which == "go")
            case "reveal" if which in ("on", "off"):
                self._file.record("contest.reveal", revealed=which == "on")
            case _:
                raise ValueError
