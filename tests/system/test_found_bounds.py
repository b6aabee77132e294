"""SET bounds = 'find': bounds are found first, shown, kept, and all is charged at once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from random import Random

import pytest

from dpdb.answers.formats.render import FORMATS
from dpdb.errors import BudgetExceeded, DpdbError, InvalidOption, MissingBounds, TooLarge
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
n = {{ type = "integer" }}
x = {{ type = "number" }}
c = {{ type = "number", bounds = [0, 2_000_000_000], step = 0.001, nullable = false }}
d = {{ type = "date" }}
wide = {{ type = "integer", bounds = [0, 1_000_000] }}
"""
LASTING = """
[budget]
name = "shop"
epsilon = 10
[tables.t.columns]
n = { type = "integer" }
g = { type = "integer" }
"""
EACH = Fraction(1)
"""The ε of a statement: of 10, with ten queries."""


def opened(
    folder: Path,
    rows: int = 8_000,
    *,
    seed: int = 1,
    unit: str = "",
    neighbors: str = "add-remove",
    budget: str = "",
    centre: int = 1_000,
) -> Session:
    random = Random(seed)
    lines = ["who,g,town,n,x,d,wide,c"]
    for row in range(rows):
        n = round(random.gauss(centre, 50))
        lines.append(
            f"w{row // 2},{row % 2},{'AB'[row % 2]},{n},{n / 4},2020-01-01,{n},{1e9 + n / 1e5:.3f}"
        )
    (folder / "t.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    text = POLICY.format(unit=unit, neighbors=neighbors, budget=budget)
    (folder / "t.toml").write_text(text, encoding="utf-8")
    session = Session(read_policy(folder / "t.toml"), noise=noise(seed))
    session.execute("SET bounds = 'find'")
    return session


def clamped(note: str) -> tuple[float, float]:
    ends = note.partition(" was clamped to ")[2].partition(",")[0]
    low, high = ends.split(" … ")
    return float(low), float(high)


@pytest.mark.parametrize("what", ["n", "x", "wide"])
def test_an_average_finds_bounds_for_a_quarter_of_its_epsilon(what: str, tmp_path: Path) -> None:
    session = opened(tmp_path)
    answer = session.execute(f"SELECT AVG({what}) FROM t")
    true = 250 if what == "x" else 1_000
    assert answer.rows[0][0] == pytest.approx(true, rel=0.01)
    assert (answer.cost.epsilon, answer.cost.queries) == (EACH, 1)
    losses = {each.group: each.epsilon for each in answer.releases}
    assert losses == {1: EACH / 4, 2: 3 * EACH / 4}
    assert [each.mechanism for each in answer.releases] == ["ends", "laplace", "laplace"]
    low, high = clamped(answer.notes[0])
    assert answer.notes[0].endswith(
        ", found with ε 0.25 and kept: free next time; what lies beyond is not in ±"
    )
    assert true / 4 < low < true < high < 2 * true
    assert answer.releases[1].sensitivity == pytest.approx(high - low)


@pytest.mark.parametrize("neighbors", ["add-remove", "replace"])
@pytest.mark.parametrize("asked", ["AVG(c)", "SUM(c)", "AVG(x * 1e9)", "SUM(x - x)"])
def test_bounds_are_apart_on_any_grid(asked: str, neighbors: str, tmp_path: Path) -> None:
    """Numbers that are close to each other and far from zero have a coarse grid for their sum.

    There the noise would be nothing, and so would the loss, which was charged for.
    """
    session = opened(tmp_path, rows=4_000, neighbors=neighbors)
    answer = session.execute(f"SELECT {asked} FROM t")
    assert answer.cost.epsilon == EACH
    assert answer.rows[0][0] is not None


def test_found_bounds_are_free_for_later_statements(tmp_path: Path) -> None:
    session = opened(tmp_path)
    first = session.execute("SELECT AVG(n) FROM t")
    again = session.execute("select avg(n) as mean from t")
    assert (again.repeat, again.rows, again.cost.epsilon) == (True, first.rows, 0)
    other = session.execute("SELECT SUM(n) FROM t WHERE g = 1")
    low, high = clamped(first.notes[0])
    assert clamped(other.notes[0]) == (low, high)
    assert other.notes[0].endswith("found before")
    assert {each.epsilon for each in other.releases} == {EACH}
    assert session.execute("SELECT SUM(n) FROM t WHERE g = 1").repeat


def test_bounds_of_some_rows_serve_these_rows_alone(tmp_path: Path) -> None:
    session = opened(tmp_path)
    session.execute("SELECT AVG(n) FROM t WHERE g = 1")
    assert session.execute("SELECT SUM(n) FROM t WHERE g = 1").repeat
    same = session.execute("SELECT AVG(n), SUM(wide) FROM t WHERE g = 1")
    assert same.notes[0].endswith("found before")
    session.execute("SELECT AVG(n) FILTER (WHERE x > 0) FROM t")
    others = session.execute("SELECT AVG(n) FROM t")
    assert "found with ε 0.25" in others.notes[0]


def test_a_statement_of_which_some_bounds_were_known_is_a_repeat(tmp_path: Path) -> None:
    session = opened(tmp_path)
    session.execute("SELECT AVG(n) FROM t")
    both = session.execute("SELECT AVG(n), AVG(x) FROM t WHERE g = 0")
    assert sum("found before" in note for note in both.notes) == 1
    assert sum("and kept" in note for note in both.notes) == 1
    again = session.execute("SELECT AVG(n), AVG(x) FROM t WHERE g = 0")
    assert (again.repeat, again.rows) == (True, both.rows)


def test_of_too_few_rows_there_is_no_answer_and_nothing_is_kept(tmp_path: Path) -> None:
    """Fewer than 1,000/ε: whatever was found, it is not used."""
    session = opened(tmp_path, rows=300)
    answer = session.execute("SELECT AVG(n), COUNT(*) FROM t")
    assert answer.rows[0][0] is None
    assert answer.rows[0][1] == pytest.approx(300, abs=40)
    assert answer.notes[0] == "too few rows to find bounds: about 1,000 are needed"
    assert answer.cost.epsilon == EACH
    assert session.execute("SELECT AVG(n), COUNT(*) FROM t").rows == answer.rows
    later = session.execute("SELECT AVG(n) FROM t WHERE g = 1")
    assert not any("found before" in note for note in later.notes)


def test_a_variance_has_the_ends_of_an_average(tmp_path: Path) -> None:
    """Of a normal column of deviation 50."""
    session = opened(tmp_path)
    answer = session.execute("SELECT STDDEV(n), VAR_POP(n) FROM t")
    assert answer.cost.epsilon == EACH
    assert answer.rows[0] == (pytest.approx(50, abs=4), pytest.approx(2_500, abs=400))
    low, high = clamped(answer.notes[0])
    assert 500 < low < 900
    assert 1_100 < high < 1_500
    explained = FORMATS["table"](session.explain("SELECT VARIANCE(x) FROM t"))
    assert "scale  2.05·(U - L)²/0.75, known once the bounds are" in explained
    scale = answer.releases[1].scale
    assert scale == pytest.approx(2.05 * (high - low) ** 2 / 0.75, rel=0.01)
    mean = session.execute("SELECT AVG(n) FROM t")
    assert mean.notes[0].endswith("found before")
    few = opened(tmp_path, rows=300).execute("SELECT STDDEV(n) FROM t")
    assert few.rows == ((None,),)


@pytest.mark.parametrize("neighbors", ["add-remove", "replace"])
@pytest.mark.parametrize("composition", ["pure", "zcdp"])
@pytest.mark.parametrize("asked", [
    "AVG({0}), VARIANCE({0}), SUM({0})", "STDDEV({0}), COUNT({0}), COUNT(*)",
    "VAR_POP({0}), AVG(c), MEDIAN(n)", "SUM({0}), STDDEV_POP({0} * 1e9)",
])  # fmt: skip
def test_what_is_drawn_does_not_depend_on_the_bounds_that_are_found(
    asked: str, composition: str, neighbors: str, tmp_path: Path
) -> None:
    """Else the answer would be refused once its bounds are found, or charged for too little."""
    budget = f'composition = "{composition}"\ndelta = 1e-6'
    session = opened(tmp_path, rows=2_000, neighbors=neighbors, budget=budget)
    for what in ("n", "c", "x - x", "wide * 1e-3"):
        statement = f"SELECT {asked.format(what)} FROM t"
        expected = session.explain(statement).cost
        assert session.execute(statement).cost == expected


def test_a_quantile_needs_no_bounds_and_no_part_of_epsilon(tmp_path: Path) -> None:
    """It is chosen among all numbers, by e^-ε for each rank; of few rows ± tells nothing."""
    session = opened(tmp_path)
    asked = "SELECT QUANTILE(n, 0.1), MEDIAN(n), QUANTILE(n, 0.9) FROM t"
    low, middle, high = session.execute(asked).rows[0]
    assert middle == pytest.approx(1_000, abs=3)
    assert (low, high) == (pytest.approx(936, abs=10), pytest.approx(1_064, abs=10))
    exact = session.execute("SELECT MEDIAN(x), MEDIAN(d) FROM t WHERE g = 0")
    assert not any(each.mechanism == "ends" for each in exact.releases)
    assert exact.rows[0][0] == pytest.approx(250, abs=2)
    few = opened(tmp_path, rows=3, seed=2).execute("SELECT MEDIAN(n) FROM t")
    assert few.notes == ("± of MEDIAN(n) is unknown: as wide as its bounds",)


@pytest.mark.parametrize("town", ["g", "town"])
def test_groups_share_the_bounds_of_all_rows(town: str, tmp_path: Path) -> None:
    session = opened(tmp_path, budget="delta = 1e-6")
    answer = session.execute(f"SELECT {town}, AVG(n), SUM(x) FROM t GROUP BY {town}")
    assert len(answer.rows) == 2
    for _, mean, total in answer.rows:
        assert mean == pytest.approx(1_000, rel=0.05)
        assert total == pytest.approx(1_000_000, rel=0.05)
    assert answer.cost.epsilon == EACH
    found = [each for each in answer.releases if each.mechanism == "ends"]
    assert [each.epsilon for each in found] == [EACH / 8] * 2


@pytest.mark.parametrize(
    ("unit", "neighbors", "rows"),
    [
        ("", "add-remove", 1), ("", "replace", 2),
        ('unit = "who"\nrows_per_unit = 2', "add-remove", 2),
        ('unit = "who"\nrows_per_unit = 2', "replace", 4),
    ],
)  # fmt: skip
def test_each_row_that_a_unit_can_move_counts(
    unit: str, neighbors: str, rows: int, tmp_path: Path
) -> None:
    session = opened(tmp_path, unit=unit, neighbors=neighbors)
    answer = session.execute("SELECT AVG(n) FROM t WHERE g = 1")
    found = answer.releases[0]
    assert (found.mechanism, found.sensitivity, found.epsilon) == ("ends", rows, EACH / 4)
    assert answer.cost.epsilon == EACH
    assert f"about {1_000 * rows:,} values" in FORMATS["table"](
        session.explain("SELECT AVG(n) FROM t WHERE g = 1 AND x > 0")
    )


def test_price_refusal_and_explain_are_the_same_whatever_the_rows(tmp_path: Path) -> None:
    """Statements of which some are refused, on files that differ in every row."""
    told: list[list[str]] = []
    for place, (rows, centre) in enumerate([(8_000, 1_000), (5, -(10**9)), (0, 0)]):
        folder = tmp_path / str(place)
        folder.mkdir()
        session = opened(folder, rows, seed=place, centre=centre)
        lines: list[str] = []
        for asked in (
            "SELECT AVG(n) FROM t", "SELECT AVG(n) FROM t", "SELECT SUM(x), AVG(n) FROM t",
            "SELECT g, SUM(x) FROM t GROUP BY g", "SELECT AVG(x) FROM t WHERE d > x",
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 100) AVG(n) FROM t WHERE g = 1",
        ):  # fmt: skip
            try:
                fresh = asked.replace("FROM t", f"FROM t WHERE g < {len(lines)}", 1)
                fresh = fresh if "WHERE" not in asked and "GROUP" not in asked else asked
                explained = FORMATS["table"](session.explain(fresh))
                answer = session.execute(fresh)
                lines += [explained, str(answer.cost), str(answer.columns), str(len(answer.rows))]
            except DpdbError as error:
                lines.append(f"{error.message} {error.hint}")
        told.append(lines)
    assert told[0] == told[1] == told[2]


