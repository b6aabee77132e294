"""GROUP BY what names a unit, within FROM and WITH: a table with a row for each unit."""

from __future__ import annotations

from sqlglot import exp

from dpdb.errors import Place, StatementError, Unsupported
from dpdb.plan.costs.unit_work import check_rows
from dpdb.plan.expressions.expressions import ColumnRef, Expr, Slot
from dpdb.plan.logical.per_unit import PerUnit, per_unit
from dpdb.plan.logical.query import Output
from dpdb.plan.relations.privacy_ids import THE_UNIT, Name, names_of
from dpdb.plan.relations.relations import Join, Joined, JoinKind, Mark, Relation
from dpdb.policy.catalog import Policy
from dpdb.policy.names import written
from dpdb.sql.aggregates.noise_reports import refuse_intervals
from dpdb.sql.from_clause.arrangement import with_lookups
from dpdb.sql.from_clause.sources import source_of
from dpdb.sql.from_clause.unmatched import check_matched
from dpdb.sql.scopes import group_by
from dpdb.sql.scopes.correlation import scans_of
from dpdb.sql.scopes.scopes import AnswerExpressions, RowExpressions, condition_in
from dpdb.sql.scopes.select_binder import SelectBinder
from dpdb.sql.scopes.views import Scope, View, called
from dpdb.sql.syntax.trees import only, place, substituted


def groups_units(tree: exp.Select, scope: Scope, policy: Policy) -> bool:
    """Whether a key of GROUP BY is a column that names a unit, or a row by its key."""
    group = tree.args.get("group")
    if group is None or scope.view.derived is not None:
        return False
    names = _names(scope, policy)
    return any(_naming(node, tree, scope, names) for node in group.expressions)


def _names(scope: Scope, policy: Policy) -> dict[str, Name]:
    """The names of units and rows that the columns of a SELECT's source stand for."""
    names: dict[str, Name] = {}
    for scan in scans_of(scope):
        names |= names_of(scan, policy)
    return names


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
    names, labels = _names(scope, policy), _labels(outputs)
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


def _labels(outputs: tuple[Output, ...]) -> dict[int, str]:
    """The labels of the aggregates in the statement."""
    named: dict[int, str] = {}
    for output in outputs:
        if isinstance(output.expression, Slot) and output.expression.role == "aggregate":
            named.setdefault(output.expression.index, output.label)
    return named


def _view(table: PerUnit, outputs: tuple[Output, ...], having: Expr | None) -> View:
    def column(leaf: Slot | ColumnRef) -> Expr:
        assert isinstance(leaf, Slot)
        columns = table.key_columns if leaf.role == "key" else table.aggregate_columns
        return ColumnRef(columns[leaf.index])

    columns = tuple((each.label, substituted(each.expression, column)) for each in outputs)
    return View(table, columns, None if having is None else substituted(having, column))


def refuse_single_units(
    keys: tuple[Expr, ...], scope: Scope, policy: Policy, where: Place | None
) -> None:
    """Refuse groups that would each be about one unit."""
    names = _names(scope, policy)
    for key in keys:
        if isinstance(key, ColumnRef) and key.column.name in names and key.column.values is None:
            name, unit = key.column.called, policy.unit
            one = unit if names[key.column.name] == THE_UNIT else f"row of a {unit}"
            raise Unsupported(
                f"{name} names a {one}: each group would be one {one}",
                hint=_twice(name, scope),
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
