"""Public costs: the most time that a row or a character takes in each step of an evaluation.

The figures are nanoseconds on one core of a usual machine, about twice what was measured. They are
no secret and no promise: the moment at which an answer leaves is chosen by them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import groupby

from dpdb.plan.costs.unit_texts import texts_of
from dpdb.plan.expressions.expressions import (
    Call,
    Case,
    Cast,
    ColumnRef,
    Compare,
    Expr,
    InList,
    Like,
    Literal,
    children,
    columns_of,
)
from dpdb.plan.expressions.single_values import SingleValue
from dpdb.plan.relations.relations import Scan, Source, scans
from dpdb.policy.catalog import Kind, Table
from dpdb.records import dataclass

SCAN = 50
"""A row read from a table, a join or a SELECT within FROM; 12 were measured."""
UNION = 60
"""A row of a part of UNION ALL, for each of its columns; 41."""
JOIN_PAIR = 140
"""A pair of rows that a join makes; 60 to 138."""
LOOKUP_PAIR = 130
"""A row, or a pair of rows, that EXISTS or IN looks at; 113 to 125."""
HASH = 20
"""A row hashed for a cap, or to break ties in a window; 10."""
HASHED_COLUMN = 25
"""A hashed column, of the columns of the key or of all; up to 25."""
WINDOW = 500
"""A row of a window, sorted and computed; 240 to 315."""
COUNTED = 30
"""A row that counts, for each aggregate and each key; 16."""
AGGREGATE = 100
"""A row of a unit's groups, for each aggregate and each key; 16."""
CAP = 300_000
"""The first unit over a cap, which starts the hashing; 150,000 to 290,000."""
BLOCK = 110_000
"""A block of rows in a node, which one more row may add; 110,000 in one process."""


@dataclass(frozen=True)
class Cost:
    """The nanoseconds of an operation for each row, and for each character of its texts."""

    row: int
    character: float = 0
    sort: int = 0
    """Nanoseconds of the sort of all rows, which takes longer if one row differs from the rest."""


NUMBER = Cost(10)
"""Arithmetic, comparisons, AND, CASE and the like over numbers; 0 to 4."""
REAL = Cost(120)
"""SQRT, LN and other functions of real numbers, and those of dates; 54."""
LISTED = Cost(50)
"""IN with a list of numbers."""
EQUAL = Cost(50, 0.4)
"""A comparison of texts, or IN with a list of them; at most 0.4 a character."""
KEY = Cost(2_500, 1)
"""A text that is sorted, grouped, joined on or put into a table with others; 1,000 to 2,100."""
LIKE = Cost(1_000, 1)
"""LIKE with `%` alone; 462 and 0.4 a character."""
LIKE_ANY = Cost(1_000, 12)
"""LIKE with `_`; 462 and 6 a character."""
LIKE_PLACE = 2.5
"""A character of LIKE with `_`, for each place of the longest part between two `%`; 1.2."""
TEXT = Cost(2_000, 2)
"""UPPER, CONTAINS, REPLACE and the like; 933 and 0.7 to 0.95 a character."""
SPLIT = Cost(2_000, 8)
"""SPLIT_PART; 933 and 3.9 a character."""
CAST = Cost(600)
"""A text that is read as another type, or the reverse, or chosen among several; 299."""
WRITTEN = Cost(600, sort=150_000)
"""A number, a date or a boolean that is written as a text; 299, and 60,000 of 300,000 rows."""
JOINED = Cost(1_200, sort=150_000)
"""Texts that are joined by `||`; 578, and 60,000 of 300,000 rows."""
MATCH = Cost(2_400, 40)
"""A regular expression; 1,090 and 1 to 34 a byte."""

_TEXTS = dict.fromkeys(
    ("lower", "upper", "trim", "ltrim", "rtrim", "substr", "left", "right", "replace"), TEXT
)
_TESTS = dict.fromkeys(("length", "position", "starts_with", "ends_with", "contains"), TEXT)
_NUMBERS = dict.fromkeys(
    ("abs", "floor", "ceil", "trunc", "sign", "clamp", "least", "greatest", "coalesce", "nullif"),
    NUMBER,
)
_CALLS = {
    **_TEXTS,
    **_TESTS,
    **_NUMBERS,
    "split_part": SPLIT,
    "concat": JOINED,
    "regexp_contains": MATCH,
}