def test_all_of_it_is_charged_before_a_row_is_looked_at(tmp_path: Path) -> None:
    session = opened(tmp_path)
    asked = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 8) AVG(n) FROM t"
    assert session.explain(asked).cost.epsilon == 8
    session.execute(asked)
    with pytest.raises(BudgetExceeded):  # a quarter of it would be there
        session.execute(asked.replace("AVG(n)", "AVG(x)"))
    assert session.balance.epsilon_left == 2


@pytest.fixture
def shop() -> Iterator[Path]:
    """A policy whose budget is open."""
    with opened_shop(
        LASTING, "n,g\n" + "".join(f"{990 + row % 21},{row % 2}\n" for row in range(8_000))
    ) as path:
        yield path


def test_a_ledger_keeps_the_bounds_for_later_sessions(shop: Path) -> None:
    def session(analyst: str | None = None) -> Session:
        own = Session(read_policy(shop), analyst=analyst)
        own.execute("SET bounds = 'find'")
        return own

    first = session().execute("SELECT AVG(n) FROM t")
    again = session().execute("SELECT AVG(n) FROM t")
    assert (again.repeat, again.cost.epsilon, again.rows) == (True, 0, first.rows)
    other = session().execute("SELECT SUM(n) FROM t WHERE g = 0")
    assert other.notes[0].endswith("found before")
    assert {each.epsilon for each in other.releases} == {EACH}
    assert session().answers()[0].rows == first.rows
    # They were told to nobody else.
    theirs = session("somebody").execute("SELECT SUM(n) FROM t WHERE g = 1")
    assert "and kept" in theirs.notes[0]


