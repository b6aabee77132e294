"""Statistics that add up: no more is held of the batches of rows than the answer needs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import field, replace
from math import isqrt

import numpy as np

from dpdb.engines.loop import Work
from dpdb.engines.protocol import WORD, Exact, KeyCounts
from dpdb.engines.statistics.gathered import Accumulator, CellPairs, DifferentTexts, Gathered
from dpdb.engines.statistics.groups import declared_codes
from dpdb.engines.statistics.limited_distinct import UnitValues
from dpdb.engines.statistics.rank_windows import AllValues, RefinedWindows, RungCounts
from dpdb.engines.statistics.statistics import Statistics
from dpdb.engines.units.caps import PlanRows
from dpdb.engines.values.coded_values import present
from dpdb.plan.expressions.single_values import DistinctValue, single_value
from dpdb.plan.physical.plan import Plan
from dpdb.plan.ranges.statistics import (
    Count,
    Distinct,
    FilledLadder,
    Histogram,
    Joint,
    LimitedDistinct,
    Ranks,
    Statistic,
    Tally,
    Total,
)
from dpdb.privacy.mechanisms.mechanism import GridSelection, Mechanism, rank_reach
from dpdb.privacy.mechanisms.selections.weighted_keys import UNIT
from dpdb.records import dataclass
from dpdb.vectors.evaluate import evaluate
from dpdb.vectors.keys import numbered, whole
from dpdb.vectors.vector import AnyVector, Array, TextVector, Vector, concatenated


def adds_up(plan: Plan) -> bool:
    """Whether there is an accumulator for each statistic of a plan.

    Where different values are added up there is none, as several batches can have the same ones.
    """
    arguments = (estimate.aggregate.argument for estimate in plan.estimates)
    if any(isinstance(single_value(argument), DistinctValue) for argument in arguments):
        return False
    return all(isinstance(each, Distinct | Ranks) or _is_sum(each) for each in _statistics_of(plan))


def has_sums_alone(plan: Plan) -> bool:
    """Whether all statistics of a plan are sums over batches."""
    return adds_up(plan) and all(map(_is_sum, _statistics_of(plan)))


def _statistics_of(plan: Plan) -> Iterator[Statistic]:
    return (release.statistic for release in plan.exact_releases)


def _is_sum(statistic: Statistic) -> bool:
    if isinstance(statistic, Joint):
        return all(_is_sum(part.statistic) for part in statistic.parts)
    return isinstance(statistic, Count | Histogram | Total | FilledLadder | Tally)


@dataclass(repr=False)
class PlanStatistics(Work[PlanRows, tuple[Exact, ...]]):
    """The exact result of each of a plan's own releases, in order."""

    plan: Plan
    _each: Sequence[Accumulator]
    """The accumulator of each release."""
    _waiting: list[Accumulator]
    """The accumulators that need a pass."""

    @classmethod
    def of(cls, plan: Plan) -> PlanStatistics:
        """Of rows that come in several batches. Releases of one statistic share an accumulator."""
        looking: dict[Statistic, list[Mechanism]] = {}
        for release in plan.exact_releases:
            looking.setdefault(release.statistic, []).append(release.mechanism)
        cells = plan.cells if plan.keys else 1
        return cls._made(plan, {s: _accumulator(s, looking[s], cells) for s in looking})

    @classmethod
    def of_sums(cls, plan: Plan) -> PlanStatistics:
        """Of rows that come in one batch, or in several if the plan has sums alone."""
        return cls._made(plan, {each: _Sum(each) for each in _statistics_of(plan)})

    @classmethod
    def _made(cls, plan: Plan, made: Mapping[Statistic, Accumulator]) -> PlanStatistics:
        return cls(plan, [made[each] for each in _statistics_of(plan)], [*made.values()])

    def copy(self) -> PlanStatistics:
        return replace(self, _each=(), _waiting=deepcopy(self._waiting))

    def add(self, rows: PlanRows) -> None:
        statistics = Statistics(self.plan, rows)
        for each in self._waiting:
            each.add(statistics)

    def join(self, other: PlanStatistics) -> None:
        for own, its in zip(self._waiting, other._waiting, strict=True):
            own.join(its)

    def settle(self) -> bool:
        self._waiting = [each for each in self._waiting if not each.settle()]
        return not self._waiting

    def result(self) -> tuple[Exact, ...]:
        return tuple(Exact(each.result()) for each in self._each)


