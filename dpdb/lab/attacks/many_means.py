"""Homer and others: in a published list of means, was this person among the averaged?"""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING

from dpdb.lab import chances
from dpdb.lab.attack import Attack, Scales, StudentTask
from dpdb.lab.database import Database
from dpdb.lab.scenario import Scenario
from dpdb.lab.transcript import Guess

if TYPE_CHECKING:
    import numpy as np

    from dpdb.lab.defences import Defence

VARIANTS, OTHERS = 150, 9
_KNOWN = random.Random(2008)  # noqa: S311 (a profile, not a key)
PROFILE = tuple(_KNOWN.randrange(2) for _ in range(VARIANTS))
"""What the attacker has of the victim: a genome, from a hair."""


HALFWAY = VARIANTS / 8 / (OTHERS + 1)
"""With her among n patients the means are nearer to her by VARIANTS/(4n), without her by 0."""


def _margin(shares: int, patients: int) -> float:
    """The error that 95 of 100 shares stay below at ε = 1, when so many are published."""
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
            "Take 500 patients instead of 9: OTHERS in dpdb/lab/attacks/many_means.py. How many "
            "variants does the attack need then?",
            f"{VARIANTS * 501 // (OTHERS + 1):,}, as many for each patient as here. Of n patients "
            "and v variants, she moves the sum by v/(4n), and chance moves it by √v/(4√n): the "
            "attack's strength is √(v/n).",
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
            COLUMNS,
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


COLUMNS = f"""
patient = {{ type = "text" }}
variant = {{ type = "integer", bounds = [1, {VARIANTS}], nullable = false }}
has_it  = {{ type = "integer", bounds = [0, 1], nullable = false }}
"""
