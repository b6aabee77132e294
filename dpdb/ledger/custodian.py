"""What the custodian decides about a lasting budget: each decision is an entry of the book."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction

from dpdb.errors import UsageError
from dpdb.ledger.anchor import Anchor
from dpdb.ledger.book import Book, Sealed, anchor_of, create
from dpdb.ledger.corrections import open_book
from dpdb.ledger.entries import Decision, Entry, Totals
from dpdb.ledger.state import decision_of
from dpdb.ledger.terms import described
from dpdb.policy.catalog import Policy
from dpdb.policy.lasting import LastingBudget
from dpdb.policy.numbers import decimal

Digests = Mapping[str, str]
"""For each table the keyed digest of its data."""
_Change = Callable[[Decision, int], Decision]
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
    """Make the ledger of a budget of which nothing is spent; raises LedgerError if there is one."""
    lasting = lasting_budget(policy)
    limits = None if lasting.analysts is None else dict(lasting.analysts)
    decision = Decision("open", "", described(policy), limits, digests, key, 0, 0)
    first = Entry(0, int(time.time()), who, decision, Totals(), 0, {}, None)
    create(lasting.ledger, first, anchor_of(lasting))


def book_of(policy: Policy) -> Book:
    """The open ledger of the budget that the policy names."""
    return open_book(lasting_budget(policy))


def book_to_accept_for(policy: Policy) -> Book:
    """The ledger, where its anchor may be one that only the new policy has."""
    lasting = lasting_budget(policy)
    if lasting.anchor is not None:
        unanchored = Book(lasting.ledger)
        last = unanchored.last()
        if not decision_of(unanchored, last.entry).terms["anchored"]:
            Anchor(lasting.anchor).begin(last.entry.number, last.seal)
    return open_book(lasting)


def accept(
    book: Book, policy: Policy, who: str, why: str, digests: Digests, *, fresh: bool = False
) -> Decision:
    """Let the policy and the data hold as they are now; what was spent stays spent.

    `fresh` says that nobody in the data was in it before: then the budget begins anew.
    """

    def changed(before: Decision, number: int) -> Decision:
        terms, limits = described(policy), before.limits
        if terms["analysts"] != before.terms["analysts"]:
            analysts = lasting_budget(policy).analysts
            limits = None if analysts is None else dict(analysts)
        since = number if fresh else before.since
        return Decision("accept", why, terms, limits, digests, before.key, since, number)

    return _decide(book, who, changed)


def grant(book: Book, who: str, analyst: str, epsilon: Fraction) -> Decision:
    """Let an analyst spend up to `epsilon` of the whole; from now on only those named may ask."""

    def changed(before: Decision, _: int) -> Decision:
        limits = {**(before.limits or {}), analyst: epsilon}
        return replace(before, action="grant", why=f"{analyst} {decimal(epsilon)}", limits=limits)

    return _decide(book, who, changed)


def revoke(book: Book, who: str, analyst: str) -> Decision:
    """Let an analyst ask no more; what he spent stays spent."""

    def changed(before: Decision, _: int) -> Decision:
        if analyst not in (before.limits or {}):
            raise UsageError(f"{analyst} is not among the analysts of this budget")
        limits = {name: most for name, most in (before.limits or {}).items() if name != analyst}
        return replace(before, action="revoke", why=analyst, limits=limits)

    return _decide(book, who, changed)


def _decide(book: Book, who: str, change: _Change) -> Decision:
    """Append the entry that `change` makes from the decision that holds and the entry's number."""
    made: list[Decision] = []

    def entry_after(last: Sealed) -> Entry:
        entry, number = last.entry, last.entry.number + 1
        decision = change(decision_of(book, entry), number)
        made.append(decision)
        totals, grouped = entry.totals, entry.last_grouped
        if decision.since == number:
            totals, grouped = Totals(), None
        elif decision.version == number:
            totals, grouped = Totals(totals.loss, totals.queries), None
        return Entry(number, int(time.time()), who, decision, totals, number, entry.latest, grouped)

    book.append(entry_after)
    return made[0]
