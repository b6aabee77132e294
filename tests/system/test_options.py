"""Queries that ask for more than an ε: how noise is shared, how large it is, and of which kind.

All through a session. Scales and tails are worked out here, from the papers' formulas and the
definitions of the distributions.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from random import Random

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, norm

from dpdb.answers.answer import Answer
from dpdb.answers.formats.explain_tree import tree
from dpdb.answers.formats.render import FORMATS
from dpdb.errors import BudgetExceeded, DpdbError, InternalError, InvalidOption
from dpdb.policy.budget import Budget, Composition, Neighbors
from dpdb.policy.catalog import Column, Kind
from dpdb.privacy.noise.smooth import statistic_and_scale
from dpdb.privacy.noise.source import Noise
from dpdb.privacy.noise.system import SystemNoise
from dpdb.session.session import Session
from tests.support.brute import ADD_REMOVE, REPLACE, Row, tables_in_memory, world

ALPHA = 1e-6
PLENTY = Budget(Fraction(1000), Fraction(1, 10**5), 100)
COLUMNS = (
    Column("g", Kind.TEXT, values=("a", "b", "c")),
    Column("x", Kind.INTEGER, Fraction(-2), Fraction(5)),
    Column("k", Kind.INTEGER, Fraction(3), Fraction(7), nullable=False),
    Column("m", Kind.NUMBER, Fraction(0), Fraction(100), Fraction(1, 4)),
    Column("w", Kind.INTEGER),
)
ROWS: list[Row] = [
    ("a", "-2", "3", "17.25", "5"),
    ("b", "5", "7", "99", "-70"),
    ("a", "", "", "", ""),
    ("z", "1", "5", "0.5", "12"),
]


@pytest.fixture(autouse=True, scope="module")
def _in_memory() -> Iterator[None]:
    with tables_in_memory():
        yield


def opened(
    budget: Budget = PLENTY, relation: Neighbors = ADD_REMOVE, noise: Noise | None = None
) -> Session:
    here = world(COLUMNS, relation, budget=budget)
    here.source.rows = ROWS
    return Session(here.policy, noise=noise)


def asking(options: str, select: str) -> str:
    return f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS({options}) {select}"


def refused(session: Session, text: str, kind: type[DpdbError] = InvalidOption) -> str:
    """What is said of a statement that is refused, by EXPLAIN as well; it costs nothing."""
    before = session.balance
    with pytest.raises(kind) as caught:
        session.execute(text)
    if kind is not BudgetExceeded:
        with pytest.raises(kind):
            session.execute(f"EXPLAIN {text}")
    assert session.balance == before
    return f"{caught.value.message} {caught.value.hint}"


@dataclass
class Record:
    """A source of noise that notes the scales, or variances, asked of it."""

    asked: list[Fraction] = field(default_factory=list)
    source: SystemNoise = field(default_factory=lambda: SystemNoise(Random(1).randbytes))
    private = True

    def laplace(self, scale, size):
        self.asked.append(scale)
        return self.source.laplace(scale, size)

    def gaussian(self, variance, size):
        self.asked.append(variance)
        return self.source.gaussian(variance, size)

    def below(self, bound):
        return self.source.below(bound)


# ------------------------------------------------------------------------- noise_index


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


@pytest.mark.parametrize("composition", [Composition.PURE, Composition.ADVANCED])
@pytest.mark.parametrize(("relation", "grouped"), CHANGES, ids=str)
@pytest.mark.parametrize("number", range(1, 11))
def test_any_index_is_kept_exactly(
    number: int, relation: Neighbors, grouped: bool, composition: Composition
) -> None:
    """λᵢ = α·γᵢ with α = Σ(Δᵢ/γᵢ)/ε (equations 7 and 8), which makes Σ Δᵢ/λᵢ = ε."""
    random = Random(f"{number}{relation}{grouped}{composition}")
    record = Record()
    session = opened(Budget(Fraction(1000), Fraction(1, 10**6), 7, composition), relation, record)
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
    if composition is Composition.PURE:
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
    share = session.balance.share.epsilon
    answer = session.execute(asking("noise_index = [1, 4, 10]", "COUNT(*), SUM(x), SUM(m) FROM t"))
    scales = [drawn.scale for drawn in answer.releases]
    assert None not in scales
    for scale, gamma in zip(scales, (1, 4, 10), strict=True):
        assert scale / scales[0] == pytest.approx(gamma, rel=1e-15)
    squares = sum((c / scale) ** 2 for c, scale in zip((1, 5, 100), scales, strict=True))
    assert 1 - Fraction(1, 2**60) < squares / share**2 <= 1
    plain = opened(budget).execute("SELECT COUNT(*) FROM t")
    assert answer.cost.epsilon == pytest.approx(float(plain.cost.epsilon), rel=1e-8)


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


# ------------------------------------------------------------------------- error


def laplace_within(z: int, scale: Fraction) -> mpmath.mpf:
    """P(|X| <= z) where P(x) ∝ exp(-|x|/scale): 1 - 2r^(z+1)/(1+r) with r = exp(-1/scale)."""
    with mpmath.workdps(60):
        r = mpmath.exp(-mpmath.mpf(scale.denominator) / scale.numerator)
        return 1 - 2 * r ** (z + 1) / (1 + r)


def gaussian_within(z: int, deviation: float) -> float:
    """P(|X| <= z) where P(x) ∝ exp(-x²/2σ²), added up."""
    x = np.arange(-math.ceil(12 * deviation) - z, math.ceil(12 * deviation) + z + 1)
    weights = np.exp(-(x**2) / (2 * deviation**2))
    return float(weights[abs(x) <= z].sum() / weights.sum())


@dataclass(frozen=True)
class Noisy:
    """An aggregate, by how much a row changes it, and the step it is counted in."""

    select: str
    change: int
    step: Fraction = Fraction(1)
    relation: Neighbors = ADD_REMOVE


COUNT = Noisy("COUNT(*) FROM t", 1)
NOISY = [
    COUNT,
    Noisy("COUNT(DISTINCT x) FROM t", 1),
    Noisy("SUM(x) FROM t", 5),
    Noisy("SUM(CLAMP(w, -1000, 3)) FROM t WHERE x > 0", 1000),
    Noisy("SUM(m) FROM t", 100, Fraction(1, 4)),
    Noisy("COUNT(*) FROM t GROUP BY g", 1),
    Noisy("COUNT(*) FROM t GROUP BY g", 2, relation=REPLACE),
    Noisy("AVG(k) FROM t", 1, Fraction(1, 4), REPLACE),  # the width 4 over n = 4 rows
]


@pytest.mark.parametrize("noisy", NOISY, ids=lambda noisy: f"{noisy.select} {noisy.relation}")
@pytest.mark.parametrize("confidence", ["0.95", "0.5", "0.99999", "0.001"])
@pytest.mark.parametrize("error", ["1000000", "100", "7.3", "1.2"])
def test_the_least_epsilon_that_keeps_an_error(noisy: Noisy, error: str, confidence: str) -> None:
    """The exact distribution of the noise is within ± error, and at 1e-5 less of ε it is not."""
    record = Record()
    session = opened(Budget(Fraction(10**4), Fraction(0), 5), noisy.relation, record)
    query = asking(f"error = {error}, confidence = {confidence}", noisy.select)
    answer = session.execute(query)
    epsilon = answer.cost.epsilon
    [scale] = record.asked
    assert scale * noisy.step == noisy.change / epsilon
    z = math.floor(Fraction(error) / noisy.step)
    assert laplace_within(z, scale) >= float(confidence)
    if epsilon > Fraction(2, 10**9):  # the least there can be
        less = scale / (1 - Fraction(1, 10**5))
        assert laplace_within(z, less) < float(confidence)


def test_each_of_several_aggregates_keeps_the_error() -> None:
    session = opened()
    answer = session.execute(asking("error = 300", "COUNT(*), SUM(x), SUM(m) FROM t"))
    alone = [
        opened().execute(asking("error = 300", f"{each} FROM t"))
        for each in ("COUNT(*)", "SUM(x)", "SUM(m)")
    ]
    assert [drawn.scale for drawn in answer.releases] == [a.releases[0].scale for a in alone]
    assert answer.cost.epsilon == sum(a.cost.epsilon for a in alone)
    assert answer.cost.queries == 1


@pytest.mark.parametrize(("change", "select"), [(1, "COUNT(*) FROM t"), (5, "SUM(x) FROM t")])
@pytest.mark.parametrize("confidence", ["0.95", "0.99999"])
def test_gaussian_noise_keeps_an_error(change: int, select: str, confidence: str) -> None:
    """Exactly, too; and at 3 % less of ε it does not: the bound on its tail is that close."""
    options = f"error = 200, confidence = {confidence}, mechanism = 'gaussian'"
    record = Record()
    session = opened(noise=record)
    answer = session.execute(asking(options, select))
    [variance] = record.asked
    assert gaussian_within(200, math.sqrt(variance)) >= float(confidence)
    less = float(answer.cost.epsilon * Fraction(97, 100))
    other = session.execute(asking(f"epsilon = {less!r}, mechanism = 'gaussian'", select))
    assert gaussian_within(200, float(other.releases[0].scale)) < float(confidence)
    assert answer.cost.delta == PLENTY.delta / PLENTY.queries


def test_delta_is_split_over_the_aggregates_that_keep_an_error() -> None:
    options = "error = 300, mechanism = 'gaussian'"
    answer = opened().execute(asking(options, "COUNT(*), SUM(x), SUM(m) FROM t"))
    assert [drawn.delta for drawn in answer.releases] == [Fraction(1, 3 * 10**7)] * 3
    assert answer.cost.delta == PLENTY.delta / PLENTY.queries


def test_what_an_error_costs_is_told_before() -> None:
    session = opened()
    query = asking("error = 100", "COUNT(*), SUM(x) FROM t WHERE k > 3")
    explained = session.execute(f"EXPLAIN {query}")
    assert session.balance.epsilon_left == PLENTY.epsilon
    answer = session.execute(query)
    assert answer.cost == explained.cost
    assert (*answer.notes, "x: values are clamped to -2 … 5") == explained.notes
    assert f"ε {float(answer.cost.epsilon):.10g} is the least" in answer.notes[0]
    assert "±100, 95 % sure" in answer.notes[0]
    assert session.execute(query).repeat
    assert not session.execute(f"EXPLAIN {query}").cost.queries


def test_a_price_that_hangs_on_the_number_of_rows() -> None:
    """An average over n public rows: the prompt asks for n then, to tell the price."""
    query = asking("error = 0.5", "AVG(k), SUM(k) FROM t")
    session = opened(relation=REPLACE)
    assert session.price(query) == session.execute(query).cost


@pytest.mark.parametrize(
    ("options", "select", "said"),
    [
        ("error = 0", "COUNT(*) FROM t", "between 1e-12 and 1e100"),
        ("error = -5", "COUNT(*) FROM t", "between 1e-12 and 1e100"),
        ("error = 1e300", "COUNT(*) FROM t", "between 1e-12 and 1e100"),
        ("error = 1e-300", "COUNT(*) FROM t", "between 1e-12 and 1e100"),
        ("error = 'a few'", "COUNT(*) FROM t", "a number is needed"),
        ("error = 1 0", "COUNT(*) FROM t", "a number is needed"),
        ("error = 5 %", "COUNT(*) FROM t", "a number is needed"),
        ("error = 0.01", "SUM(CLAMP(w, 0, 1e5)) FROM t", "no epsilon is large enough"),
        ("error = 5, confidence = 1", "COUNT(*) FROM t", "between 0 and 0.999999999"),
        ("error = 5, confidence = 0.9999999999999999999", "COUNT(*) FROM t", "0.999999999"),
        ("error = 5, confidence = 0", "COUNT(*) FROM t", "between 0 and 0.999999999"),
        ("error = 5, confidence = 95", "COUNT(*) FROM t", "between 0 and 0.999999999"),
        ("confidence = 0.9", "COUNT(*) FROM t", "goes with error or relative_error"),
        ("error = 5, epsilon = 1", "COUNT(*) FROM t", "exclude each other"),
        ("error = 5, relative_error = 0.1", "COUNT(*) FROM t", "exclude each other"),
        ("error = 5", "AVG(x) FROM t", "others are depends on the rows"),
        ("error = 5", "COUNT(*), MEDIAN(x) FROM t", "for COUNT and SUM"),
        ("error = 5", "STDDEV(x) FROM t", "for COUNT and SUM"),
        ("error = 5", "100 * COUNT(*) FROM t", "COUNT and SUM themselves"),
        ("error = 5", "SUM(x) / COUNT(*) FROM t", "COUNT and SUM themselves"),
        ("error = 5", "COUNT(*) FROM t WHERE x > (SELECT COUNT(*) FROM t)", "subquery"),
        ("error = 5, mechanism = 'gaussian', delta = 0", "COUNT(*) FROM t", "needs delta"),
    ],
)
def test_an_error_that_cannot_be_kept(options: str, select: str, said: str) -> None:
    assert said in refused(opened(), asking(options, select))


def test_an_error_that_costs_more_than_is_left() -> None:
    session = opened(Budget(Fraction(1), Fraction(0), 10))
    said = refused(session, asking("error = 1", "COUNT(*) FROM t"), BudgetExceeded)
    # 2r²/(1+r) = 1/20 has the root r = (1 + √(1 + 160))/80, and ε = -ln r.
    least = -math.log((1 + math.sqrt(161)) / 80)
    assert f"{least:.4f}"[:-1] in said
    for word in (" requested, 1 left, short by ", f"{least - 1:.4f}"[:-1]):
        assert word in said
    assert session.execute("SELECT COUNT(*) FROM t").cost.epsilon == Fraction(1, 10)


def test_nothing_noisy_keeps_any_error_for_nothing() -> None:
    for relation, select in ((REPLACE, "COUNT(*) FROM t"), (ADD_REMOVE, "SUM(0) FROM t")):
        assert opened(relation=relation).execute(asking("error = 1", select)).cost.epsilon == 0


# ------------------------------------------------------------------------- mechanism


def test_gaussian_noise_needs_delta() -> None:
    session = opened(Budget(Fraction(1), Fraction(0), 10))
    session.execute("SET mechanism = 'gaussian'")
    for select in ("COUNT(*)", "SUM(x)", "AVG(x)", "VARIANCE(x)", "COUNT(DISTINCT g)"):
        said = refused(session, f"SELECT {select} FROM t")
        assert "Gaussian noise needs delta above 0" in said
        assert "--delta 1e-6" in said
    # Values are selected as before, and what no row can change has no noise.
    assert session.execute("SELECT MEDIAN(x), MODE(g) FROM t").cost.delta == 0
    assert session.execute("SELECT SUM(0) FROM t").rows == ((0,),)
    asked = asking("delta = 1e-7, mechanism = gaussian", "COUNT(*) FROM t")
    assert "not enough delta" in refused(session, asked, BudgetExceeded)


@pytest.mark.parametrize(
    ("select", "number"),
    [("COUNT(*)", 1), ("SUM(m)", 1), ("AVG(x)", 2), ("VARIANCE(x)", 3), ("COUNT(*), AVG(x)", 3)],
)
@pytest.mark.parametrize("grouped", ["", " GROUP BY g"])
def test_gaussian_noise_costs_epsilon_and_delta(select: str, number: int, grouped: str) -> None:
    """All of the share of both, in parts for each release."""
    session = opened()
    answer = session.execute(asking("mechanism = 'gaussian'", f"{select} FROM t{grouped}"))
    assert [drawn.mechanism for drawn in answer.releases] == ["gaussian"] * number
    assert sum(drawn.epsilon for drawn in answer.releases) == answer.cost.epsilon
    assert sum(drawn.delta for drawn in answer.releases) == answer.cost.delta
    assert answer.cost.epsilon == PLENTY.epsilon / PLENTY.queries
    assert answer.cost.delta == PLENTY.delta / PLENTY.queries
    assert all(drawn.delta > 0 for drawn in answer.releases)


def test_between_two_cells_a_row_moves_by_the_root_of_two() -> None:
    """As Gaussian noise counts it: with Laplace noise the scale would be twice that of one cell."""
    session = opened(Budget(Fraction(10), Fraction(1, 10**5), 10), REPLACE)
    session.execute("SET mechanism = 'gaussian'")
    one = session.execute("SELECT COUNT(*) FROM t WHERE g = 'a'").releases[0].scale
    grouped = session.execute("SELECT g, COUNT(*) FROM t GROUP BY g").releases[0].scale
    # A little more than √2: of one cell the exact profile is known, of two a bound.
    assert math.sqrt(2) < grouped / one < 1.6


def test_set_and_options_say_the_same() -> None:
    session = opened()
    first = session.execute(asking("mechanism = 'gaussian'", "COUNT(*) FROM t"))
    session.execute("SET mechanism = 'gaussian'")
    assert session.execute("SELECT COUNT(*) FROM t").rows == first.rows
    other = session.execute(asking("mechanism = 'laplace'", "COUNT(*) FROM t"))
    assert [drawn.mechanism for drawn in other.releases] == ["laplace"]
    session.execute("SET mechanism = laplace")
    assert session.execute("SELECT COUNT(*) FROM t").repeat


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("SET mechanism = 'normal'", "'laplace' or 'gaussian'"),
        ("SET mechanism = default", "'laplace' or 'gaussian'"),
        ("SET mechanism = 1", "'laplace' or 'gaussian'"),
        ("SET sensitivity = 'rough'", "'global', or 'smooth'"),
        ("SET sensitivity = 'local'", "teaching mode only"),
        (asking("mechanism = 'normal'", "COUNT(*) FROM t"), "'laplace' or 'gaussian'"),
        (asking("mechanism = laplace gaussian", "COUNT(*) FROM t"), "'laplace' or 'gaussian'"),
        (asking("mechanism = 5", "COUNT(*) FROM t"), "'laplace' or 'gaussian'"),
        (asking("sensitivity = 'local'", "COUNT(*) FROM t"), "'global' or 'smooth'"),
        (asking("sensitivity = local", "MEDIAN(x) FROM t"), "'global' or 'smooth'"),
    ],
)
def test_words_that_are_not_known(statement: str, said: str) -> None:
    with pytest.raises(InvalidOption) as caught:
        opened().execute(statement)
    assert said in f"{caught.value.message} {caught.value.hint}"


def test_sigma_and_delta_are_explained() -> None:
    """The σ is one that makes continuous noise (ε, δ)-private (Balle and Wang 2018, Theorem 8)."""
    session = opened(Budget(Fraction(1), Fraction(1, 10**6), 10))
    query = asking("mechanism = 'gaussian'", "COUNT(*) FROM t")
    explained = session.execute(f"EXPLAIN {query}")
    sigma = float(explained.releases[0].scale)
    delta = norm.cdf(0.5 / sigma - 0.1 * sigma) - math.exp(0.1) * norm.cdf(
        -0.5 / sigma - 0.1 * sigma
    )
    assert delta == pytest.approx(1e-7, rel=1e-3)
    shown = tree(explained, ())
    for text in (f"σ = {sigma:.4g}", "δ      1e-07", "δ 1e-07", "gaussian noise", "ε      0.1"):
        assert text.casefold() in shown.casefold()
    assert f"{sigma:.10g}" in FORMATS["table"](explained)
    assert "δ 1e-07" in FORMATS["table"](explained)


GROUPS = 4000
VALUES = (1, 4, 7, 9, 10, 10, 2)
TRUTHS = {
    "COUNT(*)": 7,
    "SUM(y)": sum(VALUES),
    "AVG(y)": sum(VALUES) / 7,
    "VAR_POP(y)": float(np.var(VALUES)),
    "STDDEV_SAMP(y)": float(np.std(VALUES, ddof=1)),
    "SUM(y) / COUNT(*)": sum(VALUES) / 7,
    "COUNT(*) + AVG(y)": 7 + sum(VALUES) / 7,
}


@pytest.mark.parametrize(
    ("statistic", "epsilon"),
    [
        *((statistic, 1) for statistic in TRUTHS),
        *((s, epsilon) for s in TRUTHS for epsilon in (8, 200)),
    ],
)
def test_intervals_around_gaussian_noise_cover_the_truth(statistic: str, epsilon: int) -> None:
    """In at least 95 % of cells, as far as a binomial can be told from that at α = 1e-6."""
    columns = (
        Column("h", Kind.INTEGER, Fraction(0), Fraction(GROUPS - 1)),
        Column("y", Kind.INTEGER, Fraction(0), Fraction(10)),
    )
    here = world(columns, budget=Budget(Fraction(epsilon), Fraction(1, 10**6), 1))
    here.source.rows = [(str(h), str(y)) for h in range(GROUPS) for y in VALUES]
    session = Session(here.policy, noise=SystemNoise(Random(epsilon).randbytes))
    answer = session.execute(asking("mechanism = 'gaussian'", f"{statistic} FROM t GROUP BY h"))
    stated = [cell for (cell,) in answer.intervals if cell not in (None, (None, None))]
    assert len(stated) == GROUPS or "/" in statistic
    missed = sum(not low - 1e-9 <= TRUTHS[statistic] <= high + 1e-9 for low, high in stated)
    assert missed <= binom.isf(ALPHA, GROUPS, 0.05)
    if statistic == "SUM(y)" and epsilon == 1:
        # And in no more than it has to: σ is 50 or so here, and all is as if continuous.
        assert missed >= binom.ppf(ALPHA, GROUPS, 0.045)


# ------------------------------------------------------------------------- sensitivity


@pytest.mark.parametrize("select", ["MIN(x)", "MAX(m)", "MEDIAN(x)", "QUANTILE_CONT(k, 0.3)"])
@pytest.mark.parametrize("grouped", ["", " GROUP BY g"])
@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE])
def test_noise_of_smooth_sensitivity(select: str, grouped: str, relation: Neighbors) -> None:
    query = asking("sensitivity = 'smooth'", f"{select} FROM t{grouped}")
    none = opened(Budget(Fraction(1), Fraction(0), 10), relation)
    assert "smooth sensitivity needs delta above 0" in refused(none, query)
    session = opened(relation=relation)
    explained = session.execute(f"EXPLAIN {query}")
    answer = session.execute(query)
    for each in (explained, answer):
        [drawn] = each.releases
        assert drawn.mechanism == "smooth laplace"
        assert (drawn.sensitivity, drawn.scale, drawn.margin) == (None, None, None)
        assert (drawn.epsilon, drawn.delta) == (each.cost.epsilon, each.cost.delta)
        assert each.cost.epsilon == PLENTY.epsilon / PLENTY.queries
        assert each.cost.delta == PLENTY.delta / PLENTY.queries
        note, *clamped = each.notes
        assert note.startswith(f"{select} has noise of a size that is secret, and has no interval")
        assert len(clamped) == each.explain
        assert all("values are clamped to" in other for other in clamped)
    session.execute("SET sensitivity = 'smooth'")
    assert session.execute(f"SELECT {select} FROM t{grouped}").repeat


def test_the_scale_of_smooth_noise_is_shown_nowhere() -> None:
    """Whatever is printed is the same for rows whose noise has another scale (A20)."""
    values = ["0", "50", "100"], ["0", "50", "50", "50", "50", "50", "100"]
    query = asking("sensitivity = 'smooth', epsilon = 500", "MEDIAN(m), MAX(m) FROM t")
    shown, scales = [], []
    for column in values:
        here = world(COLUMNS, budget=PLENTY)
        here.source.rows = [("a", "1", "3", m, "") for m in column]
        session = Session(here.policy, noise=_Middle())
        explained = session.execute(f"EXPLAIN {query}")
        assert explained.plan is not None
        answer = session.execute(query)
        shown.append([render(each) for each in (explained, answer) for render in FORMATS.values()])
        shown[-1].append(tree(explained, ()))
        steps = np.array([4 * int(m) for m in column])
        scales.append(statistic_and_scale(steps, (0, 400), explained.plan.releases[0].mechanism)[1])
        assert answer.rows == ((50.0, 100.0),)
        assert answer.intervals == ((None, None),)
    assert scales[0] > 2 * scales[1]
    assert shown[0] == shown[1]
    taught = Session(here.policy, noise=_Middle(), teach=True)
    assert taught.execute(query).revealed == ()
    taught.execute("SET reveal = on")
    [median, _] = taught.execute(query).revealed
    assert (median.stat, median.scale) == (50.0, float(scales[1] / 4))


class _Middle:
    """No noise."""

    private = True

    def laplace(self, scale, size):
        return np.zeros(size, dtype=np.int64)

    def below(self, bound):
        return bound // 2


@pytest.mark.parametrize(
    ("relation", "rows", "keys", "touched"),
    [
        (ADD_REMOVE, 1, "", 1), (ADD_REMOVE, 1, "g", 1), (ADD_REMOVE, 2, "", 1),
        (ADD_REMOVE, 2, "g", 2), (ADD_REMOVE, 5, "g", 3), (REPLACE, 1, "", 1),
        (REPLACE, 1, "g", 2), (REPLACE, 2, "g", 3), (REPLACE, 2, "", 1),
    ],
)  # fmt: skip
def test_cells_that_a_unit_can_touch_have_their_parts(
    relation: Neighbors, rows: int, keys: str, touched: int
) -> None:
    """A unit's rows are in `touched` of three cells, each of which has that part of ε and δ."""
    columns = (*COLUMNS, Column("u", Kind.TEXT))
    unit = "u" if rows > 1 else None
    here = world(columns, relation, unit, rows, PLENTY)
    grouped = f" GROUP BY {keys}" if keys else ""
    explained = Session(here.policy).execute(
        f"EXPLAIN {asking('sensitivity = smooth', f'MEDIAN(x) FROM t{grouped}')}"
    )
    assert explained.plan is not None
    [release] = explained.plan.releases
    assert (release.mechanism.rows_per_unit, release.mechanism.groups_per_unit) == (rows, touched)
    one = release.mechanism.scale(Fraction(7))
    share = PLENTY.epsilon / PLENTY.queries
    assert one * share == pytest.approx(2 * 7 * touched, rel=1e-9)


