"""The host in the box and its children, which run a student's code and do what they are asked.

The host never reads a student's file. Its stdin is a socket on which the referee sends `+` with a
socket, for a new child, or `?` for the end of the last one. A child reads the file's name and
text from its socket, and then requests. Both ways messages are JSON.
"""

from __future__ import annotations

import ctypes
import inspect
import linecache
import os
import resource
import shutil
import signal
import socket
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType

import numpy as np

from dpdb.answers.answer import Answer
from dpdb.answers.wire import from_wire
from dpdb.lab import attacks
from dpdb.lab.attack import Attack, Guess
from dpdb.lab.classroom.mechanisms import Mechanism
from dpdb.lab.classroom.messages import (
    HEAD,
    UIDS,
    Json,
    Unfit,
    dealt,
    described,
    packed,
    plain,
    unpacked,
)
from dpdb.lab.database import Refused
from dpdb.records import dataclass

LIMITS = {
    resource.RLIMIT_AS: 1 << 30,
    resource.RLIMIT_FSIZE: 16 << 20,
    resource.RLIMIT_NOFILE: 64,
    resource.RLIMIT_NPROC: 32,
    resource.RLIMIT_CORE: 0,
}
"""Limits for a child and all that it starts; seconds of processor time are given."""
NOT_DUMPABLE = 4
"""The option of prctl(2) by which a process has memory that others of its user cannot read."""


def main(words: list[str]) -> None:
    """Fork a child for each socket that comes, until no more can come."""
    control = socket.socket(fileno=os.dup(0))
    with Path(os.devnull).open("rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    with suppress(OSError):
        # Where memory runs out, the kernel ends this process and its children first.
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
    _set_dumpable(0)
    _generator(0)
    for each in iter_modules(attacks.__path__, f"{attacks.__name__}."):
        import_module(each.name)  # so that no child has to
    child = 0
    while True:
        word, sockets, *_ = socket.recv_fds(control, 1, 1)
        if word == b"?":
            control.sendall(f"{_status(child)}".encode())
            child = 0
            continue
        _clear(child, words[0])
        if word != b"+":
            return
        child = os.fork()
        if not child:
            control.close()
            _set_dumpable(1)
            _set_limits(int(words[1]))
            _serve(socket.socket(fileno=sockets[0]))
            os._exit(0)
        os.close(sockets[0])


def _set_dumpable(value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(NOT_DUMPABLE, value, 0, 0, 0)


def _set_limits(seconds: int) -> None:
    for kind, most in {**LIMITS, resource.RLIMIT_CPU: seconds}.items():
        _, hard = resource.getrlimit(kind)
        least = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (least, least))


def _status(child: int) -> int:
    """The exit code of a child that should have ended, or less than 0 for a signal."""
    for _ in range(20):
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.05)
    os.kill(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _clear(child: int, kind: str) -> None:
    """End the last child; in a sandbox, end all other processes and remove what they left.

    To be sure not to end anybody else's, the host looks whether it has the number 2, as in
    bubblewrap, or a user of `UIDS`, as nobody else has.
    """
    places = {"bubblewrap": os.getpid() == 2, "user": os.getuid() in UIDS}
    alone = places.get(kind, False) and os.getuid() != 0
    if alone or child:
        with suppress(ProcessLookupError):
            os.kill(-1 if alone else child, signal.SIGKILL)
    with suppress(ChildProcessError):
        while True:
            os.wait()
    if alone:
        _remove_left()


def _remove_left() -> None:
    """Remove shared memory, semaphores, queues and temporary files of this user."""
    library = ctypes.CDLL(None)
    for kind, more in (("shm", ()), ("sem", (0,)), ("msg", ())):
        with suppress(OSError):
            for line in Path(f"/proc/sysvipc/{kind}").read_text(encoding="ascii").split("\n")[1:-1]:
                getattr(library, f"{kind}ctl")(int(line.split()[1]), *more, 0, 0)
    for folder in ("/tmp", "/var/tmp", "/dev/shm"):  # noqa: S108 (others' files stay)
        with suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                if entry.stat(follow_symlinks=False).st_uid == os.getuid():
                    shutil.rmtree(entry, ignore_errors=True)
                    with suppress(OSError):
                        os.unlink(entry)


@dataclass(frozen=True)
class Line:
    """The socket to the referee."""

    _socket: socket.socket

    def execute(self, text: str) -> Answer:
        """Answer one statement, or raise `Refused`."""
        if not isinstance(text, str):
            raise TypeError(f"execute takes a statement as text, not {type(text).__name__}")
        self._socket.sendall(packed({"execute": text}))
        reply = self.receive()
        if "refused" in reply:
            raise Refused(reply["refused"])
        return from_wire(reply["answer"])

    def receive(self) -> Json:
        """The next message."""
        length = int.from_bytes(self._socket.recv(HEAD, socket.MSG_WAITALL))
        received = self._socket.recv(length, socket.MSG_WAITALL)
        if not length or len(received) < length:
            raise EOFError
        return unpacked(received)


def _serve(connection: socket.socket) -> None:
    """Do what is asked for until nobody asks, or something fails."""
    line = Line(connection)
    try:
        file = File(*line.receive())
        while True:
            request = line.receive()
            try:
                reply = packed({"done": _done(file, request, line)})
            except BaseException as error:
                reply = packed({"failed": failure(error, file)})
            connection.sendall(reply)
    except (EOFError, OSError):
        return


@dataclass(frozen=True)
class File:
    """A student's file."""

    name: str
    text: str

    @property
    def path(self) -> str:
        """The name in tracebacks."""
        return f"{self.name}.py"

    @cached_property
    def module(self) -> ModuleType:
        """The module that the file is."""
        linecache.cache[self.path] = (len(self.text), None, self.text.splitlines(True), self.path)
        module = ModuleType(self.name)
        exec(compile(self.text, self.path, "exec"), module.__dict__)  # noqa: S102 (in the box)
        return module

    @cached_property
    def attack(self) -> Attack:
        """The only attack that is written in the file."""
        written = [
            each
            for each in vars(self.module).values()
            if inspect.isclass(each) and issubclass(each, Attack) and each.__module__ == self.name
        ]
        if not written:
            raise Unfit("there is no attack in it: no class that is derived from Attack")
        if len(written) > 1:
            names = " and ".join(each.__name__ for each in written)
            raise Unfit(f"there is more than one attack in it: {names}")
        [own] = written
        missing = own.__abstractmethods__
        if missing:
            raise Unfit(f"{own.__name__} does not define {' and '.join(sorted(missing))}")
        return own()

    @property
    def mechanism(self) -> Mechanism:
        """The function `mechanism` of the file, with its EPSILON and its VALUES if it has them."""
        function = getattr(self.module, "mechanism", None)
        if not callable(function):
            raise Unfit("there is no function `mechanism(values, epsilon, rng)` in it")
        epsilon = getattr(self.module, "EPSILON", Mechanism.epsilon)
        values = getattr(self.module, "VALUES", Mechanism.values)
        if not isinstance(epsilon, int | float) or not 0 < epsilon < 1000:
            raise Unfit("EPSILON is a number above 0")
        listed = isinstance(values, Sequence) and bool(values)
        if not listed or not all(isinstance(value, int | float) for value in values):
            raise Unfit("VALUES is a list of numbers, of which the last one is the person's")
        return Mechanism(function, float(epsilon), tuple(values))


def failure(error: BaseException, file: File) -> str:
    """The error in words, with the last line of the student's file that led to it."""
    name = type(error).__name__
    told = f"{name}: {str(error).splitlines()[0]}" if str(error).strip() else name
    if isinstance(error, Unfit):
        return str(error)
    if isinstance(error, SyntaxError) and error.filename == file.path:
        return f"line {error.lineno}: {name}: {error.msg}{_quoted(error.text)}"
    own = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == file.path]
    if not own:
        return told
    last = own[-1]
    where = f"line {last.lineno}" + ("" if last.name == "<module>" else f", in {last.name}")
    return f"{where}: {told}{_quoted(linecache.getline(file.path, last.lineno or 0))}"


