"""From a plan to noisy values: the one place where exact results meet noise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpdb import describing
from dpdb.answer import Revealed
from dpdb.engines.vectors import AnyVector
from dpdb.estimates import Noisy, points, scalar
from dpdb.plan import Plan
from dpdb.privacy import selection, smooth
from dpdb.privacy.mechanisms import Exponential, Gaussian, Laplace
from dpdb.privacy.smooth import Smooth
from dpdb.releases import Ranks, Release, Tally
from dpdb.sql.query import Slot

if TYPE_CHECKING:
    from typing import Any

    import numpy.typing as npt

    from dpdb.engines.exact import Exact
    from dpdb.engines.frame import FrameEngine
    from dpdb.privacy.noise import Noise


@dataclass(frozen=True, repr=False)
class Released:
    """The noisy values of a plan, and in teaching mode what they hide."""

    noisy: Noisy
    revealed: tuple[Revealed, ...] = ()


@dataclass(frozen=True, repr=False)
class Releaser:
    """Draws the releases of plans."""

    engine: FrameEngine
    noise: Noise
    teach: bool

    def release(self, planned: Plan) -> Released:
        """Exact results, noise on each, and nothing of the exact ones left."""
        subqueries: dict[Slot, AnyVector] = {}
        within: list[Noisy] = []
        revealed: list[Revealed] = []
        for index, subplan in enumerate(planned.subplans):
            inner = self.release(subplan)
            slot = Slot("subquery", index, subplan.outputs[0].expression.kind)
            noisy = inner.noisy
            subqueries[slot] = scalar(subplan, points(subplan, noisy.draws), noisy.subqueries)
            within.append(noisy)
            revealed += inner.revealed
        exact = self.engine.exact(planned, subqueries)
        if self.teach:
            revealed += _revealed(planned, exact)
        draws = tuple(
            self._draw(release, result)
            for release, result in zip(planned.releases, exact, strict=True)
        )
        return Released(Noisy(draws, subqueries, tuple(within)), tuple(revealed))

    def release_gradually(self, plans: Sequence[Plan]) -> Callable[[int], Released]:
        """The noisy values of the first, second, … of plans that differ in their ε alone.

        Each is a coarser view of the next, so whoever has seen some has seen no more than
        the last of them tells.
        """
        from dpdb.privacy.gradual import ladder  # noqa: PLC0415 (few queries are gradual)

        (exact,) = self.engine.exact(plans[0], {})
        mechanisms = [plan.releases[0].mechanism for plan in plans]
        scales = [each.scale for each in mechanisms if isinstance(each, Laplace)]
        noises = ladder(scales, len(exact.cells), self.noise)

        def released(step: int) -> Released:
            revealed = _revealed(plans[step], [exact]) if self.teach else ()
            return Released(Noisy((exact.cells + noises[step],), {}), tuple(revealed))

        return released

    def _draw(self, drawn: Release, exact: Exact) -> npt.NDArray[Any]:
        mechanism, statistic, noise = drawn.mechanism, drawn.statistic, self.noise
        match mechanism, statistic:
            case Laplace(sensitivity=0), _:
                return np.asarray(exact.cells)
            case Laplace(scale=scale), _:
                return np.asarray(exact.cells + noise.laplace(scale, len(exact.cells)))
            case Gaussian(variance=variance), _:
                return np.asarray(exact.cells + noise.gaussian(variance, len(exact.cells)))
            case Exponential(), Ranks(grid=grid, fraction=fraction):
                ends = (grid.lower, grid.upper)
                chosen = [
                    selection.select_value(values, ends, fraction, mechanism, noise)
                    for values in exact.cells
                ]
            case Exponential(), Tally():
                chosen = [
                    selection.select_index(counts.tolist(), mechanism, noise)
                    for counts in exact.cells
                ]
            case Smooth(), Ranks(grid=grid):
                ends = (grid.lower, grid.upper)
                chosen = [smooth.release(values, ends, mechanism, noise) for values in exact.cells]
            case _:
                raise AssertionError(type(statistic))
        return np.array(chosen, dtype=np.int64)


def _revealed(planned: Plan, exact: Sequence[Exact]) -> list[Revealed]:
    """For teaching mode: what the noise of each release is about to hide."""
    shown = []
    for release, report, result in zip(
        planned.releases, describing.own_reports(planned), exact, strict=True
    ):
        if report.margin is not None and report.scale is not None:
            shown += [
                Revealed(report.column, float(int(value) * release.unit), float(report.scale))
                for value in result.cells
            ]
        if isinstance(release.mechanism, Smooth) and isinstance(release.statistic, Ranks):
            grid = release.statistic.grid
            for values in result.cells:
                stat, scale = smooth.reveal(values, (grid.lower, grid.upper), release.mechanism)
                shown.append(
                    Revealed(report.column, float(stat * grid.step), float(scale * grid.step))
                )
    return shown
