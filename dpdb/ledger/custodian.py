"""What the data owner decides about a lasting budget: each decision is an entry of the book."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction

from dpdb.errors import LedgerError, UsageError
from dpdb.ledger.book.anchor import Anchor
from dpdb.ledger.book.book import Book, Sealed, anchor_of, create
from dpdb.ledger.book.corrections import open_book
from dpdb.ledger.book.entries import Charge, Decision, Entry, Totals
from dpdb.ledger.book.state import RENEW, decision_of
from dpdb.ledger.terms import TermTexts, described
from dpdb.policy.budget import LastingBudget
from dpdb.policy.catalog import Policy
from dpdb.policy.numbers import decimal
from dpdb.privacy.accounting.composition import NO_LOSS

Digests = Mapping[str, str]
"""For each table the keyed digest of its data."""
_PUBLIC = "nobody, as it is public"
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

    return _decide(book, who, changed)


def _check_promise(book: Book, terms: TermTexts) -> None:
    """Refuse terms by which another unit is kept secret than by those that something was spent on.

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
    for name, table in terms["tables"].items():
        chain = table.get("chain")
        unit = "the row" if table["unit"] is None else f"the column {table['unit']}"
        unit = unit if chain is None else f"that of {'.'.join(chain)}"
        promise[f"the unit of {name}"] = _PUBLIC if table.get("public") else unit
    return promise


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
