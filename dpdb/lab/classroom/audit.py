"""A lower bound on ε, from outputs of a mechanism with a person and without [JUO20]."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from dpdb.lab.classroom.mechanisms import Mechanism, Values
from dpdb.lab.trial import interval
from dpdb.records import dataclass

Outputs = npt.NDArray[np.float64]
"""A row for each run and a column for each number that comes out of it."""
Features = Callable[[Outputs], dict[str, Outputs]]
"""Reads off outputs what may tell: a number for each run, by name."""
CONFIDENCE = 0.999
"""Probability that a bound holds: an audit in a thousand says more than is true."""
FOR_CHOICE = 2_000
"""Runs on which the event is chosen, on either side."""
FOR_COUNTING = 20_000
"""Runs on which the event is counted, on either side; the choice has not seen them."""
RUNS = FOR_CHOICE + FOR_COUNTING
WITH, WITHOUT = 0, 1


@dataclass(frozen=True)
class Event:
    """A feature of an output is at least, or at most, a threshold."""

    feature: str
    above: bool
    threshold: float
    likelier: int
    """The side on which it is the likelier: `WITH` the person or `WITHOUT`."""

    def __str__(self) -> str:
        return f"{self.feature} {'≥' if self.above else '≤'} {self.threshold:g}"

    def count(self, features: dict[str, Outputs]) -> int:
        """Number of runs in which the event happened."""
        values = features[self.feature]
        happened = values >= self.threshold if self.above else values <= self.threshold
        return int(happened.sum())


@dataclass(frozen=True)
class Finding:
    """The result of an audit."""

    epsilon: float
    """The privacy loss is at least this."""
    event: Event
    counts: tuple[int, int]
    """Runs in which the event happened, with the person and without."""
    runs: int


def epsilon_at_least(hits: int, others: int, runs: int, confidence: float = CONFIDENCE) -> float:
    """A lower bound on ε from how often an event happened on two neighbouring tables.

    Let it happen with probabilities P and Q. ε-differential privacy says P <= e^ε·Q, so that ε >=
    ln(P/Q). Each end of the intervals of [CP34] is missed with probability (1 - confidence) / 2,
    and where neither is missed ε >= ln(p/q) with p the lower end of P and q the upper one of Q.
    """
    p, _ = interval(hits, runs, confidence)
    _, q = interval(others, runs, confidence)
    return max(math.log(p / q), 0.0) if p > 0 else 0.0


def audit(choice: Sequence[Outputs], counting: Sequence[Outputs], read: Features) -> Finding:
    """The bound of one event, which was chosen on runs of its own; outputs are by side."""
    event = max(_events([read(each) for each in choice]), key=lambda each: each[1])[0]
    with_person, without = (event.count(read(each)) for each in counting)
    counts = (with_person, without)
    hits, others = counts[event.likelier], counts[1 - event.likelier]
    runs = len(counting[WITH])
    return Finding(epsilon_at_least(hits, others, runs), event, counts, runs)


def sizes(outputs: Outputs) -> dict[str, Outputs]:
    """Each number of an output; of several also their mean, and the differences of any two."""
    found = _named(outputs)
    if len(found) > 1:
        found["the mean"] = outputs.mean(axis=1)
        for (one, first), (other, second) in combinations(_named(outputs).items(), 2):
            found[f"{one} - {other}"] = first - second
    return found


def binary_places(outputs: Outputs) -> dict[str, Outputs]:
    """Number of places after the point of each number in base 2 [Mir12]."""
    return {
        f"the binary places of {name}": _places(column) for name, column in _named(outputs).items()
    }


def _named(outputs: Outputs) -> dict[str, Outputs]:
    if outputs.shape[1] == 1:
        return {"the answer": outputs[:, 0]}
    return {f"answer {place}": column for place, column in enumerate(outputs.T, 1)}


def _places(values: Outputs) -> Outputs:
    # A double is m·2^e with a whole m below 2^53; the places are those that m's last one needs.
    mantissas, exponents = np.frexp(values)
    whole = np.abs(np.ldexp(mantissas, 53)).astype(np.int64)
    lowest = np.where(whole == 0, 1, whole & -whole)
    places = 53 - exponents - np.log2(lowest)
    return np.asarray(np.where(whole == 0, 0.0, np.maximum(places, 0.0)))


def _events(choice: Sequence[dict[str, Outputs]]) -> Iterator[tuple[Event, float]]:
    """Events on thresholds among the outputs, each with the ε that it is likely to prove."""
    with_person, without = choice
    for feature, here in with_person.items():
        sides = np.sort(here), np.sort(without[feature])
        thresholds = np.unique(np.quantile(np.concatenate(sides), np.linspace(0.01, 0.99, 99)))
        runs = len(here)
        fewer = [np.searchsorted(side, thresholds, "left") for side in sides]
        up_to = [np.searchsorted(side, thresholds, "right") for side in sides]
        for above, counts in ((True, [runs - each for each in fewer]), (False, up_to)):
            for likelier in (WITH, WITHOUT):
                gains = _gains(counts[likelier], counts[1 - likelier], runs)
                best = int(gains.argmax())
                yield Event(feature, above, float(thresholds[best]), likelier), float(gains[best])


def _gains(hits: npt.NDArray[np.int64], others: npt.NDArray[np.int64], runs: int) -> Outputs:
    """Roughly the ε that counting will prove: three standard deviations less than ln(P/Q)."""
    p, q = (hits + 1) / (runs + 2), (others + 1) / (runs + 2)
    unsure = np.sqrt((1 - p) / p) + np.sqrt((1 - q) / q)
    return np.asarray(np.log(p / q) - 3 * unsure / math.sqrt(FOR_COUNTING))


READINGS: dict[str, Features] = {"by its size": sizes, "by its last bits": binary_places}
"""The ways in which an output may tell something."""


class NoNumbers(Exception):
    """A mechanism returns something other than numbers, or not always as many."""


@dataclass(frozen=True)
class AuditReport:
    """The findings about one mechanism."""

    epsilon: float
    """The privacy loss that is claimed."""
    values: Values
    findings: dict[str, Finding]
    """By the way in which an output was read."""

    @property
    def broken(self) -> list[str]:
        """The ways of reading by which a bound is above what is claimed."""
        return [name for name, each in self.findings.items() if each.epsilon > self.epsilon]


def audited(mechanism: Mechanism, seed: int) -> AuditReport:
    """The report on a mechanism, which is run in this process."""
    outputs = mechanism.outputs(RUNS, np.random.default_rng(seed))
    return report(mechanism.epsilon, mechanism.values, outputs)


def report(epsilon: float, values: Values, outputs: object) -> AuditReport:
    """The report on outputs: those with the person and those without, as many of either."""
    sides = _numbers(outputs)
    choice = [side[:FOR_CHOICE] for side in sides]
    counting = [side[FOR_CHOICE:] for side in sides]
    findings = {name: audit(choice, counting, read) for name, read in READINGS.items()}
    return AuditReport(epsilon, values, findings)


def _numbers(outputs: object) -> list[Outputs]:
    try:
        both = np.array(outputs, dtype=np.float64)
    except (TypeError, ValueError):
        raise NoNumbers from None
    if both.ndim not in (2, 3) or both.size == 0 or not np.isfinite(both).all():
        raise NoNumbers
    return [side.reshape(len(side), -1) for side in both]


def as_text(told: AuditReport) -> str:
    """The values, a line or two for each way of reading, and the verdict."""
    shown = ", ".join(f"{value:g}" for value in told.values)
    lines = [f"  values: {shown}; the last one is the person's", f"  claimed: ε = {told.epsilon:g}"]
    for name, finding in told.findings.items():
        lines.append(f"  {name}: ε ≥ {finding.epsilon:.2f}")
        if finding.epsilon > 0:
            there, gone = finding.counts[WITH], finding.counts[WITHOUT]
            lines.append(
                f"    {finding.event}: in {there:,} of {finding.runs:,} runs with the person, "
                f"in {gone:,} without"
            )
    verdict = (
        f"✘ it does not keep ε = {told.epsilon:g}: {' and '.join(told.broken)} it tells more"
        if told.broken
        else f"nothing found against ε = {told.epsilon:g}, which is no proof of it"
    )
    lines.append(f"  → {verdict}")
    lines.append(f"  Each bound is wrong in at most {1 - CONFIDENCE:.1%} of audits.")
    return "\n".join(lines)


def as_object(told: AuditReport) -> dict[str, Any]:
    """The report in the types of JSON."""
    return {
        "epsilon": told.epsilon,
        "values": list(told.values),
        "confidence": CONFIDENCE,
        "bounds": [
            {
                "read": name,
                "epsilon": finding.epsilon,
                "event": str(finding.event),
                "with": finding.counts[WITH],
                "without": finding.counts[WITHOUT],
                "runs": finding.runs,
            }
            for name, finding in told.findings.items()
        ],
        "broken": bool(told.broken),
    }
