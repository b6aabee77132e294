"""The real program in a pseudo-terminal, and what is on its screen."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pexpect
import pyte

ROOT = Path(__file__).parents[2]
PEOPLE = str(ROOT / "sample_data" / "people.csv")
PATIENCE = 60
"""Seconds until a test gives up: a loaded machine is slow, a broken program never comes."""


def _heed_signals() -> None:
    for number in (signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)


class _Screen(pyte.Screen):
    """Answers questions about itself, such as where its cursor is."""

    def __init__(self, columns: int, lines: int, reply: Callable[[str], None]):
        super().__init__(columns, lines)
        self._reply = reply

    def write_process_input(self, data: str) -> None:
        self._reply(data)


class Terminal:
    """dpdb at a terminal so tall that nothing scrolls away."""

    def __init__(
        self,
        *arguments: str,
        home: Path,
        columns: int = 100,
        lines: int = 120,
        how: str | None = None,
        **environment: str,
    ):
        module = ["-m", "dpdb"] if how is None else ["-m", "tests.support.stubbed", how]
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL") if name in os.environ}
        self.process = pexpect.spawn(
            sys.executable,
            [*module, *arguments],
            cwd=str(ROOT),
            env={**kept, "HOME": str(home), "TERM": "xterm-256color", "PYTHONUTF8": "1",
                 **environment},
            dimensions=(lines, columns),
            encoding="utf-8",
            timeout=PATIENCE,
            # Whoever runs the suite may ignore signals, and a child would inherit that.
            preexec_fn=_heed_signals,
        )  # fmt: skip
        self.raw = ""
        self._screen = _Screen(columns, lines, self.process.send)
        self._stream = pyte.Stream(self._screen)

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.close(force=True)

    @property
    def lines(self) -> list[str]:
        """The lines on the screen, without the space at their ends.

        A cell that nothing was written to is not looked at, as it is in pyte's `display`, or tests
        would spend their time on the empty part of a tall screen.
        """
        cells = self._screen.buffer
        written = [(cells[y], max(cells[y], default=-1) + 1) for y in range(self._screen.lines)]
        return ["".join(line[x].data for x in range(end)).rstrip() for line, end in written]

    def cells(self) -> list[list[tuple[str, str, bool, bool]]]:
        """Each character of each line with its colour, whether it is bold, and reversed."""
        rows = (self._screen.buffer[y] for y in range(self._screen.lines))
        return [
            [
                (cell.data, "ink" if cell.fg == "default" else cell.fg, cell.bold, cell.reverse)
                for cell in (row[x] for x in range(self._screen.columns))
            ]
            for row in rows
        ]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    @property
    def toolbar(self) -> str:
        return self.lines[-1]

    @property
    def cursor_line(self) -> str:
        return self.lines[self.row]

    @property
    def row(self) -> int:
        """The line that the cursor is in, from 0."""
        return self._screen.cursor.y

    def wait(self, met: str | Callable[[Terminal], bool]) -> None:
        """Until a text is on the screen, or a condition holds."""
        condition = met if callable(met) else lambda terminal: met in terminal.text
        give_up = time.monotonic() + PATIENCE
        while not condition(self):
            assert time.monotonic() < give_up, f"waited for {met!r} in:\n{self.text.rstrip()}"
            self._read()

    def _read(self) -> None:
        try:
            data = self.process.read_nonblocking(4096, timeout=0.5)
        except pexpect.TIMEOUT:
            return
        except pexpect.EOF:
            raise AssertionError(f"it ended:\n{self.text.rstrip()}") from None
        self.raw += data
        self._stream.feed(data)

    def send(self, keys: str) -> None:
        self.process.send(keys)

    def prompts(self, prompt: str = "dpdb>") -> int:
        """How many prompts there have been."""
        return sum(line.startswith(prompt) for line in self.lines)

    def wait_for_prompt(self, number: int = 1) -> None:
        """Until prompt `number` waits for input."""
        self.wait(lambda t: t.prompts() == number and t.cursor_line == "dpdb>")

    def run(self, text: str) -> str:
        """Type a line and Enter; what the screen has once the next prompt is there."""
        number = self.prompts() + 1
        self.send(text + "\r")
        self.wait_for_prompt(number)
        return self.text

    def hang_up(self) -> int:
        """Take the terminal away; the status that the program ends with."""
        return hung_up(self.process)

    def end(self) -> str:
        """All that is on the screen once the program has ended; its exit code is checked for."""
        try:
            while True:
                self.raw += (data := self.process.read_nonblocking(4096, timeout=PATIENCE))
                self._stream.feed(data)
        except pexpect.EOF:
            self.process.close()
        return self.text


def hung_up(child: pexpect.spawn[str]) -> int:
    """The status with which a program ends whose terminal is taken away."""
    child.ptyproc.fileobj.close()
    give_up = time.monotonic() + PATIENCE
    while time.monotonic() < give_up:
        ended, status = os.waitpid(child.pid, os.WNOHANG)
        if ended:
            return status
        time.sleep(0.05)
    os.kill(child.pid, signal.SIGKILL)
    os.waitpid(child.pid, 0)
    raise AssertionError("it outlived its terminal")
