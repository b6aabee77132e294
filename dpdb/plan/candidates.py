"""The work of selecting values by the exponential mechanism, bounded from the plan alone."""

from __future__ import annotations

import math

from dpdb.errors import TooLarge
from dpdb.plan.plan import Plan, Release
from dpdb.plan.statistics import Ranks, Tally
from dpdb.privacy.bracket import Bracket
from dpdb.privacy.halves import Halves, nodes
from dpdb.privacy.mechanisms import Exponential, Smooth
from dpdb.privacy.walk import Walk

MAX_CANDIDATES = 5_000_000
"""The most candidates of all selections of a statement: a few seconds of work for any data."""
_EACH = 200
"""The fixed work of one selection, as a number of candidates."""
_SWEPT = 10
"""The number of windows of a smooth sensitivity that take as long as one candidate."""
_WIDEST = 82
"""β times the width of the widest window, at most: see `noise.smooth_sensitivity`."""


def check_candidates(planned: Plan) -> None:
    """Raise TooLarge for a plan whose selections weigh too many candidates."""
    number = sum(
        each.cells * candidate_count(release)
        for each in planned.every_plan
        for release in each.releases
    )
    if number > MAX_CANDIDATES:
        raise TooLarge(
            f"selecting these values can take {number} candidates, {MAX_CANDIDATES} are allowed",
            hint="ask for fewer of them, for fewer groups, or with more epsilon",
        )


def candidate_count(release: Release) -> int:
    """The most candidates that a release weighs for one group, whatever the rows are."""
    match release.mechanism, release.statistic:
        case Exponential() as mechanism, Ranks(grid=grid):
            # Values within reach of the target on either side, and the gaps between them.
            values = min(2 * mechanism.reach + 1, grid.upper - grid.lower + 1)
            return _EACH + 2 * values + 1
        case Halves() as halves, _:
            return sum(_EACH + 4 * halves.selection(node).reach + 3 for node in nodes(halves.root))
        case Exponential(), Tally(values=listed):
            return _EACH + len(listed)
        case Bracket(widths=widths), _:
            return _EACH + len(widths)
        case Walk(), Ranks(rungs=rungs):
            return _EACH + len(rungs)
        case Smooth(beta=beta, rows_per_unit=rows), _:
            return _EACH + (2 * rows * math.ceil(_WIDEST / beta) // _SWEPT if beta else 0)
    return 0