def _accumulator(statistic: Statistic, mechanisms: Sequence[Mechanism], cells: int) -> Accumulator:
    """The accumulator of a statistic at which these mechanisms look."""
    match statistic:
        case LimitedDistinct():
            return _OfUnits(statistic, cells)
        case Distinct():
            return _Different(statistic, cells)
        case Ranks() if all(isinstance(each, GridSelection) for each in mechanisms):
            return RungCounts(statistic, cells)
        case Ranks() if (reach := _reach(mechanisms)) is not None:
            return RefinedWindows(statistic, cells, reach)
        case Ranks():
            return AllValues(statistic, cells)
    return _Sum(statistic)


def _reach(mechanisms: Sequence[Mechanism]) -> int | None:
    """Number of ranks to either side that mechanisms look at; None if one may look at all."""
    reaches = [reach for each in mechanisms if (reach := rank_reach(each)) is not None]
    return max(reaches) if len(reaches) == len(mechanisms) else None


@dataclass(eq=False)
class _Sum(Accumulator):
    """Numbers that add up, in a representation that holds those of the largest table.

    A tally has a row of them for each cell. The statistic of a single batch is held as it is.
    """

    statistic: Statistic
    _sum: Array | list[Array] | None = field(default=None, repr=False)

    def add(self, part: Statistics) -> None:
        self._add(part.statistic(self.statistic))

    def join(self, other: _Sum) -> None:
        assert other._sum is not None
        self._add(other._sum)

    def _add(self, own: Array | list[Array]) -> None:
        if self._sum is None:
            self._sum = own
        elif isinstance(own, list):
            self._sum = [one + more for one, more in zip(self._sum, own, strict=True)]
        else:
            self._sum = self._sum + own

    def result(self) -> Array | list[Array]:
        assert self._sum is not None
        return self._sum


@dataclass(eq=False)
class _OfUnits(Accumulator):
    """The different values of each unit, until those of all units are there."""

    statistic: LimitedDistinct
    cells: int
    _found: Gathered[UnitValues] = field(
        default_factory=lambda: Gathered(UnitValues.together), repr=False
    )

    def add(self, part: Statistics) -> None:
        self._found.add(part.unit_values(self.statistic))

    def join(self, other: _OfUnits) -> None:
        self._found.add(other._found.all())

    def result(self) -> Array:
        return self._found.all().per_cell(self.statistic.limits, self.cells)


@dataclass(eq=False)
class _Different(Accumulator):
    """The different values of each cell.

    Texts are numbered in the order in which they come, as each part has its own codes for them.
    A column of stored texts is stored so in all parts.
    """

    statistic: Distinct
    cells: int
    _numbers: dict[object, int] = field(default_factory=dict, repr=False)
    _found: Gathered[CellPairs] = field(
        default_factory=lambda: Gathered(CellPairs.together), repr=False
    )
    _stored: DifferentTexts = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._stored = DifferentTexts(self.cells)

    def add(self, part: Statistics) -> None:
        hashed = part.hashes(self.statistic, self._stored.factors)
        if hashed is not None:
            self._stored.add(*hashed)
            return
        own = part.different(self.statistic)
        codes = own.codes if own.texts is None else self._numbered(own.codes, own.texts)
        self._found.add(self._pairs(own.cells, codes))

    def join(self, other: _Different) -> None:
        if other._stored:
            self._stored.join(other._stored)
            return
        found = other._found.all()
        texts = [*other._numbers]
        codes = self._numbered(found.values, texts) if texts else found.values
        self._found.add(self._pairs(found.cells, codes))

    def _pairs(self, cells: Array | None, codes: Array) -> CellPairs:
        return CellPairs(None if self.cells == 1 else cells, codes)

    def _numbered(self, codes: Array, texts: Sequence[object]) -> Array:
        known, used = self._numbers, np.flatnonzero(present(codes, len(texts)))
        names = map(texts.__getitem__, used.tolist())
        numbers = np.empty(len(texts), dtype=np.int64)
        numbers[used] = [known.setdefault(name, len(known)) for name in names]
        return numbers[codes]

    def result(self) -> Array:
        if self._stored:
            return self._stored.per_cell().astype(WORD, copy=False)
        return self._found.all().per_cell(self.cells).astype(WORD, copy=False)


