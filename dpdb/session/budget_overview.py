"""The data owner's side of a lasting budget: its data and its ledger, and what became of it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from fractions import Fraction

from dpdb.answers.record import AnswerRecord, Cell, columns_of
from dpdb.errors import InvalidOption, UsageError
from dpdb.ledger import accounts, custodian, moving, people
from dpdb.ledger.book.book import Sealed
from dpdb.ledger.book.entries import Charge, Decision, Entry
from dpdb.ledger.book.state import decision_of, spent_in_all
from dpdb.ledger.protocol import QUERIES_IN_ALL, Balance, QueryLimit
from dpdb.ledger.terms import budget_in
from dpdb.policy.budget import ledger_at
from dpdb.policy.catalog import Policy
from dpdb.session.backends import check_data, table_digest
from dpdb.session.free_statements import BUDGET_COLUMNS, budget_rows, utc_time

HISTORY = (
    "entry", "time", "who", "action", "statement", "epsilon", "delta", "queries",
    "epsilon_in_all", "delta_in_all", "queries_in_all", "seal",
)  # fmt: skip
"""The columns of the history; `statement` is a decision's reason where nothing was asked."""
_SUMS = ("statements", "epsilon")
RECENT = 20
"""The number of entries that `show` lists."""


def open_budget(policy: Policy) -> None:
    """Make the ledger of the budget that the policy names; it is for the data as they are now."""
    key = custodian.new_key()
    custodian.open_budget(policy, accounts.user(), key, _digests(policy, key))


def accept(policy: Policy, why: str, *, fresh: bool) -> None:
    """Let the budget be for the data and the policy as they are now."""
    book = custodian.book_to_accept_for(policy)
    key = decision_of(book, book.last().entry).key
    custodian.accept(book, policy, accounts.user(), why, _digests(policy, key), fresh=fresh)


def move(policy: Policy, to: str) -> tuple[Sealed, int, int]:
    """Move the ledger to a file or an address: its last entry, and the numbers of releases and
    accounts that it has."""
    try:
        return moving.move(policy, ledger_at(to), accounts.user())
    except InvalidOption as error:
        raise UsageError(error.message) from None


def add_user(
    policy: Policy, name: str, password: str | None, epsilon: Fraction | None, *, token: bool
) -> str | None:
    """Make an account of an analyst, who may spend up to `epsilon`; its token, if it has one."""
    user, made = people.new_user(name, password), None
    if token:
        user, made = user.with_token()
    custodian.add_user(custodian.book_of(policy), accounts.user(), user, epsilon)
    return made


def users_record(policy: Policy) -> AnswerRecord:
    """All accounts: since when, with what, and the most that each may spend."""
    book = custodian.book_of(policy)
    last = book.last().entry
    decision = decision_of(book, last)
    limits = decision.limits or {}
    rows = [
        (
            user.name,
            utc_time(user.made),
            user.password is not None,
            user.token is not None,
            float(limits[user.name]) if user.name in limits else None,
        )
        for user in people.users(book, people.key_of(book)).values()
    ]
    balance = Balance.after(budget_in(decision.terms), last.totals.loss)
    return _shown(("name", "since", "password", "token", "limit"), rows, balance)


def overview(policy: Policy) -> dict[str, AnswerRecord]:
    """Tables on the budget by title: in all, by analyst, by day, and the last entries."""
    book = custodian.book_of(policy)
    last = book.last().entry
    decision = decision_of(book, last)
    budget, terms = budget_in(decision.terms), decision.terms
    by_analyst, by_day, recent = _Sums(), _Sums(), deque[Sealed](maxlen=RECENT)
    for sealed in book.walk():
        recent.append(sealed)
        if sealed.entry.number >= decision.since:
            by_analyst.add(sealed.entry.who, sealed.entry, own=True)
            by_day.add(utc_time(sealed.entry.time).partition(" ")[0], sealed.entry)
    balance = Balance.after(budget, last.totals.loss)
    in_all = QueryLimit(QUERIES_IN_ALL, terms["queries_in_all"], last.totals.queries)
    rows = [*budget_rows(balance, balance.share.epsilon, [in_all])]
    if terms.get("window") is not None:
        epsilon, delta = spent_in_all(book.walk())
        rows.append(("epsilon of all periods", None, float(epsilon), None))
        rows.append(("delta of all periods", None, float(delta), None))
    limits = decision.limits or {}
    analysts = [
        (name, float(limits[name]) if name in limits else None, *by_analyst.of(name))
        for name in dict.fromkeys([*limits, *by_analyst.names])
    ]
    days = [(day, *by_day.of(day)) for day in by_day.names]
    lately = [row[: HISTORY.index("epsilon_in_all")] for row in history(recent)]
    return {
        "budget": _shown(BUDGET_COLUMNS, rows, balance),
        "analysts": _shown(("analyst", "limit", *_SUMS), analysts, balance),
        "days": _shown(("day", *_SUMS), days, balance),
        "history": _shown(HISTORY[: len(lately[0])], lately, balance),
    }


def history(entries: Iterable[Sealed]) -> list[tuple[Cell, ...]]:
    """The rows of the history: one for each entry."""
    rows = list[tuple[Cell, ...]]()
    for sealed in entries:
        entry = sealed.entry
        match entry.event:
            case Charge(statement=said, loss=loss, queries=queries, action=action):
                own = (float(loss.epsilon), float(loss.delta), queries)
            case Decision(action=action, why=said):
                own = (0.0, 0.0, 0)
        totals = entry.totals
        in_all = float(totals.loss.epsilon), float(totals.loss.delta), totals.queries
        rows.append((entry.number, utc_time(entry.time), entry.who, action, said, *own, *in_all,
                     sealed.seal.hex()))  # fmt: skip
    return rows


def history_record(policy: Policy) -> AnswerRecord:
    """The whole history."""
    book = custodian.book_of(policy)
    last = book.last().entry
    balance = Balance.after(budget_in(decision_of(book, last).terms), last.totals.loss)
    return _shown(HISTORY, history(book.walk()), balance)


class _Sums:
    """For each name the number of statements, and the sum of their ε."""

    def __init__(self) -> None:
        self._sums: dict[str, tuple[int, Fraction]] = {}

    def add(self, name: str, entry: Entry, *, own: bool = False) -> None:
        """Count an entry, if it is a charge: what the budget paid, or the analyst's own account."""
        if isinstance(entry.event, Charge):
            number, epsilon = self._sums.get(name, (0, Fraction(0)))
            charge = entry.event
            paid = charge.own_part if own else charge.loss
            self._sums[name] = number + charge.queries, epsilon + paid.epsilon

    @property
    def names(self) -> Iterable[str]:
        return self._sums

    def of(self, name: str) -> tuple[int, float]:
        """Both sums of a name."""
        number, epsilon = self._sums.get(name, (0, Fraction(0)))
        return number, float(epsilon)


def _digests(policy: Policy, key: str) -> dict[str, str]:
    """The digests of the tables, whose rows must be as the policy declares them."""
    check_data(policy)
    return {table.name: table_digest(table, bytes.fromhex(key)) for table in policy.tables}


def _shown(
    columns: tuple[str, ...], rows: Sequence[tuple[Cell, ...]], balance: Balance
) -> AnswerRecord:
    return AnswerRecord("", columns, columns_of(rows, len(columns)), balance)
