"""Every small table, its neighbours, and what the engine makes of it.

Shared by the tests of sensitivity and loss. Tables are lists of rows of texts, as a CSV file
would hold them. They are read by the columns' own builders and capped by the engine itself: only
the walk through the file is left out, or thousands of tables would take minutes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import combinations, combinations_with_replacement
from typing import Any
from unittest import mock

import numpy as np
import numpy.typing as npt

from dpdb.engines.memory import MemoryEngine
from dpdb.engines.sources.cells.builders import builder
from dpdb.engines.sources.cells.records import MARGIN, Cells
from dpdb.engines.sources.opening import Sources
from dpdb.engines.sources.protocol import Loaded, Version
from dpdb.plan.logical.query import NO_OPTIONS, Options
from dpdb.plan.physical.plan import Plan
from dpdb.plan.physical.release import Release
from dpdb.plan.planner import plan
from dpdb.plan.ranges.statistics import Ranks
from dpdb.policy.budget import Budget, Neighbors
from dpdb.policy.catalog import Column, Policy, Table
from dpdb.privacy.accounting.accountants import BudgetShare
from dpdb.privacy.mechanisms.selections.exponential import Exponential
from dpdb.sql.selects.binder import bind
from dpdb.sql.text.tokens import read_tokens
from dpdb.vectors.columns import Codes, Numbers

Row = tuple[str, ...]
Pairs = tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]
Profile = npt.NDArray[np.int64]

ADD_REMOVE, REPLACE = Neighbors.ADD_REMOVE, Neighbors.REPLACE


class Rows:
    """Stands where a table's path does: the rows themselves, to be changed at will."""

    suffix = ".csv"

    def __init__(self, rows: Sequence[Row] = ()) -> None:
        self.rows = rows


_RESULTS: dict[object, list[list[Any]]] = {}
"""The last results of `World.all_exact`, the oldest first."""
_KEPT = 400


@dataclass(frozen=True)
class World:
    """One table `t` whose rows can be changed, and a policy for it."""

    policy: Policy
    source: Rows

    @property
    def table(self) -> Table:
        return self.policy.tables[0]

    def plan(
        self,
        sql: str,
        epsilon: Fraction = Fraction(1),
        rows: int = 3,
        options: Options = NO_OPTIONS,
    ) -> Plan:
        return plan(
            bind(read_tokens(sql), sql, self.policy, options),
            self.policy,
            BudgetShare(epsilon),
            lambda table: rows,
        )

    def exact(self, planned: Plan, rows: Sequence[Row], slots: Any = None) -> list[Any]:
        """What the engine gives for each release, on these rows."""
        self.source.rows = rows
        return [result.cells for result in MemoryEngine().exact(planned, slots or {})]

    def all_exact(self, planned: Plan, tables: Sequence[Sequence[Row]]) -> list[list[Any]]:
        """The same for each of many tables.

        Plans that ask for the same statistics share their results: their noise may differ, by what
        counts as neighbours and by what is asked, and an engine is told nothing of that.
        """
        table = self.table
        asked = (
            *(tuple(release.statistic for release in planned.releases), planned.key_values),
            *(planned.keys, planned.where, planned.sample_key),
            *(table.columns, table.unit, table.rows_per_unit, tuple(map(tuple, tables))),
        )
        if asked not in _RESULTS:
            if len(_RESULTS) == _KEPT:
                del _RESULTS[next(iter(_RESULTS))]
            _RESULTS[asked] = [self.exact(planned, rows) for rows in tables]
        return _RESULTS[asked]


def world(
    columns: Iterable[Column],
    neighbors: Neighbors = ADD_REMOVE,
    unit: str | None = None,
    rows_per_unit: int = 1,
    budget: Budget | None = None,
) -> World:
    source = Rows()
    table = Table("t", source, tuple(columns), unit, rows_per_unit)  # type: ignore[arg-type]
    return World(Policy((table,), budget or Budget(), neighbors), source)


@contextmanager
def tables_in_memory() -> Iterator[None]:
    """The engine reads tables whose path is a `Rows` from there."""
    with mock.patch.object(Sources, "of", lambda _, table: RowsSource(table)):
        yield


@dataclass(frozen=True)
class RowsSource:
    """Reads a table whose path is a `Rows`."""

    table: Table

    def load(self, names: Collection[str], *_: Any, **__: Any) -> Loaded:
        rows = self.table.path.rows  # type: ignore[attr-defined]
        columns = {
            column.name: read_cells(
                column, tuple(row[at] for row in rows), exact=column.name in self.table.identifiers
            )
            for at, column in enumerate(self.table.columns)
            if column.name in names
        }
        return Loaded(columns, len(rows), Version())


