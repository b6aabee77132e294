"""A budget that lasts: across sessions and analysts, within the data owner's word."""

from __future__ import annotations

import os
import pwd
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from dpdb.errors import BudgetExceeded, LedgerError
from dpdb.ledger import custodian
from dpdb.ledger.book.book import Book
from dpdb.ledger.book.entries import Charge
from dpdb.ledger.book.state import StateReader
from dpdb.ledger.lasting import LastingLedger
from dpdb.policy.budget import Budget, Composition, Neighbors
from dpdb.policy.catalog import Policy
from dpdb.policy.names import OwnedBy, Reference
from dpdb.privacy.accounting.composition import ComposedLoss
from dpdb.privacy.accounting.loss import pure
from tests.support.lasting import TABLE, at, opened, policy_in, verify

TENTH = Fraction(1, 10)
pytestmark = pytest.mark.usefixtures("form")


def of(epsilon: Fraction) -> ComposedLoss:
    return ComposedLoss.of(pure(epsilon))


def made(folder: Path, budget: Budget | None = None, **lasting: object) -> Policy:
    policy = policy_in(folder, budget, **lasting)
    custodian.open_budget(policy, "custodian", "00" * 32, {})
    return policy


# ---------------------------------------------------------------------------- many sessions


def test_what_one_session_spends_another_has_not(folder: Path) -> None:
    policy = made(folder)
    one, other = LastingLedger.open(policy), LastingLedger.open(policy)
    for spent in range(1, 11):
        (one if spent % 2 else other).charge(of(TENTH), None)
        assert one.balance.epsilon_left == other.balance.epsilon_left == 1 - spent * TENTH
    for ledger in (one, other, LastingLedger.open(policy)):
        with pytest.raises(BudgetExceeded, match="0 left"):
            ledger.charge(of(TENTH), None)


def test_the_number_of_queries_is_each_session_s(folder: Path) -> None:
    policy = made(folder, Budget(Fraction(1), Fraction(0), 2))
    for _ in range(3):
        ledger = LastingLedger.open(policy)
        assert ledger.balance.queries_left == 2
        ledger.charge(of(TENTH), None)
        ledger.charge(of(TENTH), None)
        with pytest.raises(BudgetExceeded, match="all 2 queries are used"):
            ledger.charge(of(TENTH), None)


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, MemoryError])
def test_what_is_on_the_disk_counts_whatever_comes_after(
    folder: Path, monkeypatch: pytest.MonkeyPatch, interruption: type[BaseException]
) -> None:
    def interrupted(*_: object) -> None:
        raise interruption

    ledger = LastingLedger.open(made(folder, Budget(Fraction(1), Fraction(0), 2)))
    with monkeypatch.context() as broken:
        broken.setattr(StateReader, "follow", interrupted)
        with pytest.raises(interruption):
            ledger.charge(of(TENTH), None)
    assert (ledger.balance.epsilon_left, ledger.balance.queries_left) == (1 - TENTH, 1)
    with pytest.raises(BudgetExceeded):
        ledger.charge(of(Fraction(1)), None)
    assert ledger.balance.queries_left == 1  # what is refused is not counted


def test_queries_in_all_are_of_all_sessions(folder: Path) -> None:
    policy = made(folder, Budget(Fraction(1), Fraction(0), 2), queries_in_all=3)
    LastingLedger.open(policy).charge(of(TENTH), None, 2)
    ledger = LastingLedger.open(policy)
    assert ledger.balance.queries_left == 1
    ledger.charge(of(TENTH), None)
    with pytest.raises(BudgetExceeded):
        ledger.charge(of(TENTH), None)


@pytest.mark.parametrize(("relation", "paid"), [("add-remove", TENTH), ("replace", 2 * TENTH)])
def test_filters_of_other_sessions_share_a_price(
    folder: Path, relation: str, paid: Fraction
) -> None:
    policy = policy_in(folder, relation=Neighbors(relation))
    custodian.open_budget(policy, "custodian", "00", {})
    for value in range(4):
        LastingLedger.open(policy).charge(of(TENTH), at(value))
    assert LastingLedger.open(policy).balance.epsilon_left == 1 - paid
    LastingLedger.open(policy).charge(of(TENTH), at(2))
    assert LastingLedger.open(policy).balance.epsilon_left == 1 - paid - TENTH


