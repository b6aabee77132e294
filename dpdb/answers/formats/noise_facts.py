"""How large the noise of a release is, for the tree of EXPLAIN: each fact a name and a text."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

from dpdb.answers.formats.sheet import figure
from dpdb.answers.notes.accuracy_notes import SURE
from dpdb.plan.physical.plan import CONFIDENCE, Release, at_once
from dpdb.plan.ranges.statistics import Joint, Ranks
from dpdb.privacy.mechanisms.bracket import Bracket
from dpdb.privacy.mechanisms.gaussian import Gaussian
from dpdb.privacy.mechanisms.halves import Halves
from dpdb.privacy.mechanisms.laplace import Laplace
from dpdb.privacy.mechanisms.smooth import Smooth
from dpdb.privacy.mechanisms.threshold import Threshold
from dpdb.privacy.mechanisms.walk import RUNG_RATIO, Walk

CONFIDENCES = (0.5, 0.9, 0.95)
RELATIVE_ERROR = Fraction(1, 10)


def noise_facts(release: Release, competing_rows: int) -> Iterator[tuple[str, str]]:
    """What is public of the noise of a release."""
    match release.mechanism, release.statistic:
        case Threshold() as mechanism, _:
            yield from _keys(mechanism)
            yield from _noise(mechanism.noise, release, competing_rows)
        case Walk() as mechanism, Ranks() as statistic:
            yield from _walk(mechanism, statistic, competing_rows)
        case Bracket() as mechanism, _:
            yield from _bracket(mechanism)
        case Halves() as mechanism, _:
            yield (
                "noise",
                f"{len(mechanism.fractions)} values are chosen, in {mechanism.root.levels} levels "
                "of halves; how near depends on the rows",
            )
        case ((Laplace() | Gaussian()), Joint()):
            return
        case (Laplace() | Gaussian()) as mechanism, _:
            yield from _noise(mechanism, release, competing_rows)
        case Smooth(), _:
            yield "noise", "in proportion to the smooth sensitivity"
        case _:
            yield "noise", "a value within the bounds is chosen; how near depends on the rows"


def _noise(
    mechanism: Laplace | Gaussian, release: Release, competing_rows: int
) -> Iterator[tuple[str, str]]:
    """How large the noise is, and the least answer that it changes by at most 10 %.

    The latter is the minimum true answer (MTA) of [STW] equation 6.
    """
    each = [at_once(confidence, competing_rows) for confidence in CONFIDENCES]
    margins = [Fraction(mechanism.quantile(confidence, release.terms)) * release.unit
               for confidence in each]  # fmt: skip
    shown = [f"± {figure(m)} ({c:.0%})" for m, c in zip(margins, CONFIDENCES, strict=True)]
    yield "noise", ", ".join(shown)
    least = [f"{figure(m / RELATIVE_ERROR)} ({c:.0%})"
             for m, c in zip(margins, CONFIDENCES, strict=True)]  # fmt: skip
    yield "MTA", f"{', '.join(least)}: noise within 10 %"


def _keys(threshold: Threshold) -> Iterator[tuple[str, str]]:
    """From how many units on a key is shown."""
    yield (
        "shown",
        f"from about {threshold.shown_from} units on, for sure from {threshold.surely_from}",
    )


def _walk(walk: Walk, statistic: Ranks, competing_rows: int) -> Iterator[tuple[str, str]]:
    """Where a walk stops, and what that tells of the extreme value."""
    confidence = at_once(CONFIDENCE, competing_rows)
    greatest = bool(statistic.fraction)
    rungs, side = len(statistic.rungs), "above" if greatest else "below"
    yield "ladder", f"{rungs} values, {100 * (RUNG_RATIO - 1):.1f} % apart far from zero"
    most = walk.rows_above(confidence, rungs)
    yield ("stops", f"where about {walk.threshold} rows are left {side}; {SURE}: {most} at most")
    steps = 2 + walk.steps_below(confidence)
    what, direction = ("greatest", "below") if greatest else ("least", "above")
    yield (
        "says",
        f"{SURE}: the {what} value is {side} the one {steps} steps {direction}; "
        "nothing is said of how far",
    )


def _bracket(bracket: Bracket) -> Iterator[tuple[str, str]]:
    """What half-widths there are, and how many ranks the interval is likely to span."""
    yield "widths", f"{len(bracket.widths)} half-widths, each √2 times the one before"
    ranks = math.ceil(bracket.target)
    yield (
        "says",
        f"{SURE}: the exact value is within ±; about {ranks} rows to spare on either side make it "
        "so",
    )
