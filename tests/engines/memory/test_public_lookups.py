"""EXISTS and IN look for rows of public tables that pass their conditions."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpdb.session.connect import connect

POLICY = """
[budget]
epsilon = 1
queries = 1
[tables.a]
path = "a.csv"
unit = "row"
[tables.a.columns]
k = { type = "text" }
[tables.b]
path = "b.csv"
public = true
[tables.b.columns]
code = { type = "text" }
area = { type = "text" }
number = { type = "integer" }
"""


@pytest.mark.parametrize(
    ("condition", "count"),
    [
        ("area = 'south'", 3),
        ("area = 'west'", 5),
        ("number > 2", 6),
        ("code = 'B'", 2),
        ("code LIKE 'Z%'", 0),
    ],
)
def test_a_row_that_the_condition_leaves_out_is_not_found(
    tmp_path: Path, condition: str, count: int
) -> None:
    """Its text is still in the column's dictionary, before those of the rows that are left."""
    (tmp_path / "a.csv").write_text("k\n" + "".join(f"{each}\n" for each in "ABBCCCDDDD"))
    (tmp_path / "b.csv").write_text("code,area,number\nA,west,1\nC,south,2\nB,east,3\nD,west,4\n")
    (tmp_path / "p.toml").write_text(POLICY)
    session = connect(tmp_path / "p.toml", teach=True)
    session.execute("SET dp = off")
    among = f"(SELECT code FROM b WHERE {condition})"
    for asked, expected in (
        (f"k IN {among}", count),
        (f"k NOT IN {among}", 10 - count),
        (f"EXISTS (SELECT 1 FROM b WHERE b.code = a.k AND {condition})", count),
    ):
        assert session.sql(f"SELECT COUNT(*) FROM a WHERE {asked}").scalar() == expected
