"""Answers leave after noisy delays, of which a session has as many as it has queries."""

from __future__ import annotations

import time
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import dpdb
from dpdb.engines.memory import MemoryEngine
from dpdb.errors import BudgetExceeded, DpdbError, LedgerError
from dpdb.interfaces.cli.main import main
from dpdb.policy.reading.reader import read_policy
from dpdb.privacy.delays import STEPS, delay_law
from dpdb.privacy.noise.system import SystemNoise
from dpdb.session.backends import Backends
from dpdb.session.session import Session
from dpdb.session.timing.tick import NoisyMoments
from tests.support.lasting import opened_shop

COUNT = "SELECT COUNT(*) FROM t"
OTHERS = (f"{COUNT} WHERE x > 1", f"{COUNT} WHERE x > 2", f"{COUNT} WHERE x > 3")
POLICY = """
[budget]
epsilon = 10
queries = 3
[privacy]
timing = "noisy"
[tables.t.columns]
x = { type = "integer", bounds = [0, 9] }
"""


@pytest.fixture
def noisy(tmp_path: Path) -> Session:
    """A session of three queries, which never waits."""
    (tmp_path / "t.csv").write_text("x\n" + "5\n" * 50)
    (tmp_path / "t.toml").write_text(POLICY)
    return dpdb.connect(tmp_path / "t.toml")


@pytest.fixture(autouse=True)
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long was slept; a clock stands still."""
    seconds = list[float]()
    monkeypatch.setattr(time, "monotonic", lambda: 100.0)
    monkeypatch.setattr(time, "sleep", seconds.append)
    return seconds


def test_moments_fit_their_law(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mean within five standard errors, the variance within a tenth: α below 1e-5."""
    law, number = delay_law(20), 2000
    moments = NoisyMoments(number, SystemNoise(Random(5).randbytes))
    monkeypatch.setattr("dpdb.session.timing.tick.delay_law", lambda _: law)
    left = np.array([moments.drawn()(0.0123, 0.01) for _ in range(number)])
    assert np.allclose(left * 1000, np.rint(left * 1000))
    steps = left / 0.01 * STEPS - 13  # what is ready after 12.3 ms is so after 13 steps of a ms
    sigma = float(law.variance) ** 0.5
    assert abs(steps.mean() - law.offset) < 5 * sigma / number**0.5
    assert abs(steps.std() / sigma - 1) < 0.1
    assert steps.min() >= 0


def test_explain_says_the_law_of_what_waits(noisy: Session, tmp_path: Path) -> None:
    """Least T is 1 ms, so a step is a tenth of it; repeats and what is settled leave at once."""
    law = delay_law(3)
    mean, deviation = law.offset / STEPS, float(law.variance) ** 0.5 / STEPS
    note = (
        f"the answer leaves at a noisy moment: {mean:.0f} ms after it is ready in the mean,"
        f" standard deviation {deviation:.0f} ms"
    )
    assert mean > 10
    assert note in noisy.execute(f"EXPLAIN {COUNT}").notes
    noisy.execute(COUNT)
    for text in (COUNT, f"{COUNT} WHERE x > 20"):
        assert note not in noisy.execute(f"EXPLAIN {text}").notes
    plain = dpdb.connect(tmp_path / "t.toml", timing="plain")
    assert note not in plain.execute(f"EXPLAIN {COUNT}").notes


def test_an_answer_waits_and_a_repeat_does_not(noisy: Session, slept: list[float]) -> None:
    noisy.execute(COUNT)
    assert len(slept) == 1
    assert slept[0] * 1000 == pytest.approx(round(slept[0] * 1000))
    noisy.execute(COUNT)
    noisy.execute(f"EXPLAIN {OTHERS[0]}")
    assert len(slept) == 1


