"""Public costs: the most time that a row or a character takes in each step of an evaluation.

The figures are nanoseconds on one core of a usual machine, about twice what was measured. They are
no secret and no promise: the moment at which an answer leaves is chosen by them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby

from dpdb.errors import InternalError
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
from dpdb.plan.expressions.functions import TEXT_CALLS
from dpdb.plan.expressions.single_values import SingleValue
from dpdb.plan.expressions.text_functions import LONGEST_JOINED
from dpdb.plan.logical.derived import Window
from dpdb.plan.logical.per_unit import PerUnit
from dpdb.plan.logical.row_tables import RowUnion, WindowedRows
from dpdb.plan.relations.relations import Joined, Source, relation_of, scans
from dpdb.policy.catalog import Kind
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
FILLED = 500
"""A row of two units, for each sum that it is filled in; 160 to 250."""
AGGREGATE = 100
"""A row of a unit's groups, for each aggregate and each key; 16."""
TAKEN = 2_000
"""A value of a unit, if COUNT(DISTINCT) finds a limit; 400 to 1,000."""
TAKEN_BYTES = 128
"""The most memory of such a value; 50 to 90."""
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
PARSED = Cost(18_000, 18)
"""STRPTIME and PARSE_DATE; 4,300 to 8,500, and 8.8 a character."""

_NUMBERS = (
    "abs", "floor", "ceil", "trunc", "sign", "clamp", "least", "greatest", "coalesce", "nullif",
)  # fmt: skip
_TEXTS = (
    "lower", "upper", "length", "trim", "ltrim", "rtrim", "substr", "left", "right", "replace",
    "position", "starts_with", "ends_with", "contains",
)  # fmt: skip
_CALLS = {
    **dict.fromkeys(_TEXTS, TEXT),
    **dict.fromkeys(_NUMBERS, NUMBER),
    "split_part": SPLIT,
    "concat": JOINED,
    "tuple": JOINED,
    "regexp_contains": MATCH,
    "strptime": PARSED,
    "parse_date": PARSED,
}
if TEXT_CALLS - _CALLS.keys():
    raise InternalError(f"without a price: {sorted(TEXT_CALLS - _CALLS.keys())}")


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
        match expression:
            case ColumnRef(column=SingleValue(argument=argument, where=where)):
                return rows * WINDOW + self.total((argument, where), rows)
            case ColumnRef():
                return 0
        cost, operands = of_operation(expression), children(expression)
        taken = rows * cost.row + cost.sort + self._read(cost, operands, rows)
        return self.total(operands, rows) + taken

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
        keys = [
            each
            for each in expressions
            if each.kind is Kind.TEXT
            # Of texts that the policy lists, rows hold numbers.
            and not (isinstance(each, ColumnRef) and each.column.values is not None)
        ]
        return len(keys) * rows * KEY.row + self._read(KEY, keys, rows)

    def hashes(self, rows: int) -> int:
        """The time to hash `rows` rows of the source for a cap."""
        leaves = scans(relation_of(self.source))
        columns = sum(len(leaf.table.told_apart_by) for leaf in leaves)
        return rows * (HASH + HASHED_COLUMN * columns)


_JOINED = 4 * LONGEST_JOINED
"""The most bytes of a text that `||` makes."""
_SHORT = 40
"""More than the characters of a number, a date or a boolean."""


@dataclass(frozen=True)
class Texts:
    """The texts of a column or an expression in the rows of a unit."""

    longest: int
    """The most bytes of a text."""
    held: int = 0
    """The most bytes of all cells of the columns that the texts are from."""
    rows: int = 1
    """The most rows of a unit in these columns."""
    others: int = 0
    """The most bytes of a text that is from no column."""

    def different(self, rows: int) -> int:
        """The most bytes of different texts in `rows` rows."""
        return min(rows * self.longest, self.held + rows * self.others)

    def in_rows(self, rows: int) -> int:
        """The most bytes of texts in `rows` rows, if a join repeats the rows of a table evenly."""
        times = -(-rows // max(self.rows, 1))
        return min(rows * self.longest, times * self.held + rows * self.others)

    @staticmethod
    def made(longest: int) -> Texts:
        """Texts of at most `longest` bytes that are from no column."""
        return Texts(longest, others=longest)

    @staticmethod
    def of_any(parts: Iterable[Texts]) -> Texts:
        """The texts of a column whose every text is one of the parts'."""
        several = [*parts]
        return Texts(
            max((part.longest for part in several), default=0),
            sum(part.held for part in several),
            min((part.rows for part in several if part.held), default=1),
            max((part.others for part in several), default=0),
        )


def texts_of(source: Source, expression: Expr) -> Texts:
    """The texts that an expression over a source can have as values."""
    within = partial(texts_of, source)
    match expression:
        case ColumnRef(column=column):
            return _in_column(source, column.name)
        case Literal(value=str(value)):
            return Texts.made(len(value.encode("utf-8", "replace")))
        case Case(branches=branches, default=default):
            return Texts.of_any(map(within, (*(value for _, value in branches), default)))
        case Call(name="concat", arguments=arguments):
            whole = sum(within(each).longest for each in arguments)
            return Texts.made(min(whole, _JOINED))
        case Call(name="tuple", arguments=arguments):
            return Texts.made(sum(within(each).longest + _SHORT for each in arguments))
        case Call(name="coalesce" | "nullif", arguments=arguments):
            return Texts.of_any(map(within, arguments))
        case Call(name="replace", arguments=(first, old, new)):
            # A character of at most four bytes replaces one of at least one, or the text is short.
            if within(new).longest <= within(old).longest:
                return within(first)
            return Texts.made(max(4 * within(first).longest, _JOINED))
        case Call(kind=Kind.TEXT, arguments=(first, *_)) if first.kind is Kind.TEXT:
            return within(first)
        case Cast(operand=operand) if operand.kind is Kind.TEXT:
            return within(operand)
    return Texts.made(_SHORT)


def _in_column(source: Source, name: str) -> Texts:
    """The texts of a column of a source."""
    if isinstance(source, Joined):
        for scan in scans(source.relation):
            for column in scan.table.columns:
                if scan.name(column) == name:
                    texts = _in_column(scan.table, column.name)
                    # Rows of a unit meet rows of many others, if each row has two units.
                    return Texts.made(texts.longest) if source.kinds else texts
        return Texts.made(_SHORT)
    at = next((n for n, c in enumerate(source.columns) if c.name == name), None)
    if at is None:
        return Texts.made(_SHORT)
    match source:
        case PerUnit(source=below) as table:
            assert below is not None
            each: Expr | None = (*table.keys, *(a.argument for a in table.aggregates))[at]
            return Texts.made(_SHORT) if each is None else texts_of(below, each)
        case RowUnion(parts=parts):
            return Texts.of_any(texts_of(p.source, p.columns[at]) for p in parts)
        case WindowedRows(rows=rows) as table:
            assert rows is not None
            if at < len(rows.columns):
                return _in_column(rows, name)
            window: Window = table.windows[at - len(rows.columns)]
            return Texts.of_any(texts_of(rows, each) for each in window.arguments[:1])
    column = source.columns[at]
    longest = column.length
    if column.values is not None:
        declared = (len(str(value).encode("utf-8", "replace")) for value in column.values)
        longest = max(declared, default=0)
    if source.public or source.kinds:  # Texts of two units have no budget.
        return Texts.made(longest)
    if name == source.unit and source.chain is None:  # It is the same in all rows.
        return Texts(longest, longest, 1)
    return Texts(longest, source.text_budget, source.rows_held)
