"""OPTIONS(noise_index = …): noise in proportion to an index (Shoaran, Thomo, Weber)."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import pytest

from dpdb.policy.budget import Budget, Composition, Neighbors
from tests.support.brute import ADD_REMOVE, REPLACE
from tests.support.optional import ROWS, Record, asking, opened, refused

pytestmark = pytest.mark.usefixtures("in_memory")


def test_example_3_of_shoaran_thomo_and_weber() -> None:
    """Two counts at ε = 0.01 with Γ = {1, 10}: λ is 110 and 1100, and 10 % of noise is over z."""
    session = opened(Budget(Fraction(1, 100), Fraction(0), 1))
    query = asking("noise_index = [1, 10]", "COUNT(*), COUNT(x) FROM t")
    explained = session.execute(f"EXPLAIN {query}")
    assert explained.plan is not None
    quantiles = [r.mechanism.quantile(0.9) for r in explained.plan.releases]
    # Of whole numbers, that is: within a step of what the paper has for continuous noise.
    assert quantiles == [pytest.approx(253.3, abs=1), pytest.approx(2532.8, abs=1)]
    answer = session.execute(query)
    assert [drawn.scale for drawn in answer.releases] == [110, 1100]
    assert answer.cost == explained.cost
    assert (answer.cost.epsilon, answer.balance.epsilon_left) == (Fraction(1, 100), 0)


CHANGES = {
    (ADD_REMOVE, False): lambda low, high: max(abs(low), abs(high)),
    (ADD_REMOVE, True): lambda low, high: max(abs(low), abs(high)),
    (REPLACE, False): lambda low, high: max(high, 0) - min(low, 0),
    (REPLACE, True): lambda low, high: 2 * max(abs(low), abs(high)),
}
"""The most that one row changes a sum over filtered rows, in one cell or over several."""


@pytest.mark.parametrize(("relation", "grouped"), CHANGES, ids=str)
@pytest.mark.parametrize("number", range(1, 11))
def test_any_index_is_kept_exactly(number: int, relation: Neighbors, grouped: bool) -> None:
    """λᵢ = α·γᵢ with α = Σ(Δᵢ/γᵢ)/ε (equations 7 and 8), which makes Σ Δᵢ/λᵢ = ε."""
    random = Random(f"{number}{relation}{grouped}pure")
    record = Record()
    session = opened(Budget(Fraction(1000), Fraction(1, 10**6), 7), relation, record)
    texts, changes = [], []
    for i in range(number):
        low, high = sorted(random.sample(range(-50, 50), 2))
        counted = random.random() < 0.4
        ends = (1, 1) if counted else (low, high)
        changes.append(CHANGES[relation, grouped](*ends))
        what = "COUNT(*)" if counted else f"SUM(CLAMP(w, {low}, {high}))"
        texts.append(f"{what} FILTER (WHERE x <> {i})")
    gammas = [random.choice(["1", "10", "0.037", "1e-3", "2.5e6", "7"]) for _ in range(number)]
    epsilon = random.choice(["0.1", "1", "0.037", "12.5"])
    answer = session.execute(
        asking(
            f"noise_index = [{', '.join(gammas)}], epsilon = {epsilon}",
            f"{', '.join(texts)} FROM t{' GROUP BY g' if grouped else ''}",
        )
    )
    gamma = [Fraction(each) for each in gammas]
    alpha = sum(c / g for c, g in zip(changes, gamma, strict=True)) / Fraction(epsilon)
    assert [drawn.sensitivity for drawn in answer.releases] == changes
    assert [drawn.scale for drawn in answer.releases] == [alpha * g for g in gamma]
    assert record.asked == [alpha * g for g in gamma]
    assert sum(c / s for c, s in zip(changes, record.asked, strict=True)) == Fraction(epsilon)
    assert answer.cost.epsilon == Fraction(epsilon)


def test_an_index_is_of_scales_in_the_units_of_the_answers() -> None:
    """Not in steps of the grid, a quarter here; and an average's over n public rows are its own."""
    session = opened(relation=REPLACE)
    query = asking("noise_index = [2, 3, 5], epsilon = 1", "SUM(m), AVG(k), SUM(k) FROM t")
    scales = [drawn.scale for drawn in session.execute(query).releases]
    # Δ: 100; the width 4 over 4 rows; 4. 100/2 + 1/3 + 4/5 = 1534/30.
    assert scales == [Fraction(1534, 30) * gamma for gamma in (2, 3, 5)]


def test_under_zcdp_squares_add_up() -> None:
    budget = Budget(Fraction(1), Fraction(1, 10**6), 10, Composition.ZCDP)
    session = opened(budget)
    share = session.balance.shares[-1].epsilon
    # Three of the same weight have √3 times the noise of one, or 3 times by the sum of ε.
    answer = session.execute(asking("noise_index = [1, 5, 80]", "COUNT(*), SUM(x), SUM(m) FROM t"))
    scales = [drawn.scale for drawn in answer.releases]
    assert None not in scales
    for scale, gamma in zip(scales, (1, 5, 80), strict=True):
        assert scale / scales[0] == pytest.approx(gamma, rel=1e-15)
    squares = sum((c / scale) ** 2 for c, scale in zip((1, 5, 100), scales, strict=True))
    assert 1 - Fraction(1, 2**60) < squares / share**2 <= 1
    spent = session.balance.sums
    assert spent.rho == pytest.approx(float(share**2 / 2), rel=1e-15, abs=0)
    assert not spent.delta


