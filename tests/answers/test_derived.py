"""SELECTs over answers are what DuckDB makes of the noisy rows: and nothing else is read."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import duckdb
import pytest

from dpdb.answers.answer import Answer
from dpdb.policy.budget import Budget
from dpdb.policy.catalog import Column, Kind, Policy, Table
from dpdb.privacy.noise.sources import seeded
from dpdb.session.session import Session

INNER = (
    "SELECT city, day, COUNT(*) AS n, AVG(pay) AS a, CAST(COUNT(*) / 4 AS INTEGER) AS q,"
    " NULLIF(COUNT(*) % 3, 0) AS m FROM t GROUP BY city, day"
)
TYPES = "city VARCHAR, day DATE, n BIGINT, a DOUBLE, q BIGINT, m BIGINT"
OUTER = [
    "SELECT MAX(n), MIN(n), SUM(n), AVG(n), COUNT(*), COUNT(m), COUNT(DISTINCT q) FROM t",
    "SELECT MEDIAN(n), VAR_SAMP(n), VAR_POP(a), STDDEV(n), STDDEV_POP(a) FROM t",
    "SELECT QUANTILE_CONT(a, 0.25), MAX(day), SUM(m), AVG(m) FILTER (WHERE n > 8) FROM t",
    "SELECT CORR(n, a), COVAR_SAMP(n, m), REGR_SLOPE(a, n), REGR_R2(m, n), SKEWNESS(n), KURTOSIS(n) FROM t",
    "SELECT SUM(n), COUNT(*), MAX(day), VAR_SAMP(n), MEDIAN(a) FROM t WHERE n > 1000",
    "SELECT MODE(n), MODE(city), SUM(n), COUNT(n), MIN(day) FROM t WHERE n > 1000",
    "SELECT city, a FROM t WHERE a > 500 AND city <> 'Ely' ORDER BY a DESC LIMIT 3",
    "SELECT * FROM t ORDER BY n DESC, city, day OFFSET 2",
    "SELECT city, SUM(n) AS s, COUNT(*) FROM t GROUP BY city HAVING SUM(n) > 5 ORDER BY s",
    "SELECT m, q, COUNT(*), MIN(a) > 500 FROM t GROUP BY m, q"
    " ORDER BY m NULLS FIRST, q",
    "SELECT n > 9 AS large, COUNT(*), SUM(a) FROM t GROUP BY large ORDER BY large",
    "SELECT DISTINCT q, m FROM t ORDER BY q DESC, m NULLS LAST",
    "SELECT UPPER(city) || '!' AS c, n * 2 + 1, a / n, CASE WHEN n > 9 THEN 'many' END FROM t"
    " ORDER BY 2, c, a",
    "SELECT city, n FROM t WHERE n > (SELECT AVG(n) FROM t) ORDER BY n, city, day",
    "SELECT n * 100.0 / (SELECT SUM(n) FROM t) AS part FROM t ORDER BY part",
    "SELECT AVG(s) FROM (SELECT city, SUM(n) AS s FROM t GROUP BY city) AS u",
    "SELECT x, y FROM (SELECT n, a FROM t WHERE m IS NULL) AS u(x, y) ORDER BY x, y",
    "SELECT a.city, a.day, a.n - b.n FROM t AS a JOIN t AS b ON a.city = b.city AND a.n > b.n"
    " ORDER BY 1, 2, 3",
    "SELECT city, n, s FROM t JOIN (SELECT city, SUM(n) AS s FROM t GROUP BY city) AS u USING (city)"
    " ORDER BY n, city, day",
    "SELECT t.city, n * 1.0 / w.s FROM t, (SELECT SUM(n) AS s FROM t) AS w WHERE n > 9"
    " ORDER BY 2, 1",
    "SELECT city, t.day, x.b FROM t LEFT JOIN (SELECT day, m + 1 AS b, n AS k FROM t WHERE m = 1)"
    " AS x ON x.k = t.n AND x.day < t.day ORDER BY city, t.day, x.b NULLS FIRST",
    "SELECT x.q, y.q, COUNT(*) FROM (SELECT q, city FROM t WHERE n > 9) AS x FULL JOIN"
    " (SELECT q, city FROM t WHERE n < 11) AS y ON x.q = y.q AND x.city < y.city"
    " GROUP BY x.q, y.q ORDER BY 1 NULLS FIRST, 2 NULLS FIRST",
    "SELECT k, x.c, city FROM (SELECT 1 AS k, city AS c FROM t WHERE n > 1000) AS x RIGHT JOIN t"
    " ON x.c = t.city ORDER BY city, day",
    "SELECT * FROM (SELECT city, MIN(n) AS low FROM t GROUP BY city) AS x CROSS JOIN"
    " (SELECT city, MAX(n) AS high FROM t GROUP BY city) AS y ORDER BY 1, 3",
    "SELECT city, n FROM t WHERE n < 9 UNION ALL SELECT 'all', SUM(n) FROM t ORDER BY n, city",
    "SELECT q FROM t UNION SELECT m FROM t WHERE m IS NOT NULL ORDER BY q",
    "SELECT city, day, ROW_NUMBER() OVER (ORDER BY n, city, day) AS r FROM t ORDER BY r",
    "SELECT RANK() OVER (ORDER BY q DESC) AS r, DENSE_RANK() OVER (ORDER BY q DESC),"
    " PERCENT_RANK() OVER (ORDER BY q DESC), CUME_DIST() OVER (ORDER BY q DESC) FROM t ORDER BY r",
    "SELECT city, day, RANK() OVER (PARTITION BY city ORDER BY q, m NULLS FIRST) FROM t"
    " ORDER BY city, day",
    "SELECT city, day, NTILE(4) OVER (ORDER BY n, city, day), NTILE(30) OVER (ORDER BY n, city, day)"
    " FROM t ORDER BY city, day",
    "SELECT city, day, LAG(n) OVER w, LEAD(city, 2, 'none') OVER w FROM t"
    " WINDOW w AS (PARTITION BY city ORDER BY day) ORDER BY city, day",
    "SELECT city, day, LAG(m, 3, 7) OVER (ORDER BY city, day) FROM t ORDER BY city, day",
    "SELECT city, day, FIRST_VALUE(n) OVER (PARTITION BY city ORDER BY day),"
    " LAST_VALUE(m) OVER (ORDER BY city, day ROWS BETWEEN 1 PRECEDING AND 2 FOLLOWING),"
    " NTH_VALUE(city, 3) OVER (ORDER BY city, day) FROM t ORDER BY city, day",
    "SELECT city, day, SUM(n) OVER (PARTITION BY city ORDER BY day),"
    " AVG(a) OVER (ORDER BY city, day ROWS BETWEEN 2 PRECEDING AND CURRENT ROW),"
    " COUNT(m) OVER (ORDER BY q), MIN(n) OVER (ORDER BY q ROWS BETWEEN 3 PRECEDING AND 1 PRECEDING)"
    " IS NULL FROM t ORDER BY city, day",
    "SELECT city, day, MAX(n) OVER (ORDER BY city, day ROWS BETWEEN 4 PRECEDING AND 2 FOLLOWING),"
    " MIN(a) OVER (ORDER BY city, day ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW),"
    " MIN(day) OVER (PARTITION BY q) FROM t ORDER BY city, day",
    "SELECT city, day, SUM(m) FILTER (WHERE n > 9) OVER (PARTITION BY city) FROM t"
    " ORDER BY city, day",
    "SELECT city, SUM(n) AS s, RANK() OVER (ORDER BY SUM(n) DESC) AS r,"
    " SUM(n) / SUM(SUM(n)) OVER () AS part FROM t GROUP BY city ORDER BY r",
    "SELECT city, day, n FROM t QUALIFY ROW_NUMBER() OVER (PARTITION BY city ORDER BY n, day) <= 2"
    " ORDER BY city, n, day",
]  # fmt: skip


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Policy:
    """Three cities and seven days, with a few rows each."""
    path: Path = tmp_path_factory.mktemp("derived") / "t.csv"
    rows = (
        f"{('Ely', 'Rye', 'Wem')[i % 3]},1970-01-0{1 + i % 7},{(37 * i) % 1000}" for i in range(200)
    )
    path.write_text("city,day,pay\n" + "\n".join(rows) + "\n", encoding="utf-8")
    columns = (
        Column("city", Kind.TEXT, values=("Ely", "Rye", "Wem"), nullable=False),
        Column("day", Kind.DATE, Fraction(0), Fraction(6), nullable=False),
        Column("pay", Kind.INTEGER, Fraction(0), Fraction(1000), nullable=False),
    )
    return Policy((Table("t", path, columns),), Budget(Fraction(10), Fraction(0), 10))


def ask(session: Session, outer: str, inner: str = INNER) -> Answer:
    return session.execute(f"WITH t AS ({inner}) {outer}")


@pytest.fixture(scope="module")
def session(here: Policy) -> Session:
    return Session(here, noise=seeded(3))


@pytest.fixture(scope="module")
def duck(session: Session) -> duckdb.DuckDBPyConnection:
    """The noisy rows, as a table of DuckDB."""
    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE t ({TYPES})")
    connection.executemany(
        "INSERT INTO t VALUES (?, ?, ?, ?, ?, ?)", ask(session, "SELECT * FROM t").rows
    )
    return connection


def plain(cell: object) -> object:
    """A cell as both write it; doubles with nine digits."""
    match cell:
        case bool() | str() | None:
            return cell
        case int() | float():
            return float(f"{float(cell):.9g}")
    return str(cell)


@pytest.mark.parametrize("outer", OUTER)
def test_it_is_what_duckdb_makes_of_the_noisy_rows(
    outer: str, session: Session, duck: duckdb.DuckDBPyConnection
) -> None:
    answer = ask(session, outer)
    assert answer.repeat
    assert not answer.cost.queries
    assert all(
        isinstance(cell, int) or cell is None
        for kind, column in zip(answer.kinds, answer.cells, strict=True)
        for cell in column.cells
        if kind is Kind.INTEGER
    )
    expected = duck.execute(outer.replace("QUANTILE_CONT(a", "quantile_cont(a")).fetchall()
    assert [tuple(map(plain, row)) for row in answer.rows] == [
        tuple(map(plain, row)) for row in expected
    ]
