"""A census block, solved from its published totals by trying every table [GAM18]."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

from dpdb.lab.attack import Attack, Guess, Scales, StudentTask
from dpdb.lab.attacks import chances
from dpdb.lab.database import Database, Refused, number
from dpdb.lab.figures import ChartLine, Figure, Lines
from dpdb.lab.foils import EachItsOwn, QuerySetSize
from dpdb.lab.scenario import Scenario

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from dpdb.lab.attack import Showing
    from dpdb.lab.database import Defence


BLOCK = (
    ("Ada", 8, "F", "own", "single"), ("Ben", 18, "M", "rent", "single"),
    ("Cleo", 24, "F", "rent", "single"), ("Dan", 30, "M", "rent", "married"),
    ("Eve", 36, "F", "own", "married"), ("Fay", 66, "F", "own", "married"),
    ("Gus", 84, "M", "own", "married"),
)  # fmt: skip
"""Public: who lives in the block, as in the paper, which has two races for the two homes."""
VALUES = 4
"""Each has 0 to 3 chronic illnesses."""
LEAST = 3
"""No total of fewer people is published."""
GROUPS: Mapping[str, tuple[int, ...]] = {
    "": (0, 1, 2, 3, 4, 5, 6),
    "sex = 'F'": (0, 2, 4, 5),
    "sex = 'M'": (1, 3, 6),
    "home = 'own'": (0, 4, 5, 6),
    "home = 'rent'": (1, 2, 3),
    "status = 'married'": (3, 4, 5, 6),
    "sex = 'F' AND home = 'own'": (0, 4, 5),
    "sex = 'F' AND age < 40": (0, 2, 4),
}
"""The groups that totals are published of, and their members: the paper's, and one more."""
EXACT = 0.01
"""The scale of the noise of exact numbers: a table that misses one by 1/2 is e^50 less likely."""
BELIEF = 0.95


@cache
def tables() -> npt.NDArray[np.int64]:
    """Each row is a table: the illnesses of each person, and no table is left out."""
    import numpy as np  # noqa: PLC0415 (a list of attacks does without)

    return np.array(list(itertools.product(range(VALUES), repeat=len(BLOCK))))


@cache
def published(statistic: str) -> npt.NDArray[np.float64]:
    """published[group, table]: the `sum` or the `median` of each group in each table."""
    import numpy as np  # noqa: PLC0415

    of_groups = [tables()[:, members] for members in GROUPS.values()]
    if statistic == "median":
        return np.stack([np.median(each, axis=1) for each in of_groups])
    return np.stack([each.sum(axis=1) for each in of_groups]).astype(float)


@cache
def _has() -> npt.NDArray[np.float64]:
    """has[value · people + person, table]: 1 where that person has that value, else 0."""
    import numpy as np  # noqa: PLC0415

    people = tables().T
    return np.concatenate([people == value for value in range(VALUES)]).astype(float)


def beliefs(
    sums: Sequence[float], medians: Sequence[float], scale: float
) -> npt.NDArray[np.float64]:
    """The belief in each table, all alike before: by Bayes' rule from Laplace noise of this scale.

    NaN stands for a number that is not known.
    """
    import numpy as np  # noqa: PLC0415

    off = np.zeros(len(tables()))
    for statistic, numbers in (("sum", sums), ("median", medians)):
        for of_tables, told in zip(published(statistic), numbers, strict=True):
            if not math.isnan(told):
                off += np.abs(of_tables - told)
    weights = np.exp((off.min() - off) / (scale or EXACT))
    return np.asarray(weights / weights.sum())


def best(belief: npt.NDArray[np.float64]) -> tuple[int, ...]:
    """The likeliest number of each person."""
    of_value = (_has() @ belief).reshape(VALUES, -1)
    return tuple(of_value.argmax(axis=0).tolist())


def left(belief: npt.NDArray[np.float64]) -> int:
    """The least number of tables that hold 95 % of the belief."""
    import numpy as np  # noqa: PLC0415

    return int(np.searchsorted(np.cumsum(np.sort(belief)[::-1]), BELIEF)) + 1


