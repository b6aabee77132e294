"""Scalar subqueries: one noisy number, or the exact value of one that reads public tables alone.

What public tables hold everybody may know, so that such a value is a constant of the query, as if
it had been written there: bounds follow from it, and it costs nothing.
"""

from __future__ import annotations

from sqlglot import exp

from dpdb.errors import Unsupported
from dpdb.plan.derived import Derived, DerivedQuery
from dpdb.plan.derived_columns import is_one_row
from dpdb.plan.expressions import Literal, interval_ends
from dpdb.plan.facts import Facts
from dpdb.plan.query import PublicRows, Query
from dpdb.sql.exact_answers import as_query
from dpdb.sql.scopes import hint_for_rows
from dpdb.sql.trees import place
from dpdb.sql.views import View


def known_value(bound: Query | Derived | View, facts: Facts) -> Literal | None:
    """The value of a subquery that reads public tables alone; None where it reads others."""
    if isinstance(bound, View):
        return None
    query = as_query(bound, facts)
    outputs = query.outputs
    if not query.public or len(outputs) != 1 or interval_ends(outputs[0].expression):
        return None
    return facts.value(query)


def check_scalar(query: Query, node: exp.Subquery, text: str) -> None:
    """Refuse a subquery that may have several values."""
    if isinstance(query, PublicRows):
        raise Unsupported(
            "a query needs an aggregate such as COUNT(*), or a GROUP BY",
            hint=hint_for_rows(query.table),
            place=place(node, text),
        )
    one = len(query.outputs) == 1 and not interval_ends(query.outputs[0].expression)
    if isinstance(query, DerivedQuery):
        one = one and query.derived is not None and is_one_row(query.derived)
    if not one or query.keys or query.having or query.cut:
        raise Unsupported(
            "a subquery gives one value: one aggregate, no GROUP BY, HAVING or LIMIT",
            place=place(node, text),
        )
