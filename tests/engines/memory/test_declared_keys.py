"""What is declared of keys is checked when a table is read; a value that repeats is not told."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from dpdb.engines.memory import MemoryEngine
from dpdb.engines.units.keys import NONE, rows_named
from dpdb.errors import DataFileError
from dpdb.policy.catalog import Policy
from dpdb.policy.reading.reader import read_policy
from dpdb.vectors.columns import Numbers
from tests.support.exactly import raw
from tests.support.shops import shop

DAYS = """
[tables.days]
{more}
key = ["day", "shop"]
[tables.days.columns]
day = {{ type = "date" }}
shop = {{ type = "text" }}
open = {{ type = "boolean" }}
price = {{ type = "number" }}
"""
PUBLIC = "public = true\nat_most = { shop = 2, price = 3 }"
GOOD = [
    "2020-01-01,a,1,1e300", "2020-01-01,b,0,1e300", "2020-01-02,a,1,1e300",
    # A key that lacks a part names no row.
    ",a,1,", ",a,1,", "2020-01-02,,1,", "2020-01-02,,1,", "2020-02-30,a,1,",
]  # fmt: skip


def days(folder: Path, rows: list[str], more: str = "") -> Policy:
    (folder / "days.csv").write_text("\n".join(["day,shop,open,price", *rows]) + "\n")
    (folder / "days.toml").write_text(DAYS.format(more=more))
    return read_policy(folder / "days.toml")


def read(policy: Policy, table: str) -> None:
    MemoryEngine(tables=policy.tables).rows(policy.table(table))


@pytest.mark.parametrize("kind", ["integer", "text"])
@pytest.mark.parametrize("repeated", [("17", "17"), ("17.0", "17")])
def test_a_value_that_repeats_ends_the_program(
    tmp_path: Path, kind: str, repeated: tuple[str, str]
) -> None:
    orders = [(repeated[0], 1), (5, 1), (repeated[1], 2)]
    policy = shop(tmp_path, kind, orders=orders, lines=[(1, 5, 0)])
    if kind == "text" and repeated[0] != repeated[1]:
        read(policy, "orders")
        return
    for statement in ("SELECT COUNT(*) FROM orders", "SELECT COUNT(*) FROM lines"):
        with pytest.raises(DataFileError) as refused:
            raw(statement, policy, MemoryEngine(tables=policy.tables))
        assert refused.value.message == "orders.id is declared a unique key, but a value repeats"
        assert refused.value.hint is None


def test_a_row_without_a_key_repeats_none(tmp_path: Path) -> None:
    orders = [(None, 1), ("", 1), ("x", 1), ("y", 1), (1.5, 1), ("1e30", 1), ("2e30", 1), (7, 1)]
    policy = shop(tmp_path, orders=orders)
    assert raw("SELECT COUNT(*) FROM orders", policy, MemoryEngine(tables=policy.tables)) == [[8]]


@pytest.mark.parametrize("more", ["", PUBLIC])
def test_keys_of_several_columns(tmp_path: Path, more: str) -> None:
    without = more.replace("at_most", "# at_most")
    read(days(tmp_path, GOOD, without), "days")
    with pytest.raises(
        DataFileError, match=r"^days.day, days.shop is declared a unique key, but a value"
    ):
        read(days(tmp_path, [*GOOD, "2020-01-02,a,0,"], without), "days")


def test_at_most_so_many_rows_share_a_value(tmp_path: Path) -> None:
    """As many rows may be NULL as like; numbers of any size are values."""
    rows = [row for row in GOOD if ",a,1,1e300" in row] + ["2020-01-03,,1,", "2020-01-04,,1,"] * 2
    read(days(tmp_path, rows, PUBLIC.replace("price = 3", "price = 2")), "days")
    for column, most in (("shop", "shop = 2"), ("price", "price = 3")):
        fewer = PUBLIC.replace(most, f"{column} = 1")
        with pytest.raises(DataFileError) as refused:
            read(days(tmp_path, rows, fewer), "days")
        assert refused.value.message == (
            f"days.{column} is declared at_most 1, but a value has more rows"
        )


def test_keys_that_together_have_many_values(tmp_path: Path) -> None:
    """The product of the numbers of values is far larger than the number of rows."""
    rows = [f"{year}-01-01,{shop},1," for year in range(1000, 1200) for shop in ("a", f"b{year}")]
    read(days(tmp_path, rows), "days")
    with pytest.raises(DataFileError):
        read(days(tmp_path, [*rows, rows[-1]]), "days")


def test_timestamps_name_rows_whatever_their_steps_are() -> None:
    keys = Numbers(np.array([2, 5]), Fraction(10**6), None, 0)
    wanted = Numbers(np.array([5_000_000, 2_000_000, 2]), Fraction(1), None, 0)
    assert rows_named(wanted, keys).tolist() == [1, 0, NONE]
