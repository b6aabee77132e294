"""What a query says of its answer: types, goals, and whether rows are moved or left out."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dpdb.plan.logical.query import Options
from dpdb.policy.catalog import Kind
from dpdb.privacy.mechanisms.kinds import NoiseKind
from tests.support.plans import query


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("COUNT(*)", Kind.INTEGER),
        ("COUNT(DISTINCT note)", Kind.INTEGER),
        ("SUM(age)", Kind.INTEGER),
        ("SUM(pay)", Kind.NUMBER),
        ("MAX(born)", Kind.DATE),
        ("MEDIAN(age)", Kind.INTEGER),
        ("MODE(city)", Kind.TEXT),
        ("AVG(age)", Kind.NUMBER),
        ("AVG(born)", Kind.DATE),
        ("STDDEV(age)", Kind.NUMBER),
    ],
)
def test_the_type_of_an_aggregate(text: str, kind: Kind) -> None:
    assert query(text).aggregates[0].kind is kind


@pytest.mark.parametrize(
    ("options", "has"),
    [
        (Options(), False),
        (
            Options(epsilon=Fraction(1), mechanism=NoiseKind.GAUSSIAN, confidence=Fraction(9, 10)),
            False,
        ),
        (Options(error=Fraction(1)), True),
        (Options(relative_error=Fraction(1, 10)), True),
        (Options(noise_index=(Fraction(1),)), True),
    ],
)
def test_which_options_are_goals(options: Options, has: bool) -> None:
    assert options.has_accuracy_goal is has


@pytest.mark.parametrize(
    ("rest", "cut"),
    [
        ("", False),
        ("HAVING COUNT(*) > 3", False),
        ("ORDER BY zip", True),
        ("LIMIT 1", True),
        ("OFFSET 1", True),
        ("LIMIT 0", True),
    ],
)
def test_which_answers_are_cut(rest: str, cut: bool) -> None:
    assert query(f"zip, COUNT(*) FROM t GROUP BY zip {rest}").cut is cut
