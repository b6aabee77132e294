"""The desk of the front: it takes statements to the workers, in fair turns.

Each analyst has a queue, of which one statement at a time is with the analyst's worker. Analysts
take turns, and a worker has a limited number of statements. None of this knows a row, but that a
place at the worker is free when an answer leaves, which is on a tick.

An analyst's worker follows from the name alone, so that all sessions of a name are one. Where a
worker ends, another takes its place: the statements that it had begun are charged, or perhaps so,
and told to nobody; those that it had not begun go to the new one.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from hashlib import sha256
from itertools import count

from dpdb.errors import Busy, DpdbError, LedgerError, OutOfResources, TooLarge, reportable
from dpdb.records import dataclass
from dpdb.server.messages import AT_ONCE, LONGEST_REQUEST, Action, Desk, Reply, Request
from dpdb.server.processes import Opening, Process, begin

QUEUE = 8
"""The statements of an analyst that may wait."""
ATTEMPTS = 2
"""The most times that a free request is taken to a worker: it may be what ends them."""


@dataclass(eq=False)
class _Asked:
    """A request that has not been answered."""

    request: Request
    line: bytes
    reply: asyncio.Future[Reply]
    attempts: int = 0

    def answer(self, reply: Reply) -> None:
        """Hand out the reply, if somebody still waits for it."""
        if not self.reply.done():
            self.reply.set_result(reply)


class WorkerDesk(Desk):
    """A desk with some workers."""

    def __init__(self, workers: Sequence[_Worker]) -> None:
        self._workers = workers
        self._is_open = True

    @classmethod
    async def open(cls, opening: Opening) -> WorkerDesk:
        """Start the workers, one after the other, and wait until all have opened the policy.

        A budget without a name has one session for all analysts, and so one worker. Raises
        DpdbError where a worker cannot open the policy.
        """
        first = _Worker(opening)
        await first.start()
        desk = cls([first, *(_Worker(opening) for _ in range(opening.workers - 1) if first.lasts)])
        try:
            for each in desk._workers[1:]:
                await each.start()
        except BaseException:
            await desk.close()
            raise
        return desk

    @property
    def lasts(self) -> bool:
        """Whether the budget has a name, and so lasts; otherwise it is that of the workers."""
        return self._workers[0].lasts

    @property
    def processes(self) -> tuple[int | None, ...]:
        """The numbers of the workers' processes; None for one that is being started."""
        return tuple(each.number for each in self._workers)

    @property
    def waiting(self) -> tuple[int, ...]:
        return tuple(each.waiting for each in self._workers)

    @property
    def restarts(self) -> int:
        return sum(each.restarts for each in self._workers)

    async def ask(self, request: Request) -> Reply:
        if not self._is_open:
            hint = "ask again when it is back"
            raise LedgerError("the server is stopping", hint=hint, told=True)
        try:
            line = request.line
        except RecursionError:
            line = b""
        if not 0 < len(line) <= LONGEST_REQUEST:
            error = TooLarge(f"a request has at most {LONGEST_REQUEST:,} bytes, in few brackets")
            return Reply.of_error("", error)
        return await self._workers[place_of(request.analyst, len(self._workers))].ask(request, line)

    async def reload(self) -> None:
        """Let new processes open the policy as it is now, in place of those that are there.

        Statements that were begun are answered first. Raises DpdbError where the policy cannot be
        opened, or the budget is that of the processes; then all stays as it is.
        """
        begun = list[Process]()
        try:
            for each in self._workers:
                begun.append(await each.begun())
        except BaseException:
            for process in begun:
                await process.end()
            raise
        for each, process in zip(self._workers, begun, strict=True):
            await each.renew(process)

    async def close(self) -> None:
        self._is_open = False
        await asyncio.gather(*(each.stop() for each in self._workers))


def place_of(analyst: str, number: int) -> int:
    """The place of the analyst's worker among so many: the same in every process and version."""
    return int.from_bytes(sha256(analyst.encode("utf-8", "surrogatepass")).digest()[:8]) % number