@pytest.mark.parametrize("composition", ["zcdp", "advanced"])
def test_other_theorems_charge_for_bounds_too(composition: str, tmp_path: Path) -> None:
    session = opened(tmp_path, budget=f'delta = 1e-6\ncomposition = "{composition}"')
    explained = session.explain("SELECT AVG(n) FROM t")
    answer = session.execute("SELECT AVG(n) FROM t")
    assert answer.cost == explained.cost
    assert answer.rows[0][0] == pytest.approx(1_000, rel=0.02)


def test_explain_says_what_is_known_before_bounds_are(tmp_path: Path) -> None:
    session = opened(tmp_path)
    explained = session.execute("EXPLAIN SELECT AVG(n) FROM t")
    text = FORMATS["table"](explained)
    for line in (
        "± follows from the bounds, which are found first",
        "bounds found with 1/4 of ε",
        "scale  (U - L)/0.75, known once the bounds are",
        "needs  about 1,000 values; they leave out the last 27 or so of a long tail",
    ):
        assert line in text
    told = json.loads(FORMATS["json"](explained))
    assert [each["scale"] for each in told["releases"]] == [None] * 3
    assert told["cost"]["epsilon"] == 1


def test_sums_that_have_bounds_of_their_own_keep_them(tmp_path: Path) -> None:
    session = opened(tmp_path)
    for asked in ("AVG(CLAMP(n, 0, 2000))", "SUM(CASE WHEN n > 0 THEN 1 ELSE 0 END)", "COUNT(n)"):
        answer = session.execute(f"SELECT {asked} FROM t")
        assert {each.epsilon for each in answer.releases} == {EACH}
        assert not any(each.mechanism == "ends" for each in answer.releases)


