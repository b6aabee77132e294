"""The errors of drawn answers on the sample, beside what theory and the best peers reach."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple
from unittest import mock

import duckdb
import numpy as np
import numpy.typing as npt
from bench_tools import SAMPLE, met, session, show

from dpdb.policy.budget import Budget, Composition, Neighbors
from dpdb.policy.reading.reader import read_policy
from dpdb.session import session as sessions
from dpdb.session.backends import open_engine
from dpdb.session.session import Session

RUNS = 1_000
"""The answers to each query: the RMSE of Laplace noise then has a standard error of 3.5 %."""
POLICY = read_policy(SAMPLE.with_suffix(".toml"))
NEVER_NULL = replace(
    POLICY,
    tables=tuple(
        replace(table, columns=tuple(replace(each, nullable=False) for each in table.columns))
        for table in POLICY.tables
    ),
)
Floats = npt.NDArray[np.float64]
Cells = Sequence[Any]


class Question(NamedTuple):
    """A query about the sample at ε = 1 unless said, and the most RMSE of each column."""

    select: str
    """What is between SELECT and FROM people."""
    most: tuple[float | None, ...]
    coverage: float | None = None
    """The least percentage of the intervals of the first column that hold the exact answer."""
    options: str = ""
    epsilon: int = 1
    replace: bool = False
    """Whether neighbours differ by a replaced row, and not by an added or removed one."""
    never_null: bool = False
    """Whether the policy says of all columns that they are never NULL."""

    @property
    def name(self) -> str:
        """The row of the table that it is in."""
        said = [self.options, f"ε = {self.epsilon}" * (self.epsilon > 1)]
        said += ["replace" * self.replace, "never NULL" * self.never_null]
        return ", ".join([self.select, *filter(None, said)])


def _filtered(*conditions: str) -> str:
    return ", ".join(f"COUNT(*) FILTER (WHERE {condition})" for condition in conditions)


ONE_COUNT = 1.36
"""The RMSE of discrete Laplace noise of scale 1: no count has less at ε = 1 ([GRS09])."""
QUESTIONS = (
    Question("COUNT(*)", (ONE_COUNT,)),
    Question("SUM(age)", (92,)),
    Question("AVG(income)", (135,)),
    Question("AVG(income)", (188,), replace=True),
    Question("VARIANCE(age)", (0.12,), coverage=95),
    Question("STDDEV(income)", (2_190,), coverage=95),
    Question(
        "COUNT(*), SUM(income), AVG(income), AVG(age)",
        (2.9, 2_500_000, 270, 0.0094),
        never_null=True,
    ),
    Question("COUNT(*), SUM(income), AVG(income), AVG(age)", (3.46, None, 270, 0.0094)),
    Question(_filtered("age >= 25", "age >= 35", "age >= 45", "age >= 55"), (2.75,) * 4),
    Question(_filtered("age < 30", "age BETWEEN 30 AND 49", "age >= 50"), (ONE_COUNT,) * 3),
    Question("MEDIAN(income)", (16.6,), coverage=95),
    Question("MEDIAN(income)", (13.1,), options="interval = off"),
    Question("MAX(income)", (90_000,)),
    Question("MAX(income)", (38_000,), epsilon=10),
    Question("MIN(net_worth)", (25_000,)),
)
COMPOSED = {1: 1.36, 10: 14.1, 100: 46.7}
"""The RMSE of each of so many counts in one budget of ε = 1 and δ = 10^-6 under zcdp."""


def run() -> None:
    """Measure the section and print its table."""
    rows: list[tuple[str, ...]] = []
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE people AS SELECT * FROM read_csv('{SAMPLE}')")

        def exact(select: str) -> Floats:
            cells = connection.execute(f"SELECT {select} FROM people").fetchall()[0]
            return np.array(cells, dtype=np.float64)

        for question in QUESTIONS:
            values, intervals = _asked(question)
            rows += _errors(question.name, values, exact(question.select), question.most)
            if question.coverage is not None:
                rows.append(
                    _coverage(intervals[:, 0], exact(question.select)[0], question.coverage)
                )
        for number, most in COMPOSED.items():
            name = f"COUNT(*), one of {number} under zcdp"
            rows += _errors(name, _composed(number), exact("COUNT(*)"), (most,))
    show(
        f"accuracy: {RUNS:,} answers to each query on 10,000 rows, at ε = 1 unless said",
        ("query", "of", "measured", "± s.e.", "goal", "met"),
        rows,
        "met: at most two standard errors beyond the goal, as some goals are what theory gives.",
    )


def _errors(
    name: str, values: Floats, exact: Floats, most: Sequence[float | None]
) -> list[tuple[str, ...]]:
    """A row for each column with a goal: its RMSE."""
    rows: list[tuple[str, ...]] = []
    for column, goal in enumerate(most):
        if goal is None:
            continue
        squares = (values[:, column] - exact[column]) ** 2
        root = float(np.sqrt(squares.mean()))
        # The delta method: the standard error of a root is that of its square over twice the root.
        uncertain = float(squares.std(ddof=1)) / np.sqrt(RUNS) / (2 * root) if root else 0.0
        about = "RMSE" if len(most) == 1 else f"RMSE, column {column + 1}"
        measured = (f"{root:,.3g}", f"{uncertain:.2g}", f"{goal:,g}")
        rows.append((name * (not rows), about, *measured, met(root <= goal + 2 * uncertain)))
    return rows


def _coverage(intervals: Floats, exact: float, least: float) -> tuple[str, ...]:
    held = 100.0 * ((intervals[:, 0] <= exact) & (exact <= intervals[:, 1]))
    mean, uncertain = float(held.mean()), float(held.std(ddof=1)) / np.sqrt(RUNS)
    reached = met(mean >= least - 2 * uncertain)
    return "", "coverage, %", f"{mean:.1f}", f"{uncertain:.2g}", f">= {least:g}", reached


def _asked(question: Question) -> tuple[Floats, Floats]:
    """values[run, column] and intervals[run, column, end], each answer at full ε."""
    neighbors = Neighbors.REPLACE if question.replace else Neighbors.ADD_REMOVE
    policy = NEVER_NULL if question.never_null else POLICY
    private = session(replace(policy, neighbors=neighbors), str(question.epsilon))
    options = f"WITH DIFFERENTIAL_PRIVACY OPTIONS({question.options}) " if question.options else ""
    text = f"SELECT {options}{question.select} FROM people"
    answers = [private.execute(text) for _ in range(RUNS)]
    ends = [[each or (None, None) for each in answer.intervals[0]] for answer in answers]
    return _floats([answer.rows[0] for answer in answers]), _floats(ends)


def _composed(number: int) -> Floats:
    """values[run, 0] of counts in sessions of so many under zcdp, which read the file once."""
    budget = Budget(Fraction(1), Fraction(1, 10**6), number, Composition.ZCDP)
    policy, engine, found = replace(POLICY, budget=budget), open_engine(POLICY), list[Cells]()
    with mock.patch.object(sessions, "open_engine", return_value=engine):
        while len(found) < RUNS:
            private = Session(policy)
            private.execute("SET repeats = 'fresh'")
            for _ in range(number):
                found.append(private.execute("SELECT COUNT(*) FROM people").rows[0])
    return _floats(found)


def _floats(cells: Sequence[Any]) -> Floats:
    return np.array(cells, dtype=np.float64)
