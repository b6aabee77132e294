"""The engine and the ledger of a session, and the facts of public tables that planning may know."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field
from fractions import Fraction
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING

from dpdb.errors import Unsupported, UsageError
from dpdb.ledger.spending import MemoryLedger, TrialLedger
from dpdb.plan.expressions.expressions import Literal
from dpdb.plan.logical.query import Query
from dpdb.plan.relations.relations import Facts
from dpdb.policy.catalog import Kind
from dpdb.policy.numbers import days_of
from dpdb.policy.timestamps import read_timestamp
from dpdb.records import dataclass

if TYPE_CHECKING:
    from dpdb.answers.answer import Answer
    from dpdb.answers.record import Cell
    from dpdb.engines.protocol import CountedValues, Exact, KeyCounts, OpenEngine, Progress, Witness
    from dpdb.ledger.lasting import OpenBook
    from dpdb.ledger.protocol import Ledger, PinnedData
    from dpdb.plan.expressions.expressions import Slot
    from dpdb.plan.physical.plan import Plan
    from dpdb.plan.relations.relations import Source
    from dpdb.policy.catalog import Policy, Table, Value
    from dpdb.vectors.evaluate import Frame
    from dpdb.vectors.vector import AnyVector


def open_engine(
    policy: Policy,
    progress: Progress | None = None,
    witness: Witness | None = None,
    pools: int = 1,
) -> OpenEngine:
    """An engine that reads each table when it is first asked about it; the witness sees it, too.

    `pools` is the number of processes that may have a pool, and share the memory for pools. The
    engine is imported here: pandas takes longer to import than the prompt to appear.
    """
    if any(table.in_spark for table in policy.tables):
        from dpdb.engines.spark import SparkEngine  # noqa: PLC0415 (optional)

        return SparkEngine(progress, witness, policy.tables)
    if any(table.is_streamed for table in policy.tables):
        from dpdb.engines.streams import StreamEngine  # noqa: PLC0415

        return StreamEngine(progress, witness, policy.tables, pools=pools)
    from dpdb.engines.memory import MemoryEngine  # noqa: PLC0415

    return MemoryEngine(progress, witness, policy.tables)


class Backends:
    """The engine, the open book and the public values behind sessions, which can share them.

    A session has backends of its own, unless it is given others. The sessions of a server's
    process have the same: then columns are in memory once, and a charge is read once.

    Sessions take turns at the engine (`_TurnsAtEngine`). The moment at which an answer leaves is
    counted from the beginning of its own statement (`timing.tick`), and so has the turns of others
    that it has waited for in it. What one unit can add to these counts for its tick as what the
    unit can add to its own turn. So the theorem of `timing.tick` holds for it with the sum of
    both as T, given the statements that it has waited for. What remains: which these were, and the
    load of a machine, which statements that leave at once feel as well, follow from when others
    work, and others who measure it for long learn how long that takes.
    """

    def __init__(self, policy: Policy, progress: Progress | None = None, pools: int = 1) -> None:
        """Raises LedgerError where the book of a lasting budget is not to be relied on."""
        self.policy = policy
        self._progress, self._pools = progress, pools
        self._turns = _Turns()
        self._making = Lock()
        self._engine: OpenEngine | None = None
        self._book: OpenBook | None = None
        self._has_ledger = False
        if policy.lasting is not None and not policy.is_trial:
            from dpdb.ledger.lasting import OpenBook  # noqa: PLC0415 (sqlite3)

            self._book = OpenBook.of(policy)
        pinned = self.pinned
        self.known = known = cache(lambda: with_public_values(policy, pinned))
        """The policy with public values."""
        turns = _Turns()
        self.public_engine = cache(
            lambda: _TurnsAtEngine(open_engine(known(), witness=pinned), turns, lambda _: None)
        )
        """An engine for public tables, at which nobody waits for the work on private rows."""

    @property
    def pinned(self) -> PinnedData | None:
        """The data that a lasting budget is for."""
        return None if self._book is None else self._book.pinned

    def ledger(self, analyst: str | None = None) -> Ledger:
        """The ledger of the budget that the policy names; without a name, that of one session.

        The analyst of a named budget is the user of this process, unless its owner gives another.
        """
        if self._book is not None:
            return self._book.ledger(analyst)
        if self._has_ledger:
            raise UsageError(
                "the budget of this policy is for one session", hint="share the session itself"
            )
        self._has_ledger = True
        kind = TrialLedger if self.policy.is_trial else MemoryLedger
        return kind(self.policy.budget, self.policy.neighbors)

    def engine(self, waited: Callable[[float], None]) -> OpenEngine:
        """The engine, made when needed: numpy takes long to import.

        A session's `waited` is told the seconds that one unit can have added to others' turns.
        """
        with self._making:
            if self._engine is None:
                self._engine = open_engine(self.known(), self._progress, self.pinned, self._pools)
        return _TurnsAtEngine(self._engine, self._turns, waited)

    def close(self) -> None:
        """Forget the rows."""
        self._engine = None


@dataclass
class _Turns:
    """The turns at an engine."""

    lock: Lock = field(default_factory=Lock)
    unit_seconds: float = 0.0
    """The seconds that one unit can have added to all turns so far."""


class _TurnsAtEngine:
    """An engine for one session: it computes in turns with the engines of other sessions."""

    def __init__(self, engine: OpenEngine, turns: _Turns, waited: Callable[[float], None]) -> None:
        self._engine, self._turns, self._waited = engine, turns, waited

    @contextmanager
    def _turn(self, plan: Plan | None = None) -> Iterator[None]:
        turns, before = self._turns, self._turns.unit_seconds
        with turns.lock:
            self._waited(turns.unit_seconds - before)
            try:
                yield
            finally:
                turns.unit_seconds += 0.0 if plan is None else plan.work.seconds

    def rows(self, table: Table) -> int:
        """As an engine."""
        with self._turn():
            return self._engine.rows(table)

    def key_counts(self, plan: Plan, slots: Mapping[Slot, AnyVector]) -> KeyCounts:
        """As an engine."""
        with self._turn(plan):
            return self._engine.key_counts(plan, slots)

    def exact(self, plan: Plan, slots: Mapping[Slot, AnyVector]) -> tuple[Exact, ...]:
        """As an engine."""
        with self._turn(plan):
            return self._engine.exact(plan, slots)

    def values(self, plan: Plan, slots: Mapping[Slot, AnyVector]) -> list[CountedValues]:
        """As an engine."""
        with self._turn(plan):
            return self._engine.values(plan, slots)


def with_public_values(policy: Policy, witness: Witness | None = None) -> Policy:
    """The policy with what everybody may know of the rows of its public tables."""
    if not any(table.public for table in policy.tables):
        return policy
    from dpdb.engines.relations.public_values import with_public_values  # noqa: PLC0415 (numpy)

    return with_public_values(policy, witness)


def most_alike(table: Table, columns: tuple[str, ...], witness: Witness | None = None) -> int:
    """The most rows of a public table that have the same values in the columns."""
    from dpdb.engines.relations.public_values import most_alike  # noqa: PLC0415 (numpy)

    return most_alike(table, columns, witness)


def public_frame(
    source: Source, columns: tuple[str, ...], witness: Witness | None = None
) -> tuple[Frame, int]:
    """The rows of public tables, for expressions over these columns, and their number."""
    from dpdb.engines.memory import MemoryEngine  # noqa: PLC0415 (numpy)

    return MemoryEngine(witness=witness).public_rows(source, frozenset(columns))


def check_data(policy: Policy) -> None:
    """Raise DataFileError where a table has rows that its policy says there are not."""
    from dpdb.engines.relations.public_values import check_data  # noqa: PLC0415 (numpy)

    for table in policy.tables:
        check_data(table)


def table_digest(table: Table, key: bytes) -> str:
    """The keyed digest of a table's data, as an engine shows it to its witness."""
    from dpdb.engines.sources.opening import open_source  # noqa: PLC0415 (numpy)

    return open_source(table).digest(key)


