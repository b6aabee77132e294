"""The page on TPC-H: what it says of each of the 22 queries is what happens to it."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

import duckdb
import pytest

from dpdb import manual
from dpdb.answers.record import Cell
from dpdb.errors import DpdbError
from dpdb.policy.catalog import Kind, Policy
from dpdb.session.session import Session
from tests.support import tpch
from tests.support.noiseless import Noiseless

PAGE = manual.page("tpch")
QUERIES = tpch.queries()


@dataclass(frozen=True)
class Entry:
    """What the page says of a query: its answer, and the message where it is refused."""

    answer: str
    message: str


def table() -> dict[int, Entry]:
    rows = re.findall(r"^\| (\d+) \| [^|]+ \| ([a-z ]+) \| (?:`([^`]*)`)?", PAGE, flags=re.M)
    return {int(number): Entry(answer, message) for number, answer, message in rows}


TABLE = table()
CHANGED = {
    int(number): text
    for number, text in re.findall(r"^```sql\n-- (\d+)\n(.*?);\n```", PAGE, flags=re.M | re.S)
}


def of(*answers: str) -> list[int]:
    return [number for number, entry in TABLE.items() if entry.answer in answers]


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Policy:
    return tpch.benchmark(tmp_path_factory.mktemp("tpch"))


@pytest.fixture(scope="module")
def session(policy: Policy) -> Session:
    """Without noise, so that answers can be compared with those of DuckDB."""
    return Session(policy, noise=Noiseless())


@pytest.fixture(scope="module")
def duck(policy: Policy) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    types = {Kind.INTEGER: "BIGINT", Kind.NUMBER: "DECIMAL(15, 2)", Kind.DATE: "DATE"}
    for each in policy.tables:
        columns = {column.name: types.get(column.kind, "VARCHAR") for column in each.columns}
        read = f"read_csv('{each.path}', header = true, columns = {columns})"
        connection.execute(f"CREATE TABLE {each.name} AS SELECT * FROM {read}")
    return connection


def test_the_page_has_every_query_once_and_counts_them() -> None:
    assert list(TABLE) == list(QUERIES) == list(range(1, 23))
    assert len(re.findall(r"^\| \d+ \|", PAGE, flags=re.M)) == 22
    counts = Counter(entry.answer for entry in TABLE.values())
    said = re.search(
        r"(\d+) are answered as they are and (\d+) exactly .* (\d+) are answered after a change,"
        r" .*, and (\d+) is refused",
        PAGE,
    )
    assert said is not None
    kinds = ("as it is", "exact", "changed", "refused")
    assert tuple(map(int, said.groups())) == tuple(counts[kind] for kind in kinds)
    assert list(CHANGED) == sorted(of("changed"), key=list(CHANGED).index)
    assert all(bool(TABLE[number].message) for number in of("changed", "refused"))


def test_the_policy_of_the_page_is_the_one_that_is_used() -> None:
    (shown,) = re.findall(r"```toml\n(.*?)```", PAGE, flags=re.S)
    whole = (tpch.HERE / "tpch.toml").read_text(encoding="utf-8")
    used = re.sub(r"\[tables\.\w+\.columns\]\n(?:.+\n)+\n", "", whole)
    assert shown.strip() in used


@pytest.mark.parametrize("number", of("as it is"))
def test_answered_as_it_is(number: int, session: Session, duck: duckdb.DuckDBPyConnection) -> None:
    """The rows are DuckDB's, but for groups without rows, which are answered, too."""
    answer = session.execute(QUERIES[number])
    assert answer.cost.epsilon == 1
    assert answer.releases
    rows = list(map(comparable, answer.rows))
    text = QUERIES[number].replace("day (3)", "day")  # standard SQL that DuckDB does not know
    expected = [comparable(row) for row in duck.execute(text).fetchall()]
    assert expected
    assert [row for row in rows if row in expected] == expected
    assert not any(row[-1] for row in rows if row not in expected)


@pytest.mark.parametrize("number", of("exact"))
def test_exact_and_free(number: int, session: Session, duck: duckdb.DuckDBPyConnection) -> None:
    answer = session.execute(QUERIES[number])
    assert answer.notes == ("public data, exact",)
    assert answer.cost.epsilon == answer.cost.queries == 0
    expected = duck.execute(QUERIES[number]).fetchall()
    assert expected
    assert list(map(comparable, answer.rows)) == list(map(comparable, expected))


@pytest.mark.parametrize("number", of("changed", "refused"))
def test_refused_as_it_is(number: int, session: Session) -> None:
    before = session.balance
    with pytest.raises(DpdbError) as caught:
        session.execute(QUERIES[number])
    assert caught.value.message == TABLE[number].message
    assert caught.value.hint
    assert session.balance == before


@pytest.mark.parametrize("number", CHANGED)
def test_answered_after_a_change(
    number: int, session: Session, duck: duckdb.DuckDBPyConnection
) -> None:
    answer = session.execute(CHANGED[number])
    assert answer.cost.epsilon == 1
    rows = list(map(comparable, answer.rows))
    expected = list(map(comparable, duck.execute(CHANGED[number]).fetchall()))
    assert any(row[-1] for row in expected)
    assert [row for row in rows if row in expected] == expected


def test_the_noise_is_as_large_as_the_page_says(session: Session) -> None:
    said = re.search(r"scale ([\d,]+) in a count of lines, and ([\d,]+) in a sum", PAGE)
    assert said is not None
    for text, scale in zip(
        ("SELECT COUNT(*) FROM lineitem", QUERIES[5]), said.groups(), strict=True
    ):
        (drawn,) = session.execute(f"EXPLAIN {text}").releases
        assert drawn.scale == int(scale.replace(",", ""))


def comparable(row: tuple[object, ...]) -> tuple[Cell, ...]:
    """Numbers to six digits."""
    return tuple(map(_comparable, row))


def _comparable(cell: object) -> Cell:
    if cell is None or isinstance(cell, bool):
        return cell
    try:
        return float(f"{float(str(cell)):.6g}")
    except ValueError:
        return str(cell).removesuffix(" 00:00:00")
