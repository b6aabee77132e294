"""An answer shows itself: at a Python prompt, in a notebook, and as a DataFrame."""

from __future__ import annotations

import datetime
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

import dpdb
from dpdb.answers.formats.render import as_table
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
    assert repr(answer) == as_table(answer)


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


def test_types_of_a_data_frame_follow_from_the_query(hostile: Session) -> None:
    query = """
        SELECT word, COUNT(*) AS n, AVG("a<b") AS mean, MAX(born) AS youngest, COUNT(*) > 1 AS many,
               CASE WHEN COUNT(*) > 1000000 THEN 'x' END AS nothing
        FROM t GROUP BY word {rest}"""
    types = ["str", "Int64", "Float64", "datetime64[s]", "boolean", "str"]
    with_rows = hostile.execute(query.format(rest="")).to_pandas()
    without = hostile.execute(query.format(rest="HAVING COUNT(*) > 1000000")).to_pandas()
    assert (len(with_rows), len(without)) == (3, 0)
    for frame in (with_rows, without):
        assert [str(kind) for kind in frame.dtypes] == types
    assert with_rows["nothing"].isna().all()
    assert isinstance(with_rows["youngest"].dt.date[0], datetime.date)


def test_data_frame_has_the_answer(shop: Session) -> None:
    answer = shop.execute("SELECT COUNT(*), COUNT(*), AVG(price) FROM shop")
    frame = answer.to_pandas()
    assert tuple(frame.columns) == answer.columns
    assert tuple(frame.iloc[0]) == answer.rows[0]


def test_whole_numbers_beyond_64_bits_are_doubles(shop: Session) -> None:
    big = 10**20
    answer = shop.execute(f"SELECT COUNT(*) * {big} AS n FROM shop")
    [[value]] = answer.to_pandas().to_numpy().tolist()
    assert value == answer.rows[0][0] >= big


def test_data_frame_of_what_is_no_query(shop: Session) -> None:
    assert shop.execute("SHOW BUDGET").to_pandas()["budget"][0] == "epsilon"
    explained = shop.execute("EXPLAIN SELECT SUM(price) FROM shop").to_pandas()
    assert list(explained["mechanism"]) == ["laplace"]


def test_without_pandas_there_is_an_error_that_says_how_to_get_it(
    shop: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = shop.execute(STATEMENTS[0])
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(dpdb.UsageError, match="needs pandas") as caught:
        answer.to_pandas()
    assert caught.value.hint == 'pip install "dpdb[pandas]"'
