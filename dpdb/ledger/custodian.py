"""The data owner's side of a lasting budget: decisions, each an entry of the book; verification."""

from __future__ import annotations

import secrets
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field, replace
from fractions import Fraction
from pathlib import Path

from dpdb.errors import LedgerError, UsageError
from dpdb.ledger import people
from dpdb.ledger.book.book import Book, Contents, Sealed, sealed_after
from dpdb.ledger.book.corrections import open_book
from dpdb.ledger.book.database import Anchor
from dpdb.ledger.book.entries import ARRIVE, MOVE, Charge, Decision, Entry, Totals
from dpdb.ledger.book.forms import book_at, create
from dpdb.ledger.book.state import RENEW, decision_of, is_due, region_in, renewed, totals_of
from dpdb.ledger.spending import Spent
from dpdb.ledger.terms import TermTexts, described, neighbors_in, tables_in
from dpdb.policy.budget import LastingBudget
from dpdb.policy.catalog import Policy, Table
from dpdb.policy.numbers import decimal
from dpdb.policy.output_files import check_output, files_of_policy
from dpdb.privacy.accounting.composition import NO_LOSS, ComposedLoss
from dpdb.records import dataclass

Digests = Mapping[str, str]
"""For each table the keyed digest of its data."""
_PUBLIC = "nobody, as it is public"
Change = Callable[[Decision, int], Decision]
"""From the decision that holds and the number of the next entry to the next decision."""


def lasting_budget(policy: Policy) -> LastingBudget:
    """The budget that the policy names; raises UsageError where it names none."""
    if policy.lasting is None:
        raise UsageError(
            "this policy names no budget that lasts",
            hint='[budget] name = "…" in the policy names one',
        )
    return policy.lasting


def new_key() -> str:
    """A key for digests, in hexadecimal."""
    return secrets.token_hex(32)


def open_budget(policy: Policy, who: str, key: str, digests: Digests) -> None:
    """Make the ledger of a budget of which nothing is spent; raises LedgerError if there is one.

    Neither it nor its anchor becomes a file of the data, or a part of a database: UsageError.
    """
    lasting = lasting_budget(policy)
    for path in (lasting.ledger, lasting.anchor):
        if isinstance(path, Path) and not path.exists():
            check_output(path, files_of_policy(replace(policy, lasting=None)), new=True)
    limits = None if lasting.analysts is None else dict(lasting.analysts)
    decision = Decision("open", "", described(policy), limits, digests, key, 0, 0)
    first = Entry(0, int(time.time()), who, decision, Totals(), 0, {}, None)
    create(lasting, Contents(key, [sealed_after(None, first)]), begins=True)


def book_of(policy: Policy) -> Book:
    """The open ledger of the budget that the policy names."""
    return open_book(lasting_budget(policy))


def book_to_accept_for(policy: Policy) -> Book:
    """The ledger, where its anchor may be one that only the new policy has."""
    lasting = lasting_budget(policy)
    if lasting.anchor is not None:
        unanchored = book_at(replace(lasting, anchor=None))
        last = unanchored.last()
        if not decision_of(unanchored, last.entry).terms["anchored"]:
            Anchor(lasting.anchor).begin(last.entry.number, last.seal)
    return open_book(lasting)


def accept(
    book: Book, policy: Policy, who: str, why: str, digests: Digests, *, fresh: bool = False
) -> Decision:
    """Let the policy and the data hold as they are now; what was spent stays spent.

    `fresh` says that nobody in the data was in it before: then the budget begins anew. Raises
    LedgerError where it is not, and what was spent was spent on another promise: an ε for one row
    is no ε for all rows of a person, and one for rows that enter is none for rows that change.
    """

    def changed(before: Decision, number: int) -> Decision:
        terms, limits = described(policy), before.limits
        if not fresh:
            _check_promise(book, terms)
        if terms["analysts"] != before.terms["analysts"]:
            analysts = lasting_budget(policy).analysts
            limits = None if analysts is None else dict(analysts)
        since = number if fresh else before.since
        return Decision("accept", why, terms, limits, digests, before.key, since, number)

    return decide(book, who, changed)


def _check_promise(book: Book, terms: TermTexts) -> None:
    """Refuse terms that keep another unit secret than the terms under which something was spent.

    Tables are compared by their names; one that is there for the first time promises nothing yet.
    """
    promised = dict[str, str]()
    deciding: TermTexts = terms
    for sealed in book.walk():
        match sealed.entry.event:
            case Decision(since=since, action=action) as decision:
                deciding = decision.terms
                if since == sealed.entry.number and action != RENEW:
                    promised.clear()
            case Charge(loss=loss) if loss != NO_LOSS:
                for what, before in _promise(deciding).items():
                    promised.setdefault(what, before)
    now = _promise(terms)
    for what, before in promised.items():
        if now.get(what, before) not in (before, _PUBLIC):
            raise LedgerError(
                f"what was spent was spent with {what} {before}, and it is {now[what]} here: the "
                "same ε would claim more than was kept",
                hint="keep what it was, open another budget, or say --fresh-data if nobody in the "
                "data was in it before",
            )


