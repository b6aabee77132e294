"""An attack in a student's file, played from the process that has the data and the truth."""

from __future__ import annotations

import json
import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from multiprocessing import Pipe
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from dpdb.errors import StudentFileError
from dpdb.lab.attack import Attack, Guess
from dpdb.lab.classroom.messages import (
    STORY,
    CountRight,
    Deal,
    DescribeFile,
    Description,
    Refusal,
    Request,
    Run,
    Unfit,
    description,
    from_json,
    plain,
    scenario,
)
from dpdb.lab.database import Database, Refused
from dpdb.lab.scenario import Scenario

if TYPE_CHECKING:
    import numpy as np


Json = Any
"""A value of JSON. Whoever reads it checks it."""
LONGEST_MESSAGE = 16 << 20
"""Bytes that a student's process may send at once."""
TIME_LIMIT = 60
"""Seconds that a student's file has for all that it does, unless others are given."""
NOWHERE, TO_ERRORS = subprocess.DEVNULL, 2
"""The target of a student's prints: nothing, or the error stream."""
KEPT = ("PATH", "PYTHONPATH", "LANG", "LC_ALL")
"""Variables of the environment that the process gets."""


_RUNNING: set[StudentProcess] = set()


def end_all() -> None:
    """End all students' processes that are running now; whoever waits for one gets an error."""
    for process in tuple(_RUNNING):
        process.end()


class StudentProcess:
    """A process that runs the code of one file: no data, no truth and no session are in it.

    It is given the file's name and a socket. Its directory is empty, its environment nearly so.
    What it prints goes to `shown`, a file that the operating system knows, or nowhere.
    """

    def __init__(self, path: Path, seconds: int, shown: int = NOWHERE):
        if not path.is_file():
            raise StudentFileError(f"there is no file {path}")
        self._path, self._seconds = path, seconds
        self._directory = TemporaryDirectory(prefix="dpdb-student-")
        self._connection, other = Pipe()
        with other:
            self._process = subprocess.Popen(  # noqa: S603 (dpdb's own module)
                [
                    *(sys.executable, "-P", "-B", "-u", "-X", "utf8"),
                    *("-m", "dpdb.lab.classroom.player"),
                    *(str(other.fileno()), str(path.absolute()), str(seconds)),
                ],
                pass_fds=(other.fileno(),),
                stdin=subprocess.DEVNULL,
                stdout=shown,
                stderr=shown,
                cwd=self._directory.name,
                env={name: os.environ[name] for name in KEPT if name in os.environ}
                | {"OPENBLAS_NUM_THREADS": "1", "HOME": self._directory.name},
                start_new_session=True,
            )
        self._timed_out = False
        self._clock = threading.Timer(seconds, self._time_out)
        self._clock.daemon = True
        self._clock.start()

    def __enter__(self) -> StudentProcess:
        _RUNNING.add(self)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        _RUNNING.discard(self)
        self._clock.cancel()
        self.end()
        self._connection.close()
        self._process.wait()
        self._directory.cleanup()

    def ask(self, request: Request, database: Database | None = None) -> Json:
        """The process's answer, in the types of JSON; its statements go to `database`."""
        message = self._exchanged(request)
        while database is not None and "execute" in message:
            text = message["execute"]
            if not isinstance(text, str):
                raise self.error("a statement is a text")
            try:
                reply: object = database.execute(text)
            except Refused as refused:
                reply = Refusal(str(refused))
            message = self._exchanged(reply)
        if "done" in message:
            return message["done"]
        raise self.error(str(message.get("failed", "it sent something that was not asked for")))

    def error(self, why: str) -> StudentFileError:
        """An error in the file, in words."""
        reason, _, line = why.partition("\n")
        where = ", " if reason.startswith("line ") else ": "
        hint = f"that line is `{line.strip()}`" if line else None
        return StudentFileError(f"{self._path.name}{where}{reason}", hint=hint)

    def end(self) -> None:
        """End the process with its group, and the connection to it.

        What has left the group lives on, and may hold the socket: nobody waits for it.
        """
        if self._process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
        with suppress(OSError), socket.socket(fileno=os.dup(self._connection.fileno())) as line:
            line.shutdown(socket.SHUT_RDWR)

    def _time_out(self) -> None:
        self._timed_out = True
        self.end()

    def _exchanged(self, message: object) -> Mapping[str, Any]:
        try:
            self._connection.send_bytes(pickle.dumps(message))
            received = json.loads(self._connection.recv_bytes(LONGEST_MESSAGE))
        except (OSError, EOFError):
            raise self._ended() from None
        except (ValueError, RecursionError):
            raise self.error("it sent what cannot be read") from None
        if not isinstance(received, dict):
            raise self.error("it sent what cannot be read")
        return received

    def _ended(self) -> StudentFileError:
        """The error of a process that has ended before it answered."""
        if self._timed_out:
            return self.error(f"it was not done after {self._seconds} seconds, and was ended")
        try:
            status = self._process.wait(timeout=1)
        except subprocess.TimeoutExpired:
            self.end()
            status = self._process.wait()
        reason = signal.Signals(-status).name if status < 0 else f"exit code {status}"
        return self.error(f"its process ended before it had answered ({reason})")


