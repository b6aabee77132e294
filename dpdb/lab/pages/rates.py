"""The chart of success rates: what stands in pages and in pictures."""

from __future__ import annotations

from dpdb.lab.pages.report import Report
from dpdb.lab.plots.figures import Bar, Bars

_COLOURS = {"off": "s0", "foil": "s2", "private": "s1"}


def rates(report: Report) -> Bars:
    """Bars of success rates with their 95 % intervals, ceilings, and what guessing achieves."""
    return Bars(
        title=f"Success rates of {report.title}",
        bars=[
            Bar(
                label=success.defence,
                colour=_COLOURS[success.side],
                value=success.rate,
                low=success.low,
                high=success.high,
                ceiling=success.ceiling,
                broken=success.broken,
            )
            for success in report.successes
        ],
        level=report.baseline,
    )
