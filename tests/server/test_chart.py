"""The places of dots and bars of error, against the numbers of the answer and those beside the plot."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import date

import pytest

import dpdb
from dpdb.answers.answer import Answer
from dpdb.server.http.pages.chart import MOST_CHARTS, MOST_ROWS, DotChart, charts

POLICY = """
[budget]
epsilon = 1000
queries = 1000
[tables.t]
path = "t.csv"
unit = "row"
[tables.t.columns]
d = { type = "date", bounds = ["2024-01-01", "2024-03-01"] }
g = { type = "text", values = ["a", "b", "c"] }
code = { type = "integer", bounds = [1, 60] }
x = { type = "number", bounds = [0, 10], step = 0.01 }
"""


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dpdb.Session]:
    folder = tmp_path_factory.mktemp("charts")
    rows = [f"2024-01-{1 + i % 28:02d},{'ab'[i % 2]},{1 + i % 60},{i % 10}.5" for i in range(600)]
    (folder / "t.csv").write_text("\n".join(["d,g,code,x", *rows]) + "\n", encoding="utf-8")
    (folder / "t.toml").write_text(POLICY, encoding="utf-8")
    with dpdb.connect(folder / "t.toml") as opened:
        yield opened


def check_places(chart: DotChart, answer: Answer, column: int) -> None:
    """Values and their intervals stand where the ticks say; a row without a number has no dot."""
    [(zero, first), *_, (most, last)] = [(float(tick.text), tick.at) for tick in chart.ticks]

    def number(place: float) -> float:
        return zero + (place - first) * (most - zero) / (last - first)

    told = [
        (row[column], spans[column])
        for row, spans in zip(answer.rows, answer.intervals, strict=True)
        if row[column] is not None
    ]
    for dot, (value, (low, high)) in zip(chart.dots, told, strict=False):
        assert number(dot.value) == pytest.approx(value)
        assert number(dot.low) == pytest.approx(value if low is None else low)
        assert number(dot.high) == pytest.approx(value if high is None else high)
        assert dot.low <= dot.value <= dot.high or dot.low >= dot.value >= dot.high


def test_rows_stand_below_each_other(session: dpdb.Session) -> None:
    answer = session.execute("SELECT g, COUNT(*), AVG(x) FROM t GROUP BY g")
    drawn = charts(answer)
    assert [(chart.title, chart.keys, chart.upright) for chart in drawn] == [
        ("COUNT(*)", "g", False),
        ("AVG(x)", "g", False),
    ]
    for column, chart in enumerate(drawn, 1):
        assert [each.text for each in chart.labels] == ["a", "b", "c"]
        assert [dot.at for dot in chart.dots] == sorted(dot.at for dot in chart.dots)
        assert all(0 <= end <= 100 for dot in chart.dots for end in (dot.low, dot.high))
        check_places(chart, answer, column)
    assert drawn[0].description.startswith("3 values, from ")
    assert drawn[0].description.endswith((" for a", " for b"))


def test_many_days_stand_side_by_side(session: dpdb.Session) -> None:
    answer = session.execute("SELECT d, COUNT(*) FROM t GROUP BY d")
    [chart] = charts(answer)
    assert chart.upright
    days = [date.fromisoformat(str(row[0])) for row in answer.rows]
    whole = (days[-1] - days[0]).days
    for dot, day in zip(chart.dots, days, strict=True):
        assert dot.at == pytest.approx(100 * (day - days[0]).days / whole)
        assert 0 <= min(dot.low, dot.high) < max(dot.low, dot.high) <= chart.height
    assert [each.text for each in chart.labels][:: len(chart.labels) - 1] == [
        "2024-01-01",
        "2024-03-01",
    ]
    check_places(chart, answer, 1)


def test_whole_numbers_can_be_codes(session: dpdb.Session) -> None:
    few, many = (
        charts(session.execute(f"SELECT code, COUNT(*) FROM t WHERE code <= {most} GROUP BY code"))
        for most in (MOST_ROWS, MOST_ROWS + 1)
    )
    assert (few[0].upright, len(few[0].dots)) == (False, MOST_ROWS)
    assert (many[0].upright, len(many[0].dots)) == (True, MOST_ROWS + 1)
    grouped = session.execute("SELECT g, code, COUNT(*) FROM t GROUP BY g, code")
    [chart] = charts(grouped)
    assert (chart.keys, len(chart.dots), chart.hidden) == ("g · code", MOST_ROWS, 180 - MOST_ROWS)


def test_what_has_no_chart(session: dpdb.Session) -> None:
    for statement in (
        "EXPLAIN SELECT COUNT(*) FROM t",
        "SHOW TABLES",
        "SELECT MODE(g) FROM t",
        "SELECT g, COUNT(*) FROM t GROUP BY g HAVING COUNT(*) > 500000",
    ):
        assert charts(session.execute(statement)) == ()
    columns = ", ".join(f"SUM(x) AS s{i}" for i in range(MOST_CHARTS + 2))
    drawn = charts(session.execute(f"SELECT {columns} FROM t"))
    assert [chart.title for chart in drawn] == [f"s{i}" for i in range(MOST_CHARTS)]
    assert all(math.isfinite(dot.value) for chart in drawn for dot in chart.dots)
