"""A ledger that moves to another place: from a file to a server, or back.

The last entry of the old place says where the ledger went, and no other may follow there. The new
place has the same chain of entries, and goes on with one more. It is whole and checked before the
old one ends. So at no moment can both be spent from, also after a crash: then the same command
goes on, or what was made in the new place is to be removed.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import chain, zip_longest
from pathlib import Path

from dpdb.errors import LedgerError, UsageError
from dpdb.ledger.book.book import Contents, Sealed, sealed_after
from dpdb.ledger.book.corrections import open_book
from dpdb.ledger.book.entries import ARRIVE, MOVE, Entry, moved_to
from dpdb.ledger.book.forms import book_at, create
from dpdb.ledger.custodian import decide, decided, lasting_budget, verified
from dpdb.ledger.people import key_of
from dpdb.policy.budget import LedgerServer
from dpdb.policy.catalog import Policy
from dpdb.policy.output_files import check_output, files_of_policy


def move(policy: Policy, to: Path | LedgerServer, who: str) -> tuple[Sealed, int, int]:
    """Move the ledger of a policy, and give its last entry, and how much is kept beside entries.

    Raises LedgerError, and then nothing has changed but a part of what is new.
    """
    lasting = lasting_budget(policy)
    place = str(to.resolve()) if isinstance(to, Path) else to.place
    there = replace(lasting, ledger=to)
    source = open_book(lasting)
    key = key_of(source)

    def entry_after(last: Sealed) -> Entry:
        entry = decided(source, last, who, lambda now, _: replace(now, action=MOVE, why=place))
        ended = sealed_after(last, entry)
        rows = chain(verified(source), [ended])
        create(there, Contents(key.hex(), rows, source.walk_kept(key), source.accounts()))
        copy = book_at(replace(there, anchor=None))
        # Both are read in step, as a server ends a transaction that asks nothing for long.
        entries = zip_longest(verified(copy), chain(source.walk(), [ended]))
        kept = zip_longest(copy.walk_kept(key), source.walk_kept(key))
        if any(new != old for new, old in entries) or any(new != old for new, old in kept):
            raise LedgerError(f"what was written to {place} is not what is in {source.place}")
        if copy.accounts() != source.accounts():
            raise LedgerError(f"the accounts in {place} are not those in {source.place}")
        return entry

    if moved_to(source.last().entry) is None:
        if isinstance(to, Path):
            try:
                check_output(to, files_of_policy(policy), new=True)
            except UsageError as error:
                error.hint = error.hint or "a ledger that was moved away can be renamed: mv OLD NEW"
                raise
        source.append(entry_after)
    ended = source.last()
    if (went := moved_to(ended.entry)) != place or book_at(there).last() != ended:
        raise LedgerError(
            f"{source.place} was moved to {went}, where it may have gone on",
            hint="a ledger is moved from where it is now",
        )
    target = book_at(there)
    decide(target, who, lambda now, _: replace(now, action=ARRIVE, why=source.place))
    return target.last(), sum(1 for _ in target.walk_kept(key)), len(target.accounts())
