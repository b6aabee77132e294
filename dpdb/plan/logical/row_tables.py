"""Tables of rows made by SELECTs within FROM and WITH: UNION ALL, and windows over a unit's rows.

Each row of a UNION ALL is a function of one unit's rows, and the rows of a unit are those that it
has in each part. So further queries of the table are about units as those of any other table are,
and at most as many rows of a unit count as in all parts together.

`LAG(amount) OVER (PARTITION BY customer_id ORDER BY day)` is a function of one unit's rows, as
customer_id names a unit. So the rows with such columns are unit-wise wherever the rows alone are,
and one unit has as many of them as before. A hash of their values orders rows that are equal in
ORDER BY, never their place in a file. A window reads all rows of a unit; its value is clamped to
bounds that follow from those of one row and from the cap on rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import assert_never

from dpdb.errors import MissingBounds, Place
from dpdb.plan.expressions.expressions import ColumnRef, Expr, Literal, columns_of, is_null_constant
from dpdb.plan.logical.derived import Window
from dpdb.plan.logical.per_unit import PerUnit, aggregate_bounds, argument_grid
from dpdb.plan.logical.query import Function
from dpdb.plan.ranges.grids import fit_grid
from dpdb.plan.ranges.ranges import nullable
from dpdb.plan.relations.privacy_ids import Name, names_in, names_unit
from dpdb.plan.relations.relations import Joined, Source, relation_of, scans
from dpdb.policy.catalog import Column, Kind, Policy, Table, Value
from dpdb.policy.names import Reference
from dpdb.policy.numbers import MAGNITUDE_LIMIT
from dpdb.records import dataclass


@dataclass(frozen=True)
class UnionPart:
    """The rows of one SELECT: of `source` those for which `where` is true."""

    source: Source
    where: Expr | None
    columns: tuple[Expr, ...]

    @property
    def names_read(self) -> frozenset[str]:
        """The names of the columns of `source` that are read."""
        read = [*self.columns, *([] if self.where is None else [self.where])]
        return frozenset().union(*map(columns_of, read))


@dataclass(frozen=True)
class RowUnion(Table):
    """A table of the rows of several parts.

    Its `unit` is empty where no column names the units of its rows.
    """

    parts: tuple[UnionPart, ...] = ()
    unit_word: str = ""
    """Word for a unit in messages."""
    sample_key: str = ""

    @property
    def kinds(self) -> tuple[str, ...]:
        """The different kinds of the two owners of each row, where all parts have the same."""
        kinds = {part.source.kinds for part in self.parts}
        return kinds.pop() if len(kinds) == 1 else ()

    @property
    def unit_in_words(self) -> str:
        return self.unit_word

    @property
    def rows_held(self) -> int:
        """The most rows of a unit: those of all parts."""
        return sum(part.source.rows_held for part in self.parts)

    @property
    def names_every_unit(self) -> bool:
        at = next(at for at, column in enumerate(self.columns) if column.name == self.unit)
        return all(names_unit(part.columns[at], part.source, always=True) for part in self.parts)

    @property
    def references(self) -> tuple[ColumnRef, ...]:
        """All columns, as expressions."""
        return tuple(map(ColumnRef, self.columns))

    @property
    def nominal(self) -> int:
        """The cap on a unit's rows: a query may ask for a lower one."""
        return sum(part.source.rows_per_unit for part in self.parts)

    @property
    def arithmetic(self) -> str:
        """Sum of the parts' caps on a unit's rows, as EXPLAIN shows it: `20 + 20`."""
        return " + ".join(str(part.source.rows_per_unit) for part in self.parts)


