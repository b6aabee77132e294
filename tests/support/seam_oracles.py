"""Oracles for the statements of `seams`: each says whether one is answered, and fails if wrongly."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import duckdb

from dpdb.answers.answer import Answer
from dpdb.errors import DpdbError, InternalError
from dpdb.policy.catalog import Policy
from dpdb.session.session import Session
from tests.support import witnessed_sessions
from tests.support.noiseless import Noiseless
from tests.support.seams import CAP, COLUMNS, PEOPLE, Statement, database, person, policy_of, row
from tests.support.told_prices import World, statements
from tests.support.units import Database, Row
from tests.support.witnessed_sessions import Script

TYPES = {"u": "INTEGER", "x": "DOUBLE", "k": "DOUBLE", "d": "DATE"}


@dataclass
class Worlds:
    """The policies that statements have tags of, and rows for them."""

    folder: Path
    chance: Random
    policies: dict[frozenset[str], Policy] = field(default_factory=dict)

    def policy(self, statement: Statement, **given: object) -> Policy:
        tags = statement.world
        if tags not in self.policies:
            self.policies[tags] = policy_of(self.folder, tags, **given)
        return self.policies[tags]

    def database(self) -> Database:
        return database(self.chance)


def asked(session: Session, statement: Statement) -> Answer | None:
    """The answer; None where the statement is refused."""
    try:
        return session.execute(str(statement))
    except InternalError as error:
        raise AssertionError(str(statement)) from error
    except DpdbError:
        return None


def in_duckdb(rows: Database) -> duckdb.DuckDBPyConnection:
    opened = duckdb.connect()
    opened.execute("SET threads = 1")
    for name, columns in COLUMNS.items():
        typed = ", ".join(f"{column} {TYPES.get(column, 'TEXT')}" for column in columns)
        opened.execute(f"CREATE TABLE {name} ({typed})")
        marks = ", ".join("?" * len(columns))
        opened.executemany(f"INSERT INTO {name} VALUES ({marks})", rows.tables[name])
    return opened


def check_exact(answer: Answer, statement: Statement, duck: duckdb.DuckDBPyConnection) -> None:
    """Hold an answer without noise against DuckDB's."""
    theirs = duck.execute(statement.text(duck=True)).fetchall()
    ours = list(answer.rows)
    left = list(theirs)
    for own in ours:
        found = next((other for other in left if _alike(own, other)), None)
        assert found is not None, f"{statement}\ndpdb:   {ours}\nDuckDB: {theirs}"
        left.remove(found)
    if "found keys" in statement.tags:
        left = [each for each in left if each[-1] > FEW_UNITS]
    assert not left, f"{statement}\ndpdb:   {ours}\nDuckDB: {theirs}"


FEW_UNITS = 3
"""Units of a key that is perhaps not found."""


def _alike(ours: Row, theirs: Row) -> bool:
    return all(map(_same, ours, theirs[: len(ours)]))


def _same(ours: Any, theirs: Any) -> bool:
    """Two cells; of nothing DuckDB says NULL where dpdb says a value within the bounds."""
    if isinstance(theirs, list):
        return _is_median(ours, sorted(value for value in theirs if value is not None))
    if theirs is None and not isinstance(ours, str):
        return True
    if theirs is None or isinstance(theirs, str):
        return ours == theirs
    return ours is not None and math.isclose(ours, theirs, rel_tol=1e-9)


def _is_median(value: Any, values: Sequence[float]) -> bool:
    """Whether as many values are below as above, but one."""
    low = sum(each < value for each in values)
    high = sum(each > value for each in values)
    return not values or abs(high - low) <= sum(each == value for each in values) + 1


def answered_exactly(worlds: Worlds) -> Callable[[Statement], bool]:
    """Oracle 1: DuckDB answers the same, where there is no noise."""

    def check(statement: Statement) -> bool:
        rows = worlds.database()
        with rows.in_memory():
            answer = asked(Session(worlds.policy(statement), noise=Noiseless()), statement)
        if answer is None:
            return False
        check_exact(answer, statement, in_duckdb(rows))
        return True

    return check


def never_mistaken(worlds: Worlds) -> Callable[[Statement], bool]:
    """Oracle 2: what differs in a constant, a label, a column or an option is answered as it is."""

    def check(statement: Statement) -> bool:
        rows, policy = worlds.database(), worlds.policy(statement)
        duck = in_duckdb(rows)
        with rows.in_memory():
            session = Session(policy, noise=Noiseless())
            if asked(session, statement) is None:
                return False
            for what, other in statement.changed():
                alone = asked(Session(policy, noise=Noiseless()), other)
                answer = asked(session, other)
                if answer is None or alone is None:
                    continue
                check_exact(answer, other, duck)
                for ours, fresh in zip(margins(answer), margins(alone), strict=True):
                    assert ours <= fresh * (1 + 1e-9), (what, statement, other, ours, fresh)
        return True

    return check


def margins(answer: Answer) -> list[float]:
    """How wide the intervals are; 0 where there is none."""
    return [
        0 if cell is None else cell[1] - cell[0] for row in answer.intervals or () for cell in row
    ]


def neighbours(chance: Random, statement: Statement) -> tuple[Database, Database]:
    """Rows of which one unit's are there or not, or others; a person may have more than count."""
    whole = database(chance)
    rows, people = list(whole.tables["t"]), list(whole.tables["v"])
    units = "caps" in statement.tags
    changed = chance.choice(PEOPLE) if units else len(PEOPLE)
    number = CAP + 2 if units else 1
    pair = []
    for there in (True, "replace" in statement.tags):
        own = [row(chance, changed) for _ in range(chance.randint(1, number) * there)]
        known = [person(chance, changed)] * there if units else []
        others = [each for each in rows if each[0] != changed]
        known += [each for each in people if each[0] != changed]
        pair.append(Database({"t": [*others, *own], "v": known}))
    return pair[0], pair[1]


def loses_what_is_spent(worlds: Worlds) -> Callable[[Statement], bool]:
    """Oracle 3: on neighbouring files the draws lose no more than is charged, and all else agrees."""

    def check(statement: Statement) -> bool:
        one, other = neighbours(worlds.chance, statement)
        variants = [each for _, each in statement.changed()]
        texts = (str(statement), str(worlds.chance.choice(variants)))
        script = Script(worlds.policy(statement, epsilon=60, queries=6), texts)
        told, _ = witnessed_sessions.check(script, one, other, worlds.chance.randrange(10**9))
        return told[0].text.startswith("{")

    return check


def charged_as_told(worlds: Worlds) -> Callable[[Statement], bool]:
    """Oracle 4: sessions on one ledger, of several analysts, charge what they say."""
    return _in_world(worlds, World.apart)


def answered_as_planned(worlds: Worlds) -> Callable[[Statement], bool]:
    """Oracle 5: a plan that passes is answered for what it says, as one by one."""
    return _in_world(worlds, World.together)


def _in_world(
    worlds: Worlds, ask: Callable[[World, list[str]], None]
) -> Callable[[Statement], bool]:
    def check(statement: Statement) -> bool:
        folder = Path(tempfile.mkdtemp(dir=worlds.folder))
        world = World.random(worlds.chance, folder, statement.world)
        ask(world, statements(worlds.chance, statement))
        return str(statement) in world.answered

    return check
