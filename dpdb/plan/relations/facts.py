"""Facts about the rows of public tables, which the planner may use as anybody may."""

from __future__ import annotations

from abc import abstractmethod
from typing import Protocol

from dpdb.errors import Unsupported
from dpdb.plan.expressions.expressions import Literal
from dpdb.policy.catalog import Table, Value


class Facts(Protocol):
    """Facts about the rows of public tables."""

    @abstractmethod
    def fan_out(self, table: Table, columns: tuple[str, ...]) -> int:
        """The most rows of a public table that have the same values, none NULL, in the columns.

        That is the number of its rows where there are no columns.
        """

    @abstractmethod
    def rows(self, query: object) -> tuple[tuple[Value | None, ...], ...] | None:
        """The rows of a query of public tables, exact; None where no table may be read."""

    @abstractmethod
    def value(self, query: object) -> Literal | None:
        """The one value of a query of public tables, exact; None where no table may be read.

        Raises Unsupported where the query has more rows than one.
        """


class _NoFacts(Facts):
    def fan_out(self, table: Table, columns: tuple[str, ...]) -> int:
        named = ", ".join(columns) or "its columns"
        raise Unsupported(
            f"the policy does not say how many rows of {table.name} one row can meet",
            hint=f"declare a key of {table.name}, or at_most for {named}",
        )

    def rows(self, query: object) -> None:
        return None

    def value(self, query: object) -> None:
        return None


NO_FACTS: Facts = _NoFacts()
"""The facts without access to any table: none but the policy."""
