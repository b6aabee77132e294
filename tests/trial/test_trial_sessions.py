"""A trial is never taken for the real thing, nor the real thing for a trial."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

import dpdb
from dpdb.answers.formats.footer import TRIAL
from dpdb.answers.formats.json_lines import as_json
from dpdb.answers.formats.notebooks import as_html
from dpdb.answers.formats.render import FORMATS
from dpdb.engines.memory import MemoryEngine
from dpdb.interfaces.console.chart import chart
from dpdb.ledger.book.file_book import FileBook
from dpdb.session.connect import policy_of
from dpdb.session.session import Session
from tests.support.lasting import opened_shop
from tests.support.noiseless import Noiseless

SAMPLES = Path(__file__).parents[2] / "sample_data"
COUNT = "SELECT COUNT(*) AS n FROM t"
GROUPS = "SELECT g, COUNT(*) AS n FROM t GROUP BY g"
POLICY = """
[budget]
name = "shop"
epsilon = 1
queries = 10
[tables.t.columns]
a = { type = "integer", bounds = [0, 9], nullable = false }
g = { type = "text", values = ["x", "y"], nullable = false }
"""
ROWS = "a,g\n1,x\n2,y\n3,y\n"
REAL, MADE_UP = 3, 10_000


@pytest.fixture
def shop() -> Iterator[Path]:
    with opened_shop(POLICY, ROWS) as path:
        yield path


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    """A policy without a lasting budget, whose data file is not there."""
    path = tmp_path / "t.toml"
    path.write_text(POLICY.replace('name = "shop"\n', ""))
    return path


def noiseless(path: Path) -> Session:
    return Session(policy_of(path), noise=Noiseless())


def state(path: Path) -> dict[str, bytes]:
    return {each.name: each.read_bytes() for each in sorted(path.parent.iterdir())}


def test_no_data_file_is_opened(policy: Path) -> None:
    db = dpdb.connect(policy, trial=True)
    answer = db.execute(COUNT)
    assert abs(answer.scalar() - MADE_UP) < 300  # ± 30 at 95 %
    assert db.on_trial
    with pytest.raises(dpdb.DataFileError):
        dpdb.connect(policy)
    shutil.copy(SAMPLES / "shop" / "shop.toml", policy.parent)
    shop = dpdb.connect(policy.parent / "shop.toml", trial=True)
    joined = (
        "SELECT landscape, COUNT(*) FROM orders JOIN customers ON orders.customer_id = customers.id "
        "JOIN regions ON customers.region = regions.id GROUP BY landscape"
    )
    assert shop.execute(joined).trial


def test_rows_of_a_session_need_no_data_once_it_is_open(shop: Path) -> None:
    db = dpdb.connect(shop)
    (shop.parent / "t.csv").unlink()
    assert db.trial().execute(COUNT).trial
    db.execute("SET trial = on")
    assert db.execute(COUNT).trial
    assert db.explain(COUNT).trial
    assert db.quote(COUNT).trial


def test_nothing_of_a_trial_enters_a_ledger(shop: Path) -> None:
    db = dpdb.connect(shop)
    before, balance, history = state(shop), db.balance, db.execute("SHOW HISTORY").rows
    db.execute("SET trial = on")
    trial = db.trial()
    with ExitStack() as broken:
        for name in [name for name, value in vars(FileBook).items() if callable(value)]:
            if not name.startswith("__"):
                refused = mock.Mock(side_effect=AssertionError(name))
                broken.enter_context(mock.patch.object(FileBook, name, refused))
        for each in (db, trial):
            for text in (
                COUNT,
                COUNT,
                GROUPS,
                f"EXPLAIN {COUNT}",
                "SET epsilon = 0.5",
                "SHOW BUDGET",
            ):
                assert each.execute(text).trial
            each.plan([COUNT, GROUPS])
    db.execute("SET trial = off")
    assert state(shop) == before
    assert db.balance == balance
    assert db.execute("SHOW HISTORY").rows == history
    assert db.settings.epsilon is None


def test_a_trial_has_no_limit_and_says_the_price_of_each(policy: Path) -> None:
    db = dpdb.connect(policy, trial=True)
    for number in range(25):
        answer = db.execute(f"SELECT COUNT(*) FROM t WHERE a > 0.{number}1")
        assert answer.cost == dpdb.connect(policy, trial=True).execute("SHOW TABLES").cost
        assert answer.would_cost is not None
        assert (answer.would_cost.epsilon * 10, answer.would_cost.queries) == (1, 1)
    assert db.execute(COUNT).would_cost is not None
    repeat = db.execute(COUNT)
    assert repeat.repeat
    assert repeat.would_cost is not None
    assert repeat.would_cost.queries == 0
    with pytest.raises(dpdb.BudgetExceeded) as refused:  # as it would be
        db.execute(COUNT, epsilon=2)
    assert refused.value.trial


def test_the_same_question_is_no_repeat_of_the_other_kind(shop: Path) -> None:
    db = noiseless(shop)
    db.execute("SET trial = on")
    assert db.execute(COUNT).scalar() != REAL
    db.execute("SET trial = off")
    real = db.execute(COUNT)
    assert (real.scalar(), real.trial, real.repeat) == (REAL, False, False)
    assert real.cost.queries == 1
    assert real.would_cost is None
    db.execute("SET trial = on")
    made_up = db.execute(COUNT)
    assert made_up.trial
    assert abs(made_up.scalar() - MADE_UP) < 300
    db.execute("SET trial = off")
    again = db.execute(COUNT)
    assert (again.scalar(), again.trial, again.repeat) == (REAL, False, True)


def test_settings_of_a_trial_stay_in_it(policy: Path) -> None:
    policy.with_suffix(".csv").write_text(ROWS)
    db = dpdb.connect(policy)
    db.execute("SET epsilon = 0.2")
    db.execute("SET trial = on")
    answer = db.execute(COUNT)  # the trial begins with the settings of the session
    assert answer.would_cost is not None
    assert answer.would_cost.epsilon * 5 == 1
    db.execute("SET epsilon = 0.7")
    db.execute("SET repeats = 'fresh'")
    db.execute("SET trial = off")
    assert db.execute(COUNT).cost.epsilon * 5 == 1
    assert db.execute(COUNT).repeat


def test_plans_errors_and_copies_are_marked(policy: Path) -> None:
    db = dpdb.connect(policy, trial=True)
    assert db.plan([COUNT, GROUPS]).trial
    with pytest.raises(dpdb.UnknownName) as wrong:
        db.execute("SELECT b FROM t")
    assert wrong.value.trial
    answer = db.execute(COUNT)
    copied = pickle.loads(pickle.dumps(answer))
    assert copied.trial
    assert copied.would_cost == answer.would_cost
    assert "trial rows" in repr(db)


@pytest.mark.parametrize("text", [COUNT, GROUPS, f"EXPLAIN {COUNT}", "SHOW TABLES"])
def test_every_format_says_so(policy: Path, text: str) -> None:
    trial = dpdb.connect(policy, trial=True).execute(text)
    policy.with_suffix(".csv").write_text(ROWS)
    real = dpdb.connect(policy).execute(text)
    for name, written in FORMATS.items():
        shown, plain = written(trial), written(real)
        assert "trial" not in plain
        match name:
            case "json":
                assert shown.startswith('{"trial": true, ')
                assert not {"cost", "budget"} & set(json.loads(shown))
                assert "would_cost" in json.loads(shown) or not trial.query
            case "csv":
                header, *rows = shown.splitlines()
                assert header.startswith("trial,")
                assert all(row.startswith("true,") for row in rows)
            case _:
                first, *_, last = shown.splitlines()
                assert TRIAL in first
                assert TRIAL in last
    assert as_html(trial).count(TRIAL) >= 2
    assert TRIAL not in as_html(real)


def test_frames_and_charts_say_so(policy: Path) -> None:
    answer = dpdb.connect(policy, trial=True).execute(GROUPS)
    assert list(answer.df().columns) == ["trial", "g", "n"]
    assert answer.df()["trial"].tolist() == [True, True]
    assert answer.df(intervals=True).columns[0] == "trial"
    assert answer.to_arrow().column_names[0] == "trial"
    assert TRIAL in chart(answer, "", 80)
    assert TRIAL in answer.plot().get_title()


def test_a_policy_is_needed(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(ROWS)
    db = dpdb.connect(path)
    for begin in (db.trial, lambda: db.execute("SET trial = on")):
        with pytest.raises(dpdb.UsageError, match="a trial needs a policy"):
            begin()
    assert not db.on_trial
    assert not db.execute("SHOW TABLES").trial


def test_trial_rows_and_data_do_not_go_together(policy: Path, shop: Path) -> None:
    """Or a trial's ledger, which takes nothing, would answer of data; or a real one of trial rows."""
    trial = dpdb.connect(policy, trial=True).policy
    data = policy.with_name("u.csv")
    data.write_text(ROWS)
    with pytest.raises(dpdb.UsageError, match="do not go together"):
        dpdb.connect(trial, data)
    with pytest.raises(dpdb.UsageError, match="do not go together"):
        dpdb.connect(trial, data).trial()
    for again in (
        dpdb.connect(trial),
        dpdb.connect({"t": data}, policy=trial),
        dpdb.connect(trial, ledger=policy.with_name("new.ledger")),
        dpdb.connect(trial, trial=True),
    ):
        answer = again.execute(COUNT)
        assert answer.trial
        assert abs(answer.scalar() - MADE_UP) < 300
    assert not list(policy.parent.glob("new.ledger*"))


