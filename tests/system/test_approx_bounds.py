"""APPROX_BOUNDS: the bounds it suggests, what it says of them, and what it costs."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import pytest

from dpdb.errors import DpdbError, InvalidOption, TypeMismatch, Unsupported
from dpdb.plan.physical.bounds import bins
from dpdb.policy.catalog import Kind, Policy
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


def table(folder: Path, *values: object, unit: str = "", times: int = 40) -> Policy:
    rows = [f"w{i},{v},{v},2020-01-01,{i % 2}" for v in values for i in range(times)]
    lines = ["who,n,odd name,d,g", *rows]
    (folder / "t.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "t.toml").write_text(POLICY.format(unit=unit), encoding="utf-8")
    return read_policy(folder / "t.toml")


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([3], "[2, 4]"), ([4], "[2, 4]"), ([5, 1000], "[4, 1024]"), ([0], "[0, 0]"),
        ([0, 1], "[0, 1]"), ([-1], "[-1, 0]"), ([-4, 2], "[-4, 2]"), ([-5], "[-8, -4]"),
        ([10**17], "[4503599627370496, 9007199254740992]"),
        ([-(10**17)], "[-9007199254740992, -4503599627370496]"),
    ],
)  # fmt: skip
def test_bounds_are_the_ends_of_the_outermost_bins(
    values: list[int], expected: str, tmp_path: Path
) -> None:
    answer = still(table(tmp_path, *values)).execute("SELECT APPROX_BOUNDS(n) FROM t")
    assert answer.rows == ((expected,),)
    [release] = answer.releases
    assert (release.sensitivity, release.epsilon) == (1, 1)


def test_numbers_with_decimals_have_bins_below_one(tmp_path: Path) -> None:
    session = still(table(tmp_path, 0.3, -0.0001, ""))
    answer = session.execute('SELECT APPROX_BOUNDS("odd name") FROM t')
    assert answer.rows == (("[-0.0009765625, 0.5]",),)
    assert (
        'in the policy: "odd name" = { type = "number", bounds = [-0.0009765625, 0.5] }'
        in answer.notes
    )
    assert "for a session: --bounds 'odd name=-0.0009765625:0.5'" in answer.notes


def test_few_rows_far_out_are_left_out_and_none_at_all_is_null(tmp_path: Path) -> None:
    session = still(table(tmp_path, 3, times=40))
    far = session.execute("SELECT APPROX_BOUNDS(CASE WHEN who = 'w7' THEN 99999 ELSE n END) FROM t")
    assert far.rows == (("[2, 4]",),)
    none = session.execute("SELECT APPROX_BOUNDS(n) FROM t WHERE who = 'w7'")
    assert none.rows == ((None,),)
    assert none.notes[0].startswith("in no bin are there enough values")


def test_filters_hold_and_explain_says_how_many_values_make_a_bin(tmp_path: Path) -> None:
    session = still(table(tmp_path, 3, 900, times=60))
    rest = "APPROX_BOUNDS(n) FILTER (WHERE n < 100), APPROX_BOUNDS(n) FROM t WHERE g"
    assert session.execute(f"SELECT {rest}").rows == (("[2, 4]", "[2, 1024]"),)
    explained = session.execute("EXPLAIN SELECT APPROX_BOUNDS(n) FROM t")
    assert explained.notes[0] == (
        "bounds leave out what is beyond the last powers of two with about 11 values or more; "
        "noise makes up a bin in 0.1% of answers at most"
    )


def test_a_unit_counts_with_each_of_its_rows(tmp_path: Path) -> None:
    policy = table(tmp_path, 3, 5, unit='unit = "who"\nrows_per_unit = 2')
    answer = still(policy).execute("SELECT APPROX_BOUNDS(n) FROM t")
    assert answer.releases[0].sensitivity == 2
    assert answer.rows == (("[2, 8]",),)


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


def test_a_sum_without_bounds_names_it(tmp_path: Path) -> None:
    with pytest.raises(DpdbError) as caught:
        Session(table(tmp_path)).execute("SELECT SUM(n) FROM t")
    assert "APPROX_BOUNDS(n) suggests some" in str(caught.value.hint)


@pytest.mark.parametrize("kind", [Kind.INTEGER, Kind.NUMBER])
def test_bins_follow_each_other(kind: Kind) -> None:
    own = bins(kind)
    assert all(one.high == next_.low for one, next_ in pairwise(own))
    assert (own[0].low, own[-1].high) == (-Fraction(2**53), 2**53)
