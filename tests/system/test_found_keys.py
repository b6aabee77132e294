"""GROUP BY columns whose values nobody declared: which are shown, for what price, in which order."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from dpdb.answers.formats.json_lines import as_json
from dpdb.errors import InvalidOption, Unsupported
from dpdb.interfaces.cli import main as cli
from dpdb.policy.budget import Composition, Neighbors
from dpdb.policy.catalog import Policy
from dpdb.policy.reading.reader import read_policy
from dpdb.session.session import Session
from tests.support.noiseless import Noiseless

POLICY = """
[budget]
epsilon = 10
delta = 1e-5
[tables.t]
{unit}
[tables.t.columns]
who = {{ type = "text" }}
city = {{ type = "text" }}
n = {{ type = "integer" }}
g = {{ type = "text", values = ["b", "a"] }}
x = {{ type = "integer", bounds = [0, 10] }}
y = {{ type = "number", bounds = [0, 1] }}
"""
LARGE = [("Ulm", 40), ("", 30), ("Bonn", 35)]
LARGER = [(city, 10 * size) for city, size in LARGE]
ALL_KINDS = (
    "SELECT city, COUNT(*), SUM(x), AVG(y), STDDEV(x), MEDIAN(x), MAX(x), MODE(g), "
    "COUNT(DISTINCT n), COUNT(*) FILTER (WHERE x > 3), COUNT(*) FILTER (WHERE x > 5) "
    "FROM t GROUP BY city"
)


def table(folder: Path, sizes: list[tuple[str, int]], unit: str = "") -> Policy:
    rows = [
        f"w{i},{city},{i % 3},{'ab'[i % 2]},{i % 10},0.5" for city, m in sizes for i in range(m)
    ]
    (folder / "t.csv").write_text("\n".join(["who,city,n,g,x,y", *rows]) + "\n", encoding="utf-8")
    (folder / "t.toml").write_text(POLICY.format(unit=unit), encoding="utf-8")
    return read_policy(folder / "t.toml")


def still(policy: Policy) -> Session:
    return Session(policy, noise=Noiseless())


def test_the_count_is_what_selected_the_keys_and_costs_nothing_more(tmp_path: Path) -> None:
    answer = still(table(tmp_path, [*LARGE, ("Aix", 1)])).execute(
        "SELECT city, COUNT(*) FROM t GROUP BY city"
    )
    assert answer.rows == (("Bonn", 35), ("Ulm", 40), (None, 30))
    [release] = answer.releases
    assert (release.mechanism, release.epsilon, release.delta) == (
        "threshold",
        1,
        Fraction(1, 10**6),
    )
    assert answer.notes[0] == "shown are groups of about 15 or more rows, and all with 29 or more"


def test_keys_have_a_share_like_one_more_aggregate_and_all_of_delta(tmp_path: Path) -> None:
    session = still(table(tmp_path, LARGE))
    answer = session.execute("SELECT city, SUM(x) FROM t GROUP BY city")
    assert [(each.epsilon, each.delta) for each in answer.releases] == [
        (Fraction(1, 2), Fraction(1, 10**6)), (Fraction(1, 2), 0)]  # fmt: skip
    assert (answer.cost.epsilon, answer.cost.delta) == (1, Fraction(1, 10**6))
    # With a declared key beside it, each city has several groups, which are counted apart.
    both = session.execute("SELECT g, city, COUNT(*) FROM t GROUP BY g, city")
    assert [each.epsilon for each in both.releases] == [Fraction(1, 2)] * 2
    assert [row[:2] for row in both.rows] == [
        (g, city) for g in ("b", "a") for city in ("Bonn", "Ulm", None)]  # fmt: skip


def test_units_are_what_is_counted_where_the_policy_names_them(tmp_path: Path) -> None:
    policy = table(tmp_path, [("Ulm", 140), ("Bonn", 150)], 'unit = "who"\nrows_per_unit = 2')
    session = still(policy)
    answer = session.execute("SELECT city, COUNT(DISTINCT who), COUNT(*) FROM t GROUP BY city")
    assert answer.rows == (("Bonn", 150, 150), ("Ulm", 140, 140))
    assert [each.aggregate for each in answer.releases] == ["keys", "count"]
    assert answer.releases[0].sensitivity == 2
    with pytest.raises(Unsupported, match="each group would be one unit"):
        session.execute("SELECT who, COUNT(*) FROM t GROUP BY who")


@pytest.mark.parametrize("neighbors", list(Neighbors))
@pytest.mark.parametrize("composition", [Composition.PURE, Composition.ZCDP])
def test_what_is_charged_is_what_the_releases_lose(
    neighbors: Neighbors, composition: Composition, tmp_path: Path
) -> None:
    policy = table(tmp_path, LARGER)
    budget = replace(policy.budget, composition=composition, delta=Fraction(1, 100))
    session = still(replace(policy, neighbors=neighbors, budget=budget))
    answer = session.execute(ALL_KINDS)
    assert [row[0] for row in answer.rows] == ["Bonn", "Ulm", None]
    assert sum(each.delta for each in answer.releases if each.mechanism == "threshold") > 0
    assert 0 < answer.balance.epsilon_left < 10
    assert answer.balance.delta_left >= 0
    explained = session.execute(f"EXPLAIN {ALL_KINDS}")
    assert explained.releases == answer.releases
    again = session.execute(ALL_KINDS)
    assert again.repeat
    assert (again.rows, again.intervals) == (answer.rows, answer.intervals)


@pytest.mark.parametrize("composition", Composition)
def test_keys_under_filters_that_exclude_each_other_are_paid_for_each_time(
    composition: Composition, tmp_path: Path
) -> None:
    policy = table(tmp_path, LARGER)
    session = still(replace(policy, budget=replace(policy.budget, composition=composition)))

    def cost(text: str) -> tuple[Fraction, Fraction]:
        price = session.execute(text).cost
        return price.epsilon, price.delta

    # WHERE says which rows keys are found among, FILTER only which of them are added up.
    low, high = (
        cost(f"SELECT city, SUM(x) FILTER (WHERE x {side} 5) FROM t GROUP BY city")
        for side in ("<=", ">")
    )
    assert min(low) > 0
    assert min(high) > 0
    low, high = (
        cost(f"SELECT city, SUM(x) FROM t WHERE x {side} 5 GROUP BY city") for side in ("<=", ">")
    )
    assert min(low) > 0
    assert high == (0, 0)


@pytest.mark.parametrize("composition", Composition)
@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("SELECT MAX(n) AS n FROM (SELECT city, COUNT(*) AS n FROM t GROUP BY city) AS c", [400]),
        ("SELECT COUNT(*) AS n, city FROM t GROUP BY ROLLUP(city)", [350, 400, 300, 1050]),
    ],
)
def test_keys_of_an_answer_that_is_read_further_are_found_under_each_composition(
    text: str, shown: list[int], composition: Composition, tmp_path: Path
) -> None:
    policy = table(tmp_path, LARGER)
    session = still(replace(policy, budget=replace(policy.budget, composition=composition)))
    price = session.explain(text).cost
    answer = session.execute(text)
    assert [row[0] for row in answer.rows] == shown
    assert answer.cost == price
    assert price.delta > 0


def test_a_row_with_a_key_of_its_own_changes_nothing_that_is_seen(tmp_path: Path) -> None:
    """Wherever its key stands among the others, and also where it is the only one."""
    for sizes in (LARGER, [], [("Ulm", 3)]):
        texts = set()
        for extra in ([], [("Aix", 1)], [("Zug", 1)], [("M" * 900, 1)], [("\x1b[2J", 1)]):
            session = still(table(tmp_path, [*extra, *sizes]))
            answers = [session.execute(sql) for sql in (ALL_KINDS, f"EXPLAIN {ALL_KINDS}")]
            texts.add("\n".join(text for each in answers for text in (as_json(each), repr(each))))
        assert len(texts) == 1


@pytest.mark.parametrize("rest", ["", "HAVING COUNT(*) > 5", "ORDER BY 3 DESC LIMIT 2"])
def test_no_key_may_be_shown(rest: str, tmp_path: Path) -> None:
    answer = still(table(tmp_path, [("Ulm", 3)])).execute(f"{ALL_KINDS} {rest}")
    assert answer.rows == ()
    assert answer.cost.epsilon == 1


def test_rows_are_ordered_by_noisy_values_and_then_by_key(tmp_path: Path) -> None:
    policy = table(tmp_path, [("b", 40), ("B", 30), ("é", 40), ("", 40), ("a", 31)])
    session = still(policy)
    ordered = session.execute("SELECT city FROM t GROUP BY city ORDER BY COUNT(*) DESC")
    assert [city for (city,) in ordered.rows] == ["b", "é", None, "a", "B"]
    assert [city for (city,) in session.execute("SELECT DISTINCT city FROM t").rows] == [
        "B", "a", "b", "é", None]  # fmt: skip


def test_keys_alone_cost_the_release_of_the_keys_and_declared_ones_nothing(tmp_path: Path) -> None:
    session = still(table(tmp_path, LARGE))
    found = session.execute("SELECT DISTINCT city AS c FROM t")
    assert (found.rows, found.cost.epsilon) == ((("Bonn",), ("Ulm",), (None,)), 1)
    same = session.execute("SELECT city FROM t GROUP BY 1")
    assert (same.rows, same.repeat) == (found.rows, True)
    declared = session.execute("SELECT DISTINCT g FROM t")
    assert (declared.rows, declared.cost.epsilon, declared.cost.queries) == ((("b",), ("a",)), 0, 0)
    nobody = session.execute("SELECT city, COUNT(*) FROM t WHERE g = 'c' GROUP BY city")
    assert (nobody.rows, nobody.cost.epsilon) == ((), 0)


def test_without_delta_the_refusal_says_what_delta_would_show(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table(tmp_path, LARGE, 'unit = "who"')
    text = (tmp_path / "t.toml").read_text(encoding="utf-8").replace("delta = 1e-5", "")
    (tmp_path / "t.toml").write_text(text, encoding="utf-8")
    query = "SELECT city, AVG(x) FROM t GROUP BY city"
    assert cli.main([str(tmp_path / "t.toml"), "-c", query]) == 1
    errors = capsys.readouterr().err
    assert "cannot group by city: the policy lists no values" in errors
    assert "WHERE city IN (…)" in errors
    assert "--delta 1e-6, which shows groups of about 31 or more different who" in errors
    assert cli.main([str(tmp_path / "t.toml"), "--delta", "1e-6", "-c", f"EXPLAIN {query}"]) == 0
    assert "shown are groups of about 31 or more different who" in capsys.readouterr().out


@pytest.mark.parametrize("option", ["error = 5", "relative_error = 0.1", "noise_index = [1, 2]"])
def test_a_goal_of_accuracy_is_not_kept_with_them(option: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidOption, match="group values found in the data"):
        still(table(tmp_path, LARGE)).execute(
            f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS({option}) COUNT(*) FROM t GROUP BY city"
        )
