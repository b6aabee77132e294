"""relative_error: ε is spent step by step, until the noise is a small enough part of the answer.

What is paid is the price of the last step alone, and depends on noisy values alone. Which step
is the last is worked out here from the distribution of the noise and the definition of the
error (Shoaran, Thomo, Weber, equation 2).
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from random import Random

import mpmath
import numpy as np
import pytest
from scipy.stats import binom

from dpdb.answers.answer import Answer
from dpdb.answers.formats.render import FORMATS
from dpdb.errors import BudgetExceeded, InvalidOption, TooLarge
from dpdb.policy.budget import Budget, Composition, Neighbors
from dpdb.policy.catalog import Column, Kind
from dpdb.privacy.noise.protocols import Noise
from dpdb.privacy.noise.refinement import GradualNoise
from dpdb.privacy.noise.system import SystemNoise
from dpdb.session.purchases import purchases
from dpdb.session.session import Session
from tests.support.brute import ADD_REMOVE, REPLACE, Row, tables_in_memory, world
from tests.support.noiseless import Noiseless

ALPHA = 1e-6
STEPS = 8
COLUMNS = (
    Column("g", Kind.TEXT, values=("a", "b")),
    Column("x", Kind.INTEGER, Fraction(-2), Fraction(5)),
    Column("k", Kind.INTEGER, Fraction(3), Fraction(7), nullable=False),
)
TENTH = Budget(Fraction(1), Fraction(0), 10)


@pytest.fixture(autouse=True, scope="module")
def _in_memory() -> Iterator[None]:
    with tables_in_memory():
        yield


def rows(number: int, group: str = "a") -> list[Row]:
    return [(group, "1", "5")] * number


def opened(
    data: list[Row],
    budget: Budget = TENTH,
    noise: Noise | None = None,
    relation: Neighbors = ADD_REMOVE,
    teach: bool = False,
) -> Session:
    here = world(COLUMNS, relation, budget=budget)
    here.source.rows = data
    return Session(here.policy, noise=noise or Noiseless(), teach=teach)


def asking(options: str, select: str = "COUNT(*) FROM t") -> str:
    return f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS({options}) {select}"


def margin(scale: Fraction, confidence: float) -> int:
    """The least z with P(|X| > z) = 2r^(z+1)/(1+r) within an eighth of 1 - confidence."""
    with mpmath.workdps(40):
        r = mpmath.exp(-mpmath.mpf(scale.denominator) / scale.numerator)
        allowed = (1 - mpmath.mpf(confidence)) / STEPS
        return max(0, int(mpmath.ceil(mpmath.log(allowed * (1 + r) / 2) / mpmath.log(r) - 1)))


def last_step(
    cells: list[int], change: int, relative: float, cap: Fraction, confidence: float = 0.95
) -> int | None:
    """The first step at which, without noise, all answers are sure to be as near as asked."""
    for step in range(STEPS):
        scale = change / (cap / 2 ** (STEPS - 1 - step))
        z = margin(scale, confidence)
        if all(abs(cell) > z and z / (abs(cell) - z) <= relative for cell in cells):
            return step
    return None


def price(step: int | None, cap: Fraction = Fraction(1, 10)) -> Fraction:
    return cap / 2 ** (0 if step is None else STEPS - 1 - step)


@pytest.mark.parametrize("number", [0, 1, 40, 55, 300, 560, 561, 562, 3000, 9000, 40_000])
@pytest.mark.parametrize("relative", [0.5, 0.1, 0.01])
@pytest.mark.parametrize("confidence", [0.95, 0.5])
def test_the_price_is_that_of_the_step_it_takes(
    number: int, relative: float, confidence: float
) -> None:
    session = opened(rows(number))
    query = asking(f"relative_error = {relative}, confidence = {confidence}")
    answer = session.execute(query)
    step = last_step([number], 1, relative, Fraction(1, 10), confidence)
    spent = price(step)
    assert answer.cost.epsilon == spent
    assert answer.balance.epsilon_left == 1 - spent
    assert answer.cost.queries == 1
    [drawn] = answer.releases
    assert (drawn.epsilon, drawn.scale) == (spent, 1 / spent)
    assert answer.rows == ((number,),)
    z = margin(1 / spent, confidence)
    if confidence == 0.95:
        assert answer.intervals == (((number - z, number + z),),)
    reached = f"at ε {float(spent):.10g} the noise is within {100 * relative:g} % of the answer"
    missed = f"ε {float(spent):.10g} was not enough for noise within {100 * relative:g} %"
    assert answer.notes[0].startswith(missed if step is None else reached)
    assert answer.notes[0].endswith(f"{100 * confidence:g} % sure")
    assert "ex-post" in answer.notes[1]


def test_more_rows_cost_less() -> None:
    """Without noise, that is; these are the numbers of rows at which a step is saved."""
    spent = [
        opened(rows(n)).execute(asking("relative_error = 0.1")).cost.epsilon
        for n in (560, 561, 1_122, 2_244, 4_488, 8_976, 17_952, 35_904)
    ]
    assert spent == sorted(spent, reverse=True)
    assert len(set(spent)) == STEPS - 1


@pytest.mark.parametrize(
    ("statements", "cap"),
    [
        ([asking("relative_error = 1e-9")], Fraction(1, 10)),
        ([asking("relative_error = 1e-9, epsilon = 0.3")], Fraction(3, 10)),
        (["SET epsilon = 0.2", asking("relative_error = 1e-9")], Fraction(1, 5)),
        (["SET epsilon = 0.2", asking("relative_error = 1e-9, epsilon = 0.05")], Fraction(1, 20)),
    ],
)
def test_no_more_is_spent_than_a_query_may(statements: list[str], cap: Fraction) -> None:
    session = opened(rows(50))
    *before, query = statements
    for text in before:
        session.execute(text)
    explained = session.execute(f"EXPLAIN {query}")
    answer = session.execute(query)
    assert answer.cost.epsilon == explained.cost.epsilon == cap
    assert "was not enough" in answer.notes[0]
    assert explained.notes[0].startswith("at most: ")
    assert [drawn.scale for drawn in answer.releases] == [1 / cap]


def test_sums_and_groups() -> None:
    """A grouped answer is one vector: as long as one of its cells is not as asked, all go on."""
    data = [*rows(4000, "a"), *rows(900, "b")]
    for select, cells, change in (
        ("SUM(k) FROM t", [24_500], 7),
        ("g, COUNT(*) FROM t GROUP BY g", [4000, 900], 1),
        ("g, SUM(k) FROM t GROUP BY g HAVING SUM(k) > 9000 LIMIT 1", [20_000, 4500], 7),
        ("COUNT(*) FROM t WHERE g = 'b'", [900], 1),
        ("COUNT(DISTINCT x) FROM t", [1], 1),
    ):
        answer = opened(data).execute(asking("relative_error = 0.1", select))
        step = last_step(cells, change, 0.1, Fraction(1, 10))
        assert answer.cost.epsilon == price(step), select
    replaced = opened(data, relation=REPLACE)
    answer = replaced.execute(asking("relative_error = 0.1", "g, COUNT(*) FROM t GROUP BY g"))
    step = last_step([4000, 900], 2, 0.1, Fraction(1, 10))
    assert answer.cost.epsilon == price(step)


# ------------------------------------------------------------------------- what it depends on


class Fixed:
    """In place of noise: whatever the exact results are, these are the noisy ones."""

    __array_ufunc__ = None

    def __init__(self, value: int, size: int):
        self.values = np.full(size, value, dtype=np.int64)

    def __radd__(self, exact):
        return exact * 0 + self.values


def seen(data: list[Row], noisy: list[int], monkeypatch: pytest.MonkeyPatch) -> Answer:
    monkeypatch.setattr(GradualNoise, "at", lambda self, step: Fixed(noisy[step], self._size))
    return opened(data).execute(asking("relative_error = 0.1"))


@pytest.mark.parametrize(
    "noisy",
    [[0] * 8, [9**9] * 8, [-(9**9)] * 8, [1, 2, 3, 4, 5, 6, 7, 800], [70, 5, 1100, 2000, 3, 4, 5, 6],
     [8000, -9000, 1, 1, 1, 1, 1, 1]],
)  # fmt: skip
def test_the_price_follows_from_noisy_values_alone(
    noisy: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """To the byte, for neighbours and for files that have nothing in common."""
    answers = [seen(data, noisy, monkeypatch) for data in ([], rows(1), rows(3000), rows(9, "b"))]
    for render in FORMATS.values():
        assert len({render(answer) for answer in answers}) == 1
    scales = [1280 / Fraction(2) ** step for step in range(STEPS)]
    margins = [margin(scale, 0.95) for scale in scales]
    sure = [abs(n) > z and z / (abs(n) - z) <= 0.1 for n, z in zip(noisy, margins, strict=True)]
    last = sure.index(True) if any(sure) else STEPS - 1
    assert [answer.cost.epsilon for answer in answers] == [1 / scales[last]] * 4
    assert answers[0].rows == ((noisy[last],),)


def test_other_noisy_values_cost_something_else(monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = (seen(rows(9), [value] * 8, monkeypatch) for value in (10_000, 10))
    assert one.cost.epsilon < other.cost.epsilon


# ------------------------------------------------------------------------- asking again


def test_what_was_bought_is_free() -> None:
    session = opened(rows(3000), noise=SystemNoise(Random(3).randbytes))
    query = asking("relative_error = 0.1", "COUNT(*) FROM t WHERE x > 0 AND k > 3")
    first = session.execute(query)
    for again in (
        query,
        query.replace("x > 0 AND k > 3", "(3 < k) and (0 < x)"),
        query.replace("COUNT(*)", "count( * ) AS n"),
        query.replace("= 0.1", "= 1e-1, confidence = 0.95"),
        query.replace("= 0.1", "= 0.1, epsilon = 0.1, mechanism = 'laplace'"),
    ):
        explained = session.execute(f"EXPLAIN {again}")
        assert explained.cost.queries == 0, again
        answer = session.execute(again)
        assert answer.repeat
        assert (answer.rows, answer.intervals, answer.notes, answer.releases[0].scale) == (
            first.rows, first.intervals, first.notes, first.releases[0].scale,
        )  # fmt: skip
        assert (answer.cost.epsilon, answer.cost.queries) == (0, 0)
    session.execute("SET sensitivity = 'smooth'")
    assert session.execute(query).repeat
    assert session.balance.queries_left == 9


@pytest.mark.parametrize(
    "options",
    ["relative_error = 0.05", "relative_error = 0.2", "relative_error = 0.1, confidence = 0.99",
     "relative_error = 0.1, epsilon = 0.2", "epsilon = 0.025", "error = 40"],
)  # fmt: skip
def test_another_question_is_paid_for(options: str) -> None:
    """Noise that is looked at again for another purpose is other noise."""
    session = opened(rows(3000), noise=SystemNoise(Random(4).randbytes))
    first = session.execute(asking("relative_error = 0.1"))
    other = session.execute(asking(options))
    assert not other.repeat
    assert (other.cost.queries, other.cost.epsilon > 0) == (1, True)
    spent = first.cost.epsilon + other.cost.epsilon
    assert session.balance.epsilon_left == 1 - spent


def test_fresh_noise_is_paid_for() -> None:
    session = opened(rows(3000), noise=SystemNoise(Random(5).randbytes))
    session.execute("SET repeats = 'fresh'")
    answers = [session.execute(asking("relative_error = 0.1")) for _ in range(3)]
    assert len({answer.rows for answer in answers}) == 3
    assert sum(answer.cost.epsilon for answer in answers) == 1 - session.balance.epsilon_left


# ------------------------------------------------------------------------- when the budget ends


def test_what_the_budget_does_not_cover_is_not_bought() -> None:
    """Steps of 5/128, 5/64, …: 5/8 is the last that 1 covers, and is kept."""
    session = opened(rows(100))
    query = asking("relative_error = 0.001, epsilon = 5")
    answer = session.execute(query)
    assert answer.cost.epsilon == Fraction(5, 8)
    assert [drawn.scale for drawn in answer.releases] == [Fraction(8, 5)]
    assert answer.notes[0].startswith("ε 0.625 was not enough for noise within 0.1 %")
    again = session.execute(query)
    assert (again.repeat, again.rows, again.notes) == (True, answer.rows, answer.notes)
    assert session.balance.epsilon_left == Fraction(3, 8)
    assert session.execute("SELECT COUNT(*) FROM t WHERE x > 0").cost.epsilon == Fraction(1, 10)


def test_a_first_step_that_is_not_covered_is_refused() -> None:
    session = opened(rows(100), Budget(Fraction(1), Fraction(0), 2))
    session.execute(asking("epsilon = 0.999"))
    before = session.balance
    with pytest.raises(BudgetExceeded, match=r"0\.00390625\d* requested, 0\.001 left"):
        session.execute(asking("relative_error = 0.1, epsilon = 0.5"))
    assert session.balance == before
    session.execute(asking("epsilon = 0.0001", "COUNT(*) FROM t WHERE x > 1"))
    with pytest.raises(BudgetExceeded, match="all 2 queries are used"):
        session.execute(asking("relative_error = 0.1, epsilon = 0.0001"))


def test_what_a_step_does_not_survive_is_paid_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C after the second step was debited: the same question goes on after the first one."""
    within, calls = purchases.is_accurate, []

    def interrupted(*arguments):
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return within(*arguments)

    monkeypatch.setattr(purchases, "is_accurate", interrupted)
    session = opened(rows(10), noise=SystemNoise(Random(6).randbytes))
    with pytest.raises(KeyboardInterrupt):
        session.execute(asking("relative_error = 0.1"))
    assert session.balance.epsilon_left == 1 - Fraction(1, 640)
    answer = session.execute(asking("relative_error = 0.1"))
    assert not answer.repeat
    assert [drawn.scale for drawn in answer.releases] == [10]
    assert answer.cost.epsilon == Fraction(1, 10) - Fraction(1, 1280)
    assert session.balance.epsilon_left == 1 - Fraction(1, 640) - answer.cost.epsilon
    assert session.execute(asking("relative_error = 0.1")).repeat