@pytest.mark.parametrize(
    ("asked", "error", "hint"),
    [
        ("SELECT MODE(g, x) FROM t", MissingBounds, "APPROX_BOUNDS(x)"),
        ("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 1e-5) SUM(n) FROM t",
         TooLarge, "more epsilon"),
        ("SELECT SUM(a) FROM (SELECT g, AVG(n) AS a FROM t GROUP BY g) AS s", MissingBounds,
         "in a SELECT over tables alone"),
        ("SELECT AVG(d) FROM t", MissingBounds, "CLAMP(d, '2000-01-01'"),
        ("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(error = 9) SUM(n) FROM t", InvalidOption, ""),
        ("SELECT SUM(n), SUM(n+1), SUM(n+2), SUM(n+3), SUM(n+4) FROM t", TooLarge, "fewer"),
        ("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(bounds = 'some') SUM(n) FROM t",
         InvalidOption, ""),
    ],
)  # fmt: skip
def test_what_finds_no_bounds_is_refused(
    asked: str, error: type[DpdbError], hint: str, tmp_path: Path
) -> None:
    session = opened(tmp_path, rows=10)
    with pytest.raises(error) as caught:
        session.execute(asked)
    assert hint in (caught.value.hint or "")
    assert session.balance.epsilon_left == 10


def test_the_refusal_of_a_sum_without_bounds_names_it_first(tmp_path: Path) -> None:
    session = opened(tmp_path, rows=2_000)
    session.execute("SET bounds = 'declared'")
    with pytest.raises(MissingBounds) as caught:
        session.execute("SELECT SUM(n) FROM t")
    assert str(caught.value.hint).startswith("SET bounds = 'find' spends a quarter of epsilon")
    asked = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(bounds = 'find') SUM(n) FROM t"
    assert session.execute(asked).rows[0][0] == pytest.approx(2_000_000, rel=0.05)
