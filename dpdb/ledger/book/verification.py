"""The balances of a book, rebuilt from its first entry on and compared with what it says."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import field, replace

from dpdb.errors import LedgerError
from dpdb.ledger.book.book import Book, Sealed
from dpdb.ledger.book.entries import Charge, Decision, Entry
from dpdb.ledger.book.state import RENEW, is_due, region_in, renewed, totals_of
from dpdb.ledger.spending import Spent
from dpdb.ledger.terms import neighbors_in, tables_in
from dpdb.policy.catalog import Table
from dpdb.privacy.accounting.composition import NO_LOSS, ComposedLoss
from dpdb.records import dataclass


def verified(book: Book) -> Iterator[Sealed]:
    """All entries; raises LedgerError at the first that is not what those before it lead to.

    After them the seals of all releases that are kept are checked.
    """
    rebuilt: _Rebuilt | None = None
    key = b""
    for sealed in book.walk():
        rebuilt = _begun(book, sealed.entry) if rebuilt is None else rebuilt
        if rebuilt is None or rebuilt.next(sealed.entry) != sealed.entry:
            raise LedgerError(
                f"entry {sealed.entry.number} of {book.path} is not what those before it lead to"
            )
        match sealed.entry.event:
            case Decision() as decision:
                key = bytes.fromhex(decision.key)
        yield sealed
    deque(book.walk_kept(key), maxlen=0)


@dataclass
class _Rebuilt:
    """What the entries so far lead to."""

    book: Book
    spent: Spent
    tables: tuple[Table, ...] = ()
    decision: int = 0
    deciding: Decision | None = None
    """The decision whose terms hold."""
    began: int = 0
    """When the budget began: with its first entry, its renewal, or fresh data."""
    own: dict[str, ComposedLoss] = field(default_factory=dict)
    """What each analyst has spent since the budget began."""
    latest: dict[str, int] = field(default_factory=dict)
    last_grouped: int | None = None

    def next(self, entry: Entry) -> Entry:
        """The entry as it must be, for what is new in it."""
        match entry.event:
            case Charge() as charge:
                event: Charge | Decision = self._charged(entry, charge)
            case Decision() as decision:
                event = self._renewed(entry) if decision.action == RENEW else decision
                self._decided(entry, event)
        rebuilt = replace(
            entry,
            event=event,
            totals=totals_of(self.spent),
            decision=self.decision,
            latest=dict(self.latest),
            grouped_before=self.last_grouped,
        )
        self.last_grouped = rebuilt.last_grouped
        return rebuilt

    def _charged(self, entry: Entry, charge: Charge) -> Charge:
        told = charge.region
        region = None if told is None else region_in(self.book, entry.number, told, self.tables)
        group = self.spent.group_for(region)
        self.spent = self.spent.after(charge.loss, region, charge.queries, group)
        own = (self.own.get(entry.who, NO_LOSS) + charge.own_part).shortened()
        self.own[entry.who], self.latest[entry.who] = own, entry.number
        return replace(charge, group=group, own=own)

    def _renewed(self, entry: Entry) -> Decision:
        """The decision of a renewal; where none is due the one that holds, which is another."""
        assert self.deciding is not None
        due = is_due(self.deciding, self.began, entry.time)
        return renewed(self.deciding, entry.number) if due else self.deciding

    def _decided(self, entry: Entry, decision: Decision) -> None:
        number = entry.number
        self.decision, self.tables, self.deciding = number, tables_in(decision.terms), decision
        if decision.version == number:
            relation, before = neighbors_in(decision.terms), self.spent
            self.spent = Spent(relation, before.sums, before.queries)
            self.last_grouped = None
        if decision.since == number:
            self.spent, self.began = Spent(self.spent.neighbors), entry.time
            self.last_grouped = None
            self.own.clear()


def _begun(book: Book, first: Entry) -> _Rebuilt | None:
    """Nothing, where the first entry opens a budget; None where it does not."""
    match first.event:
        case Decision(action="open", since=0, version=0) as decision:
            return _Rebuilt(book, Spent(neighbors_in(decision.terms)))
    return None
