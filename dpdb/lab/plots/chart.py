"""Figures drawn by matplotlib, once for SVG and PNG, and the colours of charts."""

from __future__ import annotations

import io
import re
import textwrap
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, PathPatch
from matplotlib.path import Path
from matplotlib.ticker import NullLocator, PercentFormatter

from dpdb.errors import printable
from dpdb.lab.plots.figures import Bars, Chart, Lines, Tiles

if TYPE_CHECKING:
    from matplotlib.typing import RcKeyType


LIGHT = {
    "paper": "#ffffff", "ink": "#1b1f24", "soft": "#59636e", "rule": "#d8dee4",
    "s0": "#c4352c", "s1": "#1f6fb4", "s2": "#c77a0a", "s3": "#2f8f5b", "s4": "#8a4fbd",
}  # fmt: skip
DARK = {
    "paper": "#14181d", "ink": "#e8ecf0", "soft": "#9aa5b1", "rule": "#343c46",
    "s0": "#f0706a", "s1": "#5aa9ea", "s2": "#e6a23c", "s3": "#58c08a", "s4": "#bd8cf0",
}  # fmt: skip

SERIES = ("s0", "s1", "s2", "s3", "s4", "soft")
TILES = ("s0", "rule", "s1", "s2")
"""The colour of each kind of tile."""

SHAPES = """\
.chart { stroke-linejoin: round; }
.chart text { font-family: system-ui, "DejaVu Sans", sans-serif; }
"""
MARKS = "".join(
    f".{mark}-{name} {{ {mark}: var(--{name}); }}\n"
    for name in LIGHT
    for mark in ("fill", "stroke")
)
"""Rules in terms of the colours' names: a page may give them its own values."""


def declared(colours: dict[str, str]) -> str:
    """The colours as variables of a page's style sheet."""
    return " ".join(f"--{name}: {colour};" for name, colour in colours.items())


def alone() -> str:
    """A style sheet for a picture that stands by itself.

    Colours are written out, because not every viewer of SVG knows variables.
    """
    light, dark = _written_out(LIGHT), _written_out(DARK)
    return f"{SHAPES}{light}@media (prefers-color-scheme: dark) {{\n{dark}}}\n"


def _written_out(colours: dict[str, str]) -> str:
    return re.sub(r"var\(--(\w+)\)", lambda name: colours[name[1]], MARKS)


_WIDTH = 400 / 72
"""Inches: SVG has 400 units, in which letters are 10 high, which a phone shows large enough."""
_DOTS_PER_INCH = 240
_TITLE_LETTERS, _LABEL_LETTERS = 54, 28
"""Letters that stand side by side in a title, and in one of two columns of a legend."""
_ACROSS = 50
"""Tiles side by side."""

_INK, _SOFT, _RULE = LIGHT["ink"], LIGHT["soft"], LIGHT["rule"]
_SETTINGS: dict[RcKeyType, Any] = {
    "axes.axisbelow": True,
    "axes.edgecolor": _SOFT,
    "axes.facecolor": "none",
    "axes.formatter.limits": (-4, 7),
    "axes.formatter.useoffset": False,
    "axes.labelcolor": _SOFT,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "figure.facecolor": LIGHT["paper"],
    "font.family": "DejaVu Sans",  # the font that matplotlib brings along
    "font.size": 10,
    "grid.color": _RULE,
    "legend.frameon": False,
    "svg.fonttype": "none",  # text stays text, for search, screen readers and small files
    "text.color": _INK,
    "text.parse_math": False,  # a dollar sign in a query is a dollar sign
    "xtick.color": _SOFT,
    "ytick.color": _SOFT,
}


def rendered(chart: Chart, kind: str, *, titled: bool) -> bytes:
    """The chart as a file of the kind `svg` or `png`, the same bytes each time.

    Without its title it has no background either, and stands in a page.
    """
    with mpl.rc_context(), warnings.catch_warnings():
        mpl.rcdefaults()  # not what a matplotlibrc of the user's says
        # Names of identifiers in an SVG differ between the charts of a page.
        mpl.rcParams.update(_SETTINGS | {"svg.hashsalt": chart.title})
        # A letter that the font lacks is drawn as a box in a PNG; SVG keeps it as text.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        canvas = Canvas(layout="constrained")
        match chart:
            case Lines():
                _lines(chart, canvas, canvas.add_subplot())
            case Tiles():
                _tiles(chart, canvas, canvas.add_subplot())
            case Bars():
                _bars(chart, canvas, canvas.add_subplot())
        if titled:
            title = textwrap.fill(printable(chart.title), _TITLE_LETTERS)
            canvas.suptitle(title, x=0.01, ha="left", size=11, weight="bold")
            canvas.set_figheight(canvas.get_figheight() + 0.2 * (1 + title.count("\n")))
        canvas.patch.set_visible(titled)
        file = io.BytesIO()
        unsaid = {"svg": ["Date", "Creator", "Format", "Type"], "png": ["Software"]}[kind]
        canvas.savefig(file, format=kind, dpi=_DOTS_PER_INCH, metadata=dict.fromkeys(unsaid))
        return file.getvalue()


