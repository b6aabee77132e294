"""One answer for all: what was released to one analyst is the answer of the others, at any scale."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import reduce
from operator import add
from pathlib import Path
from random import Random
from typing import Any

import pytest

from dpdb.answers.formats.explain_tree import explain_screen
from dpdb.answers.formats.footer import footer
from dpdb.answers.formats.json_lines import as_json
from dpdb.engines.memory import MemoryEngine
from dpdb.errors import BudgetExceeded, DpdbError
from dpdb.interfaces.prompt.status import price_text
from dpdb.ledger.book import plan_text
from dpdb.ledger.book.entries import Charge
from dpdb.policy.numbers import decimal
from dpdb.policy.reading.reader import read_policy
from dpdb.privacy.accounting.composition import NO_LOSS, ComposedLoss
from dpdb.privacy.accounting.loss import pure
from dpdb.privacy.noise.system import SystemNoise
from dpdb.session import budget_overview
from dpdb.session.purchases import purchases
from dpdb.session.purchases.memory import Memory
from dpdb.session.purchases.shared_levels import further_loss
from dpdb.session.session import Session
from tests.support.lasting import book_of, opened_shop, verify

POLICY = """
[budget]
name = "shop"
epsilon = 100
delta = 1e-6
queries = 200
[budget.analysts]
alice = { epsilon = 50 }
bob = { epsilon = 50 }
carol = { epsilon = 1 }
[tables.t.columns]
a = { type = "integer", bounds = [0, 9] }
g = { type = "text", values = ["x", "y"] }
"""
ROWS = "a,g\n" + "5,x\n3,y\n,y\n" * 50
COUNT = "COUNT(*) FROM t"
STATEMENTS = [
    COUNT,
    "SUM(a), AVG(a) FROM t WHERE g = 'x'",
    "g, COUNT(a), COUNT(*) FROM t GROUP BY g",
    "COUNT(DISTINCT a), VARIANCE(a) FROM t",
    "COUNT(*) FILTER (WHERE a > 3), COUNT(*) FILTER (WHERE a < 2) FROM t",
]


@pytest.fixture
def shop() -> Iterator[Path]:
    """A policy with analysts, whose budget is open."""
    with opened_shop(POLICY, ROWS) as path:
        yield path


def session(shop: Path, analyst: str) -> Session:
    return Session(read_policy(shop), analyst=analyst)


def asked(shop: Path, analyst: str, epsilon: object, text: str) -> Any:
    """The answer to an analyst in a session of its own; EXPLAIN said before what it would cost."""
    own = session(shop, analyst)
    full = f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = {float(Fraction(str(epsilon)))}) {text}"
    explained = own.execute(f"EXPLAIN {full}")
    answer = own.execute(full)
    assert explained.cost == answer.cost
    return answer


def query(options: str, text: str) -> str:
    """A query with options."""
    return f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS({options}) {text}"


def ask(own_session: Session, options: str, text: str) -> Any:
    """The answer to a query with options."""
    return own_session.execute(query(options, text))


def told_by(answer: Any) -> str:
    """All that is shown of an answer: as JSON, below it, as a tree and at the prompt."""
    return "\n".join(
        (as_json(answer), footer(answer), explain_screen(answer, {}, 100), price_text(answer))
    )


def spent(shop: Path) -> Fraction:
    """The ε that the data's account has paid; each balance is as rebuilt."""
    return verify(book_of(shop))[-1].entry.totals.loss.epsilon


def own(shop: Path, analyst: str) -> Fraction:
    """The ε that an analyst's account has paid."""
    limit = 1 if analyst == "carol" else 50
    return limit - session(shop, analyst).balance.epsilon_left


@pytest.mark.parametrize("text", STATEMENTS)
def test_a_second_analyst_is_told_the_same(shop: Path, text: str) -> None:
    """It costs the data nothing more, and each of the analysts what they see."""
    first, second = asked(shop, "alice", 2, text), asked(shop, "bob", 2, text)
    assert first.rows == second.rows
    assert (first.repeat, second.repeat) == (False, False)
    assert (first.cost.epsilon, second.cost.epsilon) == (2, 2)  # each sees an own part alone
    assert (spent(shop), own(shop, "alice"), own(shop, "bob")) == (2, 2, 2)
    assert asked(shop, "bob", 2, text).repeat


