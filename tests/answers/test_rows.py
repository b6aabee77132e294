"""An answer's rows: computed, kept by HAVING, sorted, cut, and told as plain values."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dpdb.answers.estimates import Noisy, points
from dpdb.answers.record import AnswerRecord, Cell
from dpdb.answers.tables.rows import answer_table
from dpdb.ledger.protocol import Balance
from dpdb.plan.physical.plan import Plan
from dpdb.policy.budget import Budget
from tests.support.plans import planned

COUNTS = [30, 10, 20]
"""Of the groups 1, 2 and 3."""


def shown(plan: Plan, noisy: Noisy, *, intervals: bool = True) -> AnswerRecord:
    table = answer_table(plan, points(plan, noisy.draws), {}, noisy if intervals else None)
    cells = table.cells(unrounded=not intervals)
    labels = tuple(output.label for output in plan.outputs)
    return AnswerRecord("", labels, cells, Balance(Budget(), Fraction(1), Fraction(0), 1))


def answer(text: str, *draws: list[int] | list[list[int]]) -> AnswerRecord:
    return shown(planned(text), Noisy([np.array(each, dtype=np.int64) for each in draws], {}))


def rows(rest: str, columns: str = "zip, COUNT(*)") -> list[tuple[Cell, ...]]:
    return list(answer(f"{columns} FROM t GROUP BY zip {rest}", COUNTS).rows)


@pytest.mark.parametrize(
    ("rest", "expected"),
    [
        ("", [(1, 30), (2, 10), (3, 20)]),
        ("HAVING COUNT(*) >= 20", [(1, 30), (3, 20)]),
        ("HAVING COUNT(*) > 30", []),
        ("HAVING zip > 1 AND COUNT(*) < 20", [(2, 10)]),
        ("HAVING TRUE", [(1, 30), (2, 10), (3, 20)]),
        ("ORDER BY COUNT(*)", [(2, 10), (3, 20), (1, 30)]),
        ("ORDER BY COUNT(*) DESC", [(1, 30), (3, 20), (2, 10)]),
        ("ORDER BY COUNT(*) > 15, zip DESC", [(2, 10), (3, 20), (1, 30)]),
        ("LIMIT 2", [(1, 30), (2, 10)]),
        ("OFFSET 1", [(2, 10), (3, 20)]),
        ("ORDER BY COUNT(*) DESC LIMIT 1 OFFSET 1", [(3, 20)]),
        ("HAVING COUNT(*) < 30 ORDER BY COUNT(*) DESC LIMIT 1", [(3, 20)]),
        ("LIMIT 0", []),
        ("OFFSET 7", []),
    ],
)
def test_rows_are_kept_sorted_and_cut_in_this_order(
    rest: str, expected: list[tuple[Cell, ...]]
) -> None:
    assert rows(rest) == expected


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("", [1, 2, 3]),  # as if it were the least
        ("DESC", [3, 2, 1]),
        ("NULLS LAST", [2, 3, 1]),
        ("DESC NULLS FIRST", [1, 3, 2]),
    ],
)
def test_null_is_sorted_as_asked_for(order: str, expected: list[int]) -> None:
    """1 / (30 - COUNT(*)) is NULL of the first group, 1/20 of the second, 1/10 of the third."""
    found = rows(f"ORDER BY 1 / (30 - COUNT(*)) {order}", "zip")
    assert [row[0] for row in found] == expected


def test_equal_rows_keep_their_order() -> None:
    assert rows("ORDER BY COUNT(*) > 0 DESC", "zip") == [(1,), (2,), (3,)]


def test_intervals_stay_with_their_rows() -> None:
    found = answer("zip, COUNT(*) FROM t GROUP BY zip ORDER BY zip DESC LIMIT 2", COUNTS)
    for (_, count), (of_key, ends) in zip(found.rows, found.intervals, strict=True):
        assert of_key is None
        assert ends is not None
        assert (ends[0] + ends[1]) / 2 == count
    assert [len(each) for each in (found.rows, found.intervals)] == [2, 2]


def test_values_are_pythons_own() -> None:
    text = "COUNT(*), COUNT(*) / 4, COUNT(*) > 3, MODE(city), MEDIAN(born), 1 / (COUNT(*) - 7), 'x'"
    [row] = answer(text, [7], [1], [5]).rows
    assert row == (7, 1.75, True, "Rye", "1970-01-06", None, "x")
    assert [type(value) for value in row] == [int, float, bool, str, str, type(None), str]


def test_a_constant_is_there_for_every_row() -> None:
    assert rows("", "2, 'x', COUNT(*)") == [(2, "x", n) for n in COUNTS]


def test_keys_are_the_declared_values() -> None:
    found = answer("city, born, ok, COUNT(*) FROM t WHERE born = DATE '1970-01-03' AND ok = TRUE "
                   "GROUP BY city, born, ok", [5, 6])  # fmt: skip
    assert found.rows == (("Ely", "1970-01-03", True, 5), ("Rye", "1970-01-03", True, 6))


def test_a_day_outside_the_calendar_is_null() -> None:
    """Day 3 is left of MAX; of what is added to it the calendar ends with the year 9999."""
    found = answer("MAX(born), MAX(born) + 2932893, MAX(born) + 2932894", [3])
    assert found.rows == (("1970-01-04", "9999-12-31", None),)


def test_a_value_is_only_noise_where_its_interval_is_all_of_its_bounds() -> None:
    text = "zip, AVG(age), AVG(pay), COUNT(*) FILTER (WHERE ok), AVG(age) + 1 FROM t GROUP BY zip"
    # Pairs Σ(x - L), Σ(U - x) of widths 100 and 100,000 around the middle of the bounds.
    ages = [[50 * n, 50 * n] for n in (1, 10**6, 1)]
    pays = [[50_000 * n, 50_000 * n] for n in (1, 10**6, 1)]
    found = answer(text, ages, pays, [1, 10**6, 1])
    marked = (True, False, True)
    shown = [column.only_noise for column in found.cells]
    assert shown == [None, marked, marked, None, marked]


def test_without_noise_there_are_no_intervals() -> None:
    plan = planned("zip, COUNT(*) FROM t GROUP BY zip")
    found = shown(plan, Noisy([np.array(COUNTS)], {}), intervals=False)
    assert found.rows == ((1, 30), (2, 10), (3, 20))
    assert found.intervals == ((None, None),) * 3
    assert [column.only_noise for column in found.cells] == [None, None]
