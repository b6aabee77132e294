"""Units are worked on in pieces, and whatever the pieces are, the results are the same."""

from __future__ import annotations

import random

import numpy as np
import pytest

from dpdb.engines import memory as engine
from dpdb.engines.memory import MemoryEngine
from dpdb.engines.relations import unit_rows
from dpdb.engines.relations.leaves import own_texts
from dpdb.engines.relations.unit_rows import UnitRows, unit_partitions
from dpdb.engines.units.keys import NONE
from dpdb.plan.planner import plan
from dpdb.policy.catalog import Policy
from dpdb.policy.reading.reader import read_policy
from dpdb.sql.selects.binder import bind
from dpdb.sql.text.tokens import read_tokens
from dpdb.vectors import evaluate
from dpdb.vectors.columns import Codes
from dpdb.vectors.keys import Matches
from dpdb.vectors.vector import plain_values
from tests.engines.conformance.test_found_keys import SHARE
from tests.support.exactly import planned, raw

POLICY = """\
[budget]
epsilon = 10_000
queries = 1_000
delta = 0.01
[privacy]
unit_name = "customer"
[tables.c]
unit = "id"
key = "id"
[tables.c.columns]
id = { type = "integer" }
name = { type = "text" }
born = { type = "integer", bounds = [1900, 2000] }
[tables.o]
unit = "cust"
key = "id"
rows_per_unit = 4
rows_held_per_unit = 9
[tables.o.columns]
id = { type = "integer" }
cust = { type = "integer" }
x = { type = "integer", bounds = [0, 99] }
z = { type = "number", bounds = [-1, 1], step = 0.25 }
note = { type = "text" }
good = { type = "integer" }
[tables.l]
unit = "o -> o.id"
rows_per_unit = 5
[tables.l.columns]
o = { type = "integer" }
y = { type = "integer", bounds = [0, 9] }
[tables.g]
public = true
key = "id"
[tables.g.columns]
id = { type = "integer" }
kind = { type = "text", values = ["a", "b"] }
size = { type = "integer", bounds = [0, 50] }
[tables.w]
public = true
key = "id"
[tables.w.columns]
id = { type = "integer" }
word = { type = "text" }
[tables.r.columns]
good = { type = "integer" }
w = { type = "integer", bounds = [0, 20] }
word = { type = "text" }
"""
PER_UNIT = "(SELECT cust, SUM(x) AS s, COUNT(*) AS n, MAX(z) AS m FROM o GROUP BY cust)"
WINDOW = "(SELECT cust, x, ROW_NUMBER() OVER (PARTITION BY cust ORDER BY x) AS k FROM o)"
BOTH = "(SELECT cust, x, note FROM o UNION ALL SELECT id, born, name FROM c)"
STATEMENTS = [
    "SELECT COUNT(*), SUM(o.x), AVG(z) FROM c JOIN o ON c.id = o.cust WHERE c.born > 1950",
    "SELECT MEDIAN(o.x), APPROX_QUANTILES(o.x, 4) FROM c JOIN o ON c.id = o.cust",
    "SELECT VARIANCE(o.x), MIN(o.x), MAX(o.x) FROM c LEFT JOIN o ON c.id = o.cust",
    "SELECT COUNT(DISTINCT o.note), COUNT(DISTINCT c.id) FROM c JOIN o ON c.id = o.cust",
    "SELECT SUM(DISTINCT o.x) FROM c JOIN o ON c.id = o.cust",
    "SELECT COUNT(*) FROM o a JOIN o b ON a.cust = b.cust AND a.x < b.x",
    "SELECT COUNT(*), SUM(l.y) FROM o FULL JOIN l ON o.id = l.o",
    "SELECT kind, COUNT(*), SUM(x) FROM o JOIN g ON o.good = g.id GROUP BY kind",
    "SELECT COUNT(*) FROM o JOIN g ON o.x > g.size AND UPPER(note) LIKE '%7%'",
    "SELECT kind, MEDIAN(x) FROM o LEFT JOIN g ON o.good = g.id GROUP BY kind",
    "SELECT COUNT(*) FROM c WHERE EXISTS (SELECT 1 FROM o WHERE o.cust = c.id AND o.x > 50)",
    "SELECT COUNT(*) FROM c WHERE born IN (SELECT x + 1900 FROM o WHERE o.cust = c.id)",
    f"SELECT AVG(s), SUM(n), MEDIAN(s), COUNT(m) FROM {PER_UNIT} AS t",
    f"SELECT MAX(s) FROM {PER_UNIT} AS t WHERE n > 3",
    f"SELECT COUNT(*), SUM(k), SUM(x) FROM {WINDOW} AS t WHERE k <= 3",
    f"SELECT COUNT(*), SUM(t.x), COUNT(DISTINCT t.note) FROM {BOTH} AS t WHERE note <> 'n3'",
    f"SELECT COUNT(*), AVG(t.k) FROM c JOIN {WINDOW} AS t ON c.id = t.cust",
    "SELECT SUM(w), MEDIAN(w), COUNT(*) FROM r JOIN g ON r.good = g.id",
    "SELECT COUNT(DISTINCT word), SUM(DISTINCT w) FROM r JOIN g ON r.good = g.id",
    "SELECT COUNT(*), SUM(v) FROM (SELECT w AS v, word FROM r UNION ALL SELECT 3, word FROM r) AS t",
]
FOUND = [
    "SELECT o.note, COUNT(*) FROM c JOIN o ON c.id = o.cust GROUP BY o.note",
    f"SELECT t.note, COUNT(*) FROM {BOTH} AS t GROUP BY t.note",
    "SELECT r.word, COUNT(*) FROM r JOIN g ON r.good = g.id GROUP BY r.word",
]


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Policy:
    """Customers with no order to more than are held, and rows of nobody."""
    folder, chance = tmp_path_factory.mktemp("pieces"), random.Random(4)
    people = [*range(1, 30), ""]
    orders = [
        f"{at},{chance.choice(people[: at % 30 + 1])},{chance.randrange(120)},"
        f"{chance.randrange(-5, 5) / 4},n{chance.randrange(9)},{chance.choice([1, 2, 3, ''])}"
        for at in range(200)
    ]
    lines = [f"{chance.randrange(220)},{chance.randrange(12)}" for _ in range(300)]
    rows = [
        f"{chance.randrange(5)},{chance.randrange(20)},w{chance.randrange(9)}" for _ in range(50)
    ]
    files = {
        "c": ["id,name,born", *(f"{i},n{i % 7},{1940 + i}" for i in range(1, 31)), ",n1,1950"],
        "o": ["id,cust,x,z,note,good", *chance.sample(orders, len(orders))],
        "l": ["o,y", *lines],
        "g": ["id,kind,size", "1,a,10", "2,b,20", "3,,30", "4,a,40"],
        "r": ["good,w,word", *rows],
        "w": ["id,word", *(f"{at},w{at}" for at in range(500))],
    }  # fmt: skip
    for name, told in files.items():
        (folder / f"{name}.csv").write_text("\n".join(told) + "\n")
    (folder / "shop.toml").write_text(POLICY)
    return read_policy(folder / "shop.toml")


