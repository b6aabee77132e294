"""SET rows_per_unit = 'find': caps are found first, shown, kept, and all is charged at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from random import Random

import pytest

from dpdb.answers.formats.render import FORMATS
from dpdb.errors import BudgetExceeded, DpdbError, InvalidOption, MissingBounds
from dpdb.policy.reading.reader import read_policy
from dpdb.session.session import Session
from tests.support.audited import noise
from tests.support.lasting import opened_shop

POLICY = """
[budget]
epsilon = 10
{budget}
[privacy]
neighbors = "{neighbors}"
[tables.t]
path = "t.csv"
{unit}
[tables.t.columns]
who = {{ type = "text" }}
g = {{ type = "integer", values = [0, 1] }}
town = {{ type = "text" }}
x = {{ type = "integer", bounds = [0, 50] }}
n = {{ type = "integer" }}
"""
UNIT = 'unit = "who"\nrows_per_unit = 3\nrows_held_per_unit = 500'
LASTING = """
[budget]
name = "shop"
epsilon = 10
[tables.t]
unit = "who"
rows_per_unit = 3
[tables.t.columns]
who = { type = "text" }
x = { type = "integer", bounds = [0, 50] }
"""
EACH = Fraction(1)
"""The ε of a statement: of 10, with ten queries."""


def clamped(note: str) -> tuple[float, float]:
    low, high = note.removeprefix("what each who adds was clamped to ").split(" … ")
    return float(low), float(high.partition(",")[0])


def lines_of(units: int, seed: int = 1) -> str:
    """Units of 1 to 8 rows with x = 20, and every hundredth of 60."""
    random, lines = Random(seed), ["who,g,town,x,n"]
    for unit in range(units):
        for row in range(60 if unit % 100 == 7 else random.randint(1, 8)):
            lines.append(f"w{unit},{row % 2},{'AB'[unit % 2]},20,20")
    return "\n".join(lines) + "\n"


def opened(
    folder: Path,
    units: int = 2_000,
    *,
    seed: int = 1,
    unit: str = UNIT,
    neighbors: str = "add-remove",
    budget: str = "",
) -> Session:
    (folder / "t.csv").write_text(lines_of(units, seed), encoding="utf-8")
    text = POLICY.format(unit=unit, neighbors=neighbors, budget=budget)
    (folder / "t.toml").write_text(text, encoding="utf-8")
    session = Session(read_policy(folder / "t.toml"), noise=noise(seed))
    session.execute("SET rows_per_unit = 'find'")
    return session


@pytest.mark.parametrize(("asked", "each"), [("COUNT(*)", 1), ("SUM(x)", 20), ("SUM(n)", 20)])
def test_a_total_drops_no_row_and_has_the_noise_of_its_cap(
    asked: str, each: int, tmp_path: Path
) -> None:
    """Also of a column without bounds, and beyond the policy's cap of 3 rows."""
    session = opened(tmp_path)
    rows = lines_of(2_000).count("\n") - 1
    answer = session.execute(f"SELECT {asked} FROM t")
    assert (answer.cost.epsilon, answer.cost.queries) == (EACH, 1)
    assert [(r.mechanism, r.epsilon) for r in answer.releases] == [
        ("caps", EACH / 4), ("laplace", EACH * 3 / 4)
    ]  # fmt: skip
    # Below 0 there is nothing of a column without bounds, and so no reason for any cap.
    low, cap = clamped(answer.notes[0])
    assert low == 0 if asked != "SUM(n)" else -cap < low < 0
    assert answer.notes[0].endswith("found with ε 0.25 and kept: free next time")
    assert answer.notes[1].startswith("± leaves out what lies beyond that: often 0 to ")
    assert answer.releases[1].sensitivity == pytest.approx(cap)
    assert 8 * each < cap < 300 * each
    # Twenty units have 60 rows: what they have beyond the cap, and eight scales of noise.
    missing = 20 * max(0, 60 * each - cap)
    scale = cap / (3 / 4)
    assert -8 * scale - missing < answer.rows[0][0] - rows * each < 8 * scale


def test_the_policy_s_cap_would_leave_out_more_than_half(tmp_path: Path) -> None:
    session, rows = opened(tmp_path), lines_of(2_000).count("\n") - 1
    session.execute("SET rows_per_unit = 'declared'")
    assert session.execute("SELECT COUNT(*) FROM t").rows[0][0] < rows / 1.5


