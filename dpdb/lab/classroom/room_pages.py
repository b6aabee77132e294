"""The room as a page with every step, and in the terminal while the class watches."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.padding import Padding
from rich.progress_bar import ProgressBar
from rich.text import Text

from dpdb import __version__
from dpdb.lab.classroom.room import UNKNOWN, Stage, Turn, play, right, stages
from dpdb.lab.pages.html import rendered
from dpdb.records import dataclass

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
    """Grey while it is open; the bit in a box once it is solved, a cross where it is wrong."""
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
