"""An answer as a DataFrame of pandas or polars, and as a table of Arrow."""

from __future__ import annotations

import datetime
import sys

import pytest

import dpdb
from dpdb.session.session import Session
from tests.answers.test_answer import STATEMENTS, hostile, shop

pytest.importorskip("polars")

__all__ = ["hostile", "shop"]

QUERY = """
    SELECT word, COUNT(*) AS n, AVG("a<b") AS mean, MAX(born) AS youngest, COUNT(*) > 1 AS many,
           CASE WHEN COUNT(*) > 1000000 THEN 'x' END AS nothing, TIMESTAMP '2020-01-02 03:04:05' AS t
    FROM t GROUP BY word {rest}"""
TYPES = ["text", "integer", "number", "date", "boolean", "text", "timestamp"]
PANDAS = ["str", "Int64", "Float64", "datetime64[s]", "boolean", "str", "datetime64[us]"]
POLARS = ["String", "Int64", "Float64", "Date", "Boolean", "String",
          "Datetime(time_unit='us', time_zone=None)"]  # fmt: skip
ARROW = ["string", "int64", "double", "date32[day]", "bool", "string", "timestamp[us]"]


@pytest.mark.parametrize("rest", ["", "HAVING COUNT(*) > 1000000"])
def test_types_of_frames_follow_from_the_query(hostile: Session, rest: str) -> None:
    answer = hostile.execute(QUERY.format(rest=rest))
    assert list(answer.types) == TYPES
    frame, polars, arrow = answer.df(), answer.to_polars(), answer.to_arrow()
    assert len(frame) == len(polars) == len(arrow) == (0 if rest else 3)
    assert [str(kind) for kind in frame.dtypes] == PANDAS
    assert [str(kind) for kind in polars.dtypes] == POLARS
    assert [str(kind) for kind in arrow.schema.types] == ARROW
    if not rest:
        assert frame["nothing"].isna().all()
        assert isinstance(frame["youngest"].dt.date[0], datetime.date)
        assert polars.rows() == [tuple(row.values()) for row in arrow.to_pylist()]
        assert polars["n"].to_list() == frame["n"].tolist() == [row[1] for row in answer]


def test_frames_have_the_ends_of_intervals(hostile: Session) -> None:
    answer = hostile.execute('SELECT word, SUM("a<b") AS s, MODE(born) AS m FROM t GROUP BY word')
    names = ["word", "s", "s_low", "s_high", "m", "m_low", "m_high"]
    frame = answer.df(intervals=True)
    assert list(frame.columns) == answer.to_polars(intervals=True).columns == names
    assert answer.to_arrow(intervals=True).column_names == names
    ends = list(zip(frame["s_low"], frame["s_high"], strict=True))
    assert ends == [intervals[1] for intervals in answer.intervals]
    assert frame["m_low"].isna().all()


def test_data_frame_has_the_answer(shop: Session) -> None:
    answer = shop.execute("SELECT COUNT(*), COUNT(*), AVG(price) FROM shop")
    for frame in (answer.df(), answer.to_pandas()):
        assert tuple(frame.columns) == answer.columns
        assert tuple(frame.iloc[0]) == answer.rows[0]
    assert answer.to_polars().columns == ["COUNT(*)", "COUNT(*)_2", "AVG(price)"]
    assert tuple(answer.to_arrow().column_names) == answer.columns


def test_whole_numbers_beyond_64_bits_are_doubles(shop: Session) -> None:
    big = 10**20
    answer = shop.execute(f"SELECT COUNT(*) * {big} AS n FROM shop")
    for values in (answer.df(), answer.to_polars(), answer.to_arrow().to_pandas()):
        assert values["n"].to_list() == [answer.scalar()]
        assert values["n"][0] >= big


def test_frames_of_what_is_no_query(shop: Session) -> None:
    for statement in STATEMENTS[1:]:
        answer = shop.execute(statement)
        assert list(answer.df().columns) == answer.to_polars().columns
        assert answer.to_arrow().to_pylist() == answer.to_polars().to_dicts()
    assert shop.execute("SHOW BUDGET").df()["budget"][0] == "epsilon"
    assert shop.execute("SHOW BUDGET").types == ("text", "number", "number", "number")
    explained = shop.execute("EXPLAIN SELECT SUM(price) FROM shop")
    assert list(explained.df()["mechanism"]) == ["laplace"]
    assert explained.types == ("number",)


@pytest.mark.parametrize(
    ("library", "extra"), [("pandas", "pandas"), ("polars", "polars"), ("pyarrow", "parquet")]
)
def test_without_a_library_there_is_an_error_that_says_how_to_get_it(
    shop: Session, monkeypatch: pytest.MonkeyPatch, library: str, extra: str
) -> None:
    answer = shop.execute(STATEMENTS[0])
    monkeypatch.setitem(sys.modules, library, None)
    made = {"pandas": answer.df, "polars": answer.to_polars, "pyarrow": answer.to_arrow}[library]
    with pytest.raises(dpdb.UsageError, match=f"needs {library}") as caught:
        made()
    assert caught.value.hint == f'pip install "dpdb[{extra}]"'