def test_found_caps_are_free_for_later_statements(tmp_path: Path) -> None:
    session = opened(tmp_path)
    first = session.execute("SELECT COUNT(*) FROM t")
    again = session.execute("select count(*) as number from t")
    assert (again.repeat, again.rows, again.cost.epsilon) == (True, first.rows, 0)
    other = session.execute("SELECT COUNT(*) FROM t WHERE g = 1")
    assert other.notes[0].partition(",")[0] == first.notes[0].partition(",")[0]
    assert other.notes[0].endswith("found before")
    assert {each.epsilon for each in other.releases} == {EACH}
    assert session.execute("SELECT COUNT(*) FROM t WHERE g = 1").repeat
    assert "and kept" in session.execute("SELECT SUM(x) FROM t").notes[0]
    # A SELECT over answers has the policy's cap, and says so.
    read = session.execute("SELECT number + 1 FROM (SELECT COUNT(*) AS number FROM t)")
    assert not read.repeat
    assert [each.sensitivity for each in read.releases] == [3]


def test_averages_keep_few_rows_of_each_unit(tmp_path: Path) -> None:
    """The middle number of rows, which is 4 or 5, and at most the policy's cap."""
    session = opened(tmp_path, unit=UNIT.replace("= 3", "= 100"))
    answer = session.execute("SELECT g, AVG(x) FROM t GROUP BY g")
    assert [each.epsilon for each in answer.releases if each.mechanism == "caps"] == [EACH / 16]
    rows = int(answer.notes[0].split(" ")[0])
    assert answer.notes[0].startswith(f"{rows} rows of each who count at most, found with ε 0.0625")
    assert 3 <= rows <= 6
    assert [mean for _, mean in answer.rows] == pytest.approx([20, 20], abs=1)
    assert {each.sensitivity for each in answer.releases[1:]} == {50 * rows}
    median = session.execute("SELECT MEDIAN(x) FROM t")
    assert median.notes[0].startswith(f"{rows} row")
    assert median.notes[0].endswith("found before")
    assert median.rows == ((20,),)
    lower = opened(tmp_path, seed=2).execute("SELECT AVG(x) FROM t")
    assert lower.notes[0].startswith("3 rows of each who")


@pytest.mark.parametrize("asked", ["SELECT COUNT(*), SUM(x) FROM t",
                                   "SELECT g, COUNT(*) FROM t GROUP BY g",
                                   "SELECT AVG(x), COUNT(*) FROM t WHERE g = 1"])  # fmt: skip
def test_several_aggregates_and_groups_have_one_cap_on_rows(asked: str, tmp_path: Path) -> None:
    session = opened(tmp_path, unit=UNIT.replace("= 3", "= 500"), budget="delta = 1e-6")
    answer = session.execute(asked)
    cap = int(answer.notes[0].split(" ")[0])
    assert [each.epsilon for each in answer.releases if each.mechanism == "caps"] == [EACH / 4]
    assert 4 < cap < 300
    assert f"at most {cap} rows per who, chosen by a keyed hash" in answer.bounding
    assert session.execute(asked).repeat


def test_a_group_of_units_has_totals_and_found_keys(tmp_path: Path) -> None:
    """Where a unit's group follows from its name alone, it is in one group."""
    session = opened(tmp_path, unit=UNIT + "\ngroups_per_unit = 1", budget="delta = 1e-6")
    answer = session.execute("SELECT town, COUNT(*) FROM t GROUP BY town")
    assert "adds was clamped to 0 …" in answer.notes[0]
    rows = lines_of(2_000).count("\n") - 1
    assert sum(number for _, number in answer.rows) == pytest.approx(rows, rel=0.25)
    assert answer.cost.epsilon == EACH


@pytest.mark.parametrize(("neighbors", "change"), [("add-remove", 1), ("replace", 2)])
def test_a_unit_counts_once_however_many_rows_it_has(
    neighbors: str, change: int, tmp_path: Path
) -> None:
    session = opened(tmp_path, neighbors=neighbors)
    for asked in ("SELECT SUM(x) FROM t", "SELECT AVG(x) FROM t", "SELECT COUNT(*), AVG(x) FROM t"):
        found = session.execute(asked).releases[0]
        assert (found.mechanism, found.sensitivity) == ("caps", change)


def test_price_refusal_and_explain_are_the_same_whatever_the_rows(tmp_path: Path) -> None:
    """Statements of which some are refused, on files that differ in every row."""
    told: list[list[str]] = []
    for place, units in enumerate([2_000, 3, 0]):
        folder = tmp_path / str(place)
        folder.mkdir()
        session, lines = opened(folder, units, seed=place), list[str]()
        for asked in (
            "SELECT COUNT(*) FROM t", "SELECT COUNT(*) FROM t", "SELECT SUM(n) FROM t WHERE g = 1",
            "SELECT g, AVG(x) FROM t GROUP BY g", "SELECT AVG(n) FROM t", "SELECT MEDIAN(n) FROM t",
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 100) SUM(x) FROM t WHERE g = 0",
            "SELECT g, COUNT(*), SUM(x) FROM t GROUP BY g",
        ):  # fmt: skip
            try:
                if asked != "SELECT COUNT(*) FROM t":  # a cap that was found is public
                    lines.append(FORMATS["table"](session.explain(asked)))
                answer = session.execute(asked)
                lines += [str(answer.cost), str(answer.columns), str(len(answer.rows))]
                lines += [str(answer.repeat)]
            except DpdbError as error:
                lines.append(f"{error.message} {error.hint}")
        told.append(lines)
    assert told[0] == told[1] == told[2]


