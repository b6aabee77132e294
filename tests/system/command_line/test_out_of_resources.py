"""What fails after the debit: an error in plain words, which costs what the answer would have cost."""

from __future__ import annotations

import errno
import gzip
import json
import sys
from pathlib import Path
from threading import Thread
from types import SimpleNamespace

import pyarrow
import pytest
from pyarrow import parquet

from dpdb.engines.memory import MemoryEngine
from dpdb.engines.sources.cells.builders import RecordColumns
from dpdb.errors import LedgerError
from dpdb.ledger.book.book import Book
from tests.support.command_line import Make, Run

ROWS = "x\n1\n2\n3\n"
POLICY = """
[budget]
name = "b"
ledger = "b.ledger"
[tables.t]
path = "t.csv"
[tables.t.columns]
x = { type = "integer", bounds = [0, 9] }
"""
COUNT = "SELECT COUNT(*) FROM t"
LACKS = (
    "error: this machine lacks memory, threads, open files or disk space to answer this statement"
)
FAILED = "error: dpdb failed to answer this statement"
PAID = "hint: its cost stays spent\n"

SHORTAGES = [
    MemoryError("Kanarienvogel"), OSError(errno.ENOSPC, "Kanarienvogel"),
    RecursionError("Kanarienvogel"), RuntimeError("can't start new thread"),
    ImportError("failed to map segment from shared object"),
]  # fmt: skip


@pytest.mark.parametrize("failure", SHORTAGES, ids=lambda each: type(each).__name__)
def test_what_the_machine_lacks(
    run: Run, make: Make, monkeypatch: pytest.MonkeyPatch, failure: Exception
) -> None:
    policy = make(ROWS, POLICY).with_suffix(".toml")
    run("budget", "open", policy)
    with monkeypatch.context() as broken:
        broken.setattr(MemoryEngine, "exact", _failing(failure))
        ran = run(policy, "--on-error", "continue", "--json", "-c", f"{COUNT}; SHOW BUDGET")
    assert ran.code == 1
    assert ran.err == f"{LACKS}\n{PAID}"
    failed, budget = ran.answers
    assert failed["error"]["kind"] == "OutOfResources"
    assert (budget["budget"]["epsilon_left"], budget["budget"]["queries_left"]) == (0.9, 9)
    told = json.loads(run("budget", "export", policy, "--format", "json").out.splitlines()[-1])
    assert (told["statement"], told["epsilon"], told["queries"]) == (COUNT, 0.1, 1)


def test_what_the_machine_lacks_is_no_fault_of_the_file(
    run: Run, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Columns are made in threads while the file is read."""
    monkeypatch.setattr(RecordColumns, "_add", _failing(OSError(errno.EMFILE, "Kanarienvogel")))
    ran = run(make("x,y\n1,2\n"), "-c", "SELECT COUNT(x), COUNT(y) FROM t")
    assert (ran.code, ran.out, ran.err) == (1, "", f"{LACKS}\n{PAID}")


def test_a_file_that_cannot_be_read_to_its_end(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"x\n" + (b"1" * 99 + b"\n") * 2**15)[:-4])
    ran = run(path, "-c", COUNT)
    assert (ran.code, ran.out, ran.err) == (
        2,
        "",
        f"error: {path} is not a whole gzip file\n{PAID}",
    )


def test_a_hint_that_leads_on_is_kept(run: Run, make: Make) -> None:
    policy = make(ROWS, POLICY).with_suffix(".toml")
    run("budget", "open", policy)
    policy.with_suffix(".csv").write_text("x\n1\n")
    hint = run(policy, "-c", COUNT).err.splitlines()[-1]
    assert hint.startswith(PAID.strip() + "; ")
    assert "dpdb budget accept" in hint


def test_a_ledger_that_cannot_keep_the_answer(
    run: Run, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = make(ROWS, POLICY).with_suffix(".toml")
    run("budget", "open", policy)
    with monkeypatch.context() as broken:
        for options in ("", "WITH DIFFERENTIAL_PRIVACY OPTIONS(relative_error = 0.5) "):
            broken.setattr(Book, "keep", _failing(LedgerError("the disk is full")))
            ran = run(policy, "-c", COUNT.replace(" ", f" {options}", 1))
            assert (ran.code, ran.out, ran.err) == (2, "", f"error: the disk is full\n{PAID}")


def test_a_library_that_cannot_be_loaded(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is there: nobody is told to install it."""
    path = tmp_path / "t.parquet"
    parquet.write_table(pyarrow.table({"x": [1]}), path)
    loading = SimpleNamespace(find_spec=_failing(ImportError("failed to map segment")))
    with monkeypatch.context() as broken:
        broken.delitem(sys.modules, "pyarrow.parquet")
        broken.setattr(sys, "meta_path", [loading])
        ran = run(path, "-c", COUNT)
    assert (ran.code, ran.out, ran.err) == (1, "", "error: this machine has too little memory\n")


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_no_thread_starts(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """All is done in the first thread then, and comes to the same."""
    path = tmp_path / name
    if name == "t.parquet":
        table = pyarrow.table({"x": [1, 2] * 2_500, "y": [3] * 5_000})
        parquet.write_table(table, path, row_group_size=1_000)
    else:
        path.write_text("x,y\n" + "1,3\n2,3\n" * 2_500)
    monkeypatch.setattr(Thread, "start", _failing(RuntimeError("can't start new thread")))
    words = ("--epsilon", "10000", "--queries", "1", "--bounds", "x=0:9", "--bounds", "y=0:9")
    ran = run(path, *words, "--json", "-c", "SELECT COUNT(x), SUM(x), SUM(y) FROM t")
    assert (ran.code, ran.err) == (0, "")
    [row] = ran.rows
    assert row == pytest.approx([5_000, 7_500, 15_000], abs=1)  # the noise is far less


def test_an_interrupt(run: Run, make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MemoryEngine, "exact", _failing(KeyboardInterrupt()))
    ran = run(make(ROWS), "-c", f"{COUNT}; {COUNT}")
    assert ran.code == 130
    assert ran.err.endswith("cancelled; its cost stays spent\ninterrupted\n")
    monkeypatch.setattr("dpdb.session.session.Session._explained", _failing(KeyboardInterrupt()))
    ran = run(make(ROWS), "-c", f"EXPLAIN {COUNT}")
    assert ran.err.endswith("cancelled; nothing was spent\ninterrupted\n")


@pytest.mark.parametrize(
    ("where", "mode"),
    [
        ("dpdb.session.purchases.purchases.accuracy_notes.interval_notes", "table"),
        ("dpdb.session.purchases.purchases.release_reports.reports", "json"),
        ("dpdb.answers.formats.render.sheet", "csv"),
    ],
)
def test_an_answer_that_cannot_be_shown(
    run: Run, make: Make, monkeypatch: pytest.MonkeyPatch, where: str, mode: str
) -> None:
    """Its details are worked out, and its text is made, when the session has let it out."""
    for failure, said in ((ValueError("a cell"), FAILED), (MemoryError("a cell"), LACKS)):
        monkeypatch.setattr(where, _failing(failure))
        ran = run(make(ROWS), "--format", mode, "-c", COUNT)
        assert ran.code == 1
        assert ran.err.endswith(f"{said}\n{PAID}")


def _failing(failure: BaseException) -> object:
    def fail(*_: object, **__: object) -> None:
        raise failure

    return fail