@pytest.mark.parametrize("text", STATEMENTS)
def test_a_finer_answer_costs_the_difference(shop: Path, text: str) -> None:
    asked(shop, "alice", 2, text)
    finer = asked(shop, "bob", 3, text)
    assert (spent(shop), own(shop, "alice"), own(shop, "bob")) == (3, 2, 3)
    assert asked(shop, "alice", 3, text).rows == finer.rows
    assert (spent(shop), own(shop, "alice"), own(shop, "bob")) == (3, 3, 3)


@pytest.mark.parametrize("text", STATEMENTS)
def test_coarser_answers_are_made_of_released_values(
    shop: Path, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked(shop, "alice", 4, text)
    with monkeypatch.context() as patched:
        patched.setattr(MemoryEngine, "exact", None)
        coarse = asked(shop, "bob", 1, text)
        asked(shop, "bob", 2, text)
        assert asked(shop, "carol", 1, text).rows == coarse.rows
    assert spent(shop) == 4
    assert [own(shop, name) for name in ("alice", "bob", "carol")] == [4, 2, 1]


def test_a_limit_of_one_s_own_holds_for_what_lies_ready(shop: Path) -> None:
    asked(shop, "alice", 4, COUNT)
    with pytest.raises(BudgetExceeded, match="2 requested, 1 left"):
        asked(shop, "carol", 2, COUNT)
    assert own(shop, "carol") == 0
    assert len([*book_of(shop).walk_kept(key(shop))]) == 1


def key(shop: Path) -> bytes:
    pinned = session(shop, "alice")._ledger.pinned
    assert pinned is not None
    return pinned.key


def test_accounts_are_the_largest_for_each_statistic(shop: Path) -> None:
    """In any order: of each statistic the data pay the finest level, and analysts their finest."""
    random = Random(5)
    statements = [f"COUNT(*) FROM t WHERE a < {value}" for value in (4, 5)]
    finest: dict[tuple[str, str], Fraction] = {}
    rows: dict[tuple[str, Fraction], Any] = {}
    for _ in range(14):
        analyst, text = random.choice(("alice", "bob")), random.choice(statements)
        epsilon = Fraction(random.randrange(1, 9), 4)
        before = finest.get((analyst, text), Fraction(0))
        answer = asked(shop, analyst, epsilon, text)
        if before < epsilon:
            told = rows.setdefault((text, epsilon), answer.rows)
            assert told == answer.rows
        finest[analyst, text] = max(before, epsilon)
        for name in ("alice", "bob"):
            assert own(shop, name) == sum(finest.get((name, each), 0) for each in statements)
        everybody = [max(finest.get((name, each), 0) for name in ("alice", "bob")) for each in statements]  # fmt: skip
        assert spent(shop) == sum(everybody)


ALONE = [
    ("2", "MEDIAN(a) FROM t", 4),
    ("2, relative_error = 0.5", COUNT, None),
    ("2", "COUNT(*) FROM t WHERE a > (SELECT AVG(a) FROM t)", 4),
]


@pytest.mark.parametrize(("options", "text", "paid"), ALONE)
def test_other_releases_are_drawn_for_each(shop: Path, options: str, text: str, paid: int) -> None:
    """Selections have no series, nor has what is refined already, or depends on a subquery."""
    full = f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = {options}) {text}"
    for analyst in ("alice", "bob"):
        session(shop, analyst).execute(full)
    assert spent(shop) == (own(shop, "alice") + own(shop, "bob") if paid is None else paid)


