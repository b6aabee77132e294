"""A process with little memory, which says of each statement how it ended.

`python -m tests.support.limited_memory POLICY MEGABYTES PIECE` reads statements from standard input,
a line each. What is loaded and a first statement come before the limit, which is so much above what
the process then has; a piece has so many bytes.
"""

from __future__ import annotations

import json
import resource
import sys
from pathlib import Path

from dpdb.engines.memory import MemoryEngine
from dpdb.engines.relations import unit_rows
from dpdb.policy.reading.reader import read_policy
from tests.support.exactly import planned, raw_of

PAGE = resource.getpagesize()


def taken() -> int:
    """The bytes of addresses that the process has."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * PAGE


def main(path: str, megabytes: str, piece: str) -> None:
    policy = read_policy(Path(path))
    statements = sys.stdin.read().splitlines()
    unit_rows.PIECE = int(piece)
    engine = MemoryEngine(tables=policy.tables)
    plans = [planned(text, policy) for text in statements]
    for table in policy.tables:
        raw_of(planned(f"SELECT COUNT(*) FROM {table.name}", policy), engine)
        for name in (column.name for column in table.columns):
            engine._loaded(table, frozenset({name}))  # what is loaded is there before
    limit = taken() + (int(megabytes) << 20)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    ended = []
    for each in plans:
        try:
            raw_of(each, engine)
            ended.append("answered")
        except MemoryError:
            ended.append("out of memory")
    print(json.dumps(ended))


if __name__ == "__main__":
    main(*sys.argv[1:])
