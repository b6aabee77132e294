"""What was released for a lasting budget answers later sessions, free; and nothing else does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from dpdb.answers.formats.explain_tree import explain_screen
from dpdb.errors import LedgerError
from dpdb.ledger.book.book import Book
from dpdb.ledger.book.plan_text import read, written
from dpdb.plan.expressions.expressions import ColumnRef
from dpdb.plan.identity import identity
from dpdb.plan.ranges.statistics import Tally
from dpdb.policy.catalog import Column, Kind
from dpdb.policy.reading.reader import read_policy
from dpdb.privacy.noise.protocols import Noise
from dpdb.privacy.noise.sources import seeded
from dpdb.session import budget_overview
from dpdb.session.session import Session
from tests.support.lasting import book_of, opened_shop, verify
from tests.support.noiseless import Noiseless

POLICY = """
[budget]
name = "shop"
epsilon = 100
delta = 1e-6
queries = 50
[tables.t.columns]
a = { type = "integer", bounds = [0, 9], nullable = false }
g = { type = "text", values = ["x", "y"], nullable = false }
h = { type = "integer", values = [1, 2, 3], nullable = false }
z = { type = "integer", bounds = [0, 9] }
n = { type = "integer", values = [1, 2, 3] }
w = { type = "text" }
"""
ROWS = "a,g,h,z,n,w\n" + "5,x,1,4,1,é\n3,y,2,,,é\n7,y,3,2,3,f\n" * 50


@pytest.fixture
def shop() -> Iterator[Path]:
    """A policy whose budget is open."""
    with opened_shop(POLICY, ROWS) as path:
        yield path


def session(shop: Path, analyst: str | None = None, noise: Noise | None = None) -> Session:
    return Session(read_policy(shop), analyst=analyst, noise=noise)


def asked(shop: Path, text: str, analyst: str | None = None) -> Any:
    """The answer of a session of its own; EXPLAIN said before what it would cost."""
    own = session(shop, analyst)
    explained = own.execute(f"EXPLAIN {text}")
    answer = own.execute(text)
    if "relative_error" not in text:
        assert (explained.repeat, explained.cost) == (answer.repeat, answer.cost)
    return answer


COUNT = "SELECT COUNT(*) FROM t"
MORE = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 9)"


def teaching(shop: Path) -> Session:
    """A session that answers exactly."""
    exact = Session(replace(read_policy(shop), lasting=None), teach=True)
    exact.execute("SET dp = off")
    return exact


def pinned(of: Session) -> bytes:
    """The key of the session's ledger."""
    assert of._ledger.pinned is not None
    return of._ledger.pinned.key


SAME = [
    ("SELECT AVG(a) FROM t WHERE a > 2 AND g = 'x'", "SELECT avg(A) FROM t WHERE 'x' = g AND 2 < a"),
    ("SELECT COUNT(*) FROM t WHERE h IN (1, 2)", "SELECT COUNT(*) AS n FROM t WHERE h IN (2, 1, 2)"),
    ("SELECT g, SUM(a) FROM t GROUP BY g", "SELECT SUM(a), g FROM t GROUP BY g ORDER BY g DESC"),
    ("SELECT AVG(a), AVG(h) FROM t", "SELECT AVG(h), AVG(a) FROM t"),
    ("SELECT AVG(a), AVG(z), AVG(h), COUNT(a) FROM t",) * 2,
    ("SELECT w, COUNT(*) FROM t GROUP BY w",) * 2,
    ("SELECT MEDIAN(a), MAX(a) FROM t", "SELECT MEDIAN(a), MAX(a) FROM t"),
    ("SELECT MODE(h), COUNT(DISTINCT h), VARIANCE(z) FROM t", "SELECT MODE(h), COUNT(DISTINCT h), VARIANCE(z) FROM t"),
    ("SELECT MODE(h, a - z) FROM t WHERE a > 2", "SELECT mode(H, a - z) AS m FROM t WHERE 2 < a"),
    ("SELECT COUNT(*) FILTER (WHERE a > 2), COUNT(*) FILTER (WHERE h = 1) FROM t", "SELECT COUNT(*) FILTER (WHERE a > 2), COUNT(*) FILTER (WHERE h = 1) FROM t"),
    ("SELECT COUNT(*) FROM t WHERE a > (SELECT AVG(a) FROM t)", "SELECT COUNT(*) + 1 - 1 FROM t WHERE (SELECT AVG(a) FROM t) < a"),
    ("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(relative_error = 0.9) COUNT(*) FROM t",) * 2,
    ("SELECT QUANTILE(a, 0.1), QUANTILE(a, 0.5), QUANTILE(a, 0.9) FROM t",) * 2,
    ("SELECT SUM(CASE WHEN g LIKE 'x%' THEN a / 2.5 ELSE ABS(a - 7) END) FROM t WHERE COALESCE(z, 3) % 2 = 0 AND g IS NOT NULL AND NOT h IN (2)",) * 2,
    ("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(mechanism = 'gaussian', delta = 1e-9) h, AVG(z), COUNT(*) FROM t GROUP BY h",) * 2,
    ("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(mechanism = 'staircase') h, AVG(z), SUM(z), COUNT(*) FROM t GROUP BY h",) * 2,
    ("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(sensitivity = 'smooth', delta = 1e-9) MEDIAN(a) FROM t",) * 2,
]  # fmt: skip


