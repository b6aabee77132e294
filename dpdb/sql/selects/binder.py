"""The binder: the text of a SELECT into a Query, by an allow-list.

Whatever this room does not name is refused, with its place in the text. Neither the text nor
sqlglot's trees go any further.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp
from sqlglot.tokenizer_core import Token

from dpdb.errors import Unsupported
from dpdb.plan.expressions.expressions import ColumnRef, Expr, Slot
from dpdb.plan.logical.derived import Derived
from dpdb.plan.logical.query import NO_OPTIONS, Options, Query
from dpdb.plan.relations.relations import NO_FACTS, Facts
from dpdb.policy.catalog import Policy, changed
from dpdb.records import dataclass
from dpdb.sql.aggregates import windows
from dpdb.sql.aggregates.aggregates import is_aggregated
from dpdb.sql.from_clause import sources
from dpdb.sql.from_clause.exact_answers import (
    as_query,
    check_scalar,
    known_value,
    public_list,
)
from dpdb.sql.scalars.spellings import write_out_ratios
from dpdb.sql.scopes.select_binder import SelectBinder
from dpdb.sql.scopes.views import Scope, View
from dpdb.sql.selects import derived_tables, unions
from dpdb.sql.selects.correlated import CorrelatedBinder, is_correlated
from dpdb.sql.selects.derived_tables import are_asked_for, public_rows, single_row
from dpdb.sql.selects.lookups import LookupBinder, check, read_inside
from dpdb.sql.selects.table_queries import groups_units, table_query, unit_view
from dpdb.sql.syntax.options import WrittenOption
from dpdb.sql.syntax.short_forms import with_groups, write_out_semi_joins
from dpdb.sql.syntax.trees import only, place
from dpdb.sql.text.dialect import select_tree
from dpdb.sql.text.tokens import column_names, labels_of


def bind(
    tokens: list[Token],
    text: str,
    policy: Policy,
    options: Options = NO_OPTIONS,
    terms: tuple[WrittenOption, ...] = (),
    *,
    facts: Facts = NO_FACTS,
) -> Query:
    """The query that these tokens of `text`, a single SELECT, ask of the policy's tables."""
    binder = Binder(text, policy, tokens, facts, rows=True)
    return binder.query(select_tree(tokens, text), options, terms)


@dataclass
class Binder(SelectBinder):
    """Binds one SELECT; a SELECT within it gets a binder of its own."""

    def query(
        self, tree: exp.Expr, options: Options = NO_OPTIONS, terms: tuple[WrittenOption, ...] = ()
    ) -> Query:
        """The SELECT, or the UNION ALL of several, as a Query."""
        bound = self.bound(tree, terms)
        if isinstance(bound, View):
            raise Unsupported(
                "a query needs an aggregate such as COUNT(*), or a GROUP BY",
                hint="single rows are never shown",
            )
        query = as_query(bound, self.facts)
        if not isinstance(bound, Query):
            self.effort.spend_subqueries(query.selects - 1, tree, self.text)
        return changed(query, options=options)

    def bound(
        self, tree: exp.Expr, terms: tuple[WrittenOption, ...] = (), *, row_by_row: bool = False
    ) -> Query | Derived | View:
        if isinstance(tree, exp.SetOperation):
            return unions.union(tree, self, row_by_row=row_by_row)
        if not isinstance(tree, exp.Select):
            raise Unsupported("only a SELECT can be a subquery", place=place(tree, self.text))
        written = with_groups(tree, labels_of(tree, self.tokens, self.text), self.text)
        written = column_names(tree, written) if row_by_row else written
        windows.name_windows(tree, self.text)
        write_out_ratios(tree, self.text)
        write_out_semi_joins(tree, self.text)
        self.views = sources.with_views(tree, self)
        if tree.args.get("from_") is None:
            return single_row(tree, written, self, terms)
        scope = sources.scope(tree, self)
        if scope.view.derived is not None:
            return derived_tables.selection(tree, written, scope, self, terms)
        if row_by_row and groups_units(tree, scope, self.policy):
            return unit_view(tree, written, scope, self, self.policy)
        if row_by_row and not is_aggregated(tree):
            return sources.row_view(tree, scope, self)
        if self.rows and are_asked_for(tree, scope):
            return public_rows(tree, written, scope, self, terms)
        return table_query(tree, written, scope, self, terms)

    def subquery(self, node: exp.Subquery) -> Expr:
        only(node, self.text, "this")
        query = self.within(rows=True).query(node.this)
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
