"""Audits of a session: how likely its answers are on one table, and on a neighbouring one.

A mechanism is run many times through `Session.execute`; `tests.long.remembering` says what is not
worked out anew for each run. Where groups are independent of each other, every group holds the
same rows, and each is a run of its own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import beta

from dpdb.answers.answer import Answer
from dpdb.policy.budget import Budget
from dpdb.policy.reader import read_policy
from dpdb.session.session import Session
from tests.long.remembering import remembering
from tests.support.noiseless import Noiseless

ALPHA = 1e-6
"""How likely an audit is to find more than there is."""
GROUPS = 500
PLENTY = Budget(Fraction(10**12), Fraction(999_999, 10**6), 10**9)
POLICY = """
[privacy]
neighbors = "{relation}"
[tables.t]
{unit}
[tables.t.columns]
g = {{ type = "integer", bounds = [0, {last}], nullable = false }}
x = {{ type = "integer", bounds = [-2, 5] }}
k = {{ type = "integer", bounds = [3, 7], nullable = false }}
v = {{ type = "integer", values = [0, 1] }}
u = {{ type = "text" }}
"""
Floats = npt.NDArray[np.float64]
Cells = tuple[str, ...]
"""What a row holds beside its group: x, k, v, and the rest of its unit's name."""


def cells(x: object = "", k: object = 5, v: object = "", u: str = "") -> Cells:
    """A row of a group."""
    return str(x), str(k), str(v), u


@dataclass(frozen=True)
class Audit:
    """A statement, and two tables that are among the worst for what it runs."""

    name: str
    sql: str
    one: Sequence[Sequence[Cells]]
    """The rows of one run: of each of the groups that it is made of."""
    other: Sequence[Sequence[Cells]]
    relation: str = "add-remove"
    rows_per_unit: int = 0
    options: str = ""
    summed: bool = False
    """Whether the values shown have noise added to them: their evidence is then added up."""
    single: bool = False
    """Whether a statement is one run, and not one for each group."""
    power: float = 0
    """How much of the charge is sure to be found in many runs."""

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Runs:
    """What came out: a row of values for each run, and what it was charged."""

    values: Floats
    charges: Floats


