"""The findings of `dpdb risk`: as a page, as a JSON object, as figures; all for the data owner."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from fractions import Fraction
from typing import Any

import numpy as np

from dpdb.answers.formats.render import SPACES, grid
from dpdb.errors import printable
from dpdb.lab.figures import ChartLine, Lines
from dpdb.lab.studies.adversary import LARGEST, Adversary, Observation, exceeding
from dpdb.lab.studies.worlds import Array
from dpdb.records import dataclass

PRIVATE = "(for the data owner only)"
"""A note in each title, as a figure travels without the page around it."""
_MOST_CURVES = 6
_MOST_NAMES = 3
_STEPS = 200
_TAILS = 3
"""Noise scales to either side of the outermost answers."""
_NEAR_CERTAIN = Fraction(9, 10)
"""Risks are drawn at least up to the ε at which the bound is this."""


def distributions(query: str, adversary: Adversary, epsilon: float) -> Lines:
    """Figures 1 and 3: how likely each answer is in each world, for at most six of them."""
    worlds, scale = adversary.worlds, adversary.scale(epsilon)
    answers = np.unique(worlds.answers)
    chosen = np.unique(np.linspace(0, len(answers) - 1, _MOST_CURVES).astype(int))
    across = np.linspace(answers[0] - _TAILS * scale, answers[-1] + _TAILS * scale, _STEPS)
    # The peaks are points of their own, or they would be cut off.
    across = np.union1d(across, answers[chosen])
    curves = []
    for answer in answers[chosen]:
        heights = np.exp(-np.abs(across - answer) / scale) / (2 * scale)
        points = list(zip(across.tolist(), heights.tolist(), strict=True))
        curves.append(ChartLine(_named(worlds.missing[worlds.answers == answer]), points))
    some = f", {len(chosen)} of {len(answers)} worlds" if len(chosen) < len(answers) else ""
    title = f"{query} at ε = {epsilon:.4g}{some} {PRIVATE}"
    return Lines(title, "the answer", curves, up="density")


def _named(missing: Array) -> str:
    """The label of worlds with the same answer: the values that they lack."""
    names = [f"{value:.6g}" for value in missing[:_MOST_NAMES]]
    others = ["…"] if len(missing) > _MOST_NAMES else []
    return f"without {' or '.join([*names, *others])}"


def risks(adversaries: Mapping[str, Adversary], most: Fraction | None) -> Lines:
    """Figure 2: the bound on the risk (equation 5) and the risk (equation 3) as ε grows."""
    reach = max(_reach(adversary, most) for adversary in adversaries.values())
    across = np.linspace(0, reach, _STEPS // 4).tolist()
    curves = []
    for query, adversary in adversaries.items():
        curves.append(ChartLine(f"bound, {query}", [(x, adversary.bound(x)) for x in across]))
        curves.append(ChartLine(f"exact, {query}", [(x, adversary.risk(x)) for x in across]))
    level = None if most is None else float(most)
    title = f"Risk of disclosure {PRIVATE}"
    return Lines(title, "ε", curves, level, "the most allowed", up="belief in one world")


def _reach(adversary: Adversary, most: Fraction | None) -> float:
    """An ε by which bound and risk have risen, where they do."""
    marks = [adversary.bounding_epsilon(_NEAR_CERTAIN)]
    if most is not None:
        marks.append(adversary.largest_epsilon(most))
    return max((mark for mark in marks if mark and mark < LARGEST), default=1.0)


NOTICE = "For the data owner's eyes, not to be published: exact, worked out from every row."
REMARK = """\
This is for one answer with Laplace noise of scale Δf/ε, as in the paper. The ε of several
answers add up. dpdb's own noise follows from the policy's bounds: EXPLAIN shows it."""
_FORMULA = """\
  Equation 7 is ε <= Δf/Δv · ln((n - 1)·R/(1 - R)) for a belief of at most R. Premises: one
  answer with Laplace noise of scale Δf/ε; whoever reads it knows all n rows, but not which of
  them is missing, and took each for as likely."""
CAUTION = 2.0
"""An ε above which a limit that holds under these premises alone must not be all that is said."""
_CAUTION = (
    "  Caution: above ε = 2 an answer can make one of two files more than e² = 7.4 times as likely",
    "  as before, for whoever knows less or more than that. Worlds with the same answer hide which",
    "  row is missing, and not what its value is: 2 is a prudent limit here, whatever is above.",
)
_MOST_WORLDS = 10
_FEW_WORLDS = 5


@dataclass(frozen=True, repr=False)
class QueryRisk:
    """A query with its adversary, the risk allowed and the ε that keeps it."""

    query: str
    adversary: Adversary
    most: Fraction | None
    """The greatest risk allowed."""
    bounding: float | None
    """The ε of equation 7 for that risk; None if there is none."""
    largest: float | None
    """The largest ε that keeps the exact risk; None if there is none."""
    epsilon: float | None
    """The ε at which worlds and beliefs are shown."""
    observation: Observation | None = None

    @property
    def ratio(self) -> float | None:
        """The chance of a greater answer from all of X, divided by that from the true file."""
        worlds = self.adversary.worlds
        if self.observation is None or self.epsilon is None or not worlds.sensitivity:
            return None
        world = float(worlds.answers[self.observation.missing])
        scale = self.adversary.scale(self.epsilon)
        return exceeding(self.observation.response, worlds.whole, world, scale)

    def table(self) -> list[dict[str, Any]]:
        """The worlds of highest risk, or of highest belief after an observation, as rows."""
        if self.epsilon is None:
            return []
        worlds, adversary = self.adversary.worlds, self.adversary
        columns = {
            "missing": worlds.missing,
            "rows": worlds.counts,
            "answer": worlds.answers,
            "sensitivity": worlds.local,
            "risk": adversary.risks(self.epsilon),
        }
        order = columns["risk"]
        if self.observation is not None:
            order = adversary.beliefs(self.observation.response, self.epsilon)
            if worlds.sensitivity:
                columns["density"] = adversary.densities(self.observation.response, self.epsilon)
            columns |= {"belief": order, "confidence": order - adversary.prior}
        few = len(order) if len(order) <= _MOST_WORLDS else _FEW_WORLDS
        first = np.argsort(-order, kind="stable")[:few]
        return [{name: column[i].item() for name, column in columns.items()} for i in first]


def as_object(finding: QueryRisk) -> dict[str, Any]:
    """The finding in the types of JSON."""
    worlds, adversary = finding.adversary.worlds, finding.adversary
    fields: dict[str, Any] = {
        "notice": NOTICE,
        "query": finding.query,
        "private": False,
        "worlds": worlds.number,
        "prior": adversary.prior,
        "whole": worlds.whole,
        "sensitivity": worlds.sensitivity,
        "widest": worlds.widest,
    }
    if finding.most is not None:
        fields |= {
            "max_risk": float(finding.most),
            "epsilon_bound": finding.bounding,
            "epsilon_exact": finding.largest,
            "any_epsilon": finding.largest == LARGEST,
        }
    if finding.epsilon is not None:
        fields |= {
            "epsilon": finding.epsilon,
            "scale": adversary.scale(finding.epsilon),
            "risk_bound": adversary.bound(finding.epsilon),
            "risk": adversary.risk(finding.epsilon),
            "most_at_risk": finding.table(),
        }
    if finding.observation is not None:
        ratio = finding.ratio
        fields |= {
            "response": finding.observation.response,
            "missing": float(worlds.missing[finding.observation.missing]),
            "drawn": finding.observation.drawn,
            "ratio": None if ratio is None or math.isinf(ratio) else ratio,
        }
    return fields


def as_page(finding: QueryRisk) -> str:
    """The finding as text for the terminal."""
    parts = [[printable(finding.query), *_universe(finding)]]
    if finding.most is not None:
        parts.append(list(_choice(finding)))
    if finding.epsilon is not None:
        parts.append(list(_worlds(finding)))
    if finding.observation is not None:
        parts.append(list(_guess(finding)))
    return "\n\n".join("\n".join(lines) for lines in parts)


def _universe(finding: QueryRisk) -> Iterator[str]:
    worlds = finding.adversary.worlds
    yield (
        f"  n    {worlds.number:<12}  possible worlds: X, the rows it counts, less one; "
        f"prior belief 1/n = {finding.adversary.prior:.4g}"
    )
    yield f"  f(X) {worlds.whole:<12.8g}  the answer over all rows"
    yield f"  Δf   {worlds.sensitivity:<12.8g}  the most that one more row changes a world's answer"
    yield f"  Δv   {worlds.widest:<12.8g}  the most that two worlds' answers differ"


def _choice(finding: QueryRisk) -> Iterator[str]:
    """The largest ε for the risk that is allowed."""
    adversary, prior = finding.adversary, f"1/n = {finding.adversary.prior:.4g}"
    yield f"No world may be believed more than {float(finding.most or 0):.6g}:"
    if finding.bounding is None or finding.largest is None:
        yield f"  no ε does that: a blind guess is right with {prior}"
    elif finding.largest == 0:
        yield f"  only ε = 0 does that, which tells nothing: a blind guess is right with {prior}"
    else:
        for how, epsilon in (
            ("bound (equation 7)", finding.bounding),
            ("exact, by binary search", finding.largest),
        ):
            limit = f"ε <= {_down(epsilon)}, noise scale {_up(adversary.scale(epsilon))}"
            if epsilon == LARGEST:
                limit = f"no limit: no belief rises above {_chance(adversary.risk(LARGEST))}"
            yield f"  {how:<24} {limit}"
        yield _FORMULA
        if finding.largest > CAUTION:
            yield from _CAUTION


def _worlds(finding: QueryRisk) -> Iterator[str]:
    assert finding.epsilon is not None
    adversary, rows = finding.adversary, finding.table()
    yield (
        f"At ε = {_down(finding.epsilon)}, noise scale {adversary.scale(finding.epsilon):.6g}, "
        f"the risk is at most {_chance(adversary.risk(finding.epsilon))} "
        f"(bound: {_chance(adversary.bound(finding.epsilon))})"
    )
    names = {"answer": "f(ω)", "sensitivity": "LS(ω)", "risk": "worst β(ω)",
             "density": "P(κ(ω)=γ)", "belief": "β(ω)"}  # fmt: skip
    chances = ("risk", "density", "belief", "confidence")
    shown = [
        [_chance(row[key]) if key in chances else f"{row[key]:.8g}" for key in row] for row in rows
    ]
    heads = [names.get(key, key) for key in rows[0]]
    table = grid(heads, list(zip(*shown, strict=True)), SPACES, [True] * len(heads))
    yield from (f"  {line}" for line in table.splitlines())
    others = len(adversary.worlds.missing) - len(rows)
    if others:
        yield f"  … and {others:,} other missing values, with no more than the last of these"


def _guess(finding: QueryRisk) -> Iterator[str]:
    """The adversary's beliefs after the observation."""
    assert finding.observation is not None
    worlds, observation = finding.adversary.worlds, finding.observation
    missing, best = float(worlds.missing[observation.missing]), finding.table()[0]
    drawn = f", drawn from the world without {missing:.8g}" if observation.drawn else ""
    yield f"After the answer {observation.response:.8g}{drawn}:"
    yield (
        f"  best guess: without {best['missing']:.8g}, believed {_chance(best['belief'])}, "
        f"which is {_chance(best['confidence'])} above the prior"
    )
    if best["rows"] > 1:
        yield f"  {best['rows']} rows have this value: that much for each of them"
    if finding.ratio is not None:
        yield (
            f"  a greater answer is {finding.ratio:.4f} times as likely from X as from the world "
            f"without {missing:.8g}"
        )


def _chance(value: float) -> str:
    return f"{value:.4f}" if value == 0 or abs(value) >= 0.001 else f"{value:.2e}"


def _down(value: float) -> str:
    """An ε with six digits, rounded down, which is the safe side."""
    return f"{Context(prec=6, rounding=ROUND_FLOOR).create_decimal_from_float(value).normalize():f}"


def _up(value: float) -> str:
    return f"{Context(prec=6, rounding=ROUND_CEILING).create_decimal_from_float(value):f}"
