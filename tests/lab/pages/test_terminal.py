"""Charts in characters: the dots are where the values are."""

from __future__ import annotations

import pytest

from dpdb.lab.figures import ChartLine, Lines, TileRow, Tiles
from dpdb.lab.pages.characters import ROWS, figure_text
from dpdb.lab.studies.accuracy import laplace_densities

DOTS = [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (0, 3), (1, 3)]
"""Where a Braille character's dots 1 to 8 are, by the Unicode standard."""


def rows(chart: str) -> list[str]:
    """What stands right of the vertical axis, row by row."""
    lines = [line for line in chart.splitlines() if "┤" in line or "│" in line]
    return [line.replace("┤", "│").partition("│")[2] for line in lines]


def dots(chart: str) -> set[tuple[int, int]]:
    """The dots from the left and from the top."""
    found = set()
    for row, line in enumerate(rows(chart)):
        for column, character in enumerate(line):
            code = ord(character) - 0x2800
            if 0 <= code < 256:
                found |= {
                    (2 * column + x, 4 * row + y)
                    for bit, (x, y) in enumerate(DOTS)
                    if code >> bit & 1
                }
    return found


def line(*points: tuple[float, float], label: str = "one") -> Lines:
    return Lines("title", "across", [ChartLine(label, points)])


def test_a_straight_line_is_straight() -> None:
    chart = figure_text(line((0, 0), (10, 10)), 80)
    found = dots(chart)
    columns = 2 * (max(map(len, rows(chart))))
    height = 4 * ROWS
    assert len(found) > height
    for x, y in found:
        exact = (height - 1) * (1 - x / (columns - 1))
        assert abs(y - exact) <= 1
    assert {y for _, y in found} >= set(range(4, height))


def test_heights_are_read_off_the_axis() -> None:
    """A curve at 300 is in the row labelled 300, one at 100 in the row labelled 100."""
    low, high = ChartLine("low", [(0, 100), (9, 100)]), ChartLine("high", [(0, 300), (9, 300)])
    chart = figure_text(Lines("t", "x", [low, high, ChartLine("ends", [(0, 0), (0, 400)])]), 60)
    for label, letter in (("100", "a"), ("300", "b")):
        (row,) = (text for text in chart.splitlines() if text.strip().startswith(f"{label} ┤"))
        assert letter in row
    assert "  a  low\n  b  high" in chart


def test_a_peak_between_the_columns_is_not_lost() -> None:
    """Laplace(0, 0.1) is 5 high at 0 and below 0.04 half a column away from there."""
    top = rows(figure_text(laplace_densities(), 80))[0]
    assert top.strip() == "a"


def test_letters_are_on_their_curves() -> None:
    chart = figure_text(laplace_densities(), 80)
    labelled = {
        letter: (row, text.index(letter))
        for row, text in enumerate(rows(chart))
        for letter in "abcd"
        if letter in text
    }
    assert set(labelled) == set("abcd")
    columns = max(map(len, rows(chart)))
    for letter, height, mean in (("a", 5, 0), ("b", 1, 0), ("c", 0.5, 0), ("d", 0.5, -5)):
        row, column = labelled[letter]
        assert abs(row - (1 - height / 5) * ROWS) <= 1.5
        assert abs(column - (mean + 10) / 20 * columns) <= 1.5


def test_the_level_is_drawn_and_explained() -> None:
    chart = figure_text(Lines("t", "x", [ChartLine("s", [(0, 0), (9, 0)])], 4.0, "the truth"), 60)
    assert "┄┄┄" in rows(chart)[0]
    assert "  ┄  the truth: 4" in chart


def test_axes_say_what_they_measure() -> None:
    chart = figure_text(
        Lines("t", "ε", [ChartLine("s", [(0, 0), (1, 50)])], up="noise"), 60
    ).splitlines()
    assert chart[0] == "  noise"
    assert [text.split()[0] for text in chart if "┤" in text] == ["50", "40", "30", "20", "10", "0"]
    assert chart[-3].split() == ["0", "0.2", "0.4", "0.6", "0.8", "1"]
    assert chart[-2].strip() == "ε"


@pytest.mark.parametrize("width", [40, 57, 92])
def test_it_fits(width: int) -> None:
    assert max(map(len, figure_text(laplace_densities(), width).splitlines())) <= width
    tiles = Tiles("t", ("yes", "no"), [TileRow("some people", [0, 1] * 60)])
    assert max(map(len, figure_text(tiles, width).splitlines())) <= width


@pytest.mark.parametrize("points", [[(1, 1)], [(0, 3), (9, 3)], [(2, 0), (2, 7)]])
def test_little_to_draw(points: list[tuple[float, float]]) -> None:
    chart = figure_text(line(*points), 40)
    assert len(rows(chart)) == ROWS
    assert any("a" in text for text in rows(chart))


def test_two_equal_curves_keep_two_letters() -> None:
    same = [(0.0, 0.0), (9.0, 9.0)]
    text = "".join(
        rows(figure_text(Lines("t", "x", [ChartLine("s", same), ChartLine("z", same)]), 60))
    )
    assert "a" in text
    assert "b" in text


def test_names_cannot_act() -> None:
    assert "\x1b" not in figure_text(line((0, 0), (1, 1), label="\x1b]0;x\x07"), 60)


def test_equal_factors_are_equal_steps_on_a_logarithmic_axis() -> None:
    curve = [(0.0, 100.0), (1.0, 1.0), (2.0, 0.01)]
    lines = figure_text(Lines("t", "x", [ChartLine("s", curve)], 1.0, "l", logarithmic=True)).split(
        "\n"
    )
    places = {line.split()[0]: row for row, line in enumerate(lines) if "┤" in line}
    assert {"100", "1", "0.01"} <= set(places)
    assert places["0.01"] - places["1"] == pytest.approx(places["1"] - places["100"], abs=1)
    assert "┄" in lines[places["1"]]
    assert lines[-1] == "  ┄  l: 1"
