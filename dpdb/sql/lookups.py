"""EXISTS and IN over another table: lookups, each a column of the rows that ask."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sqlglot import exp

from dpdb.errors import Unsupported
from dpdb.plan.expressions import (
    ColumnRef,
    Compare,
    Expr,
    IsNull,
    Not,
    columns_of,
    conjunction,
    conjuncts,
)
from dpdb.plan.relations import Attached, Equality, Lookup, Scan, scans
from dpdb.plan.stability import Name, names_of
from dpdb.policy.catalog import Policy, Table
from dpdb.sql import types
from dpdb.sql.aggregates import is_aggregate
from dpdb.sql.joins import leaf_view, new_leaf
from dpdb.sql.scopes import RowExpressions
from dpdb.sql.trees import only, place
from dpdb.sql.views import Scope, SubqueryBinder


@dataclass(frozen=True)
class Correlated(Scope):
    """The scope of a subquery, whose columns hide those of the SELECT around it."""

    outer: Scope | None = None

    def column(self, node: exp.Column) -> Expr:
        """The column that is named here, or else in the SELECT around."""
        assert self.outer is not None
        qualifier = node.args.get("table")
        here = self.has(node.name) if qualifier is None else qualifier.name.casefold() in self.names
        around = self.outer.has(node.name) if qualifier is None else True
        return self.outer.column(node) if around and not here else super().column(node)


@dataclass(frozen=True)
class LookupBinder:
    """Binds the lookups of a SELECT."""

    binder: SubqueryBinder
    policy: Policy
    outer: Scope
    """What the SELECT reads that asks."""
    before: Sequence[Lookup | Attached]
    """The lookups that it has already."""

    def lookup(self, node: exp.Exists | exp.In, operand: Expr | None, inner: Scope) -> Lookup:
        """What EXISTS, or IN with its `operand`, looks for in the table of `inner`."""
        text, tree = self.binder.text, _select(node, self.binder.text)
        where = place(tree, text) or place(node, text)
        table = inner.view.table
        several = isinstance(self.outer, Correlated) or inner.parts or inner.view.derived
        if several or not isinstance(table, Table):
            raise Unsupported(
                "EXISTS and IN look into one table", hint="join the others in FROM", place=where
            )
        taken = taken_names(self.outer) | {each.right.leaf for each in self.before}
        scan = Scan(table, new_leaf(table, taken))
        view = leaf_view(inner.view, scan, 0, outer=False)
        names = dict.fromkeys(inner.names, view.columns)
        scope = Correlated(view, names, self.binder, tree, outer=self.outer)
        rows, own = RowExpressions(self.binder, scope), tree.args.get("where")
        asked = rows.condition(own.this) if own is not None else None
        on, rest = split(conjunction(scope.condition(view.where), asked), scan)
        compared = None
        if operand is not None:
            if len(tree.expressions) != 1:
                raise Unsupported("IN compares with one column", place=where)
            (left, right), _ = types.unify([operand, rows.expression(tree.expressions[0])], where)
            compared = left, right
        found = Lookup(scan, tuple(on), rest, compared)
        self._check_units(found, node)
        return found

    def _check_units(self, found: Lookup, node: exp.Exists | exp.In) -> None:
        """Refuse what would tell of other units' rows."""
        if found.right.table.public:
            return
        unit = self.policy.unit

        def of_one_unit(pair: Equality | None) -> bool:
            return pair is not None and is_of_one_unit(pair, self.outer, found.right, self.policy)

        if any(map(of_one_unit, found.on)):
            return
        if not of_one_unit(found.compared):
            raise Unsupported(
                f"whether another {unit} has such a row is private",
                hint=f"compare what names the {unit}, too, as in WHERE o.id = c.id; "
                "or ask for a COUNT(*) of its own",
                place=place(node, self.binder.text),
            )
        assert found.compared is not None
        if not _is_known(found.compared[1], found) and not _is_condition(node):
            raise Unsupported(
                f"a NULL of another {unit} would make NOT IN NULL for all",
                hint="add WHERE … IS NOT NULL to the subquery, or use NOT EXISTS",
                place=place(node, self.binder.text),
            )


