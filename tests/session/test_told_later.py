"""What an answer tells besides its rows is worked out when it is first asked for."""

from __future__ import annotations

import pickle
import warnings
from pathlib import Path

import pytest

from dpdb.answers.tables import rows
from dpdb.errors import InternalError
from dpdb.policy.reading.reader import read_policy
from dpdb.privacy.noise.sources import seeded
from dpdb.session.purchases import purchases as answers
from dpdb.session.session import Session

PEOPLE = Path(__file__).parents[2] / "sample_data" / "people.toml"
QUERIES = (
    "SELECT zip, COUNT(*), AVG(age), MEDIAN(age) FROM people GROUP BY zip ORDER BY 2",
    "SELECT SUM(n) FROM (SELECT zip, COUNT(*) AS n FROM people GROUP BY zip) AS t",
    "SELECT COUNT(*) FROM people UNION ALL SELECT MAX(age) FROM people",
)


def opened() -> Session:
    return Session(read_policy(PEOPLE), noise=seeded(3))


def test_rows_need_neither_intervals_nor_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    def untold(*_: object, **__: object) -> None:
        raise AssertionError("asked too early")

    monkeypatch.setattr(rows, "confidence_intervals", untold)
    monkeypatch.setattr(answers.release_reports, "reports", untold)
    monkeypatch.setattr(answers.accuracy_notes, "interval_notes", untold)
    session = opened()
    for query in QUERIES:
        assert session.execute(query).rows
    answer = session.execute("SELECT AVG(income) FROM people")
    for late in ("intervals", "releases", "notes"):
        with pytest.raises(InternalError):
            getattr(answer, late)


def test_what_is_told_later_is_what_would_have_been_told_at_once() -> None:
    at_once, later = opened(), opened()
    told = [(a.intervals, a.notes, a.releases) for a in map(at_once.execute, QUERIES)]
    kept = [later.execute(query) for query in QUERIES]
    later.execute("SET epsilon = 0.01")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert [(a.intervals, a.notes, a.releases) for a in kept] == told


def test_a_copy_for_another_process_has_what_is_told_and_no_plan() -> None:
    for answer in map(opened().execute, QUERIES):
        sent = pickle.dumps(answer)
        assert b"dpdb.plan" not in sent
        copy = pickle.loads(sent)
        assert (copy.rows, copy.intervals) == (answer.rows, answer.intervals)
        assert (copy.notes, copy.releases) == (answer.notes, answer.releases)
        assert copy == answer
        assert hash(copy) == hash(answer)
