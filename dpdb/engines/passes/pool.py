"""A pool of processes that add the partitions of a table, each as soon as it has nothing to do.

Threads of one process wait for Python's lock where rows have free texts. So other processes read
them: `python -c`, begun anew and never forked, as a fork has the locks of other threads, the state
of the noise and the ledger's connection. The user's script is not run again. A process has one end
of a socket pair, and nobody else can reach it. What goes over it is pickled: of both ends the code
is dpdb's own.

    here → process    `sys.path`, once; a Task for each pass; a Partition whenever the process has
                      nothing to do; None after the last
    process → here    None when it has started, and after each partition; the work after the last;
                      an error of dpdb in place of each of these

No process has a partition waiting. So the theorem of `loop` holds: if rows of one unit make
partitions longer by D in all, the pass ends later by at most D. For a process with a partition
ahead that is false: another one may be idle meanwhile.

A process that has ended, Ctrl-C or an error ends all processes, and the statement fails, which is
charged by then. The next statement begins others.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection, Pipe, wait
from pathlib import Path
from typing import Any, Generic, TypeVar
from weakref import finalize

from dpdb.engines.loop import Runner, Work, processors
from dpdb.engines.passes.blocks import counted_from
from dpdb.engines.sources.protocol import Loaded, Partition, Source
from dpdb.errors import DpdbError, OutOfResources
from dpdb.records import dataclass

Result = TypeVar("Result")

_MOST = 8
"""The most processes: what more of them find takes as long to join as they save."""
_MEMORY = 2**28
"""The bytes of memory of a process, about."""
_PROGRAM = """
import sys
from multiprocessing.connection import Connection
here = Connection(int(sys.argv[1]))
sys.path[:] = here.recv()
from dpdb.engines.passes.worker import serve
serve(here)
"""


def can_start() -> bool:
    """Whether this system hands a socket to a new process, and Python knows its own program."""
    return os.name == "posix" and bool(sys.executable)


def usual_workers(pools: int) -> int:
    """The processes of a pool: one for each processor, if half of the memory is enough for all.

    `pools` is the number of pools that share that half.
    """
    if not can_start():
        return 1
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    limit = Path("/sys/fs/cgroup/memory.max")  # of a container or a service
    if limit.exists() and (written := limit.read_text().strip()).isdecimal():
        memory = min(memory, int(written))
    return min(processors(_MOST), memory // 2 // pools // _MEMORY)


@dataclass(frozen=True, repr=False)
class Task(Generic[Result]):
    """A pass over a table: whence a process reads, and the work that it adds rows to."""

    source: Source
    names: frozenset[str]
    work: Work[Loaded, Result]

    def add(self, partition: Partition) -> None:
        """Add the rows of a partition, whose version a witness has been shown."""
        for rows in counted_from(partition, self.source.read(partition, self.names)):
            self.work.add(rows)
            del rows  # nothing of a block is kept while the next one is made


class Pool:
    """Processes that have started, or are about to."""

    def __init__(self, workers: int) -> None:
        self._maker = os.getpid()
        self._started = 0
        self.processes: list[subprocess.Popen[bytes]] = []
        self.connections: list[Connection[Any, Any]] = []
        self.end = finalize(self, _end, self._maker, self.processes, self.connections)
        """Ends all processes; done when the pool is forgotten, too, and at the program's end."""
        for _ in range(workers):
            here, there = Pipe()
            with there:
                process = subprocess.Popen(  # noqa: S603 (this program, and no text of a user)
                    [sys.executable, "-P", "-X", "utf8", "-c", _PROGRAM, str(there.fileno())],
                    pass_fds=[there.fileno()],
                    process_group=0,  # so that Ctrl-C reaches this process alone
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                )
            self.processes.append(process)
            self.connections.append(here)
            here.send(sys.path)

    def holds(self, workers: int) -> bool:
        """Whether there are so many processes, begun here, and none that has started has ended.

        If one has ended before it started, no others are begun: they would end as well.
        """
        if len(self.processes) < workers or self._maker != os.getpid():
            return False
        started = self._started == len(self.processes)
        return not started or all(process.poll() is None for process in self.processes)

    def is_ready(self, seconds: float | None = 0) -> bool:
        """Whether all processes have started, after at most so many seconds; None for no limit."""
        try:
            while self._started < len(self.connections):
                starting = self.connections[self._started]
                if not starting.poll(seconds):
                    return False
                starting.recv()
                self._started += 1
        except (EOFError, OSError):
            self.end()
            return False
        return True


def started(workers: int) -> Pool | None:
    """A pool of so many processes; None where the system begins no more."""
    try:
        return Pool(workers)
    except OSError:
        return None


def _end(
    maker: int, processes: list[subprocess.Popen[bytes]], connections: list[Connection[Any, Any]]
) -> None:
    if maker != os.getpid():
        return
    for connection in connections:
        connection.close()
    for process in processes:
        process.kill()
        process.wait()


@dataclass(frozen=True, repr=False)
class Processes(Runner[Loaded]):
    """Gives partitions of a table to the processes of a pool that has started."""

    pool: Pool
    source: Source
    names: frozenset[str]
    partitions: Sequence[Partition]

    def each(self, work: Work[Loaded, Result]) -> None:
        """Add all partitions, each to the work of the process that is idle first."""
        try:
            for found in self._found(Task(self.source, self.names, work.copy())):
                work.join(found)
        except (EOFError, ConnectionError):
            self.pool.end()
            raise OutOfResources(
                "a process that read the table has ended before it was done",
                hint="the next statement begins others",
            ) from None
        except BaseException:
            self.pool.end()
            raise

    def _found(self, task: Task[Result]) -> Iterator[Work[Loaded, Result]]:
        left, packed = iter(self.partitions), pickle.dumps(task)
        busy: dict[Any, bool] = {}
        """The processes that have the task, and whether each has a partition."""
        for connection in self.pool.connections[: len(self.partitions)]:
            connection.send_bytes(packed)
            connection.send(next(left))
            busy[connection] = True
        while busy:
            idle: Any
            for idle in wait([*busy]):
                reply = idle.recv()
                if isinstance(reply, DpdbError):
                    raise reply
                if busy[idle]:
                    partition = next(left, None)
                    idle.send(partition)
                    busy[idle] = partition is not None
                else:
                    del busy[idle]
                    yield reply
