"""A ledger of the version that knew made tables by a text without the names of their columns.

`older_ledger.sql` was written by that version, for the policy and the rows below, by these sessions,
each at the ε that is named:

    alice 1    SELECT COUNT(*) FROM t WHERE a > 310
    alice 1    SELECT COUNT(*) FROM t JOIN o ON t.p = o.p
    alice 1    SELECT COUNT(*) FROM t WHERE EXISTS (…) AND a > (SELECT AVG(a) FROM t)
    alice 3    SELECT SUM(x) FROM (SELECT p, SUM(a) AS x, SUM(b) AS y …)    paid 3
    alice 3.1  SELECT SUM(x) FROM (SELECT p, SUM(a) AS y, SUM(b) AS x …)    paid 0.1
    bob   2    the first of the two                                          paid 0, and 2 of his own
    bob   4    the second of the two                                         paid 0.9, and 2 of his own
    bob   1    SELECT COUNT(*) FROM o JOIN (SELECT p, SUM(b) AS n …)        paid 1
    bob   1.5  the same                                                      paid 0.5
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from dpdb.errors import LedgerError
from dpdb.ledger.book.corrections import open_book
from dpdb.ledger.book.database import Anchor
from dpdb.ledger.book.entries import Charge
from dpdb.ledger.book.file_book import FileBook
from dpdb.policy.reading.reader import read_policy
from dpdb.session import budget_overview
from dpdb.session.session import Session
from tests.support.lasting import book_of, folder_in_memory, verify

POLICY = """[budget]
name = "labels"
epsilon = 100
queries = 200
[budget.analysts]
alice = { epsilon = 60 }
bob = { epsilon = 60 }
[privacy]
unit_name = "person"
[tables.t]
path = "t.csv"
unit = "p"
rows_per_unit = 4
[tables.t.columns]
p = { type = "integer" }
a = { type = "integer", bounds = [0, 900] }
b = { type = "integer", bounds = [0, 900] }
[tables.o]
path = "o.csv"
unit = "p"
key = "p"
[tables.o.columns]
p = { type = "integer" }
"""
DUMP = Path(__file__).with_name("older_ledger.sql")
STORED = [
    ("SELECT COUNT(*) FROM t WHERE a > 310", Fraction(1, 2)),
    ("SELECT COUNT(*) FROM t JOIN o ON t.p = o.p", Fraction(1, 2)),
    ("SELECT COUNT(*) FROM t WHERE EXISTS (SELECT 1 FROM o WHERE o.p = t.p) AND a > (SELECT AVG(a) FROM t)", Fraction(3, 2)),
]  # fmt: skip
MADE = [
    "SELECT SUM(x) FROM (SELECT p, SUM(a) AS x, SUM(b) AS y FROM t GROUP BY p) s",
    "SELECT SUM(x) FROM (SELECT p, SUM(a) AS y, SUM(b) AS x FROM t GROUP BY p) s",
    "SELECT COUNT(*) FROM o JOIN (SELECT p, SUM(b) AS n FROM t GROUP BY p) s ON s.p = o.p WHERE n > 2",
]
PAID, CORRECTED = Fraction(17, 2), {"alice": (3, 3), "bob": (Fraction(61, 10), 3)}
"""What was paid before; and by whom what is paid when it is opened, of the whole and of one's own.

