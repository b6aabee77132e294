"""Sums of losses, exactly or rounded up, and the groups that a ledger finds again."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpdb.ledger.book import plan_text
from dpdb.ledger.book.entries import Charge, Entry, Totals
from dpdb.ledger.spending import Spent
from dpdb.plan.relations.regions import Region, region
from dpdb.policy.budget import Neighbors
from dpdb.policy.catalog import Column, Kind, Policy, Table
from dpdb.privacy.accounting.composition import NO_LOSS, ComposedLoss
from dpdb.privacy.accounting.loss import Loss
from dpdb.sql.selects.statements import Select, statement
from tests.support.lasting import TABLE, at
from tests.support.texts import CHARACTERS

GRAIN = Fraction(1, 2**120)
# So fine that sums of a few have denominators far above the grain's.
amounts = st.fractions(0, 10, max_denominator=2**100)
losses = st.builds(Loss, amounts, amounts, amounts, amounts).map(ComposedLoss.of)
regions = st.none() | st.integers(0, 4).map(at)
few = settings(max_examples=15)
charges = st.lists(st.tuples(losses, regions), max_size=8)


@few
@given(st.lists(losses, max_size=12))
def test_sums_are_rounded_up_and_by_little(every: list[ComposedLoss]) -> None:
    spent = Spent(Neighbors.ADD_REMOVE)
    for loss in every:
        spent = spent.after(loss, None, 1, None)
    for position, part in enumerate(spent.sums.parts):
        exact = sum((loss.parts[position] for loss in every), Fraction(0))
        assert exact <= part <= exact + len(every) * GRAIN
        assert part.denominator <= 2**120


@given(st.integers(1, 10**6), st.integers(1, 60))
def test_equal_parts_of_one_are_one(whole: int, number: int) -> None:
    spent = Spent(Neighbors.ADD_REMOVE)
    for _ in range(number):
        spent = spent.after(ComposedLoss.of(Loss(Fraction(whole, number))), None, 1, None)
    assert spent.sums.epsilon == whole


@few
@given(charges, st.sampled_from(Neighbors), st.integers(0, 8))
def test_groups_are_found_again(
    every: list[tuple[ComposedLoss, Region | None]], relation: Neighbors, read: int
) -> None:
    """What a ledger reads of its entries, in one go or in two, is what made them."""
    spent, grouped = Spent(relation), list[tuple[ComposedLoss, Region, int]]()
    for loss, rows in every:
        group = spent.group_for(rows)
        spent = spent.after(loss, rows, 1, group)
        told = plan_text.region_text(rows, (TABLE,))
        if told is not None and group is not None:
            grouped.append((loss, plan_text.read_region(told, (TABLE,)), group))
    again = Spent(relation).with_grouped(grouped[:read]).with_grouped(grouped[read:])
    assert replace(again, sums=spent.sums, queries=spent.queries) == spent


@few
@given(losses, regions, st.text(CHARACTERS, max_size=20), st.text(CHARACTERS, max_size=20))
def test_entries_are_read_as_they_were_written(
    loss: ComposedLoss, region: Region | None, who: str, statement: str
) -> None:
    told = plan_text.region_text(region, (TABLE,))
    charge = Charge(statement, loss, 1, told, 3, loss)
    entry = Entry(7, 1, who, charge, Totals(loss, 2, 1, 2), 0, {who: 7}, None)
    assert Entry.read(7, entry.text) == entry
    assert entry.text.isascii()


WIDE = Table(
    "w",
    Path("w.csv"),
    (
        Column("x", Kind.INTEGER, Fraction(0), Fraction(20)),
        Column("y", Kind.NUMBER, Fraction(-1), Fraction(1), Fraction(1, 10)),
        Column("z", Kind.TEXT, values=("a", "b", "c")),
    ),
)
FILTERS = (
    "x >= {}", "x < {}", "x = {}", "x <> {}", "x IN ({}, 7)", "x BETWEEN 1 AND {}", "y > 0.{}",
    "x IS NULL", "z = 'a'", "z > 'b'", "x >= {} AND y < 0.5", "x < 4 OR x > {}", "x IS NULL OR x = {}",
)  # fmt: skip


def filtered(text: str, table: Table = WIDE) -> Region:
    asked = statement(f"SELECT COUNT(*) FROM {table.name} WHERE {text}", Policy((table,)))
    assert isinstance(asked, Select)
    return region(table, asked.query.where)


def test_a_statement_joins_the_first_group_in_which_all_exclude_it() -> None:
    """As if it were compared with all statements before it."""
    random, spent, groups = Random(3), Spent(Neighbors.ADD_REMOVE), list[list[Region]]()
    for _ in range(120):
        new = filtered(random.choice(FILTERS).format(random.randrange(1, 20)))
        places = (i for i, group in enumerate(groups) if all(map(new.excludes, group)))
        expected, found = next(places, len(groups)), spent.group_for(new)
        assert found == expected
        spent = spent.after(NO_LOSS, new, 1, found)
        if expected == len(groups):
            groups.append([])
        groups[expected].append(new)
    assert 10 < len(groups) < 100


def test_filters_that_overlap_are_not_compared_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = []
    excludes = Region.excludes
    monkeypatch.setattr(Region, "excludes", lambda *both: compared.append(both) or excludes(*both))
    spent = Spent(Neighbors.ADD_REMOVE)
    for value in range(20):
        new = filtered(f"x >= {value} AND y > -0.{value}")
        spent = spent.after(NO_LOSS, new, 1, spent.group_for(new))
    assert len(spent.groups) == 20
    assert len(compared) <= 3


def test_columns_of_one_name_in_two_tables_are_not_compared() -> None:
    """Their values may be of two types; regions of two tables never exclude each other."""
    texts = replace(WIDE, name="v", columns=(Column("x", Kind.TEXT),))
    spent = Spent(Neighbors.ADD_REMOVE)
    for table, condition in (
        (texts, "x >= 'b'"),
        (texts, "x >= 'b' AND x < 'm'"),
        (WIDE, "x >= 2"),
        (WIDE, "x >= 3"),
        (texts, "x >= 'b' AND x < 'n'"),
    ):
        new = filtered(condition, table)
        spent = spent.after(NO_LOSS, new, 1, spent.group_for(new))
    assert len(spent.groups) == 5
