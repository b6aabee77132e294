"""Vectors of statistics: their composed loss is no more than is charged, and not much less.

For all small tables and their neighbors: what a row moves in each part of each release, over the
scale of its noise, added up, is the loss of the worst output exactly. So the largest sum over all
pairs is the loss of the statement. It must be within the charge, and at least 0.8 of it: a vector
with more noise than its charge needs would be sound, and a waste.
"""

from __future__ import annotations

from contextlib import nullcontext
from fractions import Fraction
from math import exp

import numpy as np
import pytest

from dpdb.engines.protocol import Exact
from dpdb.plan.physical.plan import Plan
from dpdb.plan.ranges.statistics import Joint
from dpdb.policy.budget import Budget, Neighbors
from dpdb.privacy import sensitivity
from dpdb.privacy.mechanisms.laplace import Laplace
from dpdb.session.purchases.executor import Executor
from tests.support.audited import noise
from tests.support.brute import ADD_REMOVE, REPLACE, World, multisets, neighbouring, profile, world
from tests.support.domains import PLENTY, read_row_kinds
from tests.support.fits import fit

pytestmark = pytest.mark.usefixtures("in_memory")

STATEMENTS = {
    "SELECT AVG(x) FROM t": "avg",
    "SELECT COUNT(*), AVG(x) FROM t": "avg",
    "SELECT COUNT(*), COUNT(x), SUM(k) FROM t": "counts",
    "SELECT COUNT(x), SUM(x), AVG(x) FROM t WHERE x >= 0": "avg",
    "SELECT COUNT(*), SUM(k) FROM t WHERE k >= 4": "avg",
    "SELECT VAR_POP(x), COUNT(*), SUM(x) FROM t": "variance",
    "SELECT STDDEV(k) FROM t": "variance",
    "SELECT COUNT(*) FILTER (WHERE k > 3), AVG(k) FILTER (WHERE k > 3) FROM t": "avg",
    "SELECT g, AVG(x), COUNT(*) FROM t GROUP BY g": "avg",
    "SELECT g, VARIANCE(x) FROM t GROUP BY g": "variance",
}
RELATIONS = [ADD_REMOVE, REPLACE]


def largest_loss(here: World, planned: Plan, sql: str) -> Fraction:
    """The largest Σ |change| / scale over all pairs of neighbouring tables of up to two rows."""
    _, kinds = read_row_kinds(sql)
    tables = [[kinds[i] for i in rows] for rows in multisets(len(kinds), 2)]
    results = here.all_exact(planned, tables)
    left, right = neighbouring(len(kinds), 2, here.policy.neighbors)
    losses = np.zeros(len(left))
    for position, release in enumerate(planned.releases):
        assert isinstance(release.mechanism, Laplace)
        if not release.mechanism.sensitivity:
            continue
        profiles = np.array([profile(release, result[position])[:, 0] for result in results])
        moved = np.abs(profiles[left] - profiles[right]).sum(axis=1)
        losses += moved / float(release.mechanism.scale)
    return Fraction(float(losses.max()))


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("sql", STATEMENTS, ids=[sql[7:] for sql in STATEMENTS])
def test_the_composed_loss_is_what_is_charged(sql: str, relation: Neighbors) -> None:
    here = world(read_row_kinds(sql)[0], relation)
    planned = here.plan(sql, Fraction(1))
    charged = planned.loss.epsilon
    if relation is ADD_REMOVE:
        assert STATEMENTS[sql] in {release.aggregate for release in planned.releases}
    assert 0.8 * charged <= largest_loss(here, planned, sql) <= charged * (1 + Fraction(1, 10**9))


def test_a_vector_that_is_charged_for_one_of_its_parts_is_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As if the sensitivity of a vector were that of the part that moves farthest."""
    sql = "SELECT COUNT(*), VAR_POP(x) FROM t"

    def of_one_part(bounds: object, contribution: sensitivity.Contribution) -> int:
        return 64 * contribution.rows_per_unit

    monkeypatch.setattr(sensitivity, "joint", of_one_part)
    here = world(read_row_kinds(sql)[0])
    planned = here.plan(sql, Fraction(1))
    assert largest_loss(here, planned, sql) > planned.loss.epsilon


def test_a_vector_is_charged_once_and_not_in_parts() -> None:
    """There is no part of it that has a mechanism, a scale or a loss of its own."""
    here = world(read_row_kinds("x k")[0])
    planned = here.plan(
        "SELECT COUNT(*), SUM(x), AVG(x), VARIANCE(x), COUNT(x) FROM t", Fraction(1)
    )
    [release] = planned.releases
    assert isinstance(release.statistic, Joint)
    assert planned.loss == release.mechanism.loss
    assert {estimate.releases for estimate in planned.estimates} == {(0,)}
    assert not any(hasattr(part, name) for part in release.parts for name in ("loss", "scale"))


def test_each_part_of_a_vector_has_discrete_laplace_noise_of_its_own() -> None:
    """Pearson's test on each of three parts and on two differences, at α = 1e-4 in all."""
    sql, runs = "SELECT COUNT(*), AVG(x) FROM t", 20_000
    columns, kinds = read_row_kinds(sql)
    here = world(columns, budget=Budget(Fraction(1), Fraction(0), 1))
    planned = here.plan(sql, Fraction(7, 2))
    [release] = planned.releases
    [cells] = here.exact(planned, [kinds[1], kinds[3]])
    repeated = np.repeat(cells, runs, axis=0)
    executor = Executor(None, noise(11), False, reading=nullcontext)  # type: ignore[arg-type]
    drawn = executor._draw(release, Exact(repeated), []) - repeated
    assert release.mechanism.scale == 2  # 7 / 3.5
    ratio = exp(-1 / 2)
    one = {z: (1 - ratio) / (1 + ratio) * ratio ** abs(z) for z in range(-60, 61)}
    two: dict[int, float] = {}
    for a, p in one.items():
        for b, q in one.items():
            two[a - b] = two.get(a - b, 0.0) + p * q
    one, two = ({z: p / sum(law.values()) for z, p in law.items()} for law in (one, two))
    assert drawn.shape == (runs, 3)
    for part in range(3):
        assert fit(drawn[:, part].tolist(), one) > 2e-5
    for first, second in ((0, 1), (1, 2)):
        assert fit((drawn[:, first] - drawn[:, second]).tolist(), two) > 2e-5


@pytest.mark.parametrize("relation", RELATIONS)
def test_what_no_row_of_an_argument_can_change_is_left_out(relation: Neighbors) -> None:
    """Of an argument with one value only the number of rows has noise."""
    here = world(read_row_kinds("k")[0], relation)
    for function in ("AVG", "VARIANCE"):
        planned = here.plan(f"SELECT {function}(k) FROM t WHERE k = 5", PLENTY)
        assert [release.aggregate for release in planned.releases] == ["count"]