def _select(node: exp.Exists | exp.In, text: str) -> exp.Select:
    """The SELECT of a lookup."""
    query = node.this if isinstance(node, exp.Exists) else node.args["query"]
    tree = query.this if isinstance(query, exp.Subquery) else query
    if not isinstance(tree, exp.Select):
        raise Unsupported("only a SELECT can be a subquery", place=place(node, text))
    return tree


def is_of_one_unit(pair: Equality, outer: Scope, scan: Scan, policy: Policy) -> bool:
    """Whether the equality of a row around with one of a scan says that they are of one unit."""
    around: dict[str, Name] = {}
    for each in scans_of(outer):
        around |= names_of(each, policy)
    match pair:
        case (ColumnRef(column=one), ColumnRef(column=other)):
            name = around.get(one.name)
            return name is not None and name == names_of(scan, policy).get(other.name)
    return False


def taken_names(outer: Scope) -> set[str]:
    """What a new leaf may not be called: the leaves, and first parts of the names of columns."""
    names = {name for _, each in outer.view.columns for name in columns_of(each)}
    return {scan.leaf for scan in scans_of(outer)} | {name.partition(".")[0] for name in names}


def scans_of(scope: Scope) -> Iterable[Scan]:
    """The tables that a SELECT reads."""
    if scope.parts:
        return [part.scan for part in scope.parts]
    table = scope.view.table
    return [Scan(table)] if isinstance(table, Table) else list(scans(table.relation))


def split(condition: Expr | None, scan: Scan) -> tuple[list[Equality], Expr | None]:
    """The equalities of a row with one that is looked up, and what else is asked."""
    on, rest = [], []
    for each in conjuncts(condition):
        equality = _equality(each, scan)
        if equality is None:
            rest.append(each)
        else:
            on.append(equality)
    return on, conjunction(*rest)


def _equality(condition: Expr, scan: Scan) -> Equality | None:
    if not (isinstance(condition, Compare) and condition.operator == "="):
        return None
    for one, other in (
        (condition.left, condition.right),
        (condition.right, condition.left),
    ):
        if reads(one, scan) == {False} and reads(other, scan) == {True}:
            return one, other
    return None


def reads(expression: Expr, scan: Scan) -> set[bool]:
    """Whether the columns that an expression reads are the scan's, or not."""
    return {name.startswith(f"{scan.leaf}.") for name in columns_of(expression)}


def _is_known(expression: Expr, found: Lookup) -> bool:
    """Whether it is never NULL: it names the unit, or the rows with NULL are left out."""
    assert isinstance(expression, ColumnRef)
    name = expression.column.name.removeprefix(f"{found.right.leaf}.")
    known = Not(IsNull(expression))
    return name == found.right.table.unit or known in conjuncts(found.rest)


def _is_condition(node: exp.Expr) -> bool:
    """Whether NULL means the same as FALSE where it stands."""
    above = node.parent
    while isinstance(above, (exp.And, exp.Or, exp.Paren)):
        node, above = above, above.parent
    return isinstance(above, (exp.Where, exp.If)) and above.this is node


def check(node: exp.Exists | exp.In, text: str) -> exp.Select:
    """The SELECT of a lookup; refused if it is more than rows under a condition."""
    only(node, text, "this", "query")
    tree = _select(node, text)
    if tree.args.get("group") is not None:
        raise Unsupported(
            "EXISTS and IN look for single rows, and not for groups",
            hint="JOIN (SELECT … GROUP BY …) AS t ON … in FROM",
            place=place(tree, text) or place(node, text),
        )
    only(tree, text, "expressions", "from_", "joins", "where")
    if any(is_aggregate(part) for item in tree.expressions for part in item.walk()):
        raise Unsupported(
            "an aggregate always gives a row, so that EXISTS and IN would look at no single one",
            hint="SELECT a column, or 1, under WHERE",
            place=place(node, text),
        )
    return tree
