"""Whether memory suffices for a statement does not tell whether a unit is there (attacks on work).

A process has little memory above what it holds of its tables. Random nested statements are run on
tables with a unit that has as many rows as are held, and on the same tables without that unit.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

POLICY = """\
[privacy]
unit_name = "customer"
[tables.c]
unit = "id"
key = "id"
[tables.c.columns]
id = { type = "integer" }
[tables.o]
unit = "cust"
key = "id"
rows_per_unit = 5
rows_held_per_unit = 40
[tables.o.columns]
id = { type = "integer" }
cust = { type = "integer" }
x = { type = "integer", bounds = [0, 99] }
note = { type = "text", length = 20 }
[tables.days]
public = true
key = "id"
[tables.days.columns]
id = { type = "integer" }
kind = { type = "integer", bounds = [0, 9] }
"""
UNITS, DAYS = 400, 60
PIECE = 2**23
MEGABYTES = 40
"""Above what is loaded: less than what is made of all units at once."""


def files(folder: Path, extra: bool) -> Path:
    """The tables of a shop, with one more customer who has as many orders as are held, or without."""
    folder.mkdir()
    units = [*range(1, UNITS), *([0] if extra else [])]
    orders = [(unit, at) for unit in units for at in range(40)]
    written = {
        "c": ["id", *map(str, units)],
        "o": ["id,cust,x,note", *(f"{u * 40 + at},{u},{at},note {at}" for u, at in orders)],
        "days": ["id,kind", *(f"{day},{day % 10}" for day in range(DAYS))],
    }
    for name, lines in written.items():
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n")
    (folder / "shop.toml").write_text(POLICY)
    return folder / "shop.toml"


def statement(chance: random.Random) -> str:
    """A statement over a table that is made of joins, in one level or two."""
    inner = chance.choice([
        "SELECT o.cust, o.id, o.x FROM o CROSS JOIN days d",
        "SELECT o.cust, o.id, o.x FROM o JOIN days d ON o.x > d.kind",
        "SELECT c.id AS cust, o.id, o.x FROM c JOIN o ON c.id = o.cust CROSS JOIN days d",
        "SELECT o.cust, o.id, o.x FROM o WHERE EXISTS (SELECT 1 FROM days d WHERE d.kind > o.x)",
    ])  # fmt: skip
    if chance.random() < 0.3:
        inner = f"{inner} UNION ALL SELECT cust, id, x FROM o"
    outer = chance.choice([
        "SELECT cust, COUNT(*) AS k FROM ({0}) AS i GROUP BY cust",
        "SELECT cust, SUM(x) AS k FROM ({0}) AS i GROUP BY cust",
        "SELECT cust, ROW_NUMBER() OVER (PARTITION BY cust ORDER BY x) AS k FROM ({0}) AS i",
    ]).format(inner)  # fmt: skip
    return chance.choice([
        f"SELECT COUNT(*) FROM ({outer}) AS t WHERE k = 1",
        f"SELECT COUNT(*) FROM ({outer}) AS t WHERE k > {chance.randrange(60)}",
        f"SELECT COUNT(*), COUNT(DISTINCT cust) FROM ({outer}) AS t",
        f"SELECT COUNT(*) FROM c JOIN ({outer}) AS t ON c.id = t.cust WHERE k = 2",
    ])  # fmt: skip


def ended(policy: Path, statements: list[str], piece: int = PIECE) -> list[str]:
    """How each statement ended."""
    child = subprocess.run(
        [sys.executable, "-m", "tests.support.limited_memory", policy, str(MEGABYTES), str(piece)],
        input="\n".join(statements), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert not child.returncode, child.stderr[-2000:]
    return list(json.loads(child.stdout))


@pytest.mark.examples(500, 3)
def test_a_lack_of_memory_does_not_tell_of_a_unit(tmp_path: Path, examples: int) -> None:
    chance = random.Random(11)
    statements = [statement(chance) for _ in range(examples)]
    there, missing = (files(tmp_path / f"{extra}", extra) for extra in (True, False))
    found = ended(there, statements)
    assert found == ended(missing, statements)
    assert {*found} == {"answered"}


ASKING = """
import resource, sys, dpdb
from dpdb.errors import DpdbError
from tests.support.limited_memory import taken
_, policy, megabytes, *statements = sys.argv
session = dpdb.connect(policy, epsilon=9, queries=9)
for text in ("SELECT COUNT(*) FROM c JOIN o ON c.id = o.cust CROSS JOIN days d WHERE x > kind",
             "SELECT AVG(k) FROM (SELECT cust, COUNT(*) AS k FROM o GROUP BY cust) AS t WHERE k < 9"):
    session.execute(text)  # what is loaded is there before
before = session.balance
limit = taken() + (int(megabytes) << 20)
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
for text in statements:
    try:
        session.execute(text)
        print("answered")
    except DpdbError as error:
        print(error.kind, error.hint, session.balance == before)
"""


@pytest.mark.parametrize(("megabytes", "expected"), [
    (100, "OutOfResources None True"), (250, "answered"),
])  # fmt: skip
def test_a_lack_of_memory_shows_before_the_charge(
    tmp_path: Path, megabytes: int, expected: str
) -> None:
    """Whether a unit is there or not; what reads one stored table alone needs no pieces."""
    joined = "SELECT COUNT(*) FROM c JOIN o ON c.id = o.cust CROSS JOIN days d"
    made = "SELECT COUNT(*) FROM (SELECT cust, SUM(x) AS k FROM o GROUP BY cust) AS t WHERE k > 3"
    for extra in (True, False):
        policy = files(tmp_path / f"{extra}", extra)
        child = subprocess.run(
            [sys.executable, "-c", ASKING, policy, str(megabytes), joined, made, "SELECT SUM(x) FROM o"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert child.stdout.splitlines() == [expected, expected, "answered"], child.stderr[-2000:]


def test_all_units_at_once_would_take_more_memory_than_there_is(tmp_path: Path) -> None:
    statements = ["SELECT COUNT(*) FROM (SELECT cust, ROW_NUMBER() OVER (PARTITION BY cust "
                  "ORDER BY x) AS k FROM (SELECT o.cust, o.id, o.x FROM o CROSS JOIN days d) AS i) "
                  "AS t WHERE k = 1"]  # fmt: skip
    policy = files(tmp_path / "all", extra=True)
    assert ended(policy, statements) == ["answered"]
    assert ended(policy, statements, piece=2**40) == ["out of memory"]