def key_counts(plan: Plan, of: PlanRows) -> KeyCounts:
    """The keys of the rows that count, in their order, and the number of units of each.

    A row counts for no key if it has no value of the declared keys beside them.
    """
    assert plan.found is not None
    counted = of.counted(plan)
    inside = declared_codes(plan, of.frame, of.rows) < plan.declared_groups
    kept = np.flatnonzero(inside if counted is None else counted & inside)
    keys = [plan.keys[place] for place in plan.found.places]
    vectors = [whole(evaluate(key, of.frame), of.rows) for key in keys]
    groups, first = numbered(vectors, kept)
    each = np.full(len(kept), UNIT, WORD)
    if of.owners is not None:
        owners = of.owners[kept].astype(np.int64)
        number = int(owners.max(initial=0)) + 1
        # Each pair of a key and a unit that there is counts once.
        groups, owners = np.divmod(np.unique(groups * number + owners), number)
        sizes = np.bincount(owners)
        roots = [0, *(isqrt(UNIT**2 // t) for t in range(1, int(sizes.max(initial=0)) + 1))]
        each = np.array(roots, WORD)[sizes[owners]]
    units = np.bincount(groups, minlength=len(first)).astype(WORD)
    weights = np.zeros(len(first), WORD)
    np.add.at(weights, groups, each)
    columns = tuple(zip(vectors, (key.kind for key in keys), strict=True))
    return KeyCounts(units, first, columns, weights)


@dataclass(repr=False)
class UnitedKeys(Work[PlanRows, KeyCounts]):
    """The keys of all rows with their numbers of units; no unit has rows in two batches."""

    plan: Plan
    _parts: Gathered[KeyCounts] = field(default_factory=lambda: Gathered(_united), repr=False)

    def copy(self) -> UnitedKeys:
        return UnitedKeys(self.plan)

    def add(self, rows: PlanRows) -> None:
        found = key_counts(self.plan, rows)
        columns = tuple((_at(vector, found.rows), kind) for vector, kind in found.columns)
        rows_of = np.arange(len(found.rows))
        self._parts.add(KeyCounts(found.units, rows_of, columns, found.weights))

    def join(self, other: UnitedKeys) -> None:
        self._parts.add(other.result())

    def result(self) -> KeyCounts:
        return self._parts.all()


def _united(parts: Sequence[KeyCounts]) -> KeyCounts:
    """The keys of all parts in their order."""
    kinds = [kind for _, kind in parts[0].columns]
    vectors = [
        concatenated(
            [part.columns[place][0] for part in parts], [len(part.units) for part in parts]
        )
        for place in range(len(kinds))
    ]
    groups, first = numbered(vectors, np.arange(sum(len(part.units) for part in parts)))
    units, weights = np.zeros((2, len(first)), dtype=WORD)
    np.add.at(units, groups, np.concatenate([part.units for part in parts]))
    np.add.at(weights, groups, np.concatenate([part.weights for part in parts]))
    columns = tuple((_at(v, first), kind) for v, kind in zip(vectors, kinds, strict=True))
    return KeyCounts(units, np.arange(len(first)), columns, weights)


def _at(vector: AnyVector, rows: Array) -> AnyVector:
    """The values in some rows of a vector that has one for each row."""
    if isinstance(vector, TextVector):
        return TextVector(vector.codes[rows], vector.dictionary)
    return Vector(vector.values[rows], None if vector.null is None else vector.null[rows])
