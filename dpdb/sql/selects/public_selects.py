"""SELECTs that no private row enters: rows of public tables, and a SELECT without FROM."""

from __future__ import annotations

from sqlglot import exp

from dpdb.errors import Unsupported
from dpdb.plan.logical.derived import Selection
from dpdb.plan.logical.query import Output, PublicRows
from dpdb.sql.aggregates.aggregates import is_aggregated
from dpdb.sql.from_clause import sources
from dpdb.sql.from_clause.arrangement import with_lookups
from dpdb.sql.scopes.scopes import NoisyRowExpressions
from dpdb.sql.scopes.select_binder import SelectBinder
from dpdb.sql.scopes.views import Scope, View, derived_view
from dpdb.sql.selects.derived_tables import Scalars, check_terms
from dpdb.sql.syntax.options import WrittenOption, agreed
from dpdb.sql.syntax.trees import only, place


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
    """The rows that a SELECT shows, in the order of the file unless it has ORDER BY.

    The order of a join follows from the orders of its tables.
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


def single_row(
    tree: exp.Select, written: list[str], binder: SelectBinder, terms: tuple[WrittenOption, ...]
) -> Selection:
    """The one row that a SELECT without FROM computes from answers.

    It is an aggregate SELECT without GROUP BY over one of the answers: its row is there
    whatever rows the answer has.
    """
    parts = [part for item in tree.expressions for part in item.walk()]
    starred = any(isinstance(item, exp.Star) for item in tree.expressions)
    if starred or not any(isinstance(part, exp.Subquery) for part in parts):
        raise Unsupported(
            "a query reads FROM a table",
            hint="without FROM a SELECT computes with subqueries: (SELECT COUNT(*) FROM t) / 2",
            place=place(tree, binder.text),
        )
    only(tree, binder.text, "expressions", "with_")
    scalars, answers, outputs = _computed(tree, written, binder, constants=True)
    if not scalars.found:  # All subqueries are public: take one of them as an answer.
        scalars, answers, outputs = _computed(tree, written, binder, constants=False)
    first = scalars.found[0]
    check_terms(terms, Scope(derived_view(first), {}, scalars, tree))
    return Selection(
        first, outputs, grouped=True, windows=tuple(answers.windows), scalars=tuple(scalars.found)
    )


def _computed(
    tree: exp.Select, written: list[str], binder: SelectBinder, *, constants: bool
) -> tuple[Scalars, NoisyRowExpressions, tuple[Output, ...]]:
    """The columns of a SELECT, with the subqueries and windows that they are computed from."""
    scalars = Scalars(binder, constants=constants)
    nothing = View(binder.policy.tables[0], ())  # any table will do, as no column is read
    answers = NoisyRowExpressions(scalars, Scope(nothing, {}, scalars, tree))
    return scalars, answers, binder.outputs(tree, answers, written)
