"""Group keys of public tables: those that rows can have by what is public, and no others."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from dpdb.errors import StatementError
from dpdb.policy.reading.reader import read_policy
from dpdb.session.session import Session
from tests.support.noiseless import Noiseless
from tests.support.units import DENSE, Database, policy_text, random_database


def opened(folder: Path, database: Database) -> Session:
    database.write(folder)
    (folder / "units.toml").write_text(policy_text(orders=9, lines=9))
    return Session(read_policy(folder / "units.toml"), noise=Noiseless())


GROUPS = {
    ("r.id", "c JOIN r ON c.reg = r.id", "r.name = 's'"): ("r.id", "r"),
    ("r.name", "r, c", "c.reg = r.id AND r.id < 2 AND c.seg = 'A'"): ("name", "r WHERE id < 2"),
    ("c.reg", "c JOIN r ON r.id = c.reg", "name = 'n' AND c.id > 0"): ("r.id", "r"),
    ("c.reg", "c JOIN r ON r.id = c.reg", "c.id > 0"): ("id", "r"),
    ("r.id * 2", "c JOIN r ON r.id = c.reg", "r.name <> 'n'"): ("id * 2", "r"),
    ("r.id", "c JOIN r ON c.reg = r.id JOIN rd ON rd.id = r.id", "rd.day > 1"): (
        "r.id",
        "r JOIN rd ON rd.id = r.id",
    ),
    ("rd.day", "c, r, rd", "c.reg = r.id AND rd.id = r.id AND r.id < 3"): (
        "rd.day",
        "r JOIN rd ON rd.id = r.id",
    ),
}
"""A key, what is read and on which condition; and the key and what is public of that."""


@pytest.mark.parametrize("asked", GROUPS, ids=" ".join)
def test_groups_are_those_that_public_rows_leave(
    asked: tuple[str, str, str], tmp_path: Path
) -> None:
    """Those with rows are as SQLite finds them."""
    (key, read, where), (named, public) = asked, GROUPS[asked]
    own = [part for part in where.split(" AND ") if "c." not in part]
    condition = f" WHERE {' AND '.join(own)}" if own and "WHERE" not in public else ""
    tried = 0
    for database in (DENSE, *(random_database(Random(seed)) for seed in range(12))):
        keys = database.rows(f"SELECT DISTINCT {named} FROM {public}{condition}")
        known = sorted(each for (each,) in keys if each is not None)
        if not known:
            continue  # There is no group, or all that the policy declares.
        text = f"SELECT {key}, COUNT(*) FROM {read} WHERE {where} GROUP BY {key}"
        rows = opened(tmp_path, database).execute(text).rows
        assert sorted(row[0] for row in rows) == known
        expected = {row for row in database.rows(text) if row[0] is not None}
        assert {row for row in rows if row[1]} == expected
        tried += 1
    assert tried > 2


COMBINED = {
    ("r.id, r.name", "c JOIN r ON c.reg = r.id"): "SELECT id, name FROM r",
    ("r.name, c.reg", "c JOIN r ON r.id = c.reg WHERE r.id < 3"): "SELECT name, id FROM r WHERE id < 3",
    ("r.id, r.name", "c LEFT JOIN r ON r.id = c.reg"): "SELECT id, name FROM r",
    ("rd.day, r.name", "c JOIN r ON c.reg = r.id JOIN rd ON rd.id = r.id"):
        "SELECT rd.day, r.name FROM r JOIN rd ON rd.id = r.id",
}  # fmt: skip
"""Keys with what is read, and the public rows that have such keys together."""


@pytest.mark.parametrize("asked", COMBINED, ids=" ".join)
def test_keys_are_shown_that_public_rows_have_together(
    asked: tuple[str, str], tmp_path: Path
) -> None:
    (keys, read), tried = asked, 0
    for database in (DENSE, *(random_database(Random(seed)) for seed in range(12))):
        known = {row for row in database.rows(COMBINED[asked]) if None not in row}
        if not known:
            continue  # There is no group, or all that the policy declares.
        text = f"SELECT {keys}, COUNT(*) FROM {read} GROUP BY {keys}"
        rows = opened(tmp_path, database).execute(text).rows
        assert sorted(row[:2] for row in rows) == sorted(known)
        found = {row for row in database.rows(text) if None not in row}
        assert {row for row in rows if row[2]} == found
        tried += 1
    assert tried > 3


def test_no_customer_has_a_say_in_the_groups(tmp_path: Path) -> None:
    text = "SELECT r.id, COUNT(*) FROM c JOIN r ON c.reg = r.id WHERE name = 's' GROUP BY r.id"
    told = []
    for units in ([1, 2], [2], []):
        answer = opened(tmp_path, DENSE.of(units)).execute(text)
        told.append((answer.rows, answer.releases, answer.notes, answer.cost))
    assert told[0] == told[1] == told[2]
    assert told[0][0] == ((2, 0),)


def test_a_subtotal_counts_rows_of_all_keys(tmp_path: Path) -> None:
    days = Database({**DENSE.tables, "rd": [(1, 1), (1, None), (2, 3)]})
    text = "SELECT day, COUNT(*) FROM c JOIN rd ON c.reg = rd.id WHERE rd.id = 1 GROUP BY {}"
    session = opened(tmp_path, days)
    assert session.execute(text.format("day")).rows == ((1, 2),)
    assert session.execute(text.format("ROLLUP(day)")).rows[-1] == (None, 4)


def test_a_right_join_lists_public_groups_as_in_bigquery(tmp_path: Path) -> None:
    """A group without a match counts nothing, where plain SQL would count its public row."""
    groups = "(SELECT DISTINCT id FROM r) AS p ON p.id = c.reg GROUP BY p.id"
    asked = f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(group_selection_strategy = {{}}) p.id, COUNT(*) FROM c RIGHT JOIN {groups}"
    empty = 0
    for database in (DENSE, *(random_database(Random(seed)) for seed in range(6))):
        session = opened(tmp_path, database)
        found = dict(session.execute(asked.format("PUBLIC_GROUPS")).rows)
        expected = dict(list(database.rows(f"SELECT p.id, COUNT(*) FROM c JOIN {groups}")))
        assert {key: number for key, number in found.items() if number} == expected
        known = {each for (each,) in database.rows("SELECT id FROM r") if each is not None}
        assert not known or set(found) == known
        empty += len(known - set(expected))
        with pytest.raises(StatementError, match="without a match"):
            session.execute(asked.format("LAPLACE_THRESHOLD"))
    assert empty
