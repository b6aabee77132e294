"""The report of `dpdb utility`: the noise on each query, in words and as an object."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction

from dpdb.errors import InvalidOption
from dpdb.lab.studies.accuracy import (
    ComposedEpsilon,
    Differential,
    check_delta,
    composed_epsilon,
    minimum_true_answer,
    noise_quantile,
    relative_error,
)
from dpdb.privacy.gaussian_calibration import analytic_sigma, classic_sigma


@dataclass(frozen=True)
class AnswerUtility:
    """The relative error of one true answer, at the noise of its query."""

    answer: float
    relative_error: float
    satisfied: bool
    """Whether the relative error is within the threshold (eq. 9)."""


@dataclass(frozen=True)
class QueryUtility:
    """The noise of one query, and the answers that are large enough for it."""

    sensitivity: float
    noise_index: float
    epsilon: float
    scale: float
    noise: float
    """The size that the noise reaches with the given probability (eq. 4)."""
    relative_error: float
    """The threshold of the relative error."""
    minimum_true_answer: float
    answers: tuple[AnswerUtility, ...]


@dataclass(frozen=True)
class Deviations:
    """The σ of Gaussian noise that makes one query (ε, δ)-differentially private."""

    delta: float
    classic: float | None
    """The usual formula, [DR14] Theorem 3.22; None where it does not hold."""
    least: float
    """The least σ: [BW18] Algorithm 1."""


@dataclass(frozen=True)
class Utility:
    """The utility of all queries that share one ε."""

    epsilon: float
    probability: float
    alpha: float
    queries: tuple[QueryUtility, ...]
    gaussian: Deviations | None = None
    together: ComposedEpsilon | None = None


def deviations(mechanism: Differential, delta: Fraction) -> Deviations:
    """The σ of one query; δ is at least 10^-100, and below 1."""
    if len(mechanism.sensitivities) != 1:
        raise InvalidOption("Gaussian noise is worked out for one query")
    check_delta(delta)
    needed = float(mechanism.sensitivities[0]), float(mechanism.epsilon), float(delta)
    classic = classic_sigma(*needed) if mechanism.epsilon <= 1 else None
    return Deviations(float(delta), classic, analytic_sigma(*needed))


def utility(
    mechanism: Differential,
    probability: Fraction,
    thresholds: Sequence[Fraction],
    answers: Sequence[Sequence[Fraction]],
    *,
    delta: Fraction | None,
    number: int | None,
) -> Utility:
    """The utility of each query; `thresholds` and `answers` have an entry for each query."""
    queries = (
        _query(mechanism, query, probability, thresholds[query], answers[query])
        for query in range(len(mechanism.index))
    )
    return Utility(
        epsilon=float(mechanism.epsilon),
        probability=float(probability),
        alpha=float(mechanism.alpha),
        queries=tuple(queries),
        gaussian=None if delta is None else deviations(mechanism, delta),
        together=None
        if number is None or delta is None
        else composed_epsilon(mechanism.epsilon, number, delta),
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


def as_object(result: Utility) -> dict[str, object]:
    """The utility in the types of JSON."""
    return asdict(result)


def as_text(result: Utility) -> str:
    """The utility in words."""
    number = len(result.queries)
    index = [query.noise_index for query in result.queries]
    head = f"ε = {result.epsilon:g}"
    if number > 1:
        head += f", shared by {number} queries on one database"
    if len(set(index)) > 1:
        proportions = " : ".join(f"{gamma:g}" for gamma in index)
        head += f"\nnoise in the proportion {proportions} (DIFF), α = {_number(result.alpha)}"
    parts = [head, *(_paragraph(result, i) for i in range(number))]
    if result.gaussian is not None:
        parts.append(_gaussian(result.gaussian))
    if result.together is not None:
        total = result.together
        parts.append("\n".join([
            f"{total.queries} such queries together, at δ = {total.delta:g}",
            _line("Σε", total.sequential, "by sequential composition, at δ = 0"),
            _line("ε", total.advanced, "by advanced composition, √(2k·ln(1/δ))·ε + k·ε·(e^ε - 1)"),
            _line("", total.advanced_as_printed, "as that is often printed, with k·ε²: too little"),
            _line("ε", total.concentrated, "by zero-concentrated differential privacy"),
        ]))  # fmt: skip
    return "\n\n".join(parts)


def _gaussian(sigmas: Deviations) -> str:
    lines = [f"with Gaussian noise, at δ = {sigmas.delta:g}"]
    if sigmas.classic is not None:
        lines.append(_line("σ", sigmas.classic, "its standard deviation, Δ·√(2·ln(1.25/δ))/ε"))
    lines.append(_line("σ", sigmas.least, "the least that is (ε, δ)-differentially private"))
    return "\n".join(lines)


def _paragraph(result: Utility, place: int) -> str:
    query, alone = result.queries[place], len(result.queries) == 1
    seldom, often = _percent(result.probability), _percent(1 - result.probability)
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
    return "\n".join([title, *(_line(*row) for row in rows)])


def _line(symbol: str, value: float, words: str) -> str:
    return f"  {symbol:<3} {_number(value):>9}  {words}"


def _percent(share: float) -> str:
    return f"{share * 100:.10g} %"


def _number(value: float) -> str:
    """A number with one decimal from 100 on, as in the paper, and with four digits below."""
    return f"{value:.1f}".removesuffix(".0") if 100 <= value < 1e9 else f"{value:.4g}"
