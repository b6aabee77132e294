"""The interface of a SELECT's binder for the modules that bind its parts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from sqlglot import exp

from dpdb.plan.logical.derived import Derived
from dpdb.plan.logical.query import Ordering, Output, Query
from dpdb.plan.relations.relations import Attached, Facts, Lookup
from dpdb.policy.catalog import Policy
from dpdb.sql.scopes.scopes import Answers
from dpdb.sql.scopes.views import SubqueryBinder, View
from dpdb.sql.syntax.options import WrittenOption


class SelectBinder(SubqueryBinder, Protocol):
    """The binder of a SELECT."""

    policy: Policy
    facts: Facts
    views: Mapping[str, View]
    """The tables that WITH names here."""
    subqueries: list[Query]
    lookups: list[Lookup | Attached]

    def within(self, *, rows: bool = False) -> SelectBinder:
        """A binder for a SELECT in FROM or WITH, which sees the same tables.

        With `rows` it may ask for rows of public tables.
        """
        ...

    def bound(
        self, tree: exp.Expr, terms: tuple[WrittenOption, ...] = (), *, row_by_row: bool = False
    ) -> Query | Derived | View:
        """The bound SELECT: a query of a table, or a table that is derived from answers.

        A SELECT within FROM or WITH may read a table `row_by_row`, and is then a view.
        """
        ...

    def check_items(self, tree: exp.Select) -> None:
        """Refuse a SELECT list in which something is missing, or which is too long."""
        ...

    def outputs(self, tree: exp.Select, answers: Answers, written: list[str]) -> tuple[Output, ...]:
        """The columns of the answer, with their labels as `written`."""
        ...

    def orderings(
        self, tree: exp.Select | exp.Union, answers: Answers, outputs: tuple[Output, ...]
    ) -> list[Ordering]:
        """The terms of ORDER BY."""
        ...

    def count(self, node: exp.Expr | None) -> int | None:
        """The number in LIMIT or OFFSET."""
        ...