T = TypeVar("T")
MOST_GUESSES = 1000
"""In one run. Intervals of success rates take time that grows with all guesses."""


class Referee(Protocol):
    """A source of secrets that counts right guesses; any `Attack` is one."""

    def scenario(self, rng: np.random.Generator) -> Scenario: ...

    def score(self, guess: object, truth: object) -> tuple[int, int]: ...


class AttackFile(Attack):
    """An attack whose `run` is a student's.

    It is played in `player`, a process that never had the data or the truth. They come from
    the `referee`: from another process that runs the same file, or from an attack of the catalogue.
    """

    def __init__(self, name: str, told: Description, referee: Referee, player: StudentProcess):
        self._name, self._referee, self._player = name, referee, player
        self.title = told.story.get("title", name)
        self.source = told.story.get("source", f"{name}.py")
        self.secret, self.idea, self.remedy = (
            told.story.get(part, "") for part in ("secret", "idea", "remedy")
        )
        self.queries, self.trials = told.queries, told.trials
        self.off, self.foils = told.off, told.foils
        self.worlds, self.distance = told.worlds, told.distance

    @property
    def name(self) -> str:
        """The file's name without its ending."""
        return self._name

    def scenario(self, rng: np.random.Generator) -> Scenario:
        return self._referee.scenario(rng)

    def run(self, session: Database, rng: np.random.Generator) -> Guess:
        done = self._player.ask(Run(_seed(rng)), session)

        def guess() -> Guess:
            return Guess(from_json(done["value"]), str(done["because"]))

        return checked(self._player, guess)

    def score(self, guess: object, truth: object) -> tuple[int, int]:
        try:
            return self._referee.score(guess, truth)
        except (AssertionError, ArithmeticError, LookupError, TypeError, ValueError):
            # An attack of the catalogue counts on guesses of the kind that it makes itself.
            raise self._player.error("its guess is not of the kind that is asked for") from None


class Dealer:
    """The scenarios and the score of a student's own game, from a process that does not play."""

    def __init__(self, process: StudentProcess):
        self._process = process

    def scenario(self, rng: np.random.Generator) -> Scenario:
        """Data and a secret."""
        dealt = self._process.ask(Deal(_seed(rng)))
        return checked(self._process, lambda: scenario(dealt))

    def score(self, guess: object, truth: object) -> tuple[int, int]:
        """Number of right guesses, and of all guesses."""
        return checked(self._process, lambda: self._counted(guess, truth))

    def _counted(self, guess: object, truth: object) -> tuple[int, int]:
        match self._process.ask(CountRight(plain(guess), plain(truth))):
            case [int(hits), int(tries)] if 0 <= hits <= tries and 0 < tries <= MOST_GUESSES:
                return hits, tries
        raise Unfit(
            "score returns (right guesses, guesses), two whole numbers, "
            f"the second from 1 to {MOST_GUESSES}"
        )


@contextmanager
def opened(
    path: Path, seconds: int, *, task: Attack | None = None, shown: int = NOWHERE
) -> Iterator[Attack]:
    """The attack in a file; with `task`, its data, secret and score are those of that attack."""
    with ExitStack() as processes:

        def started() -> StudentProcess:
            return processes.enter_context(StudentProcess(path, seconds, shown))

        player = started()
        described = player.ask(DescribeFile())
        told = checked(player, lambda: description(described))
        if task is None:
            yield AttackFile(path.stem, told, Dealer(started()), player)
        else:
            yield AttackFile(path.stem, of_task(told, task), task, player)


def of_task(told: Description, task: Attack) -> Description:
    """The description of a task; of the student's there is only the number of queries left."""
    return Description(
        story={part: getattr(task, part) for part in STORY},
        queries=told.queries,
        trials=task.trials,
        worlds=task.worlds,
        distance=task.distance,
        off=task.off,
        foils=(),
    )


def checked(process: StudentProcess, read: Callable[[], T]) -> T:
    """The result of `read` on a message; a wrong message is an error in the student's file."""
    try:
        return read()
    except Unfit as unfit:
        raise process.error(str(unfit)) from None
    except (ArithmeticError, LookupError, TypeError, ValueError, AttributeError, RecursionError):
        raise process.error("it sent what cannot be read") from None


def _seed(rng: np.random.Generator) -> int:
    """A seed for another process, from which nothing follows about the seeds of this one."""
    return int(rng.integers(2**62))