def test_the_median_of_many_rows_is_close() -> None:
    """ε = 1, δ = 1e-6 and 10,000 rows around the middle of wide bounds."""
    random = Random(5)
    values = sorted(min(max(round(random.gauss(50, 15)), 0), 1000) for _ in range(10_000))
    here = world(
        (Column("y", Kind.INTEGER, Fraction(0), Fraction(1000)),),
        budget=Budget(Fraction(1), Fraction(1, 10**6), 1),
    )
    here.source.rows = [(str(value),) for value in values]
    query = asking("sensitivity = 'smooth'", "MEDIAN(y) FROM t")
    found = [
        Session(here.policy, noise=SystemNoise(Random(seed).randbytes)).execute(query).rows[0][0]
        for seed in range(30)
    ]
    # A rank more is 1/250 of a year here, and at β = 1/(2·ln(2e6)) some 29 of them count: the
    # scale is far below a step, and 2 off has a probability of exp(-1.5/scale).
    assert max(abs(value - values[4999]) for value in found) <= 1


# ------------------------------------------------------------------------- anything at all

WORDS = st.sampled_from(
    ["epsilon", "delta", "noise_index", "error", "relative_error", "confidence", "mechanism",
     "sensitivity", "Epsilon", "'epsilon'", '"error"', "SELECT", "NULL", "x", "=", "=", "=", ",",
     ",", ",", "[", "]", "{", "}", "-", "+", ".", "/", "*", "::", ":", "0", "1", "0.5", ".5", "1e-6",
     "1e300", "1e-300", "99999999999999999999", "0.1", "10", "'gaussian'", "laplace", "smooth",
     "global", "local", "'", '"', "/* */", "-- \n", "\n", "π", "\0", "\u202e", "🎲", "nan", "inf"]
)  # fmt: skip
WELL_FORMED = st.builds(
    "{} = {}".format,
    st.sampled_from(["epsilon", "delta", "noise_index", "error", "relative_error", "confidence",
                     "mechanism", "sensitivity"]),
    st.sampled_from(["0", "1", "0.5", "1e-6", "-1", "1e99", "[1, 2]", "[1]", "[]", "[[1], 2]",
                     "gaussian", "'laplace'", "'smooth'", "global", "0.1 5", "[0.1, 1e9]"]),
)  # fmt: skip
SOUP = st.one_of(
    st.lists(WORDS, max_size=14).map(" ".join),
    st.lists(WELL_FORMED, max_size=4).map(", ".join),
)


def outcome(session: Session, text: str) -> Answer | DpdbError:
    try:
        return session.execute(text)
    except DpdbError as error:
        return error


@settings(max_examples=400)
@given(SOUP, st.sampled_from(["COUNT(*), SUM(x)", "COUNT(*)", "AVG(x)", "MEDIAN(m)", "SUM(0)"]))
def test_whatever_is_in_the_options_is_answered_or_refused(soup: str, select: str) -> None:
    session = opened()
    text = asking(soup, f"{select} FROM t")
    explained, answer = outcome(session, f"EXPLAIN {text}"), outcome(session, text)
    if isinstance(answer, Answer):
        assert isinstance(explained, Answer)
        assert answer.cost.epsilon <= explained.cost.epsilon
        assert answer.cost.delta <= explained.cost.delta
    else:
        assert not isinstance(answer, InternalError), soup
        assert answer.place is not None
        assert isinstance(explained, Answer) == isinstance(answer, BudgetExceeded)


@settings(max_examples=200)
@given(st.lists(WORDS, max_size=6).map(" ".join))
def test_whatever_is_set_is_set_or_refused(soup: str) -> None:
    assert not isinstance(outcome(opened(), f"SET {soup}"), InternalError), soup
