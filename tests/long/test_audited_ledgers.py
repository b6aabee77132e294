"""Two analysts who put together what they are told learn no more than their ledger was charged.

Each of them asks in a session of his own, over one ledger. A statement is about many groups that
hold the same rows, and each group is a run; for the next runs there is another ledger. On a
neighbouring table all is the same but for one row of each group. What both see of a group is one
transcript, whose loss is bounded from below as tests/long/audits.py says, with certainty
1 - ALPHA (Clopper and Pearson).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np
import pytest

from dpdb.answers.tables import rows
from dpdb.ledger.custodian import book_of
from dpdb.plan.relations.regions import Region
from dpdb.policy.reading.reader import read_policy
from dpdb.session.budget_overview import open_budget
from dpdb.session.session import Session
from tests.long.audits import GROUPS, Drawn, Floats, Found, best_bound
from tests.support.lasting import folder_in_memory
from tests.support.noiseless import Noiseless

RUNS = 100_000
POLICY = """
[budget]
name = "audit"
epsilon = 4
queries = 4
[privacy]
neighbors = "{relation}"
[tables.t.columns]
g = {{ type = "integer", bounds = [0, {last}], nullable = false }}
x = {{ type = "integer", bounds = [0, 3] }}
"""


@dataclass(frozen=True)
class Joint:
    """What Alice and Bob ask, in turns, and the rows of a group on two neighbouring tables."""

    name: str
    alice: Sequence[str]
    bob: Sequence[str]
    one: Sequence[int] = ()
    other: Sequence[int] = (3,)
    relation: str = "add-remove"
    power: float = 0.8
    """How much of the charge is sure to be found in many runs."""

    def __str__(self) -> str:
        return self.name


def asking(statistic: str, epsilon: str = "0.5", where: str = "TRUE") -> str:
    options = f"WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = {epsilon})"
    return f"SELECT {options} g, {statistic} FROM t WHERE {where} GROUP BY g"


COUNT = "COUNT(*)"
JOINT = [
    Joint("the same question", [asking(COUNT)], [asking(COUNT)]),
    Joint("a question and a finer one", [asking(COUNT, "0.25")], [asking(COUNT, "0.75")]),
    Joint("a question and a coarser one", [asking(COUNT, "0.75")], [asking(COUNT, "0.25")]),
    Joint("other questions", [asking(COUNT), asking("SUM(x)")], [asking("SUM(x)", where="x > 1")]),
    Joint("filters that exclude each other", [asking(COUNT, "1", "x > 1")],
          [asking(COUNT, "1", "x < 2")]),
    # It could go to another group as well, which is half of what is charged.
    Joint("a row that moves between filters", [asking(COUNT, "1", "x > 1")],
          [asking(COUNT, "1", "x < 2")], [0], [3], "replace", power=0.4),
]  # fmt: skip
OVERLAPPING = Joint(
    "filters with rows in both", [asking(COUNT, "1", "x > 0")], [asking(COUNT, "1", "x > 1")]
)


@pytest.fixture(autouse=True)
def _unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers need not wait for a tick of the clock, and nobody looks at their intervals."""
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    monkeypatch.setattr(rows, "confidence_intervals", lambda *_, **__: None)


class Side:
    """One of the two tables, its ledger, and two analysts who ask."""

    def __init__(self, joint: Joint, values: Sequence[int], folder: Path):
        folder.mkdir()
        lines = ["g,x", *(f"{group},{x}" for group in range(GROUPS) for x in values)]
        (folder / "t.csv").write_text("\n".join(lines))
        (folder / "t.toml").write_text(POLICY.format(relation=joint.relation, last=GROUPS - 1))
        self._joint, self._policy = joint, read_policy(folder / "t.toml")
        self.truth = self._transcripts(Noiseless())[0][0]
        """What both see of a group without noise."""

    def runs(self, number: int) -> tuple[Floats, Floats, Floats]:
        """Of so many runs what both see, and its noise's scales; and what the ledger was charged."""
        batches = [self._batch() for _ in range(-(-number // GROUPS))]
        values, scales, charges = zip(*batches, strict=True)
        return np.concatenate(values)[:number], scales[0], np.repeat(charges, GROUPS)[:number]

    def _batch(self) -> tuple[Floats, Floats, float]:
        values, scales = self._transcripts(None)
        totals = book_of(self._policy).last().entry.totals
        return values, scales, float(totals.loss.epsilon)

    def _transcripts(self, noise: Noiseless | None) -> tuple[Floats, Floats]:
        """A row for each group, and a column for each answer, over a new ledger."""
        for ledger in self._policy.tables[0].path.parent.glob("t.ledger*"):
            ledger.unlink()
        open_budget(self._policy)
        sessions = [Session(self._policy, noise=noise, analyst=name) for name in ("alice", "bob")]
        asked = [[(session, text) for text in texts] for session, texts in
                 zip(sessions, (self._joint.alice, self._joint.bob), strict=True)]  # fmt: skip
        answers = [session.execute(text) for session, text in chain(*asked)]
        scales = [float(release.scale) for answer in answers for release in answer.releases]
        shown = [[row[1] for row in answer.rows] for answer in answers]
        return np.array(shown, dtype=np.float64).T, np.array(scales)


def found(joint: Joint, folder: Path, runs: int) -> Found:
    """The best bound on what both are told together, and what they were charged together."""
    sides = [Side(joint, values, folder / name)
             for name, values in (("one", joint.one), ("other", joint.other))]  # fmt: skip
    one, other = (side.truth for side in sides)

    def draw(number: tuple[int, int]) -> Drawn:
        scores, charges = [], []
        for side, each in zip(sides, number, strict=True):
            values, scales, charged = side.runs(each)
            # Of independent Laplace noise this is the logarithm of the likelihoods' ratio.
            ratio = (np.abs(values - one) - np.abs(values - other)) / scales
            scores.append(ratio.sum(axis=1))
            charges.append(charged)
        return scores, charges

    return best_bound(draw, runs)


@pytest.mark.examples(RUNS, GROUPS)
@pytest.mark.parametrize("joint", JOINT, ids=str)
def test_two_are_told_no_more_than_was_charged(joint: Joint, examples: int, tried) -> None:
    with folder_in_memory() as folder:
        bound = found(joint, folder, examples)
    tried(f"{bound}, {examples} transcripts on either table")
    assert bound.epsilon <= bound.charged
    if examples >= RUNS:
        assert bound.epsilon > joint.power * bound.charged


def test_filters_that_do_not_exclude_each_other_would_be_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Region, "excludes", lambda self, other: self.key != other.key)
    with folder_in_memory() as folder:
        bound = found(OVERLAPPING, folder, 10 * GROUPS)
    assert bound.charged == 1
    assert bound.epsilon > 1.2
