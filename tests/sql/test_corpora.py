"""Statements that are answered and statements that are refused, as files beside this one."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import pytest

from dpdb.answers.answer import Answer
from dpdb.answers.formats.json_lines import error_as_json
from dpdb.answers.formats.render import FORMATS
from dpdb.answers.wire import from_wire, to_wire
from dpdb.errors import DpdbError, error_text
from dpdb.policy.budget import Budget
from dpdb.policy.catalog import Policy
from dpdb.policy.reading.reader import read_policy
from dpdb.session.session import Session

HERE = Path(__file__).parent
_ACCEPTED = re.compile(r"(.+?);(?:\n|\Z)", re.DOTALL)
_REFUSED = re.compile(
    r"-- (?P<kind>\w+)(?: (?P<line>\d+):(?P<column>\d+))?(?: (?P<fragment>[^\n]*))?\n"
    r"(?P<text>.+?);(?:\n|\Z)",
    re.DOTALL,
)
QUERIES = ("SELECT", "WITH", "FROM", "PIVOT", "SUMMARIZE")
_HEADING = re.compile(r"^---.*\n", re.MULTILINE)


def corpus(name: str) -> str:
    return _HEADING.sub("", (HERE / name).read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Refused:
    """A statement and the error it must give."""

    kind: str
    place: tuple[int, int] | None
    fragment: str
    text: str


def accepted(name: str) -> list[str]:
    return [match[1] for match in _ACCEPTED.finditer(corpus(name))]


def refused(name: str) -> list[Refused]:
    found = []
    for match in _REFUSED.finditer(corpus(name)):
        place = (int(match["line"]), int(match["column"])) if match["line"] else None
        found.append(Refused(match["kind"], place, match["fragment"] or "", match["text"]))
    return found


ACCEPTED = accepted("accept.sql")
REFUSED = refused("reject.sql")
SHOP_ACCEPTED = accepted("accept_shop.sql")
SHOP_REFUSED = refused("reject_shop.sql")


@pytest.fixture(scope="module")
def shop() -> Session:
    """The sample shop, of several tables, with a δ, so that keys can be found."""
    policy = read_policy(HERE.parents[1] / "sample_data" / "shop" / "shop.toml")
    return Session(replace(policy, budget=Budget(Fraction(10_000), Fraction(1, 10), 100_000)))


@pytest.mark.parametrize(
    ("ending", "accepted", "refused"),
    [("", ACCEPTED, REFUSED), ("_shop", SHOP_ACCEPTED, SHOP_REFUSED)],
    ids=["one table", "the shop"],
)
def test_the_files_are_read_to_the_end(
    ending: str, accepted: list[str], refused: list[Refused]
) -> None:
    answered, failing = corpus(f"accept{ending}.sql"), corpus(f"reject{ending}.sql")
    assert len(accepted) == len(re.findall(r";$", answered, re.MULTILINE)) > 100
    assert len(refused) == len(re.findall(r"^-- \w", failing, re.MULTILINE)) > 60
    assert len(set(accepted)) == len(accepted)
    assert len({entry.text for entry in refused}) == len(refused)


def first_word(text: str) -> str:
    found = re.match(r"\W*(\w+)", text)
    assert found is not None
    return found[1].upper()


@pytest.mark.parametrize("text", ACCEPTED)
def test_accepted(text: str, session: Session, policy: Policy) -> None:
    if first_word(text) == "SET":
        session = Session(policy)
    before = session.execute("SHOW BUDGET").rows
    if first_word(text) in QUERIES:
        answer = answered(text, session)
    else:
        answer = session.execute(text)
        assert bool(answer.rows) != answer.explain
        assert session.execute("SHOW BUDGET").rows == before or first_word(text) == "SET"
    check_shown(answer)


@pytest.mark.parametrize("text", SHOP_ACCEPTED)
def test_accepted_of_the_shop(text: str, shop: Session) -> None:
    check_shown(answered(text, shop))


def answered(text: str, session: Session) -> Answer:
    """What a SELECT is answered, which costs what EXPLAIN says, and nothing the second time.

    Those of an even length are explained first, and the others asked again.
    """
    if len(text) % 2 == 0:
        before = session.execute("SHOW BUDGET").rows
        priced = session.execute(f"EXPLAIN {text}")
        assert session.execute("SHOW BUDGET").rows == before
        answer = session.execute(text)
        check_price(answer, priced)
        check_shown(priced)
        check_answer(answer)
        return answer
    answer = session.execute(text)
    check_answer(answer)
    again = session.execute(text)
    # What no row can have a part in is known, and costs nothing the first time.
    assert again.repeat is bool(answer.releases)
    assert again.cost.epsilon == again.cost.queries == 0
    assert (again.rows, again.intervals) == (answer.rows, answer.intervals)
    return answer


def check_shown(answer: Answer) -> None:
    """Every format has something to show of an answer, and the same of what a server sends of it."""
    sent = from_wire(to_wire(answer))
    for render in FORMATS.values():
        shown = render(answer)
        assert "\n" in shown or shown.isprintable()
        assert render(sent) == shown


def check_price(answer: Answer, priced: Answer) -> None:
    """What is explained of an answer before it is given."""
    assert priced.explain
    assert priced.rows == ()
    assert priced.columns == answer.columns
    if "relative_error" in answer.statement:
        # Bought in steps, of which the last there can be is explained.
        assert answer.cost.epsilon <= priced.cost.epsilon
    else:
        assert priced.releases == answer.releases
        assert answer.repeat or priced.cost == answer.cost


def check_answer(answer: Answer) -> None:
    """What is true of every answered SELECT, whatever it asks."""
    if "relative_error" not in answer.statement:
        loss = sum((drawn.epsilon for drawn in answer.releases), Fraction(0))
        assert answer.cost.epsilon <= loss  # less where filters exclude each other
        assert answer.cost.delta <= sum((drawn.delta for drawn in answer.releases), Fraction(0))
    assert answer.cost.queries == (bool(answer.releases) and not answer.repeat)
    public = (
        "exact and free: no row can match",
        "these are the group values that the policy lists",
        "public data, exact",
    )
    assert answer.releases or answer.notes[0].startswith(public)
    for drawn in answer.releases:
        assert (drawn.epsilon > 0) == (drawn.sensitivity != 0)
        assert drawn.scale is None or drawn.scale >= 0
    assert len(answer.intervals) == len(answer.rows)
    for row, intervals in zip(answer.rows, answer.intervals, strict=True):
        assert len(row) == len(intervals) == len(answer.columns)
        for cell, interval in zip(row, intervals, strict=True):
            assert cell is None or type(cell) in (int, float, str, bool)
            if interval is not None and cell is not None:
                low, high = interval
                assert low is None or high is None or low <= high


@pytest.mark.parametrize("entry", REFUSED, ids=lambda entry: entry.text)
def test_refused(entry: Refused, session: Session) -> None:
    check_refused(entry, session)


@pytest.mark.parametrize("entry", SHOP_REFUSED, ids=lambda entry: entry.text)
def test_refused_of_the_shop(entry: Refused, shop: Session) -> None:
    check_refused(entry, shop)


def check_refused(entry: Refused, session: Session) -> None:
    """A statement gives its error, at its place, and costs nothing; EXPLAIN refuses the same."""
    if first_word(entry.text) in QUERIES:
        with pytest.raises(DpdbError) as caught:
            session.execute(f"EXPLAIN {entry.text}")
        assert caught.value.kind == entry.kind
    before = session.execute("SHOW BUDGET").rows
    with pytest.raises(DpdbError) as caught:
        session.execute(entry.text)
    error = caught.value
    assert session.execute("SHOW BUDGET").rows == before
    assert error.kind == entry.kind
    said = f"{error.message} {error.hint or ''}"
    assert entry.fragment.casefold() in said.casefold()
    assert error.place is not None
    place = (error.place.line, error.place.column)
    assert place == (entry.place or place)
    lines = entry.text.split("\n")
    assert 1 <= place[0] <= len(lines)
    assert 1 <= place[1] <= len(lines[place[0] - 1]) + 1
    shown = error_text(entry.text, error).split("\n")
    assert shown[0].startswith("error: ")
    assert shown[2].strip() == "^"
    assert len(shown) == (4 if error.hint else 3)
    assert "\n" not in error_as_json(entry.text, error)
