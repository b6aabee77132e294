"""The engine and the ledger of a session, and the facts of public tables that planning may know."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import field
from fractions import Fraction
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
    from dpdb.engines.protocol import OpenEngine, Progress, Witness
    from dpdb.ledger.protocol import Ledger
    from dpdb.plan.relations.relations import Source
    from dpdb.policy.catalog import Policy, Table, Value
    from dpdb.vectors.evaluate import Frame


def open_engine(
    policy: Policy, progress: Progress | None = None, witness: Witness | None = None
) -> OpenEngine:
    """An engine that reads each table when it is first asked about it; the witness sees it, too.

    It is imported here: pandas takes longer to import than the prompt to appear.
    """
    if any(table.in_spark for table in policy.tables):
        from dpdb.engines.spark import SparkEngine  # noqa: PLC0415 (optional)

        return SparkEngine(progress, witness, policy.tables)
    if any(table.is_streamed for table in policy.tables):
        from dpdb.engines.streams import StreamEngine  # noqa: PLC0415

        return StreamEngine(progress, witness, policy.tables)
    from dpdb.engines.memory import MemoryEngine  # noqa: PLC0415

    return MemoryEngine(progress, witness, policy.tables)


def open_ledger(policy: Policy, analyst: str | None = None, *, teach: bool = False) -> Ledger:
    """The ledger of the budget that the policy names; without a name, a new one for this session.

    The analyst of a named budget is the user of this process, unless its owner gives another.
    """
    if policy.is_trial:
        return TrialLedger(policy.budget, policy.neighbors)
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
        """The most rows of the table that have the same values in the columns."""
        asked = table, columns
        if asked not in self._known:
            self._known[asked] = most_alike(table, columns, self.witness)
        return self._known[asked]

    def is_told(self, query: object) -> bool:
        """Whether the query is a temporary table, whose noisy rows are told."""
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
