"""Under zCDP the sum of ε pays, or ρ, and a count has Laplace or Gaussian noise: what is best.

What is random is drawn from fixed seeds, and fails by chance less often than once in 10^6 runs.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from fractions import Fraction
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpdb.answers.answer import Answer
from dpdb.answers.formats.json_lines import as_json
from dpdb.errors import BudgetExceeded, InvalidOption
from dpdb.policy.budget import Budget, Composition
from dpdb.privacy.noise.system import SystemNoise
from dpdb.session.session import Session
from tests.support.brute import REPLACE
from tests.support.budgets import ADVANCED, PURE, ZCDP
from tests.support.noiseless import Noiseless
from tests.support.optional import asking, opened, refused

pytestmark = pytest.mark.usefixtures("in_memory")

DELTA = Fraction(1, 10**6)
COUNT = "SELECT COUNT(*) FROM t"
STATEMENTS = [
    COUNT,
    "SELECT MEDIAN(x) FROM t",
    "SELECT AVG(x) FROM t",
    "SELECT COUNT(*), SUM(x), SUM(m), AVG(x) FROM t",
    "SELECT g, COUNT(*), SUM(x) FROM t GROUP BY g",
    "SELECT MODE(g), MAX(x) FROM t",
    "SELECT MAX(w) FROM t",
    "SELECT COUNT(*) FROM t WHERE x < 0",
    "SELECT MEDIAN(x) FROM t WHERE x >= 0",
    "SELECT STDDEV(x) FROM t",
    "SELECT COUNT(*) FROM t WHERE x > (SELECT AVG(x) FROM t)",
    asking("noise_index = [1, 10]", "SUM(m), SUM(x) FROM t"),
]


def begun(queries: int, composition: Composition = ZCDP, **more: object) -> Session:
    here = opened(Budget(Fraction(1), DELTA, queries, composition), **more)  # type: ignore[arg-type]
    here.execute("SET repeats = 'fresh'")
    return here


def deviation(answer: Answer) -> float:
    """The standard deviation of the noise of the only release: exact, or by [CKS20] nearly so."""
    [drawn] = answer.releases
    assert drawn.scale is not None
    if drawn.mechanism == "gaussian":
        return float(drawn.scale)
    q = math.exp(-1 / drawn.scale)
    return math.sqrt(2 * q) / (1 - q)


def noises(answer: Answer) -> list[float]:
    """About the deviation of each release; of a selection, the inverse of its rate."""
    return [
        float(1 / drawn.epsilon) if drawn.scale is None
        else float(drawn.scale) * (math.sqrt(2) if drawn.mechanism == "laplace" else 1)
        for drawn in answer.releases
    ]  # fmt: skip


TARGETS = {1: 1.36, 5: 7.07, 10: 14.2, 20: 20.9, 100: 46.7, 1000: 148}
"""The error of a count at ε = 1 and δ = 1e-6, by the number of queries.