def test_a_trial_does_not_turn_real_and_ends_with_its_session(policy: Path) -> None:
    trial = dpdb.connect(policy, trial=True)
    with pytest.raises(dpdb.InvalidOption, match="made-up rows alone"):
        trial.execute("SET trial = off")
    policy.with_suffix(".csv").write_text(ROWS)
    db = dpdb.connect(policy)
    db.execute("SET trial = on")
    assert db.execute("set TRIAL = on").columns == ("setting", "value")
    db.close()
    with pytest.raises(dpdb.UsageError, match="closed"):
        db.execute(COUNT)


def test_marks_are_right_while_threads_turn_the_trial_on_and_off(policy: Path) -> None:
    policy.with_suffix(".csv").write_text(ROWS)
    db = noiseless(policy)
    db.execute("SET epsilon = 0.001")
    told: list[tuple[Any, bool]] = []

    def ask() -> None:
        for _ in range(30):
            answer = db.execute(COUNT)
            told.append((answer.scalar(), answer.trial))

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    for switch in ["on", "off"] * 10:
        db.execute(f"SET trial = {switch}")
    for thread in threads:
        thread.join()
    assert len(told) == 90
    assert all((value == REAL) != trial for value, trial in told)


def test_json_of_real_answers_is_as_before(policy: Path) -> None:
    policy.with_suffix(".csv").write_text(ROWS)
    fields = json.loads(as_json(dpdb.connect(policy).execute(COUNT)))
    assert list(fields)[:3] == ["statement", "columns", "rows"]
    assert {"cost", "budget"} < set(fields)
    assert not {"trial", "would_cost"} & set(fields)


