"""A session parses a text once, and keeps few of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpdb.errors import UnknownName
from dpdb.policy.reading.reader import policy_for
from dpdb.session import session
from dpdb.session.session import STATEMENTS, Session

PEOPLE = Path(__file__).parents[2] / "sample_data" / "people.csv"
COUNT = "SELECT COUNT(*) FROM people"


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that were parsed."""
    texts: list[str] = []
    parse = session.statement
    monkeypatch.setattr(
        session,
        "statement",
        lambda text, *known, **more: texts.append(text) or parse(text, *known, **more),
    )
    return texts


def test_a_text_is_parsed_once_to_be_priced_and_executed(parsed: list[str]) -> None:
    opened = Session(policy_for(PEOPLE))
    assert opened.explain(COUNT).cost == opened.execute(COUNT).cost
    assert parsed == [COUNT]


def test_what_a_text_costs_follows_from_the_settings_of_the_moment(parsed: list[str]) -> None:
    opened = Session(policy_for(PEOPLE))
    before = opened.explain(COUNT).cost.epsilon
    opened.execute("SET epsilon = 0.5")
    assert before != opened.explain(COUNT).cost.epsilon
    assert parsed.count(COUNT) == 1


def test_what_is_refused_is_refused_again_in_its_own_place(parsed: list[str]) -> None:
    opened, wrong = Session(policy_for(PEOPLE)), "SELECT SUM(nobody) FROM people"
    for _ in range(2):
        with pytest.raises(UnknownName):
            opened.explain(wrong)
    assert parsed == [wrong, wrong]


def test_a_text_is_parsed_anew_on_another_day(
    parsed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = Session(policy_for(PEOPLE))
    for day in (0, 1):
        monkeypatch.setattr(session, "utc_day", lambda day=day: day)
        opened.explain(COUNT)
    assert parsed == [COUNT, COUNT]


def test_few_texts_are_kept(parsed: list[str]) -> None:
    opened = Session(policy_for(PEOPLE))
    for number in range(STATEMENTS + 1):
        opened.explain(f"{COUNT} WHERE age > {number}")
    opened.explain(f"{COUNT} WHERE age > 0")
    assert len(parsed) == STATEMENTS + 2
