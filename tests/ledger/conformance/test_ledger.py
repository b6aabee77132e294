"""What `dpdb.ledger.protocol.Ledger` promises, of every ledger."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from threading import Thread

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dpdb.errors import BudgetExceeded
from dpdb.ledger.protocol import FREE, Ledger, Price, Receipt
from dpdb.plan.expressions.expressions import ColumnRef, Expr, Literal, compare, conjunction
from dpdb.plan.relations.regions import Region, region
from dpdb.policy.budget import Budget, Composition, Neighbors
from dpdb.policy.catalog import Kind
from dpdb.privacy.accounting.accountants import accountant
from dpdb.privacy.accounting.composition import NO_LOSS, ComposedLoss
from dpdb.privacy.accounting.loss import Loss, pure
from tests.ledger.conformance.conftest import OpenLedger
from tests.support.lasting import TABLE

ADD_REMOVE, REPLACE = Neighbors.ADD_REMOVE, Neighbors.REPLACE
DELTA = Fraction(1, 10**6)
BUDGETS = [
    Budget(Fraction(1), Fraction(0), 10),
    Budget(Fraction(1), DELTA, 10),
    Budget(Fraction(1), DELTA, 10, Composition.ADVANCED),
    Budget(Fraction(1), DELTA, 10, Composition.ZCDP),
]
X = ColumnRef(TABLE.columns[0])
POINTS = range(10)
every_budget = pytest.mark.parametrize("budget", BUDGETS, ids=lambda b: f"{b.composition}{b.delta}")
every_relation = pytest.mark.parametrize("relation", Neighbors)


def _number(value: int) -> Literal:
    return Literal(value, Kind.INTEGER)


def between(low: int, high: int) -> Region:
    """The rows whose x is from `low` to `high`."""
    above: Expr = compare("<=", _number(low), X)
    return region(TABLE, conjunction(above, compare("<=", X, _number(high))))


def at(value: int) -> Region:
    return between(value, value)


def of(epsilon: Fraction | int, delta: Fraction | int = 0) -> ComposedLoss:
    one = pure(Fraction(epsilon))
    return ComposedLoss.of(replace(one, delta=Fraction(delta), rho_delta=Fraction(delta)))


@dataclass(frozen=True)
class Statement:
    """What a ledger may be asked for; `ends` are those of x, None for all rows."""

    loss: ComposedLoss
    ends: tuple[int, int] | None
    queries: int

    @property
    def region(self) -> Region | None:
        return None if self.ends is None else between(*self.ends)

    def sees(self, value: int) -> bool:
        return self.ends is None or self.ends[0] <= value <= self.ends[1]


amounts = st.fractions(Fraction(1, 1000), Fraction(2, 5), max_denominator=1000)
deltas = st.sampled_from([Fraction(0), Fraction(0), DELTA / 7, DELTA / 2, 2 * DELTA])
ranges = st.tuples(st.sampled_from(POINTS), st.sampled_from(POINTS)).map(
    lambda ends: (min(ends), max(ends))
)
statements = st.builds(
    Statement, st.builds(of, amounts, deltas), st.none() | ranges, st.sampled_from([1, 1, 1, 0, 2])
)
few = settings(max_examples=5, suppress_health_check=list(HealthCheck))


# ------------------------------------------------------------------------- one budget, exactly


@every_budget
def test_nothing_is_spent_at_first(open_ledger: OpenLedger, budget: Budget) -> None:
    balance = open_ledger(budget, ADD_REMOVE).balance
    assert balance.budget == budget
    assert balance.epsilon_left == budget.epsilon
    assert balance.delta_left == accountant(budget).delta
    assert balance.queries_left == budget.queries
    assert balance.sums == NO_LOSS


@pytest.mark.parametrize("queries", [1, 3, 7, 10, 49])
def test_equal_parts_spend_all_of_epsilon(open_ledger: OpenLedger, queries: int) -> None:
    """As doubles, 49 times 1/49 is less than 1, and ten times 1/10 is too."""
    budget = Budget(Fraction(1), DELTA, queries)
    ledger = open_ledger(budget, ADD_REMOVE)
    for _ in range(queries):
        part = of(Fraction(1, queries), DELTA / queries)
        assert ledger.charge(part, None).price == Price(Fraction(1, queries), DELTA / queries, 1)
    balance = ledger.balance
    assert (balance.epsilon_left, balance.delta_left, balance.queries_left) == (0, 0, 0)


@every_budget
def test_even_shares_fit(open_ledger: OpenLedger, budget: Budget) -> None:
    ledger = open_ledger(budget, ADD_REMOVE)
    share = ledger.balance.share
    for _ in range(budget.queries):
        ledger.charge(of(share.epsilon, share.delta), None)
    assert 0 <= ledger.balance.epsilon_left < budget.epsilon / 1000
    assert ledger.balance.queries_left == 0


def test_epsilon_is_a_limit(open_ledger: OpenLedger) -> None:
    ledger = open_ledger(Budget(Fraction(1), Fraction(0), 10), ADD_REMOVE)
    ledger.charge(of(Fraction(2, 3)), None)
    with pytest.raises(BudgetExceeded):
        ledger.charge(of(Fraction(1, 3) + Fraction(1, 10**30)), None)
    ledger.charge(of(Fraction(1, 3)), None)
    with pytest.raises(BudgetExceeded):
        ledger.charge(of(Fraction(1, 10**30)), None)


@every_budget
def test_delta_is_a_limit(open_ledger: OpenLedger, budget: Budget) -> None:
    ledger = open_ledger(budget, ADD_REMOVE)
    left = ledger.balance.delta_left
    with pytest.raises(BudgetExceeded):
        ledger.charge(of(Fraction(1, 100), left + Fraction(1, 10**30)), None)
    ledger.charge(of(Fraction(1, 100), left), None)
    assert ledger.balance.delta_left == 0
    with pytest.raises(BudgetExceeded):
        ledger.charge(of(Fraction(1, 100), Fraction(1, 10**30)), None)
    ledger.charge(of(Fraction(1, 100)), None)


@every_budget
def test_queries_are_a_limit(open_ledger: OpenLedger, budget: Budget) -> None:
    """Whatever of ε is left, and where rows exclude each other, too."""
    ledger = open_ledger(budget, ADD_REMOVE)
    for value in range(budget.queries):
        ledger.charge(of(Fraction(1, 10**6)), at(value))
    with pytest.raises(BudgetExceeded):
        ledger.charge(of(Fraction(1, 10**6)), at(0))
    with pytest.raises(BudgetExceeded):
        ledger.charge(NO_LOSS, None)


def test_a_further_step_counts_no_query(open_ledger: OpenLedger) -> None:
    ledger = open_ledger(Budget(Fraction(1), Fraction(0), 1), ADD_REMOVE)
    first = ledger.charge(of(Fraction(1, 8)), None)
    second = ledger.charge(replace(NO_LOSS, epsilon=Fraction(1, 8)), None, 0)
    assert (first + second).price == Price(Fraction(1, 4), Fraction(0), 1)
    assert ledger.balance.queries_left == 0


# --------------------------------------------------------------------- prices, charges, receipts


@every_budget
@every_relation
@few
@given(st.lists(statements, max_size=6))
def test_the_price_is_what_a_charge_takes(
    open_ledger: OpenLedger, budget: Budget, relation: Neighbors, asked: list[Statement]
) -> None:
    """And a refusal takes nothing, and asking for a price nothing either."""
    ledger = open_ledger(budget, relation)
    for statement in asked:
        before = ledger.balance
        arguments = (statement.loss, statement.region, statement.queries)
        price = ledger.price(*arguments)
        assert ledger.balance == before
        try:
            receipt = ledger.charge(*arguments)
        except BudgetExceeded:
            assert ledger.balance == before
            short = price.epsilon > before.epsilon_left or price.delta > before.delta_left
            assert short or price.queries > before.queries_left
            continue
        after = ledger.balance
        assert receipt == Receipt(statement.loss, statement.region, price)
        assert price == Price(
            before.epsilon_left - after.epsilon_left,
            before.delta_left - after.delta_left,
            before.queries_left - after.queries_left,
        )
        assert price.epsilon >= 0
        assert price.delta >= 0
        assert min(after.epsilon_left, after.delta_left, after.queries_left) >= 0


def test_a_refusal_does_not_stand_in_the_way(open_ledger: OpenLedger) -> None:
    """A refused region is not compared with later ones, as nobody saw its rows."""
    ledger = open_ledger(Budget(Fraction(1), Fraction(0), 3), ADD_REMOVE)
    ledger.charge(of(Fraction(1, 2)), at(1))
    with pytest.raises(BudgetExceeded):
        ledger.charge(of(2), at(2))
    assert ledger.charge(of(Fraction(1, 2)), at(2)).price == Price(queries=1)
    assert ledger.charge(of(1), at(3)).price == Price(Fraction(1, 2), Fraction(0), 1)


def test_nothing_costs_nothing(open_ledger: OpenLedger) -> None:
    ledger = open_ledger(Budget(Fraction(1), DELTA, 1), ADD_REMOVE)
    assert ledger.price(NO_LOSS, None, 0) == FREE
    assert ledger.charge(NO_LOSS, None, 0).price == FREE


# ------------------------------------------------------------------------- whose rows were seen


@every_relation
def test_rows_that_exclude_each_other_share_a_price(
    open_ledger: OpenLedger, relation: Neighbors
) -> None:
    """One row that is there or not is in one of them; one that is replaced can be in two."""
    ledger = open_ledger(Budget(Fraction(1), Fraction(0), 10), relation)
    prices = [ledger.charge(of(Fraction(1, 4)), at(value)).price.epsilon for value in range(4)]
    paid = 2 if relation is REPLACE else 1
    assert prices == [Fraction(1, 4)] * paid + [0] * (4 - paid)


@every_relation
def test_the_same_rows_again_are_paid_again(open_ledger: OpenLedger, relation: Neighbors) -> None:
    ledger = open_ledger(Budget(Fraction(1), Fraction(0), 10), relation)
    for spent in range(1, 5):
        assert ledger.charge(of(Fraction(1, 4)), at(3)).price.epsilon == Fraction(1, 4)
        assert ledger.balance.epsilon_left == 1 - Fraction(spent, 4)


def test_rows_must_exclude_all_others_to_share(open_ledger: OpenLedger) -> None:
    """The third excludes the first, and overlaps the second: x = 2 is seen twice."""
    ledger = open_ledger(Budget(Fraction(1), Fraction(0), 10), ADD_REMOVE)
    for where in (at(1), at(2), between(2, 3)):
        ledger.charge(of(Fraction(1, 4)), where)
    assert ledger.balance.epsilon_left == Fraction(1, 2)


@pytest.mark.parametrize("everything", [None, region(TABLE, None)])
def test_all_rows_share_with_none(open_ledger: OpenLedger, everything: Region | None) -> None:
    ledger = open_ledger(Budget(Fraction(1), Fraction(0), 10), ADD_REMOVE)
    for where in (at(1), everything, at(2), everything):
        ledger.charge(of(Fraction(1, 10)), where)
    assert ledger.balance.epsilon_left == Fraction(7, 10)


@every_relation
@few
@given(st.lists(statements, max_size=7))
def test_no_row_is_seen_for_more_than_was_paid(
    open_ledger: OpenLedger, relation: Neighbors, asked: list[Statement]
) -> None:
    """By brute force: for every change of one row, what all statements that see it add up to."""
    ledger = open_ledger(Budget(Fraction(2), 10 * DELTA, 6), relation)
    seen: list[Statement] = []
    for statement in asked:
        with suppress(BudgetExceeded):
            ledger.charge(statement.loss, statement.region, statement.queries)
            seen.append(statement)
    others = POINTS if relation is REPLACE else [None]
    spent = ledger.balance.sums
    for value in POINTS:
        for other in others:
            here = [s.loss for s in seen if s.sees(value) or (other is not None and s.sees(other))]
            assert sum(here, NO_LOSS).is_at_most(spent)
    assert spent.is_at_most(sum((s.loss for s in seen), NO_LOSS))


# ------------------------------------------------------------------------------------- at once


def _charge_a_dozen(ledger: Ledger, receipts: list[Receipt], where: Region | None) -> None:
    for number in range(12):
        with suppress(BudgetExceeded):
            receipts.append(ledger.charge(of(Fraction(1 + number % 7, 60)), where))


@pytest.mark.parametrize("where", [None, at(1)])
def test_charges_at_once_add_up(open_ledger: OpenLedger, where: Region | None) -> None:
    """Four times 43/60 is more than there is; what is accepted is within the budget."""
    receipts: list[Receipt] = []
    ledger = open_ledger(Budget(Fraction(1), Fraction(0), 48), ADD_REMOVE)
    arguments = (ledger, receipts, where)
    threads = [Thread(target=_charge_a_dozen, args=arguments) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    spent = sum((receipt.price.epsilon for receipt in receipts), Fraction(0))
    assert spent == sum(receipt.loss.epsilon for receipt in receipts)
    assert ledger.balance.epsilon_left == 1 - spent >= 0
    assert ledger.balance.queries_left == 48 - len(receipts)


def test_loss_in_every_measure_is_kept(open_ledger: OpenLedger) -> None:
    """Each theorem needs its own sums, and SHOW BUDGET tells all of them."""
    ledger = open_ledger(BUDGETS[1], ADD_REMOVE)
    one = ComposedLoss.of(Loss(Fraction(1, 8), DELTA / 8, Fraction(1, 900), DELTA / 9))
    ledger.charge(one, None)
    ledger.charge(one, at(1))
    assert ledger.balance.sums == one + one


@every_budget
def test_a_rehearsal_charges_the_same_and_changes_nothing(
    open_ledger: OpenLedger, budget: Budget
) -> None:
    """Its prices, refusals and balances are those of the ledger when it is charged in earnest."""
    ledger = open_ledger(budget, ADD_REMOVE)
    ledger.charge(of(Fraction(1, 10)), at(0))
    rehearsal, before = ledger.rehearsal(), ledger.balance
    statements = [(of(Fraction(n, 20)), place) for n in (1, 3, 9, 4) for place in (at(n), None)]
    told = []
    for loss, place in statements:
        price = rehearsal.price(loss, place)
        with suppress(BudgetExceeded):
            assert rehearsal.charge(loss, place).price == price
        told.append((price, rehearsal.rehearsal().balance))
    assert ledger.balance == before
    for (loss, place), expected in zip(statements, told, strict=True):
        price = ledger.price(loss, place)
        with suppress(BudgetExceeded):
            ledger.charge(loss, place)
        assert (price, ledger.balance) == expected
