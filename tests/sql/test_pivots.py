"""PIVOT in its three forms gives the rows that DuckDB gives."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from dpdb.errors import Unsupported
from dpdb.session.connect import connect
from dpdb.session.session import Session

ROWS = "year,shop,kind,price\n1,a,x,3\n1,b,x,4\n2,a,y,5\n2,a,x,6\n1,b,y,7\n2,b,x,8\n"
COLUMNS = {
    "year": {"type": "integer", "values": [1, 2]},
    "shop": {"type": "text", "values": ["a", "b"]},
    "kind": {"type": "text", "values": ["x", "y"]},
    "price": {"type": "integer", "bounds": [0, 1_000_000]},
}


@pytest.fixture
def sales(tmp_path: Path) -> Session:
    (tmp_path / "sales.csv").write_text(ROWS, encoding="utf-8")
    policy = {"tables": {"sales": {"path": "sales.csv", "columns": COLUMNS}}}
    session = connect(tmp_path / "sales.csv", policy=policy, teach=True)
    session.execute("SET dp = off")
    return session


@pytest.mark.parametrize(
    "text",
    [
        "PIVOT sales ON kind USING SUM(price)",
        "PIVOT sales ON kind USING SUM(price), COUNT(*) AS n",
        "PIVOT sales ON shop USING COUNT(price) GROUP BY year",
        "SELECT * FROM (PIVOT sales ON kind USING SUM(price) GROUP BY year) AS p",
        "WITH p AS (PIVOT sales ON kind USING SUM(price) GROUP BY year) SELECT year, x FROM p",
        "SELECT * FROM sales PIVOT (SUM(price) FOR kind IN ('x', 'y'))",
        "SELECT * FROM sales PIVOT (SUM(price) FOR kind IN ('x', 'y') GROUP BY shop) AS p",
        "SELECT * FROM (SELECT year, kind, price FROM sales) PIVOT (SUM(price) FOR kind IN ('x'))",
        "FROM (SELECT price, kind FROM sales) AS s PIVOT (SUM(price) FOR kind IN ('x', 'y'))",
    ],
)
def test_the_rows_and_names_are_those_of_duckdb(text: str, sales: Session, tmp_path: Path) -> None:
    other = duckdb.connect()
    other.execute(f"CREATE TABLE sales AS SELECT * FROM '{tmp_path / 'sales.csv'}'")
    expected = other.execute(text)
    answer = sales.execute(text)
    assert [column[0] for column in expected.description] == [
        name.replace("SUM(", "sum(") for name in answer.columns
    ]
    assert sorted(answer.rows) == sorted(expected.fetchall())


def test_undeclared_values_name_no_rows(sales: Session) -> None:
    with pytest.raises(Unsupported, match="row for each price") as caught:
        sales.execute("PIVOT sales ON kind USING COUNT(*)")
    assert caught.value.hint == "name the rows: GROUP BY year, shop"
