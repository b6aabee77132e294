"""Statements about the tables of the shop that are answered and that are refused, as files."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from dpdb.answers.formats.render import FORMATS
from dpdb.errors import DpdbError, error_text
from dpdb.policy.budget import Budget
from dpdb.policy.reader import read_policy
from dpdb.session.session import Session
from tests.sql.test_corpora import Refused, accepted, refused

SHOP = Path(__file__).parents[2] / "sample_data" / "shop" / "shop.toml"
ACCEPTED = accepted("shop_accept.sql")
REFUSED = refused("shop_reject.sql")


@pytest.fixture(scope="module")
def shop() -> Session:
    """With a δ, so that keys can be found."""
    budget = Budget(Fraction(100), Fraction(1, 1000), 100)
    return Session(replace(read_policy(SHOP), budget=budget))


def test_there_are_many() -> None:
    assert len(set(ACCEPTED)) == len(ACCEPTED) >= 60
    assert len({entry.text for entry in REFUSED}) == len(REFUSED) >= 40


@pytest.mark.parametrize("text", ACCEPTED)
def test_accepted(text: str, shop: Session) -> None:
    """It is priced, which reads no private row."""
    priced = shop.execute(f"EXPLAIN {text}")
    assert priced.explain
    assert priced.columns
    assert bool(priced.releases) == (priced.cost.epsilon > 0) == (priced.cost.queries == 1)
    assert priced.releases or priced.notes
    assert shop.quote(text).cost == priced.cost
    assert all(render(priced) for render in FORMATS.values())


@pytest.mark.parametrize("entry", REFUSED, ids=lambda entry: entry.text)
def test_refused(entry: Refused, shop: Session) -> None:
    """The message says what is wrong, and where; EXPLAIN says the same."""
    said = []
    for text in (entry.text, f"EXPLAIN {entry.text}"):
        with pytest.raises(DpdbError) as caught:
            shop.execute(text)
        error = caught.value
        assert error.kind == entry.kind
        assert entry.fragment.casefold() in f"{error.message} {error.hint or ''}".casefold()
        assert error.place is not None
        assert error_text(text, error).startswith(f"error: {error.message}")
        said.append((error.message, error.hint))
    assert said[0] == said[1]
    assert shop.balance.queries_left == 100