def test_filters_that_exclude_each_other_cost_no_more_than_is_explained() -> None:
    session = opened(rows(30))
    for low in (0, 1, 2):
        query = asking("relative_error = 0.1", f"COUNT(*) FROM t WHERE x = {low}")
        explained = session.execute(f"EXPLAIN {query}")
        before = session.balance.epsilon_left
        answer = session.execute(query)
        assert before - session.balance.epsilon_left == answer.cost.epsilon
        assert answer.cost.epsilon <= explained.cost.epsilon


# ------------------------------------------------------------------------- teaching and refusals


def test_what_is_revealed_is_of_the_last_step() -> None:
    session = opened(rows(900), noise=SystemNoise(Random(7).randbytes), teach=True)
    session.execute("SET reveal = on")
    answer = session.execute(asking("relative_error = 0.1"))
    [drawn], [shown] = answer.releases, answer.revealed
    assert (shown.stat, shown.scale) == (900, float(drawn.scale))
    assert drawn.scale < 1280
    assert not answer.private
    session.execute("SET dp = off")
    exact = session.execute(asking("relative_error = 0.1"))
    assert (exact.rows, exact.cost.epsilon, exact.releases) == (((900,),), 0, ())


REFUSED = [
    ("relative_error = 0", "COUNT(*) FROM t", "between 0 and 1"),
    ("relative_error = 1", "COUNT(*) FROM t", "between 0 and 1"),
    ("relative_error = 10 %", "COUNT(*) FROM t", "a number is needed"),
    ("relative_error = 0.1, error = 5", "COUNT(*) FROM t", "exclude each other"),
    ("relative_error = 0.1, noise_index = [1]", "COUNT(*) FROM t", "exclude each other"),
    ("relative_error = 0.1, mechanism = 'gaussian'", "COUNT(*) FROM t", "Laplace noise"),
    ("relative_error = 0.1", "COUNT(*), SUM(x) FROM t", "one COUNT or SUM"),
    ("relative_error = 0.1", "COUNT(*) FROM t ORDER BY SUM(x)", "one COUNT or SUM"),
    ("relative_error = 0.1", "SUM(0) FROM t", "one COUNT or SUM"),
    ("relative_error = 0.1", "MEDIAN(x) FROM t", "for COUNT and SUM"),
    ("relative_error = 0.1", "AVG(x) FROM t", "for COUNT and SUM"),
    ("relative_error = 0.1", "COUNT(*) - 100 FROM t", "COUNT and SUM themselves"),
    ("relative_error = 0.1", "COUNT(*) FROM t WHERE x > (SELECT COUNT(*) FROM t)", "subquery"),
    ("relative_error = 0.1, epsilon = 1e-9", "SUM(CLAMP(x * 1e9, 0, 1e9)) FROM t", "too small"),
]


