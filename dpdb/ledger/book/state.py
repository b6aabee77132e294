"""The state of a ledger, and its periods: a budget that begins anew after some days.

A renewal is an entry of the book. The first session that asks after the end of a period makes the
entry, and the next period is counted from there, so that there are never more of them than days
allow. The times of entries decide, which never go back; a clock that is set back renews nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import field, replace
from fractions import Fraction

from dpdb.errors import LedgerError
from dpdb.ledger.book import plan_text
from dpdb.ledger.book.book import Book, Sealed
from dpdb.ledger.book.entries import Charge, Decision, Entry, Totals
from dpdb.ledger.book.plan_text import RegionText
from dpdb.ledger.spending import Spent
from dpdb.ledger.terms import TermTexts, budget_in, neighbors_in
from dpdb.plan.relations.regions import Region
from dpdb.policy.catalog import Table
from dpdb.privacy.accounting.accountants import accountant
from dpdb.privacy.accounting.composition import NO_LOSS, ComposedLoss
from dpdb.records import dataclass


@dataclass(frozen=True)
class State:
    """The decision that holds and all that is spent, as of a book's last entry."""

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
                f"{self.book.place} is older than it was a moment ago",
                hint="nothing is answered from it until its data owner has looked",
            )

    def _after(self, before: State | None, head: Sealed) -> State:
        entry = head.entry
        if before is not None and before.head.entry.decision == entry.decision:
            decision = before.decision
        else:
            decision = decision_of(self.book, entry)
        spent, done = Spent(neighbors_in(decision.terms)), -1
        if before is not None and _is_same_budget(before.decision, decision):
            spent, done = before.spent, before.head.entry.number
        if grouped := self._grouped(entry, done):
            spent = spent.with_grouped(grouped)
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
                case Charge(loss=loss, region=dict() as text, group=int() as group):
                    region = region_in(self.book, number, text, self.tables)
                    charges.append((loss, region, group))
                case _:
                    raise _wrong(self.book)
            number = grouped.grouped_before
        return charges[::-1]


def region_in(book: Book, number: int, text: RegionText, tables: Sequence[Table]) -> Region:
    """The region of the entry `number`; raises LedgerError, which names it, where it has none."""
    try:
        return plan_text.read_region(text, tables)
    except plan_text.UnreadableRegionError:
        raise LedgerError(
            f"entry {number} of {book.place} has a filter that cannot be read",
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
    """The totals that an entry has of all that was spent."""
    return Totals(spent.sums, spent.queries, spent.regions, spent.turns)


def _wrong(book: Book) -> LedgerError:
    return LedgerError(f"entries of {book.place} name others that are not what they are named for")


RENEW = "renew"
"""The action of a renewal's entry."""
_DAY = 86_400


class _NotOverError(Exception):
    """The period is not over: another process has renewed the budget just before."""


def renew_where_over(book: Book, who: str) -> None:
    """Begin the next period, if the budget has periods and the present one is over."""
    last = book.last()
    if _is_over(book, last, now := book.now()):
        with suppress(_NotOverError):
            book.append(lambda last: _renewal(book, last, who, now))


def renewed(before: Decision, number: int) -> Decision:
    """The decision that a renewal is, as the entry `number`: all stays but what was spent."""
    return replace(before, action=RENEW, why="", since=number)


def is_due(before: Decision, began: int, now: int) -> bool:
    """Whether a period that began at one time is over at another."""
    days = before.terms.get("window")
    return days is not None and now >= began + days * _DAY


def _renewal(book: Book, last: Sealed, who: str, now: int) -> Entry:
    if not _is_over(book, last, now):
        raise _NotOverError
    entry, number = last.entry, last.entry.number + 1
    decision = renewed(decision_of(book, entry), number)
    return Entry(
        number, max(now, entry.time), who, decision, Totals(), number, entry.latest, None
    )  # fmt: skip


def _is_over(book: Book, last: Sealed, now: int) -> bool:
    decision = decision_of(book, last.entry)
    return is_due(decision, book.at(decision.since).entry.time, now)


def spent_in_all(entries: Iterable[Sealed]) -> tuple[Fraction, Fraction]:
    """The ε and δ of all periods together. Data of people who are new begin the count anew.

    The ε and δ of periods are not added up: how much a period spends follows from its answers, and
    what is spent adaptively has no such theorem under zCDP. The losses of statements add up
    instead, in each of the measures of `ComposedLoss`, and are converted once, by the theorem of
    the last terms.

    Proof. All periods together are one session on the same people, whose statements may depend on
    all answers before them, those of earlier periods included; what a person has in the data of any
    period is one unit. Each release is (ε_i, δ_i)-DP, and ρ_i-zCDP but for a δ; Laplace noise of
    ε_i has ρ_i = ε_i²/2 ([BS16] Proposition 1.4). The ε_i, the δ_i and the ρ_i of all periods add
    up, also where they are chosen adaptively ([DR14] Theorem 3.16, [WRRW23] Theorem 1); of filters
    in one period that exclude each other a unit meets one. So a session that stops before this ε
    would exceed one that is fixed beforehand is (ε, δ)-DP for that one and the δ given here: by
    sequential composition, and under zCDP by the proof in `accountants.Concentrated`, whose session
    this is. It holds as well where a decision of the data owner has changed the theorem in between,
    as all sums are kept from the first statement on.
    """
    before = last = NO_LOSS
    terms: TermTexts | None = None
    for sealed in entries:
        entry = sealed.entry
        match entry.event:
            case Decision(since=since, action=action) as decision:
                if since == entry.number:
                    before = (before + last).shortened() if action == RENEW else NO_LOSS
                terms = decision.terms
        last = entry.totals.loss
    assert terms is not None
    loss, keeper = before + last, accountant(budget_in(terms))
    return keeper.epsilon(loss), keeper.delta_spent(loss) + (keeper.slack if loss.epsilon else 0)