@pytest.mark.parametrize(("first", "again"), SAME)
def test_a_repeat_is_free_in_a_later_session(shop: Path, first: str, again: str) -> None:
    paid, repeated = asked(shop, first), asked(shop, again)
    assert (paid.repeat, repeated.repeat, repeated.cost.epsilon) == (False, True, 0)
    assert sorted(map(str, paid.rows[0])) == sorted(map(str, repeated.rows[0])) or paid.rows[0] in [
        row[::-1] for row in repeated.rows
    ]
    assert session(shop).balance.epsilon_left == 100 - paid.cost.epsilon
    verify(book_of(shop))


def test_staircase_noise_is_no_level_of_a_series(shop: Path) -> None:
    """A finer draw is paid for in full; of Laplace noise only the difference is."""
    options = (
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(mechanism = '{}', epsilon = {}) SUM(a) FROM t"
    )
    for kind, finer in ("staircase", 3), ("laplace", 2):
        assert asked(shop, options.format(kind, 1)).cost.epsilon == 1
        assert asked(shop, options.format(kind, 3)).cost.epsilon == finer


def test_an_interval_is_drawn_around_the_value_of_an_earlier_session(shop: Path) -> None:
    """Another analyst has values of its own, and so has an interval of them at full cost."""
    value = asked(shop, "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(interval = off) MEDIAN(a) FROM t")
    shown = asked(shop, "SELECT MEDIAN(a) FROM t")
    assert (shown.rows, shown.cost.epsilon) == (value.rows, value.cost.epsilon / 5)
    again = asked(shop, "SELECT MEDIAN(a) FROM t")
    assert (again.repeat, again.intervals) == (True, shown.intervals)
    assert asked(shop, "SELECT MEDIAN(a) FROM t", "bob").cost.epsilon == value.cost.epsilon


def test_fields_that_an_earlier_version_did_not_write_have_their_defaults() -> None:
    column = Column("g", Kind.TEXT, values=("x", "y"))
    tally = Tally(ColumnRef(column), None, ("x", "y"))
    told = written(tally)
    assert told["Tally"].pop() is None  # the weight
    assert read(told, {identity(column): column}) == tally


FOLLOWS = [
    (["SELECT AVG(a) FROM t"], "SELECT SUM(a) FROM t", "released before"),
    (["SELECT g, h, AVG(a) FROM t GROUP BY g, h"], "SELECT h, g, SUM(a) FROM t GROUP BY h, g",
     "released before: an earlier answer"),
    (["SELECT g, AVG(a) FROM t GROUP BY g"], "SELECT AVG(a), COUNT(*) FROM t WHERE 'x' = g",
     "released before: one group of an earlier answer"),
    (["SELECT g, h, COUNT(*) FROM t GROUP BY g, h"], "SELECT h, COUNT(*) FROM t WHERE g = 'y' GROUP BY h",
     "released before: one group of an earlier answer"),
    ([f"{MORE} h, COUNT(*) FROM t GROUP BY h"], "SELECT COUNT(*) FROM t",
     "released before: 3 groups of an earlier answer, added up"),
    ([f"{MORE} h, g, SUM(a) FROM t GROUP BY h, g"], "SELECT g, SUM(a) FROM t GROUP BY g",
     "released before: 3 groups of an earlier answer, added up"),
    ([f"{MORE} COUNT(*), SUM(a) FROM t", f"{MORE} COUNT(*), SUM(a) FROM t WHERE h = 2"],
     "SELECT COUNT(*), SUM(a) FROM t WHERE h <> 2", "about more rows, less one about the others"),
    ([f"{MORE} COUNT(*) FROM t WHERE g = 'x'", f"{MORE} COUNT(*) FROM t WHERE g = 'x' AND a < 4"],
     "SELECT COUNT(*) FROM t WHERE a >= 4 AND g = 'x'", "less one about the others"),
    ([f"{MORE} COUNT(*) FROM t WHERE g = 'x' AND NOT a < 4", f"{MORE} COUNT(*) FROM t WHERE g = 'x'"],
     "SELECT COUNT(*) FROM t WHERE a < 4 AND g = 'x'", "less one about the others"),
    ([f"{MORE} h, COUNT(*) FROM t WHERE g = 'y' AND a < 4 GROUP BY h", f"{MORE} h, g, COUNT(*) FROM t GROUP BY h, g"],
     "SELECT h, COUNT(*) FROM t WHERE NOT a < 4 AND g = 'y' GROUP BY h", "less one about the others"),
]  # fmt: skip


