"""Measure speed and memory, as ratios within one run, and the errors of answers.

    python scripts/bench.py [SECTION]... [--rows N] [--seconds N]

Without arguments, all sections. Nothing here fails for being slow: tables with goals say whether
they are met, and who reads them judges. Times are medians over rounds in which the contestants take
turns, so that what else the machine does falls on all of them alike.

The streams can be of another size: `streams --rows 100000000` takes 2.5 GB in the folder of
temporary files, and some time. So do ten minutes of `serve --seconds 600`.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import bench_accuracy
import bench_joint
import bench_ledger
import bench_loading
import bench_moments
import bench_people
import bench_rows_of_two
import bench_serve
import bench_session
import bench_small
import bench_streams

Section = Callable[[Path, argparse.Namespace], None]
SECTIONS: dict[str, Section] = {
    "small": lambda directory, _: bench_small.run(directory),
    "session": lambda directory, _: bench_session.run(directory),
    "loading": lambda directory, _: bench_loading.run(directory),
    "streams": lambda directory, given: bench_streams.run(directory, given.rows),
    "filling": lambda *_: bench_rows_of_two.filling(),
    "moments": lambda directory, _: bench_moments.run(directory),
    "accuracy": lambda *_: _accuracy(),
    "joint": lambda *_: bench_joint.run(),
    "people": lambda *_: bench_people.run(),
    "ledger": lambda directory, given: bench_ledger.run(directory, given.seconds),
    "serve": lambda directory, given: bench_serve.run(directory, given.seconds),
}


def _accuracy() -> None:
    bench_accuracy.run()
    bench_rows_of_two.run()


def main() -> None:
    """Run the sections named on the command line, or all."""
    parser = argparse.ArgumentParser(description="Measure speed, memory and accuracy.")
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=", ".join(SECTIONS))
    parser.add_argument(
        "--rows", type=int, default=bench_streams.ROWS, help="of the section streams"
    )
    parser.add_argument(
        "--seconds",
        type=float,
        default=bench_serve.SECONDS,
        help="of a row of the sections ledger and serve",
    )
    arguments = parser.parse_args()
    chosen = arguments.sections or list(SECTIONS)
    for name in chosen:
        if name not in SECTIONS:
            parser.error(f"no section {name}; there are {', '.join(SECTIONS)}")
    started = time.perf_counter()
    for name in chosen:
        with tempfile.TemporaryDirectory(prefix="dpdb-bench-") as directory:
            SECTIONS[name](Path(directory), arguments)
    print(f"measured in {time.perf_counter() - started:.0f} s{_busy()}")


def _busy() -> str:
    """A warning where other processes are busy, too, as times then mean little."""
    if not hasattr(os, "getloadavg"):
        return ""
    load, processors = os.getloadavg()[0], os.cpu_count() or 1
    return f", on a busy machine: load {load:.1f}, {processors} processors" * (load > processors)


if __name__ == "__main__":
    main()
