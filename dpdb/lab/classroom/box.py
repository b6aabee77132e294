"""The box: a student's code runs where there is nothing to find, and speaks JSON over one socket.

    with Box(StudentFile("newcomer", text), seconds=60) as box, box.process() as player:
        done = player.ask(["run", seed], database)

`Box(file, seconds)` starts a host process without data, which forks a new process for each
`box.process()` and ends all others before. `process.ask(request, database)` returns the reply to a
request of `player`; statements of the student's code are answered by `database`, anything with
`execute(text)`. Whatever the code does, `ask` returns JSON or raises `StudentFileError`.
`sandbox()` says what keeps the code in. A file is played and scored by
`scores.score(file, rules)`, which opens its own boxes; it blocks, so a server calls it in a thread.
"""

from __future__ import annotations

import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from importlib.util import decode_source
from pathlib import Path
from tempfile import TemporaryDirectory

from dpdb.answers.wire import to_wire
from dpdb.errors import StudentFileError
from dpdb.lab.classroom.messages import HEAD, UIDS, Json, Unfit, packed, text_of, unpacked
from dpdb.lab.classroom.walls import PACKAGE, Sandbox, libraries, other_user, wall
from dpdb.lab.database import Database, Refused
from dpdb.records import dataclass

TIME_LIMIT = 60
"""Seconds that a student's file has for all that it does, unless others are given."""
USUAL = 1 << 20
"""Bytes of a usual message: a statement, a guess, a file."""
MOST_ASKED = 16 << 20
"""Bytes of all statements of a process, each counted with `OF_AN_ANSWER` for its answer."""
OF_AN_ANSWER = 1000
NOWHERE, TO_ERRORS = subprocess.DEVNULL, 2
"""The target of a student's prints: nothing, or the error stream."""


@dataclass(frozen=True)
class StudentFile:
    """The name of a student's file, without its ending, and its text."""

    name: str
    text: str

    @classmethod
    def read(cls, path: Path) -> StudentFile:
        """The file of that path."""
        if not path.is_file():
            raise StudentFileError(f"there is no file {path}")
        try:
            text = decode_source(path.read_bytes())
        except (SyntaxError, ValueError):
            raise StudentFileError(f"{path.name}: it is no text in UTF-8") from None
        except OSError as error:
            raise StudentFileError(f"{path.name}: {error.strerror}") from None
        return cls(path.stem, text)

    def error(self, why: str) -> StudentFileError:
        """An error in the file: what happened, and in a second line the line of the file."""
        reason, _, line = why.partition("\n")
        where = ", " if reason.startswith("line ") else ": "
        hint = f"that line is `{line.strip()}`" if line else None
        return StudentFileError(f"{self.name}.py{where}{reason}", hint=hint)


_LEFT_OPEN = {Sandbox.BUBBLEWRAP: frozenset[str](), Sandbox.USER: frozenset({"names", "network"})}
"""The parts of the referee that a probe may reach in a box that works."""


@cache
def sandbox() -> Sandbox:
    """The best sandbox of this machine, found by running a probe in it."""
    for kind, left_open in _LEFT_OPEN.items():
        if kind is Sandbox.USER and os.getuid() != 0:
            continue
        with suppress(OSError, StudentFileError):
            if reached(kind) <= left_open:
                return kind
    return Sandbox.NONE


def reached(kind: Sandbox) -> frozenset[str]:
    """The parts of a referee that a program in such a box can reach.

    `file`: a file in a folder of 0700. `names`: whether that folder is there. `memory`: of the
    referee. `kill`: a signal to it. `network`: its port on the loopback. `root`: rights of root.
    """
    with (
        TemporaryDirectory(prefix="dpdb-probe-") as folder,
        socket.create_server(("127.0.0.1", 0)) as server,
        Box(StudentFile("probe", ""), 20, sandbox_kind=kind) as box,
        box.process() as process,
    ):
        path = Path(folder) / "trial.csv"
        path.write_text("secret", encoding="utf-8")
        port = server.getsockname()[1]
        return frozenset(process.ask(["probe", str(path), os.getpid(), port]))


_CLEAR = """
test "$(id -u)" = "$0" || exit 1
kill -KILL -1
exec find /tmp /var/tmp /dev/shm -mindepth 1 -maxdepth 1 -uid "$0" -exec rm -rf {} + 2>/dev/null
"""
"""A shell that ends all of a user's processes but itself, and removes the user's files."""
_RUNNING: set[Box] = set()


def end_all() -> None:
    """End all boxes of this process; whoever waits for one gets an error."""
    for box in tuple(_RUNNING):
        box.end()


