"""What planning may know of the rows of public tables."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

from dpdb.errors import Unsupported
from dpdb.plan.expressions import Literal
from dpdb.plan.facts import Facts
from dpdb.plan.query import Query
from dpdb.policy.catalog import Kind
from dpdb.policy.numbers import days_of
from dpdb.policy.timestamps import read_timestamp
from dpdb.session.backends import most_alike

if TYPE_CHECKING:
    from dpdb.answers.answer import Answer
    from dpdb.answers.record import Cell
    from dpdb.engines.protocol import Witness
    from dpdb.policy.catalog import Table, Value

LiteralColumns = tuple[tuple[Literal, ...], ...]


@dataclass(frozen=True, repr=False)
class PublicFacts(Facts):
    """Reads a table when something is asked of it, and once."""

    witness: Witness | None
    answers: Callable[[Query], Answer] | None = None
    """Gives the exact answers of queries that read public tables; None where there are none."""
    _known: dict[tuple[Table, tuple[str, ...]], int] = field(default_factory=dict)
    _answered: dict[Query, LiteralColumns] = field(default_factory=dict)

    def fan_out(self, table: Table, columns: tuple[str, ...]) -> int:
        """The most rows of the table that have the same values in the columns."""
        asked = table, columns
        if asked not in self._known:
            self._known[asked] = most_alike(table, columns, self.witness)
        return self._known[asked]

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
                hint="a condition on a key leaves one, and so does LIMIT 1",
            )
        assert isinstance(query, Query)
        return values[0] if values else Literal(None, query.outputs[0].expression.kind)

    def _literals(self, query: object) -> LiteralColumns | None:
        assert isinstance(query, Query)
        if self.answers is None:
            return None
        if query not in self._answered:
            answer = self.answers(query)
            pairs = zip(answer.cells, answer.kinds, strict=True)
            self._answered[query] = tuple(
                tuple(_literal(cell, kind) for cell in column.cells) for column, kind in pairs
            )
        return self._answered[query]


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
