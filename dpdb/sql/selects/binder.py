"""The binder: the text of a SELECT into a Query, by an allow-list.

Whatever this room does not name is refused, with its place in the text. Neither the text nor
sqlglot's trees go any further.

SEMI and ANTI JOIN, HISTOGRAM and APPROX_TOP_COUNT are written out before: `SELECT
APPROX_TOP_COUNT(x, 3) FROM t` is `SELECT x AS value, COUNT(*) AS count FROM t GROUP BY x ORDER BY
count DESC LIMIT 3`, so that the values are chosen by the noisy counts. A HISTOGRAM has all values
but NULL, as in DuckDB.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sqlglot import exp
from sqlglot.tokenizer_core import Token

from dpdb.errors import InvalidOption, Unsupported
from dpdb.plan.expressions.expressions import ColumnRef, Expr, Slot
from dpdb.plan.logical.derived import Derived, Released, as_derived, released
from dpdb.plan.logical.query import NO_OPTIONS, Options, Query
from dpdb.plan.relations.relations import NO_FACTS, Facts
from dpdb.policy.catalog import Policy
from dpdb.records import dataclass
from dpdb.sql.aggregates import windows
from dpdb.sql.aggregates.aggregates import is_aggregated
from dpdb.sql.from_clause import sources
from dpdb.sql.from_clause.exact_answers import as_query, check_scalar, known_value, public_list
from dpdb.sql.scalars.spellings import write_out_deviations, write_out_ratios
from dpdb.sql.scopes.select_binder import SelectBinder
from dpdb.sql.scopes.views import Scope, View, derived_view
from dpdb.sql.selects import derived_tables, unions
from dpdb.sql.selects.correlated import CorrelatedBinder, is_correlated
from dpdb.sql.selects.derived_tables import are_asked_for, public_rows, single_row
from dpdb.sql.selects.lookups import LookupBinder, check, read_inside
from dpdb.sql.selects.table_queries import groups_units, table_query, unit_view
from dpdb.sql.syntax.options import NO_TERMS, Terms
from dpdb.sql.syntax.trees import Effort, only, place, place_at
from dpdb.sql.text.dialect import select_start, select_tree
from dpdb.sql.text.placeholders import Placeholders
from dpdb.sql.text.tokens import column_names, labels_of

NO_TABLES: Mapping[str, Query] = {}
"""No temporary tables."""


def bind(
    tokens: list[Token],
    text: str,
    policy: Policy,
    options: Options = NO_OPTIONS,
    terms: Terms = NO_TERMS,
    *,
    facts: Facts = NO_FACTS,
    placeholders: Placeholders | None = None,
    today: int | None = None,
    temporary: Mapping[str, Query] = NO_TABLES,
) -> Query:
    """The query that these tokens of `text`, a single SELECT, ask of the policy's tables.

    It may also read `temporary` tables, the answers of queries, by their names in small letters.
    The tokens are those of `placeholders` for the parser, where the statement has any.
    """
    tree = select_tree(tokens, text)
    if placeholders is not None:
        placeholders.placed(tree)
        tokens = placeholders.labelled(tokens)
    views = {name: derived_view(Released(each)) for name, each in temporary.items()}
    binder = Binder(text, policy, tokens, facts, Effort(today), views, rows=True, terms=terms)
    query = binder.query(tree, options)
    if unread := terms.keys() - binder.effort.selects:
        raise InvalidOption(_NOT_RELEASED, place=place_at(min(each or 0 for each in unread), text))
    return query


_NOT_RELEASED = "OPTIONS are for a SELECT whose answer gets noise"


@dataclass
class Binder(SelectBinder):
    """Binds one SELECT; a SELECT within it gets a binder of its own."""

    def query(self, tree: exp.Expr, options: Options = NO_OPTIONS) -> Query:
        """The SELECT, or the UNION ALL of several, as a Query."""
        bound = self.answered(tree)
        query = as_query(bound, self.facts)
        if not isinstance(bound, Query):
            self.effort.spend_subqueries(query.selects - 1, tree, self.text)
        return query.with_options(options)

    def bound(self, tree: exp.Expr, *, row_by_row: bool = False) -> Query | Derived | View:
        if isinstance(tree, exp.SetOperation):
            return unions.union(tree, self, row_by_row=row_by_row)
        if not isinstance(tree, exp.Select):
            raise Unsupported("only a SELECT can be a subquery", place=place(tree, self.text))
        terms = self.terms.get(select_start(tree), ())
        written = _with_groups(tree, labels_of(tree, self.tokens, self.text), self.text)
        written = column_names(tree, written) if row_by_row else written
        windows.name_windows(tree, self.text)
        write_out_ratios(tree, self.text)
        write_out_deviations(tree, self.text)
        _write_out_semi_joins(tree, self.text)
        self.views = sources.with_views(tree, self)
        if tree.args.get("from_") is None:
            self.effort.selects.add(select_start(tree))
            return single_row(tree, written, self, terms)
        scope = sources.scope(tree, self)
        if scope.view.derived is not None:
            self.effort.selects.add(select_start(tree))
            return derived_tables.selection(tree, written, scope, self, terms)
        if row_by_row and groups_units(tree, scope, self.policy):
            return unit_view(tree, written, scope, self, self.policy)
        if row_by_row and not is_aggregated(tree):
            return sources.row_view(tree, scope, self)
        self.effort.selects.add(select_start(tree))
        if self.rows and are_asked_for(tree, scope):
            return public_rows(tree, written, scope, self, terms)
        return table_query(tree, written, scope, self, terms)

    def subquery(self, node: exp.Subquery) -> Expr:
        only(node, self.text, "this")
        query = self.within(rows=True).query(node.this)
        if any(map(self.facts.is_told, released(as_derived(query)))):
            raise Unsupported(
                "a temporary table is not compared with rows",
                hint="WITH draws it together with this statement; or write its value",
                place=place(node, self.text),
            )
        if (known := known_value(query, self.facts)) is not None:
            return known
        check_scalar(query, node, self.text)
        if query not in self.subqueries:
            self.subqueries.append(query)
        kind = query.outputs[0].expression.kind
        return Slot("subquery", self.subqueries.index(query), kind)

    def correlated(self, node: exp.Subquery, scope: Scope) -> Expr | None:
        tree = node.this
        source = tree.args.get("from_") if isinstance(tree, exp.Select) else None
        if source is None or not isinstance(source.this, exp.Table) or tree.args.get("with_"):
            return None
        inner = sources.scope(tree, self.within())
        if not is_correlated(tree, inner, scope):
            return None
        asking = CorrelatedBinder(self, self.policy, scope, self.lookups)
        attached, value = asking.value(tree, inner)
        self.lookups.append(attached)
        return value

    def looked_up(self, node: exp.Exists | exp.In, operand: Expr | None, scope: Scope) -> Expr:
        inside = replace(self.within(), subqueries=self.subqueries)
        inner = read_inside(check(node, self.text), inside)
        if operand is not None and not isinstance(inner, Scope):
            known = public_list(operand, inner, self.facts, place(node, self.text))
            if known is not None:
                return known
        asking = LookupBinder(self, self.policy, scope, self.lookups, inside)
        lookup = asking.lookup(node, operand, inner)
        self.lookups.append(lookup)
        return ColumnRef(lookup.column)


_KINDS = ("SEMI", "ANTI")


def _write_out_semi_joins(tree: exp.Select, text: str) -> None:
    """Move the semi joins of a SELECT, and its anti joins, from FROM into WHERE."""
    joins = tree.args.get("joins") or []
    semi_joins = [join for join in joins if join.kind in _KINDS and join.side in ("", "LEFT")]
    # A RIGHT or FULL JOIN may keep rows without a left side, which WHERE would leave out.
    if not semi_joins or any(join.side in ("RIGHT", "FULL") for join in joins):
        return
    tree.set("joins", [join for join in joins if not any(join is each for each in semi_joins)])
    left = tree.args["from_"].this.alias_or_name
    tree.where(*(_lookup(join, left, text) for join in semi_joins), copy=False)


def _lookup(join: exp.Join, left: str, text: str) -> exp.Expr:
    """EXISTS for a semi join, NOT EXISTS for an anti join."""
    only(join, text, "this", "side", "kind", "on", "using")
    condition = exp.Where(this=_condition(join, left, text))
    rows = exp.Select(
        expressions=[exp.Literal.number(1)], from_=exp.From(this=join.this), where=condition
    )
    exists = exp.Exists(this=rows)
    return exists if join.kind == "SEMI" else exp.Not(this=exists)


def _condition(join: exp.Join, left: str, text: str) -> exp.Expr:
    """The condition of a join; within EXISTS an unqualified name would be the inner table's."""
    right = join.this.alias_or_name
    on = join.args.get("on")
    conditions = [_equal(name, left, right) for name in join.args.get("using") or []]
    conditions = conditions if on is None else [on]
    bare = [column for column in on.find_all(exp.Column) if not column.table] if on else []
    if bare or not conditions or not (left and right):
        raise Unsupported(
            f"{join.kind} JOIN needs ON, with every column named by its table, or USING",
            hint="ON a.x = b.y; or WHERE [NOT] EXISTS (SELECT 1 FROM b WHERE b.y = a.x)",
            place=place(bare[0] if bare else join, text),
        )
    return exp.and_(*conditions, copy=False)


