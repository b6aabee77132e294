"""APPROX_BOUNDS: the bounds it suggests, what it says of them, and what it costs."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from dpdb.errors import DpdbError, InvalidOption, TypeMismatch, Unsupported
from dpdb.policy.catalog import Policy
from dpdb.policy.reading.reader import read_policy
from dpdb.session.session import Session
from tests.system.test_found_keys import still

POLICY = """
[budget]
epsilon = 10
[tables.t]
{unit}
[tables.t.columns]
who = {{ type = "text" }}
n = {{ type = "integer" }}
"odd name" = {{ type = "number" }}
d = {{ type = "date" }}
g = {{ type = "boolean" }}
"""


def table(folder: Path, *values: object, unit: str = "", times: int = 400) -> Policy:
    rows = [f"w{i},{v},{v},2020-01-01,{i % 2}" for v in values for i in range(times)]
    lines = ["who,n,odd name,d,g", *rows]
    (folder / "t.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "t.toml").write_text(POLICY.format(unit=unit), encoding="utf-8")
    return read_policy(folder / "t.toml")


@pytest.mark.parametrize("values", [[3], [0], [0, 1], [-4, 2], [5, 1000], [10**15], [-(10**17)]])
def test_bounds_hold_the_values_and_little_more(values: list[int], tmp_path: Path) -> None:
    """Numbers beyond 2^53 count as that; the selections are in the middle of their laws.

    Large bounds differ in their first eight digits, so that a sum's grid tells them apart.
    """
    answer = still(table(tmp_path, *values)).execute("SELECT APPROX_BOUNDS(n) FROM t")
    low, high = map(int, str(answer.rows[0][0]).strip("[]").split(","))
    least, most = (max(-(2**53), each) for each in (min(values), max(values)))
    assert low <= least <= most <= high
    assert high - low <= 4 * (most - least) + 8 + max(-least, most) // 10**7
    chosen, counted = answer.releases
    assert (chosen.sensitivity, chosen.epsilon) == (1, Fraction(9, 10))
    assert (counted.sensitivity, counted.epsilon) == (1, Fraction(1, 10))


def test_numbers_with_decimals_are_told_as_the_policy_writes_them(tmp_path: Path) -> None:
    session = still(table(tmp_path, 0.25, -0.5, ""))
    answer = session.execute('SELECT APPROX_BOUNDS("odd name") FROM t')
    low, high = map(float, str(answer.rows[0][0]).strip("[]").split(","))
    assert -3 < low <= -0.5
    assert 0.25 <= high < 3
    assert (
        f'in the policy: "odd name" = {{ type = "number", bounds = [{low}, {high}] }}'
        in answer.notes
    )
    assert f"for a session: --bounds 'odd name={low}:{high}'" in answer.notes


def test_few_rows_far_out_are_left_out_and_of_few_in_all_nothing_is_told(tmp_path: Path) -> None:
    session = still(table(tmp_path, 3))
    far = session.execute(
        "SELECT APPROX_BOUNDS(CASE WHEN who = 'w7' THEN 9999999 ELSE n END) FROM t"
    )
    assert int(str(far.rows[0][0]).strip("[]").split(",")[1]) < 10
    none = session.execute("SELECT APPROX_BOUNDS(n) FROM t WHERE who = 'w7'")
    assert none.rows == ((None,),)
    assert none.cost.epsilon == 1
    assert none.notes[0].startswith("too few values to find bounds")


def test_filters_hold_and_explain_says_how_many_values_are_needed(tmp_path: Path) -> None:
    session = still(table(tmp_path, 3, 900, times=2_000))
    rest = "APPROX_BOUNDS(n) FILTER (WHERE n < 100), APPROX_BOUNDS(n) FROM t WHERE g"
    few, all_of_them = (str(each).strip("[]") for each in session.execute(f"SELECT {rest}").rows[0])
    assert int(few.split(",")[1]) < 100
    assert int(all_of_them.split(",")[1]) >= 900
    explained = session.execute("EXPLAIN SELECT APPROX_BOUNDS(n) FROM t")
    assert explained.notes[0] == (
        "bounds need about 278 values; they leave out the last 7 or so of a long tail"
    )


def test_a_unit_counts_with_each_of_its_rows(tmp_path: Path) -> None:
    policy = table(tmp_path, 3, 5, unit='unit = "who"\nrows_per_unit = 2', times=600)
    answer = still(policy).execute("SELECT APPROX_BOUNDS(n) FROM t")
    assert answer.releases[0].sensitivity == 2
    low, high = map(int, str(answer.rows[0][0]).strip("[]").split(","))
    assert low <= 3
    assert high >= 5


@pytest.mark.parametrize(
    ("rest", "error"),
    [
        ("APPROX_BOUNDS(n) FROM t GROUP BY g", Unsupported),
        ("APPROX_BOUNDS(who) FROM t", TypeMismatch),
        ("APPROX_BOUNDS(d) FROM t", TypeMismatch),
        ("APPROX_BOUNDS() FROM t", TypeMismatch),
        ("WITH DIFFERENTIAL_PRIVACY OPTIONS(error = 9) APPROX_BOUNDS(n) FROM t", InvalidOption),
    ],
)
def test_what_has_no_such_bounds_is_refused(
    rest: str, error: type[DpdbError], tmp_path: Path
) -> None:
    session = Session(table(tmp_path))
    with pytest.raises(error):
        session.execute(f"SELECT {rest}")
    assert session.balance.epsilon_left == 10


def test_a_variance_that_finds_no_bounds_names_it(tmp_path: Path) -> None:
    options = "WITH DIFFERENTIAL_PRIVACY OPTIONS(error = 9)"
    with pytest.raises(DpdbError) as caught:
        Session(table(tmp_path)).execute(f"SELECT {options} STDDEV(n) FROM t")
    assert "APPROX_BOUNDS(n) suggests some" in str(caught.value.hint)
