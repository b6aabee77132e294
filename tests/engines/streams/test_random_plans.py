"""Random statements over hostile tables come to the same numbers, bit by bit."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dpdb.errors import DpdbError
from dpdb.plan.physical.plan import Plan
from dpdb.plan.planner import plan
from dpdb.privacy.accounting.accountants import BudgetShare
from dpdb.sql.selects.statements import Select, statement
from tests.engines.conformance.test_engine import shown
from tests.long.neighbours import Neighbouring, neighbouring
from tests.long.statements import ASKED
from tests.support.exactly import EPSILON
from tests.support.streams import SmallBlocks

TABLES = 6


def innermost(asked: Plan) -> list[Plan]:
    """The plan, or those of subqueries that have none: they need no value of another one."""
    return [each for sub in asked.subplans for each in innermost(sub)] or [asked]


def test_random_plans_come_to_the_same(tmp_path: Path) -> None:
    chance, outcomes = Random(11), Counter[str]()
    pairs = [neighbouring(tmp_path / str(at), chance) for at in range(TABLES)]

    @settings(max_examples=25, suppress_health_check=list(HealthCheck))
    @given(pair=st.sampled_from(pairs), text=ASKED, block=st.sampled_from([1, 3, 50]))
    def check(pair: Neighbouring, text: str, block: int) -> None:
        memory = pair.engines[0]
        try:
            found = statement(text, pair.policy)
            assert isinstance(found, Select)
            asked = plan(found.query, pair.policy, BudgetShare(EPSILON), memory.rows)
        except DpdbError as error:
            outcomes[type(error).__name__] += 1
            return
        for each in innermost(asked):
            expected = [shown(result) for result in memory.exact(each, {})]
            found_so = [shown(result) for result in SmallBlocks(block=block).exact(each, {})]
            assert found_so == expected
            outcomes["the same"] += 1

    check()
    assert outcomes["the same"] > outcomes.total() // 2
