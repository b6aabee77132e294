"""Secrets out of many answers, none of which says much: counts of subsets, means of a study."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import TYPE_CHECKING

from dpdb.lab.attack import Attack, Guess, Scales, StudentTask
from dpdb.lab.attacks import chances
from dpdb.lab.database import Database, number
from dpdb.lab.figures import ChartLine, Figure, Lines, TileRow, Tiles
from dpdb.lab.foils import EachItsOwn, Rounded
from dpdb.lab.scenario import Scenario

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from dpdb.lab.attack import Showing
    from dpdb.lab.database import Defence


PEOPLE = 100
QUERIES = 400
ROOMS = 20
"""Rooms of people that are asked the same questions in the model."""


class Reconstruction(Attack):
    """Least squares on the counts of 400 random subsets of 100 people."""

    place = 8
    title = "Reconstruction: everybody's secret from harmless counts"
    source = (
        "Dinur and Nissim, Revealing Information while Preserving Privacy, PODS 2003. By least "
        "squares: Dwork, McSherry and Talwar, The Price of Privacy and the Limits of LP "
        "Decoding, STOC 2007."
    )
    secret = (
        f"Which of {PEOPLE} people smoke: one bit for each, by the toss of a coin. Who is person "
        "1 and who is person 100 is no secret, and every question is about dozens of them."
    )
    idea = (
        "A count of smokers among a known subset is a linear equation in the unknown bits. Ask "
        f"for {QUERIES} random subsets, solve for the {PEOPLE} bits by least squares, and round. "
        "Independent errors, of any size, average out if enough questions are answered: twice the "
        "noise takes four times as many. Dinur and Nissim's theorem needs no independence: however "
        "the errors are chosen, the bits are found as long as no answer is off by as much as "
        f"about √n, here {math.isqrt(PEOPLE)}."
    )
    remedy = (
        f"The budget. {QUERIES} answers share one ε, so each has noise of scale {QUERIES}/ε: "
        f"{QUERIES // 5} even at ε = 5, on counts of about {PEOPLE // 4}. Rounding looks like "
        "protection and only costs the attacker more questions; so does noise that is drawn for "
        "each answer as if it were the only one. No defence can answer very many questions very "
        "accurately: what differential privacy adds is the account of how much has been told."
    )
    tasks = (
        StudentTask(
            "How many questions are enough? The second picture shows it for each defence.",
            f"Exact counts need {PEOPLE}, as many as there are people, and at 80 nearly everybody "
            f"is found. Counts rounded to fives, and noise at ε = 1 each, need 200 for 96 people "
            f"and {QUERIES} for practically all. Under a budget no number is enough.",
        ),
        StudentTask(
            "Ask 40 questions instead of 400, with ten times the ε for each. Who wins?",
            "Hardly anybody. At ε = 5 the noise of each falls from 80 to 8, and 40 answers find "
            "about 54 of 100 people, as 400 find about 52. Even exact ones would find only 79: 40 "
            "equations leave 60 of 100 unknowns open.",
        ),
        StudentTask(
            "The US census of 2010 was reconstructed in this way from its published tables "
            "(Garfinkel, Abowd, Martindale, Understanding Database Reconstruction Attacks on "
            "Public Data, 2019). What did the bureau do about it?",
            "It published the census of 2020 with differential privacy: noise on every table, and "
            "one budget for all of them.",
        ),
    )
    queries = QUERIES
    guesses = PEOPLE
    model_trials = 2000
    foils = (Rounded(5), EachItsOwn(1))
    honest = "SELECT SUM(smokes) FROM people"

    def scenario(self, rng: np.random.Generator) -> Scenario:
        bits = rng.integers(2, size=PEOPLE).tolist()
        return Scenario(BITS, list(enumerate(bits, 1)), tuple(bits))

    def run(self, session: Database, rng: np.random.Generator) -> Guess:
        subsets = rng.integers(2, size=(QUERIES, PEOPLE))
        counts = [number(session.execute(_question(subset))) for subset in subsets.tolist()]
        first = [f"x{person}" for person, chosen in enumerate(subsets[0], 1) if chosen][:4]
        return Guess(
            tuple(_solved(subsets, counts)),
            f"{' + '.join(first)} + … = {counts[0]:g}, and {QUERIES - 1} more equations in "
            f"{PEOPLE} unknowns; the best fit, rounded.",
        )

    def score(self, guess: object, truth: object) -> tuple[int, int]:
        assert isinstance(guess, tuple)
        assert isinstance(truth, tuple)
        return sum(g == t for g, t in zip(guess, truth, strict=True)), PEOPLE

    def simulate(
        self, defence: Defence, scales: Scales, rng: np.random.Generator, trials: int
    ) -> int:
        import numpy as np  # noqa: PLC0415 (a list of attacks does without)

        hits = 0
        for start in range(0, trials, ROOMS):
            rooms = min(ROOMS, trials - start)
            matrix = rng.integers(2, size=(QUERIES, PEOPLE)).astype(float)
            bits = rng.integers(2, size=(PEOPLE, rooms))
            counts = matrix @ bits
            if scales:
                counts = counts + chances.draws(rng, scales[0], counts.shape)
            if isinstance(defence, Rounded):
                counts = np.rint(counts / defence.to) * defence.to
            # The normal equations: faster than `estimates`, and for so many questions the same.
            excess = counts - matrix.sum(axis=1, keepdims=True) / 2
            found = np.linalg.solve(matrix.T @ matrix, matrix.T @ excess) > 0
            hits += int((found == (bits == 1)).sum())
        return hits

    def figures(self, showings: Sequence[Showing]) -> Sequence[Figure]:
        return (
            Tiles(
                f"The {PEOPLE} people, one by one",
                ("guessed right", "guessed wrong"),
                [TileRow(s.defence.label, _wrong(s)) for s in showings],
            ),
            Lines(
                "How many questions it takes",
                "questions asked",
                [ChartLine(s.defence.label, _learning(s)) for s in showings],
                level=PEOPLE / 2,
                level_label="by tossing coins",
            ),
        )


def estimates(
    subsets: npt.NDArray[np.int64] | Sequence[Sequence[int]], counts: Sequence[float]
) -> npt.NDArray[np.float64]:
    """Estimates of n bits from m counts; ½ for a bit that the counts say nothing about.

    Each subset is a row of n zeros and ones, and its count is the number of ones among the bits
    that it chooses. Let S be the m × n matrix of the subsets. Among all x with the least
    |S·x - counts|, the result is the one nearest to (½, …, ½).
    """
    import numpy as np  # noqa: PLC0415 (a list of attacks does without)

    matrix = np.asarray(subsets, dtype=float)
    excess = np.asarray(counts) - matrix.sum(axis=1) / 2
    return np.asarray(np.linalg.lstsq(matrix, excess)[0] + 0.5)


def _question(subset: Sequence[int]) -> str:
    listed = ", ".join(str(person) for person, chosen in enumerate(subset, 1) if chosen)
    return f"SELECT COUNT(*) FROM people WHERE smokes = 1 AND id IN ({listed})"


def _solved(
    subsets: npt.NDArray[np.int64] | Sequence[Sequence[int]], counts: Sequence[float]
) -> list[int]:
    """The bits that fit best: least squares, rounded."""
    return [int(bit > 0.5) for bit in estimates(subsets, counts)]


def _wrong(showing: Showing) -> list[int]:
    assert isinstance(showing.guess.value, tuple)
    assert isinstance(showing.truth, tuple)
    return [int(g != t) for g, t in zip(showing.guess.value, showing.truth, strict=True)]


def _learning(showing: Showing) -> list[tuple[float, float]]:
    """Points (n, number of people who are found out by the first n answers)."""
    asked = [e for e in showing.exchanges if e.answer is not None]
    subsets = [_subset(exchange.sql) for exchange in asked]
    counts = [number(exchange.answer) for exchange in asked if exchange.answer is not None]
    assert isinstance(showing.truth, tuple)
    points = []
    for first in range(20, len(asked) + 1, 20):
        bits = _solved(subsets[:first], counts[:first])
        right = sum(b == t for b, t in zip(bits, showing.truth, strict=True))
        points.append((float(first), float(right)))
    return points


def _subset(question: str) -> list[int]:
    chosen = {int(word) for word in question.partition(" IN (")[2].rstrip(")").split(",")}
    return [int(person in chosen) for person in range(1, PEOPLE + 1)]


BITS = f"""
id     = {{ type = "integer", bounds = [1, {PEOPLE}], nullable = false }}
smokes = {{ type = "integer", bounds = [0, 1], nullable = false }}
"""


VARIANTS, OTHERS = 150, 9
_KNOWN = random.Random(2008)  # noqa: S311 (a profile, not a key)
PROFILE = tuple(_KNOWN.randrange(2) for _ in range(VARIANTS))
"""The victim's genome, which the attacker has from a hair."""


