"""SELECTs with aggregates or groups over the rows of a table: the queries that are released."""

from __future__ import annotations

from functools import partial

from sqlglot import exp

from dpdb.errors import Unsupported
from dpdb.plan.derived import Derived, Released
from dpdb.plan.expressions import Expr
from dpdb.plan.query import Query
from dpdb.plan.relations import Joined
from dpdb.plan.unit_work import check_rows
from dpdb.policy.records import changed
from dpdb.sql import group_by, sources, unit_groups
from dpdb.sql.arrangement import with_lookups
from dpdb.sql.distinct import check_distinct, distinct_keys
from dpdb.sql.grouping_sets import by_levels
from dpdb.sql.public_keys import with_public_keys
from dpdb.sql.scopes import AnswerExpressions, RowExpressions, condition_in, hint_for_rows
from dpdb.sql.select_binder import SelectBinder
from dpdb.sql.terms import WrittenOption, agreed, counts_only_units, with_key_terms
from dpdb.sql.trees import only, place
from dpdb.sql.unmatched import check_ignored
from dpdb.sql.views import Scope
from dpdb.sql.windowed_answers import over_answer


def table_query(
    tree: exp.Select,
    written: list[str],
    scope: Scope,
    binder: SelectBinder,
    terms: tuple[WrittenOption, ...],
) -> Query | Derived:
    """The query that a SELECT asks of a table; with windows and subtotals, what is made of it."""
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
    """The query of all clauses but QUALIFY, and the condition of that."""
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
