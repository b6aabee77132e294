"""What all draws of a session lose together is at most what the ledger says is spent.

`tests/long/test_session_losses.py` does the same with random sessions, and more caps. Here are sessions in which
losses are easily added up wrongly, and ledgers, plans and noise that are wrong and are caught.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from dpdb.engines.memory import MemoryEngine
from dpdb.errors import DataFileError
from dpdb.ledger.spending import _Group
from dpdb.plan.expressions.expressions import Expr
from dpdb.plan.physical import plan
from dpdb.plan.physical.mechanism_choice import MechanismChoice
from dpdb.plan.ranges.statistics import KeyUnits, Statistic, filters_of
from dpdb.policy.budget import Budget, Composition, Neighbors
from dpdb.privacy.mechanisms.box import Box
from dpdb.privacy.mechanisms.kinds import NoiseKind
from dpdb.privacy.mechanisms.laplace import Laplace
from dpdb.privacy.mechanisms.selections.weighted_keys import UNIT, WeightedKeys
from tests.support.draw_losses import WeighedKeys
from tests.support.loss_sums import gaussian_delta
from tests.support.random_sessions import rows_policy
from tests.support.units import Database, Row
from tests.support.witnessed_draws import Witness
from tests.support.witnessed_sessions import Script, check

ROWS: list[Row] = [
    ("a", "1", "7", "0", "true", "p", "7", "Ann"),
    ("a", "1", "4", "0.5", "true", "p", "300", "Bob"),
    ("b", "4", "7", "-0.5", "false", "p", "99999", "Bob"),
    ("b", None, "5", None, None, "q", "0", "Cid"),
]
OTHER: Row = ("b", "5", "3", "-1.5", "false", "q", "99999", "Ann")
APART = ("x <= 2", "x > 2")
SESSIONS = {
    "what follows": ["SELECT COUNT(*) FROM t", f"SELECT COUNT(*) FROM t WHERE {APART[0]}",
                     f"SELECT COUNT(*) FROM t WHERE NOT ({APART[0]})", "SELECT AVG(x) FROM t"],
    "filters": [f"SELECT COUNT(*), SUM(x) FROM t WHERE {each}" for each in APART],
    "filtered keys": [f"SELECT s, SUM(x) FILTER (WHERE {each}) FROM t GROUP BY s" for each in APART],
    "chosen keys": [f"SELECT s, AVG(x) FROM t WHERE {each} GROUP BY s" for each in APART],
    "levels": ["SET epsilon = 0.2", "SELECT SUM(k) FROM t", "SET epsilon = 0.7",
               "SELECT SUM(k) FROM t", "SET epsilon = 0.4", "SELECT SUM(k) FROM t"],
    "fresh": ["SELECT SUM(k) FROM t", "SET repeats = 'fresh'", "SELECT SUM(k) FROM t"],
    "quantiles": ["SET interval = 'off'", "SET mechanism = 'gaussian'",
                  "SELECT QUANTILE_CONT(x, [0.25, 0.5, 0.75]) FROM t"],
    "boxes": ["SELECT g, AVG(x), AVG(k), AVG(m), COUNT(*) FROM t GROUP BY g", "SELECT AVG(x), AVG(m) FROM t"],
    "ends": ["SELECT MIN(w), MAX(w), MEDIAN(w) FROM t", "SELECT g, MAX(w) FROM t GROUP BY g"],
    "totals": ["SELECT g, COUNT(*) FROM t GROUP BY ROLLUP(g)", "SELECT MODE(g) FROM t"],
    "found bounds": ["SET bounds = 'find'", "SELECT g, SUM(w) FROM t GROUP BY g", "SELECT APPROX_BOUNDS(x) FROM t"],
    "found caps": ["SET rows_per_unit = 'find'", "SELECT COUNT(*) FROM t", "SELECT AVG(x) FROM t", "SELECT SUM(x) FROM t"],
    "largest": ["SELECT x, COUNT(DISTINCT u) AS n FROM t GROUP BY x ORDER BY n DESC LIMIT 1"],
    "subqueries": ["SELECT COUNT(*) FROM t WHERE x > (SELECT AVG(x) FROM t)"],
}  # fmt: skip
"""What is not answered under some composition is refused on both tables."""
Asked = tuple[Script, Database, Database]
Sessions = Callable[..., Asked]


def asking(
    folder: Path,
    statements: list[str],
    composition: Composition = Composition.PURE,
    neighbors: Neighbors = Neighbors.ADD_REMOVE,
    *,
    cap: int = 0,
) -> Asked:
    """Statements of ten about four people, of whom the first is another or is not there.

    The first has a row more than a cap lets count.
    """
    budget = Budget(Fraction(10), Fraction(1, 100), 10, composition)
    policy = replace(rows_policy(folder, cap), budget=budget, neighbors=neighbors)
    changed = [OTHER] if neighbors is Neighbors.REPLACE else []
    one, other = (Database({"t": own * (cap + 1) + ROWS[1:]}) for own in (ROWS[:1], changed))
    return Script(policy, tuple(statements)), one, other


@pytest.fixture
def session(tmp_path: Path) -> Sessions:
    return partial(asking, tmp_path)


def answers(asked: Asked) -> Witness:
    """The draws of a session in which something is answered, and all is right."""
    told, witness = check(*asked, seed=1)
    assert any('"releases"' in each.text for each in told)
    return witness


Case = tuple[str, Composition, Neighbors]
CASES: list[Case] = [*product(SESSIONS, Composition, Neighbors)]


def caps(case: Case) -> list[int]:
    """All caps, that first with which the ordinary suite asks: each session has them in turn."""
    first = CASES.index(case) % 7 % 3
    return [(first + more) % 3 for more in range(3)]


def loses_no_more_than_is_spent(case: Case, cap: int, folder: Path) -> None:
    name, composition, neighbors = case
    witness = answers(asking(folder, SESSIONS[name], composition, neighbors, cap=cap))
    assert any(draw.inputs[0] != draw.inputs[1] for draw in witness.draws)


@pytest.mark.parametrize("case", CASES, ids=" ".join)
def test_a_session_loses_no_more_than_is_spent(case: Case, tmp_path: Path) -> None:
    """With one of three caps; `tests/long` asks with the others."""
    loses_no_more_than_is_spent(case, caps(case)[0], tmp_path)


@pytest.mark.parametrize("noise", NoiseKind)
def test_filters_divide_the_rows_of_a_unit(noise: NoiseKind, tmp_path: Path) -> None:
    """One row of two leaves a filter, the other stays: staircase noise loses all by the first."""
    budget = Budget(Fraction(10), Fraction(1, 100), 10, Composition.PURE)
    policy = replace(rows_policy(tmp_path, 2), budget=budget, neighbors=Neighbors.REPLACE)
    asked = f"SELECT COUNT(*) FILTER (WHERE {APART[1]}), AVG(k) FILTER (WHERE {APART[0]}) FROM t"
    one, other = (
        Database({"t": [("a", x, k, "0", "true", "p", "7", "Ann") for x, k in pair] + ROWS[1:]})
        for pair in ((("5", "7"), ("1", "3")), (("1", "7"), ("1", "7")))
    )
    answers((Script(policy, (f"SET mechanism = '{noise}'", asked)), one, other))


@pytest.mark.parametrize("composition", Composition)
def test_what_is_planned_together_loses_no_more_than_is_spent(
    composition: Composition, session: Sessions
) -> None:
    """Shares of shares of ρ are long fractions: what is paid for is answered all the same."""
    statements = ["SELECT COUNT(*), SUM(x), SUM(k), SUM(w) FROM t", "SELECT AVG(k) FROM t"]
    script, *pair = session(statements, composition)
    answers((replace(script, planned=True), *pair))


def test_a_count_loses_all_that_is_spent(session: Sessions) -> None:
    """So that the other side of the comparison is not something larger."""
    asked = session(["SELECT COUNT(*) FROM t"])
    told, witness = check(*asked, seed=1)
    assert told[0].balance.sums.epsilon == 1
    assert witness.lost(told[0].draws).epsilon == 1


def caught(asked: Asked, wrong: Any) -> bool:
    """Whether a session that was right is found wrong with something else in place of a part."""
    answers(asked)
    with wrong, pytest.raises(AssertionError):
        check(*asked, seed=1)
    return True


@pytest.mark.parametrize("delta", [Fraction(1, 5), Fraction(1, 10**6)])
def test_keys_by_weights_lose_no_more_than_they_say(delta: Fraction) -> None:
    """At a large δ the noise alone has more ρ than ε²/2; all but δ is ε-DP all the same."""
    mechanism = WeightedKeys(Fraction(1), delta, 2)
    own = math.isqrt(UNIT**2 // 2)
    one = {"p": 3 * UNIT, "q": 5 * UNIT}
    lost = WeighedKeys(mechanism).lost(one, {key: weight + own for key, weight in one.items()})
    assert lost.rho <= mechanism.loss.rho
    assert gaussian_delta(lost.moves, mechanism.epsilon) + lost.delta <= delta


def test_a_ledger_to_which_all_filters_exclude_each_other_is_caught(session: Sessions) -> None:
    asked = session(["SELECT COUNT(*) FROM t WHERE k > 5", "SELECT COUNT(*) FROM t WHERE x < 2"])
    assert caught(asked, mock.patch.object(_Group, "admits", return_value=True))


@pytest.mark.parametrize("composition", Composition)
def test_a_plan_that_finds_keys_among_filtered_rows_alone_is_caught(
    composition: Composition, session: Sessions
) -> None:
    def but_keys(statistic: Statistic) -> frozenset[Expr | None]:
        return frozenset() if isinstance(statistic, KeyUnits) else filters_of(statistic)

    asked = session(SESSIONS["filtered keys"], composition)
    assert caught(asked, mock.patch.object(plan, "filters_of", but_keys))


@pytest.mark.parametrize(
    ("found", "asked", "neighbors", "cap"),
    [
        ("for_ends", "APPROX_BOUNDS(w)", Neighbors.REPLACE, 0),
        ("for_ends", "APPROX_BOUNDS(w)", Neighbors.ADD_REMOVE, 2),
        ("for_caps", "SUM(CASE WHEN x > 3 THEN x ELSE -5 END)", Neighbors.REPLACE, 2),
    ],
)
def test_a_search_for_which_a_unit_is_one_row_that_comes_or_goes_is_caught(
    found: str, asked: str, neighbors: Neighbors, cap: int, session: Sessions
) -> None:
    """Its Δ is 1, though a unit has two rows, or another takes its place."""
    right = getattr(MechanismChoice, found)

    def of_one_row(*given: Any, **more: Any) -> Any:
        return replace(right(*given, **more), sensitivity=1)

    statements = ["SET rows_per_unit = 'find'", f"SELECT {asked} FROM t"]
    wrong = mock.patch.object(MechanismChoice, found, of_one_row)
    assert caught(session(statements, neighbors=neighbors, cap=cap), wrong)


@pytest.mark.parametrize("name", ["what follows", "levels", "filters"])
def test_noise_that_is_too_small_is_caught(name: str, session: Sessions) -> None:
    too_small = property(lambda mechanism: mechanism.sensitivity / mechanism.epsilon * 99 / 100)
    assert caught(session(SESSIONS[name]), mock.patch.object(Laplace, "scale", too_small))


def test_noise_of_a_box_that_is_too_small_is_caught(session: Sessions) -> None:
    """A row that is replaced is two steps of the box."""
    asked = session(["SELECT g, AVG(k), AVG(m) FROM t GROUP BY g"], neighbors=Neighbors.REPLACE)
    assert caught(asked, mock.patch.object(Box, "rate", property(lambda box: box.epsilon)))


def test_an_error_that_rows_decide_is_caught(session: Sessions) -> None:
    exact = MemoryEngine.exact

    def failing(engine: MemoryEngine, asked: plan.Plan, slots: Any) -> Any:
        if engine.rows(asked.table) == len(ROWS):
            raise DataFileError("too many rows")
        return exact(engine, asked, slots)

    asked = session(["SELECT COUNT(*) FROM t"])
    assert caught(asked, mock.patch.object(MemoryEngine, "exact", failing))
