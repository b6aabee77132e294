"""UNNEST has the rows that it has in DuckDB, and a unit as many of them as its elements allow."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from dpdb.errors import TooLarge
from dpdb.policy.catalog import Policy
from dpdb.policy.reading.reader import read_policy
from dpdb.session.connect import connect
from dpdb.session.session import Session
from tests.support.noiseless import Noiseless

pytestmark = pytest.mark.usefixtures("anywhere")

TEXTS = ["a,b,c,d", "a", "", "a,,b", ",", "aa,b,", "c,b,a", "aaa"]
POLICY = """
[budget]
epsilon = 1000
queries = 1000
[tables.t]
path = "t.csv"
unit = "u"
rows_per_unit = 4
rows_held_per_unit = 8
[tables.t.columns]
u = { type = "integer" }
s = { type = "text", length = 20 }
x = { type = "integer", bounds = [0, 9] }
"""
QUERIES = [
    "SELECT COUNT(*), SUM(LENGTH(p), 0, 9), COUNT(DISTINCT p) FROM t, UNNEST(SPLIT(s, ',')[1:3]) AS w(p)",
    "SELECT COUNT(*), SUM(x) FROM t CROSS JOIN UNNEST(STRING_SPLIT(s, ',')[2:4]) AS w(p) WHERE p <> ''",
    "SELECT COUNT(*) FROM t, UNNEST(STR_SPLIT(s, 'aa')[1:2]) AS w(p)",
    "SELECT COUNT(*), SUM(x * k) FROM t, UNNEST([1, 2, 7]) AS w(k) WHERE x + k > 5",
    "SELECT SUM(k), COUNT(*) FROM (SELECT x, k FROM t, UNNEST([x, 3]) AS w(k) WHERE s <> 'a') AS v",
    "SELECT COUNT(*) FROM t AS v, UNNEST([1, 2]) AS a(k), UNNEST([5, 6]) AS b(l) WHERE v.x > k + l",
]  # fmt: skip


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Policy:
    folder = tmp_path_factory.mktemp("unnest")
    rows = (f'{at // 4},"{TEXTS[at % 8]}",{at % 10}' for at in range(40))
    (folder / "t.csv").write_text("\n".join(["u,s,x", *rows]) + "\n", encoding="utf-8")
    (folder / "t.toml").write_text(POLICY, encoding="utf-8")
    return read_policy(folder / "t.toml")


@pytest.mark.parametrize("text", QUERIES)
def test_rows_are_those_of_duckdb(text: str, here: Policy) -> None:
    ours = Session(here, noise=Noiseless()).execute(text).rows
    path = Path(here.tables[0].path)
    theirs = text.replace("SUM(LENGTH(p), 0, 9)", "SUM(LENGTH(p))").replace(
        "SPLIT(", "string_split("
    )
    theirs = theirs.replace("STRING_string_", "string_").replace("STR_string_", "string_")
    columns = "{'u': 'INT', 's': 'VARCHAR', 'x': 'INT'}"
    with duckdb.connect() as duck:
        duck.execute(f"CREATE TABLE t AS FROM read_csv('{path}', columns={columns}, nullstr='')")
        assert ours == tuple(duck.execute(theirs).fetchall())


@pytest.mark.parametrize(
    ("listed", "most"),
    [("[7]", 4), ("[1, 2, 3]", 12), ("SPLIT(s, ',')[2:3]", 8), ("SPLIT(s, ',')[:5]", 20)],
)
def test_a_unit_has_its_rows_as_often_as_there_are_elements(
    listed: str, most: int, here: Policy
) -> None:
    priced = Session(here).execute(f"EXPLAIN SELECT COUNT(*) FROM t, UNNEST({listed}) AS p")
    assert [drawn.sensitivity for drawn in priced.releases] == [most]


def test_a_name_alone_is_that_of_the_column(here: Policy) -> None:
    session = Session(here, noise=Noiseless())
    rows = session.execute(
        "SELECT k, COUNT(*), SUM(t.x) FROM t, UNNEST([1, 2]) AS k GROUP BY k"
    ).rows
    assert [row[0] for row in rows] == [1, 2]
    assert rows[0][1:] == rows[1][1:]


def test_a_refusal_names_the_line_that_lowers_the_rows(here: Policy) -> None:
    folder = here.tables[0].path.parent
    (folder / "many.toml").write_text(POLICY.replace("rows_held_per_unit = 8\n", ""))
    asked = "SELECT COUNT(*) FROM t, UNNEST([1, 2, 3, 4, 5, 6]) AS a, UNNEST([1, 2, 3, 4, 5]) AS b"
    with pytest.raises(TooLarge) as caught:
        Session(read_policy(folder / "many.toml")).explain(asked)
    assert "rows_held_per_unit = 4 in [tables.t]" in (caught.value.hint or "")
    Session(here).explain(asked)


def test_a_list_of_formats_reads_by_the_first_that_fits(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("s\n2020-03-01\n03/02/2020\n1 May\n", encoding="utf-8")
    session = connect(tmp_path / "t.csv", teach=True)
    session.execute("SET dp = off")
    day = "STRPTIME(s, ['%Y-%m-%d', '%m/%d/%Y'])"
    counted = session.execute(f"SELECT COUNT({day}), COUNT_IF({day} = DATE '2020-03-02') FROM t")
    assert counted.rows == ((2, 1),)
