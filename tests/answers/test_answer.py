"""An answer shows itself: at a Python prompt, in a notebook, as rows and as a figure."""

from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import dpdb
from dpdb.answers.formats.footer import NOT_PRIVATE
from dpdb.answers.formats.render import FORMATS
from dpdb.policy.reading.reader import read_policy
from dpdb.session.session import Session
from tests.support.noiseless import Noiseless

HERE = Path(__file__).parent
STATEMENTS = (
    "SELECT COUNT(*), AVG(price) AS mean FROM shop",
    "EXPLAIN SELECT SUM(price) FROM shop",
    "SHOW BUDGET",
    "DESCRIBE shop",
    "SET epsilon = 0.1",
)
POLICY = """
[tables.t.columns]
word = { type = "text", values = ["<b>", "a&b", "\\u001b[2J"] }
"a<b" = { type = "integer", bounds = [0, 10] }
born = { type = "date", bounds = [1990-01-01, 2009-12-31] }
member = { type = "boolean", values = [true, false] }
"""


@pytest.fixture
def shop() -> Session:
    return Session(read_policy(HERE / "shop.toml"), noise=Noiseless())


@pytest.fixture
def hostile(tmp_path: Path) -> Session:
    (tmp_path / "t.csv").write_text("word,a<b,born,member\n<b>,4,2000-01-02,true\na&b,6,,false\n")
    (tmp_path / "t.toml").write_text(POLICY)
    return Session(read_policy(tmp_path / "t.toml"), noise=Noiseless())


class Texts(HTMLParser):
    """The texts and the tags of a page."""

    def __init__(self, page: str):
        super().__init__()
        self.texts: list[str] = []
        self.tags: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.texts += [data.strip()] if data.strip() else []


@pytest.mark.parametrize("statement", STATEMENTS)
def test_repr_is_the_table(shop: Session, statement: str) -> None:
    answer = shop.execute(statement)
    assert repr(answer) == FORMATS["table"](answer)


@pytest.mark.parametrize("statement", STATEMENTS)
def test_html_shows_what_the_table_shows(shop: Session, statement: str) -> None:
    answer = shop.execute(statement)
    shown = " ".join(Texts(answer._repr_html_()).texts)
    lines = {"|", "-", "+"}
    assert shown.split() == [word for word in repr(answer).split() if not set(word) <= lines]


def test_html_is_escaped(hostile: Session) -> None:
    page = hostile.execute('SELECT word, SUM("a<b") AS "<i>x" FROM t GROUP BY word')._repr_html_()
    read = Texts(page)
    assert set(read.tags) <= {"div", "table", "thead", "tbody", "tr", "th", "td", "p", "br"}
    assert {"<b>", "a&b", "<i>x", "\\x1b[2J"} <= set(read.texts)


def test_header_cells_of_html_are_headers_of_columns(shop: Session) -> None:
    page = shop.execute(STATEMENTS[0])._repr_html_()
    assert page.count('<th scope="col"') == 2
    assert "±" in page


def test_exact_results_are_in_neither(shop: Session) -> None:
    """An EXPLAIN knows its plan, and shows of it what the table does."""
    answer = shop.execute(STATEMENTS[1])
    assert answer.plan is not None
    assert "Plan(" not in repr(answer) + answer._repr_html_()


def test_an_answer_is_its_rows(shop: Session) -> None:
    answer = shop.execute("SELECT item, COUNT(*) FROM shop GROUP BY item")
    assert list(answer) == answer.fetchall() == list(answer.rows)
    assert len(answer) == len(answer.rows) > 1
    assert {type(row) for row in answer} == {tuple}
    with pytest.raises(dpdb.UsageError, match="and 2 columns") as caught:
        answer.scalar()
    assert caught.value.hint is not None
    [[number]] = shop.execute("SELECT COUNT(*) FROM shop")
    assert shop.execute("SELECT COUNT(*) FROM shop").scalar() == number


@pytest.mark.parametrize(
    "statement", [STATEMENTS[1], "SELECT COUNT(*) AS n FROM shop HAVING n < 0"]
)
def test_an_answer_without_rows_is_true(shop: Session, statement: str) -> None:
    answer = shop.execute(statement)
    assert len(answer) == 0
    assert answer
    with pytest.raises(dpdb.UsageError, match="0 rows"):
        answer.scalar()


def drawn(answer: dpdb.Answer, **arguments: Any) -> Axes:
    axes = answer.plot(Figure().subplots(), **arguments)
    axes.figure.canvas.draw()
    return axes


def test_a_plot_has_a_bar_and_its_interval_for_each_key(hostile: Session) -> None:
    answer = hostile.execute('SELECT word, SUM("a<b") AS "$\\frac{" FROM t GROUP BY word')
    axes = drawn(answer)
    assert [bar.get_height() for bar in axes.patches] == [row[1] for row in answer]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["<b>", "a&b", "\\x1b[2J"]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("word", "$\\frac{")
    [bars] = axes.collections
    ends = [tuple(segment[:, 1]) for segment in bars.get_segments()]
    assert ends == [intervals[1] for intervals in answer.intervals]


def test_numbers_over_a_date_are_a_line(hostile: Session) -> None:
    query = (
        "SELECT DATE_TRUNC('year', born) AS y, COUNT(*) AS n, COUNT(*) + 1 AS m FROM t GROUP BY y"
    )
    axes = drawn(hostile.execute(query))
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["n", "m"]
    assert not axes.patches
    assert len(drawn(hostile.execute(query), kind="bar").patches) == 2 * len(hostile.execute(query))


def test_a_single_row_has_a_bar_for_each_column(shop: Session) -> None:
    answer = shop.execute("SELECT COUNT(*), SUM(price) AS s FROM shop")
    axes = drawn(replace(answer, private=False))
    assert [label.get_text() for label in axes.get_xticklabels()] == ["COUNT(*)", "s"]
    assert len(axes.patches) == 2
    assert axes.get_title() == NOT_PRIVATE
    assert not drawn(answer).get_title()


def test_what_cannot_be_plotted(shop: Session) -> None:
    for statement in STATEMENTS[1:]:
        with pytest.raises(dpdb.UsageError, match="no noisy number"):
            shop.execute(statement).plot()
    with pytest.raises(dpdb.UsageError, match="no plot pie"):
        shop.execute(STATEMENTS[0]).plot(kind="pie")
    assert not drawn(shop.execute("SELECT COUNT(*) AS n FROM shop HAVING n < 0")).patches
