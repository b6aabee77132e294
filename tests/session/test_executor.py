"""An executor releases what a receipt covers, and otherwise does not even ask the engine."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path

import pytest

from dpdb.engines.memory import MemoryEngine
from dpdb.engines.protocol import Engine, Exact, KeyCounts
from dpdb.errors import BudgetExceeded, InternalError
from dpdb.ledger.protocol import Receipt
from dpdb.ledger.spending import MemoryLedger
from dpdb.plan.expressions.expressions import Slot
from dpdb.plan.logical.query import NO_OPTIONS, Options
from dpdb.plan.physical.plan import Plan
from dpdb.plan.physical.release import Release
from dpdb.plan.planner import plan
from dpdb.policy.budget import Budget
from dpdb.policy.catalog import Policy, Table
from dpdb.privacy.accounting.composition import NO_LOSS, ComposedLoss
from dpdb.privacy.mechanisms.kinds import NoiseKind
from dpdb.privacy.mechanisms.laplace import Laplace
from dpdb.session.purchases import purchases
from dpdb.session.purchases.executor import Executor, GradualExecutor
from dpdb.session.session import Session
from dpdb.sql.selects.binder import bind
from dpdb.sql.text.tokens import read_tokens
from dpdb.vectors.vector import AnyVector
from tests.support.exactly import write
from tests.support.noiseless import Noiseless

BUDGET = Budget(Fraction(4), Fraction(1, 10**6), 10)
POLICY = """
[tables.t.columns]
g = { type = "text", values = ["a", "b"] }
x = { type = "integer", bounds = [0, 10] }
"""
QUERIES = [
    "SELECT COUNT(*) FROM t",
    "SELECT SUM(x), AVG(x), COUNT(DISTINCT x) FROM t WHERE g = 'a'",
    "SELECT g, COUNT(*), MODE(g), MAX(x) FROM t GROUP BY g",
    "SELECT COUNT(*) FROM t WHERE x > (SELECT AVG(x) FROM t WHERE g = 'a')",
]
SMOOTH = Options(sensitivity="smooth", delta=Fraction(1, 10**7))
GAUSSIAN = Options(mechanism=NoiseKind.GAUSSIAN, delta=Fraction(1, 10**7))
ASKED = [
    *((sql, NO_OPTIONS) for sql in QUERIES),
    ("SELECT MEDIAN(x) FROM t", SMOOTH),
    ("SELECT g, SUM(x) FROM t GROUP BY g", GAUSSIAN),
]
every_plan = pytest.mark.parametrize(("sql", "options"), ASKED)


@dataclass
class Watched(Engine):
    """An engine that counts how often it is asked."""

    engine: Engine = field(default_factory=MemoryEngine)
    asked: int = 0

    def rows(self, table: Table) -> int:
        self.asked += 1
        return self.engine.rows(table)

    def key_counts(self, plan: Plan, slots: Mapping[Slot, AnyVector]) -> KeyCounts:
        self.asked += 1
        return self.engine.key_counts(plan, slots)

    def exact(self, plan: Plan, slots: Mapping[Slot, AnyVector]) -> tuple[Exact, ...]:
        self.asked += 1
        return self.engine.exact(plan, slots)


@pytest.fixture
def policy(tmp_path: Path) -> Policy:
    rows = "g,x\n" + "a,1\nb,2\na,3\n" * 20
    return replace(write(tmp_path, "t", rows, POLICY), budget=BUDGET)


def planned(sql: str, policy: Policy, options: Options = NO_OPTIONS) -> Plan:
    share = replace(MemoryLedger(policy.budget).balance.share, delta=options.delta or Fraction(0))
    return plan(bind(read_tokens(sql), sql, policy, options), policy, share, lambda _: 60)


def charged(plan: Plan) -> Receipt:
    return MemoryLedger(BUDGET).charge(ComposedLoss.of(plan.loss), plan.region)


def refused(plan: Plan, receipt: Receipt) -> None:
    """The plan is refused, and the engine was not asked for anything."""
    engine = Watched()
    with pytest.raises(InternalError, match="more than its cost"):
        Executor(engine, Noiseless(), teach=False, reading=nullcontext).execute(plan, receipt)
    assert engine.asked == 0


def louder(release: Release) -> Release:
    """The same release with a loss that is larger by a thousandth of ε."""
    mechanism = release.mechanism
    return replace(release, mechanism=replace(mechanism, epsilon=mechanism.epsilon * 1001 / 1000))


@every_plan
def test_what_was_charged_for_is_released(policy: Policy, sql: str, options: Options) -> None:
    here, engine = planned(sql, policy, options), Watched()
    result = Executor(engine, Noiseless(), teach=False, reading=nullcontext).execute(
        here, charged(here)
    )
    assert len(result.noisy.draws) == len(here.releases)
    assert engine.asked == 1 + len(here.subplans)


@every_plan
def test_a_smaller_charge_is_refused(policy: Policy, sql: str, options: Options) -> None:
    """In whichever measure of loss it is smaller, be it by next to nothing."""
    here = planned(sql, policy, options)
    receipt, tiny = charged(here), Fraction(1, 10**40)
    assert receipt.loss.epsilon > 0
    for name in ("epsilon", "delta", "squares", "excess", "rho", "rho_delta"):
        less = replace(receipt.loss, **{name: getattr(receipt.loss, name) - tiny})
        refused(here, replace(receipt, loss=less))
    refused(here, replace(receipt, loss=NO_LOSS))


@every_plan
def test_a_mechanism_with_a_larger_loss_is_refused(
    policy: Policy, sql: str, options: Options
) -> None:
    here = planned(sql, policy, options)
    for index, release in enumerate(here.releases):
        releases = (*here.releases[:index], louder(release), *here.releases[index + 1 :])
        refused(replace(here, releases=releases), charged(here))


@every_plan
def test_an_extra_release_is_refused(policy: Policy, sql: str, options: Options) -> None:
    here = planned(sql, policy, options)
    refused(replace(here, releases=(*here.releases, here.releases[0])), charged(here))


def test_an_extra_release_in_a_subquery_is_refused(policy: Policy) -> None:
    here = planned(QUERIES[3], policy)
    [inner] = here.subplans
    more = replace(inner, releases=(*inner.releases, inner.releases[0]))
    refused(replace(here, subplans=(more,)), charged(here))
    changed = replace(inner, releases=(louder(inner.releases[0]), *inner.releases[1:]))
    refused(replace(here, subplans=(changed,)), charged(here))
    refused(replace(here, subplans=(inner, inner)), charged(here))


def test_a_receipt_for_other_rows_is_refused(policy: Policy) -> None:
    """Losses on rows that exclude each other compose in parallel: it matters which were named."""
    one = planned("SELECT COUNT(*) FROM t WHERE g = 'a'", policy)
    other = planned("SELECT COUNT(*) FROM t WHERE g = 'b'", policy)
    assert one.loss == other.loss
    refused(other, charged(one))
    refused(replace(one, where=None), charged(one))
    everything = replace(charged(one), region=None)
    Executor(MemoryEngine(), Noiseless(), teach=False, reading=nullcontext).execute(
        other, everything
    )


def test_each_step_towards_a_relative_error_is_refused_if_not_charged_for(policy: Policy) -> None:
    """The second step without its charge: the first one's answer is all that there is."""
    first = planned("SELECT COUNT(*) FROM t", policy)
    [release] = first.releases
    assert isinstance(release.mechanism, Laplace)
    steps = [replace(release.mechanism, epsilon=Fraction(part, 10), looks=2) for part in (1, 2)]
    plans = [replace(first, releases=(replace(release, mechanism=step),)) for step in steps]
    ledger, engine = MemoryLedger(BUDGET), Watched()
    gradual = GradualExecutor(
        Executor(engine, Noiseless(), teach=False, reading=nullcontext), plans
    )
    loss = replace(ComposedLoss.of(plans[1].loss), epsilon=Fraction(1, 10))
    tiny = Fraction(1, 10**40)
    smaller = ledger.charge(replace(loss, epsilon=loss.epsilon - tiny), first.region)
    with pytest.raises(InternalError):
        gradual.execute(0, smaller)
    assert engine.asked == 0
    receipt = ledger.charge(loss, first.region)
    assert gradual.execute(0, receipt).noisy.draws[0].tolist() == [60]
    with pytest.raises(InternalError):
        gradual.execute(1, receipt)
    receipt += ledger.charge(replace(NO_LOSS, epsilon=Fraction(1, 10)), first.region, 0)
    gradual.execute(1, receipt)
    assert engine.asked == 1


