"""Statistics that add up: what is held of the parts is no more than the answer needs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field

import numpy as np

from dpdb.engines.protocol import WORD, Exact
from dpdb.engines.statistics.gathered import Accumulator, CellPairs, DifferentTexts, Gathered
from dpdb.engines.statistics.rank_windows import AllValues, RefinedWindows, RungCounts
from dpdb.engines.statistics.statistics import Statistics
from dpdb.engines.values.coded_values import present
from dpdb.plan.expressions.single_values import DistinctValue, single_value
from dpdb.plan.physical.plan import Plan, Release
from dpdb.plan.ranges.statistics import (
    Count,
    Distinct,
    Histogram,
    Joint,
    Ranks,
    Statistic,
    Tally,
    Total,
)
from dpdb.privacy.mechanisms.mechanism import Mechanism, counts_rungs, rank_reach
from dpdb.records import dataclass
from dpdb.vectors.vector import Array


def adds_up(plan: Plan) -> bool:
    """Whether there is an accumulator for each statistic of a plan.

    Where different values are added up there is none, as several parts can have the same ones.
    """
    arguments = (estimate.aggregate.argument for estimate in plan.estimates)
    if any(isinstance(single_value(argument), DistinctValue) for argument in arguments):
        return False
    return all(_adds_up(release.statistic) for release in plan.exact_releases)


def _adds_up(statistic: Statistic) -> bool:
    if isinstance(statistic, Joint):
        return all(isinstance(part.statistic, Count | Total) for part in statistic.parts)
    return isinstance(statistic, Count | Histogram | Total | Tally | Distinct | Ranks)


def exact_results(plan: Plan, add_all: Callable[[list[Accumulator]], None]) -> tuple[Exact, ...]:
    """The exact result of each of a plan's own releases, in order.

    `add_all` adds all parts of the plan's table to what it is given: what waits for a further pass.
    """
    results = _accumulators(plan.exact_releases, plan.cells if plan.keys else 1)
    waiting = list(dict.fromkeys(results))
    while waiting:
        add_all(waiting)
        waiting = [each for each in waiting if not each.settle()]
    return tuple(Exact(each.result()) for each in results)


def _accumulators(releases: Sequence[Release], cells: int) -> list[Accumulator]:
    """The accumulator of each release, whose statistic adds up, for an answer of so many cells.

    Releases of the same statistic have the same one.
    """
    mechanisms: dict[Statistic, list[Mechanism]] = {}
    for release in releases:
        mechanisms.setdefault(release.statistic, []).append(release.mechanism)
    made = {each: _accumulator(each, looking, cells) for each, looking in mechanisms.items()}
    return [made[release.statistic] for release in releases]


def _accumulator(statistic: Statistic, mechanisms: Sequence[Mechanism], cells: int) -> Accumulator:
    """The accumulator of a statistic at which these mechanisms look."""
    match statistic:
        case Distinct():
            return _Different(statistic, cells)
        case Ranks() if all(map(counts_rungs, mechanisms)):
            return RungCounts(statistic, cells)
        case Ranks() if (reach := _reach(mechanisms)) is not None:
            return RefinedWindows(statistic, cells, reach)
        case Ranks():
            return AllValues(statistic, cells)
    return _Sum(statistic)


def _reach(mechanisms: Sequence[Mechanism]) -> int | None:
    """How many ranks to either side mechanisms look at; None where one may look at all."""
    reaches = [reach for each in mechanisms if (reach := rank_reach(each)) is not None]
    return max(reaches) if len(reaches) == len(mechanisms) else None


@dataclass(eq=False)
class _Sum(Accumulator):
    """Numbers that add up, in a representation that holds those of the largest table.

    A tally has a row of them for each cell.
    """

    statistic: Statistic
    _sum: Array = field(default_factory=lambda: np.zeros(1, dtype=np.int64), repr=False)

    def add(self, part: Statistics) -> None:
        self._sum = self._sum + np.asarray(part.statistic(self.statistic))

    def join(self, other: _Sum) -> None:
        self._sum = self._sum + other._sum

    def result(self) -> Array | list[Array]:
        return list(self._sum) if isinstance(self.statistic, Tally) else self._sum


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
