"""The accuracy of answers about people with many rows: different values, and keys that are found.

Each person has a number of words, drawn by Zipf's law from a number of different ones.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from bench_accuracy import HEADERS, NOTE, errors, floats
from bench_tools import met, show

from dpdb.engines.memory import MemoryEngine
from dpdb.engines.protocol import Exact, KeyCounts
from dpdb.plan.expressions.expressions import Slot
from dpdb.plan.physical.plan import Plan
from dpdb.policy.budget import Budget, Composition
from dpdb.policy.catalog import Column, Kind, Policy, Table
from dpdb.records import dataclass
from dpdb.session.session import Session
from dpdb.vectors.vector import AnyVector

RUNS = 400
ONE = Budget(Fraction(1), Fraction(1, 10**6), 1)


class Words(NamedTuple):
    """People with so many words each, and what is to be reached of them."""

    people: int
    each: int
    zipf: float
    different: int
    goal: float
    before: str
    """The same with noise for all rows, or with a threshold."""


DISTINCT = (
    Words(1_000, 500, 1.0, 50_000, 137, "513 to 707 before"),
    Words(10_000, 50, 1.0, 20_000, 12, "71 before"),
    Words(2_000, 100, 0.5, 3_000, 6, "141 before"),
)
FOUND = (
    Words(10_000, 5, 1.0, 20_000, 97, "74 by a threshold"),
    Words(10_000, 50, 1.0, 20_000, 327, "71 by a threshold"),
)


LARGEST = (
    (10, Composition.ZCDP, 0.001, "0.137 by the numbers of all"),
    (20, Composition.ZCDP, 0.005, "0.194 by the numbers of all"),
    (10, Composition.PURE, 0.005, "0.137 by the numbers of all"),
)
"""How many of 1,000 words are asked for, and how much of their people may be lost at ε = 0.1."""


@dataclass(repr=False)
class ReadOnce(MemoryEngine):
    """Remembers the last exact results, as they are the same for each draw of noise."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._exact: dict[str, tuple[Exact, ...]] = {}
        self._keys: dict[str, KeyCounts] = {}

    def exact(self, plan: Plan, slots: Mapping[Slot, AnyVector]) -> tuple[Exact, ...]:
        if plan.found is not None:  # the cells are those that are shown
            return super().exact(plan, slots)
        if plan.identity not in self._exact:
            self._exact = {plan.identity: super().exact(plan, slots)}
        return self._exact[plan.identity]

    def key_counts(self, plan: Plan, slots: Mapping[Slot, AnyVector]) -> KeyCounts:
        if plan.identity not in self._keys:
            self._keys = {plan.identity: super().key_counts(plan, slots)}
        return self._keys[plan.identity]


def run() -> None:
    """Measure the section and print its tables."""
    title = f"{RUNS} answers at ε = 1 and δ = 10^-6"
    rows = [row for words in DISTINCT for row in _distinct(words)]
    show(f"accuracy, COUNT(DISTINCT word): {title}", HEADERS, rows, NOTE)
    show(f"accuracy, words that are found: {title}", HEADERS, [*map(_found, FOUND)], NOTE)

    title = f"{RUNS} answers of 10,000 people with 50 words each at ε = 0.1"
    rows = [_largest(*each) for each in LARGEST]
    show(f"accuracy, the largest of 1,000 groups: {title}", HEADERS, rows, NOTE)


def _largest(number: int, composition: Composition, goal: float, before: str) -> tuple[str, ...]:
    """A row: the part of the people of the largest groups that the chosen groups lack."""
    budget = Budget(Fraction(1, 10), Fraction(1, 10**7), 1, composition)
    counted = "SELECT word, COUNT(DISTINCT who) AS n FROM t GROUP BY word"
    text = f"{counted} ORDER BY n DESC LIMIT {number}"
    values, people = _answers(Words(10_000, 50, 0.6, 1_000, goal, before), text, budget)
    most = np.sort(people)[-number:].sum()
    lost = np.array([1 - people[[int(row[0]) for row in rows]].sum() / most for rows in values])
    mean, uncertain = lost.mean(), lost.std(ddof=1) / np.sqrt(len(lost))
    reached = met(bool(mean <= goal + 2 * uncertain))
    name = f"{number} of 1,000, {composition} ({before})"
    return name, "lost", f"{mean:.4f}", f"{uncertain:.2g}", f"{goal:g}", reached


def _distinct(words: Words) -> list[tuple[str, ...]]:
    values, different = _answers(words, "SELECT COUNT(DISTINCT word) FROM t")
    name = f"{words.people:,} people, {words.each} words each ({words.before})"
    return errors(
        name,
        floats([rows[0] for rows in values]),
        floats([np.count_nonzero(different)]),
        (words.goal,),
    )


def _found(words: Words) -> tuple[str, ...]:
    values, _ = _answers(words, "SELECT word FROM t GROUP BY word")
    found = np.array([len(rows) for rows in values])
    mean, uncertain = found.mean(), found.std(ddof=1) / np.sqrt(len(found))
    name = f"{words.people:,} people, {words.each} words each ({words.before})"
    reached = met(bool(mean >= words.goal - 2 * uncertain))
    return name, "keys", f"{mean:.0f}", f"{uncertain:.2g}", f">= {words.goal:g}", reached


def _answers(
    words: Words, text: str, budget: Budget = ONE
) -> tuple[list[Sequence[Sequence[Any]]], npt.NDArray[np.int64]]:
    """The rows of each answer, and the number of people with each word."""
    random = np.random.default_rng(1)
    shares = np.arange(1, words.different + 1) ** -words.zipf
    drawn = random.random((words.people, words.each))
    chosen = np.searchsorted(np.cumsum(shares / shares.sum()), drawn)
    who = np.repeat(np.arange(words.people), words.each)
    last = Fraction(words.different - 1)
    bounds = (Fraction(0), last) if budget is not ONE else (None, None)
    columns = (Column("who", Kind.INTEGER), Column("word", Kind.INTEGER, *bounds))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.csv"
        pairs = np.column_stack((who, chosen.ravel()))
        np.savetxt(path, pairs, "%d", ",", header="who,word", comments="")
        table = Table("t", path, columns, unit="who", rows_per_unit=words.each)
        policy = Policy((table,), budget)
        engine, answers = ReadOnce(tables=policy.tables), list[Sequence[Sequence[Any]]]()
        for _ in range(RUNS):
            session = Session(policy)
            session._loaded_engine = engine
            answers.append(session.execute(text).rows)
    once = np.unique(pairs, axis=0)[:, 1]
    return answers, np.bincount(once, minlength=words.different)
