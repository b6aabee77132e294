"""Teaching mode: what privacy forbids, to be seen failing.

With privacy off answers are exact. With the local sensitivity of [EGS]
each statistic gets Laplace noise of scale k·Δf/ε where Δf
is read off the data: a system that looks private and is not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from dpdb.answers import release_reports
from dpdb.answers.answer import Disclosure
from dpdb.answers.estimates import Values, scalar
from dpdb.errors import Unsupported
from dpdb.plan.expressions import Slot
from dpdb.plan.plan import Estimate, Plan
from dpdb.plan.statistics import Ranks
from dpdb.policy.catalog import Kind
from dpdb.privacy.mechanisms import Smooth
from dpdb.privacy.noise import smooth
from dpdb.session.local_sensitivity import sensitivity, statistic
from dpdb.vectors.vector import AnyVector, finite

if TYPE_CHECKING:
    from dpdb.engines.memory.engine import MemoryEngine
    from dpdb.engines.protocol import Exact
    from dpdb.privacy.noise.source import Noise


def disclosures(planned: Plan, exact: Sequence[Exact]) -> list[Disclosure]:
    """For teaching mode: what the noise of each release is about to hide."""
    shown = []
    for release, report, result in zip(
        planned.releases, release_reports.own_reports(planned), exact, strict=True
    ):
        if report.margin is not None and report.scale is not None:
            shown += [
                Disclosure(report.column, float(int(value) * release.unit), float(report.scale))
                for value in result.cells
            ]
        if isinstance(release.mechanism, Smooth) and isinstance(release.statistic, Ranks):
            grid = release.statistic.grid
            for values in result.cells:
                stat, scale = smooth.statistic_and_scale(
                    values, (grid.lower, grid.upper), release.mechanism
                )
                shown.append(
                    Disclosure(report.column, float(stat * grid.step), float(scale * grid.step))
                )
    return shown


_STEPS = 2**20
"""Grid steps to a noise scale: fine enough to look continuous."""


@dataclass(frozen=True)
class UnprotectedResult:
    """Unprotected answers, and what is behind them."""

    points: Values
    subqueries: Values
    revealed: tuple[Disclosure, ...]


@dataclass(frozen=True)
class UnprotectedExecutor:
    """Answers plans without protecting them."""

    engine: MemoryEngine
    noise: Noise
    epsilon: Fraction | None
    """The share of each aggregate; None for exact answers."""

    def execute(self, plan: Plan) -> UnprotectedResult:
        """The aggregates of `plan`, subqueries first."""
        subqueries: dict[Slot, AnyVector] = {}
        revealed: list[Disclosure] = []
        for index, subplan in enumerate(plan.subplans):
            inner = self.execute(subplan)
            slot = Slot("subquery", index, subplan.outputs[0].expression.kind)
            subqueries[slot] = scalar(subplan, inner.points, inner.subqueries)
            revealed += inner.revealed
        points, own = self._points(plan, subqueries)
        return UnprotectedResult(points, subqueries, (*revealed, *own))

    def _points(
        self, plan: Plan, subqueries: Mapping[Slot, AnyVector]
    ) -> tuple[Values, list[Disclosure]]:
        points: dict[Slot, AnyVector] = {}
        revealed = []
        values = self.engine.values(plan, subqueries)
        for index, (estimate, cells) in enumerate(zip(plan.estimates, values, strict=True)):
            _check(estimate)
            function = estimate.aggregate.function
            fraction = float(estimate.aggregate.fraction or 0)
            exact = np.array([statistic(function, cell, fraction) for cell in cells])
            scales = np.zeros(len(cells))
            if self.epsilon is not None:
                changes = [sensitivity(function, cell, fraction) for cell in cells]
                scales = np.array(changes) / float(self.epsilon)
            draws = self.noise.laplace(Fraction(_STEPS), len(cells)) / _STEPS
            kind = estimate.aggregate.kind
            noisy = exact + scales * draws
            shown = noisy if kind is Kind.NUMBER or self.epsilon is not None else np.rint(noisy)
            points[Slot("aggregate", index, kind)] = finite(shown, None)
            label = _label(plan, index)
            revealed += [
                Disclosure(label, float(stat), float(scale))
                for stat, scale in zip(exact, scales, strict=True)
            ]
        return points, revealed


def _check(estimate: Estimate) -> None:
    kind = estimate.aggregate.kind
    if kind in (Kind.TEXT, Kind.BOOLEAN):
        raise Unsupported(
            f"{estimate.aggregate.function.upper()} of a {kind} needs privacy on",
            place=estimate.aggregate.place,
        )


def _label(plan: Plan, index: int) -> str:
    """The first column that the aggregate is part of."""
    slot = Slot("aggregate", index, plan.estimates[index].aggregate.kind)
    labels = [output.label for output in plan.outputs if output.expression == slot]
    return labels[0] if labels else plan.estimates[index].aggregate.function.upper()
