"""Keys that are found in the data cost what is charged: over all outcomes, exactly.

A source of noise gives every combination of cut noises in turn. What a session then answers, with
the probability of that noise, is the law of the answer; and the laws on two neighbouring tables
must be within the ε and the δ that the session was charged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpdb.plan.releases import key_selection
from dpdb.policy.catalog import Policy
from dpdb.policy.reading.reader import read_policy
from dpdb.privacy.mechanisms.selections.threshold import Threshold
from dpdb.session.session import Session
from tests.support.many_sessions import sessions

POLICY = """
[budget]
epsilon = 1
delta = 0.2
queries = 1
[privacy]
neighbors = "{neighbors}"
[tables.t]
{unit}
[tables.t.columns]
who = {{ type = "text" }}
city = {{ type = "text" }}
"""
QUERY = "SELECT city, COUNT(DISTINCT who) AS n FROM t GROUP BY city"
ONE = 'unit = "who"\nrows_per_unit = 1'
TWO = 'unit = "who"\nrows_per_unit = 2'
Rows = tuple[tuple[str, str], ...]
A, B, NONE = ("ann", "Ulm"), ("bob", "Ulm"), ("ann", "")
pytestmark = pytest.mark.usefixtures("planned_once", "by_threshold")


@pytest.fixture
def by_threshold(monkeypatch: pytest.MonkeyPatch) -> None:
    """At so large a δ two rows would be enough for weights, which have an enumeration of theirs."""
    monkeypatch.setattr(key_selection, "_are_weighted", lambda *_: False)


@dataclass
class Listed:
    """A source whose next noises are given; the rest is zero."""

    noises: tuple[int, ...]
    private = True

    def laplace(self, scale: Fraction, size: int) -> Any:
        return np.array([*self.noises, *[0] * size], dtype=np.int64)[:size]


def written(folder: Path, rows: Rows, terms: dict[str, str]) -> Policy:
    lines = ["who,city", *(",".join(row) for row in rows)]
    (folder / "t.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "t.toml").write_text(POLICY.format(**terms), encoding="utf-8")
    return read_policy(folder / "t.toml")


def probabilities(mechanism: Threshold) -> dict[int, Fraction]:
    """The law of the cut noise, for a rational p that stands for e^-ε."""
    p, cut = stand_in(mechanism), mechanism.cut
    whole = 1 + p - 2 * p ** (cut + 1)
    return {x: p ** abs(x) * (1 - p) / whole for x in range(-cut, cut + 1)}


def stand_in(mechanism: Threshold) -> Fraction:
    return Fraction(np.exp(-1 / float(mechanism.scale))).limit_denominator(10**4)


def law(folder: Path, rows: Rows, terms: dict[str, str], mechanism: Threshold) -> Counter[Any]:
    """What is answered, with its probability: over the noises of all keys that rows have."""
    law_of_one = probabilities(mechanism)
    keys = len({city for _, city in rows})
    seen: Counter[Any] = Counter()
    every = [*product(law_of_one, repeat=keys)]
    policy = written(folder, rows, terms)
    for noises, session in zip(every, sessions(policy, map(Listed, every)), strict=True):  # type: ignore[arg-type]
        answer = session.execute(QUERY)
        seen[answer.rows] += prod((law_of_one[x] for x in noises), start=Fraction(1))
    assert sum(seen.values()) == 1
    return seen


def divergence(first: Counter[Any], second: Counter[Any], growth: Fraction) -> Fraction:
    """The least δ with P(E) <= growth · Q(E) + δ for every event E."""
    return sum((max(first[e] - growth * second[e], Fraction(0)) for e in first), Fraction(0))


def pairs() -> Iterator[tuple[str, str, Rows, Rows]]:
    yield "add-remove", ONE, (), (A,)
    yield "add-remove", ONE, (B,), (B, A)
    yield "add-remove", ONE, (B, ("cid", "Ulm")), (B, ("cid", "Ulm"), A)
    yield "add-remove", TWO, (B,), (B, A, NONE)
    yield "add-remove", TWO, (B,), (B, A, NONE, ("ann", "Bonn"))
    yield "replace", ONE, (B, A), (B, NONE)


@pytest.mark.parametrize(("neighbors", "unit", "rows", "others"), [*pairs()])
def test_no_pair_of_neighbours_is_told_apart_by_more_than_is_charged(
    neighbors: str, unit: str, rows: Rows, others: Rows, tmp_path: Path
) -> None:
    terms = {"neighbors": neighbors, "unit": unit}
    policy = written(tmp_path, rows, terms)
    priced = Session(policy, noise=Listed(())).execute(QUERY)  # type: ignore[arg-type]
    groups = (1 if unit == ONE else 2) * (2 if neighbors == "replace" else 1)
    mechanism = Threshold(priced.cost.epsilon / groups, priced.cost.delta / groups, groups)
    assert (priced.cost.epsilon, priced.cost.delta) == (1, Fraction(1, 5))
    laws = [law(tmp_path, each, terms, mechanism) for each in (rows, others)]
    growth = 1 / stand_in(mechanism) ** groups
    largest = max(divergence(*laws, growth), divergence(*reversed(laws), growth))
    assert 0 < largest <= Fraction(1, 5)


def test_a_cut_that_is_one_smaller_would_be_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    terms = {"neighbors": "add-remove", "unit": ONE}
    mechanism = Threshold(Fraction(1), Fraction(1, 5))
    smaller = mechanism.cut - 1
    monkeypatch.setattr(Threshold, "cut", property(lambda _: smaller))
    laws = [law(tmp_path, each, terms, mechanism) for each in ((B,), (B, A))]
    assert divergence(laws[1], laws[0], 1 / stand_in(mechanism)) > Fraction(1, 5)
