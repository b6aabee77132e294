"""What planning may know of the rows of public tables."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dpdb.plan.stability import Facts
from dpdb.session.backends import most_alike

if TYPE_CHECKING:
    from dpdb.engines.protocol import Witness
    from dpdb.policy.catalog import Table


@dataclass(frozen=True, repr=False)
class PublicFacts(Facts):
    """Reads a table when something is asked of it, and once."""

    witness: Witness | None
    _known: dict[tuple[str, tuple[str, ...]], int] = field(default_factory=dict)

    def fan_out(self, table: Table, columns: tuple[str, ...]) -> int:
        """The most rows of the table that have the same values in the columns."""
        asked = table.name, columns
        if asked not in self._known:
            self._known[asked] = most_alike(table, columns, self.witness)
        return self._known[asked]
