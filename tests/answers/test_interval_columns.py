"""The ends of intervals in columns of their own, in every format that has columns."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from dpdb.answers.formats.render import FORMATS
from dpdb.policy.budget import Neighbors
from dpdb.policy.reading.reader import policy_for, read_policy
from dpdb.session.session import Session
from tests.support.noiseless import Noiseless

SHOP = Path(__file__).parent / "shop.toml"
MIXED = "SELECT item, COUNT(*) AS n, MAX(price) AS m, 'x' AS c, COUNT(*) / 0 AS z FROM shop GROUP BY item LIMIT 1"


def shown(form: str, statement: str, **changes: object) -> list[str]:
    policy = replace(read_policy(SHOP), **changes)
    answer = Session(policy, noise=Noiseless()).execute(statement)
    return FORMATS[form](answer, intervals=True).splitlines()


@pytest.mark.parametrize("form", ["csv", "markdown", "table"])
def test_what_has_an_interval_has_its_ends(form: str) -> None:
    separator = {"csv": ",", "markdown": "|", "table": "|"}[form]
    header, *rows = (
        [cell.strip() for cell in line.strip("|").split(separator)] for line in shown(form, MIXED)
    )
    assert header == ["item", "n", "n_low", "n_high", "m", "m_low", "m_high", "c",
                      "z", "z_low", "z_high"]  # fmt: skip
    [row] = [row for row in rows if row[0] == "tea"]
    assert row[1].removesuffix(" ± 60") == "2"
    assert row[2:4] == ["-58", "62"]
    assert row[5:8] == ["", "", "x"]  # a maximum has no interval, a constant needs none
    assert set(row[9:]) == {""}


def test_ends_have_the_digits_of_their_cell() -> None:
    [_, _, row, *_] = shown("table", "SELECT SUM(price) AS s FROM shop")
    value, low, high = (cell.strip() for cell in row.split("|"))
    number, _, margin = value.partition(" ± ")
    assert Fraction(low) == Fraction(number) - Fraction(margin)
    assert Fraction(high) == Fraction(number) + Fraction(margin)


def test_an_exact_answer_is_both_its_ends() -> None:
    header, row = shown("csv", "SELECT COUNT(*) AS n FROM shop", neighbors=Neighbors.REPLACE)
    assert (header, row) == ("n,n_low,n_high", "4,4,4")


def test_without_noise_every_number_is_exact(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("x\n1\n")
    session = Session(policy_for(tmp_path / "t.csv"), noise=Noiseless(), teach=True)
    session.execute("SET dp = off")
    csv = FORMATS["csv"](session.execute("SELECT COUNT(*) AS n FROM t"), intervals=True)
    assert csv.splitlines()[1:] == ["n,n_low,n_high", "1,1,1"]


@pytest.mark.parametrize(
    "statement", ["SHOW BUDGET", "DESCRIBE shop", "EXPLAIN SELECT SUM(sold) FROM shop"]
)
@pytest.mark.parametrize("form", FORMATS)
def test_what_is_no_answer_has_no_ends(form: str, statement: str) -> None:
    answer = Session(read_policy(SHOP), noise=Noiseless()).execute(statement)
    assert FORMATS[form](answer, intervals=True) == FORMATS[form](answer)


def test_json_has_its_intervals_anyway() -> None:
    answer = Session(read_policy(SHOP), noise=Noiseless()).execute(MIXED)
    assert FORMATS["json"](answer, intervals=True) == FORMATS["json"](answer)


def test_a_value_without_noise_keeps_its_decimals() -> None:
    """Rounded to whole numbers, it would lie outside an interval of no width."""
    _, _, row, *_ = shown("table", "SELECT QUANTILE_CONT(0.25, 0.5) AS q FROM shop")
    assert [cell.strip() for cell in row.split("|")] == ["0.25 ± 0", "0.25", "0.25"]
