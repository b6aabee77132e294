"""The game of the room: questions about random subsets, guesses after each answer, and its page."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.padding import Padding
from rich.progress_bar import ProgressBar
from rich.text import Text

from dpdb import __version__
from dpdb.answers.answer import Answer
from dpdb.lab.attacks.many_answers import estimates
from dpdb.lab.database import Defence, Protected, Refused, Unprotected, number
from dpdb.lab.foils import Rounded
from dpdb.lab.pages.html import rendered
from dpdb.lab.scenario import Scenario
from dpdb.lab.trial import Wire
from dpdb.records import dataclass

HONEST = Fraction(1)
"""The ε of the one honest count; its noise has scale 1/ε, and is within ± 3 in 95 of 100."""
EACH = Fraction(1, 50)
"""The ε of each of the attacker's questions under a budget."""
ATTACKS = 50
"""The number of these questions; together they cost as much as the honest count."""
BUDGET = HONEST + ATTACKS * EACH
ROUNDED_TO = 3
EXACTLY, ROUNDED = 2, 10
"""Questions for each seat, where no budget limits them."""
UNKNOWN = "·"
SURE = 0.25
"""A bit is believed once its estimate is nearer than this to 0 or to 1."""
WHOLE_ROOM = "SELECT COUNT(*) FROM room WHERE secret = 1"


@dataclass(frozen=True)
class Stage:
    """A way in which the room's questions are answered."""

    title: str
    note: str
    defence: Defence
    questions: int | None = None
    """The number of questions about subsets; None to go on until the budget is used up."""

    @property
    def budget(self) -> bool:
        """Whether there is a budget; then the first question counts the whole room."""
        return self.questions is None


@dataclass(frozen=True)
class Turn:
    """The state of the game after a question."""

    sql: str
    answer: str
    asked: int
    """Questions about subsets so far."""
    guesses: str
    """A character for each seat: 0, 1 or, while the seat is open, `UNKNOWN`."""
    left: float | None = None
    """The share of the budget that is left, if there is one."""
    honest: str = ""
    """The honest count, if there was one."""
    refused: bool = False


def stages(seats: int) -> tuple[Stage, ...]:
    """The stages of the game for so many seats."""
    return (
        Stage(
            "Exact counts",
            f"Every answer is exact. There are {EXACTLY} questions for each seat.",
            Unprotected(),
            EXACTLY * seats,
        ),
        Stage(
            f"Counts rounded to {ROUNDED_TO}s",
            f"{Rounded(ROUNDED_TO).note} That costs the attacker more questions: {ROUNDED} for "
            f"each seat instead of {EXACTLY}.",
            Rounded(ROUNDED_TO),
            ROUNDED * seats,
        ),
        Stage(
            f"Under dpdb's budget of ε = {float(BUDGET):g}",
            f"First one honest question, at ε = {float(HONEST):g}: how many in the whole room? "
            f"What is left buys the attacker {ATTACKS} questions at ε = {float(EACH):g}; the noise "
            f"of each has scale {1 / EACH}, in a room of {seats}. Whatever is asked with ε = "
            f"{float(BUDGET):g}, who is as likely 0 as 1 is found out in at most {ceiling():.0%}; "
            f"these {ATTACKS} come to about as much as tossing coins.",
            Protected(float(BUDGET), 2 + ATTACKS),
        ),
    )


def ceiling() -> float:
    """The highest chance to guess a seat: e^ε / (1 + e^ε) (Wasserman and Zhou 2010)."""
    return 1 / (1 + math.exp(-float(BUDGET)))


def coins(seats: int, seed: int) -> tuple[int, ...]:
    """Random secret bits, for a room that nobody types in."""
    return tuple(np.random.default_rng([seed, seats]).integers(2, size=seats).tolist())


class Asker:
    """The database of a stage, asked about one subset of the seats after another."""

    def __init__(self, stage: Stage, bits: Sequence[int], directory: Path, seed: int):
        scenario = Scenario(columns(len(bits)), list(enumerate(bits, 1)), None, table="room")
        self._database = Wire(stage.defence.open(scenario, directory, seed))
        self._chosen, self._counts = list[Sequence[int]](), list[float]()
        self.turn = Turn("", "", 0, UNKNOWN * len(bits))
        """The state after the last question."""
        if stage.budget:  # the first question counts the whole room; those that follow are cheaper
            self._database.execute(f"SET epsilon = {float(HONEST):g}")
            answer = self._database.execute(WHOLE_ROOM)
            self._database.execute(f"SET epsilon = {float(EACH):g}")
            count, left = _said(answer), _left(answer)
            self.turn = replace(self.turn, sql=WHOLE_ROOM, answer=count, left=left, honest=count)

    def ask(self, subset: Sequence[int]) -> Turn:
        """The turn after the count of the ones in a subset, given as zeros and ones."""
        sql, turn = question(subset), self.turn
        try:
            answer = self._database.execute(sql)
        except Refused as refusal:
            self.turn = replace(turn, sql=sql, answer=str(refusal), refused=True)
            return self.turn
        self._chosen.append(subset)
        self._counts.append(number(answer))
        self.turn = replace(
            turn,
            sql=sql,
            answer=_said(answer),
            asked=len(self._counts),
            guesses=believed(estimates(self._chosen, self._counts).tolist()),
            left=None if turn.left is None else _left(answer),
        )
        return self.turn


def play(stage: Stage, bits: Sequence[int], directory: Path, seed: int) -> Iterator[Turn]:
    """The steps of a stage, each after its question was answered by a session."""
    asker, drawn = Asker(stage, bits, directory, seed), subsets(len(bits), seed)
    if stage.budget:
        yield asker.turn
    while not asker.turn.refused and (
        stage.questions is None or asker.turn.asked < stage.questions
    ):
        yield asker.ask(next(drawn))


