"""The binder of a SELECT's parts; whole SELECTs are bound in `selects`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import field, replace
from typing import Self

from sqlglot import exp
from sqlglot.tokenizer_core import Token

from dpdb.errors import TypeMismatch
from dpdb.plan.expressions.expressions import Literal
from dpdb.plan.logical.derived import Derived
from dpdb.plan.logical.query import Ordering, Output, Query
from dpdb.plan.relations.relations import Attached, Facts, Lookup
from dpdb.policy.catalog import Policy
from dpdb.records import dataclass
from dpdb.sql.aggregates.lists import columns
from dpdb.sql.scopes import group_by
from dpdb.sql.scopes.scopes import Answers, Constants
from dpdb.sql.scopes.views import SubqueryBinder, View
from dpdb.sql.syntax.options import Terms
from dpdb.sql.syntax.trees import Effort, only, place
from dpdb.sql.text.tokens import labels_of


@dataclass
class SelectBinder(SubqueryBinder, ABC):
    """Binds the parts of one SELECT; a SELECT within it gets a binder of its own."""

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
    terms: Terms = field(default_factory=dict)

    @abstractmethod
    def bound(self, tree: exp.Expr, *, row_by_row: bool = False) -> Query | Derived | View:
        """The bound SELECT: a query of a table, or a table that is derived from answers.

        A SELECT within FROM or WITH may read a table `row_by_row`, and is then a view.
        """

    def answered(self, tree: exp.Expr) -> Query | Derived:
        """The bound SELECT, which is no view, as it does not stand within FROM or WITH."""
        bound = self.bound(tree)
        assert not isinstance(bound, View)
        return bound

    def within(self, *, rows: bool = False) -> Self:
        """A binder for a SELECT within this one, which sees the same tables.

        With `rows` it may ask for rows of public tables.
        """
        return replace(self, subqueries=[], lookups=[], rows=rows)

    def index_of(self, query: Query, node: exp.Expr) -> int:
        if query not in self.subqueries:
            self.effort.spend(query.size, node, self.text)
            self.effort.spend_subqueries(query.selects, node, self.text)
            self.subqueries.append(query)
        return self.subqueries.index(query)

    def check_items(self, tree: exp.Select) -> None:
        """Refuse a SELECT list in which something is missing, or which is too long."""
        labels_of(tree, self.tokens, self.text)
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