def test_what_others_were_told_answers_other_questions(shop: Path) -> None:
    """Where analysts have limits it does not: the price would tell what others have asked."""
    asked(shop, "alice", 3, "AVG(a) FROM t")
    told = asked(shop, "bob", 1, "SUM(a) FROM t")
    assert (spent(shop), own(shop, "bob"), told.repeat) == (4, 1, False)
    path = without_limits(shop)
    asked(path, "dora", 3, "AVG(a) FROM t")
    told = asked(path, "emil", 1, "SUM(a) FROM t")
    assert (spent(path), told.cost.epsilon, told.repeat) == (3, 0, True)
    assert asked(path, "dora", 1, "SUM(a) FROM t").rows == told.rows
    assert asked(path, "emil", 2, "AVG(a) FROM t").repeat


LOOKS = [
    "epsilon = 2", "epsilon = 1", "epsilon = 3",
    "epsilon = 2, mechanism = 'gaussian', delta = 1e-8",
    "epsilon = 1, mechanism = 'gaussian', delta = 1e-8",
]  # fmt: skip


@pytest.mark.parametrize("composition", ["pure", "zcdp"])
@pytest.mark.parametrize("options", LOOKS)
@pytest.mark.parametrize("told", ["COUNT(*)", "AVG(a)", "SUM(a), COUNT(a)"])
def test_explain_tells_nobody_what_others_have_bought(
    shop: Path, told: str, options: str, composition: str
) -> None:
    """Words and numbers are those of another constant, which nobody has asked for."""
    shop.write_text(
        POLICY.replace("\n[budget.an", f"\ncomposition = '{composition}'\n[budget.an", 1)
    )
    budget_overview.accept(read_policy(shop), "another theorem", fresh=False)
    gaussian = options if "gaussian" in options else "epsilon = 2"
    # Under zcdp Gaussian noise costs more where the sum of ε has paid before: it comes first.
    for each in dict.fromkeys((gaussian, "epsilon = 2")):
        ask(session(shop, "alice"), each, f"{told} FROM t WHERE a * a > 13")
    looks = [
        told_by(
            session(shop, "bob").execute(f"EXPLAIN {query(options, wanted)} WHERE a * a > {number}")
        )
        for wanted in (f"{told} FROM t", "SUM(a) FROM t")
        for number in (13, 14)
    ]
    for bought, new in zip(looks[::2], looks[1::2], strict=True):
        assert bought.replace("a > 13", "a > 14") == new
        assert "would cost ε" in bought
        assert "nothing" not in bought


@pytest.mark.parametrize("options", LOOKS)
@pytest.mark.parametrize("told", ["COUNT(*)", "AVG(a)"])
def test_what_is_told_is_what_a_limit_pays(shop: Path, told: str, options: str) -> None:
    """The words are those of the asker's own price, and a query is counted."""
    for each in LOOKS:
        ask(session(shop, "alice"), each, f"{told} FROM t")
    own_session = session(shop, "bob")
    before, text = own_session.balance, query(options, f"{told} FROM t")
    explained, quote = own_session.execute(f"EXPLAIN {text}"), own_session.quote(text)
    answer = own_session.execute(text)
    assert explained.cost == quote.cost == answer.cost
    assert answer.cost.epsilon == before.epsilon_left - own_session.balance.epsilon_left > 0
    assert answer.cost.queries == 1 == before.queries_left - own_session.balance.queries_left
    assert f"would cost ε {decimal(answer.cost.epsilon)}" in footer(explained)
    assert price_text(quote).startswith(f" costs ε {decimal(answer.cost.epsilon)}")
    assert f"\nspent ε {decimal(answer.cost.epsilon)}" in footer(answer)
    [row] = own_session.execute("SHOW HISTORY").rows
    assert row[2:] == (float(answer.cost.epsilon), float(answer.cost.delta))