@pytest.mark.parametrize(("options", "select", "said"), REFUSED)
def test_what_cannot_be_bought_in_steps(options: str, select: str, said: str) -> None:
    session = opened(rows(5), Budget(Fraction(1), Fraction(1, 10**6), 10))
    for text in (asking(options, select), f"EXPLAIN {asking(options, select)}"):
        with pytest.raises((InvalidOption, TooLarge), match=said):
            session.execute(text)
    assert session.balance.epsilon_left == 1


@pytest.mark.parametrize("select", ["COUNT(*) FROM t", "AVG(k) FROM t", "AVG(k - 7) FROM t"])
def test_public_counts_and_averages_are_not_bought_in_steps(select: str) -> None:
    """What is released of an average is its distance from 5, or -2: no error is a part of that."""
    session = opened(rows(5), relation=REPLACE)
    with pytest.raises(InvalidOption, match="one COUNT or SUM"):
        session.execute(asking("relative_error = 0.1", select))


@pytest.mark.parametrize("composition", [Composition.ADVANCED, Composition.ZCDP])
def test_only_sums_allow_a_price_that_depends_on_answers(composition: Composition) -> None:
    session = opened(rows(5), Budget(Fraction(1), Fraction(1, 10**6), 10, composition))
    for text in (asking("relative_error = 0.1"), f"EXPLAIN {asking('relative_error = 0.1')}"):
        with pytest.raises(InvalidOption, match="composition = pure"):
            session.execute(text)