def test_an_error_after_the_charge_waits(
    noisy: Session, slept: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ValueError("a cell")

    monkeypatch.setattr(MemoryEngine, "exact", fail)
    with pytest.raises(DpdbError):
        noisy.execute(COUNT)
    assert len(slept) == 1
    assert slept[0] > 0


def test_the_delay_is_drawn_before_rows_are_looked_at(
    noisy: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = list[str]()

    def noted(name: str, whole: Any) -> Any:
        return lambda *arguments: steps.append(name) or whole(*arguments)

    monkeypatch.setattr(MemoryEngine, "exact", noted("rows", MemoryEngine.exact))
    monkeypatch.setattr(SystemNoise, "gaussian", noted("delay", SystemNoise.gaussian))
    noisy.execute(COUNT)
    assert steps == ["delay", "rows"]


def moments(session: Session) -> tuple[object, ...]:
    """What SHOW BUDGET says of them."""
    rows = session.execute("SHOW BUDGET").rows
    return next(row for row in rows if "moments" in str(row[0]))


def test_they_are_a_budget_of_their_own(noisy: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without enough of it a statement is refused before anything is paid."""
    name = "answers at noisy moments (epsilon 2, delta 1e-06)"
    assert moments(noisy) == (name, 3, 0, 3)
    with monkeypatch.context() as broken:
        broken.setattr(MemoryEngine, "exact", lambda *_: 1 / 0)
        with pytest.raises(DpdbError):
            noisy.execute(COUNT)
    assert moments(noisy) == (name, 3, 1, 2)
    for _ in range(2):  # such as for a number of rows, which costs no query
        noisy._gate._moments.drawn()
    before = noisy.balance
    assert before.queries_left == 2
    for refused in (lambda: noisy.execute(OTHERS[0]), lambda: planned(noisy)):
        with pytest.raises(BudgetExceeded, match="are for 3 answers"):
            refused()
    assert noisy.balance == before


@pytest.mark.parametrize("found", ["bounds", "rows_per_unit"])
@pytest.mark.parametrize("neighbors", ["add-remove", "replace"])
def test_what_is_found_leaves_at_one_moment_with_the_answer(
    tmp_path: Path, noisy: Session, found: str, neighbors: str
) -> None:
    """A repeat needs none, even if the number of rows is public, as they were counted before."""
    unit = '[tables.t]\nunit = "u"\nrows_per_unit = 2\n[tables.t.columns]\nu = { type = "integer" }'
    text = POLICY.replace("queries = 3", "queries = 1").replace("[tables.t.columns]", unit)
    neighborly = f'[privacy]\nneighbors = "{neighbors}"'
    text = text.replace("[privacy]", neighborly).replace("9] }", "9], nullable = false }")
    (tmp_path / "t.csv").write_text("u,x\n" + "".join(f"{row},{row % 9}\n" for row in range(50)))
    (tmp_path / "t.toml").write_text(text)
    session = dpdb.connect(tmp_path / "t.toml")
    asked = f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS({found} = 'find') AVG(x) FROM t"
    for repeat in (False, True):
        assert session.execute(asked).repeat is repeat
        assert moments(session)[1:] == (1, 1, 0)


def planned(session: Session) -> None:
    """Ask for one of two statements that are drawn together."""
    session.plan([OTHERS[1], OTHERS[1].replace("COUNT(*)", "SUM(x)")])
    session.execute(OTHERS[1])


def test_a_tick_s_session_has_no_such_budget(tmp_path: Path, noisy: Session) -> None:
    plain = dpdb.connect(tmp_path / "t.toml", timing="plain")
    assert not any("moments" in str(row[0]) for row in plain.execute("SHOW BUDGET").rows)
    with pytest.raises(dpdb.InvalidOption, match="no timing late"):
        dpdb.connect(tmp_path / "t.toml", timing="late")


def test_the_command_line_can_ask_for_it(
    tmp_path: Path, noisy: Session, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(tmp_path / "t.csv"), "--timing", "noisy", "-c", "SHOW BUDGET"]) == 0
    assert "answers at noisy moments" in capsys.readouterr().out


LASTING = POLICY.replace("[budget]", '[budget]\nname = "moments"')


@pytest.mark.parametrize("text", [LASTING, LASTING.replace("noisy", "plain")])
def test_a_session_of_a_lasting_budget_may_be_noisier_and_not_plainer(text: str) -> None:
    with opened_shop(text, "x\n1\n") as path:
        dpdb.connect(path, timing="noisy")
        if "noisy" in text:
            with pytest.raises(LedgerError, match="timing is noisy there, not declared here"):
                dpdb.connect(path, timing="plain")


def test_sessions_that_share_an_engine_have_moments_of_their_own() -> None:
    named = POLICY.replace("[budget]", '[budget]\nname = "shared"')
    with opened_shop(named, "x\n5\n") as path:
        policy = read_policy(path)
        backends = Backends(policy)
        asked = []
        for analyst, texts in {"alice": OTHERS[:2], "bob": OTHERS[2:]}.items():
            session = Session(policy, analyst=analyst, backends=backends)
            for text in texts:
                session.execute(text)
            budget = session.execute("SHOW BUDGET").rows
            asked += [row[2] for row in budget if "noisy moments" in str(row[0])]
        assert asked == [2, 1]
