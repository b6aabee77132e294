"""Correlated subqueries: columns shared with the SELECT around, and equalities of units."""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from dpdb.plan.expressions.expressions import (
    ColumnRef,
    Compare,
    Expr,
    columns_of,
    conjunction,
    conjuncts,
)
from dpdb.plan.relations.privacy_ids import Name, names_of
from dpdb.plan.relations.relations import Equality, JoinKind, Scan, certain_scans, scans
from dpdb.policy.catalog import Policy, Table
from dpdb.records import dataclass
from dpdb.sql.scopes.views import Scope


@dataclass(frozen=True)
class Correlated(Scope):
    """The scope of a subquery, whose columns hide those of the SELECT around it."""

    outer: Scope | None = None

    def column(self, node: exp.Column) -> Expr:
        """The column of that name here, or else in the SELECT around."""
        assert self.outer is not None
        qualifier = node.args.get("table")
        here = self.has(node.name) if qualifier is None else qualifier.name.casefold() in self.names
        around = self.outer.has(node.name) if qualifier is None else True
        return self.outer.column(node) if around and not here else super().column(node)


def is_correlated(tree: exp.Select, inner: Scope, outer: Scope) -> bool:
    """Whether WHERE has a column of the SELECT around it."""
    where = tree.args.get("where")
    columns = [] if where is None else where.find_all(exp.Column)
    return any(is_of(column, outer) and not is_of(column, inner) for column in columns)


def is_of(node: exp.Column, scope: Scope) -> bool:
    """Whether the scope has a column of that name."""
    qualifier = node.args.get("table")
    return scope.has(node.name) if qualifier is None else qualifier.name.casefold() in scope.names


def is_of_one_unit(pair: Equality, outer: Scope, scan: Scan, policy: Policy) -> bool:
    """Whether the equality of a row around with a scan's row implies that both are of one unit."""
    around: dict[str, Name] = {}
    for each in scans_of(outer):
        around |= names_of(each, policy)
    match pair:
        case (ColumnRef(column=one), ColumnRef(column=other)):
            name = around.get(one.name)
            return name is not None and name == names_of(scan, policy).get(other.name)
    return False


def taken_names(outer: Scope) -> set[str]:
    """The names that no new leaf may have: those of leaves, and prefixes of columns.

    All columns count, as a condition can read one that no SELECT list has.
    """
    leaves = list(scans_of(outer))
    names = {scan.name(column) for scan in leaves for column in scan.table.columns}
    read = {name for _, each in outer.view.columns for name in columns_of(each)}
    return {scan.leaf for scan in leaves} | {name.partition(".")[0] for name in names | read}


def scans_of(scope: Scope) -> Iterable[Scan]:
    """The tables that a SELECT reads."""
    if scope.parts:
        return [part.scan for part in scope.parts]
    table = scope.view.table
    return [Scan(table)] if isinstance(table, Table) else list(scans(table.relation))


def certain_scans_of(scope: Scope) -> Iterable[Scan]:
    """The tables that every row of the SELECT's source has a row of."""
    if not scope.parts:
        table = scope.view.table
        return [Scan(table)] if isinstance(table, Table) else list(certain_scans(table.relation))
    certain: list[Scan] = []
    for part in scope.parts:
        match part.kind:
            case JoinKind.INNER:
                certain.append(part.scan)
            case JoinKind.FULL:
                certain.clear()
    return certain


def split(condition: Expr | None, scan: Scan) -> tuple[list[Equality], Expr | None]:
    """The equalities between a row and one that is looked up, and the rest of the condition."""
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
    for one, other in ((condition.left, condition.right), (condition.right, condition.left)):
        if reads(one, scan) == {False} and reads(other, scan) == {True}:
            return one, other
    return None


def reads(expression: Expr, scan: Scan) -> set[bool]:
    """{True} for an expression of the scan's columns, {False} for one of others, or both."""
    return {name.startswith(f"{scan.leaf}.") for name in columns_of(expression)}