# ------------------------------------------------------------------------- over many runs


def runs(times: int, number: int, relative: float, confidence: float) -> tuple[int, int, Fraction]:
    """How often it stopped, how often it then was farther off than asked, and what was spent."""
    budget = Budget(Fraction(10**4), Fraction(0), times)
    session = opened(rows(number), budget, SystemNoise(Random(number).randbytes))
    session.execute("SET repeats = 'fresh'")
    query = asking(f"relative_error = {relative}, confidence = {confidence}, epsilon = 0.5")
    stopped = failed = 0
    for _ in range(times):
        answer = session.execute(query)
        [[noisy]] = answer.rows
        if "was not enough" not in answer.notes[0]:
            stopped += 1
            failed += abs(noisy - number) > relative * number
    return stopped, failed, 10**4 - session.balance.epsilon_left


@pytest.mark.usefixtures("planned_once")
@pytest.mark.parametrize(("number", "confidence"), [(90, 0.95), (200, 0.5), (90, 0.1)])
def test_the_relative_error_is_as_sure_as_was_asked(number: int, confidence: float) -> None:
    """Over all runs, whenever they stop; one in a million as bad as this is let through."""
    times = 200
    stopped, failed, _ = runs(times, number, 0.25, confidence)
    assert stopped > times / 2
    assert failed <= binom.isf(ALPHA, times, 1 - confidence)
    if confidence == 0.1:
        assert failed > 0


