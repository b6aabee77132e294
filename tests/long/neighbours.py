"""Random neighbouring tables, and how far the exact statistics of a query are apart on them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from dpdb.answers.estimates import points, scalar
from dpdb.engines.memory import MemoryEngine
from dpdb.plan.expressions.expressions import Slot
from dpdb.plan.physical.plan import Plan
from dpdb.plan.physical.release import Release
from dpdb.plan.ranges.statistics import Ranks
from dpdb.policy.budget import Neighbors
from dpdb.policy.catalog import Policy
from dpdb.policy.reading.reader import read_policy
from dpdb.privacy.mechanisms.gaussian import Gaussian
from dpdb.privacy.mechanisms.selections.exponential import Exponential
from dpdb.privacy.mechanisms.selections.walk import Walk
from dpdb.vectors.vector import AnyVector
from tests.support.brute import score
from tests.support.two_engines import POLICY, TEXTS

NAMES = ("id", "i", "j", "n", "m", "t", "s", "b", "c", "d", "e", "p", "q")
NUMBERS = ["", "0", "-0.0", "1", "-3", "7", "0.125", "2.5", "-50", "50", "-100", "100", "99.995",
           "1e9", "-1e300", "9007199254740993", "5e-324", "NaN", "inf", "n.v.", "1_000"]  # fmt: skip
MOMENTS = ["", "1960-01-01 00:00:00", "2030-12-31T23:59:59.9999999Z", "1970-01-01 01:00+01:00",
           "2020-02-29 12:30:00.5", "1700-01-01 00:00:00", "9999-12-31 00:00:00"]  # fmt: skip
DAYS = ["", "1960-01-01", "2030-12-31", "1970-01-01", "2020-02-29", "0001-01-01", "9999-12-31"]
CELLS: Mapping[str, list[str]] = {
    **dict.fromkeys(("id", "i", "j", "n", "m"), NUMBERS),
    "t": ["", *TEXTS],
    "s": ["", "a", "b", "B", "abc", "x_y", "10%", "elsewhere"],
    **{name: ["", "true", "false", "maybe"] for name in "bc"},
    **dict.fromkeys("de", DAYS),
    **dict.fromkeys("pq", MOMENTS),
}
"""Within the bounds, at them, far beyond, and no values at all."""
OWNERS = ["", "Ann", "Bob", "Cid", "Dot"]
CHANGED = "Eve"
"""The owner whose rows differ."""
OTHERS = [*range(12), 511]
"""How many rows both tables have: with one more than 511 sums of 2^53 reach 2^62."""
Row = list[str]


@dataclass(frozen=True)
class Neighbouring:
    """A policy for two tables that differ by one privacy unit, and an engine on each."""

    policy: Policy
    engines: tuple[MemoryEngine, MemoryEngine]
    others: tuple[Policy, Policy]
    """The policy, with the path of either table."""

    def exact(
        self, plans: tuple[Plan, Plan], side: int, slots: Mapping[Slot, AnyVector]
    ) -> list[Any]:
        """The exact result of each release on one of the tables."""
        return [result.cells for result in self.engines[side].exact(plans[side], slots)]


def neighbouring(folder: Path, chance: Random) -> Neighbouring:
    """Two small tables of hostile cells, under either relation, with or without units."""
    relation = chance.choice(list(Neighbors))
    cap = chance.choice([0, 0, 1, 2, 3])
    tables = _tables(chance, relation, cap)
    unit = f'[tables.t]\nunit = "u"\nrows_per_unit = {cap}\n' if cap else ""
    owner = 'u = { type = "text" }\n' if cap else ""
    text = f'[privacy]\nneighbors = "{relation}"\n{unit}{POLICY}{owner}'
    policies = []
    for name, rows in zip(("one", "other"), tables, strict=True):
        (folder / name).mkdir(parents=True)
        header = [*NAMES, *(["u"] if cap else [])]
        lines = [",".join(f'"{cell}"' for cell in row) for row in [header, *rows]]
        content = "\n".join(lines).encode()
        (folder / name / "t.csv").write_bytes(content)
        (folder / name / "t.toml").write_text(text, encoding="utf-8")
        policies.append(read_policy(folder / name / "t.toml"))
    one, other = policies
    return Neighbouring(one, (MemoryEngine(), MemoryEngine()), (one, other))


def _tables(chance: Random, relation: Neighbors, cap: int) -> tuple[list[Row], list[Row]]:
    """The rows of both tables: all others stay as they are, but not where they are."""
    shared = [_row(chance, chance.choice(OWNERS), cap) for _ in range(chance.choice(OTHERS))]
    if not cap:
        numbers = (1, 1) if relation is Neighbors.REPLACE else chance.choice([(0, 1), (1, 0)])
    elif relation is Neighbors.REPLACE:
        numbers = (chance.randint(1, 5), chance.randint(1, 5))
    else:
        numbers = chance.choice([(0, chance.randint(1, 6)), (chance.randint(1, 6), 0)])
    tables = []
    for number in numbers:
        rows = [*shared, *(_row(chance, CHANGED, cap) for _ in range(number))]
        chance.shuffle(rows)
        tables.append(rows)
    return tables[0], tables[1]


def _row(chance: Random, owner: str, cap: int) -> Row:
    cells = [chance.choice(CELLS[name]).replace('"', '""') for name in NAMES]
    cells[0] = str(chance.randrange(60))
    return [*cells, *([owner] if cap else [])]


def changes(
    pair: Neighbouring, plans: tuple[Plan, Plan]
) -> list[tuple[Release, Fraction, Fraction]]:
    """For every release how far its exact results are apart, and how far they may be.

    `plans` are those of one statement, on either table.

    A noisy answer of a subquery is the same constant on both sides: its own change is its own
    release's.
    """
    found = []
    slots: dict[Slot, AnyVector] = {}
    for index, subplans in enumerate(zip(*(plan.subplans for plan in plans), strict=True)):
        subplan = subplans[0]
        found += changes(pair, subplans)
        assert not subplan.subplans
        kind = subplan.outputs[0].expression.kind
        noisy = points(subplan, list(map(_as_noisy, pair.exact(subplans, 0, {}))))
        slots[Slot("subquery", index, kind)] = scalar(subplan, noisy, {})
    results = zip(*(pair.exact(plans, side, slots) for side in (0, 1)), strict=True)
    for release, (one, other) in zip(plans[0].releases, results, strict=True):
        found.append((release, *_change(release, one, other)))
    return found


def _as_noisy(cells: Any) -> Any:
    """An exact result as a noisy one: of the values in each cell, the middle one is chosen."""
    if not isinstance(cells, list):
        return cells
    return np.array([sorted(each)[len(each) // 2] if len(each) else 0 for each in cells])


def _change(release: Release, one: Any, other: Any) -> tuple[Fraction, Fraction]:
    """The distance that the mechanism's sensitivity is about, and that sensitivity."""
    match release.mechanism, release.statistic:
        case Gaussian(squared=squared), _:
            apart = sum((a - b) ** 2 for a, b in _pairs(one, other))
            return Fraction(apart), Fraction(squared)
        case Exponential(sensitivity=allowed), Ranks(grid=grid, fraction=fraction):
            far = (
                _scores_apart(a.tolist(), b.tolist(), (grid.lower, grid.upper), fraction)
                for a, b in zip(one, other, strict=True)
            )
            return sum(far, Fraction(0)), allowed
        case Walk(sensitivity=rows, one_way=one_way), Ranks(rungs=rungs):
            # Rows that leave one cell and enter another move the counts of both.
            far = (
                Fraction(_ranks_apart(a.tolist(), b.tolist(), rungs))
                for a, b in zip(one, other, strict=True)
            )
            return sum(far, Fraction(0)), Fraction(rows if one_way else 2 * rows)
        case Exponential(sensitivity=allowed), _:
            far = (Fraction(int(abs(a - b).max())) for a, b in zip(one, other, strict=True))
            return sum(far, Fraction(0)), allowed
    apart = sum(abs(a - b) for a, b in _pairs(one, other))
    return Fraction(apart), Fraction(release.mechanism.sensitivity)  # type: ignore[union-attr]


def _pairs(one: Any, other: Any) -> Iterator[tuple[int, int]]:
    """The numbers of both sides; a vector of statistics has several in a cell."""
    return zip(one.ravel().tolist(), other.ravel().tolist(), strict=True)


def _ranks_apart(one: Sequence[int], other: Sequence[int], rungs: Sequence[int]) -> int:
    """The largest change of the number of rows that are above a rung, or are not."""
    return max(abs(sum(v > rung for v in one) - sum(v > rung for v in other)) for rung in rungs)


def _scores_apart(
    one: Sequence[int], other: Sequence[int], ends: tuple[int, int], fraction: Fraction
) -> Fraction:
    """The largest change of a candidate's score: it is constant between the values."""
    near = {value + step for value in (*one, *other) for step in (-1, 0, 1)} | set(ends)
    candidates = [value for value in near if ends[0] <= value <= ends[1]]
    return max(abs(score(one, v, fraction) - score(other, v, fraction)) for v in candidates)