By ρ alone, with half of δ and Laplace noise, it was 6.59, 14.7, 20.9, 29.5, 66.0 and 209.
"""


@pytest.mark.parametrize("queries", TARGETS)
def test_the_error_of_a_count(queries: int) -> None:
    answer = begun(queries).execute(f"EXPLAIN {COUNT}")
    assert deviation(answer) <= TARGETS[queries]
    assert answer.releases[0].mechanism == ("laplace" if queries <= 10 else "gaussian")


@pytest.mark.parametrize(("queries", "sessions"), [(1, 400), (10, 40), (100, 4)])
@pytest.mark.usefixtures("planned_once")
def test_the_error_of_counts_as_they_are_drawn(queries: int, sessions: int) -> None:
    """The mean square of 400 draws; that of Laplace noise has a deviation of √(5/400) of itself."""
    noise, policy = SystemNoise(Random(queries).randbytes), begun(queries).policy
    squares = []
    for _ in range(sessions):
        here = Session(policy, noise=noise)
        here.execute("SET repeats = 'fresh'")
        for _ in range(queries):
            [[count]] = here.execute(COUNT).rows
            assert isinstance(count, int)
            squares.append((count - 4) ** 2)
        with pytest.raises(BudgetExceeded):
            here.execute(COUNT)
    ratio = sum(squares) / len(squares) / TARGETS[queries] ** 2
    assert 1 - 5 * math.sqrt(5 / 400) < ratio < 1 + 5 * math.sqrt(5 / 400)


@pytest.mark.parametrize("queries", [1, 6, 10, 11, 22, 200])
@pytest.mark.parametrize("text", STATEMENTS)
def test_no_noise_is_more_than_under_pure(text: str, queries: int) -> None:
    """The mean of the logarithms, as one release may have a little more where others have less."""
    answers = [begun(queries, each).execute(f"EXPLAIN {text}") for each in (PURE, ADVANCED, ZCDP)]
    pure, advanced, concentrated = (sum(map(math.log, noises(answer))) for answer in answers)
    assert advanced == concentrated <= pure + 1e-12


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
@settings(max_examples=3)
@given(data=st.data())
def test_every_query_of_the_limit_is_answered(data: st.DataObject, relation: str) -> None:
    """Whatever is asked, in whatever order, as long as it asks for nothing special."""
    queries = data.draw(st.sampled_from([2, 5, 6, 8, 10, 11, 16, 22]))
    given = {"relation": REPLACE} if relation == "replace" else {}
    here = begun(queries, noise=Noiseless(), **given)
    for left in reversed(range(queries)):
        text = data.draw(st.sampled_from(STATEMENTS))
        explained, answer = here.execute(f"EXPLAIN {text}"), here.execute(text)
        assert explained.releases == answer.releases
        assert explained.cost == answer.cost
        assert explained.theorem == answer.theorem
        assert answer.balance.queries_left == left
        assert answer.balance.epsilon_left >= 0


@pytest.mark.parametrize("composition", [ADVANCED, ZCDP])
def test_counts_are_drawn_as_under_pure_where_the_sum_pays(composition: Composition) -> None:
    """Two that overlap have √2 times the noise over what tells them apart, and twice if apart."""
    text = "SELECT COUNT(*) FILTER (WHERE x < 3), COUNT(*) FILTER (WHERE x > 1) FROM t"
    pure, other = (begun(1, each).execute(f"EXPLAIN {text}") for each in (PURE, composition))
    assert other.releases == pure.releases
    assert [drawn.scale for drawn in pure.releases] == [1]


def mechanisms(answers: Sequence[Answer]) -> list[str]:
    return [drawn.mechanism for answer in answers for drawn in answer.releases]


def test_a_session_goes_on_as_it_began() -> None:
    """At k = 8 a count has less noise by the sum of ε, and a median by ρ: not both have theirs."""
    median = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(interval = off) MEDIAN(x) FROM t"
    counted, chosen = begun(8), begun(8)
    assert mechanisms([counted.execute(COUNT), chosen.execute(median)]) == [
        "laplace",
        "exponential",
    ]
    even, more = Fraction(1, 8), counted.balance.shares[1].epsilon * 2
    first, other = (here.execute(median).releases[0].epsilon for here in (counted, chosen))
    assert (first, other) == (even, more)
    last = [here.execute(COUNT) for here in (counted, chosen)]
    assert mechanisms(last) == ["laplace", "gaussian"]
    assert [str(answer.theorem) for answer in last] == [
        "sequential composition", "zero-concentrated DP",
    ]  # fmt: skip


def test_a_query_that_was_answered_is_free_however_the_session_goes_on() -> None:
    here = opened(Budget(Fraction(1), DELTA, 8, ZCDP))
    [[before]] = here.execute(COUNT).rows
    here.execute("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(mechanism = 'gaussian') SUM(x) FROM t")
    assert mechanisms([here.execute("SELECT SUM(m) FROM t")]) == ["gaussian"]
    again = here.execute(COUNT)
    assert (again.repeat, again.rows) == (True, ((before,),))
    assert here.execute(f"EXPLAIN {COUNT}").cost.queries == 0


def test_a_session_by_the_sum_of_epsilon_has_no_room_for_a_delta() -> None:
    """Five counts at k = 10 are more ρ than there is."""
    here = begun(10)
    for _ in range(5):
        here.execute(COUNT)
    said = refused(here, asking("mechanism = 'gaussian'", "COUNT(*) FROM t"), BudgetExceeded)
    assert "not enough epsilon" in said
    assert here.execute(COUNT).balance.epsilon_left == Fraction(4, 10)


@pytest.mark.parametrize("options", ["epsilon = 0.3", "epsilon = 0.3, mechanism = 'laplace'"])
def test_an_epsilon_that_is_asked_for_is_paid_for_by_the_sum_where_that_takes_less(
    options: str,
) -> None:
    """By ρ three times 0.3 would be six times the budget, for k = 100 queries too."""
    here = begun(100)
    for number in range(1, 4):
        answer = here.execute(asking(options, "COUNT(*) FROM t"))
        assert answer.releases[0].epsilon == Fraction(3, 10)
        assert answer.balance.epsilon_left == 1 - number * Fraction(3, 10)
    refused(here, asking(options, "COUNT(*) FROM t"), BudgetExceeded)


def test_the_noise_that_is_asked_for() -> None:
    few, many = begun(5), begun(50)
    assert mechanisms([few.execute(COUNT), many.execute(COUNT)]) == ["laplace", "gaussian"]
    few = begun(5)
    few.execute("SET mechanism = 'gaussian'")
    many.execute("SET mechanism = 'laplace'")
    assert mechanisms([few.execute(COUNT), many.execute(COUNT)]) == ["gaussian", "laplace"]
    many.execute("SET mechanism = default")
    assert mechanisms([many.execute(COUNT)]) == ["gaussian"]
    shown = {row[0]: row[1] for row in many.execute("SHOW ALL").rows}
    assert shown["mechanism"] == "default"


def test_pure_composition_uses_no_delta_unasked() -> None:
    here = begun(1000, PURE)
    assert mechanisms([here.execute(COUNT)]) == ["laplace"]
    assert here.balance.delta_left == DELTA


def test_json_and_the_footer_say_which_theorem_pays() -> None:
    few, many, pure = begun(5), begun(50), begun(5, PURE)
    for here, theorem, by in (
        (few, "sequential composition", " by the sum of ε, 4 of 5 queries"),
        (many, "zero-concentrated DP", " by zcdp, 49 of 50 queries"),
    ):
        explained, answer = here.execute(f"EXPLAIN {COUNT}"), here.execute(COUNT)
        for each in (explained, answer):
            assert json.loads(as_json(each))["budget"]["theorem"] == theorem
        assert by in repr(answer)
        assert by.split(",")[0] in repr(explained)
        rows = [row[0] for row in here.execute("SHOW BUDGET").rows]
        assert f"epsilon by {theorem}, which counts" in rows
    assert "theorem" not in json.loads(as_json(pure.execute(COUNT)))["budget"]


@pytest.mark.parametrize(
    ("options", "mechanism"),
    [("mechanism = 'gaussian'", "gaussian"), ("noise_index = [1]", "laplace")],
)
@pytest.mark.parametrize("queries", [4, 40])
def test_statements_that_are_planned_together_have_the_noise_that_they_ask_for(
    queries: int, options: str, mechanism: str
) -> None:
    """Gaussian noise for few queries needs the share by ρ, though a count has that by the sum."""
    here = begun(queries)
    texts = [asking(options, f"COUNT(*) FROM t WHERE x > {number}") for number in range(2)]
    assert len(here.plan(texts).rows) == len(texts)
    assert mechanisms([here.execute(text) for text in texts]) == [mechanism] * 2


SPENDING = [
    ["COUNT(*) FROM t"],
    ["COUNT(*) FROM t", "SUM(x) FROM t", "MEDIAN(x) FROM t", "AVG(x) FROM t WHERE x > 1"],
    ["MEDIAN(x) FROM t", "COUNT(*) FROM t WHERE x > 1", "SUM(m) FROM t"],
]


@pytest.mark.parametrize("composition", [ADVANCED, ZCDP])
@pytest.mark.parametrize(
    "before",
    [
        [],
        ["SELECT SUM(m) FROM t WHERE x > 0", "SELECT COUNT(*) FROM t WHERE x < 0"],
        [asking("mechanism = 'gaussian'", "SUM(m) FROM t WHERE x > 0")],
    ],
)
@pytest.mark.parametrize("asked", SPENDING)
def test_what_a_query_is_told_to_spend_is_the_most_it_spends(
    composition: Composition, before: Sequence[str], asked: Sequence[str]
) -> None:
    """By the theorem that pays: 0.1 of 3 took 0.43 as the ε of Gaussian noise."""
    here = opened(Budget(Fraction(3), DELTA, 10, composition))
    for text in before:
        here.execute(text)
    for text in asked:
        left = here.balance.epsilon_left
        answer = here.execute(asking("epsilon = 0.1", text))
        spent = left - here.balance.epsilon_left
        assert 0 <= spent <= Fraction(1, 10) * (1 + Fraction(1, 2**20))
        assert here.execute(asking("epsilon = 0.1", text)).repeat
        assert answer.cost.epsilon == spent


def test_noise_that_cannot_be_had_for_what_is_told_is_refused() -> None:
    """Counts paid for by the sum of ε are less than they would be as ρ, which Gaussian noise needs."""
    here = opened(Budget(Fraction(3), DELTA, 10, ZCDP))
    for condition in ("x > 1", "x > 2"):
        here.execute(f"SELECT COUNT(*) FROM t WHERE {condition}")
    left = here.balance
    text = asking("epsilon = 0.1, mechanism = 'gaussian'", "COUNT(*) FROM t")
    assert "is the most it may" in refused(here, text, InvalidOption)
    assert here.balance == left
    here.execute(asking("mechanism = 'gaussian'", "COUNT(*) FROM t"))
