"""The chart of success rates, for pages and pictures."""

from __future__ import annotations

from dpdb.lab.pages.report import Report
from dpdb.lab.plots.figures import Bar, Bars


def rates(report: Report) -> Bars:
    """Bars of success rates with their 95 % intervals and ceilings, and the rate of guessing."""
    return Bars(
        title=f"Success rates of {report.title}",
        bars=[
            Bar(
                label=success.defence,
                colour=success.colour,
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
