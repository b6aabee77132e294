"""MODE(x, weight): of the declared values the one whose rows have the largest sum of weights."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

import dpdb
from dpdb.errors import MissingBounds, Unsupported

POLICY = """
[budget]
epsilon = 10_000
delta = 1e-6
queries = 1000
[privacy]
unit_name = "person"
[tables.people]
path = "people.csv"
unit = "id"
key = "id"
[tables.people.columns]
id = { type = "integer" }
town = { type = "text", values = ["Ely", "Rye", "Wem"] }
[tables.visits]
path = "visits.csv"
unit = "person -> people.id"
rows_per_unit = 3
[tables.visits.columns]
person = { type = "integer" }
shop = { type = "text", values = ["a", "b", "c"] }
paid = { type = "number", bounds = [0, 100], step = 0.01 }
change = { type = "integer", bounds = [-5, 10] }
tip = { type = "number" }
open = { type = "boolean" }
"""
PEOPLE = "".join(f"{i},{('Ely', 'Rye', 'Wem')[i % 3]}\n" for i in range(90))
# Shop a has the most rows, b the largest sum of what is paid, c that of what changes.
VISITS = "".join(
    f"{i},{row}\n"
    for i in range(90)
    for row in ("a,1,-5,1e9,true", "a,1.5,-5,,false", ("b,90,1,3,true", "c,5,10,9,false")[i % 2])
)
OPTIONS = "WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 1000)"


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    (tmp_path / "people.csv").write_text(f"id,town\n{PEOPLE}", encoding="utf-8")
    lost = "7,,100,10,1,true\n8,z,100,10,1,true\n,c,100,10,1,true\n"
    text = f"person,shop,paid,change,tip,open\n{VISITS}{lost}"
    (tmp_path / "visits.csv").write_text(text, encoding="utf-8")
    path = tmp_path / "p.toml"
    path.write_text(POLICY, encoding="utf-8")
    return path


@pytest.fixture
def db(policy: Path) -> dpdb.Session:
    return dpdb.connect(policy)


CHOSEN = {
    "MODE(shop) FROM visits": ("a",),
    "MODE(shop, paid) FROM visits": ("b",),
    "MODE(shop, change) FROM visits": ("c",),
    "MODE(shop, -change) FROM visits": ("a",),
    "MODE(shop, 1) FROM visits": ("a",),
    "MODE(shop, CLAMP(tip, 0, 10)) FROM visits": ("a",),
    "MODE(shop, paid) FILTER (WHERE NOT open) FROM visits": ("c",),
    "MODE(open, paid), MODE(open, change), MODE(shop) FROM visits": (True, False, "a"),
    "MODE(shop, tip) FROM visits WHERE tip BETWEEN 2 AND 10": ("c",),
    "MODE(town, paid) FROM visits JOIN people ON person = id WHERE id % 3 = 2 OR paid < 5": (
        "Wem",
    ),
    "MODE(s, p) FROM (SELECT shop AS s, paid * 2 - 7 AS p FROM visits WHERE paid > 1) AS t": ("b",),
    "MODE(town, n) FROM (SELECT town, id, COUNT(*) AS n FROM people JOIN visits ON person = id "
    "WHERE town <> 'Ely' OR paid < 2 GROUP BY town, id) AS t WHERE town <> 'Rye'": ("Wem",),
}


@pytest.mark.parametrize("text", CHOSEN)
def test_the_value_of_most_weight_is_chosen(db: dpdb.Session, text: str) -> None:
    """At ε = 1000 another has less chance than 10^-6."""
    assert db.execute(f"SELECT {OPTIONS} {text}").rows == (CHOSEN[text],)


def test_groups_choose_each_for_themselves(db: dpdb.Session) -> None:
    text = f"SELECT {OPTIONS} open, MODE(shop, paid), MODE(shop, change) FROM visits GROUP BY open"
    assert set(db.execute(text).rows) == {(True, "b", "b"), (False, "c", "c")}


def test_rows_of_an_answer_have_weights_too(db: dpdb.Session) -> None:
    inner = "SELECT shop, open, COUNT(*) AS n, SUM(paid) AS s FROM visits GROUP BY shop, open"
    outer = "MODE(shop, n), MODE(shop, s), MODE(shop, NULLIF(n, n)), MODE(shop, s) FILTER (WHERE NOT open)"
    [row] = db.execute(f"SELECT {OPTIONS} {outer} FROM ({inner}) AS t").rows
    assert row == ("a", "b", None, "c")


def test_what_it_tells(db: dpdb.Session) -> None:
    """The score of a unit of 3 rows moves by 3·100, and all of ε serves."""
    answer = db.execute("EXPLAIN SELECT MODE(shop, paid), MODE(shop, change) FROM visits")
    found = [(each.aggregate, each.sensitivity, each.scale) for each in answer.releases]
    epsilon = answer.releases[0].epsilon
    assert found == [("weighted_mode", 300, 300 / epsilon), ("weighted_mode", 30, 30 / epsilon)]
    assert any("is chosen by weight" in note for note in answer.notes)
    assert "paid: values are clamped to 0 … 100" in answer.bounding


def test_who_is_replaced_can_leave_one_value_for_another(policy: Path) -> None:
    """Of one sign: 2Δ/ε. Of both, scores move by 15 and against each other by 2·10: said is 20."""
    policy.write_text(
        POLICY.replace('unit_name = "person"\n', 'unit_name = "person"\nneighbors = "replace"\n')
    )
    answer = dpdb.connect(policy).execute(
        "EXPLAIN SELECT MODE(shop, paid), MODE(shop, change) FROM visits"
    )
    found = [
        (each.sensitivity, each.scale and each.scale * each.epsilon) for each in answer.releases
    ]
    assert found == [(300, 600), (60, 60)]


def test_another_weight_is_another_question(db: dpdb.Session) -> None:
    asked = ["paid", "paid * 2", "change", "CLAMP(paid, 0, 99)", "CLAMP(paid, 0, 98)"]
    for weight in asked:
        answer = db.execute(f"SELECT MODE(shop, {weight}) FROM visits")
        assert (answer.repeat, answer.cost.queries) == (False, 1)
    for weight in asked:
        answer = db.execute(f"SELECT mode(shop, {weight}) AS m FROM visits")
        assert (answer.repeat, answer.cost.epsilon) == (True, 0)
    assert not db.execute("SELECT MODE(shop) FROM visits").repeat


@pytest.mark.parametrize("composition", ["pure", "zcdp"])
def test_it_costs_what_a_mode_costs(policy: Path, composition: str) -> None:
    """Under zCDP, too: the conversion of a selection does not ask what its scores are."""
    budget = f'[budget]\ncomposition = "{composition}"'
    policy.write_text(POLICY.replace("[budget]", budget), encoding="utf-8")
    spent = []
    for aggregate in ("MODE(shop)", "MODE(shop, paid)"):
        answer = dpdb.connect(policy).execute(f"SELECT {aggregate} FROM visits")
        spent.append((answer.cost.epsilon, answer.releases[0].epsilon))
    assert spent[0] == spent[1] != (0, 0)


def test_what_is_refused(policy: Path, db: dpdb.Session) -> None:
    with pytest.raises(MissingBounds, match="tip has no bounds"):
        db.execute("SELECT MODE(shop, tip) FROM visits")
    lesson = dpdb.connect(policy, teach=True)
    lesson.execute("SET dp = off")
    with pytest.raises(Unsupported, match="not answered exactly"):
        lesson.execute("SELECT MODE(shop, paid) FROM visits")
    assert db.balance.epsilon_left == Fraction(10_000)