@cache
def read_cells(column: Column, cells: tuple[str, ...], *, exact: bool = False) -> Numbers | Codes:
    raws = [cell.encode() for cell in cells]
    text = b"\n" * MARGIN + b"".join(raw + b"," for raw in raws)
    lengths = np.array([len(raw) for raw in raws], dtype=np.intp)
    ends = MARGIN - 1 + np.cumsum(lengths + 1)
    gathering = builder(column, exact=exact)
    gathering.add(Cells(text, ends - lengths, ends))
    return gathering.finish()


# ------------------------------------------------------------ how far two exact results are apart


def denominator(release: Release) -> int:
    """Scores are counted in units of 1/this, to stay whole."""
    return release.statistic.fraction.denominator if isinstance(release.statistic, Ranks) else 1


def profile(release: Release, cells: Any) -> Profile:
    """What the mechanism's sensitivity is about: for each cell, the score of every candidate.

    The candidates of a quantile are all points of the grid, those of a mode the declared values.
    What gets Laplace noise, a cell or a part of a vector in one, has one "candidate", its own value.
    """
    if not isinstance(release.mechanism, Exponential):
        numbers = np.asarray(cells).ravel()
        assert all(isinstance(value, (int, np.integer)) for value in numbers)
        return numbers.astype(np.int64)[:, None]
    statistic = release.statistic
    if isinstance(statistic, Ranks):
        grid = range(statistic.grid.lower, statistic.grid.upper + 1)
        return np.array([_scores(tuple(v.tolist()), grid, statistic.fraction) for v in cells])
    return np.array([counts.tolist() for counts in cells], dtype=np.int64)


@cache
def _scores(values: tuple[int, ...], grid: range, fraction: Fraction) -> list[int]:
    """-distance(fraction·n, [#{x < v}, #{x <= v}]) for all v, as the docstring of `rank` has it."""
    assert all(value in grid for value in values)
    assert list(values) == sorted(values)
    return [int(score(values, v, fraction) * fraction.denominator) for v in grid]


def score(values: Sequence[int], candidate: int, fraction: Fraction) -> Fraction:
    """How well `candidate` does as the `fraction`-quantile of `values`."""
    below = sum(1 for value in values if value < candidate)
    upto = sum(1 for value in values if value <= candidate)
    target = fraction * len(values)
    if target < below:
        return target - below
    return upto - target if target > upto else Fraction(0)


def farthest(profiles: npt.NDArray[np.int64], pairs: Pairs) -> int:
    """The largest change between the two of any pair, added up over the cells.

    Within a cell it is that of the candidate whose score changes most. For cells with Laplace
    noise this is the ℓ1 distance. Selections in two cells are two selections, whose losses add.
    """
    left, right = pairs
    largest = 0
    for start in range(0, len(left), 20_000):
        part = slice(start, start + 20_000)
        change = np.abs(profiles[left[part]] - profiles[right[part]])
        largest = max(largest, int(change.max(axis=2).sum(axis=1).max(initial=0)))
    return largest


def widest(profiles: npt.NDArray[np.int64], pairs: Pairs) -> int:
    """The most that two candidates' scores change against each other, added up over the cells."""
    left, right = pairs
    largest = 0
    for start in range(0, len(left), 20_000):
        part = slice(start, start + 20_000)
        change = profiles[left[part]] - profiles[right[part]]
        span = change.max(axis=2) - change.min(axis=2)
        largest = max(largest, int(span.sum(axis=1).max(initial=0)))
    return largest


# ------------------------------------------------------------------------- tables and neighbours


@cache
def multisets(kinds: int, most: int, least: int = 0) -> list[tuple[int, ...]]:
    """All tables of `least` to `most` rows, up to their order; rows are numbers below `kinds`."""
    sizes = range(least, most + 1)
    return [rows for n in sizes for rows in combinations_with_replacement(range(kinds), n)]


@cache
def neighbouring(kinds: int, most: int, relation: Neighbors) -> Pairs:
    """All pairs of those tables, by their indices, that differ by one row."""
    index = {rows: i for i, rows in enumerate(multisets(kinds, most))}
    pairs: set[tuple[int, int]] = set()
    for rows in multisets(kinds, most - 1):
        larger = [index[tuple(sorted((*rows, row)))] for row in range(kinds)]
        if relation is ADD_REMOVE:
            pairs.update((index[rows], other) for other in larger)
        else:
            pairs.update(combinations(larger, 2))
    return as_pairs(pairs)


def as_pairs(pairs: Iterable[tuple[int, int]]) -> Pairs:
    both = np.array(sorted(pairs), dtype=np.intp).reshape(-1, 2)
    return both[:, 0], both[:, 1]