def test_all_of_it_is_charged_before_a_row_is_looked_at(tmp_path: Path) -> None:
    session = opened(tmp_path)
    asked = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 8) COUNT(*) FROM t"
    assert session.explain(asked).cost.epsilon == 8
    session.execute(asked)
    with pytest.raises(BudgetExceeded):  # what the cap alone costs would be there
        session.execute(asked.replace("COUNT(*)", "SUM(x)").replace("8", "4"))
    assert session.balance.epsilon_left == 2


def test_explain_says_what_is_known_before_the_cap_is(tmp_path: Path) -> None:
    text = FORMATS["table"](opened(tmp_path).execute("EXPLAIN SELECT COUNT(*) FROM t"))
    for line in (
        "± follows from the cap, which is found first", "found with 1/4 of ε",
        "known once the cap is", "within 0 to 500",
        "needs  about 162 units; they leave out the last 17 or so of a long tail",
    ):  # fmt: skip
        assert line in text


@pytest.mark.parametrize("composition", ["zcdp", "advanced"])
def test_other_theorems_charge_for_caps_too(composition: str, tmp_path: Path) -> None:
    session = opened(tmp_path, budget=f'delta = 1e-6\ncomposition = "{composition}"')
    for asked in ("SELECT COUNT(*) FROM t", "SELECT AVG(x) FROM t"):
        explained = session.explain(asked)
        assert session.execute(asked).cost == explained.cost


@pytest.mark.parametrize(
    ("settings", "asked", "error"),
    [
        ("", "SELECT AVG(n) FROM t", MissingBounds),
        ("", "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(error = 9) COUNT(*) FROM t", InvalidOption),
        ("SET bounds = 'find'", "SELECT AVG(n) FROM t", InvalidOption),
        ("SET mechanism = 'gaussian'", "SELECT COUNT(*) FROM t", InvalidOption),
    ],
)
def test_what_finds_no_cap_is_refused_before_it_is_paid(
    settings: str, asked: str, error: type[DpdbError], tmp_path: Path
) -> None:
    session = opened(tmp_path, 10, budget="delta = 1e-6")
    if settings:
        session.execute(settings)
    with pytest.raises(error):
        session.execute(asked)
    assert session.balance.epsilon_left == 10


def test_what_has_no_cap_on_rows_is_answered_as_before(tmp_path: Path) -> None:
    """Units of one row, aggregates with bounds of their own, and those that are no sums."""
    session = opened(tmp_path)
    for asked in (
        "COUNT(DISTINCT who)", "MODE(g)", "MAX(x)", "SUM(DISTINCT x)",
        "SUM(x, contribution_bounds_per_group => (0, 100))",
    ):  # fmt: skip
        answer = session.execute(f"SELECT {asked} FROM t")
        assert not any(each.mechanism == "caps" for each in answer.releases)
    rows = opened(tmp_path, unit="")
    assert rows.execute("SELECT COUNT(*) FROM t").releases[0].mechanism == "laplace"


def test_a_policy_that_finds_caps_is_as_if_they_were_set(tmp_path: Path) -> None:
    """With caps of up to the rows that are held; what finds none has that many."""
    told, alike = UNIT.replace("= 3", '= "find"'), UNIT.replace("= 3", "= 500")
    ways = []
    for place, (unit, value) in enumerate([(told, "default"), (alike, "find")]):
        (folder := tmp_path / str(place)).mkdir()
        session = opened(folder, unit=unit)
        session.execute(f"SET rows_per_unit = '{value}'")
        asked = ("COUNT(*) FROM t", "g, AVG(x) FROM t GROUP BY g", "MAX(x) FROM t",
                 "COUNT(*) FROM (SELECT who, x FROM t UNION ALL SELECT who, x FROM t)")  # fmt: skip
        found = [session.execute(f"SELECT {each}") for each in asked]
        ways.append([(each.rows, each.releases, each.notes, each.cost) for each in found])
    assert ways[0] == ways[1]
    session = opened(tmp_path, unit=told)
    session.execute("SET rows_per_unit = 'default'")
    assert "about ±" not in str(session.execute("SHOW BUDGET").summary)
    assert session.execute("SELECT COUNT(*) FROM t").releases[0].mechanism == "caps"
    for option, rows in ("rows_per_unit = 'declared'", 500), ("max_rows_contributed = 3", 3):
        options = f"WITH DIFFERENTIAL_PRIVACY OPTIONS({option})"
        [release] = session.execute(f"SELECT {options} COUNT(*) FROM t").releases
        assert (release.mechanism, release.sensitivity) == ("laplace", rows)


