"""Figures as SVG: inside a page, whose style sheet has the colours, or alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from dpdb.plots.axis import marked, roomy, tight
from dpdb.plots.figures import Figure, Lines, Tiles
from dpdb.plots.style import SERIES, alone
from dpdb.shell.escape import printable

WIDTH = 720
LABELS = 210
"""The room for labels on the left of strips and bars."""

_TITLE, _EDGE = 34, 12


def drawn(figure: Figure) -> str:
    """A figure for a page, without its title."""
    kind, height, marks = _content(figure)
    return picture(kind, height, figure.title, marks)


def document(figure: Figure) -> str:
    """A figure with its title, as a file that needs no other."""
    _, height, marks = _content(figure)
    width, height = WIDTH + 2 * _EDGE, height + _TITLE + _EDGE
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" role="img" aria-label="{_safe(figure.title)}">\n'
        f"<style>\n{alone()}</style>\n"
        '<rect class="paper" width="100%" height="100%"/>\n'
        f"{text('title', _EDGE, 22, figure.title, 'start')}\n"
        f'<g transform="translate({_EDGE} {_TITLE})">\n' + "\n".join(marks) + "\n</g>\n</svg>\n"
    )


def _content(figure: Figure) -> tuple[str, int, list[str]]:
    """What kind of chart, how high, and its marks."""
    match figure:
        case Lines():
            return "lines", _HEIGHT, _lines(figure)
        case Tiles():
            return "tiles", _tiles_height(figure), _tiles(figure)


_HEIGHT = 280
_LEFT, _RIGHT, _TOP, _BOTTOM = 60, 240, 28, 40
_FLOOR, _END = _HEIGHT - _BOTTOM, WIDTH - _RIGHT


def _lines(figure: Lines) -> list[str]:
    across = tight(figure.width, _LEFT, _END)
    up = roomy(figure.height, _FLOOR, _TOP)
    marks = [text("tick", 0, 14, figure.up, "start")] if figure.up else []
    for y in up.ticks:
        marks.append(line("grid", _LEFT, up(y), _END, up(y)))
        marks.append(text("tick", _LEFT - 8, up(y) + 4, marked(y), "end"))
    marks.append(line("axis", _LEFT, _FLOOR, _END, _FLOOR))
    for x in across.ticks:
        marks.append(line("axis", across(x), _FLOOR, across(x), _FLOOR + 4))
        marks.append(text("tick", across(x), _FLOOR + 18, marked(x), "middle"))
    marks.append(text("tick", (_LEFT + _END) / 2, _HEIGHT - 4, figure.across, "middle"))
    if figure.level is not None:
        y = up(figure.level)
        marks.append(line("baseline", _LEFT, y, _END, y))
        marks.append(text("tick", _END - 4, y - 5, figure.level_label, "end"))
    for index, series in enumerate(figure.series):
        path = " ".join(f"{across(x):.1f},{up(y):.1f}" for x, y in series.points)
        marks.append(f'<polyline class="{_kind(index)}" points="{path}"/>')
    return [*marks, *_key([series.label for series in figure.series])]


def _kind(index: int) -> str:
    return f"series {SERIES[index % len(SERIES)]}"


def _key(labels: Sequence[str]) -> Iterable[str]:
    """What the lines stand for, on the right."""
    left = _END + 16
    for index, label in enumerate(labels):
        y = _TOP + 12 + 20 * index
        yield line(_kind(index), left, y - 4, left + 22, y - 4)
        yield text("label", left + 30, y, label, "start")


_TILE, _GAP = 18, 10


def _tiles(figure: Tiles) -> list[str]:
    columns = _columns(figure)
    marks: list[str] = []
    top = 4
    for row in figure.rows:
        marks.append(text("label", LABELS - 12, top + 13, row.label, "end"))
        for index, kind in enumerate(row.cells):
            x, y = LABELS + index % columns * _TILE, top + index // columns * _TILE
            size = _TILE - 3
            marks.append(
                f'<rect class="tile k{kind}" x="{x}" y="{y}" width="{size}" height="{size}" '
                f'rx="2"><title>{_safe(figure.legend[kind])}</title></rect>'
            )
        top += -(-len(row.cells) // columns) * _TILE + _GAP
    for index, label in enumerate(figure.legend):
        y = top + 6 + index * 20
        marks.append(f'<rect class="tile k{index}" x="{LABELS}" y="{y}" width="13" height="13"/>')
        marks.append(text("label", LABELS + 22, y + 11, label, "start"))
    return marks


def _tiles_height(figure: Tiles) -> int:
    columns = _columns(figure)
    strips = sum(-(-len(row.cells) // columns) * _TILE + _GAP for row in figure.rows)
    return strips + 14 + 20 * len(figure.legend)


def _columns(figure: Tiles) -> int:
    return figure.columns((WIDTH - LABELS) // _TILE)


def picture(kind: str, height: float, title: str, marks: Iterable[str]) -> str:
    """The element that holds the marks."""
    return (
        f'<svg class="{kind}" viewBox="0 0 {WIDTH} {height:.0f}" role="img" '
        f'aria-label="{_safe(title)}">{"".join(marks)}</svg>'
    )


def line(kind: str, x1: float, y1: float, x2: float, y2: float) -> str:
    """A straight line of a class of the style sheet."""
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def text(kind: str, x: float, y: float, content: str, anchor: str) -> str:
    """A word or number, made harmless."""
    return (
        f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">'
        f"{_safe(content)}</text>"
    )


def _safe(content: str) -> str:
    return escape(printable(content))
