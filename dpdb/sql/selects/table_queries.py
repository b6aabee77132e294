"""SELECTs over tables of rows: windows over their groups, and groups that name a unit.

GROUP BY a column that names a unit, within FROM and WITH, makes a table with a row for each unit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, replace
from functools import partial

from sqlglot import exp

from dpdb.errors import Place, StatementError, Unsupported
from dpdb.plan.expressions.expressions import ColumnRef, Expr, Literal, Slot, slots
from dpdb.plan.logical.derived import Derived, Released, Selection, Window
from dpdb.plan.logical.per_unit import PerUnit, per_unit
from dpdb.plan.logical.query import Output, Query
from dpdb.plan.relations.privacy_ids import Name, names_in
from dpdb.plan.relations.relations import Join, Joined, JoinKind, Mark, Relation
from dpdb.plan.unit_work import check_rows
from dpdb.policy.catalog import Kind, Policy
from dpdb.policy.names import written
from dpdb.records import changed, dataclass
from dpdb.sql.aggregates.named_arguments import refuse_intervals
from dpdb.sql.from_clause import sources
from dpdb.sql.from_clause.arrangement import with_lookups
from dpdb.sql.from_clause.public_tables import check_ignored, check_matched, with_public_keys
from dpdb.sql.from_clause.sources import source_of
from dpdb.sql.scopes import group_by
from dpdb.sql.scopes.group_by import by_levels, check_distinct, distinct_keys
from dpdb.sql.scopes.scopes import AnswerExpressions, RowExpressions, condition_in, hint_for_rows
from dpdb.sql.scopes.select_binder import SelectBinder
from dpdb.sql.scopes.views import Scope, View, called
from dpdb.sql.selects.correlated import scans_of
from dpdb.sql.syntax.options import WrittenOption, agreed, counts_only_units, with_key_terms
from dpdb.sql.syntax.trees import only, place, substituted, with_operands

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
        windows=tuple(each.over(answer.over) for each in windows),
        qualify=None if qualify is None else answer.over(qualify),
        order=tuple(each.over(answer.over) for each in query.order),
        limit=query.limit,
        offset=query.offset,
        # Last, as the expressions above have added the columns that they read.
        input=answering(
            replace(query, outputs=tuple(answer.columns.values()), order=(), limit=None, offset=0)
        ),
    )


_OF_ANSWER = ("aggregate", "key", "grouping", "subquery")
"""The roles of the slots that stand for values of an answer."""


@dataclass
class _Answer:
    """The columns of an answer that windows and their neighbors read, collected on the way."""

    query: Query
    columns: dict[Expr, Output] = field(default_factory=dict)

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
        refuse_single_units(keys, scope, binder.policy, group)
    source, condition = sources.source_of(tree, scope, rows, binder)
    table = agreed(terms, source, grouped=bool(tree.args.get("group") or keys))
    scope = changed(scope, view=changed(scope.view, table=table))
    answers = AnswerExpressions(binder, rows, scope, keys)
    query, qualifying = _clauses(tree, written, answers, condition, binder)
    if not source.public:
        query = replace(query, minimum_units=binder.policy.minimum_units)
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


def groups_units(tree: exp.Select, scope: Scope, policy: Policy) -> bool:
    """Whether a key of GROUP BY is a column that names a unit, or a row by its key."""
    group = tree.args.get("group")
    if group is None or scope.view.derived is not None:
        return False
    names = names_in(scans_of(scope), policy)
    return any(_naming(node, tree, scope, names) for node in group.expressions)


def _naming(node: exp.Expr, tree: exp.Select, scope: Scope, names: dict[str, Name]) -> bool:
    chosen, items = node.unnest(), tree.expressions
    if isinstance(chosen, exp.Literal):
        at = int(chosen.name) - 1 if chosen.name.isdigit() and len(chosen.name) < 9 else -1
        chosen = items[at].unalias() if 0 <= at < len(items) else chosen
    elif isinstance(chosen, exp.Column) and not called(chosen.name, scope.view.columns):
        alias = chosen.name.casefold()
        chosen = next((i.unalias() for i in items if i.alias.casefold() == alias), chosen)
    if not isinstance(chosen, exp.Column):
        return False
    try:
        key = scope.column(chosen)
    except StatementError:  # reported when the key is bound
        return False
    return isinstance(key, ColumnRef) and key.column.name in names


def unit_view(
    tree: exp.Select, written: list[str], scope: Scope, binder: SelectBinder, policy: Policy
) -> View:
    """The view of a SELECT that groups by what names a unit."""
    where = place(tree, binder.text)
    if tree.args.get("limit") or tree.args.get("offset"):
        raise Unsupported(
            f"LIMIT inside a subquery chooses among the rows of every {policy.unit}",
            hint="leave it to the outer SELECT",
            place=where,
        )
    only(tree, binder.text, "expressions", "from_", "joins", "where", "group", "having", "order",
         "with_")  # fmt: skip
    rows = RowExpressions(binder, scope)
    keys = _key_columns(tree, scope, rows, policy)
    source, condition = source_of(tree, scope, rows, binder)
    check_matched(source, where)
    answers = AnswerExpressions(binder, rows, scope, keys)
    outputs, kept = binder.outputs(tree, answers, written), condition_in(tree, "having", answers)
    asked = [*(each.expression for each in outputs), *(() if kept is None else (kept,))]
    refuse_intervals(asked, policy.unit, where)
    if binder.subqueries:
        raise Unsupported(
            f"a scalar subquery is not compared with the rows of each {policy.unit}",
            hint="write it into the outer SELECT",
            place=where,
        )
    source = with_lookups(source, binder.lookups, policy, binder.facts)
    check_rows(source, where)
    _check_source(source.relation if isinstance(source, Joined) else None, tree, binder)
    names = names_in(scans_of(scope), policy)
    labels: dict[int, str] = {}
    for output in outputs:
        if isinstance(output.expression, Slot) and output.expression.role == "aggregate":
            labels.setdefault(output.expression.index, output.label)
    table = per_unit(
        source,
        condition,
        tuple((key, names.get(key.column.name)) for key in keys),
        tuple((labels.get(at, call.function), call) for at, call in enumerate(answers.aggregates)),
        policy.sample_key,
    )
    return _view(table, outputs, kept)


def _key_columns(
    tree: exp.Select, scope: Scope, rows: RowExpressions, policy: Policy
) -> tuple[ColumnRef, ...]:
    """The columns that GROUP BY names; nothing else can be a key of a unit's groups."""
    levels = group_by.levels(tree, scope, rows)
    plain = tuple(key for key in levels[0] if isinstance(key, ColumnRef))
    if len(levels) > 1 or len(plain) != len(levels[0]):
        raise Unsupported(
            f"groups of each {policy.unit} are by columns",
            hint="a SELECT in FROM can give an expression a name first",
            place=place(tree.args["group"], rows.text),
        )
    return plain


