"""Filters said to exclude each other, against rows at the very edges of what they say.

Every world has constants of its own that lie close together, and cells at each of them, a last
digit to either side, and a text's beginnings and continuations.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from pathlib import Path
from random import Random
from unittest import mock

import pytest

from dpdb.policy.catalog import Kind
from tests.long.parts import Part
from tests.plan import test_regions
from tests.plan.test_regions import BOOLEANS, DATES, MOMENTS, World, _refuted, pairs

POWERS = [0, 0.1, 0.3, 1, 2.5, 3, 2**52, 2**53, 2**53 + 2, 2**63, 1e19]
"""Numbers near which the doubles, or the integers among them, change their spacing."""
LETTERS = "aAb\u00e1 %"


def _numbers(chance: Random) -> list[float]:
    """Numbers that differ by a few last digits, or by one."""
    found = []
    for _ in range(3):
        number = float(chance.choice(POWERS)) * chance.choice([1, 1, -1])
        for _ in range(chance.randrange(3)):
            number = math.nextafter(number, chance.choice([-math.inf, math.inf]))
        found += [number, number + chance.choice([-1, -0.5, 0.5, 1])]
    return found


def _written(number: float, chance: Random) -> str:
    """The number in one of the ways that SQL can write it, or one a little beside it."""
    exact = Fraction(number)
    if exact.denominator == 1:
        whole = exact.numerator + chance.choice([0, 0, 0, 1, -1])
        return f"{whole}{chance.choice(['', '.0', '.00000000000000000001'])}"
    return repr(number) + chance.choice(["", "", "0" * 25 + "1" if "e" not in repr(number) else ""])


def _near(number: float) -> list[str]:
    """Cells at a number, and at the next doubles and whole numbers."""
    whole = math.floor(number)
    beside = [number, math.nextafter(number, math.inf), math.nextafter(number, -math.inf)]
    return [*(repr(each) for each in beside), *(str(whole + step) for step in (-1, 0, 1, 2))]


def _texts(chance: Random) -> list[str]:
    return ["".join(chance.choices(LETTERS, k=chance.randint(1, 3))) for _ in range(4)]


def _around(text: str) -> list[str]:
    """Cells that begin like a text, or that it begins like."""
    after = text[:-1] + chr(ord(text[-1]) + 1)
    return [text, text[:-1], f"{text} ", f"{text}a", text.swapcase(), after]


def _pool(cells: Sequence[str], chance: Random) -> list[str]:
    """As many of the cells as two columns of them make a table that is looked through quickly."""
    distinct = sorted(set(cells) - {""})
    return ["", *chance.sample(distinct, min(len(distinct), 16))]


class Edges(World):
    """A world whose constants are asked about often: what was found of a condition is kept."""

    def __init__(self, folder: Path):
        super().__init__(folder)
        self.region = cache(super().region)


def _edges(folder: Path, chance: Random) -> tuple[World, dict[Kind, list[str]]]:
    """A world of adversarial cells, and the constants to compare them with."""
    numbers, texts = _numbers(chance), _texts(chance)
    cells = [cell for number in numbers for cell in _near(number)]
    number_cells = _pool([*cells, "-0.0", "5e-324", "-5e-324"], chance)
    pools = {
        Kind.INTEGER: _pool([cell for cell in cells if cell.lstrip("-").isdigit()], chance),
        Kind.NUMBER: number_cells,
        Kind.TEXT: _pool([cell for text in texts for cell in _around(text)], chance),
        Kind.BOOLEAN: BOOLEANS,
        Kind.DATE: DATES,
        Kind.TIMESTAMP: MOMENTS,
    }
    written = [_written(number, chance) for number in (*numbers, *numbers, 0.0, 5e-324)]
    constants = {
        **test_regions.CONSTANTS,
        Kind.INTEGER: written,
        Kind.NUMBER: written,
        Kind.TEXT: [f"'{text}'" for text in (*texts, "", *(text[:1] for text in texts))],
    }
    with mock.patch.dict(test_regions.POOLS, pools):
        return Edges(folder), constants


@pytest.mark.examples(6_000, 15)
def test_no_row_is_in_both_of_two_exclusive_filters(part: Part, tmp_path, tried):
    world, constants = _edges(tmp_path, Random(part.seed))
    outcomes: Counter[str] = Counter()

    def check(pair: tuple[list[str], str, str]) -> None:
        names, first, second = pair
        claimed = world.region(first).excludes(world.region(second))
        outcomes["exclusive" if claimed else "not said to be"] += 1
        assert _refuted(world, names, first, second) is None

    with mock.patch.dict(test_regions.CONSTANTS, constants):
        part.each(pairs(world.table.columns), check)
    tried(f"{part}: {dict(outcomes)}")
    assert outcomes["exclusive"]
