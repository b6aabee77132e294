"""What a book says: the terms that hold, and what has been spent.

A few entries of a long book tell it. The last one has the totals; it names the entries with the
terms, and those with the filters that the next statement's filter is compared with.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from dpdb.errors import LedgerError
from dpdb.ledger import region_text
from dpdb.ledger.book import Book, Sealed
from dpdb.ledger.entries import Charge, Decision, Entry, Totals
from dpdb.ledger.region_text import RegionText
from dpdb.ledger.spending import Spent
from dpdb.ledger.terms import neighbors_in
from dpdb.plan.regions import Region
from dpdb.policy.catalog import Table
from dpdb.privacy.accounting.composition import NO_LOSS, ComposedLoss


@dataclass(frozen=True)
class State:
    """What a book says after its last entry."""

    head: Sealed
    decision: Decision
    spent: Spent


@dataclass
class StateReader:
    """Reads the state of a book, each entry once."""

    book: Book
    tables: Sequence[Table]
    """The tables that regions are of."""
    _state: State | None = field(default=None, repr=False)

    def read(self, head: Sealed) -> State:
        """The state of which this is the last entry; raises LedgerError where it cannot follow."""
        before = self._state
        if before is None or before.head != head:
            if before is not None:
                self._check_follows(before.head, head)
            self._state = self._after(before, head)
        assert self._state is not None
        return self._state

    def follow(self, head: Sealed, spent: Spent) -> None:
        """Take note of an entry that was just appended to what was read, and of what it spent."""
        assert self._state is not None
        self._state = replace(self._state, head=head, spent=spent)

    def own_loss(self, last: Entry, decision: Decision, analyst: str) -> ComposedLoss:
        """The loss of the analyst's statements up to an entry, since the budget began."""
        number = last.latest.get(analyst, -1)
        if number < decision.since:
            return NO_LOSS
        event = self.book.at(number).entry.event
        if not isinstance(event, Charge):
            raise _wrong(self.book)
        return event.own

    def _check_follows(self, before: Sealed, head: Sealed) -> None:
        """Refuse a book that has lost or changed the entry that was its last."""
        number = before.entry.number
        if number > head.entry.number or self.book.at(number) != before:
            raise LedgerError(
                f"{self.book.path} is older than it was a moment ago",
                hint="nothing is answered from it until its custodian has looked",
            )

    def _after(self, before: State | None, head: Sealed) -> State:
        entry = head.entry
        decision = decision_of(self.book, entry)
        spent, done = Spent(neighbors_in(decision.terms)), -1
        if before is not None and _is_same_budget(before.decision, decision):
            spent, done = before.spent, before.head.entry.number
        spent = spent.with_grouped(self._grouped(entry, done))
        spent = replace(spent, sums=entry.totals.loss, queries=entry.totals.queries)
        if totals_of(spent) != entry.totals:
            raise _wrong(self.book)
        return State(head, decision, spent)

    def _grouped(self, entry: Entry, done: int) -> list[tuple[ComposedLoss, Region, int]]:
        """Loss, region and group of the charges after the entry `done` that joined one."""
        charges = []
        number = entry.last_grouped
        while number is not None and number > done:
            grouped = self.book.at(number).entry
            match grouped.event:
                case Charge(loss=loss, region=dict() as told, group=int() as group):
                    region = region_in(self.book, number, told, self.tables)
                    charges.append((loss, region, group))
                case _:
                    raise _wrong(self.book)
            number = grouped.grouped_before
        return charges[::-1]


def region_in(book: Book, number: int, told: RegionText, tables: Sequence[Table]) -> Region:
    """The region of the entry `number`; raises LedgerError, which names it, where it has none."""
    try:
        return region_text.read(told, tables)
    except region_text.UnreadableRegionError:
        raise LedgerError(
            f"entry {number} of {book.path} has a filter that cannot be read",
            hint="a version of dpdb that wrote it can read it; a backup can take its place",
        ) from None


def decision_of(book: Book, entry: Entry) -> Decision:
    """The decision whose terms hold after an entry."""
    deciding = entry if entry.decision == entry.number else book.at(entry.decision).entry
    if not isinstance(deciding.event, Decision):
        raise _wrong(book)
    return deciding.event


def _is_same_budget(before: Decision, decision: Decision) -> bool:
    """Whether what was spent stays spent, and filters can be compared with those so far."""
    return (before.version, before.since) == (decision.version, decision.since)


def totals_of(spent: Spent) -> Totals:
    """What an entry says of what has been spent."""
    return Totals(spent.sums, spent.queries, spent.regions, spent.turns)


def _wrong(book: Book) -> LedgerError:
    return LedgerError(f"entries of {book.path} name others that are not what they are named for")
