"""Charts as inline SVG: colours come from the page's style sheet, so both themes fit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from dpdb.lab.figures import Figure, Lines, Tiles
from dpdb.lab.report import Report, Success
from dpdb.shell.escape import printable

WIDTH = 720
_LABELS = 210
_FIGURES = 120
_ROW = 34
_SPAN = WIDTH - _LABELS - _FIGURES


def rates(told: Report) -> str:
    """Bars of success rates with their 95 % intervals, ceilings and the baseline."""
    bottom = _ROW * len(told.successes) + 12
    marks = []
    for percent in (0, 25, 50, 75, 100):
        x = _along(percent / 100)
        marks.append(_line("grid", x, 6, x, bottom))
        marks.append(_text("tick", x, bottom + 16, f"{percent} %", "middle"))
    for row, success in enumerate(told.successes):
        marks += _bar(success, 12 + row * _ROW)
    if told.baseline is not None:
        x = _along(told.baseline)
        marks.append(_line("baseline", x, 6, x, bottom))
    return _svg("rates", bottom + 26, f"Success rates of {told.title}", marks)


def _bar(success: Success, top: float) -> Iterable[str]:
    middle = top + 11
    yield _text("label", _LABELS - 12, middle + 4, success.defence, "end")
    width = max(success.rate * _SPAN, 1)
    title = f"{success.hits} of {success.tries} right"
    yield (
        f'<rect class="bar {success.side}" x="{_LABELS}" y="{top}" '
        f'width="{width:.1f}" height="22" rx="2"><title>{title}</title></rect>'
    )
    low, high = _along(success.low), _along(success.high)
    yield _line("interval", low, middle, high, middle)
    yield _line("interval", low, middle - 5, low, middle + 5)
    yield _line("interval", high, middle - 5, high, middle + 5)
    if success.ceiling is not None:
        x = _along(success.ceiling)
        kind = "ceiling broken" if success.broken else "ceiling"
        yield (
            f'<path class="{kind}" d="M{x:.1f} {top - 3}l5 14l-5 14l-5 -14z">'
            f"<title>at most {success.ceiling:.1%}</title></path>"
        )
    yield _text("figure", WIDTH - 2, middle + 4, f"{success.rate:.1%}", "end")


def _along(rate: float) -> float:
    return _LABELS + rate * _SPAN


def drawn(figure: Figure) -> str:
    """A figure as SVG, without its title."""
    match figure:
        case Lines():
            return _lines(figure)
        case Tiles():
            return _tiles(figure)


_HEIGHT = 260
_LEFT, _RIGHT, _TOP, _BOTTOM = 60, 240, 12, 40


def _lines(figure: Lines) -> str:
    points = [point for series in figure.series for point in series.points]
    across = _Scale([x for x, _ in points], _LEFT, WIDTH - _RIGHT)
    heights = [y for _, y in points] + ([figure.level] if figure.level is not None else [])
    up = _Scale(heights, _HEIGHT - _BOTTOM, _TOP)
    marks = [_line("axis", _LEFT, _HEIGHT - _BOTTOM, WIDTH - _RIGHT, _HEIGHT - _BOTTOM)]
    marks += [
        _text("tick", _LEFT - 8, up(y) + 4, f"{y:.2g}", "end") for y in (min(heights), max(heights))
    ]
    marks += [
        _text("tick", across(x), _HEIGHT - _BOTTOM + 16, f"{x:.4g}", "middle")
        for x in (min(x for x, _ in points), max(x for x, _ in points))
    ]
    middle = (_LEFT + WIDTH - _RIGHT) / 2
    marks.append(_text("tick", middle, _HEIGHT - 6, figure.across, "middle"))
    if figure.level is not None:
        marks.append(_line("baseline", _LEFT, up(figure.level), WIDTH - _RIGHT, up(figure.level)))
        marks.append(
            _text("tick", WIDTH - _RIGHT - 4, up(figure.level) - 5, figure.level_label, "end")
        )
    for index, series in enumerate(figure.series):
        path = " ".join(f"{across(x):.1f},{up(y):.1f}" for x, y in series.points)
        marks.append(f'<polyline class="series s{index % 6}" points="{path}"/>')
    marks += _key([(f"series s{i % 6}", s.label) for i, s in enumerate(figure.series)])
    return _svg("lines", _HEIGHT, figure.title, marks)


def _key(entries: Sequence[tuple[str, str]]) -> Iterable[str]:
    """What the lines stand for, on the right."""
    left = WIDTH - _RIGHT + 16
    for index, (kind, label) in enumerate(entries):
        y = _TOP + 12 + 20 * index
        yield _line(kind, left, y - 4, left + 22, y - 4)
        yield _text("label", left + 30, y, label, "start")


class _Scale:
    """Numbers onto a length of the drawing."""

    def __init__(self, values: Sequence[float], start: float, end: float):
        self._low, self._start = min(values), start
        spread = max(values) - self._low
        self._factor = (end - start) / spread if spread else 0.0

    def __call__(self, value: float) -> float:
        return self._start + (value - self._low) * self._factor


_TILE = 18


def _tiles(figure: Tiles) -> str:
    columns = min((WIDTH - _LABELS) // _TILE, max(len(row.cells) for row in figure.rows))
    # Whole tens, so that a hundred people make a block that can be counted.
    columns = columns // 10 * 10 if columns >= 10 else columns
    marks: list[str] = []
    top = 4
    for row in figure.rows:
        marks.append(_text("label", _LABELS - 12, top + 13, row.label, "end"))
        for index, kind in enumerate(row.cells):
            x, y = _LABELS + index % columns * _TILE, top + index // columns * _TILE
            size = _TILE - 3
            marks.append(
                f'<rect class="tile k{kind}" x="{x}" y="{y}" width="{size}" height="{size}" '
                f'rx="2"><title>{escape(figure.legend[kind])}</title></rect>'
            )
        top += -(-len(row.cells) // columns) * _TILE + 10
    for index, text in enumerate(figure.legend):
        y = top + 6 + index * 20
        marks.append(f'<rect class="tile k{index}" x="{_LABELS}" y="{y}" width="13" height="13"/>')
        marks.append(_text("label", _LABELS + 22, y + 11, text, "start"))
    return _svg("tiles", top + 10 + 20 * len(figure.legend), figure.title, marks)


def _svg(kind: str, height: float, title: str, marks: Iterable[str]) -> str:
    label = escape(printable(title))
    return (
        f'<svg class="{kind}" viewBox="0 0 {WIDTH} {height:.0f}" role="img" '
        f'aria-label="{label}">{"".join(marks)}</svg>'
    )


def _line(kind: str, x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def _text(kind: str, x: float, y: float, text: str, anchor: str) -> str:
    shown = escape(printable(text))
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{shown}</text>'
