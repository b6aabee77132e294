"""The adversary's universe: the values that a query counts, read exactly."""

from __future__ import annotations

from dpdb.errors import Unsupported
from dpdb.lab.risk.worlds import Array
from dpdb.plan.expressions.expressions import Slot
from dpdb.plan.logical.query import NO_OPTIONS, Aggregate, Function, Query
from dpdb.plan.planner import outline
from dpdb.policy.catalog import Policy
from dpdb.session.backends import open_engine
from dpdb.sql.selects.statements import Select, statement


class Universe:
    """The values that queries over one file count, read exactly; the file is read once."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._engine = open_engine(policy)

    def counted_values(self, text: str) -> tuple[Aggregate, Array]:
        """The query's aggregate, and the sorted values that it counts: the universe X."""
        select = statement(text, self._policy)
        if not isinstance(select, Select) or select.explain:
            raise Unsupported("the risk is that of a SELECT")
        _check_shape(select.query)
        [aggregate] = select.query.aggregates
        argument = aggregate.argument
        counts = aggregate.function is Function.COUNT
        if argument is not None and argument.kind.temporal and not counts:
            raise Unsupported("the risk is worked out for numbers, not for dates",
                              place=aggregate.place)  # fmt: skip
        [counted] = self._engine.values(outline(select.query, self._policy), {})
        [values] = counted.cells if counts else counted.cells_or_mean
        return aggregate, values


def _check_shape(query: Query) -> None:
    """Refuse queries with more than one number, and tables where a unit has several rows."""
    bare = [isinstance(o.expression, Slot) and o.expression.role == "aggregate"
            for o in query.outputs]  # fmt: skip
    refused = {
        "GROUP BY": bool(query.keys),
        "a subquery": bool(query.subqueries),
        "HAVING": query.having is not None,
        "ORDER BY, LIMIT or OFFSET": query.cut,
        "OPTIONS": query.options != NO_OPTIONS,
        "more or less than one aggregate, by itself,": bare != [True],
        "units of several rows": query.table.rows_per_unit > 1,
    }
    for name, present in refused.items():
        if present:
            raise Unsupported(f"the risk is not worked out for queries with {name}",
                              hint="SELECT AVG(column) FROM table WHERE …")  # fmt: skip
