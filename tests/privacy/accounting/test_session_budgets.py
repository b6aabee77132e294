"""Sessions and commands keep to the theorem that their policy names."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from dpdb.answers.answer import Answer
from dpdb.answers.record import ReleaseReport
from dpdb.errors import BudgetExceeded, InvalidOption
from dpdb.interfaces.cli.main import main
from dpdb.policy.budget import Budget, Composition
from dpdb.policy.catalog import Column, Kind
from dpdb.policy.reading.reader import policy_for
from dpdb.privacy.accounting.accountants import accountant
from dpdb.session.session import Session
from tests.support.brute import tables_in_memory, world
from tests.support.budgets import ADVANCED, PURE, ZCDP, least_delta
from tests.support.charges import paid
from tests.support.noiseless import Noiseless

COLUMNS = (
    Column("g", Kind.TEXT, values=("a", "b")),
    Column("x", Kind.INTEGER, Fraction(0), Fraction(9)),
)
ROWS = [("a", "1"), ("b", "5"), ("a", "")]
QUERIES = [
    "SELECT COUNT(*) FROM t",
    "SELECT SUM(x), COUNT(*) FROM t",
    "SELECT MEDIAN(x) FROM t",
    "SELECT AVG(x), MAX(x) FROM t",
    "SELECT g, AVG(x), COUNT(*) FROM t GROUP BY g",
    "SELECT MODE(g) FROM t",
    "SELECT VAR_POP(x) FROM t",
    "SELECT COUNT(*) FROM t WHERE x > (SELECT AVG(x) FROM t)",
]
SPECIAL = [
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(mechanism = 'gaussian') COUNT(*) FROM t",
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(mechanism = 'gaussian') SUM(x), COUNT(x) FROM t",
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(mechanism = 'gaussian') g, AVG(x) FROM t GROUP BY g",
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(sensitivity = 'smooth') MEDIAN(x) FROM t",
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(noise_index = [1, 10]) SUM(x), COUNT(*) FROM t",
]


@pytest.fixture
def session(composition: Composition) -> Iterator[Callable[[Budget], Session]]:
    def begin(budget: Budget) -> Session:
        here = world(COLUMNS, budget=replace(budget, composition=composition))
        here.source.rows = ROWS
        return Session(here.policy, noise=Noiseless())

    with tables_in_memory():
        yield begin


def rho_of(drawn: ReleaseReport) -> float:
    match drawn.mechanism:
        case "laplace":
            assert drawn.sensitivity is not None
            assert drawn.scale is not None
            return float(drawn.sensitivity / drawn.scale) ** 2 / 2
        case "gaussian":
            assert drawn.sensitivity is not None
            assert drawn.scale is not None
            return float(drawn.sensitivity**2 / (2 * drawn.scale**2))
        case "exponential":
            return float(drawn.epsilon) ** 2 / 8
    assert drawn.mechanism == "smooth laplace"
    return float(drawn.epsilon) ** 2 / 2


def epsilon_within(answers: list[Answer], budget: Budget) -> bool:
    """Whether all that was drawn is (ε, δ)-DP, by the theorems as their papers have them."""
    drawn = [paid(answer.releases) for answer in answers]
    epsilons = [float(sum(d.epsilon for d in releases)) for releases in drawn]
    epsilon, delta = float(budget.epsilon) * (1 + 1e-9), float(budget.delta) * (1 + 1e-9)
    deltas = sum(float(d.delta) for releases in drawn for d in releases)
    match budget.composition:
        case Composition.PURE:
            return sum(epsilons) <= epsilon and deltas <= delta
        case Composition.ADVANCED | Composition.ZCDP:
            if not deltas and sum(epsilons) <= epsilon:
                return True
            rho = sum(rho_of(d) for releases in drawn for d in releases)
            smooth = [d for releases in drawn for d in releases if d.mechanism == "smooth laplace"]
            approximate = sum(float(d.delta) for d in smooth)
            return least_delta(rho, epsilon) <= 0.9 * delta and approximate <= delta / 10


@pytest.mark.parametrize("queries", [13, 40])
def test_a_session_spends_what_its_theorem_allows(
    session: Callable[[Budget], Session], composition: Composition, queries: int
) -> None:
    budget = Budget(Fraction(1), Fraction(1, 10**6), queries, composition)
    here = session(budget)
    here.execute("SET repeats = 'fresh'")
    statements = [*QUERIES, *SPECIAL]
    answers = []
    for number in range(queries):
        sql = statements[number % len(statements)]
        explained = here.execute(f"EXPLAIN {sql}")
        answers.append(here.execute(sql))
        assert explained.cost == answers[-1].cost
        assert explained.releases == answers[-1].releases
        assert answers[-1].balance.queries_left == queries - number - 1
    assert epsilon_within(answers, budget)
    # All of it: with a query more of the same share it would be over.
    assert not epsilon_within([*answers, answers[0]], budget)
    with pytest.raises(BudgetExceeded, match="queries are used"):
        here.execute(statements[0])
    spent = sum((answer.cost.epsilon for answer in answers), Fraction(0))
    assert here.balance.epsilon_left == 1 - spent >= 0


def test_shares_that_are_asked_for(
    session: Callable[[Budget], Session], composition: Composition
) -> None:
    """Ten of the share that ten would get, though a hundred are allowed: ε runs out first."""
    budget = Budget(Fraction(2), Fraction(1, 10**6), 100, composition)
    share = max(share.epsilon for share in accountant(replace(budget, queries=10)).shares)
    here = session(budget)
    here.execute(f"SET epsilon = {float(share)!r}")
    answers = [here.execute(f"SELECT COUNT(*) FROM t WHERE x + 0 > {n}") for n in range(10)]
    assert {drawn.epsilon for answer in answers for drawn in answer.releases} == {share}
    assert epsilon_within(answers, budget)
    with pytest.raises(BudgetExceeded, match=r"not enough epsilon: .* short by"):
        here.execute("SELECT COUNT(*) FROM t")
    assert here.execute(answers[3].statement).repeat
    assert here.balance.queries_left == 90


def test_delta_runs_out(session: Callable[[Budget], Session], composition: Composition) -> None:
    """Under zcdp a tenth is for releases, and only those that are not even zCDP need any."""
    budget = Budget(Fraction(1), Fraction(1, 10**6), 100, composition)
    here = session(budget)
    left = budget.delta if composition is PURE else budget.delta / 10
    assert here.balance.delta_left == left
    each = "3e-7" if composition is PURE else "3e-8"
    asked = f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(sensitivity = 'smooth', delta = {each})"
    for number in range(3):
        assert here.execute(f"{asked} MEDIAN(x) FROM t WHERE x > {number}").cost.delta
    with pytest.raises(BudgetExceeded, match="not enough delta") as refused:
        here.execute(f"{asked} MIN(x) FROM t")
    assert "OPTIONS(delta" in str(refused.value.hint)
    gaussian = asked.replace("sensitivity = 'smooth'", "mechanism = 'gaussian'")
    if composition is not PURE:
        assert here.execute(f"{gaussian} COUNT(*) FROM t").cost.delta == 0
    else:
        with pytest.raises(BudgetExceeded, match="not enough delta"):
            here.execute(f"{gaussian} COUNT(*) FROM t")


def test_show_budget_by_each_theorem(
    session: Callable[[Budget], Session], composition: Composition
) -> None:
    budget = Budget(Fraction(3), Fraction(1, 10**6), 20, composition)
    here = session(budget)
    answers = [here.execute(sql) for sql in QUERIES[:5]]
    marked = {str(row[0]): row[1:] for row in here.execute("SHOW BUDGET").rows}
    rows = {label.removesuffix(", which counts"): row for label, row in marked.items()}
    drawn = [paid(answer.releases) for answer in answers]
    epsilons = [float(sum(d.epsilon for d in releases)) for releases in drawn]
    # Advanced composition has what the releases leave of δ, and zCDP nine tenths of it.
    slack = 1e-6 - float(sum(d.delta for releases in drawn for d in releases))
    root = math.sqrt(2 * math.log(1 / slack) * sum(e * e for e in epsilons))
    by_formula = root + sum(e * math.expm1(e) for e in epsilons)
    assert rows["epsilon by sequential composition"] == (None, pytest.approx(sum(epsilons)), None)
    assert rows["epsilon by advanced composition"][1] == pytest.approx(
        min(sum(epsilons), by_formula)
    )
    by_rho = rows["epsilon by zero-concentrated DP"][1]
    rho = sum(rho_of(d) for releases in drawn for d in releases)
    assert isinstance(by_rho, float)
    assert least_delta(rho, by_rho) == pytest.approx(9e-7, rel=1e-4)
    paying = [label for label in marked if label.endswith(", which counts")]
    if composition is PURE:
        assert paying == []
        assert rows["epsilon"][1] == rows["epsilon by sequential composition"][1]
    else:
        assert [marked[label][1] for label in paying] == [rows["epsilon"][1]]
    assert rows["queries"] == (20, 5, 15)
    total, spent, _ = rows["delta"]
    assert (total, spent) == (1e-6, pytest.approx(1e-6 - float(here.balance.delta_left)))
    assert rows["epsilon per query"][0] == float(here.balance.share.epsilon)


def test_without_delta_there_is_one_theorem() -> None:
    here = Session(world(COLUMNS, budget=Budget()).policy)
    rows = [row[0] for row in here.execute("SHOW BUDGET").rows]
    assert rows[4:] == ["epsilon by sequential composition"]


CSV = "x\n1\n2\n3\n"
POLICY = '{}[tables.t]\npath = "t.csv"\n[tables.t.columns]\nx = {{ type = "integer", bounds = [0, 9] }}\n'


@pytest.fixture
def files(tmp_path: Path) -> Callable[..., Path]:
    def write(budget: str, name: str = "t") -> Path:
        (tmp_path / "t.csv").write_text(CSV)
        path = tmp_path / f"{name}.toml"
        path.write_text(POLICY.format(budget).replace("tables.t", f"tables.{name}"))
        return path

    return write


@pytest.mark.parametrize(("way", "composition"), [("policy", ADVANCED), ("option", ZCDP)])
def test_a_hundred_queries_from_the_command_line(
    composition: Composition,
    way: str,
    files: Callable[..., Path],
    capsys: pytest.CaptureFixture[str],
) -> None:
    budget = f'[budget]\ndelta = 1e-6\nqueries = 100\ncomposition = "{composition}"\n'
    options = ["--composition", str(composition), "--delta", "1e-6", "--queries", "100"]
    path = files(budget if way == "policy" else "")
    script = ";".join(f"SELECT SUM(x) FROM t WHERE x * {n} > 4" for n in range(101))
    code = main([str(path), *(options if way == "option" else []), "--json", "-c", script])
    answers = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert code == 3
    assert len(answers) == 101
    assert answers[-1]["error"]["kind"] == "BudgetExceeded"
    share = accountant(Budget(Fraction(1), Fraction(1, 10**6), 100, composition)).shares[-1]
    first = answers[0]["releases"][0]
    assert first["mechanism"] == "gaussian"
    assert first["scale"] == pytest.approx(9 / float(share.epsilon), rel=1e-9)
    assert all(a["releases"] == [first] for a in answers[:-1])
    last = answers[99]["budget"]
    assert (last["composition"], last["theorem"]) == (composition, "zero-concentrated DP")
    assert last["delta"] == 1e-6
    assert last["delta_left"] == 1e-7
    assert last["queries_left"] == 0
    assert 0 <= last["epsilon_left"] < 1e-6
    assert sum(a["cost"]["epsilon"] for a in answers[:-1]) == pytest.approx(1)


def test_theorems_that_need_a_delta(
    files: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    for composition in ("advanced", "zcdp"):
        for budget in (
            f'[budget]\ncomposition = "{composition}"\n',
            f'[budget]\ndelta = 1e-101\ncomposition = "{composition}"\n',
        ):
            assert main([str(files(budget)), "-c", "SHOW BUDGET"]) == 2
            shown = capsys.readouterr().err
            assert f"composition = {composition} needs delta" in shown
            assert "hint: for instance delta = 1e-6" in shown
        assert main([str(files("")), "--composition", composition, "-c", "SHOW BUDGET"]) == 2
        assert "needs delta" in capsys.readouterr().err
    # What the policy lacks the command line may give.
    path = files('[budget]\ncomposition = "zcdp"\n')
    assert main([str(path), "--delta", "1e-6", "-c", "SHOW BUDGET"]) == 0
    assert main([str(path), "--composition", "pure", "-c", "SHOW BUDGET"]) == 0


def test_a_composition_that_is_none(
    files: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    path = files('[budget]\ndelta = 1e-6\ncomposition = "zdcp"\n')
    assert main([str(path), "-c", "SHOW BUDGET"]) == 2
    shown = capsys.readouterr().err
    assert "line 3" in shown
    assert '"pure", "advanced", "zcdp"' in shown
    with pytest.raises(SystemExit) as left:
        main([str(path), "--composition", "zdcp", "-c", "SHOW BUDGET"])
    assert left.value.code == 2


@pytest.mark.parametrize(
    ("one", "other", "differ"),
    [
        ('composition = "advanced"', 'composition = "zcdp"', "budget"),
        ('composition = "pure"', 'composition = "zcdp"', "budget"),
        ("", '[privacy]\nnoise = "opendp"', "noise"),
    ],
)
def test_policies_that_differ(
    one: str,
    other: str,
    differ: str,
    files: Callable[..., Path],
    capsys: pytest.CaptureFixture[str],
) -> None:
    paths = [
        files(f"[budget]\ndelta = 1e-6\n{text}\n", name)
        for text, name in ((one, "t"), (other, "u"))
    ]
    assert main([*map(str, paths), "-c", "SHOW BUDGET"]) == 2
    assert f"differ in their {differ}" in capsys.readouterr().err


def test_a_theorem_says_nothing_of_more_delta_than_it_leaves(tmp_path: Path) -> None:
    """Each Gaussian answer takes a tenth of δ, and advanced composition needs some of it."""
    (tmp_path / "t.csv").write_text("x\n1\n")
    policy = policy_for(tmp_path / "t.csv")
    here = Session(replace(policy, budget=Budget(Fraction(1), Fraction(1, 10**6), 10)))
    here.execute("SET mechanism = 'gaussian'")
    said = []
    for number in range(10):
        here.execute(f"SELECT COUNT(*) FROM t WHERE x * 2 > {number}")
        rows = {row[0]: row[2] for row in here.execute("SHOW BUDGET").rows}
        assert rows["epsilon by sequential composition"] == pytest.approx((number + 1) / 10)
        assert rows["epsilon by zero-concentrated DP"] is not None
        said.append(rows["epsilon by advanced composition"] is not None)
    assert said == [True] * 9 + [False]


@pytest.mark.parametrize("composition", [Composition.ADVANCED, Composition.ZCDP])
def test_no_session_begins_without_the_delta_its_theorem_needs(
    tmp_path: Path, composition: Composition
) -> None:
    (tmp_path / "t.csv").write_text("x\n1\n")
    policy = policy_for(tmp_path / "t.csv")
    with pytest.raises(InvalidOption, match="needs delta"):
        Session(replace(policy, budget=replace(policy.budget, composition=composition)))
