"""Levels of a series that several analysts refine, and the loss of each beyond earlier ones.

The proof of the charge is in `privacy.levels`.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from dpdb.plan.physical.plan import Plan
from dpdb.plan.physical.release import Release, ReleasedGroup
from dpdb.privacy.accounting.composition import NO_LOSS, ComposedLoss
from dpdb.privacy.accounting.loss import Loss, pure
from dpdb.privacy.levels import Step, step_to
from dpdb.privacy.mechanisms.mechanism import Additive
from dpdb.records import dataclass

if TYPE_CHECKING:
    from dpdb.answers.estimates import Draws
    from dpdb.ledger.protocol import Ledger, Price, Receipt
    from dpdb.plan.relations.regions import Region
    from dpdb.vectors.vector import Array


NO_NEWS = Loss()


@dataclass(repr=False)
class Series:
    """The levels of one statistic: noisy values by the scale of their noise, which is one draw."""

    name: str
    sensitivity: Fraction | int
    levels: dict[Fraction, Array] = field(default_factory=dict)
    seen: dict[str, Fraction] = field(default_factory=dict)
    """For each analyst the scale of the finest level that was shown to this analyst."""

    @property
    def epsilon(self) -> Fraction:
        """The ε of the finest level, which all of them cost together."""
        return self.sensitivity / min(self.levels)

    def shown_to(self, analyst: str) -> Fraction:
        """The ε of the finest level that an analyst was shown; 0 where there is none."""
        return self.sensitivity / self.seen[analyst] if analyst in self.seen else Fraction(0)

    def add(self, scale: Fraction, values: Array, analyst: str) -> None:
        """Take note of a level that an analyst was shown."""
        self.levels[scale] = values
        self.seen[analyst] = min(scale, self.seen.get(analyst, scale))


@dataclass(frozen=True, repr=False)
class Shared:
    """A plan, with those of its releases, by index, that are levels of a series."""

    plan: Plan
    asker: str = ""
    steps: Mapping[int, tuple[Series, Step]] = field(default_factory=dict)
    new_to_asker: Loss = NO_NEWS
    """The loss of groups that it recalls, and that were shown to others alone."""
    everywhere: bool = False
    """Whether the loss is taken to be on all rows, wherever it is."""
    released: Fraction = Fraction(0)
    """The ε of a coarser view of the same noise that the asker was shown, and that it refines."""
    statements: int = 1
    """The number of statements that the plan answers, each of which is a query."""

    @property
    def loss(self) -> ComposedLoss:
        """The loss that the plan adds to what all analysts together were shown."""
        if self.released:
            return loss_of_step(self.plan, self.released)
        released = {index: series.epsilon for index, (series, _) in self.steps.items()}
        return further_loss(self.plan, released)

    @property
    def own_loss(self) -> ComposedLoss:
        """The loss that the plan adds to what the asker was shown."""
        shown = {index: series.shown_to(self.asker) for index, (series, _) in self.steps.items()}
        drawn = further_loss(
            self.plan, {index: before for index, before in shown.items() if before}
        )
        return drawn + ComposedLoss.of(self.new_to_asker)

    def as_they_are(self) -> Shared:
        """The levels as they can be drawn now, as others may have drawn some of them meanwhile.

        A level that can no longer be drawn exactly begins a series of its own.
        """
        steps = (
            (index, series, step_to(step.wanted, series.levels))
            for index, (series, step) in self.steps.items()
        )
        return replace(self, steps={i: (series, step) for i, series, step in steps if step})

    @property
    def region(self) -> Region | None:
        """The rows that the loss is on; None where there is no loss."""
        plan, everywhere = self.plan, self.everywhere
        if plan.sought is not None:  # bounds can be found of more rows than the answer reads
            everywhere = any(each.region != plan.region for each in plan.subplans)
            everywhere |= not plan.sought.widest  # the table of the answer has another cap
        return plan.region if self.queries and not everywhere else None

    @property
    def queries(self) -> int:
        """The number of queries that the plan counts for: none where all of it was shown before."""
        is_new = not self.released and (not self._was_shown or self.loss != NO_LOSS)
        return self.statements if is_new else 0

    @property
    def _was_shown(self) -> bool:
        """Whether any of it was shown before, to whomever, and is not drawn alone."""
        return bool(self.steps) or self.new_to_asker != NO_NEWS

    def ledger(self, ledger: Ledger) -> Ledger:
        """The ledger that knows what is shown to the asker, where that is not what is charged."""
        return ledger.showing(self.own_loss) if self._was_shown else ledger

    def price(self, ledger: Ledger) -> Price:
        """The price that `charge` takes."""
        return self.ledger(ledger).price(self.loss, self.region, self.queries)

    def charge(self, ledger: Ledger) -> Receipt:
        """Take the price; raises BudgetExceeded."""
        return self.ledger(ledger).charge(self.loss, self.region, self.queries)

    def rehearse(self, ledger: Ledger) -> None:
        """Take what an asker with a limit is shown, as if others had been shown none of it.

        So a plan that is refused, or is not, tells nothing of what others have asked.
        """
        if not self._was_shown:
            self.charge(ledger)
        elif self.own_loss != NO_LOSS:
            region = None if self.everywhere else self.plan.region
            self.ledger(ledger).charge(self.own_loss, region)

    @property
    def needs_data(self) -> bool:
        """Whether exact results are needed for any release."""
        steps = [step for _, step in self.steps.values()]
        return len(steps) < len(self.plan.fresh) or any(step.needs_data for step in steps)

    def names(self) -> tuple[str, ...]:
        """For each release that is drawn the name of its series, which may be a new one.

        There are none where a subquery or keys found in the data have a part: then the statistics
        themselves depend on noise.
        """
        if self.plan.subplans or self.plan.found:
            return ()
        places = range(self.plan.recalled, len(self.plan.releases))
        return tuple(
            self.steps[place][0].name if place in self.steps else secrets.token_hex(8)
            for place in places
        )


ReleasedCells = tuple[object, ...]
"""The rows that releases are about, and the keys of their cells."""


@dataclass(repr=False)
class AllSeries:
    """All series, found by the rows, cells, statistic and sensitivity of their releases.

    A statistic for which fresh noise was paid has several series, which are independent.
    """

    _series: dict[object, dict[str, Series]] = field(default_factory=dict)

    def add(
        self, cells: ReleasedCells, levels: Iterable[tuple[Release, str, Array]], analyst: str
    ) -> None:
        """Take note of levels that an analyst was shown: releases, names of series, and values."""
        for release, name, values in levels:
            if (noise := levelled(release)) is not None:
                named = self._series.setdefault(_subject(cells, release), {})
                series = named.setdefault(name, Series(name, noise.sensitivity))
                series.add(noise.scale, values, analyst)

    def copied(self) -> AllSeries:
        """A copy that can be added to."""
        return AllSeries(
            {
                subject: {
                    name: replace(each, levels=dict(each.levels), seen=dict(each.seen))
                    for name, each in named.items()
                }
                for subject, named in self._series.items()
            }
        )

    def foresee(
        self, cells: ReleasedCells, releases: Iterable[tuple[Release, str]], analyst: str
    ) -> None:
        """Take note of levels that will be drawn; in a copy, as they have no values yet."""
        import numpy as np  # noqa: PLC0415

        self.add(cells, ((release, name, np.zeros(0)) for release, name in releases), analyst)

    def of_group(self, cells: ReleasedCells, group: ReleasedGroup, draws: Draws) -> ReleasedGroup:
        """A group that was drawn, with the names of the series that its values are levels of."""
        names = tuple(
            self._of_level(cells, release, values)
            for release, values in zip(group.releases, draws, strict=True)
        )
        return replace(group, series=names if any(names) else ())

    def _of_level(self, cells: ReleasedCells, release: Release, values: Array) -> str | None:
        """The name of the series of which a release is a level."""
        if (noise := levelled(release)) is None:
            return None
        for name, series in self._series.get(_subject(cells, release), {}).items():
            level = series.levels.get(noise.scale)
            if level is not None and level.shape == values.shape and (level == values).all():
                return name
        return None

    def shared(self, cells: ReleasedCells, plan: Plan, asker: str) -> Shared:
        """The plan, with its releases that were shown before, by the series with the finest levels.

        Of several the one that the asker was shown most of is taken, so that its price says nothing
        of another that others had drawn.
        """
        steps: dict[int, tuple[Series, Step]] = {}
        for index in range(plan.recalled, len(plan.releases)):
            release = plan.releases[index]
            named, noise = self._series.get(_subject(cells, release), {}), levelled(release)
            if plan.subplans or plan.found or not named or noise is None:
                continue
            newest = reversed(named.values())
            series = max(newest, key=lambda each: (each.shown_to(asker), each.epsilon))
            step = step_to(noise.scale, series.levels)
            # Two releases of one statistic would be refined from the same level.
            if step is not None and all(each is not series for each, _ in steps.values()):
                steps[index] = series, step
        return Shared(plan, asker, steps)


def _subject(cells: ReleasedCells, release: Release) -> tuple[object, ...]:
    noise = levelled(release)
    return cells, release.statistic, release.unit, noise and (noise.kind, noise.sensitivity)


def levelled(release: Release) -> Additive | None:
    """The noise of a release that is one draw and can be refined; None for other releases."""
    noise = release.mechanism
    if isinstance(noise, Additive) and noise.has_levels and release.terms == 1:
        return noise
    return None


def loss_of_step(plan: Plan, before: Fraction) -> ComposedLoss:
    """The loss that a plan adds to a coarser view of the same noise, released up to the ε `before`.

    Only the sum of ε counts: other theorems were told of the last step with the first.
    """
    return replace(NO_LOSS, epsilon=plan.loss.epsilon - before)


def further_loss(plan: Plan, released: Mapping[int, Fraction]) -> ComposedLoss:
    """The loss of a plan, where levels of some releases, by index, were shown up to an ε.

    Such a release adds the difference of its ε to that one. Theorems that need the loss of the draw
    by itself are given the sum of both, or nothing where no finer level is drawn.
    """
    if not released:
        return plan.composed_loss
    added, alone = dict[int, Loss](), dict[int, Loss]()
    for index, before in released.items():
        epsilon = plan.releases[index].mechanism.loss.epsilon
        finer = epsilon > before
        added[index] = pure(epsilon - before) if finer else Loss()
        alone[index] = pure(epsilon + before) if finer else Loss()
    composed = ComposedLoss.of(plan.loss_given(alone))
    return replace(composed, epsilon=plan.loss_given(added).epsilon)