def _quoted(line: str | None) -> str:
    return f"\n  {line.strip()}" if line and line.strip() else ""


def _done(file: File, request: Json, line: Line) -> Json:
    """The reply to a request."""
    match request:
        case ["describe"]:
            return described(file.attack)
        case ["deal", int(seed)]:
            return dealt(file.attack.scenario(_generator(seed)))
        case ["run", int(seed)]:
            guess = file.attack.run(line, _generator(seed))
            if not isinstance(guess, Guess):
                raise Unfit(f"run returned {type(guess).__name__}, not Guess(value, because)")
            return {"value": plain(guess.value), "because": str(guess.because)}
        case ["count", guess, truth]:
            return plain(file.attack.score(plain(guess), plain(truth)))
        case ["measure", int(runs), int(seed)]:
            mechanism = file.mechanism
            outputs = mechanism.outputs(runs, _generator(seed))
            return {
                "epsilon": mechanism.epsilon,
                "values": plain(mechanism.values),
                "outputs": plain(outputs),
            }
        case ["probe", str(path), int(referee), int(port)]:
            return list(_reached(Path(path), referee, port))
    raise Unfit(f"there is no request {request}")


def _generator(seed: int) -> np.random.Generator:
    """The generator of a request; numpy's common one, which all children share, is seeded, too."""
    np.random.seed(seed % 2**32)
    return np.random.default_rng(seed)


def _reached(path: Path, referee: int, port: int) -> Iterator[str]:
    """The parts of the referee that this process can reach, as `box.reached` lists them."""
    tries: dict[str, Callable[[], object]] = {
        "file": path.read_bytes,
        "names": path.parent.lstat,
        "memory": lambda: Path(f"/proc/{referee}/mem").open("rb").close(),
        "kill": lambda: os.kill(referee, 0),
        "network": lambda: socket.create_connection(("127.0.0.1", port), 2).close(),
        "root": lambda: os.setgroups([]),
    }
    for name, attempt in tries.items():
        with suppress(OSError):
            attempt()
            yield name


if __name__ == "__main__":
    main(sys.argv[1:])
