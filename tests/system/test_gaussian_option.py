"""OPTIONS(mechanism = gaussian): what it costs, and that its intervals cover the truth."""

from __future__ import annotations

import math
from fractions import Fraction
from random import Random

import numpy as np
import pytest
from scipy.stats import binom, norm

from dpdb.answers.formats.explain_tree import explain_screen
from dpdb.answers.formats.render import FORMATS
from dpdb.errors import BudgetExceeded, InvalidOption
from dpdb.policy.budget import Budget
from dpdb.policy.catalog import Column, Kind
from dpdb.privacy.noise.system import SystemNoise
from dpdb.session.session import Session
from tests.support.brute import REPLACE, world
from tests.support.optional import PLENTY, asking, opened, refused

pytestmark = pytest.mark.usefixtures("in_memory")

ALPHA = 1e-6


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
    [
        ("COUNT(*)", 1),
        ("SUM(m)", 1),
        ("AVG(x)", 2),
        ("VARIANCE(x)", 3),
        ("COUNT(*), AVG(x)", 3),
        ("COUNT(*), COUNT(NULLIF(x, 1)), SUM(NULLIF(x, 1))", 3),
        ("COUNT(*), AVG(NULLIF(CLAMP(x, 1, 1), 2))", 2),
    ],
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
    shown = explain_screen(explained, ())
    for text in (f"σ = {sigma:.4g}", "δ      1e-07", "δ 1e-07", "gaussian noise", "ε      0.1"):
        assert text.casefold() in shown.casefold()
    assert f"{sigma:.10g}" in FORMATS["csv"](explained)
    assert "δ 1e-07" in FORMATS["table"](explained)


GROUPS = 2000
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
        *((s, (8, 200)[turn % 2]) for turn, s in enumerate(TRUTHS)),
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