def test_an_open_session_compares_with_the_filters_of_others(folder: Path) -> None:
    policy = made(folder)
    one, other = LastingLedger.open(policy), LastingLedger.open(policy)
    one.charge(of(TENTH), at(1))
    other.charge(of(TENTH), at(2))
    assert one.charge(of(TENTH), at(2)).price.epsilon == TENTH
    assert other.charge(of(TENTH), at(1)).price.epsilon == 0


def test_sums_stay_exact_or_are_rounded_up(folder: Path) -> None:
    """Denominators that are prime would make a sum as long as all of them together."""
    ledger = opened(folder, Budget(Fraction(3), Fraction(0), 100))
    primes = (2**61 - 1, 2**89 - 1, 2**107 - 1)
    exact = sum(Fraction(1, prime) for prime in primes)
    for prime in primes:
        ledger.charge(of(Fraction(1, prime)), None)
    spent = 3 - ledger.balance.epsilon_left
    assert exact < spent <= exact + Fraction(3, 2**120)
    assert spent.denominator <= 2**120


def test_a_long_ledger_opens_by_a_few_of_its_entries(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = made(folder, Budget(Fraction(1), Fraction(0), 10**6))
    ledger = LastingLedger.open(policy)
    ledger.charge(of(TENTH), at(1))
    read, sealed = [], Book._sealed
    monkeypatch.setattr(
        Book, "_sealed", lambda self, *row: read.append(row[1]) or sealed(self, *row)
    )

    def opening() -> int:
        read.clear()
        assert LastingLedger.open(policy).balance.epsilon_left < 1
        return len(read)

    few = opening()
    for _ in range(100):
        ledger.charge(of(TENTH / 1000), None)
    assert opening() == few < 10


def test_statements_and_analysts_are_recorded(folder: Path) -> None:
    ledger = opened(folder)
    ledger.recording("SELECT 1").charge(of(TENTH), None)
    entry = ledger.book.last().entry
    assert isinstance(entry.event, Charge)
    assert (entry.who, entry.event.statement) == ("alice", "SELECT 1")


# --------------------------------------------------------------------- the data owner's word


def test_a_session_may_ask_for_less(folder: Path) -> None:
    policy = made(folder, Budget(Fraction(1), Fraction(0), 10))
    LastingLedger.open(policy).charge(of(3 * TENTH), None)
    less = replace(policy, budget=Budget(Fraction(1, 2), Fraction(0), 5))
    ledger = LastingLedger.open(less)
    assert ledger.balance.epsilon_left == 2 * TENTH
    assert ledger.balance.share.epsilon == TENTH
    with pytest.raises(BudgetExceeded, match=r"0\.2 left"):
        ledger.charge(of(3 * TENTH), None)
    LastingLedger.open(policy).charge(of(3 * TENTH), None)
    assert ledger.balance.epsilon_left == 0
    with pytest.raises(BudgetExceeded, match="0 left"):
        ledger.charge(of(TENTH), None)


DELTA = Fraction(1, 10**6)
OTHER = Reference("u", "x")
MORE: dict[str, Callable[[Policy], Policy]] = {
    "epsilon": lambda p: replace(p, budget=replace(p.budget, epsilon=Fraction(2))),
    "delta": lambda p: replace(p, budget=replace(p.budget, delta=2 * DELTA)),
    "queries": lambda p: replace(p, budget=replace(p.budget, queries=11)),
    "composition": lambda p: replace(p, budget=replace(p.budget, composition=Composition.ZCDP)),
    "neighbors": lambda p: replace(p, neighbors=Neighbors.REPLACE),
    "sample_key": lambda p: replace(p, sample_key="another"),
    "tables.t.unit": lambda p: replace(p, tables=(replace(TABLE, unit="x"),)),
    "tables.t.rows_per_unit": lambda p: replace(p, tables=(replace(TABLE, rows_per_unit=2),)),
    "tables.t.columns.x.upper": lambda p: replace(
        p, tables=(replace(TABLE, columns=(replace(TABLE.columns[0], upper=Fraction(99)),)),)
    ),
    "tables.t.columns.x.values": lambda p: replace(
        p, tables=(replace(TABLE, columns=(replace(TABLE.columns[0], values=(1, Fraction(1, 2))),)),)
    ),
    "unit_name": lambda p: replace(p, unit="patient"),
    "tables.t.public": lambda p: replace(p, tables=(replace(TABLE, public=True),)),
    "tables.t.key": lambda p: replace(p, tables=(replace(TABLE, key=("x",)),)),
    "tables.t.chain": lambda p: replace(p, tables=(replace(TABLE, chain=OTHER),)),
    "tables.t.at_most": lambda p: replace(p, tables=(replace(TABLE, at_most=(("x", 2),)),)),
    "tables.t.groups_per_unit": lambda p: replace(p, tables=(replace(TABLE, groups_per_unit=2),)),
    "tables.t.columns.x.references": lambda p: replace(
        p, tables=(replace(TABLE, columns=(replace(TABLE.columns[0], references=OTHER),)),)
    ),
    "tables.t.columns.x.values_from": lambda p: replace(
        p, tables=(replace(TABLE, columns=(replace(TABLE.columns[0], values_from=OTHER),)),)
    ),
    "tables.u": lambda p: replace(p, tables=(TABLE, replace(TABLE, name="u"))),
    "name": lambda p: replace(p, lasting=replace(p.lasting, name="another")),
    "period": lambda p: replace(p, lasting=replace(p.lasting, period=30)),
    "queries_in_all": lambda p: replace(p, lasting=replace(p.lasting, queries_in_all=10**6)),
    "analysts": lambda p: replace(p, lasting=replace(p.lasting, analysts=(("bob", TENTH),))),
}  # fmt: skip


@pytest.mark.parametrize("key", MORE)
def test_another_word_is_refused_with_what_differs(folder: Path, key: str) -> None:
    policy = made(folder, Budget(Fraction(1), DELTA, 10))
    with pytest.raises(LedgerError, match=f"opened for: {key} is .* there, .* here"):
        LastingLedger.open(MORE[key](policy))


def test_a_changed_policy_holds_once_it_is_accepted(folder: Path) -> None:
    policy = made(folder)
    open_before = LastingLedger.open(policy)
    open_before.charge(of(TENTH), at(1))
    changed = MORE["epsilon"](MORE["tables.t.columns.x.upper"](policy))
    custodian.accept(open_before.book, changed, "custodian", "more data", {})
    with pytest.raises(LedgerError, match="opened for"):
        open_before.charge(of(TENTH), at(1))
    ledger = LastingLedger.open(changed)
    assert ledger.balance.epsilon_left == 2 - TENTH
    assert ledger.charge(of(TENTH), at(2)).price.epsilon == TENTH  # x = 2 was another x
    verify(ledger.book)


def rows_of(policy: Policy, unit: str | None) -> Policy:
    return replace(policy, tables=tuple(replace(each, unit=unit) for each in policy.tables))


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (lambda policy: replace(policy, neighbors=Neighbors.REPLACE),
         "neighbors add-remove, and it is replace here"),
        (lambda policy: rows_of(policy, "x"),
         "the unit of t the row, and it is the column x here"),
    ],
)  # fmt: skip
def test_what_was_spent_on_another_promise_is_not_taken_over(
    folder: Path, changed: Callable[[Policy], Policy], said: str
) -> None:
    """Where a row is replaced twice the ε is lost, and for a unit as often as it has rows."""
    policy = made(folder)
    ledger = LastingLedger.open(policy)
    custodian.accept(ledger.book, changed(policy), "custodian", "nothing is spent yet", {})
    custodian.accept(ledger.book, policy, "custodian", "and back", {})
    LastingLedger.open(policy).charge(of(TENTH), at(1))
    before = ledger.book.last()
    with pytest.raises(LedgerError, match=said) as refusal:
        custodian.accept(ledger.book, changed(policy), "custodian", "stronger", {})
    assert "--fresh-data" in str(refusal.value.hint)
    without = replace(policy, tables=())
    custodian.accept(ledger.book, without, "custodian", "t is gone", {})
    if changed(policy).neighbors is policy.neighbors:
        with pytest.raises(LedgerError, match=said):
            custodian.accept(ledger.book, changed(policy), "custodian", "another t", {})
    assert ledger.book.at(before.entry.number) == before
    custodian.accept(ledger.book, changed(policy), "custodian", "other people", {}, fresh=True)
    assert LastingLedger.open(changed(policy)).balance.epsilon_left == 1
    verify(ledger.book)


