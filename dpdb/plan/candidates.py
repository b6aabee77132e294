"""How much work it is to select the values of a plan: told from the plan alone."""

from __future__ import annotations

import math
from collections.abc import Iterator

from dpdb.errors import TooLarge
from dpdb.plan.plan import Plan, Release
from dpdb.plan.statistics import Ranks, Tally
from dpdb.privacy.mechanisms import Exponential, Smooth

MAX_CANDIDATES = 5_000_000
"""Of all selections of a statement: a few seconds, however many rows there are."""
_EACH = 200
"""Candidates that take as long to weigh as a selection takes to begin."""
_SWEPT = 10
"""Windows of a smooth sensitivity that take as long as one candidate."""
_WIDEST = 82
"""In the exponent, β times the widest of those windows: see `smooth_sensitivity`."""


def check_candidates(planned: Plan) -> None:
    """Refuse a plan whose selections weigh too many candidates."""
    number = sum(_of_plan(planned))
    if number > MAX_CANDIDATES:
        raise TooLarge(
            f"selecting these values can take {number} candidates, {MAX_CANDIDATES} are allowed",
            hint="ask for fewer of them, for fewer groups, or with more epsilon",
        )


def _of_plan(planned: Plan) -> Iterator[int]:
    for subplan in planned.subplans:
        yield from _of_plan(subplan)
    for release in planned.releases:
        yield len(planned.groups) * candidate_count(release)


def candidate_count(release: Release) -> int:
    """How many candidates a release weighs for one group at most, whatever its rows are."""
    match release.mechanism, release.statistic:
        case Exponential() as mechanism, Ranks(grid=grid):
            # Values within reach of the target on either side, and the gaps between them.
            values = min(2 * mechanism.reach + 1, grid.upper - grid.lower + 1)
            return _EACH + 2 * values + 1
        case Exponential(), Tally(values=listed):
            return _EACH + len(listed)
        case Smooth(beta=beta, rows_per_unit=rows), _:
            return _EACH + (2 * rows * math.ceil(_WIDEST / beta) // _SWEPT if beta else 0)
    return 0
