"""Figures as files: what they show is where it belongs, and they need no other file."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import matplotlib as mpl
import pytest

from dpdb.errors import UsageError
from dpdb.lab.figures import Bar, Bars, Chart, ChartLine, Lines, TileRow, Tiles
from dpdb.lab.pages.chart import DARK, LIGHT, in_page, save

SVG = "{http://www.w3.org/2000/svg}"
CURVE = [(0.0, 0.0), (3.0, 40.0), (10.0, 100.0)]
LINES = Lines(
    "A <title> & more", "x", [ChartLine("s & t", CURVE), ChartLine("u", CURVE[:2])], 60.0, "l"
)
TILES = Tiles("Tiles", ("yes", "<no>"), [TileRow("all", [0, 1, 1]), TileRow("none", [1] * 65)])
BARS = Bars(
    "Bars",
    [Bar("one", "s0", 0.5, 0.4, 0.7, 0.3), Bar("two", "s1", 0.25, 0.1, 0.3, None)],
    0.2,
)
CHARTS = [LINES, TILES, BARS]


def saved(chart: Chart, folder: Path) -> ElementTree.Element:
    path = folder / "figure.svg"
    save(chart, path)
    return ElementTree.fromstring(path.read_text(encoding="utf-8"))


def marks(root: ElementTree.Element, kind: str) -> list[list[tuple[float, float]]]:
    """The corners of each path of a class, within the axes: a legend's are not clipped."""
    return [
        [tuple(map(float, corner.split())) for corner in re.findall(r"[\d.]+ [\d.]+", path.get("d", ""))]
        for path in root.iter(f"{SVG}path")
        if kind in (path.get("class") or "").split() and path.get("clip-path")
    ]  # fmt: skip


def ticks(root: ElementTree.Element, anchor: str) -> list[tuple[float, float]]:
    """The numbers of an axis, and where they stand from the left."""
    return [
        (float(text.text or ""), float(text.get("x", "")))
        for text in root.iter(f"{SVG}text")
        if f"text-anchor:{anchor}" in (text.get("style") or "")
        and re.fullmatch(r"[\d.]+", text.text or "")
    ]


def test_curves_are_where_the_axes_say(tmp_path: Path) -> None:
    root = saved(LINES, tmp_path)
    right = dict(ticks(root, "middle"))
    heights = [line[0][1] for line in marks(root, "stroke-rule")]
    down = dict(zip((number for number, _ in ticks(root, "end")), heights, strict=True))
    assert {0, 2, 10} <= set(right)
    assert {0, 20, 100} <= set(down)

    def place(x: float, y: float) -> tuple[float, float]:
        return (
            right[0] + x / 10 * (right[10] - right[0]),
            down[0] + y / 100 * (down[100] - down[0]),
        )

    for colour, points in (("stroke-s0", CURVE), ("stroke-s1", CURVE[:2])):
        [curve] = marks(root, colour)
        assert len(curve) == len(points)
        for corner, point in zip(curve, points, strict=True):
            assert corner == pytest.approx(place(*point), abs=0.2)
    [level] = marks(root, "stroke-ink")
    assert [y for _, y in level] == pytest.approx([place(0, 60)[1]] * 2, abs=0.2)


def test_every_tile_is_there(tmp_path: Path) -> None:
    root = saved(TILES, tmp_path)
    for kind, number in (("fill-s0", 1), ("fill-rule", 2 + 65)):
        [corners] = marks(root, kind)
        assert len(corners) / 4 == number
        assert len(set(corners[::4])) == number


def test_bars_are_as_long_as_their_rates(tmp_path: Path) -> None:
    root = saved(BARS, tmp_path)
    ends = {}
    for kind in ("fill-s0", "fill-s1"):
        [corners] = marks(root, kind)
        across = [x for x, _ in corners]
        ends[kind] = (min(across), max(across))
    start, end = ends["fill-s0"]
    assert ends["fill-s1"] == pytest.approx((start, start + (end - start) / 2), abs=0.2)
    unit = (end - start) / 0.5
    [level] = marks(root, "stroke-ink")
    assert [x for x, _ in level] == pytest.approx([start + 0.2 * unit] * 2, abs=0.2)
    # A diamond that is exceeded is filled with red.
    [diamond] = [use for use in root.iter(f"{SVG}use") if "fill-s0" in (use.get("class") or "")]
    assert float(diamond.get("x", "")) == pytest.approx(start + 0.3 * unit, abs=0.2)


@pytest.mark.parametrize("chart", CHARTS)
def test_a_file_needs_no_other(chart: Chart, tmp_path: Path) -> None:
    root = saved(chart, tmp_path)
    text = (tmp_path / "figure.svg").read_text(encoding="utf-8")
    assert text.count("http") == 1  # the name of SVG itself
    assert not re.search(r"url\((?!#)|@import|<image|<script", text)
    assert not {"metadata", "date"} & {element.tag.removeprefix(SVG) for element in root.iter()}


@pytest.mark.parametrize("chart", CHARTS)
def test_every_mark_has_a_colour_for_light_and_for_dark(chart: Chart, tmp_path: Path) -> None:
    root = saved(chart, tmp_path)
    light, _, dark = (root.findtext(f"{SVG}style") or "").partition("@media")
    assert dark.startswith(" (prefers-color-scheme: dark)")
    classes = {name for element in root.iter() for name in (element.get("class") or "").split()}
    assert len(classes - {"chart"}) > 3
    for name in classes - {"chart"}:
        mark, _, colour = name.partition("-")
        assert f".{name} {{ {mark}: {LIGHT[colour]}; }}" in light
        assert f".{name} {{ {mark}: {DARK[colour]}; }}" in dark
    assert not any("#" in (element.get("style") or "") for element in root.iter())
    # Without a class, text would be black on black.
    assert all(text.get("class") for text in root.iter(f"{SVG}text"))


