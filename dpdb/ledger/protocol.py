"""The protocol of a ledger: prices, charges, balances, and releases that are kept."""

from __future__ import annotations

import hmac
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import field
from fractions import Fraction
from typing import Protocol

from dpdb.errors import LedgerError
from dpdb.plan.relations.regions import Region
from dpdb.policy.budget import Budget
from dpdb.privacy.accounting.accountants import BudgetShare, accountant
from dpdb.privacy.accounting.composition import NO_LOSS, ComposedLoss, Theorem
from dpdb.records import dataclass


@dataclass(frozen=True)
class Price:
    """The price of a statement: the growth of the session's loss."""

    epsilon: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)
    queries: int = 0

    def __add__(self, other: Price) -> Price:
        """The price of two steps of one statement."""
        return Price(
            self.epsilon + other.epsilon, self.delta + other.delta, self.queries + other.queries
        )

    def __truediv__(self, parts: int) -> Price:
        """The price in equal parts."""
        return Price(self.epsilon / parts, self.delta / parts, self.queries // parts)


FREE = Price()


@dataclass(frozen=True)
class Receipt:
    """A charge that a ledger has taken: a loss on the rows of a region, and its price.

    The price may be less than the loss, even nothing: losses on rows that exclude each other
    compose in parallel. So it is the loss that tells what may be released.
    """

    loss: ComposedLoss
    region: Region | None
    """The rows that the loss is on; None for all rows."""
    price: Price

    def __add__(self, other: Receipt) -> Receipt:
        """The receipt for two steps of one statement."""
        if self.region != other.region:
            raise ValueError("steps of one statement are on the same rows")
        return Receipt(self.loss + other.loss, self.region, self.price + other.price)

    def covers(self, loss: ComposedLoss, region: Region) -> bool:
        """Whether `loss` on the rows of `region` was charged for, in each measure of loss."""
        return loss.is_at_most(self.loss) and self.region in (None, region)


@dataclass(frozen=True)
class Balance:
    """A budget and what is left of it."""

    budget: Budget
    epsilon_left: Fraction
    delta_left: Fraction
    queries_left: int
    sums: ComposedLoss = NO_LOSS
    """The sums of losses so far that the composition theorems need."""
    own: Balance | None = None
    """The account of an analyst with a limit, whose budget and sums these are.

    What is left is then the lesser of what is left of that limit and of the whole budget. None
    where the asker has no limit.
    """

    @classmethod
    def after(cls, budget: Budget, sums: ComposedLoss = NO_LOSS, queries: int = 0) -> Balance:
        """The balance after `queries` queries with the total loss `sums`."""
        keeper = accountant(budget)
        return cls(
            budget,
            budget.epsilon - keeper.epsilon(sums),
            keeper.delta - keeper.delta_spent(sums),
            budget.queries - queries,
            sums,
        )

    @property
    def epsilon_spent(self) -> Fraction:
        """The ε that is spent: of a limit of one's own, by oneself alone."""
        account = self.own or self
        return account.budget.epsilon - account.epsilon_left

    @property
    def delta_spent(self) -> Fraction:
        """The δ that is spent: of a limit of one's own, by oneself alone."""
        account = self.own or self
        return account.budget.delta - account.delta_left

    @property
    def is_short_of_own(self) -> bool:
        """Whether the whole budget has less ε left than the asker's own limit."""
        return self.own is not None and self.epsilon_left < self.own.epsilon_left

    @property
    def shares(self) -> tuple[BudgetShare, ...]:
        """The shares of a query that asks for nothing special, by each theorem."""
        return accountant(self.budget).shares

    def shares_within(self, epsilon: Fraction | None) -> tuple[BudgetShare, ...]:
        """The shares of a query that spends `epsilon` at most; None asks for nothing special."""
        return self.shares if epsilon is None else accountant(self.budget).shares_of(epsilon)

    def raised_by(self, loss: ComposedLoss) -> Fraction:
        """By how much a loss raises the ε spent, if it is on rows that all queries were about.

        Of a limit of one's own, that spent by oneself alone: it tells nothing of others.
        """
        account = self.own or self
        return accountant(account.budget).price(loss, account.sums)

    @property
    def share(self) -> BudgetShare:
        """The share of a query that asks for nothing but a count."""
        return min(self.shares, key=lambda share: (self.strain(share.loss), share.variance))

    def strain(self, loss: ComposedLoss) -> Fraction:
        """The number of even parts of the remaining budget that a loss would take, at least 1.

        There is an even part for each query that is left.
        """
        part = accountant(self.budget).part_taken(loss, self.sums)
        return max(part * max(self.queries_left, 1), Fraction(1))

    def theorem(self, more: ComposedLoss = NO_LOSS) -> Theorem:
        """The theorem that pays for what is spent, and for `more` if that is charged."""
        return accountant(self.budget).theorem(self.sums + more)


QUERIES_IN_ALL = "queries in all"
"""The limit that all sessions of a lasting budget share."""


@dataclass(frozen=True)
class QueryLimit:
    """A limit of queries, and how many it has counted."""

    name: str
    most: int | None
    """None where queries are counted, and any number may be asked."""
    asked: int


LONGEST_STATEMENT = 1000
"""The most characters of a statement that a ledger records."""


@dataclass(frozen=True)
class Recorded:
    """A charge, as a ledger has recorded it for whoever asked."""

    time: int
    """In seconds since 1970."""
    statement: str
    price: Price
    """By how much it made the asker's account grow: the limit, or else the whole budget."""

    @property
    def is_cut(self) -> bool:
        """Whether the statement may have been longer than a record holds."""
        return len(self.statement) >= LONGEST_STATEMENT


@dataclass(frozen=True)
class PinnedData:
    """The data that a lasting budget is for, known by digests of its tables.

    They are keyed: without the key a digest would confirm a guess of the data.
    """

    key: bytes = field(repr=False)
    digests: Mapping[str, str] = field(repr=False)
    since: int = 0
    """When the data owner opened the budget for them, or accepted them, in seconds since 1970."""

    def check(self, table: str, digest: str) -> None:
        """Refuse other data than the budget is for; raises LedgerError."""
        if self.digests.get(table) != digest:
            raise LedgerError(
                f"the data of table {table} have changed, and the budget is not for them",
                hint="nothing new is answered until the data owner accepts them: "
                "dpdb budget accept POLICY --why …",
                told=True,
            )


class Ledger(Protocol):
    """Keeps one budget: both its limits hold, that of the loss and that of queries.

    Arithmetic is exact. Losses on the rows of different regions may compose in parallel, where
    the regions exclude each other; a ledger that does not look at regions charges in full, and
    is sound too. Several threads may use one ledger. It knows no rows and no noise, so that what
    it says is a function of the statements and of the policy. `tests/ledger/conformance` is what
    every ledger must pass.
    """

    @property
    @abstractmethod
    def balance(self) -> Balance:
        """The budget, and what is left of it."""

    @property
    def query_limits(self) -> tuple[QueryLimit, ...]:
        """The limits that hold: with a budget of its own, a session has one."""
        balance = self.balance
        most = balance.budget.queries
        return (QueryLimit("queries", most, most - balance.queries_left),)

    @property
    def pinned(self) -> PinnedData | None:
        """The data that the budget is for; None where it is for any."""
        return None

    @property
    def store(self) -> ReleaseStore | None:
        """The store of released values for later sessions; None where they are not kept."""
        return None

    def history(self) -> tuple[Recorded, ...] | None:
        """The asker's own charges, the last at the end; None where no records are kept."""
        return None

    def recording(self, statement: str) -> Ledger:
        """The ledger as it records, if it keeps records, that charges are for `statement`."""
        return self

    def showing(self, loss: ComposedLoss) -> Ledger:
        """The ledger where the next statement shows the asker as much as `loss`.

        What it charges for can be less or more: a part of it was released to others before. Ledgers
        of one asker do not tell the two apart.
        """
        return self

    @abstractmethod
    def rehearsal(self) -> Ledger:
        """A ledger that has spent as much, and in which charges change nothing in this one.

        It tells what statements would cost that are asked one after the other.
        """

    @abstractmethod
    def price(self, loss: ComposedLoss, region: Region | None, queries: int = 1) -> Price:
        """The price that `charge` takes for the same arguments, whether it is covered or not.

        It changes nothing.
        """

    @abstractmethod
    def charge(self, loss: ComposedLoss, region: Region | None, queries: int = 1) -> Receipt:
        """Take the price of a statement and give a receipt for its loss.

        `region` is the rows that can have a part in the statement; None stands for all rows.
        `queries` is 0 for a further step of a statement that has been counted.
        Raises BudgetExceeded where the budget does not cover it, and then takes nothing.
        There are no refunds. What was charged must be recorded before this returns, as rows are
        looked at next.
        """


_PURPOSE = b"a release that is kept"


def seal(key: bytes, purpose: bytes, texts: tuple[str, ...]) -> bytes:
    """The message authentication code of texts, by a key of their purpose that `key` leads to."""
    own = hmac.digest(key, purpose, "sha256")
    return hmac.digest(own, repr(texts).encode(), "sha256")


@dataclass(frozen=True)
class Kept:
    """A release for a statement, as `text`, under its scope, with the analyst who was shown it."""

    scope: str
    who: str
    text: str

    def seal(self, key: bytes) -> bytes:
        """The message authentication code of all of it."""
        return seal(key, _PURPOSE, (self.scope, self.who, self.text))


@dataclass(frozen=True)
class SealedRelease:
    """A release with its number in the ledger and its seal."""

    number: int
    kept: Kept
    seal: bytes

    def is_genuine(self, key: bytes) -> bool:
        """Whether the seal was made with this key for these values."""
        return self.kept.seal(key) == self.seal


class ReleaseStore(Protocol):
    """Keeps what was released of one version of the data."""

    @property
    @abstractmethod
    def asker(self) -> str:
        """The analyst whom releases are shown to."""

    @abstractmethod
    def kept(self, scope: str, after: int) -> tuple[SealedRelease, ...]:
        """The releases under a scope, shown to any analyst, with larger numbers than `after`."""

    @abstractmethod
    def keep(self, scope: str, text: str, after: int | None = None) -> int | None:
        """Keep what is about to be shown to the asker, and give its number; it is recorded then.

        None, and nothing is kept, where there are releases with larger numbers than `after`.
        """