class Side:
    """One of the two tables, and a session that answers about it as often as it is asked."""

    def __init__(self, audit: Audit, rows: Sequence[Sequence[Cells]], folder: Path, noise: Any):
        folder.mkdir(parents=True, exist_ok=True)
        self._width = len(rows)
        self._audit = audit
        number = self._width if audit.single else GROUPS - GROUPS % self._width
        lines = ["g,x,k,v,u"]
        for group in range(number):
            # A unit may have rows in all the groups of a run.
            run = group // self._width
            for x, k, v, u in rows[group % self._width]:
                lines.append(f"{group},{x},{k},{v},{u and f'{run} {u}'}")
        (folder / "t.csv").write_text("\n".join(lines), encoding="utf-8")
        unit = f'unit = "u"\nrows_per_unit = {audit.rows_per_unit}' if audit.rows_per_unit else ""
        policy = POLICY.format(relation=audit.relation, unit=unit, last=number - 1)
        (folder / "t.toml").write_text(policy, encoding="utf-8")
        self._policy = replace(read_policy(folder / "t.toml"), budget=PLENTY)
        self._session = self._opened(noise)

    def _opened(self, noise: Any) -> Session:
        session = Session(self._policy, noise=noise)
        session.execute("SET repeats = 'fresh'")
        session.execute("SET epsilon = 1")
        return session

    @property
    def truth(self) -> Floats:
        """What a run shows without noise."""
        return self._values(self._opened(Noiseless()).execute(self._statement))[0]

    @property
    def _statement(self) -> str:
        options = self._audit.options
        asked = f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS({options}) " if options else "SELECT "
        return asked + self._audit.sql

    def runs(self, number: int) -> Runs:
        """At least so many runs."""
        values, charges = [], []
        while sum(map(len, values)) < number:
            answer = self._session.execute(self._statement)
            values.append(self._values(answer))
            charges.append(np.full(len(values[-1]), float(answer.cost.epsilon)))
        return Runs(np.concatenate(values), np.concatenate(charges))

    def _values(self, answer: Answer) -> Floats:
        """A row of values for each run: the groups' keys are left out."""
        shown = answer.rows if self._audit.single else [row[1:] for row in answer.rows]
        table = np.array(shown, dtype=np.float64)
        return table if self._audit.single else table.reshape(len(table) // self._width, -1)


def _score(audit: Audit, values: Floats, truths: tuple[Floats, Floats]) -> Floats:
    """A number for each run that is the larger, the more it speaks for the other table.

    Of Laplace noise the log of the likelihoods' ratio is linear in each value between what is
    true of either table, and constant beyond.
    """
    if not audit.summed:
        (column,) = values.T
        return column
    one, other = truths
    moved = one != other
    place = (values[:, moved] - one[moved]) / (other[moved] - one[moved])
    return np.asarray(np.clip(place, 0, 1).sum(axis=1))


@dataclass(frozen=True)
class Found:
    """The lower bound on ε that an audit arrived at, and what ε was charged at most."""

    epsilon: float
    charged: float

    def __str__(self) -> str:
        return f"at least {self.epsilon:.3f} of {self.charged:g}"


@dataclass(frozen=True)
class _Event:
    """Answers of at most a price, whose score is beyond a threshold."""

    charged: float
    threshold: float
    sign: int
    numerator: int
    """The table on which it is the likelier."""

    def happened(self, scores: Floats, charges: Floats) -> int:
        beyond = self.sign * scores >= self.sign * self.threshold
        return int((beyond & (charges <= self.charged)).sum())


def lower_bound(hits: int, others: int, runs: int, delta: float) -> float:
    """ε with P <= e^ε·Q + δ, surely: both ends are Clopper's and Pearson's (Biometrika 26, 1934)."""
    p = float(beta.ppf(ALPHA / 2, hits, runs - hits + 1)) if hits else 0.0
    q = float(beta.ppf(1 - ALPHA / 2, others + 1, runs - others)) if others < runs else 1.0
    return math.log((p - delta) / q) if p > delta else -math.inf


def found(audit: Audit, folder: Path, runs: int, noise: Any = None) -> Found:
    """The best bound of an event that was chosen on runs of its own.

    Where the price hangs on the answer, an event of answers of at most some price may be so
    much likelier on one table, and not more (ex-post privacy, Ligett et al. 2017).
    """
    with remembering():
        return _found(audit, folder, runs, noise)


def _found(audit: Audit, folder: Path, runs: int, noise: Any) -> Found:
    sides = [
        Side(audit, rows, folder / name, noise)
        for name, rows in (("one", audit.one), ("other", audit.other))
    ]
    truths = (sides[0].truth, sides[1].truth) if audit.summed else (np.zeros(0),) * 2
    delta = 1e-6 if "delta" in audit.options else 0.0
    first = _drawn(audit, sides, truths, max(runs // 10, 1))
    event = max(_events(first), key=lambda event: _gained(event, first))
    scores, charges = _drawn(audit, sides, truths, runs)
    hits = [event.happened(*each) for each in zip(scores, charges, strict=True)]
    number = min(map(len, scores))
    bound = lower_bound(hits[event.numerator], hits[1 - event.numerator], number, delta)
    return Found(bound, event.charged)


Drawn = tuple[list[Floats], list[Floats]]


def _drawn(audit: Audit, sides: Sequence[Side], truths: Any, runs: int) -> Drawn:
    """Scores and charges of as many runs on either table."""
    drawn = [side.runs(runs) for side in sides]
    number = min(len(each.values) for each in drawn)
    return (
        [_score(audit, each.values[:number], truths) for each in drawn],
        [each.charges[:number] for each in drawn],
    )


def _events(drawn: Drawn) -> list[_Event]:
    scores, charges = (np.concatenate(each) for each in drawn)
    thresholds = np.unique(np.quantile(scores, np.linspace(0.01, 0.99, 99)))
    return [
        _Event(price, threshold, sign, numerator)
        for price in np.unique(charges).tolist()
        for threshold in thresholds.tolist()
        for sign in (1, -1)
        for numerator in (0, 1)
    ]


def _gained(event: _Event, drawn: Drawn) -> float:
    """Of how much of the charge an event will be sure, roughly: five standard deviations less."""
    rates = [
        (event.happened(scores, charges) + 1) / (len(scores) + 1)
        for scores, charges in zip(*drawn, strict=True)
    ]
    ratio = math.log(rates[event.numerator] / rates[1 - event.numerator])
    unsure = sum(math.sqrt((1 - rate) / rate / len(drawn[0][0])) for rate in rates)
    return (ratio - 5 * unsure) / event.charged
