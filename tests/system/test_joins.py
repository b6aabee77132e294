"""Joined tables from end to end: what EXPLAIN says, what is remembered, what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpdb.answers.formats.explain_tree import explain_screen
from dpdb.errors import DpdbError
from dpdb.policy.reading.reader import read_policy
from dpdb.session.session import Session
from tests.support.noiseless import Noiseless
from tests.support.relation_cases import ANSWERED, Answered
from tests.support.units import DENSE, policy_text

PAID = "SELECT SUM(amt), COUNT(*) FROM c JOIN o ON c.id = o.cust WHERE seg = 'A'"
WRITTEN_OTHERWISE = [
    "SELECT SUM(amt), COUNT(*) FROM o, c WHERE seg = 'A' AND o.cust = c.id",
    "SELECT SUM(y.amt), COUNT(*) FROM o AS y INNER JOIN c AS x ON x.seg = 'A' AND x.id = y.cust",
    "WITH x AS (SELECT id AS k FROM c WHERE seg = 'A')"
    " SELECT SUM(amt), COUNT(*) FROM x JOIN o ON k = cust",
]


@pytest.fixture
def session(tmp_path: Path) -> Session:
    DENSE.write(tmp_path)
    (tmp_path / "units.toml").write_text(policy_text())
    return Session(read_policy(tmp_path / "units.toml"), noise=Noiseless())


def test_explain_shows_the_tree_and_the_cap(session: Session) -> None:
    asked = "SELECT SUM(a.qty) FROM l a JOIN o ON a.oid = o.id LEFT JOIN l d ON d.oid = a.oid, r"
    lines = explain_screen(session.execute(f"EXPLAIN {asked} WHERE r.id = a.qty"), ()).splitlines()
    assert lines[lines.index("JOIN on l.qty = r.id") :][:9] == [
        "JOIN on l.qty = r.id",
        "├─ LEFT JOIN on l.oid = l#2.oid, rows of one customer",
        "│  ├─ JOIN on l.oid = o.id, rows of one customer",
        "│  │  ├─ l",
        "│  │  └─ o",
        "│  └─ l#2",
        "└─ r, public",
        "rows per customer: 3 × 3 = 9",
        "of each customer at most 15 rows of l#2 that are equal in what is joined meet another,"
        " as no unique key limits the pairs",
    ]


def test_explain_says_what_is_looked_up(session: Session) -> None:
    asked = "SELECT COUNT(*) FROM o WHERE EXISTS (SELECT 1 FROM l WHERE oid = id AND qty > 1)"
    lines = explain_screen(session.execute(f"EXPLAIN {asked}"), ()).splitlines()
    first = "EXISTS on id = l.oid and a condition on l.qty, rows of one customer"
    assert lines[lines.index(first) :][:4] == [first, "├─ o", "└─ l", "rows per customer: 2"]


@pytest.mark.parametrize("other", WRITTEN_OTHERWISE)
def test_the_same_join_in_other_words_is_free(session: Session, other: str) -> None:
    paid = session.execute(PAID)
    again = session.execute(other)
    assert paid.rows == again.rows == ((6, 2),)
    assert again.repeat
    assert again.cost.epsilon == 0


def test_fewer_rows_can_be_asked_for(session: Session) -> None:
    clause = "WITH DIFFERENTIAL_PRIVACY OPTIONS(max_rows_contributed = {})"
    asked = "SELECT {} COUNT(*) FROM o a JOIN o d ON a.cust = d.cust"
    assert session.execute(asked.format(clause.format(3))).rows == ((4,),)
    with pytest.raises(DpdbError, match="max_rows_contributed is 4 at most for these tables"):
        session.execute(asked.format(clause.format(5)))


def test_columns_with_one_name_are_told_apart(session: Session) -> None:
    with pytest.raises(DpdbError, match="id may be one of several columns of that name"):
        session.execute("SELECT COUNT(*) FROM c JOIN o ON c.id = o.cust WHERE id = 1")


def test_units_are_counted_once(session: Session) -> None:
    asked = "SELECT COUNT(DISTINCT o.cust) FROM o JOIN l ON l.oid = o.id"
    [report] = session.execute(f"EXPLAIN {asked}").releases
    assert report.sensitivity == 1
    assert session.execute(asked).rows == ((2,),)


def test_groups_of_units_are_aggregated_again(session: Session) -> None:
    asked = "SELECT AVG(t), COUNT(*) FROM (SELECT {} FROM o WHERE amt > 0 GROUP BY cust)"
    answer = session.execute(asked.format("SUM(amt) AS t"))
    assert answer.rows == ((4.5, 2),)
    assert session.execute(asked.format("cust,   SUM(amt)   AS t")).repeat
    explained = explain_screen(session.execute(f"EXPLAIN {asked.format('MAX(amt) AS t')}"), ())
    assert "bounds 1 to 3, which follow from the cap and the bounds of a row" in explained


def test_groups_of_units_are_not_shown(session: Session) -> None:
    with pytest.raises(DpdbError, match="cust names a customer: each group would be one"):
        session.execute("SELECT cust, COUNT(*) FROM o GROUP BY cust")
    with pytest.raises(DpdbError, match="id names a row of a customer"):
        session.execute("SELECT COUNT(*) FROM o GROUP BY id")


def test_explain_says_what_is_grouped(session: Session) -> None:
    grouped = "(SELECT cust, MAX(amt) AS m FROM o GROUP BY cust)"
    asked = f"EXPLAIN SELECT COUNT(*) FROM c JOIN {grouped} x ON x.cust = c.id"
    lines = explain_screen(session.execute(asked), ()).splitlines()
    first = "JOIN on c.id = per_unit.cust, rows of one customer"
    assert lines[lines.index(first) :][:5] == [
        first,
        "├─ c",
        "└─ per_unit of GROUP BY cust, each of one customer",
        "   └─ o",
        "rows per customer: 1",
    ]


BESIDE_REGIONS = "SELECT r.id, {} FROM r LEFT JOIN c ON c.reg = r.id {} GROUP BY r.id"


def test_regions_without_customers_are_shown(session: Session) -> None:
    counted = session.execute(BESIDE_REGIONS.format("COUNT(c.id)", ""))
    assert counted.rows == ((1, 2), (2, 0))
    nobody = session.execute(BESIDE_REGIONS.format("COUNT(c.id)", "WHERE c.id IS NULL"))
    assert nobody.rows == ((1, 0), (2, 0))


@pytest.mark.parametrize(
    "asked",
    [
        BESIDE_REGIONS.format("COUNT(*)", ""),
        BESIDE_REGIONS.format("SUM(CASE WHEN c.id IS NULL THEN 1 ELSE 0 END)", ""),
        "SELECT seg, COUNT(c.id) FROM r LEFT JOIN c ON c.reg = r.id GROUP BY seg",
        "SELECT COUNT(k) FROM (SELECT c.id AS k FROM r LEFT JOIN c ON c.reg = r.id)",
    ],
)
def test_regions_without_customers_are_not_counted(session: Session, asked: str) -> None:
    with pytest.raises(DpdbError, match="a row of r without a match would tell"):
        session.execute(asked)


def test_public_tables_are_joined_exactly(session: Session) -> None:
    asked = "SELECT COUNT(*), MAX(day) FROM r JOIN rd ON r.id = rd.id"
    answer = session.execute(asked)
    assert answer.rows == ((3, 3),)
    assert answer.cost.epsilon == answer.cost.queries == 0
    lines = explain_screen(session.execute(f"EXPLAIN {asked}"), ()).splitlines()
    assert lines[4:7] == ["JOIN on r.id = rd.id", "├─ r, public", "└─ rd, public"]
    assert not any(line.startswith("rows per") for line in lines)
    everything = "SELECT COUNT(*), COUNT(r.id), COUNT(rd.id) FROM r FULL JOIN rd ON r.id = rd.day"
    assert session.execute(everything).rows == ((3, 2, 3),)


@pytest.mark.parametrize(
    "joined",
    ["r FULL JOIN rd ON r.id = rd.id JOIN c ON c.reg = r.id", "c FULL JOIN r ON c.reg = r.id"],
)
def test_public_rows_beside_no_customer_are_not_told(session: Session, joined: str) -> None:
    with pytest.raises(DpdbError, match="a row of r without a match would tell"):
        session.execute(f"SELECT COUNT(*) FROM {joined}")


@pytest.mark.parametrize("case", ANSWERED[::4], ids=lambda case: case.sql)
def test_what_is_said_does_not_depend_on_a_customer(tmp_path: Path, case: Answered) -> None:
    said = set()
    for units in (DENSE.units, DENSE.units[1:], []):
        DENSE.of(units).write(tmp_path)
        (tmp_path / "units.toml").write_text(policy_text())
        opened = Session(read_policy(tmp_path / "units.toml"), noise=Noiseless())
        explained = explain_screen(opened.execute(f"EXPLAIN {case.sql}"), ())
        answer = opened.execute(case.sql)
        types = tuple(type(cell) for row in answer.rows for cell in row)
        said.add((explained, answer.columns, answer.notes, answer.releases, answer.cost, types))
    assert len(said) == 1
