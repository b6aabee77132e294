"""The rows of public tables, alone or joined, for what is computed from each."""

from __future__ import annotations

from dpdb.engines.memory.engine import MemoryEngine
from dpdb.engines.protocol import Witness
from dpdb.plan.relations import Source
from dpdb.vectors.evaluate import Frame


def public_frame(
    source: Source, columns: tuple[str, ...], witness: Witness | None = None
) -> tuple[Frame, int]:
    """The rows of public tables, for expressions over these columns, and their number."""
    assert source.public
    return MemoryEngine(witness=witness).public_rows(source, frozenset(columns))
