"""Keys that are found in the data, in answers that are read further, and in joined tables."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from dpdb.policy.reading.reader import read_policy
from dpdb.session.session import Session
from tests.system.test_found_keys import LARGER, still, table

CITIES = "SELECT city, COUNT(*) AS n FROM t GROUP BY city"


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return still(table(tmp_path, [*LARGER, ("Aix", 1)]))


def test_keys_that_are_shown_are_rows_of_a_derived_table(session: Session) -> None:
    answer = session.execute(f"SELECT COUNT(*), MAX(n), SUM(n) FROM ({CITIES}) AS a")
    assert answer.rows == ((3, 400, 1050),)
    assert "shown are groups of about 15 or more rows, and all with 29 or more" in answer.notes
    ranked = session.execute(f"SELECT city FROM ({CITIES}) AS a ORDER BY n DESC LIMIT 1")
    assert (ranked.rows, ranked.repeat) == ((("Ulm",),), True)
    assert session.balance.epsilon_left == 9


def test_no_key_may_be_shown_in_a_derived_table(session: Session) -> None:
    none = CITIES.replace(" GROUP", " WHERE who = 'w390' GROUP")
    answer = session.execute(
        f"SELECT COUNT(*), MAX(n) FROM ({none}) AS a UNION ALL SELECT n, n FROM ({none}) AS b"
    )
    assert answer.rows == ((0, None),)


def test_levels_of_a_rollup_share_epsilon_and_delta(session: Session) -> None:
    answer = session.execute("SELECT city, g, COUNT(*) FROM t GROUP BY ROLLUP(city, g)")
    assert [row[2] for row in answer.rows] == [
        175, 175, 200, 200, 150, 150, 350, 400, 300, 1051]  # fmt: skip
    assert (answer.cost.epsilon, answer.cost.delta) == (1, Fraction(1, 10**6))


def test_a_subquery_over_found_keys_is_a_constant(session: Session) -> None:
    query = f"SELECT COUNT(*) FROM t WHERE x < (SELECT MAX(n) FROM ({CITIES}) AS a)"
    assert session.execute(query).rows == ((1051,),)


def test_units_are_counted_over_joined_tables(tmp_path: Path) -> None:
    """Each customer has two orders, in two tags of her own place: 90 in Ulm, 60 in Bonn."""
    (tmp_path / "people.csv").write_text(
        "id,city\n" + "".join(f"{i},{'Ulm' if i < 90 else 'Bonn'}\n" for i in range(150)),
        encoding="utf-8",
    )
    (tmp_path / "orders.csv").write_text(
        "id,who,tag\n" + "".join(f"{n},{n // 2},t{n % 2}\n" for n in range(300)), encoding="utf-8"
    )
    (tmp_path / "shop.toml").write_text(
        '[budget]\nepsilon = 100\ndelta = 1e-5\n[privacy]\nunit_name = "customer"\n'
        '[tables.people]\nunit = "id"\nkey = "id"\n[tables.people.columns]\n'
        'id = { type = "integer" }\ncity = { type = "text" }\n'
        '[tables.orders]\nunit = "who"\nkey = "id"\nrows_per_unit = 2\n[tables.orders.columns]\n'
        'id = { type = "integer" }\nwho = { type = "integer" }\ntag = { type = "text" }\n',
        encoding="utf-8",
    )
    session = still(read_policy(tmp_path / "shop.toml"))
    joined = "FROM people JOIN orders ON people.id = orders.who"
    answer = session.execute(f"SELECT city, COUNT(DISTINCT who), COUNT(*) {joined} GROUP BY city")
    assert answer.rows == (("Bonn", 60, 120), ("Ulm", 90, 180))
    assert answer.releases[0].sensitivity == 1
    both = session.execute(f"SELECT city, tag, COUNT(DISTINCT who) {joined} GROUP BY city, tag")
    assert [row[2] for row in both.rows] == [60, 60, 90, 90]
    assert both.releases[0].sensitivity == 2
    outer = "FROM people LEFT JOIN orders ON people.id = orders.who AND orders.id < 40"
    some = session.execute(
        f"SELECT city, COUNT(DISTINCT who), COUNT(DISTINCT people.id) {outer} GROUP BY city"
    )
    assert some.rows == (("Bonn", 0, 60), ("Ulm", 20, 90))
