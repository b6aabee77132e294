"""The error of answers as they are drawn, beside its targets and the best peers' errors."""

from __future__ import annotations

import contextlib
import io
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType
from typing import Any
from unittest import mock

import duckdb
import numpy as np
from bench_measures import Drawn, measured
from bench_targets import (
    COMPOSED,
    QUESTIONS,
    RANGES,
    RANGES_RMSE,
    Columns,
    Measure,
    Question,
    Target,
    rmse,
)
from bench_tools import SAMPLE, met, session, show

from dpdb.answers.answer import Answer
from dpdb.errors import DpdbError
from dpdb.interfaces.cli.main import main as command_line
from dpdb.policy.budget import Budget, Composition, Neighbors
from dpdb.policy.reader import read_policy
from dpdb.session import session as sessions
from dpdb.session.backends import open_engine
from dpdb.session.session import Session

RUNS = 2_000
"""The answers to each query: the RMSE of Laplace noise then has a standard error of 2.5 %."""
BATCHES = 200
"""How often the ranges are asked for, ten at a time."""

POLICY = read_policy(SAMPLE.with_suffix(".toml"))
NEVER_NULL = replace(
    POLICY,
    tables=tuple(
        replace(table, columns=tuple(replace(each, nullable=False) for each in table.columns))
        for table in POLICY.tables
    ),
)
COUNT = "SELECT COUNT(*) FROM people"

ZIP_COUNTS = "SELECT zip, COUNT(*) FROM people GROUP BY zip"

Cells = Sequence[Any]


def run(directory: Path) -> None:
    """Measure the section and print its table."""
    rows = []
    with duckdb.connect() as exact:
        exact.execute(f"CREATE TABLE people AS SELECT * FROM read_csv('{SAMPLE}')")
        for question in QUESTIONS:
            name = question.name or question.select
            rows += _rows(name, question.targets, _asked(question, exact))
        for number, most in COMPOSED.items():
            name = f"COUNT(*), one of {number} under zcdp"
            rows += _rows(name, [rmse(most)], _composed(number, exact))
        drawn = _planned(directory / "ranges.sql", exact)
        name = f"{len(RANGES)} COUNT(*) of ranges, --plan"
        rows += _rows(name, [rmse(RANGES_RMSE, Columns.ALL)], drawn)
    show(
        f"accuracy: {RUNS:,} answers to each query on 10,000 rows, at epsilon = 1 unless said",
        ("query", "of", "measured", "± s.e.", "target", "best peer", "met"),
        rows,
        "met: at most two standard errors beyond the target, as some are what theory gives.",
    )


def _rows(name: str, targets: Sequence[Target], drawn: Drawn | None) -> list[tuple[str, ...]]:
    """A row of the table for each target of a query; nothing is drawn of one that is refused."""
    rows: list[tuple[str, ...]] = []
    several = len({target.of for target in targets}) > 1
    for target in targets:
        found = None if drawn is None else measured(drawn, target)
        rows.append(
            (
                "" if rows else name,
                _what(target, several=several),
                "refused" if found is None else _digits(found.value),
                "" if found is None else _digits(found.uncertain),
                _wanted(target),
                "" if target.peer is None else f"{target.peer:g}",
                met(found is not None and found.meets(target)),
            )
        )
    return rows


def _what(target: Target, *, several: bool) -> str:
    """What is measured, and of which column where there are targets of several."""
    if isinstance(target.of, Columns):
        return f"{target.measure.value}, {target.of.value}"
    return f"{target.measure.value}, column {target.of + 1}" if several else target.measure.value


def _wanted(target: Target) -> str:
    most = f"{target.most:,.9g}"
    return f"{target.least:g} to {most}" if target.least else most


def _digits(value: float) -> str:
    """Three significant digits."""
    if math.isnan(value):
        return "none"
    digits = max(0, 2 - math.floor(math.log10(abs(value)))) if value else 0
    return f"{value:,.{digits}f}"


# ------------------------------------------------------------------------- what is drawn