LiteralColumns = tuple[tuple[Literal, ...], ...]


@dataclass(frozen=True, repr=False)
class PublicFacts(Facts):
    """Reads a table when something is asked of it, and once."""

    witness: Witness | None
    answers: Callable[[Query], Answer] | None = None
    """Gives the exact answers of queries that read public tables; None where there are none."""
    _known: dict[tuple[Table, tuple[str, ...]], int] = field(default_factory=dict)
    _answered: dict[Query, LiteralColumns] = field(default_factory=dict)
    _told: set[Query] = field(default_factory=set)

    def fan_out(self, table: Table, columns: tuple[str, ...]) -> int:
        asked = table, columns
        if asked not in self._known:
            self._known[asked] = most_alike(table, columns, self.witness)
        return self._known[asked]

    def is_told(self, query: object) -> bool:
        return query in self._told

    def tell(self, query: Query, answer: Answer) -> None:
        """Keep the noisy rows of a temporary table."""
        self._told.add(query)
        self._answered[query] = _literals(answer)

    def rows(self, query: object) -> tuple[tuple[Value | None, ...], ...] | None:
        """The rows of a query, with the values of constants."""
        literals = self._literals(query)
        if literals is None:
            return None
        return tuple(zip(*([each.value for each in column] for column in literals), strict=True))

    def value(self, query: object) -> Literal | None:
        """The value of a query with one column, as a constant; NULL where it has no row."""
        literals = self._literals(query)
        if literals is None:
            return None
        ((*values,),) = literals
        if len(values) > 1:
            raise Unsupported(
                f"a subquery gives one value, and this one has {len(values)} rows",
                hint="a condition on a unique key leaves one, and so does LIMIT 1",
            )
        assert isinstance(query, Query)
        return values[0] if values else Literal(None, query.outputs[0].expression.kind)

    def _literals(self, query: object) -> LiteralColumns | None:
        assert isinstance(query, Query)
        if self.answers is None:
            return None
        if query not in self._answered:
            self._answered[query] = _literals(self.answers(query))
        return self._answered[query]


def _literals(answer: Answer) -> LiteralColumns:
    """The cells of an answer as constants of a query."""
    pairs = zip(answer.cells, answer.kinds, strict=True)
    return tuple(tuple(_literal(cell, kind) for cell in column.cells) for column, kind in pairs)


def _literal(cell: Cell, kind: Kind) -> Literal:
    """A cell of an exact answer as a constant of a query."""
    match cell:
        case str() if kind is Kind.DATE:
            return Literal(days_of(datetime.date.fromisoformat(cell)), kind)
        case str() if kind is Kind.TIMESTAMP:
            return Literal(read_timestamp(cell), kind)
        case None | str() | bool():
            return Literal(cell, kind)
        case int() if kind is Kind.INTEGER:
            return Literal(cell, kind)
    return Literal(Fraction(cell), Kind.NUMBER)