@pytest.mark.parametrize("lasting", [True, False])
@pytest.mark.parametrize(("before", "later", "source"), FOLLOWS)
def test_what_follows_is_free(
    shop: Path, before: list[str], later: str, source: str, *, lasting: bool
) -> None:
    """Without noise it is the exact answer; its interval is around it."""
    one = session(shop, noise=Noiseless())
    for text in before:
        (session(shop, noise=Noiseless()) if lasting else one).execute(text)
    here, left = session(shop) if lasting else one, one.balance.epsilon_left
    assert source in explain_screen(here.execute(f"EXPLAIN {later}"), ())
    answer = here.execute(later)
    assert (answer.repeat, answer.cost.epsilon, here.balance.epsilon_left) == (True, 0, left)
    exact = teaching(shop).execute(later)
    for row, told, ends in zip(answer.rows, exact.rows, answer.intervals, strict=True):
        for value, true, interval in zip(row, told, ends, strict=True):
            assert value == (0 if true is None else true)
            assert interval is None or interval[0] <= value <= interval[1]


NOT = [
    ([f"{MORE} AVG(a) FROM t"], "SELECT AVG(z) FROM t"),
    (["SELECT h, COUNT(*) FROM t GROUP BY h"], "SELECT COUNT(*) FROM t"),
    (["SELECT COUNT(*) FROM t", "SELECT COUNT(*) FROM t WHERE h = 2"], "SELECT COUNT(*) FROM t WHERE h <> 2"),
    ([f"{MORE} COUNT(*) FROM t", f"{MORE} COUNT(*) FROM t WHERE z < 3"], "SELECT COUNT(*) FROM t WHERE z >= 3"),
    ([f"{MORE} n, COUNT(*) FROM t GROUP BY n"], "SELECT COUNT(*) FROM t"),
    ([f"{MORE} h, AVG(a) FROM t GROUP BY h"], "SELECT AVG(a) FROM t"),
    ([f"{MORE} h, MEDIAN(a) FROM t GROUP BY h"], "SELECT MEDIAN(a) FROM t WHERE h = 1"),
    ([f"{MORE} h, COUNT(*) FROM t GROUP BY h"], "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 10) COUNT(*) FROM t WHERE h = 1"),
]  # fmt: skip


@pytest.mark.parametrize(("before", "later"), NOT)
def test_what_does_not_follow_is_paid_for(shop: Path, before: list[str], later: str) -> None:
    """It is another number, noisier than if it is asked, or about rows with NULL in neither part."""
    for text in before:
        asked(shop, text)
    answer = asked(shop, later)
    assert (answer.repeat, answer.cost.queries) == (False, 1)
    assert not any(report.recalled for report in answer.releases)


def test_two_ways_to_a_number_are_combined(shop: Path) -> None:
    """The more exact one counts for more; a number that was told for itself stays as it was."""
    own = session(shop)
    own.execute("SELECT AVG(a) FROM t")
    (one,) = own.execute("SELECT COUNT(*) FROM t").intervals[0]
    own.execute(f"{MORE} VARIANCE(a) FROM t")
    answer = own.execute("SELECT COUNT(*) FROM t")
    (both,) = answer.intervals[0]
    assert one is not None
    assert both is not None
    assert (answer.repeat, len(answer.releases)) == (True, 5)
    assert both[1] - both[0] < one[1] - one[0]
    paid = own.execute(f"{MORE} COUNT(*) FROM t WHERE a > 2").rows
    own.execute(f"{MORE} AVG(a) FROM t WHERE a > 2")
    assert own.execute(f"{MORE} COUNT(*) FROM t WHERE a > 2").rows == paid


