"""The ledger of a lasting budget: many sessions and analysts spend from one book."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from threading import Lock

from dpdb.errors import LedgerError
from dpdb.ledger import region_text
from dpdb.ledger.analysts import analyst
from dpdb.ledger.book import Book, Sealed
from dpdb.ledger.corrections import open_book
from dpdb.ledger.entries import Charge, Decision, Entry
from dpdb.ledger.kept import Kept, ReleaseStore, SealedRelease
from dpdb.ledger.protocol import (
    QUERIES_IN_ALL,
    Balance,
    Ledger,
    PinnedData,
    Price,
    QueryLimit,
    Receipt,
    Recorded,
)
from dpdb.ledger.spending import Spent, covered_price, price_between
from dpdb.ledger.state import State, StateReader, decision_of, totals_of
from dpdb.ledger.terms import check_session
from dpdb.ledger.windows import renew_where_over
from dpdb.plan.regions import Region
from dpdb.policy.budget import Budget
from dpdb.policy.catalog import Policy
from dpdb.privacy.accounting.composition import NO_LOSS, ComposedLoss

LONGEST_STATEMENT = 1000
"""How many characters of a statement are recorded with its charge."""
LONGEST_HISTORY = 100
"""How many charges of an analyst are shown: the last ones."""
CLOCKS_DIFFER = 3600
"""By how many seconds a clock may be behind the last entry, as clocks are set right at times."""


@dataclass
class _Session:
    """What the statements of one session share."""

    reader: StateReader
    version: int
    """The version of data and terms with which it began."""
    pinned: PinnedData
    allowed: Decision | None = None
    """The decision whose terms were last found to allow the session: they need no second look."""
    queries: int = 0
    """How many queries it has asked."""
    lock: Lock = field(default_factory=Lock)


@dataclass(frozen=True)
class _Account:
    """What has been spent: of the whole budget, by the analyst, and of a session's queries."""

    state: State
    own: ComposedLoss
    asked: int


@dataclass(frozen=True)
class _Change:
    """A charge, and what has been spent before and after it."""

    charge: Charge
    after: Spent
    balances: Sequence[tuple[Balance, Balance]]
    """Before and after: of the whole budget, and of the analyst's own part if that is limited."""

    @property
    def price(self) -> Price:
        """What it takes of the part that the analyst sees."""
        return price_between(*self.balances[-1])

    def check_covered(self) -> None:
        """Raise BudgetExceeded where the analyst's part, or the whole, has too little left.

        The error tells the price that the analyst sees. That of the whole would tell how much of it
        others have bought.
        """
        for before, after in self.balances[::-1]:
            covered_price(before, after, self.price)


