"""Exact rows of public tables beside noisy answers, and scalar subqueries.

A released answer and a public table may be known to everybody. So the two are joined on any
condition, and the result is post-processing ([DR14] Proposition 2.1). A scalar subquery that reads
public tables alone is a constant of the query: bounds follow from it, and it costs nothing.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from dpdb.errors import Place, TooLarge, Unsupported
from dpdb.plan.expressions.expressions import Expr, InList, Literal, interval_ends
from dpdb.plan.logical.derived import (
    AnswerJoin,
    Derived,
    DerivedQuery,
    Released,
    Selection,
    UnionAll,
    Values,
    as_derived,
    derived_query,
    is_one_row,
    released,
)
from dpdb.plan.logical.query import Output, PublicRows, Query
from dpdb.plan.relations.relations import Facts
from dpdb.policy.catalog import Kind
from dpdb.sql.scalars import types
from dpdb.sql.scalars.predicates import MAX_LIST
from dpdb.sql.scopes.scopes import hint_for_rows
from dpdb.sql.scopes.views import View, derived_view
from dpdb.sql.syntax.trees import place

MAX_CELLS = 200_000
"""The most cells of public rows that a statement reads beside answers."""


def as_answer(view: View) -> View:
    """A view of public tables as an answer that has its rows; any other view as it is."""
    if view.derived is not None or not view.table.public or view.subqueries:
        return view
    outputs = tuple(Output(name, expression) for name, expression in view.columns)
    return derived_view(Released(PublicRows(view.table, outputs, (), where=view.where)))


def with_exact_rows(derived: Derived, facts: Facts) -> Derived:
    """The derived table with the exact rows of its public queries, if it reads others, too.

    The rows of temporary tables are constants in the same way, so that nothing is drawn anew. If a
    statement reads nothing else, its first one stays the repeat of a query, with its intervals.
    """
    queries = dict.fromkeys(released(derived))
    mixed = not all(query.public for query in queries)
    told = [query for query in queries if facts.is_told(query)]
    first = told[0] if told and all(each.public or each in told for each in queries) else None

    def exact(each: Derived) -> Derived:
        match each:
            case Released(query=query) if query in told:
                return as_derived(query) if query is first else _values(query, facts) or each
            case Released(query=query) if isinstance(query, PublicRows) or (mixed and query.public):
                return _values(query, facts) or each
            case UnionAll(inputs=several):
                return UnionAll(tuple(map(exact, several)))
            case AnswerJoin(left=left, right=right):
                return replace(each, left=exact(left), right=exact(right))
            case Selection(input=below, scalars=scalars):
                return replace(each, input=exact(below), scalars=tuple(map(exact, scalars)))
        return each

    return exact(derived)


def _values(query: Query, facts: Facts) -> Values | None:
    """The rows of a query of public tables."""
    rows = facts.rows(query)
    if rows is None:
        if isinstance(query, PublicRows):
            raise Unsupported("the rows of public tables are not at hand here")
        return None
    columns = Released(query).columns
    if len(rows) * len(columns) > MAX_CELLS:
        raise TooLarge(
            f"{len(rows)} public rows of {len(columns)} columns beside answers, "
            f"{MAX_CELLS} cells are allowed",
            hint="SELECT in FROM takes the columns and the rows that are needed",
        )
    return Values(columns, rows)


def public_list(
    operand: Expr, bound: Query | Derived | View, facts: Facts, where: Place | None
) -> Expr | None:
    """IN over a public SELECT as a list of constants; None if the SELECT is not public."""
    if isinstance(bound, View):
        return None
    query = as_query(bound, facts)
    rows = facts.rows(query) if query.public and len(query.outputs) == 1 else None
    if rows is None:
        return None
    if len(rows) > MAX_LIST:
        raise TooLarge(f"a list of {len(rows)} values, {MAX_LIST} are allowed", place=where)
    kind = query.outputs[0].expression.kind
    (left, *values), _ = types.unify([operand, *(Literal(v, kind) for (v,) in rows)], where)
    constants = {each.value for each in values if isinstance(each, Literal)}
    known = tuple(sorted((value for value in constants if value is not None), key=repr))
    return InList(left, known, None in constants) if constants else Literal(False, Kind.BOOLEAN)


def as_query(bound: Query | Derived, facts: Facts) -> Query:
    """A bound SELECT as a query."""
    return bound if isinstance(bound, Query) else derived_query(with_exact_rows(bound, facts))


def known_value(bound: Query | Derived, facts: Facts) -> Literal | None:
    """The value of a subquery of public tables; None if it reads a private table."""
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
            hint="(SELECT MAX(n) FROM (SELECT y, COUNT(*) AS n FROM t GROUP BY y) AS g) is one",
            place=place(node, text),
        )
