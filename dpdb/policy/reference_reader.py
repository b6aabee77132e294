"""The columns of other tables that a policy file names, as in `orders.id`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dpdb.policy.catalog import Reference
from dpdb.policy.policy_text import PolicyText, shown


@dataclass(frozen=True)
class ReferenceReader:
    """Reads references to the tables of one policy file."""

    text: PolicyText
    tables: dict[str, Any]
    """The section of the tables, as it is written."""

    def reference(self, written: object, where: tuple[str, ...]) -> Reference:
        """The column that is written as `table.column`; a name may have a dot in it, too."""
        if not isinstance(written, str) or "." not in written:
            raise self.text.error(f"{where[-1]} names a column, as in orders.id", where)
        parts = written.split(".")
        for at in range(1, len(parts)):
            table, column = ".".join(parts[:at]), ".".join(parts[at:])
            declared = self.text.section(self.tables, table, ("tables",))
            if column in self.text.section(declared, "columns", ("tables", table)):
                return Reference(table, column)
        raise self.text.error(f"no column {shown(written)} is declared", where)
