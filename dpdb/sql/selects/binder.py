"""The binder: the text of a SELECT into a Query, by an allow-list.

Whatever this room does not name is refused, with its place in the text. Neither the text nor
sqlglot's trees go any further.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace

from sqlglot import exp
from sqlglot.tokenizer_core import Token

from dpdb.errors import TypeMismatch, Unsupported
from dpdb.plan.expressions.expressions import ColumnRef, Expr, Literal, Slot
from dpdb.plan.logical.derived import Derived, derived_query
from dpdb.plan.logical.query import NO_OPTIONS, Options, Ordering, Output, Query
from dpdb.plan.relations.relations import NO_FACTS, Attached, Facts, Lookup
from dpdb.policy.catalog import Policy, changed
from dpdb.records import dataclass
from dpdb.sql.aggregates import windows
from dpdb.sql.aggregates.aggregates import is_aggregated
from dpdb.sql.aggregates.lists import columns
from dpdb.sql.from_clause import sources
from dpdb.sql.from_clause.exact_answers import (
    check_scalar,
    known_value,
    public_list,
    with_exact_rows,
)
from dpdb.sql.scalars.spellings import write_out_ratios
from dpdb.sql.scopes import group_by
from dpdb.sql.scopes.scopes import Answers, Constants
from dpdb.sql.scopes.views import Scope, View
from dpdb.sql.selects import derived_tables, unions
from dpdb.sql.selects.correlated import CorrelatedBinder, is_correlated
from dpdb.sql.selects.derived_tables import are_asked_for, public_rows, single_row
from dpdb.sql.selects.lookups import LookupBinder, check, read_inside
from dpdb.sql.selects.table_queries import groups_units, table_query, unit_view
from dpdb.sql.syntax.options import WrittenOption
from dpdb.sql.syntax.short_forms import with_groups, write_out_semi_joins
from dpdb.sql.syntax.trees import Effort, only, place
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
class Binder:
    """Binds one SELECT; a SELECT within it gets a binder of its own."""

    text: str
    policy: Policy
    tokens: list[Token]
    """The tokens of the whole statement."""
    facts: Facts
    effort: Effort = field(default_factory=Effort)
    """The number of expressions read so far in the whole statement."""
    views: Mapping[str, View] = field(default_factory=dict)
    """The tables that WITH names here."""
    subqueries: list[Query] = field(default_factory=list)
    """The different scalar subqueries read so far in this SELECT."""
    lookups: list[Lookup | Attached] = field(default_factory=list)
    """The lookups and attached tables of EXISTS, IN and correlated subqueries, read so far."""
    rows: bool = False
    """Whether rows of public tables may be asked for, as the answer or as a constant."""

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
        query = bound if isinstance(bound, Query) else self._derived(bound, tree)
        return changed(query, options=options)

    def _derived(self, derived: Derived, tree: exp.Expr) -> Query:
        """The query of all answers that a derived table is computed from, each once."""
        query = derived_query(with_exact_rows(derived, self.facts))
        self.effort.spend_subqueries(query.selects - 1, tree, self.text)
        return query

    def bound(
        self, tree: exp.Expr, terms: tuple[WrittenOption, ...] = (), *, row_by_row: bool = False
    ) -> Query | Derived | View:
        """The bound SELECT: a query of a table, or a table that is derived from answers.

        A SELECT within FROM or WITH may read a table `row_by_row`, and is then a view.
        """
        if isinstance(tree, exp.SetOperation):
            return unions.union(tree, self, row_by_row=row_by_row)
        if not isinstance(tree, exp.Select):
            raise Unsupported("only a SELECT can be a subquery", place=place(tree, self.text))
        written = with_groups(tree, self.labels(tree), self.text)
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
        """The slot of a scalar subquery, which is a constant to the query around it.

        The value of a subquery of public tables is known, and replaces it.
        """
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
        """The value of a scalar subquery for each row of `scope`; None if it is a constant."""
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
        """The column that says whether EXISTS, or IN with its operand, finds a row.

        IN over groups of public rows is one over a list of constants.
        """
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

    def index_of(self, query: Query, node: exp.Expr) -> int:
        """The number of a view's subquery among those of the SELECT, which reads it at `node`."""
        if query not in self.subqueries:
            self.effort.spend(query.size, node, self.text)
            self.effort.spend_subqueries(query.selects, node, self.text)
            self.subqueries.append(query)
        return self.subqueries.index(query)

    def within(self, *, rows: bool = False) -> Binder:
        """A binder for a SELECT within this one, which sees the same tables."""
        views, effort = self.views, self.effort
        return Binder(self.text, self.policy, self.tokens, self.facts, effort, views, rows=rows)

    def labels(self, tree: exp.Select) -> list[str]:
        """The items of the SELECT list as written; refused if one is missing."""
        return labels_of(tree, self.tokens, self.text)

    def check_items(self, tree: exp.Select) -> None:
        """Refuse a SELECT list in which something is missing, or which is too long."""
        self.labels(tree)
        group_by.check_number(tree.expressions, "columns asked for", self.text)

    def outputs(self, tree: exp.Select, answers: Answers, written: list[str]) -> tuple[Output, ...]:
        """The columns of the answer, with their labels as `written`."""
        items = tree.expressions
        group_by.check_number(items, "columns asked for", self.text)
        outputs = []
        for item, label in zip(items, written, strict=True):
            if isinstance(item.this if isinstance(item, exp.Column) else item, exp.Star):
                outputs += answers.starred(item)
                continue
            for column in columns(item, label, self.text):
                expression = answers.expression(column.call)
                if column.name != label:
                    answers.aliases.setdefault(column.name.casefold(), expression)
                outputs.append(Output(column.name, expression))
        return tuple(outputs)

    def orderings(
        self, tree: exp.Select | exp.Union, answers: Answers, outputs: tuple[Output, ...]
    ) -> list[Ordering]:
        """The terms of ORDER BY."""
        order = tree.args.get("order")
        if order is None:
            return []
        only(order, self.text, "expressions")
        group_by.check_number(order.expressions, "terms of ORDER BY", self.text)
        result = []
        for term in group_by.ordering_terms(order, len(outputs), answers.aliases):
            only(term, self.text, "this", "desc", "nulls_first")
            at = group_by.position(term.this, len(outputs), self.text)
            expression = answers.ordering(term.this) if at is None else outputs[at].expression
            descending = bool(term.args.get("desc"))
            result.append(Ordering(expression, descending, bool(term.args.get("nulls_first"))))
        return result

    def count(self, node: exp.Expr | None) -> int | None:
        """The number in LIMIT, OFFSET or FETCH, which fetches one row if it names none."""
        if node is None:
            return None
        written = node.expression
        if isinstance(node, exp.Fetch):
            only(node, self.text, "direction", "count", "limit_options")
            only(node.args.get("limit_options") or exp.LimitOptions(), self.text, "rows")
            written = node.args.get("count") or exp.Literal.number(1)
        else:
            only(node, self.text, "expression")
        value = Constants(self.text, self.effort).expression(written)
        if not (isinstance(value, Literal) and type(value.value) is int and value.value >= 0):
            raise TypeMismatch("a whole number is needed here", place=place(node, self.text))
        return value.value
