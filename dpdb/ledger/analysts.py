"""Who asks: the operating system says so, and only the ledger's owner may speak for others."""

from __future__ import annotations

import os
import pwd

from dpdb.errors import LedgerError, UsageError
from dpdb.ledger.book import Book
from dpdb.policy.lasting import LONGEST_NAME, is_name


def user() -> str:
    """The name of the user who runs this process; environment variables have no say in it."""
    number = os.getuid()
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"user {number}"


def analyst(book: Book, given: str | None) -> str:
    """The analyst who asks: the user or, if the user owns the ledger, the one that is given."""
    if given is None:
        return user()
    if not is_name(given):
        raise UsageError(f"the name of an analyst has 1 to {LONGEST_NAME} visible characters")
    if os.getuid() != book.path.stat().st_uid:
        raise LedgerError("only the owner of the ledger asks for another analyst")
    return given
