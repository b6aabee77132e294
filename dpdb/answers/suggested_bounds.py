"""The policy's declarations of a column, and the bounds that APPROX_BOUNDS suggests for it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpdb.answers.record import Cell
from dpdb.plan.expressions.expressions import Cast, ColumnRef
from dpdb.plan.logical.query import Function
from dpdb.plan.physical.moments import Estimate
from dpdb.plan.physical.plan import Plan
from dpdb.plan.ranges.statistics import FilledLadder, Ranks
from dpdb.policy.catalog import Column, Kind, Table, Value
from dpdb.policy.timestamps import iso_text
from dpdb.privacy.mechanisms.mechanism import BoundsSelection

COLUMN_COLUMNS = ("column", "type", "lower", "upper", "values", "nulls", "names")


def declared_range(column: Column) -> str:
    """The declared values or bounds in parentheses; empty if there are none."""
    _, _, lower, upper, values, _ = _declared(column)
    if values is not None:
        return f" ({values})"
    return "" if lower is None else f" ({lower} to {upper})"


def column_row(table: Table, column: Column) -> tuple[Cell, ...]:
    """The column's row in the answer to DESCRIBE; its cells are those of `COLUMN_COLUMNS`."""
    return *_declared(column), ", ".join(named_by(table, column)) or None


def named_by(table: Table, column: Column) -> tuple[str, ...]:
    """The things that the values of a column name: the unit, rows of its table, or of another."""
    owners = [each for each in table.owned_by if column.name in each.columns]
    facts = {
        **{each.kind or "unit": each.chain is None for each in owners},
        "key": table.key == (column.name,),
        "part of the key": column.name in table.key and len(table.key) > 1,
        **{f"{each.chain}": each.chain for each in owners},
        f"{column.references}": column.references,
    }
    return tuple(name for name, holds in facts.items() if holds)


def _declared(column: Column) -> tuple[Cell, ...]:
    kind = "text or number (guessed)" if column.guessed else str(column.kind)
    values = None
    if column.values is not None:
        listed = [str(plain_value(value, column.kind)) for value in column.values[:6]]
        more = len(column.values) - len(listed)
        values = ", ".join(listed) + (f", … {more} more" if more else "")
    bounds = (None, None) if column.bounds is None or column.values is not None else column.bounds
    lower, upper = (None if b is None else plain_value(b, column.kind) for b in bounds)
    return column.name, kind, lower, upper, values, column.nullable


def plain_value(value: Value, kind: Kind) -> Cell:
    """A declared value as a cell: dates and timestamps, which are held as numbers, become text."""
    if kind.temporal and isinstance(value, (int, Fraction)):
        return iso_text(int(value), kind)
    if isinstance(value, Fraction):
        return int(value) if value.denominator == 1 else float(value)
    return value


if TYPE_CHECKING:
    import numpy.typing as npt

    Draws = Sequence[npt.NDArray[Any]]

Bounds = tuple[Fraction, Fraction]


def suggested(estimate: Estimate, plan: Plan, draws: Draws) -> Bounds | None:
    """The bounds that were selected; None if there are too few values to trust them."""
    release = plan.releases[estimate.releases[0]]
    assert isinstance(release.statistic, Ranks | FilledLadder)
    assert isinstance(release.mechanism, BoundsSelection)
    low, high = draws[estimate.releases[0]][0].tolist()
    counted = [draws[index][0] for index in estimate.releases[1:]]
    rows = counted[0] if counted else estimate.rows
    if rows is not None and rows < release.mechanism.rows_needed:
        return None
    return low * release.statistic.grid.step, high * release.statistic.grid.step


def as_text(bounds: Bounds) -> str:
    """The bounds as they are written in a policy."""
    low, high = (plain_value(bound, Kind.NUMBER) for bound in bounds)
    return f"[{low}, {high}]"


def bounds_notes(plan: Plan, draws: Draws) -> tuple[str, ...]:
    """Notes on using the suggested bounds, for each column."""
    return tuple(
        note
        for estimate in plan.estimates
        if estimate.aggregate.function is Function.APPROX_BOUNDS and estimate.releases
        for note in _notes(estimate, suggested(estimate, plan, draws))
    )


def needs_notes(plan: Plan) -> tuple[str, ...]:
    """Notes on the number of values that bounds need, and on the values that they leave out."""
    mechanisms = dict.fromkeys(release.mechanism for release in plan.releases)
    ends = (each for each in mechanisms if isinstance(each, BoundsSelection))
    return tuple(f"bounds need {needs(each)}" for each in ends)


def needs(mechanism: BoundsSelection) -> str:
    """The numbers of values that bounds need and leave out, in words."""
    needed, left = f"{mechanism.rows_needed:,}", f"{mechanism.left_out:,}"
    tail = f"; they leave out the last {left} or so of a long tail" if mechanism.left_out else ""
    return f"about {needed} {mechanism.counted}{tail}"


def _notes(estimate: Estimate, bounds: Bounds | None) -> Iterator[str]:
    if bounds is None:
        yield "too few values to find bounds: more epsilon may find some"
        return
    match estimate.aggregate.argument:
        case ColumnRef(column=column) | Cast(operand=ColumnRef(column=column)):
            kind = Kind.NUMBER if column.guessed else column.kind
            low, high = (plain_value(bound, Kind.NUMBER) for bound in bounds)
            line = f'{_toml(column)} = {{ type = "{kind}", bounds = {as_text(bounds)} }}'
            yield f"in the policy: {line}"
            yield f"for a session: --bounds {shlex.quote(f'{column.called}={low}:{high}')}"


def _toml(column: Column) -> str:
    """The name of a column as a key of TOML."""
    name = column.called
    bare = name.replace("-", "_").isidentifier() and name.isascii()
    return name if bare else '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'
