"""The axes of drawn figures: places of values, and round numbers for ticks."""

from __future__ import annotations

import math

from dpdb.records import dataclass

MOST_TICKS = 6


@dataclass(frozen=True)
class Axis:
    """Values from `low` to `high` on the length from `start` to `end`."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """The place of `value` on the axis."""
        share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)

    @property
    def ticks(self) -> list[float]:
        """A few round numbers on the axis: 1, 2 or 5 times a power of ten apart."""
        step = _step(self.low, self.high)
        first = math.ceil(round(self.low / step, 6))
        last = math.floor(round(self.high / step, 6))
        return [number * step for number in range(first, last + 1)]


def tight(span: tuple[float, float], start: float, end: float) -> Axis:
    """An axis that ends where the values end."""
    return Axis(*_apart(*span), start, end)


def roomy(span: tuple[float, float], start: float, end: float) -> Axis:
    """An axis that ends at round numbers."""
    low, high = _apart(*span)
    step = _step(low, high)
    first = math.floor(round(low / step, 6))
    last = math.ceil(round(high / step, 6))
    return Axis(first * step, last * step, start, end)


def marked(value: float) -> str:
    """A tick's number as text."""
    return f"{value:.12g}"


def _apart(low: float, high: float) -> tuple[float, float]:
    """The two ends; where they are the same value, with some room on both sides."""
    if low < high:
        return low, high
    room = abs(low) / 2 or 1.0
    return low - room, low + room


def _step(low: float, high: float) -> float:
    """The distance of ticks."""
    least = (high - low) / (MOST_TICKS - 1)
    power = 10.0 ** math.floor(math.log10(least))
    return next(times * power for times in (1, 2, 5, 10) if times * power >= least)
