"""What follows from what was released is free, and is never drawn again at another scale."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dpdb.plan.planner import plan
from dpdb.policy.budget import Budget, Composition
from dpdb.policy.catalog import Column, Kind
from dpdb.session.purchases import query_plans
from dpdb.session.session import Session
from tests.support.audited import COLUMNS, noise
from tests.support.brute import ADD_REMOVE, Row, world
from tests.support.charges import charged

pytestmark = pytest.mark.usefixtures("in_memory")

ROWS: list[Row] = [
    ("a", "1", "3", "0", "1"),
    ("b", "5", "7", "0.5", "1"),
    ("a", "4", "5", "-1", "2"),
]


class Scales:
    """A source of noise that notes the scale of each draw."""

    private = True

    def __init__(self) -> None:
        self.source, self.drawn = noise(3), list[tuple[Fraction, int]]()

    def laplace(self, scale: Fraction, size: int):
        self.drawn.append((scale, size))
        return self.source.laplace(scale, size)

    def below(self, bound: int) -> int:
        return self.source.below(bound)


@pytest.fixture
def scales() -> Scales:
    return Scales()


@pytest.fixture
def session(scales: Scales) -> Session:
    here = world(COLUMNS, ADD_REMOVE, budget=Budget(Fraction(10), Fraction(0), 10))
    here.source.rows = ROWS
    return Session(here.policy, noise=scales)


def test_counts_and_sums_follow_from_an_average(session: Session, scales: Scales) -> None:
    [[mean, number]] = session.execute("SELECT AVG(x), COUNT(x) FROM t").rows
    assert len(scales.drawn) == 1
    for text in ("SUM(x)", "COUNT(x) AS n", "AVG(x) * 2, SUM(x)", "COUNT(x), COUNT(x) + 1"):
        explained = session.execute(f"EXPLAIN SELECT {text} FROM t")
        answer = session.execute(f"SELECT {text} FROM t")
        assert (answer.repeat, answer.cost.epsilon, answer.cost.queries) == (True, 0, 0)
        assert (explained.repeat, explained.cost) == (True, answer.cost)
    assert session.execute("SELECT COUNT(x), AVG(x) FROM t").rows == ((number, mean),)
    assert len(scales.drawn) == 1
    assert session.balance.queries_left == 9


@pytest.mark.parametrize("beside", ["", ", MEDIAN(x)"])
def test_a_repeat_has_no_use_for_what_only_the_first_recalled(
    session: Session, scales: Scales, beside: str
) -> None:
    """COUNT(*) was drawn before the average; without it the same would have been drawn."""
    session.execute("SELECT COUNT(*) FROM t")
    first = session.execute(f"SELECT AVG(k){beside}, COUNT(*) FROM t")
    drawn = len(scales.drawn)
    again = session.execute(f"SELECT AVG(k){beside} FROM t")
    assert (again.repeat, again.rows[0]) == (True, first.rows[0][:-1])
    assert session.execute(f"SELECT AVG(k){beside}, COUNT(*) FROM t").rows == first.rows
    assert len(scales.drawn) == drawn


@pytest.mark.parametrize(
    "text",
    [
        "SELECT AVG(k) FROM t",
        "SELECT VARIANCE(x) FROM t",
        "SELECT AVG(x) FROM t WHERE k > 3",
        "SELECT AVG(x) FILTER (WHERE k > 3) FROM t",
        "SELECT g, AVG(x) FROM t GROUP BY g",
        "SELECT COUNT(x) FROM t WHERE x > (SELECT AVG(x) FROM t)",
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(error = 3) COUNT(x) FROM t",
    ],
)
def test_what_does_not_follow_is_paid_for(session: Session, text: str) -> None:
    session.execute("SELECT AVG(x) FROM t")
    answer = session.execute(text)
    assert not answer.repeat
    assert answer.cost.epsilon == charged(answer.releases) > 0


def at(epsilon: str, text: str) -> str:
    return f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = {epsilon}) {text} FROM t"


@pytest.mark.parametrize("text", ["COUNT(*)", "AVG(x), COUNT(*)", "g, SUM(x)"])
def test_a_finer_repeat_costs_the_difference(session: Session, text: str) -> None:
    by = " GROUP BY g" if text.startswith("g") else ""
    first, second = (at(epsilon, text) + by for epsilon in ("0.1", "0.3"))
    coarse, explained, fine = map(session.execute, (first, f"EXPLAIN {second}", second))
    assert [each.cost.epsilon * 10 for each in (coarse, explained, fine)] == [1, 2, 2]
    assert (fine.repeat, fine.cost.queries) == (False, 1)
    assert fine.releases[0].epsilon == charged(fine.releases[:1]) <= Fraction(3, 10)
    for epsilon in ("0.1", "0.3", "0.05", "0.2"):  # the last two follow from the finest alone
        again = session.execute(at(epsilon, text) + by)
        assert (again.repeat, again.rows) == (True, (coarse if epsilon == "0.1" else fine).rows)
    session.execute("SET repeats = 'fresh'")
    assert session.execute(second).cost.epsilon == Fraction(3, 10)
    assert session.balance.epsilon_left == 10 - Fraction(6, 10)


@pytest.mark.parametrize("composition", Composition)
def test_noise_is_refined_where_the_sum_of_epsilon_counts(composition: Composition) -> None:
    """Other theorems would be told of a draw of both ε together, dearer than a fresh one."""
    limits = Budget(Fraction(10), Fraction(1, 10**6), 10, composition)
    here = world(COLUMNS, ADD_REMOVE, budget=limits)
    here.source.rows = ROWS
    session = Session(here.policy, noise=noise(5))
    session.execute("SET mechanism = 'laplace'")
    session.execute(at("0.1", "COUNT(*)"))
    refined = session.execute(f"EXPLAIN {at('3', 'COUNT(*)')}").cost.epsilon
    session.execute("SET repeats = 'fresh'")
    fresh = session.execute(f"EXPLAIN {at('3', 'COUNT(*)')}").cost.epsilon
    assert refined == fresh - Fraction(composition is Composition.PURE, 10) > 0


def test_intervals_hold_for_the_finest_level_of_a_series() -> None:
    """Weighed as if their noises were independent, two levels were 10.5 % outside, not 5 %.

    Of 4,000 groups at most 5 % may be outside, and 4.8 σ more: once in a million by chance.
    """
    groups, levels = 4000, ("0.29", "0.3", "0.2")
    columns = (Column("g", Kind.INTEGER, Fraction(0), Fraction(groups - 1), nullable=False),)
    here = world(columns, ADD_REMOVE, budget=Budget(Fraction(1), Fraction(0), 10))
    here.source.rows = [("7",)] * 9
    session = Session(here.policy, noise=noise(11))
    told = [session.execute(f"{at(each, 'g, COUNT(*)')} GROUP BY g") for each in levels]
    assert told[2].rows == told[1].rows
    missed = sum(
        not low <= 9 * (group == 7) <= high
        for (group, _), (_, (low, high)) in zip(told[2].rows, told[2].intervals, strict=True)
    )
    assert missed <= 0.05 * groups + 4.8 * (0.05 * 0.95 * groups) ** 0.5


def test_a_smaller_share_is_answered_with_what_had_more(session: Session) -> None:
    session.execute("SELECT AVG(x) FROM t")
    less = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 0.5) COUNT(x) FROM t"
    assert session.execute(less).repeat


def test_the_rest_of_a_statement_has_the_whole_share(session: Session, scales: Scales) -> None:
    session.execute("SELECT AVG(x) FROM t")
    text = "SELECT AVG(x), MAX(k), SUM(m), COUNT(m) FROM t"
    explained, answer = session.execute(f"EXPLAIN {text}"), session.execute(text)
    assert [report.recalled for report in answer.releases][:2] == [True, True]
    assert answer.cost.epsilon == explained.cost.epsilon == charged(answer.releases) == 1
    again = session.execute(text)
    assert (again.repeat, again.rows) == (True, answer.rows)
    assert len(scales.drawn) == 2


def test_no_draw_is_seen_at_two_scales(session: Session, scales: Scales) -> None:
    """Each group that is paid for is one draw, of one value for each of its parts.

    What is recalled is shown with the ε that it was drawn at, whatever the statement's own is.
    """
    paid, seen = [], {}
    for text in ("AVG(x), COUNT(*)", "SUM(x)", "AVG(x), AVG(k)", "COUNT(*), SUM(k), VARIANCE(x)"):
        answer = session.execute(f"SELECT {text} FROM t")
        assert charged(answer.releases) == answer.cost.epsilon or answer.repeat
        for report in answer.releases:
            parts = [r for r in answer.releases if r.group == report.group]
            assert {r.epsilon for r in parts} == {report.epsilon}
            if report is parts[0] and not (report.recalled or answer.repeat):
                paid.append(len(parts))
                seen[tuple(r.aggregate for r in parts), report.epsilon] = report.scale
    assert [size for _, size in scales.drawn] == paid
    assert len(seen) == len(paid) == len(scales.drawn)


def test_repeats_can_be_paid_for(session: Session, scales: Scales) -> None:
    session.execute("SELECT AVG(x) FROM t")
    session.execute("SET repeats = 'fresh'")
    answer = session.execute("SELECT SUM(x), COUNT(x) FROM t")
    assert (answer.repeat, answer.cost.epsilon, len(scales.drawn)) == (False, 1, 2)
    session.execute("SET repeats = 'free'")
    again = session.execute("SELECT SUM(x), COUNT(x) FROM t")
    assert (again.repeat, again.rows) == (True, answer.rows)


@pytest.mark.parametrize(
    ("text", "plans"),
    [("AVG(m)", 1), ("AVG(x + 1)", 1), ("MEDIAN(x)", 2), ("COUNT(x)", 2), ("SUM(m), SUM(x)", 2)],
)
def test_a_query_is_planned_again_only_for_what_may_serve_it(
    session: Session, monkeypatch: pytest.MonkeyPatch, text: str, plans: int
) -> None:
    """However much is remembered of the same rows. A quantile may have been told without ±."""
    session.execute("SELECT AVG(x) FROM t")
    made = []
    monkeypatch.setattr(
        query_plans, "plan", lambda *given, **more: made.append(given) or plan(*given, **more)
    )
    session.execute(f"EXPLAIN SELECT {text} FROM t")
    assert len(made) == plans
