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
from dpdb.session.backends import most_alike

if TYPE_CHECKING:
    from dpdb.answers.answer import Answer
    from dpdb.answers.record import Cell
    from dpdb.engines.protocol import Witness
    from dpdb.policy.catalog import Table


@dataclass(frozen=True, repr=False)
class PublicFacts(Facts):
    """Reads a table when something is asked of it, and once."""

    witness: Witness | None
    answers: Callable[[Query], Answer] | None = None
    """Gives the exact answers of queries that read public tables; None where there are none."""
    _known: dict[tuple[str, tuple[str, ...]], int] = field(default_factory=dict)
    _values: dict[Query, Literal] = field(default_factory=dict)

    def fan_out(self, table: Table, columns: tuple[str, ...]) -> int:
        """The most rows of the table that have the same values in the columns."""
        asked = table.name, columns
        if asked not in self._known:
            self._known[asked] = most_alike(table, columns, self.witness)
        return self._known[asked]

    def value(self, query: object) -> Literal | None:
        """The value of a query with one column, as a constant; NULL where it has no row."""
        assert isinstance(query, Query)
        if self.answers is None:
            return None
        if query not in self._values:
            answer = self.answers(query)
            cells = answer.cells[0].cells if answer.cells else ()
            if len(cells) > 1:
                raise Unsupported(
                    f"a subquery gives one value, and this one has {len(cells)} rows",
                    hint="a condition on a key leaves one, and so does LIMIT 1",
                )
            self._values[query] = _literal(cells[0] if cells else None, answer.kinds[0])
        return self._values[query]


def _literal(cell: Cell, kind: Kind) -> Literal:
    """A cell of an exact answer as a constant of a query."""
    match cell:
        case str() if kind is Kind.DATE:
            return Literal(days_of(datetime.date.fromisoformat(cell)), kind)
        case None | str() | bool():
            return Literal(cell, kind)
        case int() if kind is Kind.INTEGER:
            return Literal(cell, kind)
    return Literal(Fraction(cell), Kind.NUMBER)
