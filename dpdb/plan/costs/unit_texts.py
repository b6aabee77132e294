"""The texts that the rows of one unit can have, in columns and in expressions.

Texts count up to the longest one that a column or an expression has, and all texts of one column in
the rows of a unit up to what the table holds of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from dpdb.plan.expressions.expressions import Call, Case, Cast, ColumnRef, Expr, Literal
from dpdb.plan.expressions.text_functions import LONGEST_JOINED
from dpdb.plan.logical.derived import Window
from dpdb.plan.logical.per_unit import PerUnit
from dpdb.plan.logical.row_unions import RowUnion
from dpdb.plan.logical.row_windows import WindowedRows
from dpdb.plan.relations.relations import Joined, Source, scans
from dpdb.policy.catalog import Kind
from dpdb.records import dataclass

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
                    return _in_column(scan.table, column.name)
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
    if source.public:
        return Texts.made(longest)
    if name == source.unit:  # It is the same in all rows.
        return Texts(longest, longest, 1)
    return Texts(longest, source.text_budget, source.rows_held)