@dataclass(frozen=True)
class LastingLedger(Ledger, ReleaseStore):
    """What one analyst may spend of a lasting budget, in one session.

    A charge must be within the whole budget, as far as this session's policy goes, and within the
    analyst's own limit where there is one. Of the whole, statements whose filters exclude each
    other spend once; of a limit of one's own every statement spends in full.
    """

    book: Book
    policy: Policy
    analyst: str
    _session: _Session = field(repr=False)
    _statement: str = ""
    _shown: ComposedLoss | None = None

    @classmethod
    def open(cls, policy: Policy, given: str | None = None) -> LastingLedger:
        """For the user, or for the analyst that the ledger's owner gives.

        Raises LedgerError where the ledger is not to be relied on, or refuses the session.
        """
        assert policy.lasting is not None
        book = open_book(policy.lasting)
        decision = decision_of(book, book.last().entry)
        since = book.at(decision.version).entry.time
        pinned = PinnedData(bytes.fromhex(decision.key), decision.digests, since)
        session = _Session(StateReader(book, policy.tables), decision.version, pinned)
        opened = cls(book, policy, analyst(book, given), session)
        opened._read(book.last())
        return opened

    @property
    def pinned(self) -> PinnedData:
        return self._session.pinned

    @property
    def store(self) -> ReleaseStore:
        return self

    @property
    def asker(self) -> str:
        return self.analyst

    def showing(self, loss: ComposedLoss) -> LastingLedger:
        return replace(self, _shown=loss)

    def recording(self, statement: str) -> LastingLedger:
        return replace(self, _statement=statement[:LONGEST_STATEMENT])

    @property
    def balance(self) -> Balance:
        """What is left for the analyst in this session: nothing, where more is spent already."""
        with self._session.lock:
            return self._balance(self._account(self._last()))

    def _balance(self, account: _Account) -> Balance:
        """What is left of an account."""
        parts = self._balances(account.state, account.state.spent, account.own, account.asked)
        return replace(
            parts[-1],
            epsilon_left=max(min(part.epsilon_left for part in parts), Fraction(0)),
            delta_left=max(min(part.delta_left for part in parts), Fraction(0)),
            queries_left=max(parts[0].queries_left, 0),
            own=parts[1] if len(parts) > 1 else None,
        )

    @property
    def query_limits(self) -> tuple[QueryLimit, ...]:
        """The session has one, and the budget where its terms say so."""
        assert self.policy.lasting is not None
        most = self.policy.lasting.queries_in_all
        with self._session.lock:
            in_all = self._read(self._last()).spent.queries
            asked = self._session.queries
        own = QueryLimit("queries of this session", self.policy.budget.queries, asked)
        return (own,) if most is None else (own, QueryLimit(QUERIES_IN_ALL, most, in_all))

    def history(self) -> tuple[Recorded, ...]:
        """The analyst's last charges, up to LONGEST_HISTORY."""
        records = list[Recorded]()
        with self._session.lock:
            number = self.book.last().entry.latest.get(self.analyst)
            while number is not None and len(records) < LONGEST_HISTORY:
                entry, before = self.book.at(number).entry, self.book.at(number - 1).entry
                if isinstance(entry.event, Charge):
                    price = self._price_of(entry, entry.event, before)
                    records.append(Recorded(entry.time, entry.event.statement, price))
                number = before.latest.get(self.analyst)
        return tuple(records[::-1])

    def _price_of(self, entry: Entry, charge: Charge, before: Entry) -> Price:
        """What a charge of the analyst took of the account that it was told of."""
        limits = decision_of(self.book, entry).limits
        budget = self._limited(limits)
        if limits is None:
            return price_between(
                Balance.after(budget, before.totals.loss, before.totals.queries),
                Balance.after(budget, entry.totals.loss, entry.totals.queries),
            )
        spent = self._session.reader.own_loss(before, decision_of(self.book, entry), self.analyst)
        return price_between(
            Balance.after(budget, spent), Balance.after(budget, charge.own, charge.queries)
        )

    def kept(self, scope: str, after: int) -> tuple[SealedRelease, ...]:
        """As the protocol says; raises LedgerError where a value was changed."""
        with self._session.lock:
            return self.book.kept(self._versioned(scope), after, self.pinned.key)

    def keep(self, scope: str, text: str, after: int | None = None) -> int | None:
        """As the protocol says; what is kept is on the disk when this returns."""
        release = Kept(self._versioned(scope), self.analyst, text)
        with self._session.lock:
            return self.book.keep(release, self.pinned.key, after)

    def _versioned(self, scope: str) -> str:
        """The scope within this version of data and terms, as other versions have their own."""
        return f"{self._session.version} {scope}"

    def rehearsal(self) -> Ledger:
        """As the protocol says; what others charge for meanwhile is not in it."""
        with self._session.lock:
            return _Rehearsal(self, [self._account(self._last())])

    def price(self, loss: ComposedLoss, region: Region | None, queries: int = 1) -> Price:
        """As the protocol says."""
        with self._session.lock:
            return self._change(self._account(self._last()), loss, region, queries).price

    def charge(self, loss: ComposedLoss, region: Region | None, queries: int = 1) -> Receipt:
        """As the protocol says; what is charged is on the disk when this returns."""
        made: list[_Change] = []

        def entry_after(last: Sealed) -> Entry:
            change = self._change(self._account(last), loss, region, queries)
            change.check_covered()
            made.append(change)
            entry = self._entry(last.entry, change)
            # The session has asked, whatever fails or interrupts it from here on.
            self._session.queries += change.charge.queries
            return entry

        with self._session.lock:
            self._last()
            self._session.reader.follow(self.book.append(entry_after), made[0].after)
        return Receipt(loss, region, made[0].price)

    def _last(self) -> Sealed:
        """The last entry: where a window is over, that which begins the next."""
        assert self.policy.lasting is not None
        if self.policy.lasting.window is not None:
            renew_where_over(self.book, self.analyst)
        return self.book.last()

    def _read(self, last: Sealed) -> State:
        """What the book says; raises LedgerError where its terms refuse this session."""
        state = self._session.reader.read(last)
        decision, limits = state.decision, state.decision.limits
        if decision is self._session.allowed:
            return state
        check_session(decision.terms, self.policy)
        if decision.version != self._session.version:
            raise LedgerError(
                "the custodian has accepted other data or another policy since this session began",
                hint="start a new session",
            )
        if limits is not None and self.analyst not in limits:
            raise LedgerError(
                f"{self.analyst} is not among the analysts of this budget",
                hint="its custodian can add one: dpdb budget grant POLICY NAME EPSILON",
            )
        self._session.allowed = decision
        return state

    def _account(self, last: Sealed) -> _Account:
        """What has been spent up to the last entry."""
        state = self._read(last)
        own = self._session.reader.own_loss(last.entry, state.decision, self.analyst)
        return _Account(state, own, self._session.queries)

    def _limited(self, limits: Mapping[str, Fraction] | None) -> Budget:
        """The session's budget, or the analyst's part of it where there are limits."""
        budget = self.policy.budget
        if limits is None:
            return budget
        most = limits.get(self.analyst, budget.epsilon)
        return replace(budget, epsilon=min(most, budget.epsilon))

    def _change(
        self, account: _Account, loss: ComposedLoss, region: Region | None, queries: int
    ) -> _Change:
        """What a charge would change, whether it is covered or not."""
        state, own, asked = account.state, account.own, account.asked
        loss, spent = loss.shortened(), state.spent
        if state.decision.limits is not None and self._shown not in (None, NO_LOSS):
            queries = 1  # nothing is asked of the data, but it is of the analyst's own account
        told, region = region_text.kept(region, self.policy.tables)
        group = spent.group_for(region)
        after = spent.after(loss, region, queries, group)
        shown = None if self._shown is None else self._shown.shortened()
        own_after = (own + (loss if shown is None else shown)).shortened()
        charge = Charge(self._statement, loss, queries, told, group, own_after, shown)
        return _Change(
            charge,
            after,
            tuple(
                zip(
                    self._balances(state, spent, own, asked),
                    self._balances(state, after, own_after, asked + queries),
                    strict=True,
                )
            ),
        )

    def _balances(
        self, state: State, spent: Spent, own: ComposedLoss, asked: int
    ) -> tuple[Balance, ...]:
        """What is left of the whole, and of the analyst's limit if there is one.

        `asked` is the number of queries of this session.
        """
        budget, lasting, limits = self.policy.budget, self.policy.lasting, state.decision.limits
        assert lasting is not None
        if lasting.queries_in_all is not None:
            asked = max(asked, budget.queries - lasting.queries_in_all + spent.queries)
        whole = Balance.after(budget, spent.sums, asked)
        if limits is None:
            return (whole,)
        return whole, Balance.after(self._limited(limits), own, asked)

    def _entry(self, last: Entry, change: _Change) -> Entry:
        number, now = last.number + 1, int(time.time())
        if now < last.time - CLOCKS_DIFFER:
            raise LedgerError(
                "the clock of this machine is behind the last entry of the ledger",
                hint="set the clock; if the entry was of a wrong one: dpdb budget accept POLICY",
            )
        return Entry(
            number,
            max(now, last.time),
            self.analyst,
            change.charge,
            totals_of(change.after),
            last.decision,
            {**last.latest, self.analyst: number},
            last.last_grouped,
        )


