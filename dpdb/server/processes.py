"""The processes of workers: each is begun anew, never forked, and told what to open."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, field
from typing import Any, NamedTuple

from dpdb import errors
from dpdb.errors import DpdbError, InternalError
from dpdb.records import dataclass
from dpdb.server.messages import LONGEST_REPLY, Reply

PATIENCE = 60.0
"""The seconds in which a worker ends when it is told to."""


@dataclass(frozen=True)
class Opening:
    """The sources and the options of a policy, as `dpdb.session.connect.policy_of` takes them.

    `workers` is how many processes open it.
    """

    sources: Sequence[str]
    options: Mapping[str, Any] = field(default_factory=dict)
    workers: int = 1

    @property
    def line(self) -> bytes:
        """The message on one line."""
        return json.dumps(asdict(self)).encode() + b"\n"


class Process(NamedTuple):
    """A process that has opened the policy."""

    process: asyncio.subprocess.Process
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def end(self) -> None:
        """Tell it that nothing more is asked, and wait until it has ended."""
        self.writer.close()
        try:
            await asyncio.wait_for(self.process.wait(), PATIENCE)
        except TimeoutError:
            self.process.kill()


async def begin(opening: Opening) -> tuple[Process, bool]:
    """A process that has opened the policy, and whether its budget lasts; raises DpdbError."""
    ours, theirs = socket.socketpair()
    with theirs:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-X", "utf8", "-m", "dpdb.server.worker"),
            str(theirs.fileno()),
            pass_fds=(theirs.fileno(),),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    reader, writer = await asyncio.open_unix_connection(sock=ours, limit=LONGEST_REPLY + 2**10)
    writer.write(opening.line)
    line = await reader.readline()
    opened = Reply.read(line.partition(b" ")[2]) if line else None
    begun = Process(process, reader, writer)
    if opened is None or opened.error is not None:
        await begun.end()
        raise InternalError("a worker ended at once") if opened is None else _error(opened)
    return begun, bool(json.loads(opened.body)["lasts"])


def _error(reply: Reply) -> DpdbError:
    """The error that a worker has sent."""
    told = json.loads(reply.body)["error"]
    kind = getattr(errors, told["kind"])
    assert issubclass(kind, DpdbError)
    error: DpdbError = kind(told["message"], hint=told["hint"])
    return error
