"""The error of answers at ε = 1, as the root of the mean squared error (RMSE)."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from bench_tools import SAMPLE, met, session, show

from dpdb.policy.reader import read_policy
from dpdb.session.session import Session

RUNS = 1_000

Floats = npt.NDArray[np.float64]


class Question(NamedTuple):
    """A query, the goal of its RMSE, and the RMSE of SmartNoise SQL 1.0.10."""

    what: str
    goal: float
    smartnoise: str
    grouped: bool = False

    @property
    def query(self) -> str:
        """The SQL of the query; a grouped one gives the group first."""
        if self.grouped:
            return f"SELECT zip, {self.what} FROM people GROUP BY zip ORDER BY zip"
        return f"SELECT {self.what} FROM people"


QUESTIONS = (
    Question("COUNT(*)", 1.36, "1.5"),
    Question("SUM(age)", 92, "190"),
    Question("AVG(income)", 190, "370"),
    Question("MEDIAN(income)", 12, "none"),
    Question("VARIANCE(age)", 0.12, "4.5"),
    Question("COUNT(*)", 1.36, "1.5", grouped=True),
)


def run(_: Path) -> None:
    """Measure the section and print its table."""
    private = session(read_policy(SAMPLE.with_suffix(".toml")), epsilon="1")
    frame = pd.read_csv(SAMPLE)
    exact = {
        "COUNT(*)": len(frame),
        "SUM(age)": frame.age.sum(),
        "AVG(income)": frame.income.mean(),
        "MEDIAN(income)": frame.income.median(),
        "VARIANCE(age)": frame.age.var(),
    }
    cells = frame.zip.value_counts().sort_index().to_numpy().astype(np.float64)
    rows = [
        _row(
            question,
            _errors(private, question, cells if question.grouped else exact[question.what]),
        )
        for question in QUESTIONS
    ]
    show(
        f"accuracy: {RUNS:,} runs at epsilon = 1 in total, 10,000 rows, in [18, 65] and [0, 10^6]",
        ("query", "RMSE", "± s.e.", "goal", "met", "SmartNoise", "bias", "± s.e."),
        rows,
        "unclear: above the goal by no more than two standard errors.",
    )


def _errors(private: Session, question: Question, exact: Floats | float) -> Floats:
    """The errors of the answers: a row for every run, a column for every cell."""
    answers = [[row[-1] for row in private.execute(question.query).rows] for _ in range(RUNS)]
    return np.array(answers, dtype=np.float64) - np.asarray(exact, dtype=np.float64)


def _row(question: Question, errors: Floats) -> tuple[str, ...]:
    squares = (errors**2).mean(axis=1)
    rmse = float(np.sqrt(squares.mean()))
    # The delta method: the standard error of a root is that of its square over twice the root.
    uncertain = _standard_error(squares) / (2 * rmse)
    biases = errors.mean(axis=1)
    return (
        f"{question.what} per zip" if question.grouped else question.what,
        _digits(rmse),
        _digits(uncertain),
        f"{question.goal:g}",
        _met(rmse, uncertain, question.goal),
        question.smartnoise,
        _digits(float(biases.mean())),
        _digits(_standard_error(biases)),
    )


def _met(rmse: float, uncertain: float, goal: float) -> str:
    """Whether the goal is met; unclear within two standard errors above it.

    Some goals are the RMSE that theory gives, and half of all runs lie a little above those.
    """
    return "unclear" if goal < rmse <= goal + 2 * uncertain else met(rmse <= goal)


def _standard_error(values: Floats) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values)))


def _digits(value: float) -> str:
    """A number with enough digits to compare RMSEs from tenths to hundreds."""
    return f"{value:.1f}" if abs(value) >= 100 else f"{value:.3f}"
