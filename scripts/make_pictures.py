"""Draw the pictures of README and the manual, from sessions whose noise is the same each time.

    python scripts/make_pictures.py [DIRECTORY]

`prompt.svg` is the screen of a terminal in which a query is typed, with its live price; `plot.svg`
is what `Answer.plot` draws. The files are committed, and a run gives the same bytes.
"""

import io
import re
import sys
import tempfile
from html import escape
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from matplotlib import pyplot as plt  # noqa: E402

import dpdb  # noqa: E402
from tests.support.stubbed import exchange  # noqa: E402
from tests.support.terminal import Terminal  # noqa: E402

if TYPE_CHECKING:
    from matplotlib.typing import RcKeyType

ASKED = "SELECT AVG(income) FROM people WHERE age >= 40;"
TYPED = "SELECT zip, COUNT(*) FROM people WHERE zip IN (10025, 31643) GROUP BY zip"
COLUMNS, LINES = 80, 24
ACROSS, DOWN, MARGIN = 8.4, 19, 14
"""Units of a character, and around all of them."""
COLOURS = {
    "paper": ("#ffffff", "#14181d"), "ink": ("#1b1f24", "#e8ecf0"),
    "blue": ("#1f77b4", "#5aa9ea"), "brown": ("#9a5b00", "#e6a23c"),
    "cyan": ("#22777a", "#58c0c0"), "green": ("#2f7d4f", "#58c08a"),
    "red": ("#c4352c", "#f0706a"), "magenta": ("#8a4fbd", "#bd8cf0"),
    "brightblack": ("#59636e", "#9aa5b1"),
}  # fmt: skip
"""For light and for dark, by the names that the terminal has for colours."""


def style() -> str:
    """The style sheet, with colours for light and for dark."""
    light, dark = (
        "".join(f".{name} {{ fill: {pair[which]} }}\n" for name, pair in COLOURS.items())
        for which in (0, 1)
    )
    font = 'text { font: 14px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; }'
    return f"{font}\n{light}@media (prefers-color-scheme: dark) {{\n{dark}}}\n"


def line(y: int, cells: list[tuple[str, str, bool, bool]]) -> str:
    """The runs of one colour in a line of the screen, each as wide as its characters."""
    drawn, x = [], 0
    for (colour, bold, reverse), run in groupby(cells, key=lambda cell: cell[1:]):
        text = "".join(cell[0] for cell in run)
        left, width = MARGIN + x * ACROSS, len(text) * ACROSS
        x += len(text)
        if reverse:
            box = f'x="{left:.1f}" y="{MARGIN + y * DOWN}" width="{width:.1f}" height="{DOWN}"'
            drawn.append(f'<rect class="{colour}" {box}/>')
        if text.strip():
            place = f'x="{left:.1f}" y="{MARGIN + y * DOWN + 14}" textLength="{width:.1f}"'
            weight = ' font-weight="bold"' if bold else ""
            ink = "paper" if reverse else colour
            drawn.append(
                f'<text class="{ink}" {place}{weight} xml:space="preserve">{escape(text)}</text>'
            )
    return "\n".join(drawn)


def prompt() -> str:
    """The screen while a query is typed: its price is in the last line."""
    with (
        tempfile.TemporaryDirectory() as home,
        Terminal("sample_data/people.csv", home=Path(home), columns=COLUMNS, lines=LINES,
                 how="noise") as terminal,
    ):  # fmt: skip
        terminal.wait_for_prompt()
        terminal.run(ASKED)
        terminal.send(TYPED)
        terminal.wait(lambda t: TYPED in t.cursor_line and t.toolbar.endswith("± 30"))
        screen, last = terminal.cells(), terminal.row
        said = re.sub(r"\n{2,}", "\n\n", terminal.text)
    screen = [*screen[: last + 2], screen[-1]]
    width, height = 2 * MARGIN + COLUMNS * ACROSS, 2 * MARGIN + len(screen) * DOWN
    return "\n".join(
        [
            '<svg xmlns="http://www.w3.org/2000/svg" role="img" '
            f'viewBox="0 0 {width:.0f} {height}">',
            f"<title>The prompt of dpdb</title>\n<desc>{escape(said)}</desc>",
            f"<style>\n{style()}</style>",
            f'<rect class="paper" width="{width:.0f}" height="{height}" rx="8"/>',
            *filter(None, (line(y, cells) for y, cells in enumerate(screen))),
            "</svg>\n",
        ]
    )


PLOTTED = "SELECT FLOOR(age / 10) * 10 AS decade, AVG(income) FROM people GROUP BY decade"


def plot() -> str:
    """The answer by decade as bars with error bars, in colours for light and for dark."""
    light, dark = ({name: pair[which] for name, pair in COLOURS.items()} for which in (0, 1))
    settings: dict[RcKeyType, Any] = {
        "svg.hashsalt": "dpdb", "svg.fonttype": "none", "axes.facecolor": "none",
        "axes.spines.top": False, "axes.spines.right": False,
        "text.color": light["ink"], "axes.edgecolor": light["ink"],
        "axes.labelcolor": light["ink"], "xtick.color": light["ink"], "ytick.color": light["ink"],
    }  # fmt: skip
    drawing = io.StringIO()
    exchange()
    with plt.rc_context(settings):
        figure, axes = plt.subplots(figsize=(6.4, 2.6), layout="constrained")
        figure.set_facecolor(light["paper"])
        dpdb.connect(ROOT / "sample_data" / "people.csv").execute(PLOTTED).plot(axes)
        nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        figure.savefig(drawing, format="svg", metadata=nothing)
    rules = "".join(
        f'[style*="{mark}: {light[name]}"] {{ {mark}: {dark[name]} !important }}\n'
        for name in ("paper", "ink", "blue")
        for mark in ("fill", "stroke")
    )
    rules += f'[style*="stroke: #000000"] {{ stroke: {dark["ink"]} !important }}\n'
    style = f"<style>\n@media (prefers-color-scheme: dark) {{\n{rules}}}\n</style>\n <defs>"
    return drawing.getvalue().replace("<defs>", style, 1)


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "dpdb" / "manual"
    for name, drawn in (("prompt", prompt()), ("plot", plot())):
        (folder / f"{name}.svg").write_text(drawn, encoding="utf-8")
