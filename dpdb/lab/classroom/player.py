"""The student's process: it reads the file, and does with it what it is asked to do.

It is started with the number of a socket, the file and a number of seconds. Requests come in as
pickles from the process that started it; what goes out is JSON, as nobody should unpickle what
somebody else's code has sent.
"""

from __future__ import annotations

import inspect
import json
import linecache
import pickle
import resource
import sys
import traceback
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import module_from_spec
from multiprocessing.connection import Connection
from pathlib import Path
from types import ModuleType

import numpy as np

from dpdb.answers.answer import Answer
from dpdb.lab.attack import Attack, Guess
from dpdb.lab.classroom.mechanisms import Mechanism
from dpdb.lab.classroom.messages import (
    CountRight,
    Deal,
    DescribeFile,
    Measure,
    Refusal,
    Request,
    Run,
    Unfit,
    dealt,
    described,
    plain,
)
from dpdb.lab.database import Refused
from dpdb.records import dataclass

MEMORY = 4 << 30
"""Bytes of address space; numpy alone reserves a part of a gigabyte."""
FILE = 16 << 20
"""Bytes of the largest file that it can write."""


def set_limits(seconds: int) -> None:
    """Limits for this process and all that it starts. It has processor time for `seconds`.

    They hold where nobody is left to end the process: its starter may have been interrupted.
    A starter that is there ends it after as many seconds, and says so, before the limit does.
    """
    wanted = {
        resource.RLIMIT_CPU: seconds + 1,
        resource.RLIMIT_AS: MEMORY,
        resource.RLIMIT_FSIZE: FILE,
        resource.RLIMIT_CORE: 0,
    }
    for kind, most in wanted.items():
        _, hard = resource.getrlimit(kind)
        least = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (least, least))


def module_of(path: Path) -> ModuleType:
    """The module that a file of Python is."""
    loader = SourceFileLoader(path.stem, str(path))
    spec = ModuleSpec(path.stem, loader, origin=str(path))
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module


def attack_of(module: ModuleType) -> Attack:
    """The only attack that is written in a module."""
    written = [
        member
        for member in vars(module).values()
        if inspect.isclass(member)
        and issubclass(member, Attack)
        and member.__module__ == module.__name__
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


def mechanism_of(module: ModuleType) -> Mechanism:
    """The function `mechanism` of a module, with its EPSILON and its VALUES if it has them."""
    function = getattr(module, "mechanism", None)
    if not callable(function):
        raise Unfit("there is no function `mechanism(values, epsilon, rng)` in it")
    epsilon = getattr(module, "EPSILON", Mechanism.epsilon)
    values = getattr(module, "VALUES", Mechanism.values)
    if not isinstance(epsilon, int | float) or not 0 < epsilon < 1000:
        raise Unfit("EPSILON is a number above 0")
    listed = isinstance(values, Sequence) and bool(values)
    if not listed or not all(isinstance(value, int | float) for value in values):
        raise Unfit("VALUES is a list of numbers, of which the last one is the person's")
    return Mechanism(function, float(epsilon), tuple(values))


def failure(error: BaseException, path: Path) -> str:
    """The error in words, with the last line of the student's file that led to it."""
    name = type(error).__name__
    told = f"{name}: {str(error).splitlines()[0]}" if str(error).strip() else name
    if isinstance(error, Unfit):
        return str(error)
    if isinstance(error, SyntaxError) and error.filename == str(path):
        return f"line {error.lineno}: {name}: {error.msg}{_quoted(error.text)}"
    own = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == str(path)]
    if not own:
        return told
    last = own[-1]
    where = f"line {last.lineno}" + ("" if last.name == "<module>" else f", in {last.name}")
    return f"{where}: {told}{_quoted(linecache.getline(str(path), last.lineno or 0))}"


def _quoted(line: str | None) -> str:
    return f"\n  {line.strip()}" if line and line.strip() else ""


@dataclass(frozen=True)
class Line:
    """The socket to the process that has the session."""

    _connection: Connection

    def execute(self, text: str) -> Answer:
        """Answer one statement, or raise `Refused`."""
        if not isinstance(text, str):
            raise TypeError(f"execute takes a statement as text, not {type(text).__name__}")
        self.send({"execute": text})
        answer = self.receive()
        if isinstance(answer, Refusal):
            raise Refused(answer.reason)
        assert isinstance(answer, Answer)
        return answer

    def send(self, message: Mapping[str, object]) -> None:
        """Send one message."""
        self._connection.send_bytes(json.dumps(message).encode())

    def receive(self) -> Request | Answer | Refusal:
        """The next message. It comes from the process that has the session, which is trusted."""
        message: Request | Answer | Refusal = pickle.loads(self._connection.recv_bytes())  # noqa: S301
        return message


@dataclass(frozen=True)
class File:
    """A student's file, read when it is first needed."""

    path: Path

    @property
    def attack(self) -> Attack:
        """The attack in it."""
        return _attack(self.path)

    @property
    def mechanism(self) -> Mechanism:
        """The mechanism in it."""
        return mechanism_of(module_of(self.path))


@cache
def _attack(path: Path) -> Attack:
    return attack_of(module_of(path))


def main(words: list[str]) -> None:
    """Serve requests until there are no more."""
    number, path, seconds = int(words[0]), Path(words[1]), int(words[2])
    set_limits(seconds)
    line, file = Line(Connection(number)), File(path)
    while True:
        try:
            request = line.receive()
        except EOFError:
            return
        try:
            done = _done(file, request, line)
        except BaseException as error:
            line.send({"failed": failure(error, path)})
            return
        line.send({"done": done})


def _done(file: File, request: object, line: Line) -> object:
    """The result of a request, as plain values."""
    match request:
        case DescribeFile():
            return described(file.attack)
        case Deal(seed=seed):
            return dealt(file.attack.scenario(np.random.default_rng(seed)))
        case Run(seed=seed):
            guess = file.attack.run(line, np.random.default_rng(seed))
            if not isinstance(guess, Guess):
                raise Unfit(f"run returned {type(guess).__name__}, not Guess(value, because)")
            return {"value": plain(guess.value), "because": str(guess.because)}
        case CountRight(guess=guess, truth=truth):
            return plain(file.attack.score(guess, truth))
        case Measure(runs=runs, seed=seed):
            mechanism = file.mechanism
            outputs = mechanism.outputs(runs, np.random.default_rng(seed))
            return {
                "epsilon": mechanism.epsilon,
                "values": plain(mechanism.values),
                "outputs": plain(outputs),
            }
    raise Unfit(f"there is no request {request}")


if __name__ == "__main__":
    main(sys.argv[1:])
