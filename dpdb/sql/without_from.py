"""A SELECT without FROM: one row, computed from the values of scalar subqueries."""

from __future__ import annotations

from sqlglot import exp

from dpdb.errors import Unsupported
from dpdb.plan.derived import Selection
from dpdb.plan.query import Output
from dpdb.sql.derived_tables import Scalars, check_terms
from dpdb.sql.scopes import NoisyRowExpressions
from dpdb.sql.select_binder import SelectBinder
from dpdb.sql.terms import WrittenOption
from dpdb.sql.trees import only, place
from dpdb.sql.views import Scope, View, derived_view


def single_row(
    tree: exp.Select, written: list[str], binder: SelectBinder, terms: tuple[WrittenOption, ...]
) -> Selection:
    """The one row that a SELECT without FROM computes from answers.

    It is a SELECT without GROUP BY over one of them: as that of an aggregate its row is there
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
    if not scalars.found:  # Then all subqueries are about public tables, and one is an answer.
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
    nothing = View(binder.policy.tables[0], ())  # without columns it is the same for each table
    answers = NoisyRowExpressions(scalars, Scope(nothing, {}, scalars, tree))
    return scalars, answers, binder.outputs(tree, answers, written)