class Census(Attack):
    """Totals of a block of seven, and a solver that keeps the tables which fit."""

    place = 19
    title = "Census: a block solved from its published totals"
    source = (
        "Garfinkel, Abowd and Martindale, Understanding Database Reconstruction Attacks on Public "
        "Data, ACM Queue 16(5), 2018, and Communications of the ACM 62(3), 2019."
    )
    secret = (
        f"How many chronic illnesses each of {len(BLOCK)} people of a block has: 0 to "
        f"{VALUES - 1}, all as likely. Who lives there, age, sex, home and marriage are known to "
        "every neighbour."
    )
    idea = (
        f"The census publishes totals and medians of {len(GROUPS)} groups, none of fewer than "
        f"{LEAST} people. Each is an equation, and whatever is published has to be true of one "
        f"table. There are {VALUES}^{len(BLOCK)} = {VALUES ** len(BLOCK):,} tables. Try them all, "
        "and keep those that fit. The paper does so for ages with a solver of logic, which finds "
        "the only table of its block; the bureau did it for its census of 2010."
    )
    remedy = (
        "Noise on every total, and one budget for all of them. No table fits exactly then, and "
        "very many fit about as well. To withhold small groups did nothing: what is withheld "
        "follows from what is not. Noise without a budget did little: "
        f"{len(GROUPS)} totals at ε = 1 each are ε = {len(GROUPS)} for everybody. Note the price: "
        f"of {len(BLOCK)} people nothing accurate can be told at a small ε, by anybody. The same "
        "noise on the total of a city is nothing. The bureau published its census of 2020 with "
        "differential privacy."
    )
    tasks = (
        StudentTask(
            "The paper's block has the same seven people, and their ages are the secret. Published "
            "are count, median and mean age: all 7, 30, 38; women 4, 30, 33.5; men 3, 30, 44; "
            "Black 4, 51, 48.5; white 3, 24, 24; Black women 3, 36, 36.7; married 4, 51, 54. How "
            "old is the oldest?",
            "84. The sums are 266, 134, 132, 194, 72 and 110. So the one Black man is 194 - 110 = "
            "84, and the one white woman 134 - 110 = 24. The two white men sum to 48, and with 84 "
            "the median of the men is 30: 30 and 18. The Black women have the median 36, and with "
            "84 the median of the Black is (36 + x)/2 = 51: x = 66, and the youngest is 8.",
            answer=84,
        ),
        StudentTask(
            f"How many tables are there of {len(BLOCK)} people with {VALUES} values each, before "
            "anything is published?",
            f"{VALUES}^{len(BLOCK)} = {VALUES ** len(BLOCK)}. Each further person makes it "
            f"{VALUES} times as many, so trying all of them ends at about a dozen people. A solver "
            "leaves out most without trying, and takes blocks of any size one by one.",
            answer=VALUES ** len(BLOCK),
        ),
        StudentTask(
            "The totals of women and of men who rent are withheld, as each group has fewer than "
            f"{LEAST} people. Find out Cleo's number all the same.",
            "She is the only woman who rents: the total of the women less that of the women who "
            "own. Both are published. Withholding would have to go on until no difference is "
            "small.",
        ),
    )
    worlds = VALUES
    queries = len(GROUPS)
    guesses = len(BLOCK)
    model_trials = 2000
    foils = (QuerySetSize(LEAST), EachItsOwn(1))
    honest = "SELECT SUM(illnesses) FROM block"

    def scenario(self, rng: np.random.Generator) -> Scenario:
        illnesses = rng.integers(VALUES, size=len(BLOCK)).tolist()
        rows = [(*person, many) for person, many in zip(BLOCK, illnesses, strict=True)]
        return Scenario(COLUMNS, rows, tuple(illnesses), table="block")

    def run(self, session: Database, rng: np.random.Generator) -> Guess:
        sums, scale = _asked(session, "SUM")
        # Medians cost as much as sums: bought only where they are free.
        medians = [math.nan] * len(GROUPS) if scale else _asked(session, "MEDIAN")[0]
        belief = beliefs(sums, medians, scale)
        told = "hold 95 % of the belief" if scale else "fit"
        return Guess(best(belief), f"Of {len(belief):,} tables {left(belief):,} {told}.")

    def score(self, guess: object, truth: object) -> tuple[int, int]:
        assert isinstance(guess, tuple)
        assert isinstance(truth, tuple)
        return sum(g == t for g, t in zip(guess, truth, strict=True)), len(BLOCK)

    def simulate(
        self, defence: Defence, scales: Scales, rng: np.random.Generator, trials: int
    ) -> int:
        hits, scale = 0, scales[0] if scales else 0.0
        for table in rng.integers(len(tables()), size=trials).tolist():
            sums, medians = (published(each)[:, table] for each in ("sum", "median"))
            if scale:
                sums, medians = sums + chances.draws(rng, scale, len(GROUPS)), medians * math.nan
            guess = best(beliefs(sums.tolist(), medians.tolist(), scale))
            hits += self.score(guess, tuple(tables()[table].tolist()))[0]
        return hits

    def figures(self, showings: Sequence[Showing]) -> Sequence[Figure]:
        return (
            Lines(
                "How many tables hold 95 % of the belief",
                "numbers published",
                [ChartLine(s.defence.label, _narrowing(s)) for s in showings],
                logarithmic=True,
            ),
        )


def _asked(session: Database, statistic: str) -> tuple[list[float], float]:
    """A number for each group, NaN where it is refused, and the scale of their noise."""
    numbers, scale = [], 0.0
    for where in GROUPS:
        question = f"SELECT {statistic}(illnesses) FROM block" + (where and f" WHERE {where}")
        try:
            answer = session.execute(question)
        except Refused:
            numbers.append(math.nan)
            continue
        numbers.append(number(answer))
        scale = float(answer.releases[0].scale or 0) if answer.releases else 0.0
    return numbers, scale


def _narrowing(showing: Showing) -> list[tuple[float, float]]:
    """Points (n, number of tables that hold 95 % of the belief after n numbers)."""
    numbers = [math.nan] * (2 * len(GROUPS))
    points, scale = [(0.0, float(VALUES ** len(BLOCK)))], 0.0
    for place, exchange in enumerate(showing.exchanges):
        if (answer := exchange.answer) is not None:
            numbers[place] = number(answer)
            scale = float(answer.releases[0].scale or 0) if answer.releases else 0.0
        belief = beliefs(numbers[: len(GROUPS)], numbers[len(GROUPS) :], scale)
        points.append((place + 1.0, float(left(belief))))
    return points


COLUMNS = f"""
name      = {{ type = "text" }}
age       = {{ type = "integer", bounds = [0, 120], nullable = false }}
sex       = {{ type = "text", values = ["F", "M"], nullable = false }}
home      = {{ type = "text", values = ["own", "rent"], nullable = false }}
status    = {{ type = "text", values = ["single", "married"], nullable = false }}
illnesses = {{ type = "integer", bounds = [0, {VALUES - 1}], nullable = false }}
"""
