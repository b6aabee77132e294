"""The room, live: stages played on the projector, and the same with the class asking."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

from dpdb.lab.classroom.room import UNKNOWN, Asker, Stage, Turn, coins, play, right, stages
from dpdb.lab.live.parts import Event, Seat
from dpdb.lab.live.state import ClassFile
from dpdb.records import dataclass

FEWEST = 10
"""The chairs of a small room; empty ones toss coins."""
FRAMES = 60
"""The most turns of a stage that are shown."""
PAUSE = 0.25
"""Seconds between two turns."""


@dataclass(frozen=True)
class Chair:
    """A chair of the room, as it is shown."""

    number: int
    name: str
    """The name of who sits there; empty for nobody."""
    seat: int
    text: str
    """The bit that was found out, `UNKNOWN`, or a cross for a wrong one."""
    kind: str
    """`open`, `right` or `wrong`."""


@dataclass(frozen=True)
class RoomView:
    """A moment of a stage, as it is shown."""

    stage: Stage
    class_asks: bool
    chairs: Sequence[Chair]
    turn: Event
    right: int
    ones: int
    """The true number of ones."""
    who: str
    """Who asked last, where the class asks."""


class Game:
    """Plays the room of a class."""

    def __init__(self, file: ClassFile, folder: Path, changed: Callable[[], None]):
        self._file, self._folder, self._changed = file, folder, changed
        self._task: asyncio.Task[None] | None = None
        self._lock = asyncio.Lock()
        self._asker: Asker | None = None
        self._place: int | None = None
        """The turn that is shown; None for the last one."""
        self.paused = False

    async def begin(self, stage: int, *, class_asks: bool) -> None:
        """Show a stage from its first question on, which the class or the program asks."""
        async with self._lock:
            self._stop()
            self._seat()
            if class_asks:
                self._asker = None
                self._file.record("room.class-asks", stage=stage)
                return
            turns = await asyncio.to_thread(self._turns, stage)
            self._file.record("room.play", stage=stage, turns=turns)
            self._place = 0
            self._task = asyncio.create_task(self._show(len(turns)))

    async def ask(self, seat: Seat, chosen: Sequence[int], form: str) -> None:
        """Ask about the chairs that a student chose, numbered from 1."""
        async with self._lock:
            room = self._file.state.room
            if not room.class_asks or form in self._file.state.forms:
                return
            subset = [int(chair + 1 in chosen) for chair in range(len(room.bits))]
            turn = await asyncio.to_thread(self._asked, subset)
            self._file.record(
                "room.question", form=form, seat=seat.number, subset=subset, turn=turn
            )

    def end(self) -> None:
        """Show the last turn at once."""
        self._stop()

    def clear(self) -> None:
        """Begin anew, without bits."""
        self._stop()
        self._file.record("room.begin", chairs=[], bits=[])
        for seat in self._file.state.present:
            self._file.record("seat.bit", seat=seat.number, bit=None)

    def view(self) -> RoomView | None:
        """The moment to be shown; None before the first stage."""
        state, room = self._file.state, self._file.state.room
        if room.stage is None:
            return None
        who, turn = "", asdict(Turn("", "", 0, UNKNOWN * len(room.bits)))
        if room.class_asks:
            if room.asked:
                turn = room.asked[-1]["turn"]
                who = state.seats[room.asked[-1]["seat"]].name
        else:
            turns = room.turns[room.stage]
            turn = turns[-1 if self._place is None else self._place]
        chairs = []
        for number, (seat, bit) in enumerate(zip(room.chairs, room.bits, strict=True), 1):
            guess = turn["guesses"][number - 1]
            kind = "open" if guess == UNKNOWN else "right" if guess == str(bit) else "wrong"
            name = state.seats[seat].name if seat and not state.seats[seat].gone else ""
            chairs.append(Chair(number, name, seat, "✘" if kind == "wrong" else guess, kind))
        stage = stages(len(room.bits))[room.stage]
        solved = right(turn["guesses"], room.bits)
        return RoomView(stage, room.class_asks, chairs, turn, solved, sum(room.bits), who)

    def _seat(self) -> None:
        """Let those who are there sit down, if nobody sits yet; a missing bit is a coin's."""
        state = self._file.state
        if state.room.chairs:
            return
        seats = [seat.number for seat in state.present]
        seats += [0] * (FEWEST - len(seats))
        tossed = coins(len(seats), state.seed)
        typed = [state.seats[seat].bit if seat else None for seat in seats]
        bits = [coin if bit is None else bit for bit, coin in zip(typed, tossed, strict=True)]
        self._file.record("room.begin", chairs=seats, bits=bits)

    def _turns(self, stage: int) -> list[Event]:
        """The turns of a stage, of which some are left out where there are many."""
        state = self._file.state
        bits = state.room.bits
        every = list(play(stages(len(bits))[stage], bits, self._folder, state.seed))
        stride = -(-len(every) // FRAMES)
        return [asdict(turn) for turn in every[:-1:stride]] + [asdict(every[-1])]

    def _asked(self, subset: Sequence[int]) -> Event:
        """The turn after a question; after a restart, those before it are asked again."""
        state, room = self._file.state, self._file.state.room
        if self._asker is None:
            assert room.stage is not None
            stage = stages(len(room.bits))[room.stage]
            self._asker = Asker(stage, room.bits, self._folder, state.seed + 1)
            for earlier in room.subsets:
                self._asker.ask(earlier)
        return asdict(self._asker.ask(subset))

    def _stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
        self._task, self._place, self.paused = None, None, False

    async def _show(self, many: int) -> None:
        """Show one turn after another."""
        for place in range(many):
            self._place = place
            self._changed()
            await asyncio.sleep(PAUSE)
            while self.paused:
                await asyncio.sleep(PAUSE)
