"""A process of a pool; `pool` says which messages come and go.

Nothing that it prints is shown, and its memory is not written to a file when it crashes. It ends
when the process that began it is gone.
"""

from __future__ import annotations

import resource
import signal
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

# A first task would wait for these.
import dpdb.engines.sources.arrow.readers
import dpdb.engines.statistics.accumulators  # noqa: F401
from dpdb.engines.passes.blocks import keep_freed
from dpdb.engines.passes.pool import Task
from dpdb.engines.sources.protocol import Partition
from dpdb.errors import DpdbError, reportable


def serve(parent: Connection[Any, Any]) -> None:
    """Add partitions until the process that began this one is gone."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # Signals to all processes of a terminal or a service: the other process ends this one.
    for ignored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(ignored, signal.SIG_IGN)
    keep_freed()
    # numpy's warnings about overflow and the like would tell of rows.
    with suppress(EOFError, ConnectionError), np.errstate(all="ignore"):
        parent.send(None)
        while True:
            task = parent.recv()
            while (partition := parent.recv()) is not None:
                parent.send(_added(task, partition))
            parent.send(task.work)


def _added(task: Task[Any], partition: Partition) -> DpdbError | None:
    """Add a partition; returns dpdb's own words for an error, as others could quote a cell."""
    try:
        task.add(partition)
    except Exception as error:
        return reportable(error)
    return None