def row_union(
    labels: Sequence[str], kinds: Sequence[Kind], parts: Sequence[UnionPart], policy: Policy
) -> RowUnion:
    """The table of these parts, with columns of these types.

    The columns are named by where they stand; `labels` are for messages.
    """
    columns, units = [], []
    for at, label in enumerate(labels):
        name = f"c{at + 1}"
        expressions = tuple(part.columns[at] for part in parts)
        naming = _naming(parts, at, policy)
        column = _column(name, kinds[at], expressions, parts, naming)
        columns.append(replace(column, label=label or f"column {at + 1}"))
        if all(names_unit(part.columns[at], part.source) for part in parts):
            units.append(name)
    words = {part.source.unit_in_words for part in parts}
    return RowUnion(
        name="",
        path=Path(),
        columns=tuple(columns),
        unit=units[0] if units else "",
        rows_per_unit=sum(part.source.rows_per_unit for part in parts),
        parts=tuple(parts),
        unit_word=words.pop() if len(words) == 1 else policy.unit,
        sample_key=policy.sample_key,
        finds_cap=any(part.source.finds_cap for part in parts),
    )


def rows_read(source: Source, where: Expr | None, read: Sequence[Expr], policy: Policy) -> RowUnion:
    """The rows of a source that pass a condition; the expressions `read` are the columns."""
    part = UnionPart(source, where, tuple(read))
    labels = [each.column.called if isinstance(each, ColumnRef) else "" for each in read]
    return row_union(labels, [each.kind for each in read], [part], policy)


def _naming(parts: Iterable[UnionPart], at: int, policy: Policy) -> Reference | None:
    """The key that the column references in every part; None if the parts differ."""
    named: set[Name | None] = set()
    references: list[Reference] = []
    for part in parts:
        column = part.columns[at]
        if not isinstance(column, ColumnRef):
            return None
        names = names_in(scans(relation_of(part.source)), policy)
        name = names.get(column.column.name)
        named.add(name)
        reference = column.column.references or (None if name is None else name.reference)
        references += [] if reference is None else [reference]
    return references[0] if len(named) == 1 and None not in named and references else None


def _column(
    name: str,
    kind: Kind,
    expressions: Sequence[Expr],
    parts: Sequence[UnionPart],
    naming: Reference | None,
) -> Column:
    """The output column of a UNION ALL, wide enough for this expression of every part."""
    missing = any(map(nullable, expressions))
    column = Column(name, kind, nullable=missing, references=naming)
    if all(isinstance(each, ColumnRef) and each.column.guessed for each in expressions):
        return replace(column, guessed=True)
    values = _values(expressions)
    if values is not None:
        ends = [Fraction(value) for value in values] if kind.ordinal else []
        low, high = (min(ends), max(ends)) if ends else (None, None)
        return replace(column, lower=low, upper=high, values=values)
    if not kind.ordinal:
        return column
    held = [each for each in zip(expressions, parts, strict=True) if not is_null_constant(each[0])]
    grids = [argument_grid(expression, part.where) for expression, part in held]
    if not grids or None in grids:
        return replace(column, nullable=missing or kind is Kind.NUMBER)
    known = [grid for grid in grids if grid is not None]
    low = min(grid.lower * grid.step for grid in known)
    high = max(grid.upper * grid.step for grid in known)
    grid = fit_grid(_common([grid.step for grid in known]), low, high, MAGNITUDE_LIMIT)
    low, high = grid.lower * grid.step, grid.upper * grid.step
    return replace(column, lower=low, upper=high, step=grid.step)


def _values(expressions: Iterable[Expr]) -> tuple[Value, ...] | None:
    """The declared values and constants of all expressions; None if one has other values."""
    listed: dict[Value, None] = {}
    for each in expressions:
        match each:
            case ColumnRef(column=Column(values=values)) if values is not None:
                listed.update(dict.fromkeys(values))
            case Literal(value=value):
                listed.update({} if value is None else {value: None})
            case _:
                return None
    return tuple(listed) or None


def _common(steps: Sequence[Fraction]) -> Fraction:
    """The greatest step of which all steps are whole multiples."""
    denominator = math.lcm(*(step.denominator for step in steps))
    return Fraction(math.gcd(*(int(step * denominator) for step in steps)), denominator)


RANKINGS = ("row_number", "rank", "dense_rank")
"""The window functions that say where a row stands among those of its unit."""
PICKS = ("lag", "lead", "first_value", "last_value", "nth_value")
"""The window functions whose value is that of another row of the unit, or NULL."""
TOTALS = ("count", "sum", "avg", "min", "max")
"""The window functions that aggregate rows of the unit."""


