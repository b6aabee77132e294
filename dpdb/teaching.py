"""Teaching mode: what privacy forbids, to be seen failing.

With privacy off answers are exact. With the local sensitivity of Evans,
Girkins and Sartor each statistic gets Laplace noise of scale k·Δf/ε where Δf
is read off the data: a system that looks private and is not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from dpdb.answer import Revealed
from dpdb.engines.vectors import AnyVector, finite
from dpdb.errors import Unsupported
from dpdb.estimates import Values, scalar
from dpdb.plan import Plan
from dpdb.policy import Kind
from dpdb.privacy.local import sensitivity, statistic
from dpdb.releases import Estimate
from dpdb.sql.query import Slot

if TYPE_CHECKING:
    from dpdb.engines.frame import FrameEngine
    from dpdb.privacy.noise import Noise

_STEPS = 2**20
"""Grid steps to a noise scale: fine enough to look continuous."""


@dataclass(frozen=True)
class Taught:
    """Unprotected answers, and what is behind them."""

    points: Values
    subqueries: Values
    revealed: tuple[Revealed, ...]


@dataclass(frozen=True)
class Lesson:
    """Answers plans without protecting them."""

    engine: FrameEngine
    noise: Noise
    epsilon: Fraction | None
    """The share of each aggregate; None for exact answers."""

    def teach(self, plan: Plan) -> Taught:
        """The aggregates of `plan`, subqueries first."""
        subqueries: dict[Slot, AnyVector] = {}
        revealed: list[Revealed] = []
        for index, subplan in enumerate(plan.subplans):
            inner = self.teach(subplan)
            slot = Slot("subquery", index, subplan.outputs[0].expression.kind)
            subqueries[slot] = scalar(subplan, inner.points, inner.subqueries)
            revealed += inner.revealed
        points, own = self._points(plan, subqueries)
        return Taught(points, subqueries, (*revealed, *own))

    def _points(
        self, plan: Plan, subqueries: Mapping[Slot, AnyVector]
    ) -> tuple[Values, list[Revealed]]:
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
                Revealed(label, float(stat), float(scale))
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
