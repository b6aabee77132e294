"""Audits of a session: how likely its answers are on one table, and on a neighbouring one.

A mechanism is run many times through `Session.execute`; `tests.long.remembering` says what is not
worked out anew for each run. Where groups are independent of each other, every group holds the
same rows, and each is a run of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import beta, binom

from dpdb.answers.answer import Answer
from dpdb.policy.budget import Budget
from dpdb.policy.reading.reader import read_policy
from dpdb.session.session import Session
from tests.long.remembering import remembering
from tests.support.noiseless import Noiseless

ALPHA = 1e-6
"""How likely an audit is to find more than there is."""
GROUPS = 500
ENDS = 25
"""So many quantiles of the scores are tried as ends beyond which a table is guessed."""
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
class _Guess:
    """Which table a run is of: told by answers of at most a price, with scores beyond two ends."""

    charged: float
    low: float
    high: float
    sign: int
    """1 where large scores speak for the other table, and -1 where they speak against it."""

    def right_and_all(self, scores: list[Floats], charges: list[Floats]) -> tuple[int, int]:
        """How many guesses are right, and how many there are."""
        right = wrong = 0
        for table, (values, paid) in enumerate(zip(scores, charges, strict=True)):
            told = self.sign * values[paid <= self.charged]
            one, other = int((told <= self.low).sum()), int((told >= self.high).sum())
            right += other if table else one
            wrong += one if table else other
        return right, right + wrong


def lower_bound(right: int, guesses: int, runs: int, delta: float) -> float:
    """ε, surely, of so many right guesses in as many runs on tables chosen by fair coins.

    An answer of probabilities p and q on the two tables is of the first with probability
    p/(p + q), which p <= e^ε·q makes at most e^ε/(1 + e^ε). So each guess is right with no more,
    independently of the others (Steinke, Nasr, Jagielski 2023), and the bound is Clopper's and
    Pearson's (Biometrika 26, 1934). With δ, answers are of two such laws but for a part δ of the
    runs (Kairouz, Oh, Viswanath 2015): as many as these can be, all of them right, are left out.
    """
    lost, alpha = 0, ALPHA
    if delta:
        alpha = ALPHA / 2
        lost = int(binom.isf(alpha, runs, delta))
    if right <= lost:
        return -math.inf
    share = float(beta.ppf(alpha, right - lost, guesses - right + lost + 1))
    return math.log(share / (1 - share))


def found(audit: Audit, folder: Path, runs: int, noise: Any = None) -> Found:
    """The best bound of a way to guess that was chosen on runs of its own.

    Where the price hangs on the answer, answers of at most some price may be so much likelier on
    one table, and not more (ex-post privacy, Ligett et al. 2017).
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
    return best_bound(lambda number: _drawn(audit, sides, truths, number), runs, delta)


Drawn = tuple[list[Floats], list[Floats]]
"""Scores and charges, of either table."""


def best_bound(draw: Callable[[tuple[int, int]], Drawn], runs: int, delta: float = 0) -> Found:
    """The bound of the best way to guess; `draw` makes so many runs on either table."""
    few = max(runs // 10, 1)
    first = draw((few, few))
    guess = max(_guesses(first), key=lambda guess: _gained(guess, first))
    heads = int(np.random.default_rng(1).binomial(2 * runs, 0.5))
    right, guesses = guess.right_and_all(*draw((heads, 2 * runs - heads)))
    return Found(lower_bound(right, guesses, 2 * runs, delta), guess.charged)


def _drawn(audit: Audit, sides: Sequence[Side], truths: Any, runs: tuple[int, int]) -> Drawn:
    """Scores and charges of so many runs on either table."""
    drawn = [side.runs(number) for side, number in zip(sides, runs, strict=True)]
    return (
        [_score(audit, each.values[:n], truths) for each, n in zip(drawn, runs, strict=True)],
        [each.charges[:n] for each, n in zip(drawn, runs, strict=True)],
    )


def _guesses(drawn: Drawn) -> list[_Guess]:
    scores, charges = (np.concatenate(each) for each in drawn)
    guesses = []
    for sign in (1, -1):
        ends = np.unique(np.quantile(sign * scores, np.linspace(0.01, 0.99, ENDS))).tolist()
        guesses += [
            _Guess(price, low, high, sign)
            for price in np.unique(charges).tolist()
            for low, high in product([-math.inf, *ends], [*ends, math.inf])
            if low < high
        ]
    return guesses


def _gained(guess: _Guess, drawn: Drawn) -> float:
    """Of how much of the charge a guess will be sure, roughly: five standard deviations less."""
    right, guesses = guess.right_and_all(*drawn)
    right, wrong = right + 1, guesses - right + 1
    return (math.log(right / wrong) - 5 * math.sqrt(1 / right + 1 / wrong)) / guess.charged