def test_refusals_and_plans_tell_nobody_what_others_have_bought(shop: Path) -> None:
    """Where the whole has little left, the price that is refused is one's own."""
    shop.write_text(POLICY.replace("epsilon = 100", "epsilon = 50", 1))
    budget_overview.accept(read_policy(shop), "less", fresh=False)
    asked(shop, "alice", 20, COUNT)
    asked(shop, "alice", 28, f"{COUNT} WHERE a * a > 1")
    for text in (f"{COUNT} WHERE a * a > 2", COUNT):
        own_session = session(shop, "bob")
        with pytest.raises(BudgetExceeded, match="23 requested, 2 left, short by 21"):
            ask(own_session, "epsilon = 23", text)
        with pytest.raises(BudgetExceeded, match="20 requested, 2 left, short by 18"):
            own_session.plan([query("epsilon = 20", text)])
        own_session.plan([query("epsilon = 2", text)])
        assert own_session.balance.epsilon_spent == 0


def test_fresh_noise_of_others_changes_no_price(shop: Path) -> None:
    """What one was told is refined, though another series of the same has a finer level."""
    asked(shop, "alice", 3, COUNT)
    prices = [
        session(shop, "alice").explain(query(f"epsilon = {e}", COUNT)).cost for e in (2, 4, 6)
    ]
    others = session(shop, "bob")
    others.execute("SET repeats = 'fresh'")
    ask(others, "epsilon = 5", COUNT)
    assert prices == [
        session(shop, "alice").explain(query(f"epsilon = {e}", COUNT)).cost for e in (2, 4, 6)
    ]
    assert asked(shop, "alice", 6, COUNT).cost.epsilon == 3
    assert (spent(shop), own(shop, "alice"), own(shop, "bob")) == (11, 6, 5)


def test_an_analyst_has_spent_what_the_analyst_has_asked(shop: Path) -> None:
    """What is left is the lesser of the analyst's own and the whole, and that is said."""
    asked(shop, "alice", 50, COUNT)
    for number in range(4):
        asked(shop, "bob", 12, f"COUNT(*) FROM t WHERE a * a > {number}")
    rows = {row[0]: row[1:] for row in session(shop, "carol").execute("SHOW BUDGET").rows}
    assert rows["epsilon"] == (1, 0, 1)
    assert rows["epsilon of your own limit"] == (1, None, 1)
    assert "epsilon of the whole budget" not in rows
    own_session = session(shop, "bob")
    rows = {row[0]: row[1:] for row in own_session.execute("SHOW BUDGET").rows}
    assert rows["epsilon"] == (50, 48, 2)
    assert "epsilon of the whole budget" not in rows
    asked(shop, "carol", "0.5", f"{COUNT} WHERE a * a > 9")
    rows = {row[0]: row[1:] for row in own_session.execute("SHOW BUDGET").rows}
    assert rows["epsilon"] == (50, 48, 1.5)
    assert rows["epsilon of your own limit"] == (50, None, 2)
    assert rows["epsilon of the whole budget"] == (None, None, 1.5)
    explained = footer(own_session.execute(f"EXPLAIN SELECT {COUNT} WHERE a > 8"))
    assert "left: ε 1.5 of 50 (all that is left of the whole budget)" in explained


def test_what_is_told_at_a_finer_level_than_the_limit_is_not_shown(shop: Path) -> None:
    asked(shop, "alice", 3, "AVG(a) FROM t")
    asked(shop, "carol", 1, "SUM(a) FROM t")
    assert (spent(shop), own(shop, "carol")) == (4, 1)


def test_gaussian_noise_is_told_as_it_is_or_drawn_anew(shop: Path) -> None:
    full = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = {}, mechanism = 'gaussian', delta = 1e-8) "
    first = session(shop, "alice").execute(full.format(2) + COUNT)
    assert session(shop, "bob").execute(full.format(2) + COUNT).rows == first.rows
    assert (spent(shop), own(shop, "bob")) == (2, 2)
    session(shop, "bob").execute(full.format(3) + COUNT)
    assert (spent(shop), own(shop, "bob")) == (5, 5)