@pytest.mark.parametrize("setting", [True, False])
def test_an_interrupt_ends_the_statement_alone(
    shop: Path, monkeypatch: pytest.MonkeyPatch, *, setting: bool
) -> None:
    session = Session(policy_of(shop, trial=not setting))
    if setting:
        session.execute("SET trial = on")
    exact = MemoryEngine.exact

    def interrupted(*arguments: Any) -> Any:
        os.kill(os.getpid(), signal.SIGINT)
        return exact(*arguments)

    with monkeypatch.context() as patched:
        patched.setattr(MemoryEngine, "exact", interrupted)
        with pytest.raises(KeyboardInterrupt):
            session.execute(COUNT)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    answer = session.execute(COUNT)
    assert answer.trial
    assert not answer.repeat
    assert session.execute(COUNT).repeat
    if setting:
        session.execute("SET trial = off")
        assert session.balance.queries_left == 10
        assert not session.execute(COUNT).trial
        assert session.balance.queries_left == 9


def test_an_interrupted_trial_ends_the_command(shop: Path) -> None:
    words = [sys.executable, "-m", "tests.support.stubbed", "busy:60", str(shop), "--trial"]
    with subprocess.Popen([*words, "-c", COUNT], stderr=subprocess.PIPE, text=True) as child:
        assert child.stderr is not None
        assert child.stderr.readline() == "at work\n"
        child.send_signal(signal.SIGINT)
        said = child.stderr.read()
    assert child.returncode == 130
    assert said == "cancelled; nothing was spent\ninterrupted\n"
    assert Session(policy_of(shop)).balance.queries_left == 10