@pytest.mark.parametrize("asked", ["SUM(x * 0) FROM t", "SUM(x) FROM t WHERE x = 0"])
def test_no_cap_is_paid_for_where_nobody_adds_anything(asked: str, tmp_path: Path) -> None:
    """The bounds of what each unit adds are 0 … 0 before any row is looked at."""
    answer = opened(tmp_path, 10).execute(f"SELECT {asked}")
    assert (answer.rows, answer.cost.epsilon) == (((0,),), 0)
    assert not any("was clamped to" in note for note in answer.notes)


@pytest.mark.parametrize("neighbors", ["add-remove", "replace"])
def test_declared_totals_drop_no_row_and_have_the_noise_of_the_policy_s_cap(
    neighbors: str, tmp_path: Path
) -> None:
    """Of 1 to 8 rows with x = 20, and every hundredth of 60: up to 150 = 3 · 50 in all count."""
    session, lines = opened(tmp_path, neighbors=neighbors), lines_of(2_000).splitlines()[1:]
    session.execute("SET rows_per_unit = 'declared'")
    declared = session.execute("SELECT SUM(x) FROM t")
    session.execute("SET rows_per_unit = 'totals'")
    answer = session.execute("SELECT SUM(x) FROM t")
    rows = Counter(line.partition(",")[0] for line in lines)
    total = sum(min(20 * number, 150) for number in rows.values())
    assert answer.rows[0][0] == pytest.approx(total, abs=8 * 150)
    assert declared.rows[0][0] < total - 20_000
    assert answer.releases[0].scale == declared.releases[0].scale == 150
    assert answer.cost == declared.cost
    assert answer.bounding[1] == "SUM(x): what each who adds is clamped to 0 … 150"
    assert session.execute("SELECT SUM(x) FROM t").repeat
    assert session.execute("SELECT COUNT(*) FROM t").releases[0].sensitivity == 3
    with pytest.raises(MissingBounds):
        session.execute("SELECT SUM(n) FROM t")


def test_a_plan_knows_what_a_cap_makes_of_a_statement(tmp_path: Path) -> None:
    """A sum of declared totals repeats no other sum; one with a cap that was kept repeats itself."""
    session, total = opened(tmp_path), "SUM(x) FROM t"
    session.execute(f"SELECT {total}")
    totals = f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(rows_per_unit = 'totals') {total}"
    kept = "SELECT COUNT(*), SUM(x) FROM t WHERE TRUE"
    session.execute("SELECT AVG(x), COUNT(*) FROM t")
    for text in (f"SELECT {total}", kept, totals, kept):
        (_, _, alone, *_), *_ = session.plan([text]).rows
        assert session.execute(text).cost.epsilon == alone, text


def test_sums_of_groups_that_a_unit_can_share_keep_the_cap_on_rows(tmp_path: Path) -> None:
    session = opened(tmp_path)
    session.execute("SET rows_per_unit = 'totals'")
    for asked in ("g, SUM(x) FROM t GROUP BY g", "SUM(x), COUNT(*) FROM t", "AVG(x) FROM t"):
        answer = session.execute(f"SELECT {asked}")
        assert not any("adds is clamped" in note for note in answer.bounding)
        assert max(each.sensitivity or 0 for each in answer.releases) == 150


@pytest.fixture
def shop() -> Iterator[Path]:
    """A policy whose budget is open."""
    rows = "".join(f"w{row // 7},20\n" for row in range(7_000))
    with opened_shop(LASTING, "who,x\n" + rows) as path:
        yield path


def test_a_ledger_keeps_the_caps_for_later_sessions(shop: Path) -> None:
    def session(analyst: str | None = None) -> Session:
        own = Session(read_policy(shop), analyst=analyst)
        own.execute("SET rows_per_unit = 'find'")
        return own

    first = session().execute("SELECT COUNT(*) FROM t")
    again = session().execute("SELECT COUNT(*) FROM t")
    assert (again.repeat, again.cost.epsilon, again.rows) == (True, 0, first.rows)
    other = session().execute("SELECT COUNT(*) FROM t WHERE x > 3")
    assert other.notes[0].endswith("found before")
    totals = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(rows_per_unit = 'totals') SUM(x) FROM t"
    clamped_once, again = (session().execute(totals) for _ in "12")
    assert (again.repeat, again.rows) == (True, clamped_once.rows)
    # They were told to nobody else.
    theirs = session("somebody").execute("SELECT COUNT(*) FROM t WHERE x > 4")
    assert "and kept" in theirs.notes[0]
