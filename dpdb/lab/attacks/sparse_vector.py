"""Yes or no, is it above the threshold: the sparse vector technique, right and wrong [LSL17]."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from dpdb.lab.attack import PROTECTED_AT, Attack, Guess, Scales, StudentTask
from dpdb.lab.attacks.chances import MOST, Threshold, sparse_vector
from dpdb.lab.database import Database, Defence, Refused, Side, number
from dpdb.lab.figures import ChartLine, Figure, Lines
from dpdb.lab.foils import Told
from dpdb.lab.scenario import Scenario, names
from dpdb.records import dataclass

if TYPE_CHECKING:
    import numpy as np

    from dpdb.lab.attack import Showing


PAIRS = 20
"""Each pair of questions is one about him, and one about its opposite."""


def losses(algorithm: int, pairs: int = PAIRS) -> list[tuple[float, float]]:
    """The largest loss of any number of yes after 1, 2, … pairs, where ε = 1 is claimed."""
    laws = (sparse_vector(algorithm, 1).laws(truth, pairs) for truth in (0, 1))
    return [
        (float(2 * asked), max(_loss(no[told], yes[told]) for told in no))
        for asked, (no, yes) in enumerate(zip(*laws, strict=True), 1)
    ]


def _loss(one: float, other: float) -> float:
    if one == other:
        return 0.0
    return abs(math.log(one / other)) if one and other else math.inf


_NOTES = {
    1: "As the paper proves it: noise 2/ε on the threshold, 4c/ε on each count, at most c yes.",
    4: "Noise 4/ε on the threshold and 4/(3ε) on each count, however many yes there may be.",
    5: "Noise 2/ε on the threshold, none on the counts, and no end.",
    6: "Noise 2/ε on the threshold and 2/ε on each count, and no end.",
}


@dataclass(frozen=True)
class Above(Told):
    """Tells of each count whether it is at least 1, by an algorithm of [LSL17]."""

    algorithm: int = 1

    LABEL = "algorithm {algorithm}, ε = {budget:g}"

    @property
    def note(self) -> str:
        return f"{_NOTES[self.algorithm]} c = {MOST}; the answer is 1 for yes and 0 for no."

    @property
    def side(self) -> Side:
        return Side.PRIVATE if self.algorithm == 1 else Side.FOIL

    ENDED = f"there have been {MOST} yes, and that was all"

    def program(self, seed: int) -> Callable[[float], float | None]:
        import numpy as np  # noqa: PLC0415 (a list of attacks does without)

        noise = sparse_vector(self.algorithm, self.budget)
        run = Threshold(noise, np.random.default_rng(seed))
        return lambda count: None if run.ended else float(run.ask(count))


class SparseVector(Attack):
    """Two questions, each asked again and again, and a count of the yes."""

    place = 18
    title = "Sparse vector: is it above the threshold?"
    source = (
        "Lyu, Su and Li, Understanding the Sparse Vector Technique for Differential Privacy, PVLDB "
        "10(6), 2017: algorithms 1 to 6 of figure 1. Algorithm 2: Dwork and Roth, The Algorithmic "
        "Foundations of Differential Privacy, 2014."
    )
    secret = "Whether Abel Woods smokes: a coin decides."
    idea = (
        "The database tells no count. It says yes or no: is the count, with noise, at least 1, "
        "with noise? A no is meant to cost nothing, and only yes are counted. So ask in turn how "
        "many of his name smoke and how many do not, again and again, and see which has more yes."
    )
    remedy = (
        "The proof, and every word of it. The noise on the threshold pays for any number of no, "
        "as all counts are compared with one threshold. Each yes costs in addition: the noise on a "
        "count has to grow with the number c of yes, and the run has to end after c. Four "
        "published algorithms left one of these out. By the paper, algorithm 4 keeps (1 + 6c)/4·ε, "
        f"which is {(1 + 6 * MOST) / 4:g}·ε for c = {MOST}; algorithms 3, 5 and 6 keep no ε at "
        "all. A rate below the ceiling proves nothing: algorithm 5 stays there, and still gives "
        "answers that are impossible if he does not smoke. The audit finds these (dpdb lab audit "
        "sparse-vector-1, and so on to 6). dpdb looks for MIN and MAX by this technique with "
        "c = 1: the first yes ends the search."
    )
    tasks = (
        StudentTask(
            "Algorithm 5 has no noise on the counts. Which answers prove that he smokes?",
            "Yes to whether he does and no to the opposite: the threshold lies between 0 and 1 "
            "then, and the count that is above it is 1. If he does not smoke, the answers are "
            "never these.",
        ),
        StudentTask(
            f"How much more than ε = 1 may algorithm 4 lose with c = {MOST}, by the paper's "
            "(1 + 6c)/4? And with c = 1?",
            f"{(1 + 6 * MOST) / 4:g} and {(1 + 6) / 4:g}. Noise that does not grow with c is wrong "
            "for c = 1, too: a count needs noise of 2c/ε₂, twice as much, as the threshold moves "
            "one way and the count the other.",
            answer=(1 + 6 * MOST) / 4,
            near=0.01,
        ),
        StudentTask(
            "Algorithm 3 (Roth's lecture notes of 2011) tells the noisy count instead of a yes. "
            "What does that tell more? dpdb lab audit sparse-vector-3 shows it.",
            "The count told is above the noisy threshold, so the threshold is at most that. All "
            "the no before it are now about a threshold that is known from above, and each of them "
            "costs.",
        ),
        StudentTask(
            "The audit finds nothing against algorithms 1 and 2. Is that a proof?",
            "No. The proofs are in the paper and in Dwork and Roth's book. An audit can only show "
            "that an algorithm is wrong, on the questions that it asks.",
        ),
    )
    queries = 2
    foils = (Above(1, algorithm=4), Above(1, algorithm=5), Above(1, algorithm=6))

    def defences(self, epsilons: Sequence[float] = PROTECTED_AT) -> tuple[Defence, ...]:
        return self.off, *self.foils, *map(Above, epsilons)

    def scenario(self, rng: np.random.Generator) -> Scenario:
        bits = rng.integers(2, size=50).tolist()
        people = ["Abel Woods", *names(49)]
        return Scenario(SMOKERS, list(zip(people, bits, strict=True)), bits[0] == 1)

    def run(self, session: Database, rng: np.random.Generator) -> Guess:
        yes = [0.0, 0.0]
        try:
            for _ in range(PAIRS):
                for smokes in (1, 0):
                    where = f"name = 'Abel Woods' AND smokes = {smokes}"
                    answer = session.execute(f"SELECT COUNT(*) FROM people WHERE {where}")
                    yes[smokes] += number(answer)
        except Refused:
            pass  # what has been told before is enough
        because = f"{yes[1]:g} yes to his smoking, {yes[0]:g} to the opposite."
        return Guess(yes[1] > yes[0], because)

    def chance(self, defence: Defence, scales: Scales) -> float | None:
        if not isinstance(defence, Above):
            return None if scales else 1.0
        [*_, smokes], [*_, does_not] = (
            sparse_vector(defence.algorithm, defence.budget).laws(truth, PAIRS) for truth in (1, 0)
        )
        found = sum(p for (his, other), p in smokes.items() if his > other)
        return (found + sum(p for (his, other), p in does_not.items() if his <= other)) / 2

    def figures(self, showings: Sequence[Showing]) -> Sequence[Figure]:
        return (
            Lines(
                "How much the most telling answers lose, where ε = 1 is claimed",
                "questions asked",
                [ChartLine(f"algorithm {each}", losses(each)) for each in (1, 2, 4, 6)],
                level=1,
                level_label="the ε claimed",
                up="loss",
            ),
        )


SMOKERS = """
name   = { type = "text" }
smokes = { type = "integer", bounds = [0, 1], nullable = false }
"""