def _asked(question: Question, exact: duckdb.DuckDBPyConnection) -> Drawn | None:
    """The answers to a question, all at full ε; None where it is refused."""
    neighbors = Neighbors.REPLACE if question.replace else Neighbors.ADD_REMOVE
    policy = NEVER_NULL if question.never_null else POLICY
    private = session(replace(policy, neighbors=neighbors), str(question.epsilon))
    plain = f"{question.select} FROM people {question.clauses}"
    options = f"WITH DIFFERENTIAL_PRIVACY OPTIONS({question.options}) " if question.options else ""
    try:
        answers = [private.execute(f"SELECT {options}{plain}") for _ in range(RUNS)]
    except DpdbError:
        return None
    is_mode = any(target.measure is Measure.LOST for target in question.targets)
    return _drawn(
        [_cells(answer.rows, question) for answer in answers],
        [_cells(answer.intervals, question) for answer in answers],
        _cells(exact.execute(f"SELECT {plain}").fetchall(), question),
        dict(exact.execute(ZIP_COUNTS).fetchall()) if is_mode else {},
    )


def _cells(rows: Sequence[Cells], question: Question) -> Cells:
    """The row of an answer, or the last column of a grouped one."""
    return [row[-1] for row in rows] if question.clauses else rows[0]


def _composed(number: int, exact: duckdb.DuckDBPyConnection) -> Drawn:
    """Counts in sessions of so many under zcdp, which read the file once."""
    budget = Budget(Fraction(1), Fraction(1, 10**6), number, Composition.ZCDP)
    policy, engine, answers = replace(POLICY, budget=budget), open_engine(POLICY), list[Answer]()
    with mock.patch.object(sessions, "open_engine", return_value=engine):
        while len(answers) < RUNS:
            private = Session(policy)
            private.execute("SET repeats = 'fresh'")
            answers += [private.execute(COUNT) for _ in range(number)]
    return _drawn(
        [answer.rows[0] for answer in answers],
        [answer.intervals[0] for answer in answers],
        exact.execute(COUNT).fetchall()[0],
    )


def _planned(file: Path, exact: duckdb.DuckDBPyConnection) -> Drawn | None:
    """The answers to a file of counts that is planned as a whole; None where that is refused."""
    counts = [f"{COUNT} WHERE age BETWEEN {low} AND {high}" for low, high in RANGES]
    file.write_text(";\n".join(counts), encoding="utf-8")
    command = ["--plan", "--epsilon", "1", "--queries", str(len(counts)), "--json", str(SAMPLE)]
    runs = []
    for _ in range(BATCHES):
        answers = _commanded([*command, "-f", str(file)])
        if len(answers) != len(counts):
            return None
        runs.append(answers)
    return _drawn(
        [[answer["rows"][0][0] for answer in answers] for answers in runs],
        [[answer["intervals"][0][0] for answer in answers] for answers in runs],
        [exact.execute(count).fetchall()[0][0] for count in counts],
    )


def _commanded(words: list[str]) -> list[Any]:
    """The answers that a command line prints in JSON; none where it is refused."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
        try:
            command_line(words)
        except SystemExit:
            return []
    answers = [json.loads(line) for line in printed.getvalue().splitlines()]
    return [answer for answer in answers if answer.get("intervals")]  # the plan has none


def _drawn(
    values: Sequence[Cells],
    intervals: Sequence[Cells],
    exact: Cells,
    counts: Mapping[int, int] = MappingProxyType({}),
) -> Drawn:
    """Answers in arrays; `counts` has the number of rows of each value that can be the mode."""
    ends = [[interval or (None, None) for interval in row] for row in intervals]
    commonest = max(counts.values(), default=0)
    lost = [[commonest - counts.get(value, commonest) for value in row] for row in values]
    return Drawn(
        np.array(values, dtype=np.float64),
        np.array([[low for low, _ in row] for row in ends], dtype=np.float64),
        np.array([[high for _, high in row] for row in ends], dtype=np.float64),
        np.array(exact, dtype=np.float64),
        np.array(lost, dtype=np.float64),
    )
