"""What a plan loses beyond what of its releases was told before, as levels of series.

Why this is what it costs is proved in `privacy.levels`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

from dpdb.plan.plan import Plan, Release
from dpdb.privacy.accounting.composition import ComposedLoss
from dpdb.privacy.accounting.loss import Loss, pure
from dpdb.privacy.mechanisms import Laplace


def has_levels(release: Release) -> bool:
    """Whether a release is a statistic with Laplace noise of one scale, which can be refined."""
    mechanism = release.mechanism
    if not isinstance(mechanism, Laplace):
        return False
    return bool(mechanism.sensitivity) and mechanism.looks == 1 and release.terms == 1


def further_loss(plan: Plan, told: Mapping[int, Fraction]) -> ComposedLoss:
    """The loss of a plan, where levels of some releases, by index, were told up to an ε.

    Such a release adds the difference of its ε to that one. Theorems that need the loss of the draw
    by itself are given the sum of both, or nothing where no finer level is drawn.
    """
    if not told:
        return plan.composed_loss
    added, alone = dict[int, Loss](), dict[int, Loss]()
    for index, before in told.items():
        epsilon = plan.releases[index].mechanism.loss.epsilon
        finer = epsilon > before
        added[index] = pure(epsilon - before) if finer else Loss()
        alone[index] = pure(epsilon + before) if finer else Loss()
    composed = ComposedLoss.of(plan.loss_given(alone))
    return replace(composed, epsilon=plan.loss_given(added).epsilon)