def owned(policy: Policy, *owners: OwnedBy) -> Policy:
    """The policy with these owners of each row of its table."""
    first, both = owners[0], owners if len(owners) > 1 else ()
    tables = (
        replace(each, unit=first.column, chain=first.chain, kind=first.kind, owners=both)
        for each in policy.tables
    )
    return replace(policy, tables=tuple(tables))


def test_other_owners_of_rows_are_another_promise(folder: Path) -> None:
    """A word for an only owner is none: customer 5 is called person 5."""
    buyer, seller = OwnedBy("buyer", "x"), OwnedBy("seller", "y", Reference("u", "id"))
    alike = (
        (buyer, replace(seller, column="z")),
        (buyer, replace(seller, kind="buyer")),
        (buyer, replace(seller, chain=Reference("u", "id", (("w", "part"),)))),
    )
    for first, others in [((buyer, seller), alike), ((seller,), [(replace(seller, column="z"),)])]:
        policy = owned(made(folder), *first)
        book = custodian.book_of(policy)
        custodian.accept(book, policy, "custodian", "nothing is spent yet", {})
        LastingLedger.open(policy).charge(of(TENTH), None)
        for owners in others:
            with pytest.raises(LedgerError, match="the unit of t the column") as refusal:
                custodian.accept(book, owned(policy, *owners), "custodian", "others", {})
            assert "--fresh-data" in str(refusal.value.hint)
        custodian.accept(book, owned(policy, *first[::-1]), "custodian", "in turn", {})
    named = owned(policy, replace(seller, kind=""))
    custodian.accept(book, named, "custodian", "another word", {})