HALFWAY = VARIANTS / 8 / (OTHERS + 1)
"""With her among n patients the means are nearer to her by VARIANTS/(4n), without her by 0."""


def _margin(shares: int, patients: int) -> float:
    """The error that 95 of 100 shares stay below at ε = 1, when `shares` are published."""
    return math.log(20) * shares / patients


class ManyMeans(Attack):
    """Each mean tells next to nothing of a person; all of them together tell everything."""

    place = 9
    title = "Many means: was she in the study?"
    source = (
        "Homer and others, Resolving Individuals Contributing Trace Amounts of DNA to Highly "
        "Complex Mixtures, PLoS Genetics 4 (2008). Bounds: Sankararaman, Obozinski, Jordan and "
        "Halperin, Nature Genetics 41 (2009)."
    )
    secret = (
        f"Whether she is among the patients of a study, of whom there are {OTHERS} others. The "
        f"attacker knows which of {VARIANTS} genetic variants she has, as anybody can who finds a "
        "hair of hers. In the population half have each."
    )
    idea = (
        "The study publishes, for each variant, how many of its patients have it. If she is among "
        "them, every mean is a little nearer to her own 0 or 1. Add up how much nearer, over all "
        "variants: chance cancels, she does not. In 2008 this ended the free publication of such "
        "means by the National Institutes of Health; ten years later, in November 2018, most were "
        "opened again."
    )
    remedy = (
        f"Counting what one person does to the whole list. She has a row for each of {VARIANTS} "
        f"variants, so she can move the list by {VARIANTS} in all, and that is its sensitivity. "
        "The noise is as large as that; the statistic that adds up all variants finds it in each "
        "of them. Many precise means of few people cannot be had privately, whoever computes them."
    )
    tasks = (
        StudentTask(
            f"Suppose 500 other patients instead of {OTHERS}. How many variants does the attack "
            "need then?",
            f"{VARIANTS * 501 // (OTHERS + 1):,}, as many for each patient as here. Of n patients "
            "and v variants, she moves the sum by v/(4n), and chance moves it by √v/(4√n): the "
            "attack's strength is √(v/n).",
            answer=VARIANTS * 501 / (OTHERS + 1),
            near=15,
        ),
        StudentTask(
            "Which means could the study publish at ε = 1 that are still worth reading?",
            f"Few of many people. A share among n patients, one of v, is within ± 3v/n in 95 of "
            f"100. For 500 patients that is {_margin(1, 500):.1%} for one share, "
            f"{_margin(10, 500):.0%} for ten and {_margin(VARIANTS, 500):.0%} for {VARIANTS}; for "
            f"{OTHERS + 1} patients {_margin(1, OTHERS + 1):.0%} already for one.",
        ),
    )
    model_trials = 4000
    honest = "SELECT SUM(has_it) FROM study"

    def scenario(self, rng: np.random.Generator) -> Scenario:
        genomes = rng.integers(2, size=(OTHERS, VARIANTS)).tolist()
        inside = bool(rng.integers(2))
        if inside:
            genomes.append(list(PROFILE))
        rows = [
            (f"P{patient}", variant, has)
            for patient, genome in enumerate(genomes)
            for variant, has in enumerate(genome, 1)
        ]
        return Scenario(
            GENOMES,
            rows,
            inside,
            table="study",
            neighbors="add-remove",
            unit="patient",
            rows_per_unit=VARIANTS,
        )

    def run(self, session: Database, rng: np.random.Generator) -> Guess:
        answer = session.execute("SELECT variant, AVG(has_it) FROM study GROUP BY variant")
        nearer = 0.0
        for variant, mean in answer.rows:
            assert isinstance(variant, int)
            if isinstance(mean, float):
                nearer += (PROFILE[variant - 1] - 0.5) * (mean - 0.5)
        return Guess(
            nearer > HALFWAY,
            f"In all, the means are nearer to her by {nearer:.2f}; 0 is expected without her, "
            f"{2 * HALFWAY:.2f} with her.",
        )

    def simulate(
        self, defence: Defence, scales: Scales, rng: np.random.Generator, trials: int
    ) -> int:
        import numpy as np  # noqa: PLC0415 (a list of attacks does without)

        profile, inside = np.array(PROFILE), rng.integers(2, size=(trials, 1))
        # Of nine patients, as many have a variant as nine coins show heads.
        sums = rng.binomial(OTHERS, 0.5, (trials, VARIANTS)) + inside * profile
        counts = OTHERS + inside
        if scales:
            # A mean is drawn as the sum of what she has and that of what she has not.
            have, lack = (chances.draws(rng, scale, sums.shape) for scale in scales[:2])
            sums, counts = sums + have, counts + have + lack
        means = np.clip(sums / np.maximum(counts, 1), 0, 1)
        nearer = ((profile - 0.5) * (means - 0.5)).sum(axis=1)
        return int(((nearer > HALFWAY) == (inside[:, 0] == 1)).sum())


GENOMES = f"""
patient = {{ type = "text" }}
variant = {{ type = "integer", bounds = [1, {VARIANTS}], nullable = false }}
has_it  = {{ type = "integer", bounds = [0, 1], nullable = false }}
"""
