"""The custodian's side of a lasting budget: its data and its ledger, and what became of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

from dpdb.answers.record import AnswerRecord, Cell, columns_of
from dpdb.ledger import custodian
from dpdb.ledger.analysts import user
from dpdb.ledger.book import Book, Sealed
from dpdb.ledger.entries import Charge, Decision, Entry
from dpdb.ledger.protocol import Balance
from dpdb.ledger.state import decision_of
from dpdb.ledger.terms import budget_in
from dpdb.policy.catalog import Policy
from dpdb.session.backends import table_digest
from dpdb.session.catalog_views import BUDGET_COLUMNS, budget_rows, utc_time

HISTORY = (
    "entry", "time", "who", "action", "statement", "epsilon", "delta", "queries",
    "epsilon_in_all", "delta_in_all", "queries_in_all", "seal",
)  # fmt: skip
"""The columns of the history; `statement` is a decision's reason where nothing was asked."""
RECENT = 20
"""How many entries `show` lists."""


def open_budget(policy: Policy) -> None:
    """Make the ledger of the budget that the policy names; it is for the data as they are now."""
    key = custodian.new_key()
    custodian.open_budget(policy, user(), key, _digests(policy, key))


def accept(policy: Policy, why: str, *, fresh: bool) -> None:
    """Let the budget be for the data and the policy as they are now."""
    book = book_of(policy)
    key = decision_of(book, book.last().entry).key
    custodian.accept(book, policy, user(), why, _digests(policy, key), fresh=fresh)


def grant(policy: Policy, analyst: str, epsilon: Fraction) -> None:
    """Let an analyst spend up to `epsilon` of the budget."""
    custodian.grant(book_of(policy), user(), analyst, epsilon)


def revoke(policy: Policy, analyst: str) -> None:
    """Let an analyst ask no more."""
    custodian.revoke(book_of(policy), user(), analyst)


def book_of(policy: Policy) -> Book:
    """The open ledger of the budget that the policy names."""
    return Book(custodian.lasting_budget(policy).ledger)


def overview(policy: Policy) -> dict[str, AnswerRecord]:
    """What became of the budget: in all, by analyst, by day, and the last entries, by title."""
    entries = list(book_of(policy).walk())
    last = entries[-1].entry
    decision = next(e.entry.event for e in entries if e.entry.number == last.decision)
    assert isinstance(decision, Decision)
    budget, terms = budget_in(decision.terms), decision.terms
    # Each session has its own limit of queries; the budget has one where the terms say so.
    balance = Balance.after(budget, last.totals.loss)
    rows = [row for row in budget_rows(balance, balance.share.epsilon)
            if row[0] != "queries"]  # fmt: skip
    most, asked = terms["queries_in_all"], last.totals.queries
    rows.append(("queries in all", most, asked, None if most is None else most - asked))
    since = [each.entry for each in entries if each.entry.number >= decision.since]
    limits = decision.limits or {}
    by_analyst = _summed((entry.who, entry) for entry in since)
    analysts = [
        (name, float(limits[name]) if name in limits else None, *by_analyst.get(name, (0, 0.0)))
        for name in dict.fromkeys([*limits, *by_analyst])
    ]
    days = [(day, *sums) for day, sums in _summed((_day(entry), entry) for entry in since).items()]
    recent = [row[:8] for row in history(entries[-RECENT:])]
    return {
        "budget": _shown(BUDGET_COLUMNS, rows, balance),
        "analysts": _shown(("analyst", "limit", "statements", "epsilon"), analysts, balance),
        "days": _shown(("day", "statements", "epsilon"), days, balance),
        "history": _shown(HISTORY[:8], recent, balance),
    }


def history(entries: Iterable[Sealed]) -> list[tuple[Cell, ...]]:
    """The rows of the history: one for each entry."""
    rows = list[tuple[Cell, ...]]()
    for sealed in entries:
        entry = sealed.entry
        match entry.event:
            case Charge(statement=said, loss=loss, queries=queries):
                action, own = "charge", (float(loss.epsilon), float(loss.delta), queries)
            case Decision(action=action, why=said):
                own = (0.0, 0.0, 0)
        totals = entry.totals
        in_all = float(totals.loss.epsilon), float(totals.loss.delta), totals.queries
        rows.append((entry.number, utc_time(entry.time), entry.who, action, said, *own, *in_all,
                     sealed.seal.hex()))  # fmt: skip
    return rows


def history_record(policy: Policy) -> AnswerRecord:
    """The whole history."""
    book = book_of(policy)
    entries = list(book.walk())
    decision = decision_of(book, entries[-1].entry)
    balance = Balance.after(budget_in(decision.terms), entries[-1].entry.totals.loss)
    return _shown(HISTORY, history(entries), balance)


def _digests(policy: Policy, key: str) -> dict[str, str]:
    return {table.name: table_digest(table, bytes.fromhex(key)) for table in policy.tables}


def _summed(entries: Iterable[tuple[str, Entry]]) -> dict[str, tuple[int, float]]:
    """For each name the number of statements and the sum of their ε."""
    sums: dict[str, tuple[int, Fraction]] = {}
    for name, entry in entries:
        if isinstance(entry.event, Charge):
            number, epsilon = sums.get(name, (0, Fraction(0)))
            sums[name] = number + entry.event.queries, epsilon + entry.event.loss.epsilon
    return {name: (number, float(epsilon)) for name, (number, epsilon) in sums.items()}


def _day(entry: Entry) -> str:
    return utc_time(entry.time)[:10]


def _shown(
    columns: tuple[str, ...], rows: Sequence[tuple[Cell, ...]], balance: Balance
) -> AnswerRecord:
    return AnswerRecord("", columns, columns_of(rows, len(columns)), balance)