@pytest.mark.parametrize("chart", CHARTS)
def test_a_screen_reader_finds_title_and_content(chart: Chart, tmp_path: Path) -> None:
    root = saved(chart, tmp_path)
    assert root.get("role") == "img"
    assert [child.tag for child in root][:2] == [f"{SVG}title", f"{SVG}desc"]
    assert root.findtext(f"{SVG}title") == chart.title
    assert root.findtext(f"{SVG}desc") == chart.description
    assert chart.title in [element.text for element in root.iter(f"{SVG}text")]


def test_descriptions_say_what_is_drawn() -> None:
    assert LINES.description == (
        "values by x. s & t: from 0 at 0 to 100 at 10; u: from 0 at 0 to 40 at 3; l: 60"
    )
    assert TILES.description == "all: 1 yes, 2 <no>; none: 0 yes, 65 <no>"
    assert BARS.description == (
        "one: 50.0%, interval 40.0% to 70.0%, ceiling 30.0%; two: 25.0%, interval 10.0% to 30.0%"
    )


@pytest.mark.parametrize("chart", CHARTS)
def test_in_a_page_the_page_has_the_colours(chart: Chart) -> None:
    drawing = in_page(chart)
    root = ElementTree.fromstring(drawing)
    assert root.find("style") is None
    assert "http" not in drawing
    assert "paper" not in "".join(path.get("class") or "" for path in root.iter("path"))


def test_charts_of_one_page_share_no_identifiers() -> None:
    one, other = (
        set(re.findall(r'\bid="([^"]+)"', in_page(chart)))
        for chart in (LINES, replace(LINES, title="Another"))
    )
    assert one
    assert not one & other


@pytest.mark.parametrize("chart", CHARTS)
@pytest.mark.parametrize("name", ["figure.svg", "figure.PNG"])
def test_the_same_figure_is_the_same_file(chart: Chart, name: str, tmp_path: Path) -> None:
    """Each time, and whatever somebody's matplotlibrc says."""
    save(chart, tmp_path / name)
    first = (tmp_path / name).read_bytes()
    with mpl.rc_context({"lines.linewidth": 9, "xtick.top": True, "font.size": 30}):
        save(chart, tmp_path / name)
        assert mpl.rcParams["font.size"] == 30
    assert (tmp_path / name).read_bytes() == first
    assert first.startswith(b"\x89PNG" if name.endswith("PNG") else b"<svg")


def test_every_colour_has_one_name() -> None:
    """Or a mark, which is told by its colour in the light, would have the wrong one in the dark."""
    assert len(set(LIGHT.values())) == len(LIGHT)
    assert set(LIGHT) == set(DARK)


def test_names_cannot_act(tmp_path: Path) -> None:
    hostile = "<script>$x^$ \x1b]0;x\x07 表"
    shown = "<script>$x^$ \\x1b]0;x\\x07 表"
    charts = [
        Lines(hostile, hostile, [ChartLine(hostile, CURVE)], 3.0, hostile, hostile),
        Tiles(hostile, (hostile,), [TileRow(hostile, [0, 0])]),
        Bars(hostile, [Bar(hostile, "s0", 0.5, 0.4, 0.7, None)]),
    ]
    for chart, number in zip(charts, (5, 3, 2), strict=True):
        root = saved(chart, tmp_path)
        # A long label beside a bar has several lines.
        text = " ".join(element.text or "" for element in root.iter(f"{SVG}text"))
        assert text.count(shown) == number
        save(chart, tmp_path / "figure.png")


@pytest.mark.parametrize("name", ["figure.pdf", "figure", "svg"])
def test_other_endings_are_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot draw") as caught:
        save(LINES, tmp_path / name)
    assert caught.value.hint == "name a file .svg or .png"
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["where.svg", "where.png"])
def test_a_file_that_cannot_be_written(name: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot write"):
        save(LINES, tmp_path / "no" / name)


def test_what_draws_nothing_loads_no_matplotlib() -> None:
    """Neither the figures in the terminal, nor what every command loads."""
    script = (
        "import sys; from dpdb.interfaces.cli.main import main; import dpdb.interfaces.commands.lab.risk, dpdb.interfaces.commands.lab.attacks;"
        "main(['utility', '--figure', '1']); main(['lab']);"
        "sys.exit(any(m in sys.modules for m in ('matplotlib', 'jinja2')))"
    )
    subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)


def test_a_logarithmic_axis_and_a_colour_of_its_own(tmp_path: Path) -> None:
    points = [(0.0, 0.01), (1.0, 1.0), (2.0, 100.0)]
    root = saved(Lines("t", "x", [ChartLine("s", points, "s4")], logarithmic=True), tmp_path)
    [[(_, low), (_, middle), (_, high)]] = marks(root, "stroke-s4")
    assert middle - high == pytest.approx(low - middle, abs=0.2)
    labels = [text.text for text in root.iter(f"{SVG}text")]
    assert {"0.01", "1", "100"} <= set(labels)