def test_a_statistic_twice_in_a_statement_is_refined_once(shop: Path) -> None:
    """Two draws from one level would tell more than both of them cost."""
    asked(shop, "alice", 1, COUNT)
    twice = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(noise_index = [1, 3]) {} FROM t"
    own_session = session(shop, "bob")
    answer = own_session.execute(twice.format("COUNT(*), COUNT(g IS NULL)"))
    full = sum(report.epsilon for report in answer.releases)
    assert len({report.scale for report in answer.releases}) == 2
    assert spent(shop) == 1 + full - min(1, answer.releases[0].epsilon)


def test_what_cannot_be_kept_is_on_no_series(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A level that nobody remembers could be drawn twice."""
    asked(shop, "alice", 1, COUNT)
    monkeypatch.setattr(plan_text, "_RECORDS", {})
    asked(shop, "bob", 2, COUNT)
    assert spent(shop) == 3


def test_other_sources_of_noise_have_no_series(shop: Path) -> None:
    """They round scales in their own way; what is told again as it was is no matter of scales."""
    pytest.importorskip("opendp")
    shop.write_text(POLICY.replace("[tables", '[privacy]\nnoise = "opendp"\n[tables', 1))
    budget_overview.accept(read_policy(shop), "other noise", fresh=False)
    for analyst, epsilon in (("alice", 2), ("bob", 1), ("bob", 3)):
        own_session = Session(read_policy(shop), noise=SystemNoise(), analyst=analyst)
        own_session.execute(f"SET epsilon = {epsilon}")
        own_session.execute(f"SELECT {COUNT}")
    assert (spent(shop), own(shop, "alice"), own(shop, "bob")) == (6, 2, 4)


def test_fresh_noise_begins_another_series(shop: Path) -> None:
    """It is paid for in full; the finest level of all is refined, whichever series it is on."""
    asked(shop, "alice", 2, COUNT)
    fresh = session(shop, "bob")
    fresh.execute("SET repeats = 'fresh'")
    fresh.execute("SET epsilon = 3")
    told = fresh.execute(f"SELECT {COUNT}")
    assert spent(shop) == 5
    assert asked(shop, "alice", 3, COUNT).rows == told.rows
    assert spent(shop) == 5
    asked(shop, "bob", 4, COUNT)
    assert spent(shop) == 6


def test_another_version_of_the_data_has_series_of_its_own(shop: Path) -> None:
    asked(shop, "alice", 2, COUNT)
    budget_overview.accept(read_policy(shop), "more rows", fresh=False)
    asked(shop, "bob", 3, COUNT)
    assert spent(shop) == 5


def test_who_comes_second_is_told_what_the_first_was(
    shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bob's answer is kept while alice's is being drawn: hers is forgotten, and paid for."""
    keep, theirs = Memory.keep, []

    def late(memory: Memory, *arguments: Any) -> bool:
        monkeypatch.setattr(Memory, "keep", keep)
        theirs.append(session(shop, "bob").execute(f"SELECT {COUNT}"))
        return keep(memory, *arguments)

    monkeypatch.setattr(Memory, "keep", late)
    mine = session(shop, "alice").execute(f"SELECT {COUNT}")
    assert mine.rows == theirs[0].rows
    assert spent(shop) == Fraction(1, 2)  # twice the share, as neither knew of the other
    assert len([*book_of(shop).walk_kept(key(shop))]) == 2


def while_it_is_drawn(
    monkeypatch: pytest.MonkeyPatch, first: Callable[[], object], then: Callable[[], object]
) -> Any:
    """What `then` gives, where the other's `first` is answered just before it is kept."""
    keep = Memory.keep

    def late(memory: Memory, *arguments: Any) -> bool:
        monkeypatch.setattr(Memory, "keep", keep)
        first()
        return keep(memory, *arguments)

    monkeypatch.setattr(Memory, "keep", late)
    return then()


def test_what_comes_of_another_series_meanwhile_is_not_shown_unpaid(
    shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Alice pays for what she has not yet seen of one series, and is told a level of that one."""
    asked(shop, "alice", 1, COUNT)

    def theirs() -> None:
        fresh = session(shop, "bob")
        fresh.execute("SET repeats = 'fresh'")
        fresh.execute("SET epsilon = 3")
        fresh.execute(f"SELECT {COUNT}")

    own_session = session(shop, "alice")
    own_session.execute("SET epsilon = 2")
    mine = while_it_is_drawn(monkeypatch, theirs, lambda: own_session.execute(f"SELECT {COUNT}"))
    assert mine.cost.epsilon == 1
    assert (own(shop, "alice"), own(shop, "bob"), spent(shop)) == (2, 3, 5)


@pytest.mark.parametrize("composition", ["pure", "zcdp"])
@pytest.mark.parametrize("others", [2, 3, Fraction(7, 2), 4, 5])
def test_who_refines_at_the_same_time_as_another_is_told_what_was_paid_for(
    composition: str, others: Fraction, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bob's level is kept while Alice's is being drawn, from the level before both.

    What hers then loses by itself is larger: the rest is charged for, which has no ε.
    """
    policy = POLICY.replace("queries = 200", f'queries = 200\ncomposition = "{composition}"')
    with opened_shop(policy, ROWS) as shop:
        asked(shop, "bob", 1, COUNT)
        mine = while_it_is_drawn(
            monkeypatch,
            lambda: asked(shop, "bob", others, COUNT),
            lambda: asked(shop, "alice", 4, COUNT),
        )
        assert len(mine.rows) == 1
        charges = [
            e.entry.event for e in verify(book_of(shop)) if isinstance(e.entry.event, Charge)
        ]
        assert sum(charge.loss.epsilon for charge in charges) == 4 - 1 + others
        assert own(shop, "alice") == 4
        paid = reduce(add, (charge.loss for charge in charges), NO_LOSS)
        steps = [pure(1), pure(1 + others), *([pure(4 + others)] if others < 4 else [pure(5)])]
        assert reduce(add, map(ComposedLoss.of, steps)).rho <= paid.rho
        assert asked(shop, "alice", 4, COUNT).rows == mine.rows


def stopped_in_the_fourth_step(shop: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[object] = []

    def accurate(*arguments: Any) -> bool:
        calls.append(arguments)
        if len(calls) == 4:
            raise MemoryError
        return False

    with monkeypatch.context() as patched:
        patched.setattr(purchases, "is_accurate", accurate)
        with pytest.raises(DpdbError):
            session(shop, "alice").execute(text)


def test_steps_towards_an_error_that_stopped_go_on(
    shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fourth of eight steps was charged for and not told; those before it are not paid again."""
    full = f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 1, relative_error = 0.02) {COUNT}"
    stopped_in_the_fourth_step(shop, full, monkeypatch)
    assert spent(shop) == Fraction(1, 16)
    own_session = session(shop, "alice")
    assert own_session.explain(full).cost.epsilon == 1 - Fraction(1, 32)
    told = own_session.execute(full)
    # 150 rows are known to 2 % with no ε up to 1.
    assert (told.repeat, told.cost.epsilon, told.cost.queries) == (False, 1 - Fraction(1, 32), 0)
    assert spent(shop) == 1 + Fraction(1, 32)
    again = session(shop, "alice").execute(full)
    assert (again.repeat, again.rows) == (True, told.rows)


def test_two_that_go_on_from_one_step_are_told_one_chain(
    shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two refinements of one noise would tell more than both were charged for."""
    full = f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 1, relative_error = 0.02) {COUNT}"
    stopped_in_the_fourth_step(shop, full, monkeypatch)
    others: list[Any] = []
    first, second = session(shop, "alice"), session(shop, "alice")
    mine = while_it_is_drawn(
        monkeypatch,
        lambda: others.append(second.execute(full)),
        lambda: first.execute(full),
    )
    assert not others[0].repeat
    # It is told the step before at what it paid; what was drawn here is forgotten.
    assert (mine.cost.epsilon, len(mine.rows)) == (Fraction(1, 32), 1)
    assert first.execute(full).rows == second.execute(full).rows == others[0].rows


def without_limits(shop: Path) -> Path:
    """A policy for the same data, whose analysts have no limits."""
    path = shop.with_name("open.toml")
    path.write_text(POLICY.replace(POLICY[POLICY.index("[budget.an") : POLICY.index("[tables")], "")
                    .replace("[tables.t.", '[tables.t]\npath = "t.csv"\n[tables.t.'))  # fmt: skip
    budget_overview.open_budget(read_policy(path))
    return path


def test_without_limits_the_answer_is_free(shop: Path) -> None:
    path = without_limits(shop)
    first, second = asked(path, "dora", 2, COUNT), asked(path, "emil", 2, COUNT)
    assert (first.rows, second.cost.epsilon, second.cost.queries) == (second.rows, 0, 0)
    last = book_of(path).last().entry.event
    assert isinstance(last, Charge)
    assert (last.loss, last.own.epsilon) == (NO_LOSS, 2)  # should emil be given a limit


def test_what_each_theorem_is_told(shop: Path) -> None:
    """The sum of ε grows by the difference; the draw by itself has the loss of both together."""
    own_session = session(shop, "alice")
    chosen = own_session._memory.choose(
        own_session._statement(f"SELECT {COUNT}").query, own_session.policy,
        own_session.balance, lambda _: 0,
    )  # fmt: skip
    plan = chosen.plans[0]
    epsilon = plan.loss.epsilon
    whole = ComposedLoss.of(pure(epsilon))
    assert further_loss(plan, {}) == whole
    assert further_loss(plan, {0: epsilon}) == further_loss(plan, {0: 2 * epsilon}) == NO_LOSS
    more, both = further_loss(plan, {0: epsilon / 3}), ComposedLoss.of(pure(4 * epsilon / 3))
    assert more.epsilon == 2 * epsilon / 3
    assert (more.squares, more.excess, more.rho) == (both.squares, both.excess, both.rho)


CELLS = 1_000
ROWS_OF_CELLS = "a,g\n" + "".join(f"{a},{g}\n" for g in range(CELLS) for a in (5, 6, 7))
IN_CELLS = f"""
[budget]
name = "cells"
epsilon = 100
delta = 1e-6
queries = 200
composition = "COMPOSITION"
[tables.t.columns]
a = {{ type = "integer", bounds = [0, 9] }}
g = {{ type = "integer", values = {list(range(CELLS))} }}
"""


@pytest.mark.parametrize("composition", ["pure", "zcdp"])
@pytest.mark.parametrize("last", ["COUNT(a), COUNT(*)", "MEDIAN(a), SUM(a)"])
def test_levels_of_one_series_are_no_independent_draws(
    composition: str, last: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The finest tells all: what five levels say is no better known than what it says alone.

    Of 1,000 intervals of independent cells that hold with 95 % each, fewer than 912 hold with a
    probability below 1e-6 (binomial). Taken for independent, 782 counts held.
    """
    monkeypatch.setattr(SystemNoise, "private", property(lambda _: True))  # though it is seeded
    told = [("COUNT(*)", e) for e in (0.1, 0.101, 0.103, 0.104, 0.102)]
    told += [("AVG(a)", e) for e in (0.12, 0.121, 0.123, 0.122)]
    with opened_shop(IN_CELLS.replace("COMPOSITION", composition), ROWS_OF_CELLS) as path:
        noise = SystemNoise(Random(3).randbytes)
        own_session = Session(read_policy(path), noise=noise, analyst="alice")

        def answer(aggregates: str, epsilon: float) -> Any:
            options = f"OPTIONS(epsilon = {epsilon}, mechanism = 'laplace')"
            return own_session.execute(
                f"SELECT WITH DIFFERENTIAL_PRIVACY {options} g, {aggregates} FROM t GROUP BY g"
            )

        for aggregates, epsilon in told:
            answer(aggregates, epsilon)
        shown = answer(last, 0.05)
    exact = 3 if last.endswith("COUNT(*)") else 18
    assert sum(low <= exact <= high for *_, (low, high) in shown.intervals) >= 912
