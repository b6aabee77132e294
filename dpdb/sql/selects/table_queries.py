"""SELECTs over tables of rows, and windows over the groups of an answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, replace
from functools import partial

from sqlglot import exp

from dpdb.errors import Unsupported
from dpdb.plan.costs.unit_work import check_rows
from dpdb.plan.expressions.expressions import Expr, Slot, slots
from dpdb.plan.logical.derived import Derived, Released, Selection, Window
from dpdb.plan.logical.query import Ordering, Output, Query
from dpdb.plan.relations.relations import Joined
from dpdb.policy.catalog import changed
from dpdb.records import dataclass
from dpdb.sql.from_clause import sources
from dpdb.sql.from_clause.arrangement import with_lookups
from dpdb.sql.from_clause.public_keys import with_public_keys
from dpdb.sql.from_clause.unmatched import check_ignored
from dpdb.sql.scopes import group_by
from dpdb.sql.scopes.group_by import by_levels, check_distinct, distinct_keys
from dpdb.sql.scopes.scopes import AnswerExpressions, RowExpressions, condition_in, hint_for_rows
from dpdb.sql.scopes.select_binder import SelectBinder
from dpdb.sql.scopes.views import Scope
from dpdb.sql.selects import unit_groups
from dpdb.sql.syntax.options import WrittenOption, agreed, counts_only_units, with_key_terms
from dpdb.sql.syntax.trees import only, place, with_operands

Answering = Callable[[Query], Derived]
"""Makes the derived table of a query's answer, without ORDER BY and LIMIT."""


def over_answer(
    query: Query, windows: tuple[Window, ...], qualify: Expr | None, answering: Answering
) -> Derived:
    """A query with windows over its answer: a Selection over the query without them.

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
        # Last, as the expressions above have added the columns that they read.
        input=answering(replace(query, outputs=answer.outputs, order=(), limit=None, offset=0)),
    )


_OF_ANSWER = ("aggregate", "key", "grouping", "subquery")
"""The roles of the slots that stand for values of an answer."""


@dataclass
class _Answer:
    """The columns of an answer that windows and their neighbours read, collected on the way."""

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
        """A name for a column that is not shown: its functions."""
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


def table_query(
    tree: exp.Select,
    written: list[str],
    scope: Scope,
    binder: SelectBinder,
    terms: tuple[WrittenOption, ...],
) -> Query | Derived:
    """The query of a SELECT over a table; with windows or subtotals, the derived table over it."""
    only(tree, binder.text, "expressions", "from_", "joins", "where", "group", "having",
         "order", "limit", "offset", "with_", "qualify", "distinct")  # fmt: skip
    rows = RowExpressions(binder, scope)
    levels = group_by.levels(tree, scope, rows)
    keys = tuple(dict.fromkeys(key for level in levels for key in level))
    keys = keys or distinct_keys(tree, rows)
    if keys:
        group = place(tree.args.get("group") or tree, binder.text)
        unit_groups.refuse_single_units(keys, scope, binder.policy, group)
    source, condition = sources.source_of(tree, scope, rows, binder)
    table = agreed(terms, source, grouped=bool(tree.args.get("group") or keys))
    scope = changed(scope, view=changed(scope.view, table=table))
    answers = AnswerExpressions(binder, rows, scope, keys)
    query, qualifying = _clauses(tree, written, answers, condition, binder)
    read = place(tree.args["from_"], binder.text)
    if isinstance(query.table, Joined):
        check_ignored(query, read, only_units=counts_only_units(terms))
    check_rows(query.table, read)
    if not (query.aggregates or query.keys):
        raise Unsupported(
            "a query needs an aggregate such as COUNT(*), or a GROUP BY",
            hint=hint_for_rows(query.table),
        )
    if len(levels) <= 1:  # A subtotal counts the rows of keys that are NULL, too.
        query = with_public_keys(query, binder.policy, binder.facts)
    query = with_key_terms(query, terms)
    subtotals = len(levels) > 1 or answers.groupings
    if not (answers.windows or qualifying is not None or subtotals):
        return query
    answering = partial(by_levels, levels=levels, groupings=answers.groupings)
    return over_answer(
        query, tuple(answers.windows), qualifying, answering if subtotals else Released
    )


def _clauses(
    tree: exp.Select,
    written: list[str],
    answers: AnswerExpressions,
    where: Expr | None,
    binder: SelectBinder,
) -> tuple[Query, Expr | None]:
    """The query of all clauses but QUALIFY, and QUALIFY's condition."""
    outputs = binder.outputs(tree, answers, written)
    check_distinct(tree, answers.keys, outputs)
    having = condition_in(tree, "having", answers)
    qualifying = condition_in(tree, "qualify", answers)
    query = Query(
        table=with_lookups(answers.scope.view.table, binder.lookups, binder.policy, binder.facts),
        outputs=outputs,
        where=where,
        keys=answers.keys,
        having=having,
        order=tuple(binder.orderings(tree, answers, outputs)),
        limit=binder.count(tree.args.get("limit")),
        offset=binder.count(tree.args.get("offset")) or 0,
        aggregates=tuple(answers.aggregates),
        subqueries=tuple(binder.subqueries),
    )
    return query, qualifying
