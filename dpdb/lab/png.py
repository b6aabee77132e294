"""The chart of success rates as a picture, by matplotlib where that is installed."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from dpdb.lab.report import Report
from dpdb.plots.png import matplotlib_figure, write

_COLOURS = {"off": "#c4352c", "foil": "#c77a0a", "private": "#1f6fb4"}


def check() -> None:
    """Complain before the trials are run, not after."""
    matplotlib_figure(1, 1)


def save(told: Report, path: Path) -> None:
    """Write the chart to `path`."""
    figure = matplotlib_figure(9, 1.2 + 0.5 * len(told.successes))
    axes = figure.add_subplot()
    for row, success in enumerate(told.successes):
        reach = [[success.rate - success.low], [success.high - success.rate]]
        axes.barh(row, success.rate, xerr=reach, color=_COLOURS[success.side], capsize=4)
        if success.ceiling is not None:
            axes.plot(success.ceiling, row, "D", color="black", markerfacecolor="white")
    if told.baseline is not None:
        axes.axvline(told.baseline, color="black", linestyle=":")
    axes.set_yticks(range(len(told.successes)), [s.defence for s in told.successes])
    axes.invert_yaxis()
    axes.set_xlim(0, 1)
    axes.xaxis.set_major_formatter(import_module("matplotlib.ticker").PercentFormatter(1))
    axes.set_title(told.title)
    write(figure, path)
