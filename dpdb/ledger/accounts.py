"""The accounts of analysts: what each has spent of the shared budget, and who is asking."""

from __future__ import annotations

import os
import pwd
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from dpdb.errors import LedgerError, UsageError
from dpdb.ledger.book import plan_text
from dpdb.ledger.book.book import Book
from dpdb.ledger.book.entries import Charge
from dpdb.ledger.book.state import State
from dpdb.ledger.protocol import Balance, Ledger, Price, Receipt
from dpdb.ledger.spending import Spent, covered_price, price_between
from dpdb.plan.relations.regions import Region
from dpdb.policy.budget import LONGEST_NAME, Budget, is_name
from dpdb.policy.catalog import Policy
from dpdb.privacy.accounting.composition import NO_LOSS, ComposedLoss
from dpdb.records import dataclass


@dataclass(frozen=True)
class Account:
    """The state of the whole budget, the analyst's own loss, and the queries of a session."""

    state: State
    own: ComposedLoss
    asked: int


@dataclass(frozen=True)
class Change:
    """A charge, and what has been spent before and after it."""

    charge: Charge
    after: Spent
    balances: Sequence[tuple[Balance, Balance]]
    """Before and after: of the whole budget, and of the analyst's own part if that is limited."""

    @property
    def price(self) -> Price:
        """The price in the part that the analyst sees."""
        return price_between(*self.balances[-1])

    def check_covered(self) -> None:
        """Raise BudgetExceeded where the analyst's part, or the whole, has too little left.

        The error tells the price that the analyst sees. That of the whole would tell how much of it
        others have bought.
        """
        for before, after in self.balances[::-1]:
            covered_price(before, after, self.price)


@dataclass(frozen=True)
class Spender:
    """The analyst who asks in one session, and the statement that is charged for."""

    policy: Policy
    analyst: str
    statement: str = ""
    shown: ComposedLoss | None = None
    """The loss that the analyst's own account pays, where it differs from the statement's."""

    def balance(self, account: Account) -> Balance:
        """The balance that an account leaves: of each number the least that any part has."""
        parts = self._balances(account.state, account.state.spent, account.own, account.asked)
        return replace(
            parts[-1],
            epsilon_left=max(min(part.epsilon_left for part in parts), Fraction(0)),
            delta_left=max(min(part.delta_left for part in parts), Fraction(0)),
            queries_left=max(parts[0].queries_left, 0),
            own=parts[1] if len(parts) > 1 else None,
        )

    def limited(self, limits: Mapping[str, Fraction] | None) -> Budget:
        """The session's budget, or the analyst's part of it where there are limits."""
        budget = self.policy.budget
        if limits is None:
            return budget
        most = limits.get(self.analyst, budget.epsilon)
        return replace(budget, epsilon=min(most, budget.epsilon))

    def change(
        self, account: Account, loss: ComposedLoss, region: Region | None, queries: int
    ) -> Change:
        """The change that a charge would make, whether it is covered or not."""
        state, own, asked = account.state, account.own, account.asked
        loss, spent = loss.shortened(), state.spent
        if state.decision.limits is not None and self.shown not in (None, NO_LOSS):
            queries = 1  # nothing is asked of the data, but it is of the analyst's own account
        region_text, region = plan_text.kept_region(region, self.policy.tables)
        group = spent.group_for(region)
        after = spent.after(loss, region, queries, group)
        shown = None if self.shown is None else self.shown.shortened()
        own_after = (own + (loss if shown is None else shown)).shortened()
        charge = Charge(self.statement, loss, queries, region_text, group, own_after, shown)
        return Change(
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
        """The balances of the whole, and of the analyst's limit if there is one.

        `asked` is the number of queries of this session.
        """
        budget, lasting, limits = self.policy.budget, self.policy.lasting, state.decision.limits
        assert lasting is not None
        if lasting.queries_in_all is not None:
            asked = max(asked, budget.queries - lasting.queries_in_all + spent.queries)
        whole = Balance.after(budget, spent.sums, asked)
        if limits is None:
            return (whole,)
        return whole, Balance.after(self.limited(limits), own, asked)


@dataclass(frozen=True)
class Rehearsal(Ledger):
    """A ledger that forgets its charges: the statements are planned, and not asked."""

    spender: Spender
    accounts: list[Account]
    """The account before the first charge, and after each."""

    @property
    def balance(self) -> Balance:
        return self.spender.balance(self.accounts[-1])

    def rehearsal(self) -> Ledger:
        """A rehearsal that begins where this one is."""
        return replace(self, accounts=self.accounts[-1:])

    def showing(self, loss: ComposedLoss) -> Ledger:
        return replace(self, spender=replace(self.spender, shown=loss))

    def price(self, loss: ComposedLoss, region: Region | None, queries: int = 1) -> Price:
        return self._change(loss, region, queries).price

    def charge(self, loss: ComposedLoss, region: Region | None, queries: int = 1) -> Receipt:
        """As the protocol says, and nothing is recorded."""
        change, before = self._change(loss, region, queries), self.accounts[-1]
        change.check_covered()
        state, asked = replace(before.state, spent=change.after), change.charge.queries
        self.accounts.append(Account(state, change.charge.own, before.asked + asked))
        return Receipt(loss, region, change.price)

    def _change(self, loss: ComposedLoss, region: Region | None, queries: int) -> Change:
        return self.spender.change(self.accounts[-1], loss, region, queries)


def user() -> str:
    """The name of the user who runs this process; environment variables have no say in it."""
    number = os.getuid()
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"user {number}"


def analyst(book: Book, given: str | None) -> str:
    """The analyst who asks: the user or, if the user owns the ledger, the one that is given."""
    if given is None:
        return user()
    if not is_name(given):
        raise UsageError(f"the name of an analyst has 1 to {LONGEST_NAME} visible characters")
    if os.getuid() != book.owner:
        raise LedgerError("only the owner of the ledger asks for another analyst")
    return given