def _equal(name: exp.Identifier, left: str, right: str) -> exp.Expr:
    one, other = (exp.column(name.copy(), exp.to_identifier(t, quoted=True)) for t in (left, right))
    return exp.EQ(this=one, expression=other)


_CLAUSES = ("group", "having", "qualify", "order", "limit", "offset", "distinct")


@dataclass(frozen=True)
class _Top:
    """The `number` values with the greatest measures, or all values."""

    value: exp.Expr
    measure: exp.Expr
    name: str
    """The name of the measure."""
    number: exp.Expr | None


def _with_groups(tree: exp.Select, written: list[str], text: str) -> list[str]:
    """Write out APPROX_TOP_COUNT and the like as GROUP BY; the labels of the columns.

    Any other SELECT stays as it is, with the labels as `written`.
    """
    items = tree.expressions
    top = _top(items[0].unalias(), text) if len(items) == 1 else None
    if top is None or any(tree.args.get(clause) for clause in _CLAUSES):
        return written
    prefix = f"{items[0].alias}." if items[0].alias else ""
    names = [f"{prefix}value", f"{prefix}{top.name}"]
    columns = zip((top.value, top.measure), names, strict=True)
    tree.set("expressions", [exp.alias_(part.copy(), name, quoted=True) for part, name in columns])
    tree.set("group", exp.Group(expressions=[top.value.copy()]))
    if top.number is None:
        present = exp.Not(this=exp.Is(this=top.value.copy(), expression=exp.Null()))
        tree.where(present, copy=False)
        return names
    first = exp.Ordered(this=top.measure.copy(), desc=True)
    tree.set("order", exp.Order(expressions=[first]))
    tree.set("limit", exp.Limit(expression=top.number.copy()))
    return names


_COUNT = exp.Count(this=exp.Star())


def _top(node: exp.Expr, text: str) -> _Top | None:
    match node:
        case exp.Anonymous(expressions=[value, number]) if (
            str(node.this).upper() == "APPROX_TOP_COUNT"
        ):
            return _Top(value, _COUNT, "count", number)
        case exp.Anonymous(expressions=[value]) if str(node.this).upper() == "HISTOGRAM":
            return _Top(value, _COUNT, "count", None)
        case exp.ApproxTopK():
            only(node, text, "this", "expression")
            number = node.expression or exp.Literal.number(1)
            return _Top(node.this, _COUNT, "count", number)
        case exp.ApproxTopSum():
            only(node, text, "this", "expression", "count")
            if node.expression is not None and node.args.get("count") is not None:
                return _Top(node.this, exp.Sum(this=node.expression), "sum", node.args["count"])
    return None