def _promise(terms: TermTexts) -> dict[str, str]:
    """The relation of neighbours, and of each table the unit, as a message names them."""
    promise = {"neighbors": str(terms["neighbors"])}
    for table in tables_in(terms):
        # Of rows with one owner the kind is a word for it: customer 5 may be called person 5.
        owners = table.owners or [replace(each, kind="") for each in table.owned_by]
        named = " and ".join(sorted(map(str, owners)))
        unit = f"the column {named}" if named else "the row"
        promise[f"the unit of {table.name}"] = _PUBLIC if table.public else unit
    return promise


def grant(book: Book, who: str, analyst: str, epsilon: Fraction) -> Decision:
    """Let an analyst spend up to `epsilon` of the whole; from now on only those named may ask."""

    return decide(book, who, lambda before, _: _granted(before, analyst, epsilon))


def _granted(before: Decision, analyst: str, epsilon: Fraction) -> Decision:
    limits = {**(before.limits or {}), analyst: epsilon}
    return replace(before, action="grant", why=f"{analyst} {decimal(epsilon)}", limits=limits)


def add_user(book: Book, who: str, user: people.User, epsilon: Fraction | None) -> None:
    """Make an account for an analyst, and let him spend up to `epsilon`: both or neither.

    Raises UsageError where there is one, or where analysts have limits and this one has none.
    """

    def changed(before: Decision, _: int) -> Decision:
        assert epsilon is not None
        people.insert(book, bytes.fromhex(before.key), user)
        return _granted(before, user.name, epsilon)

    if epsilon is not None:
        decide(book, who, changed)
        return
    with book.changing():
        decision = decision_of(book, book.last().entry)
        if decision.limits is not None and user.name not in decision.limits:
            raise UsageError(
                f"each analyst has a part of this budget, and {user.name} has none",
                hint="--epsilon 0.1 gives one",
            )
        people.insert(book, bytes.fromhex(decision.key), user)


def remove_user(book: Book, who: str, name: str) -> None:
    """Remove an account, and the analyst's part of the budget: both or neither."""

    def changed(before: Decision, _: int) -> Decision:
        people.delete(book, name)
        return _revoked(before, name)

    if name in (decision_of(book, book.last().entry).limits or {}):
        decide(book, who, changed)
    else:
        people.delete(book, name)


def revoke(book: Book, who: str, analyst: str) -> Decision:
    """Let an analyst ask no more; what he spent stays spent."""

    return decide(book, who, lambda before, _: _revoked(before, analyst))


def _revoked(before: Decision, analyst: str) -> Decision:
    if analyst not in (before.limits or {}):
        raise UsageError(f"{analyst} is not among the analysts of this budget")
    limits = {name: most for name, most in (before.limits or {}).items() if name != analyst}
    return replace(before, action="revoke", why=analyst, limits=limits)


def decide(book: Book, who: str, change: Change) -> Decision:
    """Append the entry that `change` makes from the decision that holds and the entry's number."""
    made = book.append(lambda last: decided(book, last, who, change)).entry.event
    assert isinstance(made, Decision)
    return made


def decided(book: Book, last: Sealed, who: str, change: Change) -> Entry:
    """The entry of a decision, to follow the last one."""
    entry, number = last.entry, last.entry.number + 1
    decision = change(decision_of(book, entry), number)
    totals, grouped = entry.totals, entry.last_grouped
    if decision.since == number:
        totals, grouped = Totals(), None
    elif decision.version == number:
        totals, grouped = Totals(totals.loss, totals.queries), None
    return Entry(number, book.now(), who, decision, totals, number, entry.latest, grouped)


def verified(book: Book) -> Iterator[Sealed]:
    """All entries; raises LedgerError at the first that is not what those before it lead to.

    After them the seals of all releases that are kept, and of all accounts, are checked.
    """
    rebuilt: _Rebuilt | None = None
    key = b""
    for sealed in book.walk():
        rebuilt = _begun(book, sealed.entry) if rebuilt is None else rebuilt
        if rebuilt is None or not rebuilt.leads_to(sealed.entry):
            raise LedgerError(
                f"entry {sealed.entry.number} of {book.place} is not what those before it lead to"
            )
        match sealed.entry.event:
            case Decision() as decision:
                key = bytes.fromhex(decision.key)
        yield sealed
    deque(book.walk_kept(key), maxlen=0)
    people.users(book, key)


@dataclass
class _Rebuilt:
    """The state that the entries so far lead to."""

    book: Book
    spent: Spent
    tables: tuple[Table, ...] = ()
    decision: int = 0
    deciding: Decision | None = None
    """The decision whose terms hold."""
    began: int = 0
    """When the budget began: with its first entry, its renewal, or fresh data."""
    own: dict[str, ComposedLoss] = field(default_factory=dict)
    """The loss of each analyst since the budget began."""
    latest: dict[str, int] = field(default_factory=dict)
    last_grouped: int | None = None

    def leads_to(self, entry: Entry) -> bool:
        """Whether the entry is as it must be, and may follow where a ledger was moved."""
        before = self.deciding
        agrees = self._next(entry) == entry
        if before is None or before.action != MOVE:
            return agrees
        return agrees and isinstance(entry.event, Decision) and entry.event.action == ARRIVE

    def _next(self, entry: Entry) -> Entry:
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
    """The state before the first entry; None where that does not open a budget."""
    match first.event:
        case Decision(action="open", since=0, version=0) as decision:
            return _Rebuilt(book, Spent(neighbors_in(decision.terms)))
    return None
