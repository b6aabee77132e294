"""SELECTs over answers and over rows of public tables, and SELECTs without FROM.

Aggregates and GROUP BY over the rows of a table are a release, with noise. The SELECT around it
reads the noisy rows, so it may compute anything that SQL can say. No private row enters a SELECT
of public rows, or one that has subqueries alone.
"""

from __future__ import annotations

from dataclasses import field, replace

from sqlglot import exp

from dpdb.errors import InvalidOption, Unsupported
from dpdb.plan.expressions.expressions import Expr, Slot, slots
from dpdb.plan.logical.derived import ONE_ROW, Derived, Released, Selection, is_one_row
from dpdb.plan.logical.query import Ordering, Output, PublicRows, Query
from dpdb.records import dataclass
from dpdb.sql.aggregates.aggregates import has_aggregate, is_aggregated
from dpdb.sql.from_clause import sources
from dpdb.sql.from_clause.arrangement import with_lookups
from dpdb.sql.from_clause.exact_answers import known_value
from dpdb.sql.scopes import group_by
from dpdb.sql.scopes.scopes import (
    AnswerExpressions,
    Answers,
    NoisyRowExpressions,
    RowExpressions,
    condition_in,
)
from dpdb.sql.scopes.select_binder import SelectBinder
from dpdb.sql.scopes.views import Scope, View, derived_view
from dpdb.sql.syntax.options import WrittenOption, agreed
from dpdb.sql.syntax.trees import only, place

_CLAUSES = (
    "expressions", "from_", "where", "group", "having", "order", "limit", "offset", "with_",
    "qualify", "distinct", "joins",
)  # fmt: skip


@dataclass
class Scalars:
    """Binds the scalar subqueries of a SELECT over answers: they are answers, too."""

    binder: SelectBinder
    found: list[Derived] = field(default_factory=list)
    constants: bool = True
    """Whether the value of a subquery of public tables is a constant, and no answer."""

    def __post_init__(self) -> None:
        self.text = self.binder.text
        self.effort = self.binder.effort

    def subquery(self, node: exp.Subquery) -> Expr:
        """The slot for the value of a scalar subquery, or the value of one of public tables."""
        only(node, self.text, "this")
        bound = self.binder.within(rows=self.constants).answered(node.this)
        known = known_value(bound, self.binder.facts) if self.constants else None
        if known is not None:
            return known
        derived = Released(bound) if isinstance(bound, Query) else bound
        if len(derived.columns) != 1 or not is_one_row(derived):
            raise Unsupported(
                "a subquery gives one value: one column, no GROUP BY, or LIMIT 1",
                place=place(node, self.text),
            )
        if derived not in self.found:
            self.found.append(derived)
        return Slot("scalar", self.found.index(derived), derived.columns[0][1])

    def correlated(self, node: exp.Subquery, scope: Scope) -> Expr | None:
        """A subquery over answers is a constant to the rows around it."""
        return None

    def looked_up(self, node: exp.Exists | exp.In, operand: Expr | None, scope: Scope) -> Expr:
        """EXISTS and IN over answers are refused."""
        raise Unsupported(
            "EXISTS and IN look into tables for their rows, and these are answers",
            hint="look in the SELECT that reads the table",
            place=place(node, self.text),
        )

    def index_of(self, query: Query, node: exp.Expr) -> int:
        """The number of a view's subquery among those of the SELECT around."""
        return self.binder.index_of(query, node)


def selection(
    tree: exp.Select,
    written: list[str],
    scope: Scope,
    binder: SelectBinder,
    terms: tuple[WrittenOption, ...] = (),
) -> Selection:
    """The Selection of a SELECT over a derived table, the view of `scope`."""
    only(tree, binder.text, *_CLAUSES)
    check_terms(terms, scope)
    view, scalars = scope.view, Scalars(binder)
    assert view.derived is not None
    scope = replace(scope, binder=scalars)
    rows = RowExpressions(scalars, scope)
    condition, grouped = condition_in(tree, "where", rows), is_aggregated(tree)
    keys = _keys(tree, scope, rows)
    answers: Answers
    if grouped:
        answers = AnswerExpressions(scalars, rows, scope, keys)
    else:
        answers = NoisyRowExpressions(scalars, scope)
    outputs = binder.outputs(tree, answers, written)
    kept, qualifying = condition_in(tree, "having", answers), condition_in(tree, "qualify", answers)
    order = tuple(binder.orderings(tree, answers, outputs))
    distinct = _is_distinct(tree, outputs, order, binder.text)
    _check_having(kept, answers, tree, binder.text)
    return Selection(
        view.derived,
        outputs,
        where=condition,
        grouped=grouped,
        keys=keys,
        aggregates=tuple(answers.aggregates) if isinstance(answers, AnswerExpressions) else (),
        having=kept,
        windows=tuple(answers.windows),
        qualify=qualifying,
        distinct=distinct,
        order=order,
        limit=binder.count(tree.args.get("limit")),
        offset=binder.count(tree.args.get("offset")) or 0,
        scalars=tuple(scalars.found),
    )


def _check_having(having: Expr | None, answers: Answers, tree: exp.Select, text: str) -> None:
    """Refuse GROUPING, and windows in HAVING, as windows are computed after it."""
    if isinstance(answers, AnswerExpressions) and answers.groupings:
        group = place(tree.args["group"], text)
        raise Unsupported("GROUPING is for the SELECT that reads a table", place=group)
    if having is not None and slots(having, "window"):
        raise Unsupported("a window cannot be in HAVING", hint="conditions on it go into QUALIFY")


def _keys(tree: exp.Select, scope: Scope, rows: RowExpressions) -> tuple[Expr, ...]:
    """The keys of GROUP BY."""
    levels = group_by.levels(tree, scope, rows)
    if len(levels) > 1:
        raise Unsupported(
            "ROLLUP, CUBE and GROUPING SETS are for the SELECT that reads a table",
            hint="UNION ALL joins the answers of several GROUP BY",
            place=place(tree.args["group"], rows.text),
        )
    return levels[0]


def _is_distinct(
    tree: exp.Select, outputs: tuple[Output, ...], order: tuple[Ordering, ...], text: str
) -> bool:
    """Whether the SELECT is DISTINCT; it is then ordered by columns of the answer alone."""
    distinct = tree.args.get("distinct")
    if distinct is None:
        return False
    only(distinct, text)
    if not {each.expression for each in order} <= {each.expression for each in outputs}:
        raise Unsupported(
            "with DISTINCT, ORDER BY takes columns of the answer",
            place=place(tree.args["order"], text),
        )
    return True


def check_terms(terms: tuple[WrittenOption, ...], scope: Scope) -> None:
    """Refuse an option that would change the releases, which are bound already."""
    if agreed(terms, scope.view.table, grouped=True) != scope.view.table:
        raise InvalidOption(
            "this option is for the SELECT that reads a table",
            hint="rows_per_unit in the policy holds for all",
            place=terms[0].place,
        )


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
    if any(isinstance(item, exp.Star) or has_aggregate(item) for item in tree.expressions):
        raise Unsupported(
            "a query reads FROM a table",
            hint="without FROM a SELECT computes with subqueries: (SELECT COUNT(*) FROM t) / 2",
            place=place(tree, binder.text),
        )
    only(tree, binder.text, "expressions", "with_")
    scalars, answers, outputs = _computed(tree, written, binder, constants=True)
    if not scalars.found:  # All subqueries are public: take one of them as an answer.
        scalars, answers, outputs = _computed(tree, written, binder, constants=False)
    first = scalars.found[0] if scalars.found else ONE_ROW
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
