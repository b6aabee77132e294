"""Random expressions over all functions, operators and casts, and rows of hostile values for them."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

from dpdb.errors import TypeMismatch
from dpdb.plan.expressions.expressions import Expr
from dpdb.policy.catalog import Column, Kind, Policy, Table
from dpdb.sql.selects.statements import Select, statement
from dpdb.vectors.evaluate import Frame
from tests.support.brute import read_cells

LIMIT = Fraction(2**53)
COLUMNS = (
    Column("i", Kind.INTEGER),
    Column("k", Kind.INTEGER, -LIMIT, LIMIT, nullable=False),
    Column("j", Kind.INTEGER, Fraction(-3), Fraction(7), values=(7, 0, -3, 1)),
    Column("n", Kind.NUMBER, Fraction(-100), Fraction(100), step=Fraction(1, 100)),
    Column("f", Kind.NUMBER),
    Column("b", Kind.BOOLEAN),
    Column("t", Kind.TEXT),
    Column("s", Kind.TEXT, values=("a", "B", "10%"), nullable=False),
    Column("d", Kind.DATE),
    Column("p", Kind.TIMESTAMP),
    Column("q", Kind.TIMESTAMP, step=Fraction(10**6)),
)
CELLS = {
    "i": "0 -1 5 9007199254740992 -9007199254740991 9007199254740993 9223372036854775808",
    "k": "0 -1 5 9007199254740992 -9007199254740991 9007199254740993 9223372036854775808",
    "j": "7 0 -3 1 2",
    "n": "0 -0.0 -0.01 99.99 33.33 0.5 -2.5",
    "f": "-0.0 5e-324 -5e-324 1e300 -1e300 1.7e308 0.1 9007199254740993 9223372036854775808 2.5",
    "b": "true false",
    "t": "a A 5 -0.0 2.5 1e300 true 2020-02-29 2020-02-29T12:00:00Z É ß 9007199254740993 aXb",
    "s": "a B 10%",
    "d": "1970-01-01 2020-02-29 0001-01-01 9999-12-31",
    "p": "1970-01-01T00:00:00 2020-02-29T23:59:59.999999 1700-01-01 2199-12-31T23:59:59.999999 soon"
    " 1969-12-31T23:59:59.999999Z 2020-03-01T00:59:59.999999+01:00 9999-12-31 2020-02-30T00:00:00",
    "q": "1970-01-01T00:00:00.5 1969-12-31T23:59:59.5 1700-01-01T00:00+14:00 2199-12-31T23:59:59.9",
}
CONSTANTS = [
    "0", "1", "-1", "0.5", "2.5", "-0.0", "5e-324", "1e300", "9007199254740991",
    "9007199254740992", "9007199254740993", "9223372036854775808", "(0.0 * -1)",
    "NULLIF(1, 1)", "365",
]  # fmt: skip
ROWS = 16
SHAPES = {
    "number": [
        *[f"({{number}} {sign} {{number}})" for sign in "+-*/%"],
        *[f"{name}({{number}})" for name in ("ABS", "FLOOR", "CEIL", "ROUND", "-")],
        "ROUND({number}, 2)", "ROUND({number}, -3)", "LEAST({number}, {number}, {number})",
        "GREATEST({number}, {number})", "CLAMP({number}, -5, {number})",
        "COALESCE({number}, {number})", "COALESCE({number}, {number}, {number})",
        "NULLIF({number}, {number})", "CASE WHEN {truth} THEN {number} ELSE {number} END",
        "CASE {text} WHEN {text} THEN {number} END", "IF({truth}, {number}, {number})",
        "LENGTH({text})", "({date} - {date})", "CAST({number} AS INTEGER)",
        "CAST({text} AS NUMBER)", "CAST({text} AS INTEGER)", "CAST({truth} AS INTEGER)",
        "CAST({truth} AS NUMBER)", "CAST({date} AS INTEGER)",
        *[f"{name}({{number}})" for name in ("SQRT", "CBRT", "EXP", "LN", "LOG2", "SIN", "TAN")],
        *[f"{name}({{number}})" for name in ("ASIN", "ACOS", "ATAN", "TRUNC", "SIGN")],
        "POWER({number}, {number})", "ATAN2({number}, {number})", "POSITION('a' IN {text})",
        *[f"{name}({{date}})" for name in ("YEAR", "QUARTER", "MONTH", "WEEK", "DAYOFYEAR")],
        "DATE_DIFF('month', {date}, {date})", "DATE_DIFF('hour', {moment}, {moment})",
        *[f"{name}({{moment}})" for name in ("YEAR", "WEEK", "HOUR", "MINUTE", "SECOND", "EPOCH")],
        "TIMESTAMP_DIFF({moment}, {moment}, MINUTE)", "EXTRACT(EPOCH FROM {moment} - {moment})",
    ],
    "text": [
        "LOWER({text})", "UPPER({text})", "SUBSTR({text}, 2)", "SUBSTR({text}, -1, 3)",
        "COALESCE({text}, {text})", "NULLIF({text}, {text})", "IF({truth}, {text}, {text})",
        "CASE WHEN {truth} THEN {text} END", "CAST({number} AS TEXT)", "CAST({number} AS TEXT)",
        "CAST({truth} AS TEXT)", "CAST({date} AS TEXT)", "({text} || {text})",
        "CAST({moment} AS TEXT)",
        "({text} || {date} || {truth})",
        "TRIM({text})", "LEFT({text}, 2)", "RIGHT({text}, -1)", "REPLACE({text}, '0', 'ab')",
        "SPLIT_PART({text}, '.', 2)", "CONCAT({text}, {text})",
    ],
    "date": [
        "({date} + CAST({number} AS INTEGER))", "({date} - 365)", "COALESCE({date}, {date})",
        "LEAST({date}, {date})", "NULLIF({date}, {date})", "CAST({number} AS DATE)",
        "CAST({text} AS DATE)", "IF({truth}, {date}, {date})",
        "DATE_TRUNC('month', {date})", "({date} + INTERVAL 1 MONTH)", "LAST_DAY({date})",
        "CAST({moment} AS DATE)", "LAST_DAY({moment})",
    ],
    "moment": [
        "CAST({date} AS TIMESTAMP)", "CAST({text} AS TIMESTAMP)", "({date} + INTERVAL 1 HOUR)",
        "({moment} + INTERVAL 1 MONTH)", "({moment} - INTERVAL 999999999 YEAR)",
        "({moment} + INTERVAL 999999999 DAY)", "({moment} - INTERVAL 1 SECOND)",
        *[f"DATE_TRUNC('{unit}', {{moment}})" for unit in ("year", "week", "hour", "microsecond")],
        "COALESCE({moment}, {date})", "LEAST({moment}, {moment})", "NULLIF({moment}, {moment})",
        "IF({truth}, {moment}, {moment})", "CLAMP({moment}, '1999-01-01', {moment})",
    ],
    "truth": [
        *[f"({{number}} {sign} {{number}})" for sign in ("=", "<>", "<", "<=", ">", ">=")],
        *[f"({{text}} {sign} {{text}})" for sign in ("=", "<>", "<", ">=")],
        "({date} < {date})", "({date} = {date})", "({moment} < {moment})", "({moment} = {date})",
        "({moment} IN ('2020-02-29 23:59:59.999999', '1970-01-01'))", "({truth} = {truth})", "({truth} AND {truth})",
        "({truth} OR {truth})", "(NOT {truth})", "({truth} IS TRUE)", "({truth} IS NOT FALSE)",
        "({number} IS NULL)", "({text} IS NOT NULL)", "({number} IN (0, 5, 9007199254740993))",
        "({number} NOT IN (1, NULL))", "({number} IN (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0.5))",
        "({text} IN ('a', '0.0', '-0.0'))", "({number} BETWEEN {number} AND {number})",
        "({text} LIKE 'a%')", "({text} LIKE '-_%')", "({text} NOT ILIKE '%A_')",
        "CAST({text} AS BOOLEAN)", "CAST({number} AS BOOLEAN)", "COALESCE({truth}, {truth})",
        "CASE WHEN {truth} THEN {truth} END", "STARTS_WITH({text}, 'a')", "CONTAINS({text}, '0')",
        "({number} IS DISTINCT FROM {number})", "({number} BETWEEN SYMMETRIC {number} AND 5)",
    ],
}  # fmt: skip
LEAVES = {
    "number": [*"iikjnff", *CONSTANTS],
    "text": ["t", "t", "s", "'a'", "''", "'-0.0'", "CAST(f AS TEXT)"],
    "date": ["d", "DATE '2000-02-29'"],
    "moment": ["p", "q", "TIMESTAMP '2000-02-29 12:00:00.000001'"],
    "truth": ["b", "TRUE", "FALSE", "(i = 5)", "NULLIF(TRUE, TRUE)"],
}


def _text(kind: str, chance: random.Random, depth: int) -> str:
    if depth == 0 or chance.random() < 0.15:
        return chance.choice(LEAVES[kind])
    shape = chance.choice(SHAPES[kind])
    while (start := shape.find("{")) >= 0:
        end = shape.index("}", start)
        part = _text(shape[start + 1 : end], chance, depth - 1)
        shape = shape[:start] + part + shape[end + 1 :]
    return shape


def expressions(number: int, seed: int) -> Iterator[tuple[str, Expr]]:
    """So many random expressions, and their texts."""
    chance = random.Random(seed)
    while number:
        text = _text(chance.choice([*SHAPES]), chance, chance.randint(1, 4))
        with contextlib.suppress(TypeMismatch):  # constants that are no dates
            yield text, parsed(text)
            number -= 1


def parsed(text: str) -> Expr:
    """The expression over the columns that a text writes."""
    policy = Policy((Table("t", Path("t.csv"), COLUMNS),))
    found = statement(f"SELECT COUNT({text}) FROM t", policy)
    assert isinstance(found, Select)
    argument = found.query.aggregates[0].argument
    assert argument is not None
    return argument


def random_cells(seed: int) -> dict[str, list[str]]:
    """Random cells of all columns."""
    chance = random.Random(seed)
    return {
        name: [chance.choice([*cells.split(" "), ""]) for _ in range(ROWS)]
        for name, cells in CELLS.items()
    }


def frame_of(rows: dict[str, list[str]]) -> Frame:
    """The columns that cells are read into."""
    return Frame({c.name: read_cells(c, tuple(rows[c.name])) for c in COLUMNS})
