"""What the accuracy of answers is measured by: queries, and the targets of their errors."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class Measure(Enum):
    """What is measured of the answers to a query."""

    RMSE = "RMSE"
    WIDTH = "median width"
    COVERAGE = "coverage, %"
    LOST = "rows lost"
    """How many rows fewer have the value that was chosen as the mode than have the mode."""


class Columns(Enum):
    """Which columns of an answer are measured, where it is not one of them."""

    ALL = "all together"
    WORST = "the worst"


class Target(NamedTuple):
    """The most, or also the least, that a measure may be, and the RMSE of the best peer."""

    measure: Measure
    most: float
    of: int | Columns = 0
    least: float = 0
    peer: float | None = None


class Question(NamedTuple):
    """A query about the sample, asked at ε = 1 in total unless said, and its targets."""

    select: str
    """What is between SELECT and FROM people."""
    targets: tuple[Target, ...]
    name: str = ""
    """What stands for the query in the table, where that is not what is selected."""
    clauses: str = ""
    """What follows FROM people; a query with GROUP BY has the key in its first column."""
    epsilon: int = 1
    options: str = ""
    replace: bool = False
    """Whether neighbours differ by a replaced row, and not by an added or removed one."""
    never_null: bool = False
    """Whether the policy says of all columns that they are never NULL."""


def rmse(most: float, of: int | Columns = 0, peer: float | None = None) -> Target:
    """The target of an RMSE."""
    return Target(Measure.RMSE, most, of, peer=peer)


def width(most: float) -> Target:
    """The target of the median width of intervals."""
    return Target(Measure.WIDTH, most)


def coverage(least: float, most: float = 100) -> Target:
    """How many of a hundred intervals are to hold the exact answer."""
    return Target(Measure.COVERAGE, most, least=least)


def filtered(select: str, *conditions: str) -> str:
    """An aggregate once for each condition."""
    return ", ".join(f"{select} FILTER (WHERE {condition})" for condition in conditions)


ONE_COUNT = 1.36
"""The RMSE of discrete Laplace noise of scale 1: no count has less at ε = 1 ([GRS09])."""

QUESTIONS = (
    Question("COUNT(*)", (rmse(ONE_COUNT, peer=1.36),)),
    Question(
        "zip, COUNT(*)",
        (rmse(ONE_COUNT, Columns.ALL, peer=1.36),),
        "COUNT(*) per zip",
        "GROUP BY zip ORDER BY zip",
    ),
    Question("SUM(age)", (rmse(92, peer=92),)),
    Question("AVG(income)", (rmse(135, peer=190), width(570))),
    Question("AVG(income)", (rmse(188),), "AVG(income), replace", replace=True),
    Question("VARIANCE(age)", (rmse(0.12, peer=0.12), coverage(95, 97))),
    Question("STDDEV(income)", (rmse(2_190), width(9_400), coverage(95, 97))),
    Question(
        "COUNT(*), SUM(income), AVG(income), AVG(age)",
        (rmse(2.9, 0), rmse(2_500_000, 1), rmse(270, 2), rmse(0.0094, 3)),
        "COUNT(*), SUM(income), AVG(income), AVG(age), never NULL",
        never_null=True,
    ),
    Question(
        "COUNT(*), SUM(income), AVG(income), AVG(age)",
        (rmse(3.46, 0), rmse(270, 2), rmse(0.0094, 3)),
    ),
    Question(
        filtered("COUNT(*)", "age >= 25", "age >= 35", "age >= 45", "age >= 55"),
        (rmse(2.75, Columns.WORST),),
        "four COUNT(*) FILTER, thresholds",
    ),
    Question(
        filtered(
            "COUNT(*)", "age < 30", "age BETWEEN 30 AND 39", "age BETWEEN 40 AND 49", "age >= 50"
        ),
        (rmse(ONE_COUNT, Columns.WORST),),
        "four COUNT(*) FILTER, disjoint",
    ),
    Question("MODE(zip)", (Target(Measure.LOST, 0.04),)),
    Question("MEDIAN(income)", (rmse(16.6, peer=12), width(463), coverage(95))),
    Question(
        "MEDIAN(income)",
        (rmse(13.1, peer=12),),
        "MEDIAN(income), interval = off",
        options="interval = off",
    ),
    Question(
        "QUANTILE_CONT(income, 0.25), MEDIAN(income), QUANTILE_CONT(income, 0.75)",
        (rmse(20, 0), rmse(22, 1), rmse(38, 2)),
        "quartiles of income, interval = off",
        options="interval = off",
    ),
    Question("MAX(income)", (rmse(90_000),)),
    Question("MAX(income)", (rmse(38_000),), "MAX(income), ε = 10", epsilon=10),
    Question("MIN(net_worth)", (rmse(25_000),)),
)

COMPOSED = {1: 1.36, 10: 14.1, 100: 46.7}
"""The RMSE of each of so many counts in one budget of ε = 1 and δ = 10^-6 under zcdp."""

RANGES = tuple((18 + 3 * i, 34 + 3 * i) for i in range(10))
"""Ten ranges of ages, of which each is eight spans on average between the ends of the others."""
RANGES_RMSE = 3.9
