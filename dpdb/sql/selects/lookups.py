"""EXISTS and IN over another table: lookups, each a column of the rows that ask."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from dpdb.errors import Place, Unsupported
from dpdb.plan.expressions.expressions import ColumnRef, Expr, IsNull, Not, columns_of, conjuncts
from dpdb.plan.logical.derived import Derived
from dpdb.plan.logical.query import Query
from dpdb.plan.logical.row_tables import RowUnion
from dpdb.plan.relations.privacy_ids import equal_in_a_row
from dpdb.plan.relations.relations import Attached, Equality, Lookup, Scan
from dpdb.policy.catalog import Policy, Table
from dpdb.records import dataclass
from dpdb.sql.aggregates.aggregates import is_aggregate
from dpdb.sql.from_clause import sources
from dpdb.sql.from_clause.joins import leaf_view, new_leaf
from dpdb.sql.scalars import types
from dpdb.sql.scopes.select_binder import SelectBinder
from dpdb.sql.scopes.views import Scope, SubqueryBinder, View
from dpdb.sql.selects.correlated import (
    Correlated,
    certain_scans_of,
    is_of_one_unit,
    of_one_table,
    scans_of,
    split,
    taken_names,
)
from dpdb.sql.selects.made_lookups import MadeRows, is_made
from dpdb.sql.syntax.trees import only, place

BoundSelect = Query | Derived | View
"""The result of binding a SELECT."""


@dataclass(frozen=True)
class LookupBinder:
    """Binds the lookups of a SELECT."""

    binder: SubqueryBinder
    policy: Policy
    outer: Scope
    """The scope of the SELECT that has the lookup."""
    before: Sequence[Lookup | Attached]
    """The lookups and attached tables that the SELECT has already."""
    inside: SelectBinder
    """The binder of the SELECT that is looked into."""

    def lookup(
        self, node: exp.Exists | exp.In, operand: Expr | None, inner: Scope | BoundSelect
    ) -> Lookup:
        """The lookup of EXISTS, or of IN with its `operand`, in `inner`.

        `inner` is the scope of the subquery, or the bound subquery if it has groups.
        """
        text, tree = self.binder.text, _select(node, self.binder.text)
        where = place(tree, text) or place(node, text)
        if isinstance(self.outer, Correlated):
            raise Unsupported(
                "EXISTS or IN within another is about the rows of the SELECT that it is in",
                hint="join the tables in FROM",
                place=where,
            )
        if operand is not None and len(tree.expressions) != 1:
            raise Unsupported("IN compares with one column", place=where)
        item = None if operand is None else tree.expressions[0]
        value: Expr | None
        taken = taken_names(self.outer) | {each.right.leaf for each in self.before}
        if not isinstance(inner, Scope):
            scan, condition, value = self._of_groups(inner, taken, where)
        elif is_made(tree, inner):
            rows = MadeRows(tree, inner, self.outer, self.inside, taken)
            scan, condition, value = rows.bound(item)
        else:
            scan, condition, value = self._of_one_table(tree, item, inner, taken)
        on, rest = split(condition, scan)
        compared = None
        if operand is not None and value is not None:
            if not all(name.startswith(f"{scan.leaf}.") for name in columns_of(value)):
                raise Unsupported(
                    "IN compares with what is in the rows of its SELECT, and not with a column of"
                    " the rows around",
                    hint="a column that its table does not have is taken from there",
                    place=place(tree.expressions[0], text) or where,
                )
            (left, right), _ = types.unify([operand, value], where)
            compared = left, right
        bound = Lookup(scan, tuple(on), rest, compared)
        if isinstance(scan.table, RowUnion) and scan.table.public and bound.pair_condition:
            raise Unsupported(
                "rows of several public tables are looked up by equalities alone",
                hint="join the public tables in FROM",
                place=where,
            )
        self._check_units(bound, node)
        return bound

    def _of_groups(
        self, bound: BoundSelect, taken: set[str], where: Place | None
    ) -> tuple[Scan, Expr | None, Expr]:
        """A table with a row for each unit, the condition of HAVING, and its first column."""
        if not (isinstance(bound, View) and isinstance(bound.table, Table)):
            raise Unsupported(
                "EXISTS and IN look into rows of tables, and this is an answer",
                hint="what is released is public: ask for it first, and then write the values"
                " that it gives, as in WHERE zip IN (31643, 80127)",
                place=where,
            )
        scan = Scan(bound.table, new_leaf(bound.table, taken))
        view = leaf_view(bound, scan, 0, outer=False)
        return scan, view.where, view.columns[0][1]

    def _of_one_table(
        self, tree: exp.Select, item: exp.Expr | None, inner: Scope, taken: set[str]
    ) -> tuple[Scan, Expr | None, Expr | None]:
        """A table, the condition on its rows and those around, and the value of an item."""
        table = inner.view.table
        assert isinstance(table, Table)
        scan = Scan(table, new_leaf(table, taken))
        _, rows, condition = of_one_table(tree, inner, scan, self.outer, self.binder)
        return scan, condition, None if item is None else rows.expression(item)

    def _check_units(self, lookup: Lookup, node: exp.Exists | exp.In) -> None:
        """Refuse a lookup that would reveal rows of other units."""
        if lookup.right.table.public:
            return
        unit = self.policy.unit

        def of_one_unit(pair: Equality | None) -> bool:
            return pair is not None and is_of_one_unit(pair, self.outer, lookup.right, self.policy)

        around = scans_of(self.outer)
        if any(map(of_one_unit, lookup.on)) or equal_in_a_row(lookup.on, around, lookup.right):
            return
        if not of_one_unit(lookup.compared):
            raise Unsupported(
                f"whether another {unit} has such a row is private",
                hint=f"compare what names the {unit}, too, as in WHERE o.id = c.id; "
                "or ask for a COUNT(*) of its own",
                place=place(node, self.binder.text),
            )
        assert lookup.compared is not None
        if _is_condition(node):
            return
        if not _is_known(lookup.compared[1], lookup):
            raise Unsupported(
                f"a NULL of another {unit} would make NOT IN NULL for all",
                hint="add WHERE … IS NOT NULL to the subquery, or use NOT EXISTS",
                place=place(node, self.binder.text),
            )
        if not self._is_there(lookup.compared[0]):
            raise Unsupported(
                f"whether NOT IN is NULL for a NULL would depend on the rows of every {unit}",
                hint="use NOT EXISTS, with the equality in its WHERE",
                place=place(node, self.binder.text),
            )

    def _is_there(self, expression: Expr) -> bool:
        """Whether a column around is never NULL: it names the unit, or the row by its key."""
        assert isinstance(expression, ColumnRef)
        return any(
            expression.column.name == scan.name(column)
            for scan in certain_scans_of(self.outer)
            for column in scan.table.columns
            if scan.table.names_every_unit
            and (column.name == scan.table.unit or (column.name,) == scan.table.key)
        )


def _select(node: exp.Exists | exp.In, text: str) -> exp.Select:
    """The SELECT of a lookup."""
    query = node.this if isinstance(node, exp.Exists) else node.args["query"]
    tree = query.this if isinstance(query, exp.Subquery) else query
    if not isinstance(tree, exp.Select):
        raise Unsupported("only a SELECT can be a subquery", place=place(node, text))
    return tree


def _is_known(expression: Expr, lookup: Lookup) -> bool:
    """Whether a looked-up column is never NULL: it names the unit, or WHERE leaves NULLs out."""
    assert isinstance(expression, ColumnRef)
    name, table = expression.column.name.removeprefix(f"{lookup.right.leaf}."), lookup.right.table
    if name == table.unit or Not(IsNull(expression)) in conjuncts(lookup.rest):
        return True
    if not isinstance(table, RowUnion):
        return False
    at = [column.name for column in table.columns].index(name)
    return all(Not(IsNull(part.columns[at])) in conjuncts(part.where) for part in table.parts)


def _is_condition(node: exp.Expr) -> bool:
    """Whether NULL means the same as FALSE at the node's place."""
    above = node.parent
    while isinstance(above, (exp.And, exp.Or, exp.Paren)):
        node, above = above, above.parent
    return isinstance(above, (exp.Where, exp.If)) and above.this is node