def test_one_statement_reads_one_difference(shop: Path) -> None:
    """Of two numbers with the same noise in them the intervals would not hold together."""
    own = session(shop)
    for text in ("COUNT(*) FROM t", "SUM(a) FROM t", "AVG(a) FROM t WHERE h = 2"):
        own.execute(f"{MORE} {text}")
    answer = own.execute("SELECT COUNT(*), SUM(a) FROM t WHERE h <> 2")
    sources = [report.source for report in answer.releases if report.recalled]
    assert len(set(sources)) == 1
    assert answer.cost.queries == 1


# ------------------------------------------------------------------------- what is kept


def test_another_version_of_the_data_answers_nothing(shop: Path) -> None:
    paid = asked(shop, COUNT)
    budget_overview.accept(read_policy(shop), "looked at again", fresh=False)
    again = asked(shop, COUNT)
    assert (again.repeat, again.cost) == (False, paid.cost)


def test_fresh_noise_is_drawn_once(shop: Path) -> None:
    """What other sessions keep in between is read before, and is no reason to draw again."""
    drawn: list[int] = []

    class Counting(Noiseless):
        def laplace(self, scale: Fraction, size: int) -> Any:
            drawn.append(size)
            return super().laplace(scale, size)

    own = session(shop, noise=Counting())
    own.execute("SET repeats = 'fresh'")
    for _ in range(3):
        own.execute(COUNT)
    asked(shop, COUNT.replace("COUNT(*)", "SUM(a)"))
    own.execute(COUNT)
    assert len(drawn) == 4


def test_fresh_noise_is_paid_for_and_kept(shop: Path) -> None:
    asked(shop, COUNT)
    own = session(shop)
    own.execute("SET repeats = 'fresh'")
    fresh = own.execute(COUNT)
    assert fresh.cost.epsilon == 2
    assert asked(shop, COUNT).rows == fresh.rows


def test_noise_that_can_be_foretold_is_not_kept(shop: Path) -> None:
    Session(read_policy(shop), noise=seeded(1)).execute(COUNT)
    assert not asked(shop, COUNT).repeat


@pytest.mark.parametrize("column", ["text", "who", "scope", "seal"])
def test_a_changed_release_is_refused(shop: Path, column: str) -> None:
    asked(shop, COUNT)
    book = book_of(shop)
    asked(shop, "SELECT AVG(a) FROM t")
    change = {
        "text": "UPDATE kept SET text = replace(text, '\"values\":[', '\"values\":[1') WHERE number = 1",
        "who": "UPDATE kept SET who = who || 'x'",
        "scope": "UPDATE kept SET scope = (SELECT scope FROM kept WHERE number = 2) || 'x'",
        "seal": "UPDATE kept SET seal = (SELECT seal FROM kept WHERE number = 2) WHERE number = 1",
    }[column]
    book._connection.execute(change)
    with pytest.raises(LedgerError, match="damaged"):
        verify(book)
    if column != "scope":
        for text in (COUNT, f"EXPLAIN {COUNT}"):
            with pytest.raises(LedgerError, match="damaged"):
                session(shop).execute(text)
    else:
        assert not asked(shop, COUNT).repeat


def test_nothing_is_shown_that_is_not_kept(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is paid for, and drawn anew when it is asked for again."""

    def full(*_: object) -> None:
        raise LedgerError("the disk is full")

    own = session(shop)
    with monkeypatch.context() as patched:
        patched.setattr(Book, "keep", full)
        with pytest.raises(LedgerError, match="the disk is full"):
            own.execute(COUNT)
    assert own.balance.epsilon_left == 98
    assert not own.execute(COUNT).repeat
    assert own.balance.epsilon_left == 96


def test_only_noisy_values_are_kept(shop: Path) -> None:
    """The exact answer of a sum is nowhere in the file, whatever it is written as."""
    own = session(shop)
    exact = str(teaching(shop).execute("SELECT SUM(a * 1000003) FROM t").rows[0][0])
    answer = own.execute("SELECT SUM(a * 1000003) FROM t")
    [release] = [*book_of(shop).walk_kept(pinned(own))]
    assert str(answer.rows[0][0]) in release.kept.text
    assert exact not in release.kept.text
