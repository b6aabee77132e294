"""Teaching mode without privacy: EXPLAIN says what will happen, and answers are what they claim."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dpdb.answers.answer import Answer
from dpdb.answers.formats.explain_tree import explain_screen
from dpdb.errors import Unsupported
from dpdb.interfaces.cli import main as command
from dpdb.interfaces.console.commands import run_typed
from dpdb.interfaces.console.settings import ShellSettings
from dpdb.interfaces.prompt import prompt
from dpdb.interfaces.prompt.shell import Shell
from dpdb.interfaces.prompt.status import price_text
from dpdb.policy.reading.reader import policy_for
from dpdb.session.session import Session

DATA = "name,age\nAda,20\nAlan,41\nGrace,45\nHedy,60\n"
POLICY = """
[budget]
epsilon = 1
queries = 4
[tables.t.columns]
name = { type = "text" }
age = { type = "integer", bounds = [0, 100] }
"""
Make = Callable[..., Session]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    (tmp_path / "t.csv").write_text(DATA)
    (tmp_path / "t.toml").write_text(POLICY)

    def build(*settings: str) -> Session:
        session = Session(policy_for(tmp_path / "t.csv"), teach=True)
        for setting in settings:
            session.execute(f"SET {setting}")
        return session

    return build


def test_exact_answers_are_explained_as_exact(make: Make) -> None:
    session = make("dp = off")
    explained = session.execute("EXPLAIN SELECT COUNT(*), SUM(age) FROM t")
    assert [report.mechanism for report in explained.releases] == ["exact", "exact"]
    assert (explained.cost.queries, explained.repeat) == (0, False)
    shown = explain_screen(explained, ())
    assert "sum, exact" in shown
    assert "dp is off: the answer is exact" in shown
    assert "answered before" not in shown
    assert "scale" not in shown
    assert price_text(explained) == " costs nothing: dp is off"


def test_noise_of_local_sensitivity_is_explained_as_such(make: Make) -> None:
    session = make("sensitivity = 'local'")
    explained = session.execute("EXPLAIN SELECT SUM(age), COUNT(*) FROM t")
    assert {report.mechanism for report in explained.releases} == {"local laplace"}
    assert {(r.sensitivity, r.scale, r.margin) for r in explained.releases} == {(None,) * 3}
    assert [float(report.epsilon) for report in explained.releases] == [0.125, 0.125]
    shown = explain_screen(explained, ())
    assert "read off the rows" in shown
    assert "clamped" not in shown
    assert "would cost ε 0.25" in shown
    spent = session.execute("SELECT SUM(age), COUNT(*) FROM t").cost
    assert spent == explained.cost == session.explain("SELECT SUM(age), COUNT(*) FROM t").cost


def test_what_was_answered_before_is_still_said_to_be(make: Make) -> None:
    session = make()
    session.execute("SELECT COUNT(*) FROM t")
    explained = session.execute("EXPLAIN SELECT COUNT(*) FROM t")
    assert explained.repeat
    assert "\ncost      nothing: answered before, of ε " in explain_screen(explained, ())
    assert price_text(explained) == " costs nothing: answered before"


@pytest.mark.parametrize("setting", ["dp = off", "sensitivity = 'local'"])
def test_what_is_refused_is_explained_as_refused_and_costs_nothing(
    make: Make, setting: str
) -> None:
    session = make(setting)
    for text in ("EXPLAIN SELECT MODE(name) FROM t", "SELECT MODE(name) FROM t"):
        with pytest.raises(Unsupported, match="needs privacy on"):
            session.execute(text)
    assert session.balance.queries_left == 4


@pytest.mark.parametrize("aggregate", ["SUM", "AVG", "MIN", "MAX", "MEDIAN", "STDDEV"])
def test_without_rows_an_exact_answer_is_null(make: Make, aggregate: str) -> None:
    """The mean of the column in their place is the paper's rule, for its noise alone."""
    assert make("dp = off").execute(f"SELECT {aggregate}(age) FROM t WHERE age < 0").rows == (
        (None,),
    )
    local = make("sensitivity = 'local'", "reveal = on")
    shown = local.execute(f"SELECT {aggregate}(age) FROM t WHERE age < 0").revealed
    assert [entry.stat for entry in shown] == [0.0 if aggregate == "STDDEV" else 41.5]


