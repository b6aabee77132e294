"""Figures drawn by matplotlib: as PNG, and as SVG with colours for light and dark.

Matplotlib writes one palette into every mark of an SVG. Here each of its colours becomes a class,
so that a style sheet gives the class one colour for light and another for dark. The texts are left
for screen readers.
"""

from __future__ import annotations

import io
import re
import textwrap
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, PathPatch
from matplotlib.path import Path as Curve
from matplotlib.ticker import NullLocator, PercentFormatter

from dpdb.errors import UsageError, printable
from dpdb.lab.figures import Bars, Chart, Lines, Tiles
from dpdb.policy import output_files

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


_WIDTH = 340 / 72
"""Inches: SVG has 340 units, in which letters are 10 high, and a phone shows about 360 pixels."""
_DOTS_PER_INCH = 240
_TITLE_LETTERS, _LABEL_LETTERS, _BAR_LETTERS = 46, 23, 20
"""Letters that stand side by side in a title, in one of two columns of a legend, beside a bar."""
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
    squares: list[list[Curve]] = [[] for _ in figure.legend]
    for row in figure.rows:
        axes.text(0, top + 1.4, printable(row.label), va="baseline")
        top += 1.8
        for index, kind in enumerate(row.cells):
            squares[kind].append(_square(index % columns, top + index // columns))
        top += -(-len(row.cells) // columns) + 0.8
    for kind, paths in enumerate(squares):
        if paths:
            shape = Curve.make_compound_path(*paths)
            axes.add_patch(PathPatch(shape, facecolor=LIGHT[TILES[kind]], linewidth=0))
    axes.set(xlim=(0, _ACROSS), ylim=(top, 0), aspect="equal", anchor="NW")
    axes.set_axis_off()
    handles = [
        Patch(facecolor=LIGHT[TILES[kind]], label=printable(label))
        for kind, label in enumerate(figure.legend)
    ]
    lines = _legend(canvas, handles)
    canvas.set_size_inches(_WIDTH, top * _WIDTH / _ACROSS + 0.2 * lines + 0.3)


def _square(left: float, top: float) -> Curve:
    right, bottom = left + 0.85, top + 0.85
    return Curve([(left, top), (right, top), (right, bottom), (left, bottom), (left, top)],
                closed=True)  # fmt: skip


def _bars(figure: Bars, canvas: Canvas, axes: Axes) -> None:
    """Bars with their intervals, ceilings as diamonds, and the level as a dotted line."""
    for row, bar in enumerate(figure.bars):
        reach = [[bar.rate - bar.low], [bar.high - bar.rate]]
        axes.barh(row, bar.rate, 0.65, color=LIGHT[bar.colour])
        axes.errorbar(bar.rate, row, xerr=reach, color=_INK, capsize=4, clip_on=False)
        if bar.ceiling is not None:
            inside = LIGHT["s0" if bar.broken else "paper"]
            axes.plot(bar.ceiling, row, "d", color=_INK, markerfacecolor=inside, markersize=11,
                      clip_on=False, zorder=3)  # fmt: skip
        axes.annotate(f"{bar.rate:.1%}", (1, row), (12, 0), textcoords="offset points",
                      va="center", weight="bold")  # fmt: skip
    if figure.level is not None:
        axes.axvline(figure.level, color=_INK, linestyle=":")
    axes.set_yticks(
        range(len(figure.bars)),
        [textwrap.fill(printable(bar.defence), _BAR_LETTERS) for bar in figure.bars],
    )
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


_SVG = "{http://www.w3.org/2000/svg}"
_XLINK = "{http://www.w3.org/1999/xlink}"
_SHOWN = 720
"""Pixels across in a viewer."""
_NAMES = {colour: name for name, colour in LIGHT.items()}
"""The name of each colour of the palette."""


def in_page(chart: Chart) -> str:
    """A chart for a page, whose style sheet has the colours and whose heading is its title."""
    return ElementTree.tostring(_smaller(chart, titled=False), encoding="unicode")


def document(chart: Chart) -> str:
    """A chart with its title, as a file that needs no other."""
    root = _smaller(chart, titled=True)
    root.set("xmlns", _SVG.strip("{}"))
    _, _, width, height = map(float, root.attrib["viewBox"].split())
    root.set("width", f"{_SHOWN}")
    root.set("height", f"{_SHOWN * height / width:.0f}")
    style = ElementTree.Element("style")
    style.text = f"\n{alone()}"
    root.insert(2, style)  # after the title, which comes first, and the description
    return ElementTree.tostring(root, encoding="unicode") + "\n"


def _smaller(chart: Chart, *, titled: bool) -> ElementTree.Element:
    """The drawing with its title and description, without namespaces."""
    drawing = rendered(chart, "svg", titled=titled)
    root = ElementTree.fromstring(drawing)  # noqa: S314 (matplotlib wrote it a moment ago)
    for element in [root, *_descendants(root)]:
        _rewrite(element)
    root.attrib = {"viewBox": root.attrib["viewBox"], "class": "chart", "role": "img"}
    for place, (tag, text) in enumerate((("title", chart.title), ("desc", chart.description))):
        caption = ElementTree.Element(tag)
        caption.text = printable(text)
        root.insert(place, caption)
    return root


def _descendants(parent: ElementTree.Element) -> Iterator[ElementTree.Element]:
    """The elements of the chart, without matplotlib's own style sheet.

    Its style sheet would apply to the whole page that a chart stands in.
    """
    for child in list(parent):
        if child.tag == f"{_SVG}style":
            parent.remove(child)
        else:
            yield child
            yield from _descendants(child)


def _rewrite(element: ElementTree.Element) -> None:
    """Rewrite an element: plain names, colours as classes, places to a tenth of a unit."""
    element.tag = element.tag.removeprefix(_SVG)
    element.text = element.text if element.tag == "text" else None
    element.tail = None
    given, element.attrib = element.attrib, {}
    for name, value in given.items():
        match name.removeprefix(_XLINK):
            case "style":
                _style(element, value)
            case "id" if element.tag == "g":
                pass  # names like axes_1, which nothing refers to
            case "transform" if value.startswith("rotate(-0 "):
                pass
            case "d":
                element.set("d", re.sub(r"\s*([A-Za-z])\s*", r"\1", _rounded(value)).strip())
            case "x" | "y" | "width" | "height" | "transform" as plain:
                element.set(plain, _rounded(value))
            case plain:
                element.set(plain, value)


def _style(element: ElementTree.Element, style: str) -> None:
    """The declarations, with a class for each colour and the font left to the style sheet."""
    classes, kept = [], []
    for declaration in style.split("; "):
        name, _, value = declaration.partition(": ")
        if name in ("fill", "stroke") and value != "none":
            classes.append(f"{name}-{_NAMES[value]}")
        elif name != "font-family":
            kept.append(f"{name}:{value}")
    if classes:
        element.set("class", " ".join(classes))
    if kept:
        element.set("style", ";".join(kept))


def _rounded(numbers: str) -> str:
    return re.sub(r"-?\d+\.\d+", lambda match: f"{float(match[0]):.1f}".removesuffix(".0"), numbers)


def save(chart: Chart, path: Path, *, force: bool = False) -> None:
    """Write a chart to a .svg or .png file; any other ending is a `UsageError`."""
    match path.suffix.lower():
        case ".svg":
            output_files.save(path, document(chart).encode(), force=force)
        case ".png":
            save_png(chart, path, force=force)
        case _:
            raise UsageError(f"cannot draw into {path}", hint="name a file .svg or .png")


def save_png(chart: Chart, path: Path, *, force: bool = False) -> None:
    """Write a chart as PNG, whatever the file's name."""
    output_files.save(path, rendered(chart, "png", titled=True), force=force)