def test_other_data_end_the_sessions_on_the_old_ones(folder: Path) -> None:
    """Filters exclude each other within one version of the data alone."""
    policy = made(folder)
    before = LastingLedger.open(policy)
    before.charge(of(TENTH), at(1))
    custodian.accept(before.book, policy, "custodian", "a row more", {"t": "ff"})
    with pytest.raises(LedgerError, match="has accepted other data"):
        before.charge(of(TENTH), at(2))
    ledger = LastingLedger.open(policy)
    assert ledger.charge(of(TENTH), at(2)).price.epsilon == TENTH
    assert ledger.balance.epsilon_left == 1 - 2 * TENTH


def test_fresh_data_begin_anew(folder: Path) -> None:
    policy = made(folder)
    ledger = LastingLedger.open(policy)
    ledger.charge(of(TENTH), at(1))
    custodian.accept(ledger.book, policy, "custodian", "other people", {}, fresh=True)
    assert LastingLedger.open(policy).balance.epsilon_left == 1
    verify(ledger.book)


@pytest.mark.parametrize("composition", list(Composition))
def test_the_largest_budget_can_be_spent(folder: Path, composition: Composition) -> None:
    """Python writes no number of more than 4,300 digits, which e^10,000 has."""
    delta = Fraction(0) if composition is Composition.PURE else DELTA
    most = Fraction(10**4)
    policy = made(folder, Budget(most, delta, 10, composition))
    ledger = LastingLedger.open(policy)
    ledger.charge(of(most), None)
    with pytest.raises(BudgetExceeded):
        ledger.charge(of(most), None)
    assert LastingLedger.open(policy).balance.epsilon_left == 0
    verify(ledger.book)


# ------------------------------------------------------------------------------- analysts


