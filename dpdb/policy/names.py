"""Names as SQL writes them, and names for the columns that a header lacks or repeats."""

from __future__ import annotations

import datetime
from collections.abc import Sequence

from dpdb.errors import did_you_mean
from dpdb.policy.numbers import exact_number

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


SPACE = " \t\r\n\N{NO-BREAK SPACE}"
"""What may stand around a name in a header."""

_SHOWN = 3


def numbered_name(position: int) -> str:
    """The name of a column that has none, by its position from 1."""
    return f"column_{position}"


def distinct_names(cells: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names that a header's cells give to its columns, and what is to be said of them.

    Names differ in more than case, and have no space around them. An empty cell is `column_` and
    its position; of names that are repeated the second becomes `name_2`, and where that is taken,
    too, the next number that is not.
    """
    cells = [cell.strip(SPACE) for cell in cells]
    taken = {cell.casefold() for cell in cells}
    named: set[str] = set()
    next_number: dict[str, int] = {}
    names: list[str] = []
    unnamed: list[str] = []
    repeated: list[str] = []
    for position, cell in enumerate(cells, 1):
        name = cell or numbered_name(position)
        if name.casefold() in named or (name != cell and name.casefold() in taken):
            name = _free_name(name, taken, next_number)
        if name != cell:
            (repeated if cell else unnamed).append(name)
        taken.add(name.casefold())
        named.add(name.casefold())
        names.append(name)
    remarks = (
        *_remarks(unnamed, "a column has no name", "columns have no name"),
        *_remarks(repeated, "a column has the name of another", "columns have the name of another"),
    )
    return tuple(names), remarks


def _remarks(names: list[str], one: str, many: str) -> list[str]:
    """What to say of columns that are called otherwise than in the header: nothing if none is."""
    if len(names) < 2:
        return [f"{one}: here it is {name}" for name in names]
    shown = ", ".join(names[:_SHOWN]) + (", …" if len(names) > _SHOWN else "")
    return [f"{len(names)} {many}: here they are {shown}"]


def _free_name(name: str, taken: set[str], next_number: dict[str, int]) -> str:
    """The name with the first number from 2 that makes it one that is not taken."""
    folded = name.casefold()
    number = next_number.get(folded, 2)
    while f"{folded}_{number}" in taken:
        number += 1
    next_number[folded] = number + 1
    return f"{name}_{number}"


def look_like_values(cells: Sequence[str]) -> bool:
    """Whether the cells of a header look like those of a row: at least a third are numbers.

    Dates and timestamps count as numbers; years and a column's own position do not, as headers
    have such, too.
    """
    values = sum(_looks_like_value(cell.strip(), at) for at, cell in enumerate(cells))
    return values > 0 and 3 * values >= len(cells)


def _looks_like_value(cell: str, at: int) -> bool:
    number = exact_number(cell)
    if number is not None:
        return number not in (at, at + 1) and not 1500 <= number <= 2200
    try:
        datetime.datetime.fromisoformat(cell)
    except ValueError:
        return False
    return True
