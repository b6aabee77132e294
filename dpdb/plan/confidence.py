"""How confident intervals and bounds on errors are."""

from __future__ import annotations

CONFIDENCE = 0.95
"""The confidence of every interval, and of an error goal that names none."""


def at_once(confidence: float, number: int, *, independent: bool = True) -> float:
    """The confidence that each of `number` intervals needs for all to hold at once.

    All hold with probability `confidence`: where their noises are independent by Šidák's
    correction ([Sid67]), and otherwise because the probabilities to fail add up (Bonferroni).
    """
    if independent:
        return float(confidence ** (1 / number))
    return 1 - (1 - confidence) / number