Of the whole: alice's second level 3 more; bob's 2, 3.1 and 1. Of bob's own 2 and 1.
"""


@pytest.fixture
def older() -> Iterator[Path]:
    """The policy, with the ledger beside it."""
    with folder_in_memory() as folder:
        rows = [(p, 300 + p * p + 7 * n, (p + n) % 4) for p in range(8) for n in range(1 + p % 3)]
        (folder / "t.csv").write_text("p,a,b\n" + "".join(f"{p},{a},{b}\n" for p, a, b in rows))
        (folder / "o.csv").write_text("p\n" + "".join(f"{p}\n" for p in range(0, 8, 2)))
        (folder / "t.toml").write_text(POLICY)
        with closing(sqlite3.connect(folder / "t.ledger")) as ledger:
            ledger.executescript(DUMP.read_text())
        (folder / "t.ledger").chmod(0o600)
        yield folder / "t.toml"


def session(path: Path, analyst: str) -> Session:
    opened = Session(read_policy(path), analyst=analyst)
    opened.execute("SET epsilon = 1")
    return opened


@pytest.mark.parametrize(("text", "further"), STORED)
def test_what_was_released_of_stored_tables_is_found(
    older: Path, text: str, further: Fraction
) -> None:
    """By whoever was told it, and refined for the difference where it was a level of a series."""
    again = session(older, "alice").execute(text)
    assert (again.repeat, again.cost.epsilon) == (True, 0)
    finer = session(older, "bob")
    before = verify(book_of(older))[-1].entry.totals.loss.epsilon
    finer.execute("SET epsilon = 1.5")
    finer.execute(text)
    assert verify(book_of(older))[-1].entry.totals.loss.epsilon - before == further


@pytest.mark.parametrize("text", MADE)
def test_what_was_released_of_made_tables_is_neither_recalled_nor_refined(
    older: Path, text: str
) -> None:
    for analyst, epsilon, more in (("alice", 3, 3), ("bob", 4, 1)):
        asking = session(older, analyst)
        before = verify(book_of(older))[-1].entry.totals.loss.epsilon
        asking.execute(f"SET epsilon = {epsilon}")
        assert not asking.execute(text).repeat
        assert verify(book_of(older))[-1].entry.totals.loss.epsilon - before == more


def test_what_was_underpaid_is_charged_once(older: Path) -> None:
    for _ in range(2):
        entries = [sealed.entry for sealed in verify(book_of(older))]
        corrected = {
            entry.who: entry.event
            for entry in entries
            if isinstance(entry.event, Charge) and entry.event.corrected
        }
        paid = {who: (c.loss.epsilon, c.own_part.epsilon) for who, c in corrected.items()}
        assert paid == CORRECTED
        assert len(entries) == 10 + len(paid)
        whole = sum((whole for whole, _ in paid.values()), PAID)
        assert entries[-1].totals.loss.epsilon == whole
        assert entries[-1].totals.queries == entries[9].totals.queries
    left = {who: session(older, who).balance.epsilon_left for who in CORRECTED}
    assert left == {"alice": 60 - Fraction(61, 10) - 3, "bob": 60 - Fraction(11, 2) - 3}


def test_the_custodian_is_told(older: Path) -> None:
    shown = budget_overview.overview(read_policy(older))["history"]
    rows = [dict(zip(shown.columns, row, strict=True)) for row in shown.rows]
    told = {row["who"]: row for row in rows if row["action"] == "corrected"}
    assert {who: row["epsilon"] for who, row in told.items()} == {"alice": 3.0, "bob": 6.1}
    assert all(
        "made" in str(row["statement"]) or "makes" in str(row["statement"]) for row in told.values()
    )


def test_more_than_is_left_is_charged_all_the_same(older: Path) -> None:
    """Nothing is answered then but repeats."""
    older.write_text(POLICY.replace("alice = { epsilon = 60 }", "alice = { epsilon = 6.2 }"))
    budget_overview.accept(read_policy(older), "less", fresh=False)
    assert session(older, "alice").balance.epsilon_left == 0


def test_an_anchor_is_told_of_it(older: Path) -> None:
    lasting = read_policy(older).lasting
    assert lasting is not None
    before = FileBook(lasting.ledger).last()
    anchor = Anchor(older.with_name("anchor"))
    anchor.begin(before.entry.number, before.seal)
    opened = open_book(replace(lasting, anchor=anchor.path))
    assert (before.entry.number, anchor.last()[0]) == (9, 11)
    assert opened.check_anchor(anchor) == opened.last().entry.number


def test_a_ledger_of_another_format_is_none(older: Path) -> None:
    with closing(sqlite3.connect(older.with_suffix(".ledger"))) as ledger:
        ledger.execute("PRAGMA user_version = 1")
    with pytest.raises(LedgerError, match="no ledger of dpdb"):
        book_of(older)