def like(pattern: Sequence[str | None]) -> Cost:
    """The cost of LIKE; where `_` stands between two `%` it is tried from every place of a text."""
    if "" not in pattern:
        return LIKE
    parts = (
        len([*part]) for whole, part in groupby(pattern, lambda each: each is None) if not whole
    )
    return replace(LIKE_ANY, character=LIKE_ANY.character + LIKE_PLACE * max(parts))


def of_operation(expression: Expr) -> Cost:
    """The cost of an operation, without its operands.

    A function that is not listed is one of real numbers or dates.
    """
    has_texts = any(each.kind is Kind.TEXT for each in children(expression))
    match expression:
        case Literal():
            return Cost(0)
        case Call(name="coalesce" | "nullif") if has_texts:
            return CAST
        case Call(name=name):
            return _CALLS.get(name, REAL)
        case Cast() if has_texts:
            return CAST
        case Cast(kind=Kind.TEXT):
            return WRITTEN
        case Like(pattern=pattern):
            return like(pattern)
        case InList():
            return EQUAL if has_texts else LISTED
        case Case() if has_texts:
            return CAST
        case Compare() if has_texts:
            return EQUAL
    return NUMBER


def _is_listed(expression: Expr) -> bool:
    """Whether the policy lists the texts: rows then hold numbers in their place."""
    return isinstance(expression, ColumnRef) and expression.column.values is not None


@dataclass(frozen=True)
class Costs:
    """The time and the memory that expressions over the rows of a source take."""

    source: Source

    def bytes(self, rows: int, parts: Sequence[Expr | None]) -> int:
        """The memory of the columns that `parts` read and make in `rows` rows."""
        expressions = dict.fromkeys(part for part in parts if part is not None)
        read = {name: ColumnRef(c) for e in expressions for name, c in columns_of(e).items()}
        held = 4 * rows
        for each in {*read.values(), *expressions}:
            if each.kind is Kind.TEXT:
                held += 8 * rows + 4 * texts_of(self.source, each).different(rows)
            else:
                held += 9 * rows
        return held

    def total(self, expressions: Iterable[Expr | None], rows: int) -> int:
        """The time to evaluate the expressions in `rows` rows."""
        return sum(self._time(each, rows) for each in expressions if each is not None)

    def _time(self, expression: Expr, rows: int) -> int:
        """The time to evaluate an expression in `rows` rows."""
        below = self.total(children(expression), rows)
        if isinstance(expression, ColumnRef):
            if not isinstance(expression.column, SingleValue):
                return 0
            value = expression.column
            return rows * WINDOW + self.total((value.argument, value.where), rows)
        cost = of_operation(expression)
        taken = rows * cost.row + cost.sort
        return below + taken + self._read(cost, children(expression), rows)

    def _read(self, cost: Cost, read: Sequence[Expr], rows: int) -> int:
        """The time that the characters of texts take."""
        if not cost.character:
            return 0
        texts = [texts_of(self.source, each) for each in read if each.kind is Kind.TEXT]
        # Texts of several columns are compared row by row; operations on one column are done for
        # each different text, and so are functions.
        once = cost is not EQUAL or len(set().union(*map(columns_of, read))) == 1
        read_of_all = (t.different(rows) if once else t.in_rows(rows) for t in texts)
        return int(sum(read_of_all) * cost.character)

    def keys(self, expressions: Iterable[Expr], rows: int) -> int:
        """The time that texts take by which rows are sorted, grouped, joined or put together."""
        keys = [each for each in expressions if each.kind is Kind.TEXT and not _is_listed(each)]
        return len(keys) * rows * KEY.row + self._read(KEY, keys, rows)

    def hashes(self, rows: int) -> int:
        """The time to hash `rows` rows of the source for a cap."""
        leaves = (
            [Scan(self.source)] if isinstance(self.source, Table) else scans(self.source.relation)
        )
        columns = sum(len(leaf.table.told_apart_by) for leaf in leaves)
        return rows * (HASH + HASHED_COLUMN * columns)
