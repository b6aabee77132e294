"""The forms of a book, told apart by where the policy keeps its ledger."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dpdb.errors import LedgerError
from dpdb.ledger.book.book import Book, Contents
from dpdb.ledger.book.database import Anchor
from dpdb.policy.budget import LastingBudget


def book_at(lasting: LastingBudget) -> Book:
    """The book of a budget as it is; raises LedgerError where it is not to be relied on."""
    anchor = None if lasting.anchor is None else Anchor(lasting.anchor)
    if isinstance(lasting.ledger, Path):
        from dpdb.ledger.book.file_book import FileBook  # noqa: PLC0415 (one of the two is used)

        return FileBook(lasting.ledger, anchor)
    with _driver():
        from dpdb.ledger.book.server_book import ServerBook  # noqa: PLC0415

    return ServerBook(lasting.ledger, lasting.key, anchor)


def create(lasting: LastingBudget, contents: Contents, *, begins: bool = False) -> None:
    """Make a ledger where there is none, as a whole or not at all; raises LedgerError.

    With the ledger its anchor begins, if that is to be and the budget has one.
    """
    anchor = Anchor(lasting.anchor) if begins and lasting.anchor is not None else None
    if isinstance(lasting.ledger, Path):
        from dpdb.ledger.book.file_book import create as create_file  # noqa: PLC0415

        create_file(lasting.ledger, contents, anchor)
        return
    with _driver():
        from dpdb.ledger.book.server_book import create as create_on_server  # noqa: PLC0415

    create_on_server(lasting.ledger, lasting.key, contents, anchor)


@contextmanager
def _driver() -> Iterator[None]:
    """Say how the driver of PostgreSQL is installed, where it is not."""
    try:
        yield
    except ModuleNotFoundError:
        raise LedgerError(
            "the ledger is in PostgreSQL, and the package psycopg is not installed",
            hint='pip install "dpdb[postgresql]"',
        ) from None