@dataclass(frozen=True)
class WindowedRows(Table):
    """The rows of a SELECT with a column for each window, which come last."""

    rows: RowUnion | None = None
    """The rows, of one part; `windows` read its columns."""
    windows: tuple[Window, ...] = ()
    sample_key: str = ""

    @property
    def unit_in_words(self) -> str:
        assert self.rows is not None
        return self.rows.unit_in_words

    @property
    def rows_held(self) -> int:
        """The most rows of a unit."""
        assert self.rows is not None
        return self.rows.rows_held

    @property
    def names_every_unit(self) -> bool:
        assert self.rows is not None
        return self.rows.names_every_unit

    @property
    def window_columns(self) -> tuple[Column, ...]:
        """The columns of the windows."""
        return self.columns[len(self.columns) - len(self.windows) :]


def windowed_rows(
    rows: RowUnion, windows: Sequence[tuple[str, Window]], where: Place | None
) -> WindowedRows:
    """The table of these rows and of labelled windows over them, whose values are its columns.

    The columns of windows are named by where they stand; labels are for messages. Raises
    MissingBounds, with the place, where a total has none.
    """
    most = rows.rows_per_unit
    columns = (
        replace(_window_column(f"w{at}", window, most, where), label=label)
        for at, (label, window) in enumerate(windows, 1)
    )
    return WindowedRows(
        name="",
        path=Path(),
        columns=(*rows.columns, *columns),
        unit=rows.unit,
        rows_per_unit=most,
        rows=rows,
        windows=tuple(window for _, window in windows),
        sample_key=rows.sample_key,
        finds_cap=rows.finds_cap,
    )


def _window_column(name: str, window: Window, cap: int, where: Place | None) -> Column:
    """The column of a window over rows of a unit that has at most `cap`."""
    if window.function in RANKINGS:
        return Column(name, Kind.INTEGER, Fraction(1), Fraction(cap), nullable=False)
    most = _frame_rows(window, cap)
    if window.function == "count":
        return Column(name, Kind.INTEGER, Fraction(0), Fraction(most), nullable=False)
    value = window.arguments[0]
    assert isinstance(value, ColumnRef)
    if window.function in PICKS:
        # What another row names is of the same unit, but the row itself is about its own.
        return replace(value.column, name=name, nullable=True, references=None)
    grid, bare = argument_grid(value, window.where), Column(name, window.kind)
    if grid is not None:
        return aggregate_bounds(bare, Function(window.function), grid, most)
    if window.function in ("sum", "avg"):
        raise MissingBounds(
            f"{window.function.upper()} over the rows of a unit needs bounds of its argument",
            hint="declare bounds in the policy, or write CLAMP(x, low, high)",
            place=where,
        )
    return bare


def _frame_rows(window: Window, cap: int) -> int:
    """The most rows that a row reads."""
    frame = window.frame
    if frame is None or frame.first is None or frame.last is None:
        return cap
    return max(1, min(cap, frame.last - frame.first + 1))


MadeTable = PerUnit | RowUnion | WindowedRows
"""The tables that SELECTs within FROM and WITH make."""


def made_of(table: MadeTable) -> tuple[Source, ...]:
    """The sources of the rows that a made table is computed from."""
    match table:
        case PerUnit(source=below) | WindowedRows(rows=below):
            assert below is not None
            return (below,)
        case RowUnion(parts=parts):
            return tuple(part.source for part in parts)
        case _:
            assert_never(table)


def stored_tables(source: Source) -> Iterator[Table]:
    """The tables of the policy that a source reads, each as often as it is read."""
    match source:
        case Joined():
            below: Iterable[Source] = (scan.table for scan in scans(source.relation))
        case PerUnit() | RowUnion() | WindowedRows():
            below = made_of(source)
        case Table():
            yield source
            return
        case _:
            assert_never(source)
    for each in below:
        yield from stored_tables(each)
