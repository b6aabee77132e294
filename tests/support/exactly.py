"""The exact results of a query, as `session` gets them, for tests that look behind the noise."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from dpdb.answers.estimates import points, scalar
from dpdb.engines.memory import MemoryEngine
from dpdb.engines.protocol import Engine
from dpdb.plan.expressions.expressions import Slot
from dpdb.plan.logical import query
from dpdb.plan.physical.moments import moments_of
from dpdb.plan.physical.plan import Plan
from dpdb.plan.physical.release import Release
from dpdb.plan.planner import plan
from dpdb.plan.ranges.statistics import Joint, Ranks, Total
from dpdb.plan.releases.release_groups import ReleaseGroup
from dpdb.policy.catalog import Policy
from dpdb.policy.reading.reader import read_policy
from dpdb.privacy.accounting.accountants import BudgetShare
from dpdb.session.backends import PublicFacts
from dpdb.sql.selects.statements import Select, statement

EPSILON = Fraction(10_000)
"""Asked for each query: planning refuses bounds whose noise would not fit 64 bits."""


def _nothing(*_: object) -> None:
    """Stands where an contradiction is looked for. A mock would take longer to make than a plan."""


@contextmanager
def nothing_settled() -> Iterator[None]:
    """Plans have a release even of what the policy knows without a row."""
    with mock.patch.object(query, "contradiction", _nothing):
        yield


@contextmanager
def counts_alone() -> Iterator[None]:
    """Plans have a release for each count, and none is drawn as a sum over segments."""
    with mock.patch("dpdb.plan.releases.release_groups.count_groups", return_value=[]):
        yield


@contextmanager
def aggregates_alone() -> Iterator[None]:
    """Plans have a group of releases for each aggregate."""

    def one_by_one(asked: Any, *_: Any) -> list[ReleaseGroup]:
        return [ReleaseGroup(index, moments_of(aggregate)) for index, aggregate in asked]

    with (
        counts_alone(),
        mock.patch("dpdb.plan.releases.release_groups._over_one_filter", one_by_one),
    ):
        yield


def planned(
    text: str, policy: Policy, engine: Engine | None = None, *, together: bool = False
) -> Plan:
    """The plan of a SELECT, with a release even of what is known without a row.

    Each aggregate has its own, too, unless they are to be drawn together.
    """
    engine = engine or MemoryEngine()
    found = statement(text, policy, PublicFacts(None))
    assert isinstance(found, Select)
    with nothing_settled(), nullcontext() if together else aggregates_alone():
        return plan(found.query, policy, BudgetShare(EPSILON), engine.rows)


def _cells(plan: Plan, engine: Engine) -> list[Any]:
    subqueries = {}
    below = [_cells(subplan, engine) for subplan in plan.subplans]
    if plan.derived is not None:  # All the rest is computed from answers.
        return [cells for own in below for cells in own]
    for index, (subplan, own) in enumerate(zip(plan.subplans, below, strict=True)):
        # Without noise the exact results are what would have been drawn.
        inner = points(subplan, own)
        kind = subplan.outputs[0].expression.kind
        subqueries[Slot("subquery", index, kind)] = scalar(subplan, inner, {})
    return [exact.cells for exact in engine.exact(plan, subqueries)]


def raw(text: str, policy: Policy, engine: Engine | None = None) -> list[Any]:
    """What the engine hands to each mechanism, in grid steps, cell by cell."""
    engine = engine or MemoryEngine()
    return raw_of(planned(text, policy, engine), engine)


def raw_of(plan: Plan, engine: Engine) -> list[Any]:
    """The same for a plan that is already there."""
    return [
        [np.asarray(cell).tolist() for cell in cells] if isinstance(cells, list) else cells.tolist()
        for cells in _cells(plan, engine)
    ]


def exactly(text: str, policy: Policy, engine: Engine | None = None) -> list[list[Fraction]]:
    """The exact value of every release, cell by cell, in the analyst's unit."""
    engine = engine or MemoryEngine()
    return exactly_of(planned(text, policy, engine), engine)


def exactly_of(plan: Plan, engine: Engine) -> list[list[Fraction]]:
    """The same for a plan that is already there."""
    results = zip(plan.releases, raw_of(plan, engine), strict=True)
    return [[_value(release, cell) for cell in cells] for release, cells in results]


def _value(release: Release, cell: Any) -> Any:
    statistic = release.statistic
    if isinstance(statistic, Ranks):
        return [value * statistic.grid.step for value in cell]
    if isinstance(statistic, Joint):
        pairs = zip(cell, statistic.parts, strict=True)
        return [Fraction(value) * part.unit for value, part in pairs]
    if isinstance(statistic, Total) and len(statistic.coefficients) == 2:
        return cell * statistic.grid.step
    return cell if isinstance(cell, list) else Fraction(cell)


def write(folder: Path, name: str, rows: str | bytes, policy: str) -> Policy:
    """A CSV file (its header included) and its policy."""
    content = rows if isinstance(rows, bytes) else rows.encode()
    (folder / f"{name}.csv").write_bytes(content)
    (folder / f"{name}.toml").write_text(policy, encoding="utf-8")
    return read_policy(folder / f"{name}.toml")
