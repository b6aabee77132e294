"""Aggregates made of others are those of DuckDB where nothing has noise; rows lack either column."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path

import duckdb
import pytest

from dpdb.policy.budget import Budget
from dpdb.policy.catalog import Column, Kind, Policy, Table
from dpdb.session.session import Session
from tests.support.noiseless import Noiseless

CALLS = [
    *(
        f"{name}(y, x)"
        for name in (
            "COVAR_POP", "COVAR_SAMP", "CORR", "REGR_SLOPE", "REGR_INTERCEPT", "REGR_R2",
            "REGR_COUNT", "REGR_AVGX", "REGR_AVGY", "REGR_SXX", "REGR_SYY", "REGR_SXY",
        )
    ),
    "SKEWNESS(y)",
    "SKEWNESS(x)",
    "KURTOSIS(y)",
    "KURTOSIS(x) FILTER (WHERE k > 0)",
    "CORR(y, k) FILTER (WHERE x > 40)",
    "REGR_SLOPE(y + k, 2 * k)",
    "GEOMEAN(x + 11)",
    "GEOMETRIC_MEAN(y + 1)",
    "ENTROPY(k)",
    "ENTROPY(CASE WHEN x > 40 THEN 'much' WHEN x > 80 THEN 'more' END) FILTER (WHERE k > 0)",
    "MAD(k)",
    "MAD(x) FILTER (WHERE y > 9)",
    "COUNT(DISTINCT (x, k))",
    "COUNT(DISTINCT (y, ok, k)) FILTER (WHERE x > 40 OR y > 3)",
    "COUNT(DISTINCT (CAST(x AS VARCHAR), CASE WHEN k > 1 THEN '1:1' END, CAST(y AS VARCHAR)))",
]  # fmt: skip


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Policy:
    path: Path = tmp_path_factory.mktemp("pairs") / "t.csv"
    rows = (
        f"{i * i % 97 / 4 if i % 7 else ''},{i % 90 if i % 11 else ''},{i % 5},{str(i % 3 > 1).lower()}"
        for i in range(300)
    )
    path.write_text("y,x,k,ok\n" + "\n".join(rows) + "\n", encoding="utf-8")
    columns = (
        Column("y", Kind.NUMBER, Fraction(0), Fraction(25), Fraction(1, 4)),
        Column("x", Kind.INTEGER, Fraction(-10), Fraction(90)),
        Column("k", Kind.INTEGER, Fraction(0), Fraction(4), nullable=False),
        Column("ok", Kind.BOOLEAN, nullable=False),
    )
    return Policy((Table("t", path, columns),), Budget(Fraction(1000), Fraction(0), 1000))


@pytest.mark.parametrize("call", CALLS)
def test_it_is_that_of_duckdb(call: str, here: Policy) -> None:
    answer = Session(here, noise=Noiseless()).execute(f"SELECT {call} FROM t")
    path = here.tables[0].path
    (expected,) = (
        duckdb.execute(f"SELECT {call.replace('(ok', '(ok::INT')} FROM '{path}'").fetchone() or ()
    )
    ((found,),) = answer.rows
    assert isinstance(found, int | float)
    assert math.isclose(found, expected, rel_tol=1e-9)


def test_what_they_are_made_of_is_shared(here: Policy) -> None:
    """The covariance beside two averages is two means, their variances and a product."""
    session = Session(here)
    alone = session.execute("EXPLAIN SELECT CORR(k, k + 1) FROM t")
    beside = session.execute(
        "EXPLAIN SELECT CORR(k, k + 1), REGR_SLOPE(k, k + 1), AVG(k), COUNT(*), STDDEV_POP(k) FROM t"
    )
    assert {(r.aggregate, r.scale) for r in alone.releases} == {
        (r.aggregate, r.scale) for r in beside.releases
    }


def test_the_correlation_is_within_its_bounds_whatever_the_noise(here: Policy) -> None:
    session = Session(here)
    text = (
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 0.001) CORR(y, x) FROM t WHERE k = {}"
    )
    for k in range(5):
        ((value,),) = session.execute(text.format(k)).rows
        assert value is None or -1 <= float(value) <= 1  # NULL where a variance is 0


def test_the_interval_of_a_square_begins_at_0_or_above(here: Policy) -> None:
    text = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 0.1) REGR_R2(y, x) FROM t"
    assert Session(here, noise=Noiseless()).execute(text).intervals == (((0, 1),),)
