"""What an audit says: the bounds beside the ε that is claimed, as text and as an object of JSON."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpdb.lab.audit.bound import (
    CONFIDENCE,
    FOR_CHOICE,
    RUNS,
    WITH,
    WITHOUT,
    Features,
    Finding,
    Outputs,
    audit,
    binary_places,
    sizes,
)
from dpdb.lab.mechanism import Mechanism, Values
from dpdb.records import dataclass

READINGS: dict[str, Features] = {"by its size": sizes, "by its last bits": binary_places}
"""The ways in which an output may tell something."""


class NoNumbers(Exception):
    """What a mechanism returns is not numbers, or not always as many."""


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
