"""minimum_units: no group of fewer units is shown, whatever the noise is."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from scipy.stats import binom

from dpdb import connect
from dpdb.answers.formats.explain_tree import explain_screen
from dpdb.errors import DpdbError, InvalidOption, PolicyError, UsageError
from dpdb.policy.budget import Budget
from dpdb.policy.catalog import Policy
from dpdb.privacy.mechanisms.selections.threshold import Threshold
from dpdb.session.connect import policy_of
from dpdb.session.session import Session
from tests.privacy.test_thresholding import HIDDEN, outcomes
from tests.support.audited import noise
from tests.support.exactly import write
from tests.support.many_sessions import sessions

POLICY = """
[budget]
epsilon = 20
delta = 0.8
queries = 8
[privacy]
minimum_units = 10
[tables.t]
unit = "who"
rows_per_unit = {rows}
[tables.t.columns]
who = {{ type = "integer" }}
g = {{ type = "text", values = ["eight", "nine", "ten", "many", "none"] }}
h = {{ type = "number", values = [0.5, 1.5] }}
x = {{ type = "integer", bounds = [0, 9] }}
free = {{ type = "text" }}
"""
SIZES = {"eight": 8, "nine": 9, "ten": 10, "many": 60}
EVERY = [
    "SELECT g, COUNT(*) FROM t GROUP BY g",
    "SELECT g, COUNT(DISTINCT who), AVG(x) FROM t GROUP BY g",
    "SELECT g, free, MEDIAN(x) FROM t GROUP BY g, free",
    "SELECT DISTINCT g FROM t",
    "SELECT UPPER(g), SUM(x) FROM t GROUP BY 1",
    "SELECT g, COUNT(*) FROM t WHERE g IN ('eight', 'nine', 'ten', 'many') GROUP BY g",
    "SELECT g, COUNT(*) FROM t GROUP BY ROLLUP (g)",
    "SELECT g FROM (SELECT g, COUNT(*) AS n FROM t GROUP BY g) WHERE n > -100",
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(min_privacy_units_per_group = 2)"
    " g, COUNT(*) FROM t GROUP BY g",
    "SELECT g, COUNT(*) FROM t GROUP BY g ORDER BY 2 DESC LIMIT 9",
]


def opened(folder: Path, rows: int = 1) -> Policy:
    lines = [f"{who},{group},0.5,{who % 9},{group}"
             for at, (group, size) in enumerate(SIZES.items())
             for who in range(100 * at, 100 * at + size) for _ in range(rows)]  # fmt: skip
    text = "\n".join(["who,g,h,x,free", *lines]) + "\n"
    return write(folder, "t", text, POLICY.format(rows=rows))


@pytest.mark.parametrize("rows", [1, 3])
def test_no_small_group_is_shown_in_any_answer(tmp_path: Path, rows: int) -> None:
    """δ is so large that groups of ten are shown, too, where a unit has one row."""
    policy, seen = opened(tmp_path, rows), set()
    for text in EVERY:
        for session in sessions(policy, map(noise, range(10))):
            answer = session.execute(text)
            shown = {str(row[0]).lower() for row in answer.rows} - {"none"}
            assert shown <= {"ten", "many"}, text
            seen |= shown
    assert seen == ({"ten", "many"} if rows == 1 else {"many"})


def test_groups_of_ten_are_shown_as_often_as_the_law_says(tmp_path: Path) -> None:
    """A binomial test at α = 10^-6, against the law in exact fractions."""
    policy = opened(tmp_path)
    runs, shown = 200, 0
    explained = Session(policy).execute(f"EXPLAIN {EVERY[0]}")
    [mechanism] = [release.mechanism for release in explained.plan.releases]
    assert isinstance(mechanism, Threshold)
    said = f"from about {mechanism.cut + 10} units on, for sure from {2 * mechanism.cut + 10}"
    assert said in explain_screen(explained)
    assert "no group of fewer than 10 different who is shown" in explain_screen(explained)
    for session in sessions(policy, map(noise, range(runs))):
        shown += any(row[0] == "ten" for row in session.execute(EVERY[0]).rows)
    p = Fraction(1 / 2.718281828459045 ** float(1 / mechanism.scale))
    chance = float(1 - outcomes(10, p, mechanism.cut, 10)[HIDDEN])
    assert 0.01 < chance < 0.99
    assert min(binom.cdf(shown, runs, chance), binom.sf(shown - 1, runs, chance)) > 1e-6


def test_declared_numbers_with_decimals_are_groups_too(tmp_path: Path) -> None:
    answer = Session(opened(tmp_path), noise=noise(1)).execute(
        "SELECT h, COUNT(*) FROM t GROUP BY h"
    )
    assert [row[0] for row in answer.rows] == [0.5]


def test_answers_without_groups_are_given(tmp_path: Path) -> None:
    session = Session(opened(tmp_path), noise=noise(1))
    answer = session.execute("SELECT COUNT(*), COUNT(*) FILTER (WHERE g = 'eight') FROM t")
    assert len(answer.rows) == 1
    assert [each.mechanism for each in answer.releases] == ["laplace"]


def test_without_delta_the_policy_is_refused(tmp_path: Path) -> None:
    policy = opened(tmp_path)
    plain = replace(policy, budget=Budget(Fraction(1)))
    with pytest.raises(InvalidOption, match="minimum_units = 10 needs delta") as refusal:
        Session(plain)
    assert "delta = 1e-6" in (refusal.value.hint or "")
    toml = tmp_path / "t.toml"
    with pytest.raises(DpdbError, match="minimum_units = 10 needs delta"):
        connect(toml, delta=0)
    toml.write_text(POLICY.format(rows=1).replace("minimum_units = 10", "minimum_units = 0"))
    with pytest.raises(PolicyError, match="minimum_units is a whole number from 1 to"):
        connect(toml)


def test_policies_that_differ_in_it_are_not_joined(tmp_path: Path) -> None:
    opened(tmp_path)
    other = tmp_path / "u.toml"
    text = POLICY.format(rows=1).replace("tables.t", "tables.u")
    other.write_text(text.replace("minimum_units = 10\n", ""))
    (tmp_path / "u.csv").write_text("who,g,h,x,free\n")
    with pytest.raises(UsageError, match="differ in their minimum_units"):
        policy_of(tmp_path / "t.toml", other)
