"""The parts of a class's state: seats, the room, the contest, and what events change in them."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from dpdb.records import dataclass

Event = dict[str, Any]
"""Something that happened, of the types of JSON, with its `kind` and the time `at` which it did."""


@dataclass
class Seat:
    """A student, or several at one laptop."""

    number: int
    name: str
    key: str
    """The hash of the secret in the browser's cookie."""
    bit: int | None = None
    knock: str = ""
    """The hash of another browser's cookie that wants in under this name; empty for none."""
    gone: bool = False


@dataclass
class Room:
    """The game of the room."""

    chairs: list[int] = field(default_factory=list)
    """The number of the seat on each chair, 0 for an empty chair; nothing until it begins."""
    bits: list[int] = field(default_factory=list)
    turns: dict[int, list[Event]] = field(default_factory=dict)
    """For each stage that was played, the turns to be shown."""
    stage: int | None = None
    """The stage that is shown."""
    class_asks: bool = False
    """Whether the class itself asks in that stage."""
    subsets: list[list[int]] = field(default_factory=list)
    """The subsets that the class has asked about, as zeros and ones."""
    asked: list[Event] = field(default_factory=list)
    """For each subset the turn that followed, and who asked."""

    def apply(self, what: str, event: Event) -> None:
        """Change as an event tells; raises LookupError, TypeError or ValueError for another."""
        match what:
            case "begin":
                vars(self).update(vars(Room(event["chairs"], event["bits"])))
            case "play":
                self.stage, self.class_asks = event["stage"], False
                self.turns[event["stage"]] = event["turns"]
            case "class-asks":
                self.stage, self.class_asks = event["stage"], True
                self.subsets, self.asked = [], []
            case "question":
                self.subsets.append(event["subset"])
                self.asked.append(event)
            case _:
                raise ValueError


@dataclass
class Sheet:
    """A student's sheet."""

    answers: dict[str, str] = field(default_factory=dict)
    """The text for each number of a question."""
    marks: dict[str, bool] = field(default_factory=dict)
    """For each number that was checked, whether it was right."""
    wrong: dict[str, int] = field(default_factory=dict)
    """The wrong tries of each number since it was last right."""
    handed: bool = False
    at: float = 0.0
    """The time of the last change."""

    def apply(self, what: str, event: Event) -> None:
        """Change as an event tells; what was handed in stays."""
        if self.handed:
            return
        if event["answers"] != self.answers:
            self.at = event["at"]
        self.answers = event["answers"]
        if "marks" in event:
            self.marks = event["marks"]
            for number, right in self.marks.items():
                self.wrong[number] = 0 if right else self.wrong.get(number, 0) + 1
        self.handed = what == "hand"


@dataclass
class Team:
    """A seat in the contest."""

    asked: list[Event] = field(default_factory=list)
    """Questions about the secret of now."""
    rounds: list[Event] = field(default_factory=list)
    """A guess at each earlier secret."""
    file: str = ""
    """The attack file that was handed in last."""
    files: int = 0
    """The files that were handed in so far."""
    score: Event | None = None
    """The score of that file, once it was played."""


@dataclass
class Contest:
    """A contest: a task, and a clock that can be stopped."""

    number: int = 0
    """The number of contests so far; the teams of each have other secrets."""
    task: str = ""
    epsilon: float = 1.0
    left: float = 0.0
    """Seconds that were left when the clock was last started or stopped."""
    since: float | None = None
    """The time at which the clock was started; None while it stands."""
    revealed: bool = False
    teams: dict[int, Team] = field(default_factory=dict)

    def apply(self, what: str, event: Event) -> None:
        """Change as an event tells; raises LookupError, TypeError or ValueError for another."""
        if what == "open":
            task, epsilon, left = event["task"], event["epsilon"], 60.0 * event["minutes"]
            opened = Contest(self.number + 1, task, epsilon, left, event["at"])
            vars(self).update(vars(opened))
            return
        if what in ("clock", "reveal"):
            self._show(what, event)
            return
        team = self.teams.setdefault(event["seat"], Team())
        match what:
            case "ask":
                team.asked.append(event)
            case "guess":
                team.rounds.append(event)
                team.asked = []
            case "file":
                team.file, team.score = event["code"], None
                team.files += 1
            case "score":
                team.score = event
            case _:
                raise ValueError

    def _show(self, what: str, event: Event) -> None:
        if what == "reveal":
            self.revealed = event["revealed"]
            return
        self.left = self.time_left(event["at"])
        self.since = event["at"] if event["running"] else None

    def time_left(self, now: float) -> float:
        """The seconds that are left."""
        gone = 0.0 if self.since is None else max(0.0, now - self.since)
        return max(0.0, self.left - gone)

    def is_open(self, now: float) -> bool:
        """Whether the clock runs, and time is left."""
        return self.since is not None and self.time_left(now) > 0
