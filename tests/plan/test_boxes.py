"""Several averages over one filter are one vector: when, at what charge, and how noisy."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from unittest import mock

import numpy as np
import pytest
from scipy.stats import binom

from dpdb.answers.formats.explain_tree import explain_screen
from dpdb.plan.physical.plan import Plan
from dpdb.plan.releases import release_groups
from dpdb.plan.releases.shared_moments import covariance
from dpdb.policy.budget import Budget, Composition, Neighbors
from dpdb.policy.catalog import Column, Kind
from dpdb.privacy.mechanisms.box import STEPS, Box
from dpdb.session.session import Session
from tests.support.audited import noise
from tests.support.brute import ADD_REMOVE, REPLACE, Row, World, world

pytestmark = pytest.mark.usefixtures("in_memory")
COLUMNS = (
    Column("g", Kind.TEXT, values=("a", "b"), nullable=False),
    Column("x", Kind.INTEGER, Fraction(-1), Fraction(1), nullable=False),
    Column("y", Kind.INTEGER, Fraction(0), Fraction(3), nullable=False),
    Column("z", Kind.NUMBER, Fraction(100), Fraction(900), nullable=False),
    Column("v", Kind.NUMBER, Fraction(-5), Fraction(9), nullable=False),
    Column("w", Kind.NUMBER, Fraction(0), Fraction(1), nullable=False),
    Column("n", Kind.INTEGER, Fraction(0), Fraction(3)),
    Column("u", Kind.TEXT),
)
HERE = world(COLUMNS)


def boxes(plan: Plan) -> list[Box]:
    return [each.mechanism for each in plan.releases if isinstance(each.mechanism, Box)]


@pytest.mark.parametrize(
    ("select", "halves"),
    [
        ("AVG(x), AVG(y)", [{(1, 1, 3)}]),
        ("AVG(x), AVG(y), COUNT(*), SUM(x)", [{(1, 1, 3)}]),
        ("AVG(x), AVG(y), AVG(w * 2)", [3]),
        ("AVG(x) FILTER (WHERE g = 'a'), AVG(y) FILTER (WHERE g = 'a'), "
         "AVG(x) FILTER (WHERE g = 'b'), AVG(y) FILTER (WHERE g = 'b')", [2, 2]),
        ("g, AVG(x), AVG(y) FROM t GROUP BY g", [2]),
        # What can be NULL has a number of its own.
        # One alone, other filters, and squares keep their pairs.
        ("AVG(x)", []),
        ("AVG(x), SUM(x), COUNT(*)", []),
        ("AVG(x), AVG(n)", [3]),
        ("AVG(n), AVG(n + x)", [3]),
        ("AVG(n), AVG(n + x), COUNT(*)", []),
        ("AVG(x) FILTER (WHERE g = 'a'), AVG(y)", []),
        ("AVG(x), VARIANCE(y)", []),
        # Three others would have more, and these two less.
        ("AVG(x), AVG(y), MEDIAN(x), MEDIAN(y), MEDIAN(n), MAX(n)", []),
    ],
)  # fmt: skip
def test_averages_are_drawn_together(select: str, halves: list[object]) -> None:
    sql = select if " FROM " in select else f"{select} FROM t"
    found = boxes(HERE.plan(f"SELECT {sql}"))
    assert len(found) == len(halves)
    for one, expected in zip(found, halves, strict=True):
        if isinstance(expected, set):
            assert set(one.halves) == {h for each in expected for h in each}
            assert one.halves[0] == 1
        else:
            assert len(one.halves) == 1 + expected  # type: ignore[operator]


def test_a_large_epsilon_has_pairs() -> None:
    """There the counts behind averages are nearly exact, and few draws of a box are accepted."""
    sql = "SELECT AVG(x), AVG(y) FROM t"
    assert boxes(HERE.plan(sql, Fraction(4)))
    assert not boxes(HERE.plan(sql, Fraction(41, 10)))


@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE])
@pytest.mark.parametrize("where", ["", " WHERE y > 0"])
@pytest.mark.parametrize("averages", [2, 3, 5])
@pytest.mark.parametrize("kind", ["never NULL", "NULL", "both"])
@pytest.mark.parametrize(
    "others", [(), ("COUNT(*)",), ("SUM(x)",), ("MEDIAN(n)",), ("COUNT(*)", "SUM(z)", "MAX(n)")]
)
def test_no_aggregate_is_noisier_than_with_pairs(
    relation: Neighbors, where: str, averages: int, kind: str, others: tuple[str, ...]
) -> None:
    here = world(COLUMNS, relation)
    nulls = ["n", "n + x", "n * 2", "n - x", "n + 3 * x"]
    arguments = {"never NULL": list("xyzvw"), "NULL": nulls, "both": ["n", *"xyzv"]}[kind]
    columns = [*(f"AVG({each})" for each in arguments[:averages]), *others]
    sql = f"SELECT {', '.join(columns)} FROM t{where}"
    together = here.plan(sql)
    with mock.patch.object(release_groups, "_in_boxes", lambda groups, *_: groups):
        pairs = here.plan(sql)
    assert not boxes(pairs)
    for column, own, other in zip(columns, together.estimates, pairs.estimates, strict=True):
        if column.startswith(("MEDIAN", "MAX")):
            one, two = (
                p.releases[e.releases[0]].mechanism.loss.epsilon
                for p, e in ((together, own), (pairs, other))
            )
            assert one >= two
    own, other = _summed(together), _summed(pairs)
    assert all(a <= b * (1 + 1e-9) for a, b in zip(own, other, strict=True))
    if not others and relation is ADD_REMOVE and kind != "both":
        gains = [b / a for a, b in zip(own, other, strict=True)]
        never = kind == "never NULL"
        expected = {
            2: 1.55 if never else 1.26,
            3: 1.90 if never else 1.39,
            5: 2.31 if never else 1.51,
        }
        assert min(gains) == pytest.approx(expected[averages], abs=0.01)


def _summed(plan: Plan) -> list[float]:
    """The deviation of each COUNT and SUM, and of the sum and the number behind each AVG."""
    found = []
    for estimate in plan.estimates:
        own, moments = estimate.combination, estimate.moments
        for each in [own] if own else [moments.total, moments.count]:
            if each is not None and each.weights:
                found.append(math.sqrt(covariance(each, each, plan.releases)))
    return found


def loss(plan: Plan, one: list[np.ndarray], other: list[np.ndarray]) -> float:
    """The loss of a box between two tables: the norm of the change, as at 0 and at the change."""
    total = 0.0
    for release, a, b in zip(plan.releases, one, other, strict=True):
        mechanism = release.mechanism
        assert isinstance(mechanism, Box)
        for change in (np.asarray(a) - np.asarray(b)).tolist():
            steps = max(
                -(-STEPS * abs(c) // half) for c, half in zip(change, mechanism.halves, strict=True)
            )
            total += steps / STEPS * float(mechanism.rate)
    return total


ASKED = [
    "SELECT AVG(x), AVG(y) FROM t",
    "SELECT g, AVG(x), AVG(y), COUNT(*) FROM t GROUP BY g",
    "SELECT AVG(x) FILTER (WHERE g = 'a'), AVG(y) FILTER (WHERE g = 'a') FROM t",
    "SELECT AVG(n), AVG(x) FROM t",
]


@pytest.mark.parametrize("sql", ASKED)
@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE])
@pytest.mark.parametrize("rows_per_unit", [1, 2])
def test_no_pair_of_small_tables_loses_more_than_the_charge(
    sql: str, relation: Neighbors, rows_per_unit: int
) -> None:
    """And some pair loses at least .8 of it. A unit has up to two rows, beside other rows."""
    unit = "u" if rows_per_unit > 1 else None
    here = world((*COLUMNS[:3], *COLUMNS[-2:]), relation, unit, rows_per_unit)
    plan = here.plan(sql, rows=3)
    if relation is REPLACE and not boxes(plan):
        return  # there a pair of pairs is as good
    values = product("ab", ("-1", "0", "1"), ("0", "3"), ("", "0", "3"))
    kinds: list[Row] = [(*each, "1") for each in values]
    other: Row = ("a", "1", "0", "1", "2")
    owned = [[], *([kind] for kind in kinds)]
    if rows_per_unit > 1:
        owned += [[one, two] for one, two in product(kinds[::4], kinds[1::5])]
    if relation is REPLACE and rows_per_unit == 1:
        owned = owned[1:]
    exact = [here.exact(plan, [other, *rows]) for rows in owned]
    pairs = (
        [(exact[0], each) for each in exact]
        if relation is ADD_REMOVE
        else list(product(exact, repeat=2))
    )
    charged = float(plan.loss.epsilon)
    largest = max(loss(plan, one, two) for one, two in pairs)
    assert 0.8 * charged <= largest <= charged * (1 + 1e-12)


GROUPS = 2_000
ALPHA = 1e-6


@pytest.mark.parametrize("nullable", [False, True])
def test_intervals_hold_and_explain_says_how_wide(*, nullable: bool) -> None:
    """In 2,000 groups at most 5 % of the intervals of each column may miss, but for α."""
    columns = (
        Column("g", Kind.INTEGER, Fraction(0), Fraction(GROUPS - 1), nullable=False),
        Column("x", Kind.NUMBER, Fraction(0), Fraction(10), Fraction(1, 100), nullable=False),
        Column("y", Kind.INTEGER, Fraction(-50), Fraction(50), nullable=nullable),
    )
    here = world(columns, budget=Budget(Fraction(1), Fraction(0), 1))
    values = [(f"{i * 37 % 1000 / 100}", f"{i * 7 % 50}") for i in range(40)]
    if nullable:
        values[30:] = [(x, "") for x, _ in values[30:]]
    here.source.rows = [(str(g), *each) for g in range(GROUPS) for each in values]
    session = Session(here.policy, noise=noise(8))
    rest = "" if nullable else ", COUNT(*), SUM(x)"
    sql = f"SELECT AVG(x), AVG(y){rest} FROM t GROUP BY g"
    assert boxes(session.execute(f"EXPLAIN {sql}").plan)  # type: ignore[arg-type]
    promised = explain_screen(session.execute(f"EXPLAIN {sql}"), ())
    answer = session.execute(sql)
    xs, ys = ([float(each[at]) for each in values if each[at]] for at in (0, 1))
    truths = sum(xs) / len(xs), sum(ys) / len(ys), 40, sum(xs)
    for column, truth in enumerate(truths[: len(answer.columns)]):
        ends = [row[column] for row in answer.intervals]
        missed = sum(not low - 1e-9 <= truth <= high + 1e-9 for low, high in ends)  # type: ignore[misc]
        assert missed <= binom.isf(ALPHA, GROUPS, 0.05)
        # Nor are they far wider than they need be: half of 5 % miss, but for whole counts.
        assert missed >= binom.ppf(ALPHA, GROUPS, 0.01)
    if nullable:
        return
    counts = np.abs(np.array([row[2] for row in answer.rows], dtype=float) - 40)
    assert "COUNT(*)  ± 6" in promised
    assert (counts > 6).mean() <= 0.05
    assert (counts > 4).mean() > 0.05


# --------------------------------------------------------------- what is told later


@pytest.fixture
def session() -> Session:
    here: World = world(COLUMNS, budget=Budget(Fraction(10), Fraction(0), 10))
    here.source.rows = [("a", "1", "2", "200", "0", "0.5", "", "1")] * 9
    return Session(here.policy, noise=noise(3))


def at(epsilon: str, text: str) -> str:
    return f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = {epsilon}) {text} FROM t"


def test_what_is_read_from_the_vector_is_free(session: Session) -> None:
    told = session.execute("SELECT AVG(x), AVG(y) FROM t")
    assert (told.cost.epsilon, len(told.releases)) == (1, 3)
    assert {release.mechanism for release in told.releases} == {"box"}
    assert {release.group for release in told.releases} == {1}
    again = session.execute("SELECT AVG(y), AVG(x), COUNT(*) FROM t")
    assert (again.repeat, again.rows[0][:2]) == (True, told.rows[0][::-1])
    # A pair of ε 0.77 has as much noise on its sums.
    for text in ("AVG(x)", "AVG(y), COUNT(*)", "SUM(x)", "SUM(y), COUNT(*)"):
        less = session.execute(at("0.75", text))
        assert less.repeat, text
    assert session.balance.epsilon_left == 9
    more = session.execute(at("0.8", "AVG(x)"))
    assert (more.repeat, more.cost.epsilon) == (False, Fraction(4, 5))


def test_the_vector_is_not_refined_and_not_combined(session: Session) -> None:
    """Its parts are not independent: a later number of rows is told by one draw alone."""
    session.execute(at("1", "AVG(x), AVG(y)"))
    session.execute(at("1", "COUNT(*)"))
    assert session.execute(at("2", "AVG(x), AVG(y)")).cost.epsilon == 2
    number = session.execute(at("1.5", "COUNT(*)"))
    assert (number.repeat, {release.group for release in number.releases}) == (True, {1})


def test_groups_are_added_up(session: Session) -> None:
    session.execute("SELECT g, AVG(x), AVG(y) FROM t GROUP BY g")
    total = session.execute(at("0.1", "COUNT(*), SUM(x)"))
    assert (total.repeat, total.cost.epsilon) == (True, 0)
    assert all(interval is not None for interval in total.intervals[0])


def test_under_zcdp_averages_are_apart() -> None:
    budget = Budget(Fraction(1), Fraction(1, 10**6), 4, Composition.ZCDP)
    here = world(COLUMNS, budget=budget)
    plan = Session(here.policy).execute("EXPLAIN SELECT AVG(x), AVG(y) FROM t").plan
    assert plan is not None
    gaussian = [release.mechanism.name == "gaussian" for release in plan.releases]
    assert all(gaussian) or not any(gaussian)