def test_an_exact_median_of_integers_is_not_rounded(make: Make) -> None:
    answer = make("dp = off").execute(
        "SELECT MEDIAN(age), MAX(age), COUNT(*) FROM t WHERE age < 50"
    )
    assert answer.rows == ((41, 45, 3),)
    answer = make("dp = off").execute("SELECT MEDIAN(age) FROM t WHERE age > 40 OR age < 30")
    assert answer.rows == ((43.0,),)
    answer = make("dp = off").execute("SELECT MEDIAN(age) FROM t WHERE age < 42")
    assert answer.rows == ((30.5,),)
    assert str(answer.kinds[0]) == "number"


def test_the_papers_noise_is_not_rounded(make: Make) -> None:
    """As in its transcripts, where a count is -3.10."""
    [[count, total]] = (
        make("sensitivity = 'local'").execute("SELECT COUNT(*), SUM(age) FROM t").rows
    )
    assert isinstance(count, float)
    assert isinstance(total, float)
    assert not count.is_integer()
    assert not total.is_integer()


def test_csv_has_statistic_and_scale(
    make: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make()
    script = "SET sensitivity = 'local'; SET reveal = on; SELECT MAX(age), COUNT(*) FROM t"
    words = [str(tmp_path / "t.csv"), "--teach", "--csv", "--epsilon", "1", "--queries", "1"]
    assert command.main([*words, "-c", script]) == 0
    said = capsys.readouterr().out.splitlines()[-5:]
    assert said[:4] == ["# not private", "# stat=60 b=30", "# stat=4 b=2", "MAX(age),COUNT(*)"]


def test_ask_says_what_will_happen(make: Make, capsys: pytest.CaptureFixture[str]) -> None:
    session, asked = make("dp = off"), []
    given = iter(["age", "sum", "", ""])

    def reply(question: str, _: object) -> str:
        asked.append(question)
        return next(given)

    run_typed(Shell(session.policy, ShellSettings(), reply, lambda _: session), ".ask")
    assert asked[-1] == "It costs nothing: dp is off. Run it? [Y/n] "
    assert "166" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("teach", "replies", "exact"),
    [
        (True, {"use dp (y/n): ": ["maybe", "n"]}, True),
        (True, {"use dp (y/n): ": ["y"], "epsilon [1]: ": ["5"], "query limit [4]: ": ["2"]}, False),
        (False, {"epsilon [1]: ": ["5"], "query limit [4]: ": ["2"]}, False),
    ],
)  # fmt: skip
def test_the_papers_program_asks_whether_to_use_dp(
    make: Make, monkeypatch: pytest.MonkeyPatch, teach: bool, replies: dict[str, list[str]], exact: bool
) -> None:  # fmt: skip
    file = make().policy.tables[0].path
    given = {
        "database csv: ": [str(file)],
        **{question: [*each] for question, each in replies.items()},
    }
    shells: list[Shell] = []
    monkeypatch.setattr(prompt, "asker", lambda _: lambda question, _: given[question].pop(0))
    monkeypatch.setattr(prompt, "converse", lambda shell, teach: shells.append(shell))
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
    assert command.main(["--teach"] if teach else []) == 0
    assert not any(given.values())
    [shell] = shells
    answer = shell.session.execute("SELECT SUM(age) FROM t WHERE age > 50")
    # By chance an answer with noise can be the exact one, too.
    assert {each.mechanism for each in answer.releases} == (set() if exact else {"laplace"})
    assert not exact or answer.rows == ((60,),)
    assert shell.balance.queries_left == (4 if exact else 1)


def test_json_of_an_explanation(make: Make) -> None:
    from dpdb.answers.formats.json_lines import as_json  # noqa: PLC0415

    explained: Answer = make("dp = off").execute("EXPLAIN SELECT COUNT(*) FROM t")
    told = json.loads(as_json(explained))
    assert told["releases"][0] == {
        "column": "COUNT(*)", "aggregate": "count", "mechanism": "exact",
        "sensitivity": None, "scale": None, "epsilon": 0.0, "delta": 0.0, "group": 1,
    }  # fmt: skip
    assert not told["repeat"]


@pytest.mark.parametrize("setting", ["dp = 'off'", "sensitivity = 'local'"])
def test_declared_keys_alone_are_given_as_they_are(make: Make, setting: str) -> None:
    answer = make(setting).execute("SELECT DISTINCT age FROM t")
    assert [age for (age,) in answer.rows] == [*range(101)]
    assert answer.cost.epsilon == 0


def test_distinct_keys_stand_beside_a_constant_of_a_subquery(make: Make) -> None:
    answer = make("dp = off").execute(
        "SELECT DISTINCT age > 40 AS old, (SELECT COUNT(*) FROM t) AS n FROM t ORDER BY old"
    )
    assert answer.rows == ((False, 4), (True, 4))