class _Worker:
    """A worker's process, or the one that takes its place, and the queues of its analysts."""

    lasts = True
    """Whether the budget has a name: then each analyst has a session."""

    def __init__(self, opening: Opening) -> None:
        self._opening = opening
        self._queues: dict[str, deque[_Asked]] = {}
        """The statements that wait, of each analyst who has any, in the order of their turns."""
        self._running: dict[int, _Asked] = {}
        self._numbers = count(1)
        self._seen: set[str] = set()
        """The analysts who have asked."""
        self._lost: set[str] = set()
        """The analysts who asked a process that was lost, and have not been told."""
        self._now: Process | None = None
        self._next: Process | None = None
        """The process that is to take the place of this one, once it has answered."""
        self._life: asyncio.Task[None] | None = None
        self._stopping = False
        self.restarts = 0
        """The number of times that another process has taken the place of one that ended."""
        self._idle = asyncio.Event()
        self._idle.set()

    @property
    def number(self) -> int | None:
        """The number of the process."""
        return None if self._now is None else self._now.process.pid

    @property
    def waiting(self) -> int:
        """The statements in the queues."""
        return sum(map(len, self._queues.values()))

    async def start(self) -> None:
        """Start the process and wait until it has opened the policy; raises DpdbError."""
        self._now = await self.begun()
        self._life = asyncio.create_task(self._live())

    async def ask(self, request: Request, line: bytes) -> Reply:
        """The reply, once it is the request's turn."""
        queue = self._queues.setdefault(request.analyst, deque())
        if len(queue) >= QUEUE:
            raise Busy
        asked = _Asked(request, line, asyncio.get_running_loop().create_future())
        queue.append(asked)
        if self._life is None or self._life.done():
            self._life = asyncio.create_task(self._live())
        self._take()
        try:
            return await asked.reply
        finally:
            waiting = self._queues.get(request.analyst)
            if waiting and asked in waiting:  # its turn has not come, and so it is free
                waiting.remove(asked)
                if not waiting:
                    del self._queues[request.analyst]
                self._take()

    async def stop(self) -> None:
        """End the process when all that was asked is answered."""
        await self._idle.wait()
        self._stopping = True
        if self._now is not None:
            self._now.writer.close()
        if self._life is not None:
            await self._life
        if self._next is not None:
            await self._next.end()

    async def renew(self, process: Process) -> None:
        """Let a process that was begun take the place of the present one."""
        before, self._next = self._next, process
        if before is not None:
            await before.end()
        self._end_if_calm()

    def _end_if_calm(self) -> None:
        """End a process whose place is to be taken, if all that it has begun is answered."""
        if self._next is not None and self._now is not None and not self._running:
            self._now.writer.close()

    def _take(self) -> None:
        """Take statements to the process while it has a place for them."""
        most = AT_ONCE if self.lasts else 1
        while self._now and not self._next and len(self._running) < most:
            busy = {asked.request.analyst for asked in self._running.values()}
            analyst = next((each for each in self._queues if each not in busy), None)
            if analyst is None:
                break
            asked, number = self._queues[analyst].popleft(), next(self._numbers)
            if not self._queues[analyst]:
                del self._queues[analyst]
            asked.attempts += 1
            self._running[number] = asked
            self._now.writer.write(b"%d %d %b" % (number, analyst in self._lost, asked.line))
            self._seen.add(analyst)
            self._lost.discard(analyst)
        (self._idle.clear if self._running or self._queues else self._idle.set)()

    async def _live(self) -> None:
        """Hand out replies; when a process has ended, begin another, until told to stop."""
        while not self._stopping:
            try:
                if self._now is None:
                    self._now, self._next = self._next or await self.begun(), None
                    self.restarts += 1
            except Exception as error:
                return self._refuse(reportable(error))
            self._take()
            with suppress(OSError, ValueError):
                while not self._stopping and (line := await self._now.reader.readline()):
                    number, _, reply = line.partition(b" ")
                    asked = self._running.pop(int(number))
                    asked.answer(Reply.read(reply))
                    if queue := self._queues.pop(asked.request.analyst, None):
                        self._queues[asked.request.analyst] = queue  # at the end
                    self._take()
                    self._end_if_calm()
            await self._ended()
        return None

    async def begun(self) -> Process:
        """A new process that has opened the policy; raises DpdbError."""
        if not self.lasts:
            raise LedgerError(
                "the budget of this server ends with its process, which cannot be begun anew",
                hint="its owner can start the server again; a budget with a name lasts",
                told=True,
            )
        begun, self.lasts = await begin(self._opening)
        return begun

    async def _ended(self) -> None:
        """Wait for the process to end, and answer those whose statements it had begun."""
        assert self._now is not None
        ended, self._now = self._now, None
        await ended.end()
        self._lost |= self._seen
        running, self._running = self._running, {}
        for asked in reversed(running.values()):
            request = asked.request
            if request.action is Action.EXECUTE or asked.attempts >= ATTEMPTS:
                lost = OutOfResources(_LOST, hint=_LOST_HINT)
                asked.answer(Reply.of_error(request.text, lost, paid=True))
            elif not asked.reply.done():
                self._queues.setdefault(request.analyst, deque()).appendleft(asked)
        self._take()

    def _refuse(self, error: DpdbError) -> None:
        """Tell whoever waits that no process answers."""
        known = isinstance(error, LedgerError)
        shown = error if known else LedgerError(error.message, hint=error.hint)
        for queue in self._queues.values():
            for asked in queue:
                if not asked.reply.done():
                    asked.reply.set_exception(shown)
        self._queues.clear()
        self._take()


_LOST = "the process that answered the statement ended, and nothing of the answer is told"
_LOST_HINT = (
    "a query is charged, or perhaps: SHOW BUDGET says what is left; asked again, an answer that "
    "was kept is free"
)
