"""A student's process, from outside: it is started, asked, and ended when its time is over."""

from __future__ import annotations

import json
import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from multiprocessing import Pipe
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any

from dpdb.errors import StudentFileError
from dpdb.lab.classroom.messages import Refusal, Request
from dpdb.lab.database import Database, Refused

Json = Any
"""A value of JSON. Whoever reads it checks it."""
LONGEST_MESSAGE = 16 << 20
"""Bytes that a student's process may send at once."""
TIME_LIMIT = 60
"""Seconds that a student's file has for all that it does, unless others are given."""
NOWHERE, TO_ERRORS = subprocess.DEVNULL, 2
"""Where what a student's code prints goes to: nowhere, or to the error stream."""
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
