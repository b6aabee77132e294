"""Windows: a budget that begins anew after some days, and what all its windows add up to.

A renewal is an entry of the book. It is made by the first session that asks when a window is over,
and the next window is counted from there, so that there are never more of them than days allow.
It is told by the times of entries, which never go back; a clock that is set back renews nothing.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction

from dpdb.ledger.book import Book, Sealed
from dpdb.ledger.entries import Decision, Entry, Totals
from dpdb.ledger.state import decision_of
from dpdb.ledger.terms import TermTexts, budget_in
from dpdb.privacy.accounting.accountants import accountant
from dpdb.privacy.accounting.composition import NO_LOSS

RENEW = "renew"
"""What the entry of a renewal is called."""
_DAY = 86_400


class _NotOverError(Exception):
    """The window is not over: another process has renewed the budget just before."""


def renew_where_over(book: Book, who: str) -> None:
    """Begin the next window, if the budget has windows and the present one is over."""
    now = int(time.time())
    if _is_over(book, book.last(), now):
        with suppress(_NotOverError):
            book.append(lambda last: _renewal(book, last, who, now))


def renewed(before: Decision, number: int) -> Decision:
    """The decision that a renewal is, as the entry `number`: all stays but what was spent."""
    return replace(before, action=RENEW, why="", since=number)


def is_due(before: Decision, began: int, now: int) -> bool:
    """Whether a window that began at one time is over at another."""
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
    """The ε and δ of all windows together. Data of people who are new begin the count anew.

    The ε and δ of windows are not added up: how much a window spends follows from its answers, and
    what is spent adaptively has no such theorem under zCDP. The losses of statements add up
    instead, in each of the measures of `ComposedLoss`, and are converted once, by the theorem of
    the last terms.

    Proof. All windows together are one session on the same people, whose statements may depend on
    all answers before them, those of earlier windows included; what a person has in the data of any
    window is one unit. Each release is (ε_i, δ_i)-DP, and ρ_i-zCDP but for a δ; Laplace noise of
    ε_i has ρ_i = ε_i²/2 ([BS16] Proposition 1.4). The ε_i, the δ_i and the ρ_i of all windows add
    up, also where they are chosen adaptively ([DR14] Theorem 3.16, [WRRW23] Theorem 1); of filters
    in one window that exclude each other a unit meets one. So a session that stops before this ε
    would exceed one that is fixed beforehand is (ε, δ)-DP for that one and the δ given here: by
    sequential composition, and under zCDP by the proof in `accountants.Concentrated`, whose session
    this is. It holds as well where a decision of the custodian has changed the theorem in between,
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