@dataclass(frozen=True)
class _Rehearsal(Ledger):
    """What an analyst would have spent after statements that are not asked."""

    ledger: LastingLedger
    accounts: list[_Account]
    """The account before the first charge, and after each."""

    @property
    def balance(self) -> Balance:
        """What would be left."""
        return self.ledger._balance(self.accounts[-1])

    def rehearsal(self) -> Ledger:
        """Another one from here on."""
        return replace(self, accounts=self.accounts[-1:])

    def showing(self, loss: ComposedLoss) -> Ledger:
        """As the protocol says."""
        return replace(self, ledger=self.ledger.showing(loss))

    def price(self, loss: ComposedLoss, region: Region | None, queries: int = 1) -> Price:
        """As the protocol says."""
        return self._change(loss, region, queries).price

    def charge(self, loss: ComposedLoss, region: Region | None, queries: int = 1) -> Receipt:
        """As the protocol says, and nothing is recorded."""
        change, before = self._change(loss, region, queries), self.accounts[-1]
        change.check_covered()
        state, asked = replace(before.state, spent=change.after), change.charge.queries
        self.accounts.append(_Account(state, change.charge.own, before.asked + asked))
        return Receipt(loss, region, change.price)

    def _change(self, loss: ComposedLoss, region: Region | None, queries: int) -> _Change:
        return self.ledger._change(self.accounts[-1], loss, region, queries)
