"""The student's process: it reads the file, and does with it what it is asked to do.

It is started with the number of a socket, the file and a number of seconds. Requests come in as
pickles from the process that started it; what goes out is JSON, as nobody should unpickle what
somebody else's code has sent.
"""

from __future__ import annotations

import json
import pickle
import sys
from collections.abc import Mapping
from functools import cache
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np

from dpdb.answers.answer import Answer
from dpdb.lab.attack import Attack
from dpdb.lab.classroom.descriptions import dealt, described
from dpdb.lab.classroom.limits import set_limits
from dpdb.lab.classroom.plain import Unfit, plain
from dpdb.lab.classroom.requests import (
    CountRight,
    Deal,
    DescribeFile,
    Measure,
    Refusal,
    Request,
    Run,
)
from dpdb.lab.classroom.student_file import attack_of, failure, mechanism_of, module_of
from dpdb.lab.database import Refused
from dpdb.lab.mechanism import Mechanism
from dpdb.lab.transcript import Guess
from dpdb.records import dataclass


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
    """What a request leads to, as plain values."""
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