def _check_source(relation: Relation | None, tree: exp.Select, binder: SelectBinder) -> None:
    while isinstance(relation, Mark | Join):
        if isinstance(relation, Join) and relation.kind is JoinKind.FULL:
            raise Unsupported(
                "the rows of a FULL JOIN are not grouped by unit",
                hint="LEFT JOIN keeps the rows of the first table",
                place=place(tree, binder.text),
            )
        relation = relation.left


def _view(table: PerUnit, outputs: tuple[Output, ...], having: Expr | None) -> View:
    def column(leaf: Slot | ColumnRef) -> Expr:
        assert isinstance(leaf, Slot)
        if leaf.role == "grouping":  # There is one level, with all keys.
            return Literal(0, Kind.INTEGER)
        columns = table.key_columns if leaf.role == "key" else table.aggregate_columns
        return ColumnRef(columns[leaf.index])

    columns = tuple((each.label, substituted(each.expression, column)) for each in outputs)
    return View(table, columns, None if having is None else substituted(having, column))


def refuse_single_units(
    keys: tuple[Expr, ...], scope: Scope, policy: Policy, where: Place | None
) -> None:
    """Refuse groups that would each be about one unit."""
    names = names_in(scans_of(scope), policy)
    shared = any(scan.table.kinds for scan in scans_of(scope))
    for key in keys:
        if isinstance(key, ColumnRef) and key.column.name in names and key.column.values is None:
            name, unit = key.column.called, policy.unit
            one = unit if names[key.column.name].is_unit else f"row of a {unit}"
            raise Unsupported(
                f"{name} names a {one}: each group would be one {one}",
                hint="group by a column with declared values" if shared else _twice(name, scope),
                place=where,
            )


def _twice(name: str, scope: Scope) -> str:
    """The hint to aggregate twice, with the statement's own names if it reads one table."""
    key, rows = "customer_id", "orders"
    if isinstance(scope.source, exp.Table) and not scope.parts:
        key, rows = written(name), written(scope.source.name)
    return (  # It is shown, and not run.
        f"aggregate twice: SELECT AVG(n) FROM (SELECT {key}, COUNT(*) AS n"  # noqa: S608
        f" FROM {rows} GROUP BY {key})"
    )
