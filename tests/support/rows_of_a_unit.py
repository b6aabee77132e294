"""The rows of one unit in every intermediate table, counted in the engine for memory.

The database has one unit, with as many rows in each table as it holds, or more. Statements are
nested at random; what a node has is compared with what the plan says that it has at most.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any
from unittest import mock

from dpdb.engines.memory import MemoryEngine
from dpdb.engines.relations.joins import JoinedRows, LookedUp
from dpdb.engines.relations.leaves import Rows
from dpdb.engines.relations.unit_rows import MadeTable, TableRows, UnitRows
from dpdb.errors import DpdbError
from dpdb.plan.relations import stability
from dpdb.plan.relations.relations import Join, Joined, Mark, Relation, Scan
from dpdb.policy.catalog import Policy
from dpdb.policy.reading.reader import read_policy
from dpdb.vectors.vector import Array
from tests.support.exactly import planned

POLICY = """
[privacy]
unit_name = "customer"
[tables.c]
path = "c.csv"
unit = "id"
key = "id"
columns.id = { type = "integer" }
columns.v = { type = "integer" }
[tables.o]
path = "o.csv"
unit = "cust"
key = "id"
rows_held_per_unit = 3
columns.id = { type = "integer" }
columns.cust = { type = "integer" }
columns.v = { type = "integer" }
[tables.l]
path = "l.csv"
unit = "cust"
rows_held_per_unit = 4
columns.cust = { type = "integer" }
columns.oid = { type = "integer" }
columns.v = { type = "integer" }
[tables.i]
path = "i.csv"
unit = "oid -> o.id"
rows_held_per_unit = 5
columns.oid = { type = "integer" }
columns.v = { type = "integer" }
[tables.p1]
path = "p1.csv"
public = true
key = "id"
columns.id = { type = "integer" }
[tables.p3]
path = "p3.csv"
public = true
at_most = { id = 3 }
columns.id = { type = "integer" }
columns.day = { type = "integer" }
[tables.p39]
path = "p39.csv"
public = true
columns.day = { type = "integer" }
"""
HELD = {"c": 1, "o": 3, "l": 4, "i": 5}
"""The most rows of a unit in each table."""
PAIRS = 12
"""The most pairs where no key limits them, so that 3 rows enter on each side, or few alike."""
PUBLIC = {
    "p1": ["id", *range(1, 4)],
    "p3": ["id,day", "1,1", "1,2", "1,3"],
    "p39": ["day", *range(1, 40)],
}


def write(folder: Path, *, alike: bool = True, times: int = 1) -> Policy:
    """A database with the one unit, whose rows all match each other, or none does.

    The unit has so many times the rows that each table holds.
    """

    def value(number: int) -> int:
        return 1 if alike else 100 + number

    orders, lines, items = (range(times * HELD[name]) for name in "oli")
    rows: Mapping[str, Sequence[object]] = {
        "c": ["id,v", "1,1"],
        "o": ["id,cust,v", *(f"{n + 1},1,{value(n)}" for n in orders)],
        "l": ["cust,oid,v", *(f"1,{1 if alike else -1 - n},{value(10 + n)}" for n in lines)],
        "i": ["oid,v", *(f"1,{value(20 + n)}" for n in items)],
        **PUBLIC,
    }
    for name, several in rows.items():
        (folder / f"{name}.csv").write_text("\n".join(map(str, several)) + "\n")
    (folder / "p.toml").write_text(POLICY)
    return read_policy(folder / "p.toml")


class TooMany(AssertionError):
    """A node has more rows of the unit than the plan says."""


class Seen(Counter[str]):
    """How often each kind of node was seen, and under `reached …` with all the rows it may have."""

    def see(self, kind: str, rows: int, most: int) -> None:
        """Count a node with so many rows; raises TooMany where they are more than it may have."""
        if rows > most:
            raise TooMany(f"{kind}: {rows} rows, at most {most}")
        self[kind] += 1
        self[f"reached {kind}"] += rows == most


@dataclass
class Counting:
    """Counts the rows of every node that is worked out while it is on."""

    seen: Seen
    _pairs: Counter[tuple[int, object]] = field(default_factory=Counter)
    """By a source and a node of it how many pairs were tried."""
    _looking: list[tuple[int, Mark]] = field(default_factory=list)

    @contextmanager
    def on(self) -> Iterator[None]:
        """Count what is worked out within."""
        rows, pairs, among = JoinedRows._rows, JoinedRows._pairs, LookedUp._among_pairs
        made = UnitRows._worked_out

        def counted_rows(of: JoinedRows, relation: Relation) -> Iterator[Rows]:
            if isinstance(relation, Mark):
                self._looking.append((id(of.source), relation))
            number = 0
            for piece in rows(of, relation):
                number += len(piece)
                yield piece
            if not of.source.public:
                self._see(of.source, relation, number)

        def counted_pairs(of: JoinedRows, join: Join, *rest: Any) -> Rows:
            _, _, matches, codes = rest
            self._pairs[id(of.source), join] += int(matches.counts(codes).sum())
            return pairs(of, join, *rest)

        def counted_among(of: LookedUp, asking: Rows, codes: Array) -> Array:
            at = next(at for at in reversed(self._looking) if at[1].lookup == of.lookup)
            self._pairs[at] += int(of.searched.candidates.counts(codes).sum())
            return among(of, asking, codes)

        def counted_made(of: UnitRows, table: MadeTable) -> TableRows:
            found = made(of, table)
            if not table.public:
                self.seen.see(type(table).__name__, found.rows, table.rows_held)
            return found

        with (
            mock.patch.object(JoinedRows, "_rows", counted_rows),
            mock.patch.object(JoinedRows, "_pairs", counted_pairs),
            mock.patch.object(LookedUp, "_among_pairs", counted_among),
            mock.patch.object(UnitRows, "_worked_out", counted_made),
        ):
            yield

    def _see(self, source: Joined, relation: Relation, number: int) -> None:
        if isinstance(relation, Scan):
            most = relation.table.rows_held
            most = most if source.entering is None else min(most, source.entering)
            self.seen.see("scan", number, most)
        else:
            step, kind = source.step(relation), _kind(relation)
            self.seen.see(kind, number, step.rows)
            self.seen.see(f"pairs of {kind}", self._pairs.pop((id(source), relation), 0), step.made)


def _kind(node: Join | Mark) -> str:
    if isinstance(node, Mark):
        public = node.lookup.right.table.public
        pairs = " with a condition on pairs" if node.lookup.pair_condition is not None else ""
        return f"{'public ' if public else ''}lookup{pairs}"
    return f"{node.kind}{' of public rows' if node.right.table.public else ''}"


def check(text: str, policies: Sequence[Policy], seen: Seen) -> bool:
    """Whether a statement is answered; raises TooMany where a node has too many rows."""
    with mock.patch.object(stability, "MAX_PAIRS", PAIRS):
        for policy in policies:
            try:
                plan = planned(text, policy)
            except DpdbError:
                return False
            with Counting(seen).on():
                MemoryEngine(tables=policy.tables).exact(plan, {})
    return True


def random_statement(random: Random, depth: int = 4) -> str:
    """A statement over tables that are nested so deeply at most."""
    return f"SELECT COUNT(*) FROM {_table(random, depth)} t"


BASE = [
    "(SELECT id AS u, v FROM c)",
    "(SELECT cust AS u, v FROM o)",
    "(SELECT cust AS u, v FROM l)",
    "(SELECT o.cust AS u, i.v FROM i JOIN o ON i.oid = o.id)",
    "(SELECT o.cust AS u, i.v FROM o LEFT JOIN i ON i.oid = o.id)",
    "(SELECT l.cust AS u, o.v FROM l JOIN o ON l.oid = o.id AND l.cust = o.cust)",
    "(SELECT o.cust AS u, l.v FROM o JOIN l ON l.oid = o.id AND l.cust = o.cust)",
    "(SELECT o.cust AS u, l.v FROM o LEFT JOIN l ON l.oid = o.id AND l.cust = o.cust)",
    "(SELECT l.cust AS u, o.v FROM l FULL JOIN o ON l.oid = o.id AND l.cust = o.cust)",
    "(SELECT l.cust AS u, o.v FROM l FULL JOIN o ON l.cust = o.cust AND l.v = o.v)",
    "(SELECT l.cust AS u, o.v FROM l FULL JOIN o ON l.cust = o.cust)",
]


def _table(random: Random, depth: int) -> str:
    """A SELECT of a unit's name `u` and a number `v`."""
    if depth <= 1 or random.random() < 0.15:
        return random.choice(BASE)
    below = _table(random, depth - 1)
    match random.randrange(9):
        case 0 | 1:
            return _joined(random, below, _table(random, random.randint(1, depth - 1)))
        case 2 | 3:
            public = random.choice(["p1 ON p1.id = a.v", "p3 ON p3.id = a.v", "p39 ON TRUE",
                                    "p3 ON p3.id = a.v AND p3.day >= a.v"])  # fmt: skip
            return f"(SELECT a.u, a.v FROM {below} a {random.choice(['', 'LEFT '])}JOIN {public})"
        case 4:
            return f"(SELECT u, MAX(v) AS v FROM {below} GROUP BY u)"
        case 5:
            return f"(SELECT u, v, COUNT(*) AS n FROM {below} GROUP BY u, v)"
        case 6:
            return f"(SELECT u, v FROM {below} UNION ALL SELECT u, v FROM {_table(random, 2)})"
        case 7:
            ranked = "ROW_NUMBER() OVER (PARTITION BY u ORDER BY v)"
            return f"(SELECT u, {ranked} - {ranked} + 1 AS v FROM {below})"
    return _looking(random, below)


def _joined(random: Random, left: str, right: str) -> str:
    kind = random.choice(["JOIN", "LEFT JOIN"])
    more = random.choice(["", " AND a.v = b.v", " AND a.v <= b.v"])
    return f"(SELECT a.u, a.v FROM {left} a {kind} {right} b ON a.u = b.u{more})"


def _looking(random: Random, below: str) -> str:
    """EXISTS, IN, or an aggregate of the rows of a unit beside each of its rows."""
    more = random.choice(["", " AND x.v >= a.v", " AND x.v = a.v"])
    condition = random.choice(
        [
            f"EXISTS (SELECT 1 FROM l x WHERE x.cust = a.u{more})",
            "a.v IN (SELECT p3.id FROM p3 WHERE p3.day >= a.v)",
            f"a.v IN (SELECT x.v FROM o x WHERE x.cust = a.u{more})",
            "EXISTS (SELECT 1 FROM l x JOIN o y ON y.id = x.oid AND y.cust = x.cust"
            " WHERE x.cust = a.u AND y.v <= a.v)",
            "(SELECT COUNT(*) FROM o x WHERE x.cust = a.u) > 0",
        ]
    )
    return f"(SELECT a.u, a.v FROM {below} a WHERE {condition})"