def test_receipts_for_different_rows_do_not_add_up(policy: Policy) -> None:
    one = charged(planned("SELECT COUNT(*) FROM t WHERE g = 'a'", policy))
    other = charged(planned("SELECT COUNT(*) FROM t WHERE g = 'b'", policy))
    with pytest.raises(ValueError, match="the same rows"):
        one + other


class Cheating(MemoryLedger):
    """A ledger that takes half of what it is asked to take."""

    def charge(self, loss: ComposedLoss, region: object, queries: int = 1) -> Receipt:
        half = replace(loss, epsilon=loss.epsilon / 2)
        return super().charge(half, region, queries)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "options", ["", "WITH DIFFERENTIAL_PRIVACY OPTIONS(relative_error = 0.1) "]
)
def test_a_session_shows_the_refusal_and_goes_on(policy: Policy, options: str) -> None:
    """What the statement cost stays paid; its answer is not kept for a repeat."""
    session = Session(policy, noise=Noiseless())
    session._ledger, query = Cheating(BUDGET), f"SELECT {options}COUNT(*) FROM t"
    for number in (1, 2):
        with pytest.raises(InternalError) as error:
            session.execute(query)
        assert error.value.hint == "its cost stays spent"
        assert session.balance.queries_left == 10 - number
    session._ledger = MemoryLedger(BUDGET)
    assert session.execute(query).rows == ((60,),)


def test_a_settled_plan_needs_no_receipt(policy: Policy, monkeypatch: pytest.MonkeyPatch) -> None:
    """It draws nothing: neither ledger nor executor is asked."""
    monkeypatch.setattr(MemoryLedger, "charge", lambda *_: pytest.fail("charged"))
    monkeypatch.setattr(purchases, "Executor", None)
    session = Session(policy)
    assert session.execute("SELECT COUNT(*) FROM t WHERE x > 5 AND x < 3").rows == ((0,),)


def test_no_answer_is_drawn_where_the_budget_is_short(policy: Policy) -> None:
    session = Session(policy, noise=Noiseless())
    engine = session._loaded_engine = Watched()  # type: ignore[assignment]
    with pytest.raises(BudgetExceeded):
        session.execute("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 5) COUNT(*) FROM t")
    assert engine.asked == 0
