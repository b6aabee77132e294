"""The rows of public tables as they are: everybody may know them, so no aggregate is needed."""

from __future__ import annotations

from sqlglot import exp

from dpdb.errors import Unsupported
from dpdb.plan.query import PublicRows
from dpdb.sql import sources
from dpdb.sql.aggregates import is_aggregated
from dpdb.sql.arrangement import with_lookups
from dpdb.sql.scopes import NoisyRowExpressions
from dpdb.sql.select_binder import SelectBinder
from dpdb.sql.terms import WrittenOption, agreed
from dpdb.sql.trees import only, place
from dpdb.sql.views import Scope


def are_asked_for(tree: exp.Select, scope: Scope) -> bool:
    """Whether a SELECT shows rows, and reads public tables and no others."""
    public = all(part.scan.table.public for part in scope.parts) and scope.view.table.public
    return public and not is_aggregated(tree) and not tree.args.get("distinct")


def public_rows(
    tree: exp.Select,
    written: list[str],
    scope: Scope,
    binder: SelectBinder,
    terms: tuple[WrittenOption, ...],
) -> PublicRows:
    """The rows that a SELECT shows, in the order of the file where it gives none.

    Those of several tables are in an order that follows from these.
    """
    only(tree, binder.text, "expressions", "from_", "joins", "where", "order", "limit", "offset",
         "with_")  # fmt: skip
    rows = NoisyRowExpressions(binder, scope)
    source, condition = sources.source_of(tree, scope, rows, binder)
    table = agreed(terms, source, grouped=False)
    outputs = binder.outputs(tree, rows, written)
    order = tuple(binder.orderings(tree, rows, outputs))
    if rows.windows or binder.subqueries:
        raise Unsupported(
            "rows of a public table are shown without windows and noisy subqueries",
            hint="GROUP BY shows the different values of a public table, and how often they occur",
            place=place(tree, binder.text),
        )
    return PublicRows(
        with_lookups(table, binder.lookups, binder.policy, binder.facts),
        outputs,
        aggregates=(),
        where=condition,
        order=order,
        limit=binder.count(tree.args.get("limit")),
        offset=binder.count(tree.args.get("offset")) or 0,
    )
