"""What noise does to each of some queries, in words and as an object."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction

from dpdb.analysis.utility import (
    Differential,
    minimum_true_answer,
    noise_quantile,
    relative_error,
)


@dataclass(frozen=True)
class AnswerUtility:
    """How far noise of the size that is asked about is off from a true answer."""

    answer: float
    relative_error: float
    satisfied: bool
    """Whether that is within the threshold (eq. 9)."""


@dataclass(frozen=True)
class QueryUtility:
    """One query's noise."""

    sensitivity: float
    noise_index: float
    epsilon: float
    scale: float
    noise: float
    """What the noise is at least, with the probability that is asked about (eq. 4)."""
    relative_error: float
    """The threshold."""
    minimum_true_answer: float
    answers: tuple[AnswerUtility, ...]


@dataclass(frozen=True)
class Utility:
    """All queries that share one ε."""

    epsilon: float
    probability: float
    alpha: float
    queries: tuple[QueryUtility, ...]


def utility(
    mechanism: Differential,
    probability: Fraction,
    thresholds: Sequence[Fraction],
    answers: Sequence[Sequence[Fraction]],
) -> Utility:
    """What is worth knowing of each query; thresholds and answers are by query."""
    queries = (
        _query(mechanism, query, probability, thresholds[query], answers[query])
        for query in range(len(mechanism.index))
    )
    return Utility(
        float(mechanism.epsilon), float(probability), float(mechanism.alpha), tuple(queries)
    )


def _query(
    mechanism: Differential,
    query: int,
    probability: Fraction,
    threshold: Fraction,
    answers: Sequence[Fraction],
) -> QueryUtility:
    scale = mechanism.scales[query]
    noise = noise_quantile(scale, probability)
    return QueryUtility(
        sensitivity=float(mechanism.sensitivities[query]),
        noise_index=float(mechanism.index[query]),
        epsilon=float(mechanism.epsilons[query]),
        scale=float(scale),
        noise=noise,
        relative_error=float(threshold),
        minimum_true_answer=minimum_true_answer(scale, probability, threshold),
        answers=tuple(
            AnswerUtility(
                float(answer),
                relative_error(noise, answer),
                mechanism.satisfies(query, answer, probability, threshold),
            )
            for answer in answers
        ),
    )


def as_object(told: Utility) -> dict[str, object]:
    """The report in the types of JSON."""
    return asdict(told)


def as_text(told: Utility) -> str:
    """The report in words."""
    number = len(told.queries)
    index = [query.noise_index for query in told.queries]
    head = f"ε = {told.epsilon:g}"
    if number > 1:
        head += f", shared by {number} queries on one database"
    if len(set(index)) > 1:
        proportions = " : ".join(f"{gamma:g}" for gamma in index)
        head += f"\nnoise in the proportion {proportions} (DIFF), α = {_number(told.alpha)}"
    return "\n\n".join([head, *(_paragraph(told, i) for i in range(number))])


def _paragraph(told: Utility, place: int) -> str:
    query, alone = told.queries[place], len(told.queries) == 1
    seldom, often = _percent(told.probability), _percent(1 - told.probability)
    within = _percent(query.relative_error)
    divided = f"{query.sensitivity:g} / {query.epsilon:.4g}" + ("" if alone else ", its share of ε")
    rows = [
        ("λ", query.scale, f"the scale of the noise: {divided}"),
        ("z", query.noise,
         f"{seldom} of the time the noise is at least {_number(query.noise)}, up or down"),
        ("MTA", query.minimum_true_answer,
         f"the smallest true answer that is off by at most {within}, {often} of the time"),
    ]  # fmt: skip
    for answer in query.answers:
        verdict = "within" if answer.satisfied else "more than"
        words = f"the relative error of {answer.answer:.12g} by that noise: {verdict} {within}"
        rows.append(("RE", answer.relative_error, words))
    title = ("" if alone else f"query {place + 1}: ") + f"Δ = {query.sensitivity:g}"
    lines = [f"  {symbol:<3} {_number(value):>9}  {words}" for symbol, value, words in rows]
    return "\n".join([title, *lines])


def _percent(share: float) -> str:
    return f"{share * 100:.10g} %"


def _number(value: float) -> str:
    """A tenth is enough above a hundred, as in the paper; four digits below."""
    return f"{value:.1f}".removesuffix(".0") if 100 <= value < 1e9 else f"{value:.4g}"
