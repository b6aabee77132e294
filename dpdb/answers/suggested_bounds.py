"""Bounds that APPROX_BOUNDS suggests, from the noisy numbers of values in bins."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpdb.answers.declarations import plain_value
from dpdb.plan.approx_bounds import FAILURE, bins, threshold
from dpdb.plan.estimate import Estimate
from dpdb.plan.expressions import Cast, ColumnRef
from dpdb.plan.plan import Plan
from dpdb.plan.query import Function
from dpdb.policy.catalog import Column, Kind
from dpdb.privacy.mechanisms import Gaussian, Laplace

if TYPE_CHECKING:
    import numpy.typing as npt

    Draws = Sequence[npt.NDArray[Any]]

Bounds = tuple[Fraction, Fraction]


def suggested(estimate: Estimate, plan: Plan, draws: Draws) -> Bounds | None:
    """The ends of the outermost bins with noisy numbers above the threshold; None without any."""
    assert estimate.aggregate.argument is not None
    own, (release,) = bins(estimate.aggregate.argument.kind), estimate.releases
    mechanism = plan.releases[release].mechanism
    assert isinstance(mechanism, Laplace | Gaussian)
    numbers = reversed(draws[release][0].tolist())  # the highest bin is drawn first
    least = threshold(mechanism, len(own))
    passed = [each for each, number in zip(own, numbers, strict=True) if number > least]
    return (passed[0].low, passed[-1].high) if passed else None


def as_text(bounds: Bounds) -> str:
    """The bounds as a policy has them."""
    low, high = (plain_value(bound, Kind.NUMBER) for bound in bounds)
    return f"[{low}, {high}]"


def bounds_notes(plan: Plan, draws: Draws) -> tuple[str, ...]:
    """For each column whose bounds were asked for, how to use what was found."""
    return tuple(
        note
        for estimate in plan.estimates
        if estimate.aggregate.function is Function.APPROX_BOUNDS and estimate.releases
        for note in _notes(estimate, suggested(estimate, plan, draws))
    )


def bin_notes(plan: Plan) -> tuple[str, ...]:
    """From how many values on a bin is found, which the plan alone says."""
    least = [
        threshold(release.mechanism, release.size)
        for release in plan.releases
        if release.aggregate == "bins" and isinstance(release.mechanism, Laplace | Gaussian)
    ]
    return tuple(
        f"bounds leave out what is beyond the last powers of two with about {number:.0f} values "
        f"or more; noise makes up a bin in {FAILURE:.1%} of answers at most"
        for number in dict.fromkeys(least)
    )


def _notes(estimate: Estimate, bounds: Bounds | None) -> Iterator[str]:
    if bounds is None:
        yield "in no bin are there enough values to be told from noise: more epsilon may find some"
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
