"""Which engine and which ledger a session gets: nothing else names an implementation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpdb.errors import UsageError
from dpdb.ledger.memory import MemoryLedger

if TYPE_CHECKING:
    from dpdb.engines.protocol import OpenEngine, Progress, Witness
    from dpdb.ledger.protocol import Ledger
    from dpdb.plan.relations import Source
    from dpdb.policy.catalog import Policy, Table
    from dpdb.vectors.evaluate import Frame


def open_engine(
    policy: Policy, progress: Progress | None = None, witness: Witness | None = None
) -> OpenEngine:
    """An engine that reads each table when it is first asked about it; the witness sees it, too.

    It is imported here: pandas takes longer to import than the prompt to appear.
    """
    if any(table.in_spark for table in policy.tables):
        from dpdb.engines.spark.engine import SparkEngine  # noqa: PLC0415 (optional)

        return SparkEngine(progress, witness, policy.tables)
    if any(table.is_streamed for table in policy.tables):
        from dpdb.engines.streams.engine import StreamEngine  # noqa: PLC0415

        return StreamEngine(progress, witness, policy.tables)
    from dpdb.engines.memory.engine import MemoryEngine  # noqa: PLC0415

    return MemoryEngine(progress, witness, policy.tables)


def open_ledger(policy: Policy, analyst: str | None = None, *, teach: bool = False) -> Ledger:
    """The ledger of the budget that the policy names; without a name, a new one for this session.

    The analyst of a named budget is the user of this process, unless its owner gives another.
    """
    if policy.lasting is None:
        return MemoryLedger(policy.budget, policy.neighbors)
    if teach:
        raise UsageError(
            "teaching mode shows rows, and the budget of this policy is meant to last",
            hint="teach with a copy of the policy that names no budget",
        )
    from dpdb.ledger.lasting import LastingLedger  # noqa: PLC0415 (sqlite3)

    return LastingLedger.open(policy, analyst)


def with_public_values(policy: Policy, witness: Witness | None = None) -> Policy:
    """The policy with what everybody may know of the rows of its public tables."""
    if not any(table.public for table in policy.tables):
        return policy
    from dpdb.engines.memory.public_values import with_public_values  # noqa: PLC0415 (numpy)

    return with_public_values(policy, witness)


def most_alike(table: Table, columns: tuple[str, ...], witness: Witness | None = None) -> int:
    """The most rows of a public table that have the same values in the columns."""
    from dpdb.engines.memory.public_values import most_alike  # noqa: PLC0415 (numpy)

    return most_alike(table, columns, witness)


def public_frame(
    source: Source, columns: tuple[str, ...], witness: Witness | None = None
) -> tuple[Frame, int]:
    """The rows of public tables, for expressions over these columns, and their number."""
    from dpdb.engines.memory.engine import MemoryEngine  # noqa: PLC0415 (numpy)

    return MemoryEngine(witness=witness).public_rows(source, frozenset(columns))


def check_data(policy: Policy) -> None:
    """Raise DataFileError where a table has rows that its policy says there are not."""
    from dpdb.engines.memory.public_values import check_data  # noqa: PLC0415 (numpy)

    for table in policy.tables:
        check_data(table)


def table_digest(table: Table, key: bytes) -> str:
    """The keyed digest of a table's data, as an engine shows it to its witness."""
    from dpdb.engines.sources.opening import open_source  # noqa: PLC0415 (numpy)

    return open_source(table).digest(key)