def check(node: exp.Exists | exp.In, text: str) -> exp.Select:
    """The SELECT of a lookup; refused if it is more than rows under a condition."""
    only(node, text, "this", "query")
    tree = _select(node, text)
    only(tree, text, "expressions", "from_", "joins", "where", "group", "having",
         "distinct")  # fmt: skip
    if tree.args.get("distinct"):  # DISTINCT does not change whether there is a row.
        only(tree.args["distinct"], text)
    if tree.args.get("from_") is None:
        raise Unsupported(
            "EXISTS and IN look into a table, and this SELECT reads FROM none",
            hint="compare with the value itself, as in x = (SELECT …) or x IN (1, 2)",
            place=place(node, text),
        )
    if not tree.args.get("group") and any(map(_has_aggregate, tree.expressions)):
        raise Unsupported(
            "an aggregate always gives a row, so that EXISTS and IN would look at no single one",
            hint="SELECT a column, or 1, under WHERE",
            place=place(node, text),
        )
    return tree


def _has_aggregate(item: exp.Expr) -> bool:
    """Whether an item contains an aggregate outside its subqueries."""
    return any(map(is_aggregate, item.walk(prune=lambda node: isinstance(node, exp.Query))))


def read_inside(tree: exp.Select, inside: SelectBinder) -> Scope | BoundSelect:
    """The scope of a lookup's SELECT; with groups or over answers, the bound SELECT."""
    scope = sources.scope(tree, inside)
    if tree.args.get("group") is None and scope.view.derived is None:
        return scope
    return inside.bound(tree, row_by_row=True)
