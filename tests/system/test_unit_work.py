"""Work that one unit can cause: too much is refused from the statement alone, before it is paid."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from dpdb.answers.formats.explain_tree import explain_screen
from dpdb.answers.formats.json_lines import as_json
from dpdb.errors import TooLarge, error_text
from dpdb.policy.reading.reader import read_policy
from dpdb.session.session import Session

SHOP = Path(__file__).parents[2] / "sample_data" / "shop"
NAME = "Emily Duncan"
LEVEL = (
    "u{next} AS (SELECT u{this}.id, ROW_NUMBER() OVER (PARTITION BY u{this}.id ORDER BY p.id) AS k"
    " FROM u{this} CROSS JOIN products p)"
)


def windows(levels: int, condition: str = "") -> str:
    """Windows over a cross join, within one another: each multiplies a customer's rows by 39."""
    named = ", ".join(LEVEL.format(this=level, next=level + 1) for level in range(levels))
    first = f"u0 AS (SELECT id FROM customers WHERE name = '{NAME}'{condition})"
    return f"WITH {first}, {named} SELECT COUNT(*) FROM u{levels} WHERE k = 1"


PAIRS = (
    "SELECT AVG(n) FROM (SELECT a.customer_id, COUNT(*) AS n FROM orders a JOIN orders b"
    " ON a.customer_id = b.customer_id CROSS JOIN products GROUP BY a.customer_id) t"
)
TWICE = "SELECT l.order_id AS k FROM lines l JOIN products p ON p.id > 0"
UNITED = (
    f"SELECT COUNT(*) FROM ({TWICE} UNION ALL {TWICE} UNION ALL {TWICE}) t"
    " JOIN orders o ON o.id = t.k"
)
LOOKED_UP = (
    "SELECT COUNT(*) FROM customers c WHERE EXISTS (SELECT 1 FROM orders o, products p, products q"
    " WHERE o.customer_id = c.id AND p.id < q.id)"
)
REFUSED = [
    (windows(3), "can have 59319 rows|can take"),
    (windows(5), "can have 2313441 rows in JOIN products"),
    (windows(5, " AND born < DATE '1970-01-01'"), "can have 2313441 rows in JOIN products"),
    (PAIRS, "can have 580476 rows in JOIN products"),
    (UNITED, "can have 117000 rows in UNION ALL|can take"),
    (LOOKED_UP, "can have 1521000 rows in JOIN products#2"),
    (f"SELECT COUNT(*) FROM customers WHERE name LIKE '%{'_' * 450}1%'", "can take 11"),
    (f"SELECT MODE(segment, IF(name LIKE '%{'_' * 450}1%', 1, 0)) FROM customers", "can take"),
]


@pytest.fixture(scope="module")
def neighbours(tmp_path_factory: pytest.TempPathFactory) -> list[Session]:
    """The shop, and the shop without the customer."""
    without = tmp_path_factory.mktemp("without") / "shop"
    shutil.copytree(SHOP, without)
    customers = without / "customers.csv"
    lines = customers.read_text(encoding="utf-8").splitlines(keepends=True)
    kept = [line for line in lines if NAME not in line]
    assert len(kept) < len(lines)
    customers.write_text("".join(kept), encoding="utf-8")
    return [Session(read_policy(folder / "shop.toml")) for folder in (SHOP, without)]


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_refused_before_it_is_paid_whoever_is_there(
    text: str, message: str, neighbours: list[Session]
) -> None:
    told = []
    for session in neighbours:
        before = session.balance
        for asked in (text, f"EXPLAIN {text}"):
            with pytest.raises(TooLarge, match=message) as refused:
                session.execute(asked)
            assert refused.value.place is not None
            assert refused.value.hint is not None
        told.append(error_text(asked, refused.value))
        assert session.balance == before
    assert told[0] == told[1]


def test_explain_says_how_much_one_unit_can_add(neighbours: list[Session]) -> None:
    session = neighbours[0]
    answer = session.execute(f"EXPLAIN {windows(2)}")
    note = "the rows of one customer can take 2.2 ms, 1 of them in the window OVER rows of a unit"
    assert note in answer.notes
    assert note in explain_screen(answer, ())
    told = json.loads(as_json(answer))["work"]
    assert told["rows"] == 39 * 39
    assert told["dearest"] == "the window OVER rows of a unit"
    assert answer.plan is not None
    assert told["seconds"] == answer.plan.work.seconds


def test_explain_says_nothing_of_little_work(neighbours: list[Session]) -> None:
    answer = neighbours[0].execute("EXPLAIN SELECT COUNT(*) FROM customers")
    assert "can take" not in explain_screen(answer, ())
    assert "work" not in json.loads(as_json(answer))
