"""Figures as files."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from dpdb.errors import UsageError
from dpdb.plots.figures import Figure, Lines, Series, TileRow, Tiles
from dpdb.plots.saving import save
from dpdb.plots.svg import drawn

SVG = "{http://www.w3.org/2000/svg}"
CURVE = [(0.0, 0.0), (3.0, 40.0), (10.0, 100.0)]
LINES = Lines("A <title> & more", "x", [Series("s & t", CURVE), Series("u", CURVE[:2])], 60.0, "l")
TILES = Tiles("Tiles", ("yes", "<no>"), [TileRow("all", [0, 1, 1]), TileRow("none", [1] * 45)])


def saved(figure: Figure, folder: Path) -> ElementTree.Element:
    path = folder / "figure.svg"
    save(figure, path)
    return ElementTree.fromstring(path.read_text(encoding="utf-8"))


def ticks(root: ElementTree.Element, anchor: str, across: str) -> dict[float, float]:
    """Where the numbers of an axis stand."""
    found = {}
    for text in root.iter(f"{SVG}text"):
        if text.get("text-anchor") == anchor and re.fullmatch(r"[\d.]+", text.text or ""):
            found[float(text.text or "")] = float(text.get(across, ""))
    return found


def test_curves_are_where_the_axes_say(tmp_path: Path) -> None:
    root = saved(LINES, tmp_path)
    right, down = ticks(root, "middle", "x"), ticks(root, "end", "y")
    assert {0, 2, 10} <= set(right)
    assert {0, 20, 100} <= set(down)
    first, second = root.iter(f"{SVG}polyline")
    places = [
        (
            right[0] + x / 10 * (right[10] - right[0]),
            # A number's baseline is a little below its line.
            down[0] - 4 + y / 100 * (down[100] - down[0]),
        )
        for x, y in CURVE
    ]
    for polyline, expected in ((first, places), (second, places[:2])):
        drawn_at = [tuple(map(float, p.split(","))) for p in polyline.get("points", "").split()]
        assert len(drawn_at) == len(expected)
        for point, place in zip(drawn_at, expected, strict=True):
            assert point == pytest.approx(place, abs=0.2)


@pytest.mark.parametrize("figure", [LINES, TILES])
def test_a_file_needs_no_other(figure: Figure, tmp_path: Path) -> None:
    root = saved(figure, tmp_path)
    style = root.findtext(f"{SVG}style") or ""
    assert "prefers-color-scheme: dark" in style
    assert "var(" not in style
    assert "url(" not in style
    styled = set(re.findall(r"\.(\w+)", style))
    coloured = {name for element in root.iter() for name in (element.get("class") or "").split()}
    # Labels have the colour of all text, tiles that of their kind.
    assert coloured - styled <= {"label", "tile"}
    texts = [element.text for element in root.iter(f"{SVG}text")]
    assert figure.title in texts


def test_every_tile_is_there(tmp_path: Path) -> None:
    kinds = [e.get("class") for e in saved(TILES, tmp_path).iter(f"{SVG}rect") if e.get("rx")]
    assert kinds == ["tile k0", "tile k1", "tile k1"] + ["tile k1"] * 45


def test_in_a_page_the_page_has_the_colours() -> None:
    assert "<style>" not in drawn(LINES)
    ElementTree.fromstring(drawn(LINES))


@pytest.mark.parametrize("figure", [LINES, TILES])
def test_a_png_where_there_is_matplotlib(figure: Figure, tmp_path: Path) -> None:
    path = tmp_path / "figure.PNG"
    if importlib.util.find_spec("matplotlib") is None:
        with pytest.raises(UsageError, match="needs matplotlib") as caught:
            save(figure, path)
        assert "dpdb[plots]" in (caught.value.hint or "")
    else:
        save(figure, path)
        assert path.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("name", ["figure.pdf", "figure", "svg"])
def test_other_endings_are_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot draw") as caught:
        save(LINES, tmp_path / name)
    assert caught.value.hint == "name a file .svg or .png"
    assert not list(tmp_path.iterdir())


def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot write"):
        save(LINES, tmp_path / "no" / "where.svg")
