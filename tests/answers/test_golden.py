"""Every output format against a file of it, checked by hand.

Without noise the answers can be worked out on paper from shop.csv: three rows
of `tea`, `=nuts` and `a|b` are declared, of which only tea is in the file;
4 rows; Σ price = 3.50 + 4.50 + 2.00 + 9.99 = 19.99. At ε = 0.1 a query, a
count's interval reaches 30 either way: P(|x| > 30) = 2r³¹/(1+r) with r = e^-0.1
is 0.0473, and P(|x| > 29) is 0.0522. One row moves the two sums behind AVG(sold)
by 10 together, so their noise is within 300 in 95 %: ± 0.03 of 10,000 rows.
"""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from dpdb.answers.formats.render import FORMATS
from dpdb.policy.reading.reader import read_policy
from dpdb.session.session import Session
from dpdb.sql.text.splitting import split
from tests.support.noiseless import Noiseless

HERE = Path(__file__).parent
STATEMENTS = """
SELECT COUNT(*), SUM(price) AS "=total" FROM shop;
SELECT item, COUNT(*) FROM shop GROUP BY item;
EXPLAIN SELECT AVG(sold) FROM shop;
SELECT COUNT(*), SUM(price) AS x FROM shop;
DESCRIBE shop;
SHOW BUDGET;
"""


def test_the_interval_in_the_golden_files_is_the_one_on_paper() -> None:
    ratio = math.exp(-0.1)
    assert 2 * ratio**31 / (1 + ratio) < 0.05 < 2 * ratio**30 / (1 + ratio)


@pytest.mark.parametrize("name", FORMATS)
def test_format(name: str) -> None:
    session = Session(read_policy(HERE / "shop.toml"), noise=Noiseless())
    shown = [FORMATS[name](session.execute(piece.text)) for piece in split(STATEMENTS)]
    expected = (HERE / "golden" / f"{name}.txt").read_text(encoding="utf-8")
    assert "\n\n".join(shown) + "\n" == expected
