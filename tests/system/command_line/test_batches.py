"""`--plan`, SET plan and .plan: the statements of a file are planned together, then answered."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from random import Random

import pytest

from dpdb.answers.formats.footer import footer
from dpdb.answers.formats.json_lines import as_json
from dpdb.errors import BudgetExceeded, UnknownName
from dpdb.ledger.protocol import FREE, Price
from dpdb.policy.budget import Budget, Neighbors
from dpdb.policy.catalog import Column, Kind, Policy, Table
from dpdb.privacy.noise.system import SystemNoise
from dpdb.session.session import Session
from tests.support.command_line import COUNT, Run
from tests.support.noiseless import Noiseless

COLUMNS = (
    Column("x", Kind.INTEGER, Fraction(0), Fraction(9)),
    Column("g", Kind.TEXT, values=("a", "b")),
    Column("who", Kind.TEXT),
)
ROWS = [f"{random.randint(0, 11)},{random.choice('abc')},{random.randint(0, 20)}"
        for random in [Random(5)] for _ in range(60)]  # fmt: skip
BATCH = [
    "SELECT COUNT(*) FROM t WHERE x < 3",
    "SELECT COUNT(*) AS n, AVG(x) FROM t WHERE x < 6",
    "SELECT COUNT_IF(x < 6), SUM(x) FROM t",
    "SELECT SUM(x) / COUNT(*) FROM t",
    "SELECT g, COUNT(*) FROM t GROUP BY g HAVING COUNT(*) > 5 ORDER BY g DESC",
    "SELECT g, SUM(x), COUNT(*) FILTER (WHERE x > 4) FROM t GROUP BY g",
    "SELECT MEDIAN(x) FROM t WHERE g = 'a'",
    "SELECT COUNT(*) FROM t WHERE x > 20",
    "SELECT COUNT(*) FROM t WHERE x > (SELECT AVG(x) FROM t)",
    "SELECT count(*) FROM t WHERE x < 3",
]


def policy(folder: Path, rows: list[str], neighbors: Neighbors, unit: str | None = None) -> Policy:
    path = folder / "t.csv"
    path.write_text("x,g,who\n" + "\n".join(rows) + "\n", encoding="utf-8")
    table = Table("t", path, COLUMNS, unit, 2 if unit else 1)
    return Policy((table,), Budget(Fraction(20), Fraction(0), 20), neighbors)


Open = Callable[..., Session]


@pytest.fixture
def opened(tmp_path: Path) -> Open:
    def opened(
        rows: list[str] = ROWS, neighbors: Neighbors = Neighbors.ADD_REMOVE,
        unit: str | None = None, seed: int | None = None,
    ) -> Session:  # fmt: skip
        noise = Noiseless() if seed is None else SystemNoise(Random(seed).randbytes)
        return Session(policy(tmp_path, rows, neighbors, unit), noise=noise)

    return opened


# ------------------------------------------------------------------------- what is answered


@pytest.mark.parametrize("unit", [None, "who"])
@pytest.mark.parametrize("neighbors", list(Neighbors))
def test_a_batch_is_answered_as_its_statements_alone(
    opened: Open, neighbors: Neighbors, unit: str | None
) -> None:
    """But for the noise, and so here all answers are the same."""
    alone, together = (opened(neighbors=neighbors, unit=unit) for _ in range(2))
    together.plan(BATCH)
    for text in BATCH:
        expected, answer = alone.execute(text), together.execute(text)
        assert (answer.rows, answer.columns) == (expected.rows, expected.columns), text
        assert (answer.kinds, answer.origins) == (expected.kinds, expected.origins)
        assert len(answer.intervals) == len(expected.intervals)


def test_counts_of_different_statements_fit_each_other(opened: Open) -> None:
    """They add up the same segments, with the same noise."""
    session = opened(seed=3)
    texts = [f"SELECT COUNT(*) FROM t WHERE {c}" for c in ("x < 3", "x BETWEEN 3 AND 5", "x < 6")]
    session.plan(texts)
    [low], [middle], [both] = (session.execute(text).rows[0] for text in texts)
    assert isinstance(low, int)
    assert isinstance(middle, int)
    assert low + middle == both


def test_answers_stay_free_and_fresh_ones_are_paid(opened: Open) -> None:
    session = opened(seed=4)
    session.plan(BATCH)
    first = [session.execute(text).rows for text in BATCH]
    left = session.balance
    again = [session.execute(text.replace("AS n", "AS m")) for text in BATCH]
    assert [answer.rows for answer in again] == first
    assert all(answer.cost.epsilon == 0 for answer in again)
    assert session.balance == left
    assert {row[4] for row in session.plan(BATCH).rows} <= {0, None}
    session.execute("SET repeats = 'fresh'")
    assert session.execute(BATCH[0]).cost.epsilon == 1


# ------------------------------------------------------------------------- what is charged


def test_a_plan_costs_nothing_and_the_batch_what_its_statements_cost(opened: Open) -> None:
    alone, together = opened(), opened()
    shown = together.plan(BATCH)
    assert together.balance == alone.balance
    for text in BATCH:
        alone.execute(text)
        together.execute(text)
    assert together.balance.epsilon_left == alone.balance.epsilon_left == 20 - 8
    assert together.balance.queries_left == alone.balance.queries_left == 20 - 8
    spent = [row[4] for row in shown.rows if isinstance(row[4], float)]
    assert sum(spent) == pytest.approx(8)


def test_what_ran_costs_what_is_charged(opened: Open) -> None:
    """Δ/b of each noise drawn adds up to the price: one histogram, and a sum of ten at most."""
    scales: list[tuple[Fraction, int]] = []

    class Recorded(SystemNoise):
        def laplace(self, scale: Fraction, size: int):  # type: ignore[no-untyped-def]
            scales.append((scale, size))
            return super().laplace(scale, size)

    session = opened(seed=1)
    session._noise = Recorded(Random(1).randbytes)
    texts = [BATCH[0], "SELECT COUNT(*) FROM t WHERE x < 6", "SELECT SUM(x) FROM t WHERE x > 2"]
    session.plan(texts)
    spent = [session.execute(text).cost.epsilon for text in texts]
    assert spent == [3, 0, 0]
    assert [size for _, size in scales] == [2, 1]
    assert (
        sum(Fraction(change) / scale for change, (scale, _) in zip((1, 9), scales, strict=True))
        == 3
    )


def test_a_batch_is_paid_before_rows_are_read(opened: Open, tmp_path: Path) -> None:
    session = opened()
    (tmp_path / "t.csv").unlink()
    session.plan(BATCH[:2])
    with pytest.raises(Exception, match="cannot read"):
        session.execute(BATCH[0])
    assert session.balance.epsilon_left == 18


def test_a_plan_follows_from_the_text_alone(opened: Open) -> None:
    shown = [opened(rows).plan(BATCH).rows for rows in (ROWS, [], ROWS[:1] * 9)]
    assert shown[0] == shown[1] == shown[2]


# ------------------------------------------------------------------------- what is told


def test_explain_tells_price_and_noise_as_planned(opened: Open) -> None:
    """The first statement pays for all that are drawn together, and the others nothing."""
    session = opened(seed=2)
    texts = [f"SELECT COUNT(*) FROM t WHERE x < {number}" for number in (3, 5, 7)]
    for text in texts:
        assert session.explain(text).cost.epsilon == 1
    session.plan(texts)
    for text, cost in zip(texts, (3, 0, 0), strict=True):
        explained, price = session.execute(f"EXPLAIN {text}"), session.explain(text).cost
        answer = session.execute(text)
        assert explained.cost == price == answer.cost == Price(Fraction(cost), queries=cost)
        assert [r.margin for r in explained.releases] == [r.margin for r in answer.releases]
        assert explained.notes[:1] == answer.notes
        assert ("would cost ε 3" if cost else "would cost nothing") in footer(explained)
        again = session.execute(f"EXPLAIN {text}")
        assert (again.cost, again.repeat) == (FREE, True)


def test_exact_counts_have_no_part_of_what_is_drawn(opened: Open) -> None:
    """Under replace the number of rows is public: it costs nothing, planned or not."""
    session = opened(neighbors=Neighbors.REPLACE)
    session.execute("SET epsilon = 5")
    texts = ["SELECT COUNT(*) FROM t", "SELECT SUM(x) FROM t", "SELECT AVG(x) FROM t"]
    session.plan(texts)
    assert sum(session.execute(text).cost.epsilon for text in texts) == 10


def test_fresh_noise_is_planned_as_it_is_paid(opened: Open) -> None:
    """After SET repeats = 'fresh' nothing is drawn together, and repeats are paid for."""
    session, count = opened(seed=2), "SELECT COUNT(*) FROM t WHERE x < {}"
    texts = [count.format(3), "SET repeats = 'fresh'", *map(count.format, (3, 5, 3))]
    shown = session.plan(texts)
    assert [row[4] for row in shown.rows] == [1, 1, 1, 1]
    assert [row[5] for row in shown.rows] == [row[3] for row in shown.rows]
    answers = [session.execute(text) for text in texts]
    assert [each.cost.epsilon for each in answers] == [1, 0, 1, 1, 1]
    with pytest.raises(BudgetExceeded, match="21 requested, 20 left"):
        opened().plan(["SET repeats = 'fresh'", *[count.format(3)] * 21])


def test_statements_that_cost_more_together_are_told(opened: Open) -> None:
    """One by one, filters that exclude each other cost what one of them does."""
    texts = [f"SELECT COUNT(*) FROM t WHERE {test}" for test in ("x < 3", "x > 5")]
    alone, together = opened(), opened()
    shown = together.plan(texts)
    assert [row[2] for row in shown.rows] == [1, 0]
    assert [row[4] for row in shown.rows] == [1, 1]
    note = "planned together these statements cost ε 2 and 2 queries; one by one ε 1 and 2 queries"
    assert shown.notes == (note,)
    assert note in footer(shown)
    assert note in as_json(shown)
    for session, spent in ((alone, 1), (together, 2)):
        assert sum(session.execute(text).cost.epsilon for text in texts) == spent


def test_statements_alone_are_rehearsed_one_after_the_other(opened: Open) -> None:
    """What follows from a statement before it costs nothing, in the plan as in the answer."""
    session, goal = opened(seed=2), "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 4) "
    texts = [f"{goal} AVG(x) FROM t", "SELECT COUNT(x) FROM t", "SELECT MAX(n) FROM (SELECT g, "
             "COUNT(*) AS n FROM t GROUP BY g)", "SELECT g, COUNT(*) FROM t GROUP BY g"]  # fmt: skip
    shown = session.plan(texts)
    assert [row[4] for row in shown.rows] == [4, 0, 1, 0]
    assert [session.execute(text).cost.epsilon for text in texts] == [4, 0, 1, 0]


def test_a_plan_that_was_not_carried_out_holds_no_longer(opened: Open) -> None:
    session = opened(seed=2)
    session.plan(BATCH[:3])
    assert session.explain(BATCH[0]).cost.epsilon == 3
    assert [row[4] for row in session.plan(BATCH[:1]).rows] == [1]
    assert session.execute(BATCH[0]).cost.epsilon == 1


# ------------------------------------------------------------------------- what is refused


def test_a_refused_statement_is_named_and_nothing_is_spent(opened: Open) -> None:
    session = opened()
    wrong = "SELECT COUNT(*) FROM t WHERE y = 1"
    with pytest.raises(UnknownName) as refused:
        session.plan([*BATCH[:2], wrong])
    assert refused.value.statement == wrong
    session.execute("SET epsilon = 7")
    with pytest.raises(BudgetExceeded, match="21 requested, 20 left, short by 1") as refused:
        session.plan([BATCH[0], BATCH[9], BATCH[1], BATCH[2], BATCH[3]])
    assert refused.value.statement == BATCH[2]
    assert session.balance.epsilon_left == 20
    assert session.execute(BATCH[0]).cost.epsilon == 7


def test_a_batch_of_too_many_queries_is_refused(opened: Open) -> None:
    session = opened()
    session.execute("SET epsilon = 0.1")
    texts = [f"SELECT COUNT(*) FROM t WHERE x * x > {i}" for i in range(21)]
    with pytest.raises(BudgetExceeded, match=r"not enough queries.*21 requested, 20 left"):
        session.plan(texts)


# ------------------------------------------------------------------------- the command line


FILE = "SELECT COUNT(*) FROM people WHERE age < 30;\nSELECT COUNT(*) FROM people WHERE age < 40;\n"


def test_the_plan_is_printed_first(run: Run, people: Path) -> None:
    ran = run(people, "--plan", "--json", "--epsilon", 1, "--queries", 2, stdin=FILE)
    shown, *answers = ran.answers
    assert ran.code == 0
    assert shown["columns"][-1] == "±"
    assert [row[3] for row in shown["rows"]] == [6, 6]
    assert [row[5] for row in shown["rows"]] == [3, 4]
    assert [answer["cost"]["epsilon"] for answer in answers] == [1, 0]
    assert [answer["cost"]["queries"] for answer in answers] == [2, 0]
    assert [answer["releases"][0]["scale"] for answer in answers] == [1, 1]


def test_set_plan_holds_for_the_rest_of_a_file(run: Run, people: Path) -> None:
    ran = run(people, "--json", stdin=f"{COUNT};\nSET plan = on;\n{FILE}")
    assert [answer.get("statement") for answer in ran.answers][:3] == [COUNT, "SET plan = on", ""]
    assert [answer["cost"]["queries"] for answer in ran.answers[3:]] == [2, 0]


def test_a_refused_plan_runs_nothing(run: Run, people: Path) -> None:
    ran = run(people, "--plan", stdin=f"{FILE}SELECT COUNT(*) FROM people WHERE aeg < 3;")
    assert (ran.code, ran.out) == (1, "")
    assert "no column aeg" in ran.err
    assert "WHERE aeg < 3" in ran.err
    ran = run(people, "--plan", "--queries", 1, stdin=FILE)
    assert (ran.code, ran.out) == (3, "")
    assert "age < 40" not in ran.out


def test_a_temporary_table_is_made_before_the_plan_that_reads_it(run: Run, people: Path) -> None:
    made = "CREATE TEMP TABLE Old AS SELECT COUNT(*) AS n FROM people WHERE age > 60;\n"
    ran = run(people, stdin=f"SET plan = on;\n{made}SELECT MAX(n) FROM old;")
    assert (ran.code, ran.out.count("spent")) == (1, 0)
    assert "no table old yet: a plan comes before its statements" in ran.err
    assert "hint: CREATE TEMP TABLE goes above SET plan = on" in ran.err
    ran = run(people, stdin=f"{made}SET plan = on;\nSELECT MAX(n) FROM old;")
    assert (ran.code, ran.err) == (0, "")


def test_files_are_planned_by_a_command(run: Run, people: Path, tmp_path: Path) -> None:
    (tmp_path / "two.sql").write_text(FILE)
    ran = run(people, "--json", stdin=f".plan {tmp_path / 'two.sql'}\n{COUNT};")
    assert [answer.get("cost", {}).get("queries") for answer in ran.answers] == [None, 2, 0, 1]
    (tmp_path / "no.sql").write_text("this is no statement")
    assert run(people, stdin=f".plan {tmp_path / 'no.sql'}\n").code == 1