def subsets(seats: int, seed: int) -> Iterator[tuple[int, ...]]:
    """Random subsets without end, as zeros and ones; none is empty."""
    chance = np.random.default_rng([seed, seats, 1])
    while True:
        subset = tuple(chance.integers(2, size=seats).tolist())
        if any(subset):
            yield subset


def question(subset: Sequence[int]) -> str:
    """The statement that counts the ones in the seats of a subset."""
    chosen = ", ".join(str(seat) for seat, inside in enumerate(subset, 1) if inside)
    return f"{WHOLE_ROOM} AND seat IN ({chosen})"


def believed(values: Sequence[float]) -> str:
    """The guesses that estimates of the bits lead to, a character for each seat."""
    return "".join("0" if x < SURE else "1" if x > 1 - SURE else UNKNOWN for x in values)


def right(guesses: str, bits: Sequence[int]) -> int:
    """The number of guesses that are right."""
    return sum(guess == str(bit) for guess, bit in zip(guesses, bits, strict=True))


def columns(seats: int) -> str:
    """The declaration of the room's columns."""
    return (
        f'seat = {{ type = "integer", bounds = [1, {seats}], nullable = false }}\n'
        'secret = { type = "integer", bounds = [0, 1], nullable = false }\n'
    )


def _said(answer: Answer) -> str:
    """The count as text, with its margin if it has one."""
    value = f"{number(answer):g}"
    if not answer.intervals:
        return value
    low, high = answer.intervals[0][0] or (None, None)
    if not isinstance(low, int | float) or not isinstance(high, int | float):
        return value
    return f"{value} ± {max(high - number(answer), number(answer) - low):g}"


def _left(answer: Answer) -> float:
    """The share of ε that is left."""
    return float(answer.balance.epsilon_left / answer.balance.budget.epsilon)


ROWS = 5
FRAMES = 60
"""The greatest number of pictures of a stage; several answers may arrive between two."""
WIDTH = 88


@dataclass(frozen=True)
class Projector:
    """Shows stages: every step on a terminal, and only the last one elsewhere."""

    console: Console
    delay: float
    """Seconds between two pictures."""

    def show(self, stage: Stage, bits: Sequence[int], steps: Iterable[Turn]) -> None:
        """Show a stage, as its answers arrive."""
        self.console.rule(stage.title, align="left", style="dim")
        self.console.print(f"{stage.note}\n")
        if self.console.is_terminal:
            self._play(stage, bits, steps)
        else:
            *_, last = steps
            self.console.print(frame(last, bits))
        self.console.print()

    def _play(self, stage: Stage, bits: Sequence[int], steps: Iterable[Turn]) -> None:
        every = -(-(stage.questions or FRAMES) // FRAMES)
        with Live(console=self.console, auto_refresh=False) as live:
            for step in steps:
                if step.asked % every == 0 or step.asked == stage.questions or step.refused:
                    live.update(frame(step, bits), refresh=True)
                    time.sleep(self.delay)


def frame(step: Turn, bits: Sequence[int]) -> Group:
    """Seats, the last question, how many are right, and what is left of the budget."""
    seats = [_seat(guess, str(bit)) for guess, bit in zip(step.guesses, bits, strict=True)]
    across = -(-len(seats) // ROWS)
    rows = [
        Text("    ").append_text(Text(" ").join(seats[start : start + across]))
        for start in range(0, len(seats), across)
    ]
    return Group(*rows, Text(), *_captions(step, bits))


def _seat(guess: str, bit: str) -> Text:
    """A seat: grey while it is open, its bit in a box once solved, a cross where it is wrong."""
    if guess == UNKNOWN:
        return Text(f" {UNKNOWN} ", style="dim")
    if guess == bit:
        return Text(f"[{bit}]", style="bold green")
    return Text(" ✘ ", style="red")


def _captions(step: Turn, bits: Sequence[int]) -> list[RenderableType]:
    solved, opened = right(step.guesses, bits), step.guesses.count(UNKNOWN)
    captions: list[RenderableType] = [
        _line(f"{step.sql[:WIDTH]}{'…' if len(step.sql) > WIDTH else ''}", "dim"),
        _line(f"{'✋ ' if step.refused else '→ '}{step.answer}", "red" if step.refused else "bold"),
        _line(
            f"questions: {step.asked} · right: {solved} of {len(bits)} · wrong: "
            f"{len(bits) - solved - opened} · open: {opened} · by tossing coins: {len(bits) / 2:g}"
        ),
    ]
    if step.left is not None:
        bar = ProgressBar(total=1, completed=step.left, width=40)
        captions += [_line(f"budget left: {step.left:.0%}"), Padding(bar, (0, 2))]
    if step.honest:
        captions.append(
            _line(f"the honest count: {step.honest} ones in the room; in truth {sum(bits)}", "bold")
        )
    return captions


def _line(text: str, style: str = "") -> Text:
    return Text(f"  {text}", style=style, no_wrap=True, overflow="ellipsis")


def page(bits: Sequence[int], whose: str, seed: int) -> str:
    """The page with all stages and their steps, in one file."""
    with TemporaryDirectory(prefix="dpdb-room-") as directory:
        played = [
            (stage, list(play(stage, bits, Path(directory), seed))) for stage in stages(len(bits))
        ]
    return rendered(
        "room.html",
        whose=whose,
        bits=bits,
        played=played,
        right=right,
        steps=[[asdict(step) for step in steps] for _, steps in played],
        seed=seed,
        version=__version__,
    )
