"""A query with windows over its answer, as the query without them and what reads its answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from dpdb.errors import Unsupported
from dpdb.plan.derived import Derived, Selection, Window
from dpdb.plan.expressions import Expr, Slot, slots
from dpdb.plan.query import Ordering, Output, Query
from dpdb.sql.rewriting import with_operands

Answering = Callable[[Query], Derived]
"""Makes the rows of an answer of a query without ORDER BY and LIMIT."""


def over_answer(
    query: Query, windows: tuple[Window, ...], qualify: Expr | None, answering: Answering
) -> Derived:
    """A query with windows over its answer: the query without them, and what reads its answer.

    Each part of a column that has no window in it is a column of the query, so that a column
    without any keeps its intervals.
    """
    if query.having is not None and slots(query.having, "window"):
        raise Unsupported("a window cannot be in HAVING", hint="conditions on it go into QUALIFY")
    answer = _Answer(query)
    return Selection(
        outputs=tuple(
            replace(o, expression=answer.over(o.expression, o.label)) for o in query.outputs
        ),
        windows=tuple(map(answer.window, windows)),
        qualify=None if qualify is None else answer.over(qualify),
        order=tuple(map(answer.ordering, query.order)),
        limit=query.limit,
        offset=query.offset,
        # The columns of the answer are known when all that reads it has been looked at.
        input=answering(replace(query, outputs=answer.outputs, order=(), limit=None, offset=0)),
    )


_OF_ANSWER = ("aggregate", "key", "grouping", "subquery")
"""The roles of the slots that stand for values of an answer."""


@dataclass
class _Answer:
    """The columns of an answer that windows, and what is beside them, are computed from."""

    query: Query
    columns: dict[Expr, Output] = field(default_factory=dict)

    @property
    def outputs(self) -> tuple[Output, ...]:
        """The columns found so far."""
        return tuple(self.columns.values())

    def over(self, expression: Expr, label: str = "") -> Expr:
        """An expression over the query's slots as one over the columns of its answer."""
        if slots(expression, "window"):
            if isinstance(expression, Slot):
                return expression
            return with_operands(expression, lambda part: self.over(part, label))
        if not any(slots(expression, role) for role in _OF_ANSWER):
            return expression
        self.columns.setdefault(expression, Output(label or self._named(expression), expression))
        return Slot("column", [*self.columns].index(expression), expression.kind)

    def _named(self, expression: Expr) -> str:
        """A name for what no column shows: the functions that it is made of."""
        used = sorted(slots(expression, "aggregate"))
        names = dict.fromkeys(self.query.aggregates[index].function.upper() for index in used)
        return ", ".join(names) or "key"

    def ordering(self, ordering: Ordering) -> Ordering:
        """The same term of ORDER BY over the columns of the answer."""
        return replace(ordering, expression=self.over(ordering.expression))

    def window(self, window: Window) -> Window:
        """The same window over the columns of the answer."""
        return replace(
            window,
            arguments=tuple(map(self.over, window.arguments)),
            partition=tuple(map(self.over, window.partition)),
            order=tuple(map(self.ordering, window.order)),
            where=None if window.where is None else self.over(window.where),
        )
