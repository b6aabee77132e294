"""No exact statistic moves farther between neighbouring tables than its plan says."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from random import Random

import pytest
from hypothesis import strategies as st

from dpdb.errors import DpdbError
from dpdb.plan.physical.plan import Plan
from dpdb.plan.planner import plan
from dpdb.policy.catalog import Policy
from dpdb.privacy.accounting.accountants import BudgetShare
from dpdb.sql.selects.statements import Select, statement
from tests.long.neighbours import Neighbouring, changes, neighbouring
from tests.long.parts import Part
from tests.long.statements import ASKED

SHARE = BudgetShare(Fraction(10**4), Fraction(1, 2))
PAIRS = 20


LISTS = st.lists(st.integers(-9, 9), min_size=1, max_size=3)
PARTS = st.tuples(st.sampled_from(["a", "1", " "]), st.integers(1, 2)).map(
    lambda given: f"SPLIT(t, '{given[0]}')[{given[1]}:{given[1] + 1}]"
)
SHOWN = st.sampled_from([
    "COUNT(*)", "SUM(i), COUNT(DISTINCT s)", "AVG(n), COUNT(i)", "STDDEV(n)", "MEDIAN(i)",
    "MAD(n)", "MAD(i)", "MAX(m)",
])  # fmt: skip
CONDITIONS = st.sampled_from(["TRUE", "b", "i > 0", "s <> 'a'", "n BETWEEN -3 AND 7"])
MADE = st.one_of(
    st.tuples(SHOWN, LISTS, CONDITIONS).map(
        lambda given: f"SELECT {given[0]} FROM t, UNNEST({given[1]}) AS k WHERE {given[2]}"
    ),
    st.tuples(SHOWN, PARTS, CONDITIONS).map(
        lambda given: f"SELECT {given[0]} FROM t, UNNEST({given[1]}) AS p WHERE {given[2]}"
    ),
    st.tuples(LISTS, CONDITIONS).map(
        lambda given: (
            f"SELECT j, COUNT(*), SUM(CLAMP(i + k, -50, 50)) FROM t,"
            f" UNNEST({given[0]}) AS k WHERE {given[1]} GROUP BY j"
        )
    ),
    st.tuples(SHOWN, CONDITIONS).map(
        lambda given: (
            f"SELECT {given[0]} FROM (SELECT i, n, m, s FROM t WHERE {given[1]}"
            " UNION ALL SELECT j, n, m, s FROM t) AS u"
        )
    ),
    st.tuples(SHOWN, CONDITIONS).map(lambda given: f"SELECT {given[0]} FROM t WHERE {given[1]}"),
)
"""Statements over tables that a statement makes, and over scalar subqueries of their own."""


def _plan(text: str, policy: Policy, pair: Neighbouring) -> Plan:
    found = statement(text, policy)
    assert isinstance(found, Select)
    return plan(
        found.query, policy, SHARE, lambda _: pair.engines[0].rows(pair.others[0].tables[0])
    )


@pytest.mark.examples(10_000, 20)
def test_no_statistic_moves_farther_than_declared(part: Part, tmp_path, tried):
    chance = Random(part.seed)
    pairs = [neighbouring(tmp_path / str(at), chance) for at in range(PAIRS)]
    outcomes: Counter[str] = Counter()

    def check(example: tuple[int, str]) -> None:
        at, text = example
        pair = pairs[at]
        try:
            one, other = (_plan(text, policy, pair) for policy in pair.others)
        except DpdbError as error:
            outcomes[type(error).__name__] += 1
            return
        for release, change, allowed in changes(pair, (one, other)):
            outcomes["moved" if change else "stayed"] += 1
            outcomes["as far as declared"] += bool(change == allowed and allowed)
            assert change <= allowed, (
                f"{text}\n{release} moved by {change}, declared {allowed}, on {at}: {pair.policy}"
            )

    part.each(st.tuples(st.integers(0, PAIRS - 1), st.one_of(ASKED, MADE)), check)
    tried(f"{part}: {dict(outcomes)}")
    assert outcomes["moved"]
