"""Statements that are answered and statements that are refused, as files beside this one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import pytest

from dpdb.answers.answer import Answer
from dpdb.answers.formats.json_lines import error_as_json
from dpdb.answers.formats.render import FORMATS
from dpdb.errors import DpdbError, error_text
from dpdb.policy.catalog import Policy
from dpdb.session.session import Session

HERE = Path(__file__).parent
_ACCEPTED = re.compile(r"(.+?);(?:\n|\Z)", re.DOTALL)
_REFUSED = re.compile(
    r"-- (?P<kind>\w+)(?: (?P<line>\d+):(?P<column>\d+))?(?: (?P<fragment>[^\n]*))?\n"
    r"(?P<text>.+?);(?:\n|\Z)",
    re.DOTALL,
)
QUERIES = ("SELECT", "WITH")
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


def refused() -> list[Refused]:
    found = []
    for match in _REFUSED.finditer(corpus("reject.sql")):
        place = (int(match["line"]), int(match["column"])) if match["line"] else None
        found.append(Refused(match["kind"], place, match["fragment"] or "", match["text"]))
    return found


ACCEPTED = [match[1] for match in _ACCEPTED.finditer(corpus("accept.sql"))]
REFUSED = refused()


def test_the_files_are_read_to_the_end() -> None:
    assert len(ACCEPTED) == len(re.findall(r";$", corpus("accept.sql"), re.MULTILINE)) > 150
    assert len(REFUSED) == len(re.findall(r"^-- \w", corpus("reject.sql"), re.MULTILINE)) > 150
    assert len(set(ACCEPTED)) == len(ACCEPTED)
    assert len({entry.text for entry in REFUSED}) == len(REFUSED)


def first_word(text: str) -> str:
    return text.split(maxsplit=1)[0].upper()


@pytest.mark.parametrize("text", ACCEPTED)
def test_accepted(text: str, session: Session, policy: Policy) -> None:
    if first_word(text) == "SET":
        session = Session(policy)
    before = session.execute("SHOW BUDGET").rows
    if first_word(text) in QUERIES:
        priced = session.execute(f"EXPLAIN {text}")
        assert session.execute("SHOW BUDGET").rows == before
        answer = session.execute(text)
        check_answer(answer, priced)
        again = session.execute(text)
        # What no row can have a part in is known, and costs nothing the first time.
        assert again.repeat is bool(answer.releases)
        assert again.cost.epsilon == again.cost.queries == 0
        assert (again.rows, again.intervals) == (answer.rows, answer.intervals)
    else:
        answer = session.execute(text)
        assert bool(answer.rows) != answer.explain
        if first_word(text) not in QUERIES:
            assert session.execute("SHOW BUDGET").rows == before or first_word(text) == "SET"
    for render in FORMATS.values():
        shown = render(answer)
        assert "\n" in shown or shown.isprintable()


def check_answer(answer: Answer, priced: Answer) -> None:
    """What is true of every answered SELECT, whatever it asks."""
    assert priced.explain
    assert priced.rows == ()
    assert priced.columns == answer.columns
    if "relative_error" in answer.statement:
        # Bought in steps, of which the last there can be is explained.
        assert answer.cost.epsilon <= priced.cost.epsilon
    else:
        assert priced.releases == answer.releases
        loss = sum((drawn.epsilon for drawn in answer.releases), Fraction(0))
        assert answer.cost.epsilon <= loss  # less where filters exclude each other
        assert answer.cost.delta <= sum((drawn.delta for drawn in answer.releases), Fraction(0))
        assert answer.repeat or priced.cost == answer.cost
    assert answer.cost.queries == (bool(answer.releases) and not answer.repeat)
    public = ("no row can pass the filter", "these are the keys that the policy declares")
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


@pytest.mark.parametrize(
    "entry",
    [entry for entry in REFUSED if first_word(entry.text) in QUERIES],
    ids=lambda entry: entry.text,
)
def test_explain_refuses_the_same(entry: Refused, session: Session) -> None:
    with pytest.raises(DpdbError) as caught:
        session.execute(f"EXPLAIN {entry.text}")
    assert caught.value.kind == entry.kind