class Box:
    """A host for processes that run one file's code, with so many seconds for all of them.

    What the code prints goes to `shown`, a file that the operating system knows, or nowhere.
    """

    def __init__(
        self,
        file: StudentFile,
        seconds: int,
        shown: int = NOWHERE,
        *,
        sandbox_kind: Sandbox | None = None,
    ):
        self.file, self.seconds = file, seconds
        self._kind = sandbox_kind or sandbox()
        self._uid = UIDS[secrets.randbelow(len(UIDS))]
        self._control, other = socket.socketpair()
        self.socket: socket.socket | None = None
        with other:
            try:
                self._host = self._started(other.fileno(), shown)
            except OSError:
                self._control.close()
                raise
        self.deadline = time.monotonic() + seconds

    def _started(self, stdin: int, shown: int) -> subprocess.Popen[bytes]:
        return subprocess.Popen(  # noqa: S603 (dpdb's own module)
            [
                *wall(self._kind, self._uid),
                *(sys.executable, "-P", "-B", "-u", "-X", "utf8"),
                *("-m", "dpdb.lab.classroom.player", self._kind, str(self.seconds + 1)),
            ],
            stdin=stdin,
            stdout=shown,
            stderr=shown,
            cwd="/",
            env={
                "PATH": "/usr/bin:/bin",
                "LANG": "C.UTF-8",
                "HOME": "/",
                "OPENBLAS_NUM_THREADS": "1",
                "PYTHONPATH": os.pathsep.join(map(str, (PACKAGE.parent, *libraries()))),
            },
            start_new_session=True,
        )

    def __enter__(self) -> Box:
        _RUNNING.add(self)
        return self

    def __exit__(self, *_: object) -> None:
        _RUNNING.discard(self)
        self.end()
        self._control.close()
        self._host.wait()

    def process(self) -> Process:
        """A new process; all earlier ones are ended, with what they left behind."""
        mine, theirs = socket.socketpair()
        self.socket = mine
        with theirs, suppress(OSError):  # of a host that has ended, the process will tell
            socket.send_fds(self._control, [b"+"], [theirs.fileno()])
        return Process(self, mine)

    def end(self) -> None:
        """End the host with all that it started, and the connections.

        Without a sandbox, what has left the host's group lives on: nobody waits for it.
        """
        if self._host.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(self._host.pid, signal.SIGKILL)
        if self._kind is Sandbox.USER:
            command = [*other_user(self._uid), "sh", "-c", _CLEAR, str(self._uid)]
            subprocess.run(command, check=False)  # noqa: S603
        for line in filter(None, (self._control, self.socket)):
            with suppress(OSError):
                line.shutdown(socket.SHUT_RDWR)

    def ended(self) -> StudentFileError:
        """The error of a process that has closed its socket before it answered."""
        try:
            self._control.settimeout(5)
            self._control.sendall(b"?")
            status = int(self._control.recv(8))
            reason = signal.Signals(-status).name if status < 0 else f"exit code {status}"
        except (OSError, ValueError):
            reason = "with its host"
        return self.file.error(f"its process ended before it had answered ({reason})")


class Process:
    """A process in a box, which runs the file's code once it is asked."""

    def __init__(self, box: Box, line: socket.socket):
        self._box, self._line, self._asked = box, line, 0
        self._greeted = False

    def __enter__(self) -> Process:
        return self

    def __exit__(self, *_: object) -> None:
        self._line.close()

    def error(self, why: str) -> StudentFileError:
        """An error in the file, in words."""
        return self._box.file.error(why)

    def ask(
        self, request: Sequence[Json], database: Database | None = None, longest: int = USUAL
    ) -> Json:
        """The reply to a request; the statements that the code sends go to `database`."""
        if not self._greeted:
            self._greeted = True
            self._send([self._box.file.name, self._box.file.text])
        message = self._exchanged(request, longest)
        while database is not None and "execute" in message:
            message = self._exchanged(self._answer(message["execute"], database), longest)
        if "done" in message:
            return message["done"]
        failed = message.get("failed", "it sent something that was not asked for")
        raise self.error(str(failed)[:2000].encode(errors="replace").decode())

    def _answer(self, text: object, database: Database) -> Json:
        try:
            statement = text_of(text, "a statement")
        except Unfit as unfit:
            raise self.error(str(unfit)) from None
        self._asked += len(statement) + OF_AN_ANSWER
        if self._asked > MOST_ASKED:
            raise self.error("it asks too much: all statements of a run have to be shorter")
        try:
            return {"answer": to_wire(database.execute(statement))}
        except Refused as refused:
            return {"refused": str(refused)}

    def _exchanged(self, message: Json, longest: int) -> dict[str, Json]:
        self._send(message)
        length = int.from_bytes(self._received(HEAD))
        if length > longest:
            raise self.error(f"it sent more than {longest >> 20} MiB at once")
        try:
            received = unpacked(bytes(self._received(length)))
        except (ValueError, RecursionError):
            raise self.error("it sent what cannot be read") from None
        if not isinstance(received, dict):
            raise self.error("it sent what cannot be read")
        return received

    def _send(self, message: Json) -> None:
        with self._in_time():
            self._line.sendall(packed(message))

    def _received(self, length: int) -> bytearray:
        received = bytearray()
        while len(received) < length:
            with self._in_time():
                part = self._line.recv(min(length - len(received), 1 << 16))
            if not part:
                raise self._box.ended()
            received += part
        return received

    @contextmanager
    def _in_time(self) -> Iterator[None]:
        """Use the socket until the file's time is over, and no longer."""
        try:
            left = self._box.deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError
            self._line.settimeout(left)
            yield
        except TimeoutError:
            self._box.end()
            late = f"it was not done after {self._box.seconds} seconds, and was ended"
            raise self.error(late) from None
        except OSError:
            raise self._box.ended() from None
