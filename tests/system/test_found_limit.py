"""COUNT(DISTINCT x) of people with many rows: the limit, its price, its ±, and its words."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from scipy.stats import binom

from dpdb.answers.answer import Answer
from dpdb.answers.formats.explain_tree import explain_screen
from dpdb.policy.budget import Composition
from dpdb.policy.catalog import Policy
from dpdb.session.session import Session
from tests.support.audited import noise
from tests.support.exactly import write
from tests.support.many_sessions import sessions

POLICY = """
[budget]
epsilon = {epsilon}
delta = 1e-6
queries = {queries}
composition = "{composition}"
[tables.t]
unit = "who"
rows_per_unit = 50
[tables.t.columns]
who = {{ type = "integer" }}
word = {{ type = "integer" }}
g = {{ type = "text", values = ["a", "b"] }}
"""
UNITS, WORDS = 200, 200
DISTINCT = "SELECT COUNT(DISTINCT word) FROM t"
RUNS = 100


def opened(folder: Path, composition: Composition = Composition.PURE, queries: int = 1) -> Policy:
    """200 people with 50 rows each, of words that many of them have."""
    chance = random.Random(4)
    rows = [f"{who},{word},{'ab'[word % 2]}"
            for who in range(UNITS) for word in chance.choices(range(WORDS), k=50)]  # fmt: skip
    text = POLICY.format(epsilon=queries, queries=queries, composition=composition.value)
    return write(folder, "t", "\n".join(["who,word,g", *rows]) + "\n", text)


def limit_of(answer: Answer) -> int:
    """The limit that a note names."""
    [note] = [note for note in answer.notes if "a limit that was found" in note]
    return int(note.split("at most ")[1].split()[0])


@pytest.mark.parametrize("composition", [Composition.PURE, Composition.ZCDP])
@pytest.mark.parametrize("grouped", ["", " GROUP BY g"])
def test_intervals_cover_what_limits_leave(
    tmp_path: Path, composition: Composition, grouped: str
) -> None:
    """All words are there after two of each person, so that ± is about all of them."""
    policy, missed = opened(tmp_path, composition), 0
    select = f"SELECT COUNT(DISTINCT word) FROM t{grouped}"
    margins: dict[int, set[float]] = {}
    for session in sessions(policy, map(noise, range(RUNS))):
        answer = session.execute(select)
        for (cell,) in answer.intervals:
            assert cell is not None
            missed += not cell[0] <= WORDS // len(answer.rows) <= cell[1]
            margins.setdefault(limit_of(answer), set()).add((cell[1] - cell[0]) / 2)
    number = RUNS * (2 if grouped else 1)
    assert binom.sf(missed - 1, number, 0.05) > 1e-6
    assert all(len(each) == 1 for each in margins.values())
    assert min(margins) < 8


def test_it_costs_what_another_question_costs_and_repeats_are_free(tmp_path: Path) -> None:
    session = Session(opened(tmp_path, queries=4), noise=noise(2))
    first = session.execute(DISTINCT)
    assert [(each.mechanism, each.epsilon) for each in first.releases] == [("found limit", 1)]
    assert first.cost.epsilon == 1
    again = session.execute(DISTINCT)
    assert (again.rows, again.intervals, again.cost.epsilon) == (first.rows, first.intervals, 0)
    assert again.repeat


def test_units_themselves_and_goals_are_as_before(tmp_path: Path) -> None:
    session = Session(opened(tmp_path, queries=9), noise=noise(2))
    for text, mechanism in {
        "SELECT COUNT(DISTINCT who) FROM t": "laplace",
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(error = 200) COUNT(DISTINCT word) FROM t":
            "laplace",
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(noise_index = [1]) COUNT(DISTINCT word) FROM t":
            "laplace",
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 0.05) COUNT(DISTINCT word) FROM t":
            "laplace",
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(mechanism = 'gaussian')"
        " COUNT(DISTINCT word) FROM t": "found limit",
    }.items():  # fmt: skip
        assert [each.mechanism for each in session.execute(text).releases] == [mechanism], text


def test_explain_tells_the_ends_of_what_answers_have(tmp_path: Path) -> None:
    policy = opened(tmp_path)
    explained = Session(policy).execute(f"EXPLAIN {DISTINCT}")
    assert "limit  so many different values a unit adds: 2 … 50" in explain_screen(explained)
    said = [limit_of(Session(policy, noise=noise(run)).execute(DISTINCT)) for run in range(20)]
    assert all(2 <= limit <= 50 for limit in said)


def test_what_is_said_follows_from_the_policy(tmp_path: Path) -> None:
    """The same EXPLAIN, price and columns where nobody has a row."""
    told = []
    for name in ("some", "none"):
        (folder := tmp_path / name).mkdir()
        policy = opened(folder)
        if name == "none":
            policy.tables[0].path.write_text("who,word,g\n")
        session = Session(policy, noise=noise(3))
        explained, answer = session.execute(f"EXPLAIN {DISTINCT}"), session.execute(DISTINCT)
        told.append((explained.releases, explained.notes, answer.cost, answer.columns))
    assert told[0] == told[1]


@pytest.mark.parametrize(("rows", "found"), [(15, False), (16, True), (1024, True), (1025, False)])
def test_no_limit_is_found_where_the_values_of_one_person_could_take_long(
    tmp_path: Path, rows: int, found: bool
) -> None:
    text = POLICY.format(epsilon=1, queries=1, composition="pure")
    text = text.replace("rows_per_unit = 50", f"rows_per_unit = {rows}")
    session = Session(write(tmp_path, "t", "who,word,g\n1,1,a\n", text), noise=noise(3))
    explained = session.execute(f"EXPLAIN {DISTINCT}")
    assert ("limit  so many different values" in explain_screen(explained)) is found


def test_the_work_of_finding_a_limit_is_priced(tmp_path: Path) -> None:
    """1,024 values of a person take longer than 1,025, for which none is found."""
    seconds = []
    for rows in (1024, 1025):
        text = POLICY.format(epsilon=1, queries=1, composition="pure")
        text = text.replace("rows_per_unit = 50", f"rows_per_unit = {rows}")
        session = Session(write(tmp_path, "t", "who,word,g\n1,1,a\n", text))
        plan = session.execute(f"EXPLAIN {DISTINCT}").plan
        assert plan is not None
        seconds.append(plan.work.seconds)
    assert seconds[0] > seconds[1] + 1e-6 * 1024
