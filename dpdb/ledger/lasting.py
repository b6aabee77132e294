"""The ledger of a lasting budget: many sessions and analysts spend from one book."""

from __future__ import annotations

from dataclasses import field, replace

from dpdb.errors import LedgerError
from dpdb.ledger.accounts import Account, Change, Rehearsal, Spender, analyst
from dpdb.ledger.book.book import Book, Sealed, has_moved
from dpdb.ledger.book.corrections import open_book
from dpdb.ledger.book.database import Turns
from dpdb.ledger.book.entries import Charge, Decision, Entry, moved_to
from dpdb.ledger.book.state import State, StateReader, decision_of, renew_where_over, totals_of
from dpdb.ledger.protocol import (
    LONGEST_STATEMENT,
    QUERIES_IN_ALL,
    Balance,
    Kept,
    Ledger,
    PinnedData,
    Price,
    QueryLimit,
    Receipt,
    Recorded,
    ReleaseStore,
    SealedRelease,
)
from dpdb.ledger.spending import price_between
from dpdb.ledger.terms import check_session
from dpdb.plan.relations.regions import Region
from dpdb.policy.catalog import Policy
from dpdb.privacy.accounting.composition import ComposedLoss
from dpdb.records import dataclass

LONGEST_HISTORY = 100
"""The most charges of an analyst that are shown: the last ones."""
CLOCKS_DIFFER = 3600
"""By how many seconds a clock may be behind the last entry, as clocks are set right at times."""


@dataclass(frozen=True, repr=False)
class OpenBook:
    """A book that is open, for the ledgers of all analysts of a process: it reads a charge once."""

    policy: Policy
    reader: StateReader
    version: int
    """The version of data and terms with which it was opened."""
    pinned: PinnedData
    lock: Turns = field(default_factory=Turns)
    """Lets one thread at a time to the book and its reader; nobody reads rows with it."""

    @classmethod
    def of(cls, policy: Policy) -> OpenBook:
        """The book that the policy names.

        Raises LedgerError where it is not to be relied on, or its terms are not the policy's.
        """
        assert policy.lasting is not None
        book = open_book(policy.lasting)
        decision = decision_of(book, book.last().entry)
        check_session(decision.terms, policy)
        since = book.at(decision.version).entry.time
        pinned = PinnedData(bytes.fromhex(decision.key), decision.digests, since)
        return cls(policy, StateReader(book, policy.tables), decision.version, pinned)

    def ledger(self, given: str | None = None) -> LastingLedger:
        """The ledger of the user, or of the analyst that the ledger's owner gives.

        Raises LedgerError where the book refuses the session.
        """
        with self.lock:
            spender = Spender(self.policy, analyst(self.reader.book, given))
            opened = LastingLedger(spender, _Session(self))
            opened._read(self.reader.book.last())
        return opened


@dataclass
class _Session:
    """The state that the statements of one session share."""

    opened: OpenBook
    allowed: Decision | None = None
    """The decision whose terms were last found to allow the session: they need no second look."""
    queries: int = 0
    """The number of queries of the session so far."""
    account: Account | None = None
    """The account that was looked at last."""


