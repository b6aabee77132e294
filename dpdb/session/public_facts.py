"""What planning may know of the rows of public tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpdb.plan.stability import Facts

if TYPE_CHECKING:
    from dpdb.engines.protocol import OpenEngine
    from dpdb.policy.catalog import Table


@dataclass(frozen=True, repr=False)
class PublicFacts(Facts):
    """Asks the engine, which is opened when it is first asked."""

    engine: Callable[[], OpenEngine]

    def fan_out(self, table: Table, columns: tuple[str, ...]) -> int:
        """The most rows of the table that have the same values in the columns."""
        assert table.public
        return self.engine().fan_out(table, columns)
