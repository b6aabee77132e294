"""Exact values: rows of public tables, and in teaching mode statistics and their sensitivity.

Noise by the local sensitivity of the rows is shown and never private.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from dpdb.answers import release_reports
from dpdb.answers.estimates import SlotVectors
from dpdb.answers.record import Disclosure
from dpdb.answers.tables.derived import derived_table, only_value
from dpdb.answers.tables.noisy_table import NoisyColumn, NoisyTable, in_order
from dpdb.answers.tables.rows import answer_table
from dpdb.errors import TooLarge
from dpdb.plan.expressions.expressions import Slot
from dpdb.plan.logical.query import COUNTS, DEVIATIONS, SAMPLED, Function
from dpdb.plan.physical.plan import Plan
from dpdb.plan.ranges.statistics import Joint, Ranks
from dpdb.privacy.mechanisms.mechanism import SecretNoise
from dpdb.privacy.noise import smooth
from dpdb.records import dataclass
from dpdb.vectors.evaluate import Frame, evaluate, true_rows
from dpdb.vectors.vector import AnyVector, finite

if TYPE_CHECKING:
    from dpdb.engines.protocol import Exact, OpenEngine
    from dpdb.plan.logical.query import PublicRows
    from dpdb.privacy.noise.protocols import Noise


Array = npt.NDArray[np.float64]


def statistic(function: Function, values: Array, fraction: float = 0.5) -> float:
    """The exact statistic f(D) of the sorted values; NaN where it needs a value and has none."""
    if not len(values) and function not in COUNTS:
        return math.nan
    match function:
        case Function.COUNT:
            return len(values)
        case Function.COUNT_DISTINCT:
            return len(np.unique(values))
        case Function.SUM:
            return float(values.sum())
        case Function.AVG:
            return float(values.mean())
        case Function.MIN:
            return float(values[0])
        case Function.MAX:
            return float(values[-1])
        case Function.QUANTILE:
            return float(np.quantile(values, fraction))
        case Function.MODE:
            distinct, counts = np.unique(values, return_counts=True)
            return float(distinct[counts.argmax()])
    return _variance_or_deviation(function, values)


def sensitivity(function: Function, values: Array, fraction: float = 0.5) -> float:
    """Δf(D) in closed form, in O(n) for n sorted values.

    A file of one row has none left without it; there Δf is the size of that row's value, as in
    the paper.
    """
    if function in COUNTS:
        return 1.0
    if len(values) == 1:
        return abs(float(values[0]))
    match function:
        case Function.SUM:
            # Equation 7 says max(D); where values can be negative it is max |d|.
            return float(np.abs(values).max())
        case Function.AVG:
            # Equation 8: Σ/n - (Σ-d)/(n-1) = (d - mean)/(n-1).
            return float(np.abs(values - values.mean()).max() / (len(values) - 1))
        case Function.MAX:
            return float(values[-1] - values[-2])
        case Function.MIN:
            return float(values[1] - values[0])
        case Function.QUANTILE:
            return _of_quantile(values, fraction)
        case Function.MODE:
            return float(values[-1] - values[0])
    return _of_variance(function, values)


def _of_quantile(values: Array, fraction: float) -> float:
    """Δf of a quantile: after [LC11] equation 15.

    Leaving out a row moves the values above it down by one place, so only the rows at the
    quantile's place and beside it change the quantile differently.
    """
    place = int(fraction * (len(values) - 1))
    around = {0, len(values) - 1, *range(max(0, place - 2), min(len(values), place + 4))}
    whole = np.quantile(values, fraction)
    left_out = [np.quantile(np.delete(values, i), fraction) for i in around]
    return float(max(abs(whole - without) for without in left_out))


def _of_variance(function: Function, values: Array) -> float:
    """Δf of a variance or standard deviation.

    Leaving out d takes n/(n-1)·(d - mean)² from the sum of squares. The change is monotone in
    that square, so it is greatest for a row nearest to the mean or farthest from it.
    """
    place = int(np.searchsorted(values, values.mean()))
    around = {0, len(values) - 1, max(place - 1, 0), min(place, len(values) - 1)}
    whole = _variance_or_deviation(function, values)
    return max(abs(whole - _variance_or_deviation(function, np.delete(values, i))) for i in around)


def _variance_or_deviation(function: Function, values: Array) -> float:
    """The variance or the standard deviation; 0 for one row."""
    sample = function in SAMPLED
    squares = float(((values - values.mean()) ** 2).sum())
    variance = squares / max(len(values) - 1 if sample else len(values), 1)
    deviation = function in DEVIATIONS
    return math.sqrt(variance) if deviation else variance


def disclosures(planned: Plan, exact: Sequence[Exact]) -> list[Disclosure]:
    """The exact statistic and the noise scale of each release, which SET reveal shows."""
    disclosed = []
    own = release_reports.own_reports(planned)
    drawn = planned.recalled + len(planned.fresh) - len(planned.exact_releases)
    reports = iter([report for report in own if report.group > drawn])
    for release, result in zip(planned.exact_releases, exact, strict=False):
        vector = isinstance(release.statistic, Joint)
        for place, part in enumerate(release.parts):
            report = next(reports)
            if report.margin is None or report.scale is None:
                continue
            cells = np.asarray(result.cells)
            shown = cells[:, place] if vector else cells.ravel()
            disclosed += [
                Disclosure(report.column, float(int(value) * part.unit), float(report.scale))
                for value in shown
            ]
        if isinstance(release.mechanism, SecretNoise) and isinstance(release.statistic, Ranks):
            grid = release.statistic.grid
            for values in result.cells:
                stat, scale = smooth.statistic_and_scale(
                    values, (grid.lower, grid.upper), release.mechanism
                )
                disclosed.append(
                    Disclosure(report.column, float(stat * grid.step), float(scale * grid.step))
                )
    return disclosed


_STEPS = 2**20
"""The grid steps in one noise scale: fine enough for the noise to look continuous."""


@dataclass(frozen=True)
class UnprotectedResult:
    """The unprotected answer to a plan, and the exact statistics behind it."""

    table: NoisyTable
    revealed: tuple[Disclosure, ...]


@dataclass(frozen=True)
class UnprotectedExecutor:
    """Executes plans without differential privacy."""

    engine: OpenEngine
    noise: Noise
    epsilon: Fraction | None
    """The ε of each aggregate, for noise of local sensitivity; None for exact answers."""

    def execute(self, plan: Plan) -> UnprotectedResult:
        """The rows of the answer to `plan`; subqueries are executed first."""
        below = [self.execute(subplan) for subplan in plan.subplans]
        revealed = [shown for inner in below for shown in inner.revealed]
        if plan.derived is not None:
            table = derived_table(plan.derived, [inner.table for inner in below])
            return UnprotectedResult(table, tuple(revealed))
        subqueries: dict[Slot, AnyVector] = {
            Slot("subquery", index, inner.table.columns[0].kind): only_value(inner.table)
            for index, inner in enumerate(below)
        }
        points, own = self._points(plan, subqueries)
        table = answer_table(plan, points, subqueries, None)
        return UnprotectedResult(table, (*revealed, *own))

    def _points(
        self, plan: Plan, subqueries: Mapping[Slot, AnyVector]
    ) -> tuple[SlotVectors, list[Disclosure]]:
        """The value of each aggregate in each cell, and the statistics and scales behind it."""
        points: dict[Slot, AnyVector] = {}
        revealed = []
        values = self.engine.values(plan, subqueries)
        for index, (estimate, counted) in enumerate(zip(plan.estimates, values, strict=True)):
            function = estimate.aggregate.function
            fraction = float(estimate.aggregate.fraction or 0)
            cells = counted.cells
            if self.epsilon is not None and function not in COUNTS:
                cells = counted.cells_or_mean
            exact = np.array([statistic(function, cell, fraction) for cell in cells])
            scales = np.zeros(len(cells))
            if self.epsilon is not None:
                changes = [sensitivity(function, cell, fraction) for cell in cells]
                scales = np.array(changes) / float(self.epsilon)
            draws = self.noise.laplace(Fraction(_STEPS), len(cells)) / _STEPS
            kind = estimate.aggregate.kind
            points[Slot("aggregate", index, kind)] = finite(exact + scales * draws, None)
            label = release_reports.aggregate_label(plan, index)
            revealed += [
                Disclosure(label, float(stat), float(scale))
                for stat, scale in zip(exact, scales, strict=True)
            ]
        return points, revealed


MAX_PUBLIC_ROWS = 100_000
"""The most rows of public tables that are shown."""
MAX_PUBLIC_CELLS = 2_000_000
"""The most cells that these rows have."""


@np.errstate(all="ignore")
def table_of(query: PublicRows, frame: Frame, number: int) -> NoisyTable:
    """The rows that the query shows, of so many in the frame."""
    rows = np.arange(number) if query.where is None else true_rows(query.where, frame, number)
    rows = in_order(query.order, frame, rows, number)
    rows = rows[query.offset : None if query.limit is None else query.offset + query.limit]
    if len(rows) > MAX_PUBLIC_ROWS:
        raise TooLarge(
            f"{len(rows)} rows, {MAX_PUBLIC_ROWS} are allowed", hint=f"LIMIT {MAX_PUBLIC_ROWS}"
        )
    if len(rows) * len(query.outputs) > MAX_PUBLIC_CELLS:
        raise TooLarge(
            f"{len(rows)} rows of {len(query.outputs)} columns, "
            f"{MAX_PUBLIC_CELLS} cells are allowed",
            hint=f"LIMIT {MAX_PUBLIC_CELLS // len(query.outputs)}",
        )
    columns = (each.expression for each in query.outputs)
    shown = (NoisyColumn(evaluate(each, frame).take(rows), each.kind) for each in columns)
    return NoisyTable(tuple(shown), len(rows))
