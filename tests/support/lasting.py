"""Lasting budgets: policies that name one, and ledgers of which nothing is spent."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpdb.ledger.book.book import Book, Sealed
from dpdb.ledger.book.corrections import open_book
from dpdb.ledger.custodian import open_budget, verified
from dpdb.ledger.lasting import LastingLedger
from dpdb.plan.expressions.expressions import ColumnRef, Literal, compare
from dpdb.plan.relations.regions import Region, region
from dpdb.policy.budget import Budget, LastingBudget, LedgerServer, Neighbors, ledger_at
from dpdb.policy.catalog import Column, Kind, Policy, Table
from dpdb.policy.reading.reader import read_policy
from dpdb.session import budget_overview

if TYPE_CHECKING:
    from tests.support.postgres import Server

TABLE = Table("t", Path("t.csv"), (Column("x", Kind.INTEGER, Fraction(0), Fraction(9)),))
X = ColumnRef(TABLE.columns[0])
_NUMBERS = count()
_servers: list[Server] = []
_MEMORY = Path("/dev/shm")


def at(value: int) -> Region:
    """The rows in which x has this value."""
    return region(TABLE, compare("=", X, Literal(value, Kind.INTEGER)))


def verify(book: Book) -> tuple[Sealed, ...]:
    """All entries of a book in which every balance is as rebuilt."""
    return tuple(verified(book))


@contextmanager
def folder_in_memory() -> Iterator[Path]:
    """A folder that waits for no disk, where the system has one."""
    with tempfile.TemporaryDirectory(dir=_MEMORY if _MEMORY.is_dir() else None) as folder:
        yield Path(folder)


@contextmanager
def ledgers_on(server: Server) -> Iterator[None]:
    """Ledgers are on this server, each in a schema, where they would be files."""
    _servers.append(server)
    try:
        yield
    finally:
        _servers.pop()


def policy_in(
    folder: Path,
    budget: Budget | None = None,
    relation: Neighbors = Neighbors.ADD_REMOVE,
    **lasting: Any,
) -> Policy:
    """A policy that names a budget; what else is said of that is in `lasting`."""
    number = next(_NUMBERS)
    place: Path | LedgerServer = folder / f"{number}.ledger"
    if _servers:
        place = ledger_at(f"{_servers[-1].address()}&schema=ledger_{number}_{os.getpid()}")
    named = LastingBudget("test", place, key=folder / f"{number}.key", **lasting)
    return Policy((TABLE,), budget or Budget(), relation, lasting=named)


@contextmanager
def opened_shop(policy: str, rows: str) -> Iterator[Path]:
    """A policy file with this text, beside its table t, whose budget is open."""
    with folder_in_memory() as folder:
        (folder / "t.csv").write_text(rows)
        path = folder / "t.toml"
        path.write_text(policy)
        budget_overview.open_budget(read_policy(path))
        yield path


def book_of(path: Path) -> Book:
    """The book of the budget that a policy file names."""
    lasting = read_policy(path).lasting
    assert lasting is not None
    return open_book(lasting)


def opened(
    folder: Path, budget: Budget | None = None, relation: Neighbors = Neighbors.ADD_REMOVE
) -> LastingLedger:
    """A new ledger."""
    policy = policy_in(folder, budget, relation)
    open_budget(policy, "custodian", "00" * 32, {})
    return LastingLedger.open(policy, "alice")