def _lines(figure: Lines, canvas: Canvas, axes: Axes) -> None:
    handles: list[Line2D] = []
    for index, series in enumerate(figure.series):
        across, up = zip(*series.points, strict=True)
        colour = LIGHT[series.colour or SERIES[index % len(SERIES)]]
        handles += axes.plot(across, up, color=colour, label=printable(series.label))
    if figure.level is not None:
        label = printable(figure.level_label)
        handles.append(axes.axhline(figure.level, color=_INK, linestyle=":", label=label))
    if figure.logarithmic:
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_minor_locator(NullLocator())
    axes.margins(x=0)
    axes.grid(axis="y")
    axes.set(xlabel=printable(figure.across), ylabel=printable(figure.up))
    canvas.set_size_inches(_WIDTH, 3.2 + 0.2 * _legend(canvas, handles))


def _tiles(figure: Tiles, canvas: Canvas, axes: Axes) -> None:
    """Strips of squares, each below its label."""
    columns, top = figure.columns(_ACROSS), 0.0
    squares: list[list[Path]] = [[] for _ in figure.legend]
    for row in figure.rows:
        axes.text(0, top + 1.4, printable(row.label), va="baseline")
        top += 1.8
        for index, kind in enumerate(row.cells):
            squares[kind].append(_square(index % columns, top + index // columns))
        top += -(-len(row.cells) // columns) + 0.8
    for kind, paths in enumerate(squares):
        if paths:
            shape = Path.make_compound_path(*paths)
            axes.add_patch(PathPatch(shape, facecolor=LIGHT[TILES[kind]], linewidth=0))
    axes.set(xlim=(0, _ACROSS), ylim=(top, 0), aspect="equal", anchor="NW")
    axes.set_axis_off()
    handles = [
        Patch(facecolor=LIGHT[TILES[kind]], label=printable(label))
        for kind, label in enumerate(figure.legend)
    ]
    lines = _legend(canvas, handles)
    canvas.set_size_inches(_WIDTH, top * _WIDTH / _ACROSS + 0.2 * lines + 0.3)


def _square(left: float, top: float) -> Path:
    right, bottom = left + 0.85, top + 0.85
    return Path([(left, top), (right, top), (right, bottom), (left, bottom), (left, top)],
                closed=True)  # fmt: skip


def _bars(figure: Bars, canvas: Canvas, axes: Axes) -> None:
    """Bars with their intervals, ceilings as diamonds, and the level as a dotted line."""
    for row, bar in enumerate(figure.bars):
        reach = [[bar.value - bar.low], [bar.high - bar.value]]
        axes.barh(row, bar.value, 0.65, color=LIGHT[bar.colour])
        axes.errorbar(bar.value, row, xerr=reach, color=_INK, capsize=4, clip_on=False)
        if bar.ceiling is not None:
            inside = LIGHT["s0" if bar.broken else "paper"]
            axes.plot(bar.ceiling, row, "d", color=_INK, markerfacecolor=inside, markersize=11,
                      clip_on=False, zorder=3)  # fmt: skip
        axes.annotate(f"{bar.value:.1%}", (1, row), (12, 0), textcoords="offset points",
                      va="center", weight="bold")  # fmt: skip
    if figure.level is not None:
        axes.axvline(figure.level, color=_INK, linestyle=":")
    axes.set_yticks(range(len(figure.bars)), [printable(bar.label) for bar in figure.bars])
    axes.tick_params(axis="y", length=0, labelcolor=_INK)
    axes.set(xlim=(0, 1), ylim=(len(figure.bars) - 0.5, -0.5))
    axes.xaxis.set_major_formatter(PercentFormatter(1, symbol=" %"))
    axes.grid(axis="x")
    axes.spines["left"].set_visible(False)
    canvas.set_size_inches(_WIDTH, 0.5 + 0.32 * len(figure.bars))


def _legend(canvas: Canvas, handles: Sequence[Line2D | Patch]) -> int:
    """Draw the legend below the marks; return the number of its lines."""
    labels = [str(handle.get_label()) for handle in handles]
    columns = 2 if max(map(len, labels)) <= _LABEL_LETTERS else 1
    canvas.legend(handles, labels, loc="outside lower left", ncols=columns)
    return -(-len(labels) // columns)
