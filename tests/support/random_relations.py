"""Random joins and lookups over the tables of `units`: most are refused, and some answered."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

NUMBERS = {
    "c": ("id", "reg"),
    "o": ("id", "cust", "amt"),
    "l": ("oid", "qty"),
    "b": ("cust", "ref"),
    "r": ("id",),
    "rd": ("id", "day"),
}
"""The columns with numbers, which can all be compared."""
LINKS = {
    ("c", "o"): ("id", "cust"),
    ("c", "b"): ("id", "cust"),
    ("o", "l"): ("id", "oid"),
    ("o", "b"): ("cust", "cust"),
    ("o", "o"): ("cust", "cust"),
    ("l", "l"): ("oid", "oid"),
    ("c", "r"): ("reg", "id"),
    ("c", "rd"): ("reg", "id"),
}
"""Columns that say that two rows are of one customer, or name a public row."""
JOINS = ("JOIN", "JOIN", "LEFT JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN")


def random_read(random: Random) -> str:
    """What stands behind FROM: two or three tables and a condition."""
    tables = [(random.choice(list(NUMBERS)), "t0")]
    text = f"{tables[0][0]} t0"
    for number in range(1, random.randint(2, 3)):
        table = random.choice(list(NUMBERS)), f"t{number}"
        text += f" {random.choice(JOINS)} {table[0]} {table[1]} ON {_on(random, tables, table)}"
        tables.append(table)
    condition = random.choice([_lookup, _lookup, _comparison, None])
    return text if condition is None else f"{text} WHERE {condition(random, tables)}"


def _on(random: Random, before: Sequence[tuple[str, str]], table: tuple[str, str]) -> str:
    """An equality that links the table, most often, and sometimes something else."""
    parts = [_link(random, random.choice(before), table)]
    if random.random() < 0.3:
        parts.append(_comparison(random, [*before, table]))
    return " AND ".join(parts)


def _link(random: Random, one: tuple[str, str], other: tuple[str, str]) -> str:
    if random.random() < 0.8:
        for (left, right), (a, b) in LINKS.items():
            if (one[0], other[0]) == (left, right):
                return f"{one[1]}.{a} = {other[1]}.{b}"
            if (other[0], one[0]) == (left, right):
                return f"{other[1]}.{a} = {one[1]}.{b}"
    return f"{_column(random, [one])} = {_column(random, [other])}"


def _column(random: Random, tables: Sequence[tuple[str, str]]) -> str:
    table, alias = random.choice(tables)
    return f"{alias}.{random.choice(NUMBERS[table])}"


def _comparison(random: Random, tables: Sequence[tuple[str, str]]) -> str:
    other = random.choice([_column(random, tables), "1", "2"])
    return f"{_column(random, tables)} {random.choice(['=', '<>', '<', '>='])} {other}"


def _lookup(random: Random, tables: Sequence[tuple[str, str]]) -> str:
    """EXISTS or IN over another table, or over two that are joined, or within one another."""
    asking, table = random.choice(tables), (random.choice(list(NUMBERS)), "s")
    own = _comparison(random, [table]) if random.random() < 0.5 else "s.rowid > 0"
    where = f"{_link(random, asking, table)} AND {own}".replace(" AND s.rowid > 0", "")
    if random.random() < 0.3:
        where += f" AND {_column(random, [asking])} <> {_column(random, [table])}"
    negated, read = random.choice(["", "NOT "]), f"{table[0]} s"
    if random.random() < 0.3:
        further = random.choice(list(NUMBERS)), "u"
        read += f" {random.choice(['JOIN', 'LEFT JOIN'])} {further[0]} u"
        read += f" ON {_link(random, table, further)}"
        where += f" AND {_comparison(random, [table, further])}" if random.random() < 0.5 else ""
    elif random.random() < 0.3:
        further = random.choice(list(NUMBERS)), "u"
        column = _column(random, [table])
        where += f" AND {column} IN (SELECT {_column(random, [further])} FROM {further[0]} u"
        where += f" WHERE {_link(random, table, further)})" if random.random() < 0.5 else ")"
    if random.random() < 0.5:
        return f"{negated}EXISTS (SELECT 1 FROM {read} WHERE {where})"
    operand, column = _column(random, [asking]), _column(random, [table])
    inner = random.choice([f" WHERE {where}", ""])
    return f"{operand} {negated}IN (SELECT {column} FROM {read}{inner})"
