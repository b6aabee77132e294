"""The choice of a mechanism for a release."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import assert_never

from dpdb.errors import InternalError, InvalidOption, Place, TooLarge
from dpdb.plan.expressions.expressions import ColumnRef
from dpdb.plan.logical.query import Options
from dpdb.plan.ranges.grids import Grid
from dpdb.plan.ranges.statistics import Joint, Ranks
from dpdb.policy.budget import SMALLEST_DELTA, Neighbors
from dpdb.privacy import sensitivity
from dpdb.privacy.accounting.accountants import BudgetShare
from dpdb.privacy.gaussian_calibration import epsilon_of, variance_for
from dpdb.privacy.levels import LOOKS
from dpdb.privacy.mechanisms.box import Box
from dpdb.privacy.mechanisms.gaussian import Gaussian
from dpdb.privacy.mechanisms.kinds import NoiseKind
from dpdb.privacy.mechanisms.laplace import MAX_SCALE, Laplace
from dpdb.privacy.mechanisms.mechanism import (
    Additive,
    CountedKeys,
    KeySelection,
    Mechanism,
    TopSelection,
)
from dpdb.privacy.mechanisms.selections.bracket import MOST_RANKS, Bracket
from dpdb.privacy.mechanisms.selections.caps import FoundCaps
from dpdb.privacy.mechanisms.selections.ends import MORE_IF_CONCENTRATED, FoundEnds
from dpdb.privacy.mechanisms.selections.exponential import SLACK, Exponential
from dpdb.privacy.mechanisms.selections.found_limit import FoundLimit, is_of_use, parts
from dpdb.privacy.mechanisms.selections.found_room import FoundRoom
from dpdb.privacy.mechanisms.selections.halves import Halves
from dpdb.privacy.mechanisms.selections.peeling import Peeling
from dpdb.privacy.mechanisms.selections.threshold import Threshold
from dpdb.privacy.mechanisms.selections.walk import SPAN, Walk
from dpdb.privacy.mechanisms.selections.weighted_keys import WeightedKeys
from dpdb.privacy.mechanisms.smooth import Smooth
from dpdb.privacy.mechanisms.staircase import Staircase
from dpdb.privacy.sensitivity import Contribution
from dpdb.records import dataclass

Change = Callable[[Contribution], int]
"""Returns how far a unit with this contribution can move a statistic."""

FEW_RUNGS = 64
"""The most rungs among which the exponential mechanism finds MIN and MAX better than a walk."""


def with_usual_noise(options: Options, share: BudgetShare) -> Options:
    """The options with the less noise on counts and sums that the share allows, if they name none.

    That is Gaussian noise where its ρ is what is paid for, and Laplace noise elsewhere.
    """
    if options.mechanism or not share.concentrated or share.delta < SMALLEST_DELTA:
        return options
    if options.noise_index or options.relative_error:  # these are for Laplace noise alone
        return options
    return replace(options, mechanism=NoiseKind.GAUSSIAN)


def weighted_keys(groups: int, share: BudgetShare) -> KeySelection:
    """The selection of keys by weights; TooLarge if ε is too small."""
    mechanism = WeightedKeys(share.epsilon, share.delta, groups, share.concentrated)
    if mechanism.threshold > MAX_SCALE:
        raise TooLarge("epsilon is too small to find group values with")
    return mechanism


def largest_groups(number: int, size: int, share: BudgetShare, *, one_sided: bool) -> TopSelection:
    """The choice of so many of `size` groups; TooLarge if ε is too small."""
    epsilon = _selecting(share.part(Fraction(1, number)))
    if epsilon < 2 * SLACK:
        raise TooLarge("epsilon is too small to choose groups with")
    return Peeling(epsilon, number, size, one_sided)


def key_selection(groups: int, least_units: int, share: BudgetShare) -> CountedKeys:
    """The selection of keys of which a unit has at most `groups`; TooLarge if ε is too small."""
    each = share.part(Fraction(1, groups))
    mechanism = Threshold(each.epsilon, each.delta, groups, least_units)
    if mechanism.scale > MAX_SCALE:
        raise TooLarge("epsilon is too small to find group values with")
    return mechanism


@dataclass(frozen=True)
class MechanismChoice:
    """Chooses the mechanisms of one aggregate by the options of its query.

    Its methods raise TooLarge where a share is too small for the sensitivity, and InvalidOption
    where a mechanism needs a δ that the share does not have.
    """

    options: Options
    contribution: Contribution
    place: Place | None

    def for_total(self, lower: int, upper: int, share: BudgetShare) -> Mechanism:
        """The mechanism for a sum to which each row adds between `lower` and `upper` grid steps."""
        return self._noise(
            partial(sensitivity.total, lower, upper),
            partial(sensitivity.total_squared, lower, upper),
            share,
        )

    def for_joint(self, statistic: Joint, share: BudgetShare) -> Mechanism:
        """The noise for a vector, of one scale on all of its parts; of a kind that draws such."""
        match self.options.kind:
            case NoiseKind.LAPLACE:
                change = (
                    sensitivity.apart(statistic.apart, self.contribution)
                    if self.contribution.rooms
                    else sensitivity.joint(statistic.signed_bounds, self.contribution)
                )
                return self._scaled(Laplace(change, share.epsilon))
            case NoiseKind.GAUSSIAN | NoiseKind.STAIRCASE as kind:
                raise InternalError(f"{kind} noise draws no vectors")
            case other:
                assert_never(other)

    def for_box(self, halves: tuple[int, ...], share: BudgetShare) -> Box:
        """The noise of one box, for a number of rows and sums that a row moves by these at most."""
        noise = Box(halves, share.epsilon, sensitivity.box_steps(self.contribution))
        if noise.scale > MAX_SCALE:
            raise self._too_large()
        return noise

    def for_distinct(self, share: BudgetShare) -> Mechanism:
        """The mechanism for a number of different values."""
        return self._noise(sensitivity.distinct, sensitivity.distinct_squared, share)

    def for_limited_distinct(self, share: BudgetShare) -> FoundLimit | None:
        """The mechanism for a number of different values at a limit that is found.

        None where noise for all rows that a unit may have is as good, and where the size of the
        noise is asked for.
        """
        options, contribution = self.options, self.contribution
        rows, (part, power) = contribution.rows_per_unit, parts(share.epsilon)
        if not is_of_use(rows, share.epsilon) or options.has_accuracy_goal:
            return None
        one, rest = replace(contribution, rows_per_unit=1), share.part(1 - part)
        change = sensitivity.distinct(one)
        match options.kind:
            case NoiseKind.LAPLACE:
                noise: Laplace | Gaussian = Laplace(change, rest.epsilon)
            case NoiseKind.GAUSSIAN:
                squared = sensitivity.distinct_squared(one)
                noise = self._gaussian(change, squared, rest, single=False)
            case NoiseKind.STAIRCASE:
                return None
            case other:
                assert_never(other)
        ends = 2 if contribution.neighbors is Neighbors.REPLACE else 1
        return FoundLimit(rows, _selecting(share.part(part)), noise, ends, power)

    def for_units(self, share: BudgetShare) -> Mechanism:
        """The mechanism for a number of different privacy units."""
        return self._noise(sensitivity.units, sensitivity.units, share)

    def for_quantile(self, statistic: Ranks, share: BudgetShare) -> Mechanism:
        """The mechanism for a quantile of values on a grid.

        MIN and MAX are found by a walk, but for few rungs or bounds that are declared to be tight:
        where the bounds are near the extremes the exponential mechanism is better.
        """
        fraction = statistic.fraction
        if self.options.sensitivity == "smooth":
            return self._smooth(fraction, statistic.grid, share)
        if fraction in (0, 1) and len(statistic.rungs) > FEW_RUNGS and not _is_tight(statistic):
            return self._walk(share)
        change = sensitivity.rank(fraction, self.contribution)
        return self._exponential(change, share, sensitivity.is_one_sided_rank(fraction))

    def for_quantiles(self, fractions: tuple[Fraction, ...], share: BudgetShare) -> Halves | None:
        """The mechanism for several quantiles at once, where it is better than one for each.

        Which is better follows from how far off the ranks are likely to be, whatever the rows are.
        Ties that are cut cost a little, so a gain of less than a tenth is none.
        """
        together = Halves(fractions, share.epsilon, self.contribution)
        if not min(together.rates.values()):
            return None
        each = _selecting(share.part(Fraction(1, len(fractions))))
        changes = (sensitivity.rank(fraction, self.contribution) for fraction in fractions)
        apart = sum(((2 * change / each) ** 2 for change in changes), Fraction(0))
        return together if together.squared_error < Fraction(9, 10) * apart else None

    def for_bracket(
        self, statistic: Ranks, share: BudgetShare, confidence: float
    ) -> Bracket | None:
        """The mechanism for the interval of a quantile.

        None where the value has noise instead, and where ε is too small for any table to have
        an interval narrower than the bounds.
        """
        epsilon, groups = _selecting(share), self.contribution.groups_touched
        if self.options.sensitivity == "smooth" or epsilon < 2 * groups * SLACK:
            return None
        change = sensitivity.rank(statistic.fraction, self.contribution)
        reach = statistic.grid.upper - statistic.grid.lower
        bracket = Bracket(change, epsilon, confidence, reach, groups)
        return bracket if bracket.target < MOST_RANKS else None

    def for_ends(self, share: BudgetShare) -> FoundEnds:
        """The mechanism for bounds of values that nobody knows any of."""
        change = 2 * sensitivity.rank(Fraction(1, 2), self.contribution)
        epsilon = share.epsilon * (MORE_IF_CONCENTRATED if share.concentrated else 1)
        ends = FoundEnds(int(change), epsilon)
        self._check_selecting(min(each.epsilon for each in ends.selections), 2)
        return ends

    def for_caps(self, share: BudgetShare, farthest: int, *, of_averages: bool) -> FoundCaps:
        """The mechanism for caps on the one number that each unit has, up to the `farthest`."""
        change = 2 if self.contribution.neighbors is Neighbors.REPLACE else 1
        caps = FoundCaps(change, _selecting(share), of_averages, farthest)
        self._check_selecting(caps.epsilon, 2)
        return caps

    def for_room(self, share: BudgetShare, largest: int) -> FoundRoom:
        """The mechanism for the room of a unit in filled sums, to which a row adds `largest`."""
        room = FoundRoom(_selecting(share), self.contribution.rows_per_unit, largest)
        self._check_selecting(room.epsilon, 2)
        return room

    def for_mode(self, lower: int, upper: int, share: BudgetShare) -> Mechanism:
        """The mechanism for the value of the largest score among declared ones.

        Each row adds between `lower` and `upper` grid steps to the score of its value.
        """
        change = sensitivity.tally(lower, upper, self.contribution)
        one_sided = sensitivity.is_one_sided_tally(lower, upper, self.contribution)
        return self._exponential(change, share, one_sided)

    def _noise(self, change_of: Change, squared_of: Change, share: BudgetShare) -> Mechanism:
        """The noise that is asked for; Laplace noise of scale 0 if no row can change anything."""
        change, squared = change_of(self.contribution), squared_of(self.contribution)
        match self.options.kind if change else NoiseKind.LAPLACE:
            case NoiseKind.LAPLACE:
                looks = 1 if self.options.relative_error is None else LOOKS
                return self._scaled(Laplace(change, share.epsilon, looks))
            case NoiseKind.GAUSSIAN:
                single = self.contribution.groups_touched == 1
                return self._scaled(self._gaussian(change, squared, share, single=single))
            case NoiseKind.STAIRCASE:
                ways = [
                    Staircase(change_of(each), share.epsilon, number)
                    for each, number in self.contribution.apart
                ]
                noise = min(ways, key=lambda noise: noise.variance)
                if noise.sensitivity > MAX_SCALE:
                    raise self._too_large()
                return self._scaled(noise)
            case other:
                assert_never(other)

    def _scaled(self, mechanism: Additive) -> Additive:
        """The mechanism, whose noise fits 64 bits."""
        if mechanism.scale > MAX_SCALE:
            raise self._too_large()
        return mechanism

    def _gaussian(self, change: int, squared: int, share: BudgetShare, *, single: bool) -> Gaussian:
        self._check_delta(share, "Gaussian noise")
        if not share.concentrated:
            variance = variance_for(change, squared, single, share.epsilon, share.delta)
            return Gaussian(squared, variance, share.epsilon, share.delta)
        variance = squared / share.epsilon**2
        alone = epsilon_of(variance, change, squared, single, share.delta)
        return Gaussian(squared, variance, alone, share.delta)

    def _smooth(self, fraction: Fraction, grid: Grid, share: BudgetShare) -> Smooth:
        self._check_delta(share, "noise of smooth sensitivity")
        rows, groups = self.contribution.rows_per_unit, self.contribution.groups_touched
        mechanism = Smooth(fraction, share.epsilon, share.delta, rows, groups)
        if mechanism.largest_scale((grid.lower, grid.upper)) > MAX_SCALE:
            raise self._too_large()
        return mechanism

    def _exponential(self, change: Fraction, share: BudgetShare, one_sided: bool) -> Exponential:
        groups = self.contribution.groups_touched
        mechanism = Exponential(change, _selecting(share), one_sided, groups)
        self._check_selecting(mechanism.epsilon, groups)
        return mechanism

    def _check_selecting(self, epsilon: Fraction, selections: int) -> None:
        if epsilon < 2 * selections * SLACK:
            raise TooLarge(
                "epsilon is too small to select a value with",
                hint="ask for more epsilon, or for fewer things at once",
                place=self.place,
            )

    def _walk(self, share: BudgetShare) -> Walk:
        contribution = self.contribution
        one_way, rows = contribution.one_way, contribution.rows_per_unit
        # One way, a walk is (SPAN·ε)²/8-zCDP, so ρ = ε²/2 allows 2/SPAN times the share's ε.
        more = 2 / SPAN if share.concentrated and one_way else Fraction(1)
        walk = Walk(rows, share.epsilon * more, one_way)
        if walk.look_scale > MAX_SCALE:
            raise self._too_large()
        return walk

    def _check_delta(self, share: BudgetShare, what: str) -> None:
        if share.delta < SMALLEST_DELTA:
            raise InvalidOption(
                f"{what} needs delta above 0",
                hint="--delta 1e-6, or delta in the policy: far below 1 / the number of rows",
                place=self.place,
            )

    def _too_large(self) -> TooLarge:
        return TooLarge(
            "epsilon is too small for values this large: the noise would be all there is",
            hint="narrow the bounds, or ask for more epsilon",
            place=self.place,
        )


def _selecting(share: BudgetShare) -> Fraction:
    """The ε of an exponential mechanism that spends the share.

    It is ε²/8-zCDP, so ρ = ε²/2 allows twice the share's ε.
    """
    return share.epsilon * (2 if share.concentrated else 1)


def _is_tight(statistic: Ranks) -> bool:
    """Whether the policy says that the bounds of the column are near its extremes."""
    argument = statistic.argument
    return isinstance(argument, ColumnRef) and argument.column.tight