def sizes(monkeypatch: pytest.MonkeyPatch, units: int) -> None:
    """So many units are in a piece."""
    monkeypatch.setattr(unit_rows, "units_in_a_piece", lambda _: units)


@pytest.mark.parametrize("text", STATEMENTS)
def test_results_are_the_same_whatever_the_pieces(
    shop: Policy, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    found = []
    for units in (10**9, 1, 7, 29):
        sizes(monkeypatch, units)
        found.append(raw(text, shop, MemoryEngine(tables=shop.tables)))
    assert found[0] == found[1] == found[2] == found[3]
    assert np.any([np.any(cell) for each in found[0] for cell in each]), "something was counted"


@pytest.mark.parametrize("text", FOUND)
def test_found_keys_are_the_same_whatever_the_pieces(
    shop: Policy, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    found = []
    for units in (10**9, 1, 7):
        sizes(monkeypatch, units)
        asked = plan(bind(read_tokens(text), text, shop), shop, SHARE, lambda _: 0)
        counts = MemoryEngine(tables=shop.tables).key_counts(asked, {})
        keys = [plain_values(vector, kind, counts.rows) for vector, kind in counts.columns]
        found.append((counts.units.tolist(), keys))
    assert found[0] == found[1] == found[2]
    assert len(found[0][0]) >= 9


@pytest.mark.parametrize("text", [STATEMENTS[0], STATEMENTS[2], STATEMENTS[5], STATEMENTS[14]])
def test_of_what_adds_up_no_rows_are_kept(
    shop: Policy, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    """Counts and sums of all units take the memory of one piece, and of the cells."""
    text = text.replace(", MIN(o.x), MAX(o.x)", "")
    expected = raw(text, shop, MemoryEngine(tables=shop.tables))
    sizes(monkeypatch, 3)
    monkeypatch.setattr(engine, "together", lambda _: pytest.fail("rows are put together"))
    assert raw(text, shop, MemoryEngine(tables=shop.tables)) == expected


def test_no_more_units_are_worked_on_at_once_than_a_piece_has(
    shop: Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In all tables, whether they are stored or made."""
    seen, rows_of = set[int](), UnitRows.rows_of

    def noted(self: UnitRows, table, *names):
        found = rows_of(self, table, *names)
        if not table.public:
            numbers = {*found.everyones.numbers.tolist()} - {NONE}
            assert len(numbers) <= 3
            seen.update(numbers)
        return found

    monkeypatch.setattr(UnitRows, "rows_of", noted)
    sizes(monkeypatch, 3)
    for text in STATEMENTS:
        seen.clear()
        raw(text, shop, MemoryEngine(tables=shop.tables))
        assert len(seen) > 20, text


PUBLIC = [
    "SELECT COUNT(*) FROM o WHERE EXISTS (SELECT 1 FROM w WHERE w.id = o.good AND w.word LIKE 'w%1')",
    "SELECT COUNT(*) FROM o WHERE good IN (SELECT w.id FROM w WHERE w.word LIKE 'w%1')",
    "SELECT COUNT(*) FROM o JOIN w ON o.good = w.id",
]
"""Of statements over a public table with many texts."""
MET = [
    "SELECT COUNT(*) FROM o JOIN w ON o.good = w.id WHERE UPPER(w.word) LIKE 'W%1'",
    "SELECT SUM(CASE w.word WHEN 'w1' THEN 1 ELSE 0 END) FROM o JOIN w ON o.good = w.id",
    "SELECT COUNT(*) FROM o JOIN w ON o.good = w.id AND w.word <> o.note",
    "SELECT COUNT(*) FROM (SELECT o.cust, UPPER(w.word) AS u FROM o JOIN w ON o.good = w.id) AS t"
    " WHERE u LIKE '%1'",
]


@pytest.mark.parametrize("text", PUBLIC)
def test_public_rows_are_gone_through_once_for_all_pieces(
    shop: Policy, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    """Otherwise a unit that makes one piece more would add the time of all public rows."""
    sorted_rows, of = [], Matches.of

    def noted(vectors, rows: int) -> Matches:
        sorted_rows.append(rows)
        return of(vectors, rows)

    monkeypatch.setattr(Matches, "of", noted)
    sizes(monkeypatch, 10**9)
    raw(text, shop, MemoryEngine(tables=shop.tables))
    once = [*sorted_rows]
    sorted_rows.clear()
    sizes(monkeypatch, 1)
    raw(text, shop, MemoryEngine(tables=shop.tables))
    assert once
    assert sorted_rows == once


@pytest.mark.parametrize("text", MET)
def test_of_public_texts_those_are_worked_on_that_rows_meet(
    shop: Policy, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    """Otherwise each piece would take the time of all public texts."""
    texts, on_dictionary = list[int](), evaluate._on_dictionary

    def noted(expression, column, held: Codes, frame):
        texts.append(len(held.values))
        return on_dictionary(expression, column, held, frame)

    monkeypatch.setattr(evaluate, "_on_dictionary", noted)
    sizes(monkeypatch, 5)
    raw(text, shop, MemoryEngine(tables=shop.tables))
    assert max(texts, default=0) <= 5 * 9


def test_one_unit_more_seldom_makes_one_piece_more(
    shop: Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The units before the first cut are a secret number: here by turns all that there can be."""
    sizes(monkeypatch, 10)
    monkeypatch.setattr(UnitRows, "units_of", lambda *_: units)
    plan = planned(STATEMENTS[0], shop)
    numbers = list[list[int]]()
    for units in (30, 31):
        numbers.append([])
        for before in range(10):
            monkeypatch.setattr("secrets.randbelow", lambda size, left=before: left % size)
            cut = unit_partitions(UnitRows(None, None, ""), plan)
            assert [number for piece in cut for number in piece] == [*range(units)]
            numbers[-1].append(len(cut))
    assert sum(one != other for one, other in zip(*numbers, strict=True)) == 1


def test_texts_of_some_rows_have_numbers_of_their_own() -> None:
    values = tuple(f"t{number}" for number in range(1_000))
    found = own_texts(Codes(np.array([7, 1_000, 3, 7, 999]), values))
    assert found.values == ("t3", "t7", "t999")
    assert found.codes.tolist() == [1, 3, 0, 1, 2]
    assert own_texts(Codes(np.array([], dtype=np.int32), values)).values == ()