@pytest.mark.usefixtures("planned_once")
def test_large_answers_cost_less_than_small_ones() -> None:
    spent = [runs(50, number, 0.25, 0.95)[2] for number in (90, 360, 1440)]
    # Four times the rows need a quarter of ε, but for the runs that stop early or late.
    assert all(later < earlier / 2 for earlier, later in pairwise(spent))


def test_every_query_of_the_limit_gets_its_whole_share() -> None:
    """None is a rounding short of its last step."""
    session = opened(rows(40))
    for number in range(10):
        answer = session.execute(asking("relative_error = 1e-9", f"COUNT(x + {number}) FROM t"))
        assert answer.cost.epsilon == Fraction(1, 10)
    assert session.balance.epsilon_left == 0


def test_other_theorems_are_told_of_the_last_step_at_once() -> None:
    """What they have to say of the session is not less than of one query of the whole share."""
    budget = Budget(Fraction(1), Fraction(1, 10**6), 10)
    once, gradually = opened(rows(40), budget), opened(rows(40), budget)
    once.execute("SELECT COUNT(*) FROM t")
    gradually.execute(asking("relative_error = 1e-9"))
    rows_shown = [session.execute("SHOW BUDGET").rows for session in (once, gradually)]
    assert rows_shown[0] == rows_shown[1]
    early = opened(rows(9000), budget)
    early.execute(asking("relative_error = 0.5"))
    spent = dict(row[::2] for row in early.execute("SHOW BUDGET").rows)
    assert spent["epsilon"] < 0.1
    assert (
        spent["epsilon by zero-concentrated DP"]
        == dict(row[::2] for row in rows_shown[0])["epsilon by zero-concentrated DP"]
    )