def analysts(folder: Path) -> tuple[LastingLedger, LastingLedger]:
    policy = made(folder, analysts=(("alice", 3 * TENTH), ("bob", Fraction(9, 10))))
    return LastingLedger.open(policy, "alice"), LastingLedger.open(policy, "bob")


def test_an_analyst_has_a_limit_within_the_whole(folder: Path) -> None:
    alice, bob = analysts(folder)
    assert (alice.balance.epsilon_left, bob.balance.epsilon_left) == (3 * TENTH, 9 * TENTH)
    alice.charge(of(2 * TENTH), None)
    with pytest.raises(BudgetExceeded, match=r"0\.2 requested, 0\.1 left"):
        alice.charge(of(2 * TENTH), None)
    bob.charge(of(7 * TENTH), None)
    assert (alice.balance.epsilon_left, bob.balance.epsilon_left) == (TENTH, TENTH)
    with pytest.raises(BudgetExceeded, match=r"0\.2 requested, 0\.1 left"):
        bob.charge(of(2 * TENTH), None)  # of the whole: of his own 0.2 are left


def test_a_limit_of_one_s_own_is_spent_in_full(folder: Path) -> None:
    """The whole is spent once for rows that exclude each other, whoever asks."""
    alice, bob = analysts(folder)
    for value in range(3):
        assert alice.charge(of(TENTH), at(value)).price.epsilon == TENTH
    with pytest.raises(BudgetExceeded):
        alice.charge(of(TENTH), at(3))
    bob.charge(of(TENTH), at(4))
    assert bob.book.last().entry.totals.loss.epsilon == TENTH


def test_limits_last(folder: Path) -> None:
    alice, _ = analysts(folder)
    alice.charge(of(2 * TENTH), None)
    again = LastingLedger.open(alice.policy, "alice")
    assert again.balance.epsilon_left == TENTH


def test_fresh_data_begin_limits_anew_and_other_changes_do_not(folder: Path) -> None:
    alice, _ = analysts(folder)
    for fresh, left in ((False, TENTH), (True, 3 * TENTH)):
        ledger = LastingLedger.open(alice.policy, "alice")
        ledger.charge(of(2 * TENTH if not fresh else TENTH / 2), None)
        custodian.accept(ledger.book, alice.policy, "custodian", "changed", {}, fresh=fresh)
        assert LastingLedger.open(alice.policy, "alice").balance.epsilon_left == left
    verify(ledger.book)


def test_who_is_not_named_may_not_ask(folder: Path) -> None:
    alice, _ = analysts(folder)
    with pytest.raises(LedgerError, match="carol is not among the analysts"):
        LastingLedger.open(alice.policy, "carol")
    custodian.grant(alice.book, "custodian", "carol", TENTH)
    carol = LastingLedger.open(alice.policy, "carol")
    carol.charge(of(TENTH), None)
    custodian.revoke(alice.book, "custodian", "carol")
    with pytest.raises(LedgerError, match="carol is not among"):
        carol.charge(of(TENTH), None)
    custodian.grant(alice.book, "custodian", "carol", 2 * TENTH)
    assert LastingLedger.open(alice.policy, "carol").balance.epsilon_left == TENTH
    verify(alice.book)


def test_when_all_are_revoked_nobody_may_ask(folder: Path) -> None:
    alice, bob = analysts(folder)
    for name in ("alice", "bob"):
        custodian.revoke(alice.book, "custodian", name)
    for ledger in (alice, bob):
        with pytest.raises(LedgerError, match="not among"):
            ledger.price(of(TENTH), None)


def test_environment_variables_say_not_who_asks(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("USER", "LOGNAME", "LNAME", "USERNAME", "SUDO_USER"):
        monkeypatch.setenv(name, "alice")
    ledger = LastingLedger.open(made(folder))
    assert ledger.asker == pwd.getpwuid(os.getuid()).pw_name


def test_only_the_owner_asks_for_others(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = made(folder)
    monkeypatch.setattr("os.getuid", lambda: 12345)
    with pytest.raises(LedgerError, match="only the owner"):
        LastingLedger.open(policy, "alice")
    assert LastingLedger.open(policy).asker == "user 12345"