def test_under_zcdp_the_sum_of_epsilon_pays_where_that_is_less_noise() -> None:
    """α = (1/1 + 5/4 + 100/10)·10: the third has nearly all of ε, or of ρ."""
    session = opened(Budget(Fraction(1), Fraction(1, 10**6), 10, Composition.ZCDP))
    answer = session.execute(asking("noise_index = [1, 4, 10]", "COUNT(*), SUM(x), SUM(m) FROM t"))
    scales = [drawn.scale for drawn in answer.releases]
    assert scales == [Fraction(245, 2) * gamma for gamma in (1, 4, 10)]
    assert answer.cost.epsilon == Fraction(1, 10)


@pytest.mark.parametrize(
    ("options", "select", "said"),
    [
        ("noise_index = [1]", "COUNT(*), SUM(x) FROM t", "2, not 1"),
        ("noise_index = [1, 2, 3]", "COUNT(*), SUM(x) FROM t", "2, not 3"),
        ("noise_index = [1, 2]", "COUNT(*), COUNT(*) FROM t", "1, not 2"),
        ("noise_index = [0, 1]", "COUNT(*), SUM(x) FROM t", "between 1e-12 and 1e12"),
        ("noise_index = [-1, 1]", "COUNT(*), SUM(x) FROM t", "between 1e-12 and 1e12"),
        ("noise_index = [1e-13, 1]", "COUNT(*), SUM(x) FROM t", "between 1e-12 and 1e12"),
        ("noise_index = [1, 1e13]", "COUNT(*), SUM(x) FROM t", "between 1e-12 and 1e12"),
        ("noise_index = [[1], 10]", "COUNT(*), SUM(x) FROM t", "a number is needed"),
        ("noise_index = [1, [10]]", "COUNT(*), SUM(x) FROM t", "a number is needed"),
        ("noise_index = [1, ten]", "COUNT(*), SUM(x) FROM t", "a number is needed"),
        ("noise_index = [1, 1 0]", "COUNT(*), SUM(x) FROM t", "a number is needed"),
        ("noise_index = [1, '10']", "COUNT(*), SUM(x) FROM t", "a number is needed"),
        ("noise_index = [1,]", "COUNT(*), SUM(x) FROM t", "a number is needed"),
        ("noise_index = []", "COUNT(*), SUM(x) FROM t", "a number is needed"),
        ("noise_index = [1, NaN]", "COUNT(*), SUM(x) FROM t", "a number is needed"),
        ("noise_index = 5", "COUNT(*) FROM t", "is a list: [1, 10]"),
        ("noise_index = '[1]'", "COUNT(*) FROM t", "is a list: [1, 10]"),
        ("noise_index = [1", "COUNT(*) FROM t", "is a list: [1, 10]"),
        (f"noise_index = [{'1, ' * 999}1]", "COUNT(*) FROM t", "200 numbers at most"),
        ("noise_index = [1, 2]", "COUNT(*), MEDIAN(x) FROM t", "others are depends on the rows"),
        ("noise_index = [1, 2]", "COUNT(*), MODE(g) FROM t", "for COUNT and SUM"),
        ("noise_index = [1, 2]", "COUNT(*), AVG(x) FROM t", "for COUNT and SUM"),
        ("noise_index = [1, 2]", "COUNT(*), STDDEV(x) FROM t", "for COUNT and SUM"),
        ("noise_index = [1, 2]", "COUNT(*), SUM(0) FROM t", "that a row can change"),
        (
            "noise_index = [1, 2], mechanism = 'gaussian'",
            "COUNT(*), SUM(x) FROM t",
            "Laplace noise",
        ),
        ("noise_index = [1, 2]", "COUNT(*) FROM t WHERE x > (SELECT COUNT(*) FROM t)", "subquery"),
        ("noise_index = [1], error = 5", "COUNT(*) FROM t", "exclude each other"),
        ("noise_index = [1], relative_error = 0.1", "COUNT(*) FROM t", "exclude each other"),
    ],
)
def test_an_index_that_cannot_be_kept(options: str, select: str, said: str) -> None:
    assert said in refused(opened(), asking(options, select))


def test_a_public_count_needs_no_index() -> None:
    session = opened(relation=REPLACE)
    counted = asking("noise_index = [1, 2]", "COUNT(*), SUM(k), SUM(x) FROM t")
    assert session.execute(counted).rows[0][0] == len(ROWS)
    assert "2, not 3" in refused(session, counted.replace("[1, 2]", "[1, 1, 2]"))
    assert "0, not 1" in refused(session, asking("noise_index = [1]", "COUNT(*) FROM t"))
