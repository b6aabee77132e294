"""Teaching mode: answers without differential privacy, so that attacks on them can be seen.

With privacy off, answers are exact. With the local sensitivity of [EGS],
each statistic gets Laplace noise of scale k·Δf/ε, where Δf is read off the data: a system that
looks private and is not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from dpdb.answers import release_reports
from dpdb.answers.derived import derived_table, only_value
from dpdb.answers.estimates import SlotVectors
from dpdb.answers.noisy_table import NoisyTable
from dpdb.answers.record import Disclosure
from dpdb.answers.rows import answer_table
from dpdb.plan.expressions import Slot
from dpdb.plan.plan import Plan
from dpdb.plan.query import COUNTS
from dpdb.plan.statistics import Joint, Ranks
from dpdb.privacy.mechanisms import Smooth
from dpdb.privacy.noise import smooth
from dpdb.session.local_sensitivity import sensitivity, statistic
from dpdb.vectors.vector import AnyVector, finite

if TYPE_CHECKING:
    from dpdb.engines.protocol import Exact, OpenEngine
    from dpdb.privacy.noise.source import Noise


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
        if isinstance(release.mechanism, Smooth) and isinstance(release.statistic, Ranks):
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
