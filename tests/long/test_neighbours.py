"""No exact statistic moves farther between neighbouring tables than its plan says."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from random import Random

import pytest
from hypothesis import strategies as st

from dpdb.errors import DpdbError
from dpdb.plan.planner import plan
from dpdb.privacy.accounting.accountants import BudgetShare
from dpdb.sql.selects.statements import Select, statement
from tests.long.neighbours import changes, neighbouring
from tests.long.parts import Part
from tests.long.statements import ASKED

SHARE = BudgetShare(Fraction(10**4), Fraction(1, 2))
PAIRS = 20


@pytest.mark.examples(10_000, 20)
def test_no_statistic_moves_farther_than_declared(part: Part, tmp_path, tried):
    chance = Random(part.seed)
    pairs = [neighbouring(tmp_path / str(at), chance) for at in range(PAIRS)]
    outcomes: Counter[str] = Counter()

    def check(example: tuple[int, str]) -> None:
        at, text = example
        pair = pairs[at]
        try:
            found = statement(text, pair.policy)
            assert isinstance(found, Select)
            planned = plan(found.query, pair.policy, SHARE, pair.engines[0].rows)
        except DpdbError as error:
            outcomes[type(error).__name__] += 1
            return
        for release, change, allowed in changes(pair, planned):
            outcomes["moved" if change else "stayed"] += 1
            outcomes["as far as declared"] += bool(change == allowed and allowed)
            assert change <= allowed, (
                f"{text}\n{release} moved by {change}, declared {allowed}, on {at}: {pair.policy}"
            )

    part.each(st.tuples(st.integers(0, PAIRS - 1), ASKED), check)
    tried(f"{part}: {dict(outcomes)}")
    assert outcomes["moved"]
