"""Names of keys and of owners in policies; names and texts as SQL writes them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dpdb.errors import did_you_mean
from dpdb.records import dataclass


@dataclass(frozen=True)
class Reference:
    """A key column of a table, as another table names it: `orders.id`."""

    table: str
    column: str
    also: tuple[tuple[str, str], ...] = ()
    """For a key of several columns the other pairs: a column here, and the key's column there."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the key, in the order in which they are named."""
        return self.column, *(there for _, there in self.also)

    def __str__(self) -> str:
        return f"{self.table}.{_together(self.columns)}"


@dataclass(frozen=True)
class OwnedBy:
    """A column that names an owner of each row."""

    kind: str
    """The kind of unit; empty in a policy that declares no kinds."""
    column: str
    chain: Reference | None = None
    """The key that the column names a row by: its unit is this row's, too."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The column, and those that name a row together with it."""
        return self.column, *(here for here, _ in (self.chain.also if self.chain else ()))

    def __str__(self) -> str:
        of = f"{self.kind}: " if self.kind else ""
        named = _together(self.columns)
        return f"{of}{named}" if self.chain is None else f"{of}{named} -> {self.chain}"


def _together(columns: Sequence[str]) -> str:
    """Columns as a chain writes them: `id`, or `(product, supplier_id)`."""
    return columns[0] if len(columns) == 1 else f"({', '.join(columns)})"


RESERVED = frozenset((
    "ALL", "ALTER", "AND", "ANY", "AS", "BETWEEN", "CASE", "CONNECT_BY_ROOT", "CREATE", "CROSS",
    "CUBE", "CURRENT_DATE", "CURRENT_TIME", "CURRENT_TIMESTAMP", "CURRENT_USER", "DESCRIBE",
    "DISTINCT", "DROP", "ELSE", "EXCEPT", "FALSE", "FETCH", "FOR", "FROM", "GLOB", "GRANT",
    "HAVING", "IF", "ILIKE", "INNER", "INSERT", "INTERSECT", "INTO", "JOIN", "LATERAL", "LIKE",
    "LIMIT", "LOCK", "NOT", "NOTNULL", "NULL", "OFFSET", "ON", "OR", "OUTER", "PARTITIONED_BY",
    "QUALIFY", "REGEXP", "RETURNING", "REVOKE", "RLIKE", "ROLLBACK", "ROLLUP", "SELECT",
    "STRAIGHT_JOIN", "TABLESAMPLE", "THEN", "TRUE", "UNCACHE", "UNION", "USING", "VALUES", "WHEN",
    "WHERE", "WINDOW", "WITH", "XOR",
))  # fmt: skip
"""The words that mean something else where they stand for a table or a column without quotes."""


def suggestion(name: str, known: Sequence[str], what: str) -> str:
    """A hint with the known name that is closest to `name`; with all names, if none is close."""
    begun = [each for each in known if re.match(rf"{re.escape(name)}\W", each, re.IGNORECASE)]
    if len(begun) == 1:  # `us` of us-employment is typed without quotes
        return f"did you mean {written(begun[0])}?"
    return did_you_mean(name, known, written) or f"{what} are {', '.join(map(written, known))}"


def written(name: str) -> str:
    """The name as SQL has it: in double quotes where it needs them."""
    plain = name.isidentifier() and name.isascii() and name.upper() not in RESERVED
    return name if plain else quoted(name)


def quoted(name: str) -> str:
    """The name in double quotes, as every name can be written."""
    return '"' + name.replace('"', '""') + '"'


def quoted_text(text: str) -> str:
    """The text as a constant, in single quotes."""
    return "'" + text.replace("'", "''") + "'"
