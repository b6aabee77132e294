"""dpdb with parts exchanged, for tests: `python -m tests.support.stubbed HOW [arguments]`.

HOW is `noise` (the same noise every time), `endless` (an engine that never comes
to an answer), `busy:SECONDS` (an engine that takes so long, and a tick of a
minute), `late` (imports that take a while, and then say what is to be done
at the end) or `modules:FILE` (write what is imported at the first prompt).
"""

from __future__ import annotations

import math
import random
import sys
import threading
import time
from fractions import Fraction
from pathlib import Path

HOW = sys.argv[1] if len(sys.argv) > 1 else ""


class Repeated:
    """Laplace noise by the inverse of its distribution, from a fixed sequence."""

    private = True

    def __init__(self) -> None:
        self._random = random.Random(3)

    def laplace(self, scale: Fraction, size: int):
        import numpy as np  # noqa: PLC0415 (not in `modules`)

        drawn = [self._random.expovariate(1) - self._random.expovariate(1) for _ in range(size)]
        return np.array([round(float(scale) * x) for x in drawn], dtype=np.int64)

    def below(self, bound: int) -> int:
        return math.floor(self._random.random() * bound)


def exchange() -> None:
    import dpdb.session.session  # noqa: PLC0415
    from dpdb.engines.memory import MemoryEngine  # noqa: PLC0415

    dpdb.session.query_answers.source = lambda _: Repeated()
    if HOW == "endless":
        MemoryEngine.exact = work_for_ever


def work_for_ever(*_: object) -> None:
    print("at work", flush=True)
    while True:  # a signal that comes just before a sleep is only seen when that is over
        time.sleep(0.1)


def keep_busy(seconds: float) -> None:
    from dpdb.engines.memory import MemoryEngine  # noqa: PLC0415
    from dpdb.session.timing import tick  # noqa: PLC0415

    whole = MemoryEngine.exact

    def exact(*arguments):
        print("at work", file=sys.stderr, flush=True)
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            pass
        return whole(*arguments)

    MemoryEngine.exact = exact
    tick.TICK, tick._TICKS_TO_DROP = 60.0, 1e-6


def record_modules(path: Path) -> None:
    from dpdb.interfaces.prompt.shell import Preload  # noqa: PLC0415

    Preload.begin = lambda _: path.write_text("\n".join(sys.modules))


def import_late() -> None:
    """As pandas does, by way of concurrent.futures: once Python ends, it is an error."""
    from dpdb.interfaces.prompt import shell as preload  # noqa: PLC0415

    def import_module(name: str) -> None:
        time.sleep(0.5)
        threading._register_atexit(len, "")  # type: ignore[attr-defined]

    preload.import_module = import_module


if __name__ == "__main__":
    if HOW == "late":
        import_late()
    elif HOW.startswith("modules:"):
        record_modules(Path(HOW.partition(":")[2]))
    elif HOW.startswith("busy:"):
        keep_busy(float(HOW.partition(":")[2]))
    else:
        exchange()
    from dpdb.__main__ import main

    raise SystemExit(main(sys.argv[2:]))
