"""One answer for all: releases that somebody was told, at any scale, serve everybody else.

A release of a plan that is to be drawn is a rung of a ladder, if the same statistic was released
before: then only what is new in it is paid for by the budget, and the analyst's own account pays
the finest rung that this analyst was shown (`privacy.rungs` has the proof).
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

from dpdb.plan.increments import further_loss, has_ladder
from dpdb.plan.plan import Plan, Release
from dpdb.privacy.accounting.composition import NO_LOSS, ComposedLoss
from dpdb.privacy.mechanisms import Laplace
from dpdb.privacy.rungs import Step, step_to

if TYPE_CHECKING:
    from dpdb.answers.estimates import Array
    from dpdb.ledger.protocol import Ledger
    from dpdb.plan.regions import Region


@dataclass(repr=False)
class Ladder:
    """The rungs of one statistic: noisy values by the scale of their noise, which is one draw."""

    name: str
    sensitivity: int
    rungs: dict[Fraction, Array] = field(default_factory=dict)
    seen: dict[str, Fraction] = field(default_factory=dict)
    """For each analyst the scale of the finest rung that was shown to this analyst."""

    @property
    def epsilon(self) -> Fraction:
        """The ε of the finest rung, which all of them cost together."""
        return self.sensitivity / min(self.rungs)

    def shown_to(self, analyst: str) -> Fraction:
        """The ε of the finest rung that an analyst was shown; 0 where there is none."""
        return self.sensitivity / self.seen[analyst] if analyst in self.seen else Fraction(0)

    def add(self, scale: Fraction, values: Array, analyst: str) -> None:
        """Take note of a rung that an analyst was shown."""
        self.rungs[scale] = values
        self.seen[analyst] = min(scale, self.seen.get(analyst, scale))


@dataclass(frozen=True, repr=False)
class Shared:
    """What of a plan's releases was told before: for each, by its index, ladder and step."""

    plan: Plan
    asker: str = ""
    steps: Mapping[int, tuple[Ladder, Step]] = field(default_factory=dict)

    @property
    def loss(self) -> ComposedLoss:
        """What the plan adds to what everybody was told."""
        told = {index: ladder.epsilon for index, (ladder, _) in self.steps.items()}
        return further_loss(self.plan, told)

    @property
    def own_loss(self) -> ComposedLoss:
        """What the plan adds to what the asker was told."""
        told = {index: ladder.shown_to(self.asker) for index, (ladder, _) in self.steps.items()}
        return further_loss(self.plan, {index: before for index, before in told.items() if before})

    @property
    def region(self) -> Region | None:
        """The rows that the loss is on; None where there is no loss."""
        return self.plan.region if self.queries else None

    @property
    def queries(self) -> int:
        """How many queries it counts for: none where all of it was told before."""
        return int(not self.steps or self.loss != NO_LOSS)

    def ledger(self, ledger: Ledger) -> Ledger:
        """The ledger that knows what is shown to the asker, where that is not what is charged."""
        return ledger.showing(self.own_loss) if self.steps else ledger

    @property
    def needs_data(self) -> bool:
        """Whether exact results are needed for any release."""
        steps = [step for _, step in self.steps.values()]
        return len(steps) < len(self.plan.fresh) or any(step.needs_data for step in steps)

    def names(self) -> tuple[str, ...]:
        """For each release that is drawn the name of its ladder, which may be a new one.

        None have any where a subquery or keys that are found have a part: what they are of depends
        on noise.
        """
        if self.plan.subplans or self.plan.found:
            return ()
        places = range(self.plan.recalled, len(self.plan.releases))
        return tuple(
            self.steps[place][0].name if place in self.steps else secrets.token_hex(8)
            for place in places
        )


Cells = tuple[object, ...]
"""The rows that releases are about, and the keys of their cells."""


@dataclass(repr=False)
class Ladders:
    """All ladders by what they are of: the rows, the cells and the statistic, and its sensitivity.

    A statistic for which fresh noise was paid has several, which are independent.
    """

    _ladders: dict[object, dict[str, Ladder]] = field(default_factory=dict)

    def add(self, cells: Cells, rungs: Iterable[tuple[Release, str, Array]], analyst: str) -> None:
        """Take note of rungs that an analyst was shown: releases, names of ladders, and values."""
        for release, name, values in rungs:
            if has_ladder(release):
                assert isinstance(release.mechanism, Laplace)
                sensitivity, scale = release.mechanism.sensitivity, release.mechanism.scale
                named = self._ladders.setdefault(_subject(cells, release), {})
                named.setdefault(name, Ladder(name, sensitivity)).add(scale, values, analyst)

    def shared(self, cells: Cells, plan: Plan, asker: str) -> Shared:
        """What of a plan was told before, by the ladders with the finest rungs."""
        steps: dict[int, tuple[Ladder, Step]] = {}
        for index in range(plan.recalled, len(plan.releases)):
            release = plan.releases[index]
            named = self._ladders.get(_subject(cells, release), {})
            if plan.subplans or plan.found or not (named and has_ladder(release)):
                continue
            assert isinstance(release.mechanism, Laplace)
            ladder = max(reversed(named.values()), key=lambda each: each.epsilon)
            step = step_to(release.mechanism.scale, ladder.rungs)
            # Two releases of one statistic would be refined from the same rung.
            if step is not None and all(each is not ladder for each, _ in steps.values()):
                steps[index] = ladder, step
        return Shared(plan, asker, steps)


def _subject(cells: Cells, release: Release) -> tuple[object, ...]:
    mechanism = release.mechanism
    sensitivity = mechanism.sensitivity if isinstance(mechanism, Laplace) else None
    return cells, release.statistic, release.unit, sensitivity
