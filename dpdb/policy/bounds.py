"""The bounds that a session's `--bounds` gives to columns of a policy."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

from dpdb.errors import UsageError, did_you_mean
from dpdb.policy.catalog import Column, Kind, Policy
from dpdb.policy.numbers import MAGNITUDE_LIMIT, fits_doubles, grid_step


def with_bounds(policy: Policy, bounds: Mapping[str, tuple[Fraction, Fraction]]) -> Policy:
    """The policy with the bounds of `--bounds`, which make an undeclared column a number.

    Raises UsageError for bounds that no column can have.
    """
    tables = []
    unused = set(bounds)
    for table in policy.tables:
        columns = []
        for column in table.columns:
            name = next((n for n in bounds if n.casefold() == column.name.casefold()), None)
            if name is not None:
                unused.discard(name)
                if column.name == table.unit:
                    raise UsageError(f"--bounds: {name} is the unit: clamped, two would become one")
                if column.name in table.identifiers:
                    raise UsageError(f"--bounds: {name} names rows: clamped, two would become one")
                column = _bounded(column, *bounds[name])  # noqa: PLW2901
            columns.append(column)
        tables.append(replace(table, columns=tuple(columns)))
    for name in sorted(unused):
        known = [column.name for table in policy.tables for column in table.columns]
        raise UsageError(f"--bounds: no column {name}", hint=did_you_mean(name, known))
    return replace(policy, tables=tuple(tables))


def _bounded(column: Column, lower: Fraction, upper: Fraction) -> Column:
    """The column with the bounds of `--bounds`; raises UsageError where it cannot have them."""
    listed = column.values is not None or column.values_from is not None
    numeric = column.kind.ordinal and column.kind is not Kind.TIMESTAMP
    if listed or not (column.guessed or numeric):
        raise UsageError(f"--bounds: {column.name} takes none, being declared otherwise")
    kind = Kind.NUMBER if column.guessed else column.kind
    step = grid_step(lower, upper) if column.bounds is None else column.step
    step = step if kind is Kind.NUMBER else Fraction(1)
    if math.floor(upper / step) < math.ceil(lower / step):
        raise UsageError(f"--bounds: {column.name} has no value between these")
    if max(abs(lower), abs(upper)) / step > MAGNITUDE_LIMIT:
        raise UsageError("--bounds: bounds reach at most 2^53 steps from zero")
    if not fits_doubles(lower, upper, step):
        raise UsageError("--bounds: bounds reach at most 1e300 from zero")
    return replace(column, kind=kind, lower=lower, upper=upper, step=step, guessed=False)
