"""The chart of success rates as inline SVG, in the colours of the page's style sheet."""

from __future__ import annotations

from collections.abc import Iterable

from dpdb.lab.report import Report, Success
from dpdb.plots.svg import LABELS, WIDTH, line, picture, text

_FIGURES = 120
_ROW = 34
_SPAN = WIDTH - LABELS - _FIGURES


def rates(told: Report) -> str:
    """Bars of success rates with their 95 % intervals, ceilings and the baseline."""
    bottom = _ROW * len(told.successes) + 12
    marks = []
    for percent in (0, 25, 50, 75, 100):
        x = _along(percent / 100)
        marks.append(line("grid", x, 6, x, bottom))
        marks.append(text("tick", x, bottom + 16, f"{percent} %", "middle"))
    for row, success in enumerate(told.successes):
        marks += _bar(success, 12 + row * _ROW)
    if told.baseline is not None:
        x = _along(told.baseline)
        marks.append(line("baseline", x, 6, x, bottom))
    return picture("rates", bottom + 26, f"Success rates of {told.title}", marks)


def _bar(success: Success, top: float) -> Iterable[str]:
    middle = top + 11
    yield text("label", LABELS - 12, middle + 4, success.defence, "end")
    width = max(success.rate * _SPAN, 1)
    title = f"{success.hits} of {success.tries} right"
    yield (
        f'<rect class="bar {success.side}" x="{LABELS}" y="{top}" '
        f'width="{width:.1f}" height="22" rx="2"><title>{title}</title></rect>'
    )
    low, high = _along(success.low), _along(success.high)
    yield line("interval", low, middle, high, middle)
    yield line("interval", low, middle - 5, low, middle + 5)
    yield line("interval", high, middle - 5, high, middle + 5)
    if success.ceiling is not None:
        x = _along(success.ceiling)
        kind = "ceiling broken" if success.broken else "ceiling"
        yield (
            f'<path class="{kind}" d="M{x:.1f} {top - 3}l5 14l-5 14l-5 -14z">'
            f"<title>at most {success.ceiling:.1%}</title></path>"
        )
    yield text("figure", WIDTH - 2, middle + 4, f"{success.rate:.1%}", "end")


def _along(rate: float) -> float:
    return LABELS + rate * _SPAN
