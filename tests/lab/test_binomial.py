"""Clopper-Pearson intervals: against closed forms, tables and their promise."""

from __future__ import annotations

import math

import pytest

from dpdb.lab.trial import at_least, interval


def test_nothing_and_everything_have_closed_forms() -> None:
    assert interval(0, 10) == (0.0, pytest.approx(1 - 0.025**0.1))
    assert interval(30, 30) == (pytest.approx(0.025 ** (1 / 30)), 1.0)


@pytest.mark.parametrize(
    ("hits", "tries", "low", "high"),
    [(5, 10, 0.1871, 0.8129), (1, 20, 0.0013, 0.2487), (81, 263, 0.2527, 0.3676)],
)
def test_published_values(hits: int, tries: int, low: float, high: float) -> None:
    """The last: Newcombe 1998, Table I, with the exact method."""
    assert interval(hits, tries) == (pytest.approx(low, abs=6e-5), pytest.approx(high, abs=6e-5))


def test_tails_add_up_by_hand() -> None:
    by_hand = sum(math.comb(7, k) * 0.3**k * 0.7 ** (7 - k) for k in (5, 6, 7))
    assert at_least(5, 7, 0.3) == pytest.approx(by_hand)
    assert (at_least(0, 7, 0.3), at_least(1, 7, 0.0), at_least(7, 7, 1.0)) == (1, 0, 1)


@pytest.mark.parametrize("rate", [0.02, 0.3, 0.5, 0.99])
def test_the_interval_covers_the_rate_as_often_as_it_says(rate: float) -> None:
    tries = 40
    covered = sum(
        math.comb(tries, hits) * rate**hits * (1 - rate) ** (tries - hits)
        for hits in range(tries + 1)
        if interval(hits, tries)[0] <= rate <= interval(hits, tries)[1]
    )
    assert 0.95 <= covered < 1 or rate in (0.02, 0.99)
    assert covered >= 0.95
