"""Attack 24: no object, traceback or fault shows a cell."""

from __future__ import annotations

import logging
import traceback

import numpy as np

from dpdb.engines.memory import MemoryEngine
from dpdb.engines.protocol import Exact
from dpdb.engines.sources.csv_source import CsvSource
from dpdb.errors import DpdbError
from dpdb.interfaces.cli import main as cli
from dpdb.plan.expressions.expressions import ColumnRef
from dpdb.session.session import Session
from dpdb.vectors.evaluate import Frame, evaluate
from tests.support.exactly import planned, write
from tests.support.known_attacks import HEADER, POLICY, people

CANARIES = ("Kanarienvogel", "7654321")
CANARY_ROW = "77,Kanarienvogel,7654321,7654321,Kanarienvogel,Kanarienvogel,2000-01-01"


def _remembered(session: Session) -> list[object]:
    memory = session._memory
    known = [memory._purchases, memory._groups._held]
    assert all(known)
    values = [value for each in known for value in each.values()]
    return [
        memory,
        memory._groups,
        *known,
        *values,
        *(kept.purchase for kept in memory._purchases.values()),
    ]


def _says(thing: object) -> str:
    return f"{thing!r} {thing!s} {thing}"


def test_a24_nothing_that_holds_rows_shows_them(tmp_path, caplog):
    """Logs, tracebacks and debuggers print what is in hand."""
    caplog.set_level(logging.DEBUG)
    bounds = POLICY.format(neighbors="add-remove").replace("[0, 120]", "[0, 10000000]")
    policy = write(tmp_path, "t", f"{HEADER}{CANARY_ROW}\n", bounds)
    loaded = CsvSource(policy.tables[0]).load([column.name for column in policy.tables[0].columns])
    columns = loaded.columns
    engine = MemoryEngine()
    plan = planned("SELECT SUM(age), MAX(age), MODE(city) FROM t WHERE name LIKE 'K%'", policy)
    exact = engine.exact(plan, {})
    session = Session(policy)
    session.execute("SELECT SUM(age), COUNT(DISTINCT name) FROM t WHERE name LIKE 'K%'")
    rows = Frame(columns)
    held = [
        exact, exact[0], Exact(np.array([7654321])), engine, session, session._loaded_engine, columns,
        rows, loaded, *columns.values(), engine._tables, *_remembered(session),
        *(evaluate(ColumnRef(column), rows) for column in policy.tables[0].columns),
    ]  # fmt: skip
    for thing in held:
        assert not any(canary in _says(thing) for canary in CANARIES), type(thing)
    assert not any(canary in caplog.text for canary in CANARIES)


def test_a24_a_traceback_shows_no_cell(tmp_path):
    """What a fault of ours would print if the prompt let it through."""
    people(tmp_path, [CANARY_ROW])
    policy = people(tmp_path, [CANARY_ROW])
    session = Session(policy)

    class Broken:
        def laplace(self, scale, size):
            raise RuntimeError("out of entropy")

    session._noise = Broken()
    try:
        session.execute("SELECT SUM(age) FROM t WHERE name = 'x'")
    except DpdbError as error:
        frames = traceback.TracebackException.from_exception(error, capture_locals=True)
        shown = "".join(frames.format())
    assert "dpdb failed to answer" in shown
    assert not any(canary in shown for canary in CANARIES)


def test_a24_a_fault_of_ours_shows_no_cell(tmp_path, monkeypatch, capsys):
    """numpy's errors quote the value they stumble over; the command must not."""

    def stumble(*_):
        raise ValueError("could not convert string to float: 'Kanarienvogel'")

    people(tmp_path, [CANARY_ROW])
    monkeypatch.setattr(MemoryEngine, "exact", stumble)
    code = cli.main([str(tmp_path / "t.csv"), "-c", "SELECT COUNT(*) FROM t WHERE age > 3"])
    shown = capsys.readouterr()
    assert code not in (0, 2, 3)
    assert "error" in shown.err
    assert "Kanarienvogel" not in shown.err + shown.out