@dataclass(frozen=True)
class LastingLedger(Ledger, ReleaseStore):
    """The ledger of one analyst's session: `accounts` says what it may spend."""

    _spender: Spender
    _session: _Session = field(repr=False)

    @classmethod
    def open(cls, policy: Policy, given: str | None = None) -> LastingLedger:
        """The ledger of a session that shares no book: `OpenBook.ledger` of one of its own."""
        return OpenBook.of(policy).ledger(given)

    @property
    def book(self) -> Book:
        """The open book."""
        return self._session.opened.reader.book

    @property
    def policy(self) -> Policy:
        """The policy of the session."""
        return self._spender.policy

    @property
    def pinned(self) -> PinnedData:
        return self._session.opened.pinned

    @property
    def store(self) -> ReleaseStore:
        return self

    @property
    def asker(self) -> str:
        return self._spender.analyst

    def showing(self, loss: ComposedLoss) -> LastingLedger:
        return replace(self, _spender=replace(self._spender, shown=loss))

    def recording(self, statement: str) -> LastingLedger:
        return replace(
            self, _spender=replace(self._spender, statement=statement[:LONGEST_STATEMENT])
        )

    @property
    def balance(self) -> Balance:
        """The balance of the analyst in this session, with no negative amounts left."""
        with self._session.opened.lock:
            return self._spender.balance(self._account(self._last()))

    @property
    def query_limits(self) -> tuple[QueryLimit, ...]:
        """The session's limit and, if the policy sets one, that of the lasting budget."""
        assert self.policy.lasting is not None
        most = self.policy.lasting.queries_in_all
        with self._session.opened.lock:
            in_all = self._read(self._last()).spent.queries
            asked = self._session.queries
        own = QueryLimit("queries of this session", self.policy.budget.queries, asked)
        return (own,) if most is None else (own, QueryLimit(QUERIES_IN_ALL, most, in_all))

    def history(self) -> tuple[Recorded, ...]:
        """The analyst's last charges, up to LONGEST_HISTORY."""
        records = list[Recorded]()
        with self._session.opened.lock:
            number = self.book.last().entry.latest.get(self.asker)
            while number is not None and len(records) < LONGEST_HISTORY:
                entry, before = self.book.at(number).entry, self.book.at(number - 1).entry
                if isinstance(entry.event, Charge):
                    price = self._price_of(entry, entry.event, before)
                    records.append(Recorded(entry.time, entry.event.statement, price))
                number = before.latest.get(self.asker)
        return tuple(records[::-1])

    def _price_of(self, entry: Entry, charge: Charge, before: Entry) -> Price:
        """The price of a charge in the account that its analyst was shown."""
        decision = decision_of(self.book, entry)
        limits = decision.limits
        budget = self._spender.limited(limits)
        if limits is None:
            return price_between(
                Balance.after(budget, before.totals.loss, before.totals.queries),
                Balance.after(budget, entry.totals.loss, entry.totals.queries),
            )
        spent = self._session.opened.reader.own_loss(before, decision, self.asker)
        return price_between(
            Balance.after(budget, spent), Balance.after(budget, charge.own, charge.queries)
        )

    def kept(self, scope: str, after: int) -> tuple[SealedRelease, ...]:
        """As the protocol says; raises LedgerError where a value was changed."""
        with self._session.opened.lock:
            return self.book.kept(self._versioned(scope), after, self.pinned.key)

    def keep(self, scope: str, text: str, after: int | None = None) -> int | None:
        """As the protocol says; what is kept is on the disk when this returns."""
        release = Kept(self._versioned(scope), self.asker, text)
        with self._session.opened.lock:
            return self.book.keep(release, self.pinned.key, after)

    def _versioned(self, scope: str) -> str:
        """The scope within this version of data and terms, as other versions have their own."""
        return f"{self._session.opened.version} {scope}"

    def rehearsal(self) -> Ledger:
        """As the protocol says; what others charge for meanwhile is not in it."""
        with self._session.opened.lock:
            return Rehearsal(self._spender, [self._account(self._last())])

    def price(self, loss: ComposedLoss, region: Region | None, queries: int = 1) -> Price:
        with self._session.opened.lock:
            return self._spender.change(self._account(self._last()), loss, region, queries).price

    def charge(self, loss: ComposedLoss, region: Region | None, queries: int = 1) -> Receipt:
        """As the protocol says; what is charged is on the disk when this returns."""
        made: list[Change] = []

        def entry_after(last: Sealed) -> Entry:
            change = self._spender.change(self._account(last), loss, region, queries)
            change.check_covered()
            made.append(change)
            entry = self._entry(last.entry, change)
            # The session has asked, whatever fails or interrupts it from here on.
            self._session.queries += change.charge.queries
            return entry

        with self._session.opened.lock:
            self._renew()
            self._session.opened.reader.follow(self.book.append(entry_after), made[0].after)
        return Receipt(loss, region, made[0].price)

    def _last(self) -> Sealed:
        """The last entry: if a period is over, that which begins the next."""
        self._renew()
        return self.book.last()

    def _renew(self) -> None:
        """Begin the next period, if one is over."""
        assert self.policy.lasting is not None
        if self.policy.lasting.period is not None:
            renew_where_over(self.book, self.asker)

    def _read(self, last: Sealed) -> State:
        """The state of the book; raises LedgerError where its terms refuse this session."""
        state = self._session.opened.reader.read(last)
        decision, limits = state.decision, state.decision.limits
        if decision is self._session.allowed:
            return state
        if (to := moved_to(last.entry)) is not None:
            raise has_moved(self.book, to)
        check_session(decision.terms, self.policy)
        if decision.version != self._session.opened.version:
            raise LedgerError(
                "the data owner has accepted other data or another policy since this session began",
                hint="start a new session",
                told=True,
            )
        if limits is not None and self.asker not in limits:
            raise LedgerError(
                f"{self.asker} is not among the analysts of this budget",
                hint="its data owner can add one: dpdb budget grant POLICY NAME EPSILON",
                told=True,
            )
        self._session.allowed = decision
        return state

    def _account(self, last: Sealed) -> Account:
        """The account after the last entry, which is worked out once."""
        known, session = self._session.account, self._session
        if known is None or (known.state.head.seal, known.asked) != (last.seal, session.queries):
            state = self._read(last)
            own = session.opened.reader.own_loss(last.entry, state.decision, self.asker)
            known = session.account = Account(state, own, session.queries)
        return known

    def _entry(self, last: Entry, change: Change) -> Entry:
        number, now = last.number + 1, self.book.now()
        if now < last.time - CLOCKS_DIFFER:
            raise LedgerError(
                "the clock of the ledger's machine is behind its last entry",
                hint="set the clock; if the entry was of a wrong one: dpdb budget accept POLICY",
                told=True,
            )
        return Entry(
            number,
            max(now, last.time),
            self.asker,
            change.charge,
            totals_of(change.after),
            last.decision,
            {**last.latest, self.asker: number},
            last.last_grouped,
        )
