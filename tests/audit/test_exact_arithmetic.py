"""Attacks 1 to 4: on the arithmetic of sums, grids, bounds and cells."""

from __future__ import annotations

import contextlib
from fractions import Fraction

import pytest

from dpdb.errors import PolicyError, StatementError
from dpdb.session.session import Session
from tests.support.exactly import exactly, planned, write
from tests.support.known_attacks import people, rich, seeded
from tests.support.noiseless import Noiseless


def test_a01_outputs_lie_on_the_grid_whatever_the_exact_result(tmp_path):
    """Doubles that only one of two exact results can produce (Mironov 2012)."""
    rows = [f"{i},,,{pay},,," for i, pay in enumerate([0, 0.25] * 50)]
    policy = rich(people(tmp_path, rows))
    query = "SELECT SUM(pay), COUNT(*), SUM(pay / 3) FROM t GROUP BY id"
    steps = [release.unit for release in planned(query, policy).releases]
    assert steps[:2] == [Fraction(1, 4), 1]
    seen: dict[int, set[Fraction]] = {0: set(), 1: set()}
    for seed in range(20):
        session = Session(policy, noise=seeded(seed))
        for number, row in enumerate(session.execute(f"{query} HAVING COUNT(*) > -99999").rows):
            for value, step in zip(row, steps, strict=True):
                nearest = round(Fraction(value) / step)
                assert value == nearest * step.numerator / step.denominator
            seen[number % 2].add(Fraction(row[0]))
    assert all(value.denominator in (1, 2, 4) for values in seen.values() for value in values)
    # Rounding would hide the gaps between doubles, and leave them there: the noise has none.
    assert all(type(value) is int for value in seeded(1).laplace(Fraction(1000), 10).tolist())
    # Both exact results reach the same points, as far as 1,000 draws each can show.
    assert len(seen[0] & seen[1]) > 20


def test_a02_a_row_moves_a_sum_of_large_values_no_further_than_claimed(tmp_path):
    """Doubles at 2^53: the order of rows, or one row more, moves a float sum by thousands."""
    column = '[tables.t.columns]\nx = { type = "integer", bounds = '
    top = 2**53
    with pytest.raises(PolicyError):
        write(tmp_path, "t", "x\n", f"{column}[{top}, {top + 2}] }}\n")
    body = [str(top)] + ["1"] * 1000
    sums = []
    for rows in (body, body[::-1], [*body, "1"], [*body, str(top + 2)], [*body, "1e300"]):
        policy = write(tmp_path, "t", "x\n" + "\n".join(rows), f"{column}[1, {top}] }}\n")
        [[total]] = exactly("SELECT SUM(x) FROM t", policy)
        sums.append(total)
    assert sums == [top + 1000, top + 1000, top + 1001, 2 * top + 1000, 2 * top + 1000]


def test_a03_sums_past_64_bits_do_not_wrap(tmp_path):
    """2^62 + 2^62 is negative in 64 bits: the sign gives away a row."""
    top = 2**53
    text = f'[tables.t.columns]\nx = {{ type = "integer", bounds = [0, {top}] }}\n'
    policy = rich(write(tmp_path, "t", "x\n" + f"{2**62}\n" * 3000, text))
    session = Session(policy, noise=Noiseless())
    query = "SELECT SUM(x), SUM(x) > 5, ABS(SUM(x)) FROM t HAVING SUM(x) > 0 AND SUM(x) <> 7"
    assert session.execute(query).rows == ((3000 * top, True, float(3000 * top)),)
    assert session.execute("SELECT AVG(x) FROM t").rows == ((float(top),),)


def test_a03_averages_in_groups_do_not_wrap(tmp_path):
    """The bounds, which the analyst chooses, times the rows of a group."""
    rows = [f"{i % 3},,33,,,," for i in range(6000)]
    policy = rich(people(tmp_path, rows))
    query = "SELECT AVG(age * 70000000000000) FROM t"
    [sums] = exactly(f"{query} GROUP BY smoker", policy)
    assert sums == [[0, 0], [0, 0]]
    [sums] = exactly(f"{query} WHERE id < 2 GROUP BY id", policy)
    above_lower, below_upper = (2000 * age * 70_000_000_000_000 for age in (33, 120 - 33))
    assert below_upper > 2**63
    assert sums == [[above_lower, below_upper]] * 2


BAD_NUMBERS = ["NaN", "nan", "inf", "-Infinity", "1_000", "٣٣", "３３", "0x1F", "1e400", "", " ",
               "1,5", "--1", "1e", "True", "½", "5 5", "1" + "0" * 400]  # fmt: skip
ODD_BOUNDS = """
[tables.t.columns]
x = { type = "number", bounds = [0, 1.275], step = 0.01 }
y = { type = "integer", bounds = [-10, 0] }
z = { type = "number", bounds = [0, 1e-12] }
"""


@pytest.mark.parametrize(
    "query",
    [
        "SELECT SUM(x), AVG(x), MIN(x), VARIANCE(x) FROM t WHERE x >= 1.275",
        "SELECT SUM(x) FROM t WHERE x BETWEEN 0.001 AND 0.002",
        "SELECT SUM(1 / y) FROM t WHERE y > 5",
        "SELECT SUM(1 / y), MAX(y % y) FROM t WHERE y > 5 AND y IN (1, 2, NULL)",
        "SELECT SUM(y) FROM t WHERE y IN (NULL)",
        "SELECT SUM(z), AVG(z), MEDIAN(z), STDDEV(z) FROM t",
        "SELECT SUM(x) FROM t WHERE x > 5 OR y > 3 OR x < -1",
    ],
)
def test_a03_ends_of_bounds_are_no_trouble(tmp_path, query):
    """Bounds off the grid, narrowed to nothing, or touching zero where it is divided by."""
    policy = rich(write(tmp_path, "t", "x,y,z\n1.27,0,0\n0,-10,1\n", ODD_BOUNDS))
    with contextlib.suppress(StatementError):  # an InternalError is none
        Session(policy).execute(query)


def test_a04_a_cell_that_is_no_number_is_null(tmp_path, capfd):
    """NaN passes clamps, `1_000` is a number to Python, infinities swallow sums."""
    rows = [f'1,x,"{cell}","{cell}",Rome,true,2000-01-01' for cell in BAD_NUMBERS]
    policy = rich(people(tmp_path, rows))
    session = Session(policy, noise=Noiseless())
    answer = session.execute("SELECT COUNT(age), COUNT(pay), SUM(age), SUM(pay), COUNT(*) FROM t")
    assert answer.rows == ((0, 0, 0, 0.0, len(BAD_NUMBERS)),)
    assert capfd.readouterr() == ("", "")
