"""The errors of drawn answers on the sample, beside what theory and the best peers reach.

A table of questions is an entry of TABLES. What one question cannot say is a function of its own,
which returns rows by `errors` and `coverage`, called in `run`.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import duckdb
import numpy as np
import numpy.typing as npt
from bench_tools import SAMPLE, met, session, show

from dpdb.policy.budget import Budget, Composition, Neighbors
from dpdb.policy.catalog import Column, Kind, Policy, Table
from dpdb.policy.reading.reader import read_policy
from dpdb.session import backends
from dpdb.session.backends import open_engine
from dpdb.session.session import Session

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.support import hindsight

RUNS = 1_000
"""The answers to each query: the RMSE of Laplace noise then has a standard error of 3.5 %."""
POLICY = read_policy(SAMPLE.with_suffix(".toml"))
REPLACE = replace(POLICY, neighbors=Neighbors.REPLACE)
(_PEOPLE,) = POLICY.tables
_NEVER_NULL = tuple(replace(column, nullable=False) for column in _PEOPLE.columns)
NEVER_NULL = replace(POLICY, tables=(replace(_PEOPLE, columns=_NEVER_NULL),))
Floats = npt.NDArray[np.float64]
HEADERS = ("query", "of", "measured", "± s.e.", "goal", "met")
NOTE = "met: at most two standard errors beyond the goal, as some goals are what theory gives."


class Question(NamedTuple):
    """A query about the sample, and the most RMSE of each column of its one row."""

    select: str
    """What is between SELECT and FROM people."""
    most: tuple[float | None, ...]
    covered: float | None = None
    """The least percentage of the intervals of the first column that hold the exact answer."""
    widths: tuple[float, ...] = ()
    """The most median width of the intervals of each column, within the rounding of ends."""
    options: str = ""
    epsilon: int = 1
    policy: Policy = POLICY
    said: str = ""
    """The policy, as the table says it."""


def _filtered(*conditions: str) -> str:
    return ", ".join(f"COUNT(*) FILTER (WHERE {condition})" for condition in conditions)


ONE_COUNT = 1.36
"""The RMSE of discrete Laplace noise of scale 1: no count has less at ε = 1 ([GRS09])."""
FOUR = "COUNT(*), SUM(income), AVG(income), AVG(age)"
AVERAGES = "AVG(age), AVG(income)"
QUARTILES = ", ".join(f"QUANTILE_CONT(income, {each})" for each in (0.25, 0.5, 0.75))
TABLES = {
    "sums and counts": (
        Question("COUNT(*)", (ONE_COUNT,)),
        Question("SUM(age)", (92,)),
        Question("AVG(income)", (135,)),
        Question("AVG(income)", (188,), policy=REPLACE, said="replace"),
        Question("VARIANCE(age)", (0.12,), covered=95),
        Question("STDDEV(income)", (2_190,), covered=95),
        Question(FOUR, (2.9, 2_500_000, 270, 0.0094), policy=NEVER_NULL, said="never NULL"),
        Question(FOUR, (3.46, None, 270, 0.0094)),
        Question(AVERAGES, (0.0063, 180), policy=NEVER_NULL, said="never NULL", covered=95),
        Question(AVERAGES, (0.0067, 193), covered=95),
        Question(_filtered("age >= 25", "age >= 35", "age >= 45", "age >= 55"), (2.75,) * 4),
        Question(_filtered("age < 30", "age BETWEEN 30 AND 49", "age >= 50"), (ONE_COUNT,) * 3),
    ),
    "quantiles": (
        Question("MEDIAN(income)", (16.6,), covered=95, widths=(464,)),
        Question("MEDIAN(income)", (14,), options="interval = off"),
        # By their law 22.7, 20.4 and 37.6, and 25.9, 23.3 and 47.3 with four fifths of ε.
        Question(QUARTILES, (27.5, 25, 47.5), covered=95, widths=(1_854, 1_854, 5_243)),
        Question(QUARTILES, (22.7, 20.4, 38), options="interval = off"),
        Question("MAX(income)", (90_000,)),
        Question("MAX(income)", (38_000,), epsilon=10),
        Question("MIN(net_worth)", (25_000,)),
    ),
}
COMPOSED = {1: 1.36, 10: 14.1, 100: 46.7}
"""The RMSE of each of so many counts in one budget of ε = 1 and δ = 10^-6 under zcdp."""

FOUND_RUNS = 200
CAP_RUNS = 100


def run() -> None:
    """Measure the section and print its tables."""
    title = f"{RUNS:,} answers to each query on 10,000 rows, at ε = 1 unless said"
    for name, questions in TABLES.items():
        rows = [row for question in questions for row in _answered(question)]
        show(f"accuracy, {name}: {title}", HEADERS, rows, NOTE)
    rows = [row for number, most in COMPOSED.items() for row in _composed(number, most)]
    show(f"accuracy, many queries under zcdp: {title}", HEADERS, rows, NOTE)
    title = f"{FOUND_RUNS} answers to each AVG of 10,000 values at ε = 1, beside the best bounds"
    show(f"accuracy, bounds that are found: {title}", HEADERS, list(_found_bounds()), NOTE)
    title = f"{CAP_RUNS} answers to each COUNT(*) of 10,000 units at ε = 1, beside the best cap"
    show(f"accuracy, caps that are found: {title}", HEADERS, list(_found_caps()), NOTE)


def exact(select: str) -> Floats:
    """The cells of the one row that DuckDB answers."""
    with duckdb.connect() as connection:
        query = f"SELECT {select} FROM read_csv('{SAMPLE}')"
        return floats(connection.execute(query).fetchall()[0])


def errors(
    name: str, values: Floats, exact: Floats, most: Sequence[float | None]
) -> list[tuple[str, ...]]:
    """A row for each column with a goal: the RMSE of `values[run, column]`."""
    rows: list[tuple[str, ...]] = []
    for column, goal in enumerate(most):
        if goal is None:
            continue
        squares = (values[:, column] - exact[column]) ** 2
        root = float(np.sqrt(squares.mean()))
        # The delta method: the standard error of a root is that of its square over twice the root.
        uncertain = float(squares.std(ddof=1)) / np.sqrt(len(squares)) / (2 * root) if root else 0.0
        about = "RMSE" if len(most) == 1 else f"RMSE, column {column + 1}"
        measured = (f"{root:,.3g}", f"{uncertain:.2g}", f"{goal:,g}")
        rows.append((name * (not rows), about, *measured, met(root <= goal + 2 * uncertain)))
    return rows


def coverage(intervals: Floats, exact: float, least: float) -> tuple[str, ...]:
    """A row: the percentage of `intervals[run, end]` that hold the exact answer."""
    held = 100.0 * ((intervals[:, 0] <= exact) & (exact <= intervals[:, 1]))
    mean, uncertain = float(held.mean()), float(held.std(ddof=1)) / np.sqrt(len(held))
    reached = met(mean >= least - 2 * uncertain)
    return "", "coverage, %", f"{mean:.1f}", f"{uncertain:.2g}", f">= {least:g}", reached


def _answered(question: Question) -> list[tuple[str, ...]]:
    """The rows of a question, each answer at full ε."""
    private = session(question.policy, str(question.epsilon))
    options = f"WITH DIFFERENTIAL_PRIVACY OPTIONS({question.options}) " if question.options else ""
    text = f"SELECT {options}{question.select} FROM people"
    answers = [private.execute(text) for _ in range(RUNS)]
    values, cells = floats([answer.rows[0] for answer in answers]), exact(question.select)
    epsilon = f"ε = {question.epsilon}" * (question.epsilon > 1)
    name = ", ".join(filter(None, (question.select, question.options, epsilon, question.said)))
    rows = errors(name, values, cells, question.most)
    if question.covered is not None:
        for column, exact_value in enumerate(cells[: len(question.widths) or 1]):
            ends = [answer.intervals[0][column] or (None, None) for answer in answers]
            intervals = floats(ends)
            rows.append(coverage(intervals, exact_value, question.covered))
            for most in question.widths[column : column + 1]:
                width = float(np.median(intervals[:, 1] - intervals[:, 0]))
                told = f"{width:,.4g}", "", f"{most:,g}"
                rows.append(("", "median width", *told, met(width <= most)))
    return rows


def _composed(number: int, most: float) -> list[tuple[str, ...]]:
    """A row for the counts of sessions of so many under zcdp, which read the file once."""
    budget = Budget(Fraction(1), Fraction(1, 10**6), number, Composition.ZCDP)
    policy, engine, found = replace(POLICY, budget=budget), open_engine(POLICY), list[Any]()
    with mock.patch.object(backends, "open_engine", return_value=engine):
        while len(found) < RUNS:
            private = Session(policy)
            private.execute("SET repeats = 'fresh'")
            for _ in range(number):
                found.append(private.execute("SELECT COUNT(*) FROM people").rows[0])
    name = f"COUNT(*), one of {number} under zcdp"
    return errors(name, floats(found), exact("COUNT(*)"), (most,))


def _found_bounds() -> Iterator[tuple[str, ...]]:
    """The RMSE of averages beside that of the best bounds, of ten distributions and of income."""
    ratios = []
    for values in hindsight.distributions():
        squares = (_found(values, Fraction(1, 1_000))[:, 0] - values.mean()) ** 2
        ratios.append(np.sqrt(squares.mean()) / hindsight.best(values))
    mean = float(np.exp(np.mean(np.log(ratios))))
    yield "ten distributions", "RMSE over the best", f"{mean:.3g}", "", "1.74", met(mean <= 1.74)
    income = hindsight.people("income")
    told, best = _found(income, Fraction(1, 100)), hindsight.best(income)
    exact = np.full(2, income.mean())
    yield from errors("AVG(income), then once kept", told, exact, (1.73 * best, 1.33 * best))


def _found(values: Floats, step: Fraction) -> Floats:
    """Averages of the values: with bounds that an answer finds, and with those that it keeps."""
    low, high = (Fraction(0), Fraction(10**6)) if step == Fraction(1, 100) else (None, None)
    columns = Column("x", Kind.NUMBER, low, high, step), Column("k", Kind.INTEGER)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.csv"
        rows = np.column_stack([values, np.ones(len(values))])
        np.savetxt(path, rows, ("%.3f", "%d"), ",", header="x,k", comments="")
        policy = Policy((Table("t", path, columns),), Budget(Fraction(2), Fraction(0), 2))
        engine, told = open_engine(policy), list[tuple[Any, ...]]()
        with mock.patch.object(backends, "open_engine", return_value=engine):
            for _ in range(FOUND_RUNS):
                private = Session(policy)
                private.execute("SET bounds = 'find'")
                means = [f"SELECT AVG(x) FROM t{rest}" for rest in ("", " WHERE k = 1")]
                told.append(tuple(private.execute(text).rows[0][0] for text in means))
    return floats(told)


def _found_caps() -> Iterator[tuple[str, ...]]:
    """The RMSE of counts beside that of the best cap on the rows of a unit."""
    tables, shop = list(hindsight.rows_of_units()), hindsight.orders()
    ratios = [_counted(rows) / hindsight.best_cap(rows) for rows in tables]
    alone = _counted(shop) / hindsight.best_cap(shop)
    for name, ratio, goal in (("ten tables", float(np.mean(ratios)), 2.6), ("shop", alone, 1.4)):
        uncertain = ratio / np.sqrt(2 * CAP_RUNS * (len(tables) if name != "shop" else 1))
        cells = f"{ratio:.3g}", f"{uncertain:.2g}", f"{goal}", met(ratio <= goal + 2 * uncertain)
        yield name, "RMSE over the best", *cells


def _counted(numbers: Floats) -> float:
    """The RMSE of counts of units with so many rows, each with a cap of its own."""
    columns = (Column("u", Kind.INTEGER),)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.csv"
        units = np.repeat(np.arange(len(numbers)), numbers.astype(int))
        np.savetxt(path, units, "%d", header="u", comments="")
        table = Table("t", path, columns, unit="u", rows_held_per_unit=10_000)
        policy = Policy((table,), Budget(Fraction(1), Fraction(0), 1))
        engine, told = open_engine(policy), list[Any]()
        with mock.patch.object(backends, "open_engine", return_value=engine):
            for _ in range(CAP_RUNS):
                private = Session(policy)
                private.execute("SET rows_per_unit = 'find'")
                told.append(private.execute("SELECT COUNT(*) FROM t").rows[0][0])
    return float(np.sqrt(np.mean((floats(told) - len(units)) ** 2)))


def floats(cells: Sequence[Any]) -> Floats:
    """The cells as doubles."""
    return np.array(cells, dtype=np.float64)
