"""Files that dpdb writes: whole or not at all, and never over what it reads."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from pathlib import Path

import pytest

from dpdb.errors import UsageError
from dpdb.interfaces.cli.main import main
from dpdb.policy import output_files
from dpdb.policy.output_files import OutputFile, check_output, save, written

LASTING = """\
[budget]
name = "b"
epsilon = 4
queries = 4
ledger = "t.ledger"
anchor = "far/t.anchor"
[tables.t]
path = "t.csv"
[tables.t.columns]
a = { type = "integer", bounds = [0, 9] }
"""
COUNT = "SELECT COUNT(*) FROM t"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with data, a policy, a ledger and an anchor, which is where the process is."""
    monkeypatch.chdir(tmp_path)
    Path("far").mkdir()
    Path("t.csv").write_text("a\n1\n2\n3\n")
    Path("t.toml").write_text(LASTING)
    assert main(["budget", "open", "t.toml"]) == 0
    return tmp_path


def _content() -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in Path().rglob("*") if path.is_file()}


KEPT = ["t.csv", "t.toml", "t.ledger", "t.ledger-wal", "t.ledger-shm", "t.ledger-journal",
        "far/t.anchor", "far/../t.ledger-wal", "T.LEDGER-WAL", "T.csv", "t.ledger-WAL",
        "q.sql"]  # fmt: skip


LINKED = ["t.csv", "t.toml", "far/t.anchor", "q.sql"]
SPELLED = [
    *[(name, name) for name in KEPT],
    *[(name, "link") for name in KEPT],
    *[(name, "hard link") for name in LINKED],
]


@pytest.mark.parametrize(("name", "output"), SPELLED)
@pytest.mark.parametrize("words", [[], ["--force"]], ids=["", "forced"])
def test_nothing_that_is_read_is_overwritten(
    folder: Path, capsys: pytest.CaptureFixture[str], name: str, output: str, words: list[str]
) -> None:
    Path("q.sql").write_text(COUNT)
    if output == "link":
        Path(output).symlink_to(name)
    elif output == "hard link":
        Path(output).hardlink_to(name)
    before = _content()
    for asked in (["-o", output], ["-c", f".once {output}"], ["-c", f".output {output}"]):
        assert main(["t.toml", *asked, "-f", "q.sql", *words]) == 2
        assert "is read by dpdb, and is not overwritten" in capsys.readouterr().err
    assert _content() == before


@pytest.mark.parametrize("name", ["b.sqlite", "b.sqlite-wal", "a.anchor", "B.SQLITE-SHM"])
def test_nor_is_a_ledger_of_others(folder: Path, name: str) -> None:
    Path("b.sqlite").write_bytes(Path("t.ledger").read_bytes())
    Path("a.anchor").write_bytes(Path("far/t.anchor").read_bytes())
    if name.isupper():
        Path("B.SQLITE").write_bytes(Path("t.ledger").read_bytes())
    with pytest.raises(UsageError, match="is not overwritten"):
        check_output(Path(name), force=True)


def test_a_file_of_others_is_replaced_only_by_force(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("mine.txt").write_text("a year's work")
    words = ["t.csv", "--epsilon", "1", "-o", "mine.txt", "-c", "SHOW TABLES"]
    assert main(words) == 2
    said = capsys.readouterr().err
    assert "dpdb did not write what is in it" in said
    assert "--force" in said
    assert Path("mine.txt").read_text() == "a year's work"
    assert main([*words, "--force"]) == 0
    assert "t " in Path("mine.txt").read_text()
    output_files._own.clear()  # as in another process
    assert main(words) == 0
    Path("mine.txt").write_text("edited")
    assert main(words) == 2
    Path("policy.toml").write_text(LASTING)
    assert main([*words[:4], "policy.toml", *words[5:]]) == 2
    assert Path("policy.toml").read_text() == LASTING
    save(Path("new.toml"), b"x = 1")
    with pytest.raises(UsageError, match="did not write"):
        save(Path("new.toml"), b"x = 2")


def test_a_statement_that_fails_leaves_the_file_as_it_was(folder: Path) -> None:
    words = ["t.csv", "-o", "out.txt", "-c"]
    assert main([*words, "SELECT nothing FROM t"]) == 1
    assert not Path("out.txt").exists()
    assert main([*words, "SHOW TABLES"]) == 0
    before = Path("out.txt").read_text()
    assert main([*words, "SELECT nothing FROM t"]) == 1
    assert Path("out.txt").read_text() == before
    assert main([*words, "SHOW BUDGET; SELECT nothing FROM t"]) == 1
    assert "epsilon" in Path("out.txt").read_text()
    assert not list(Path().glob(".dpdb-*"))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
@pytest.mark.parametrize("text", [COUNT, f".once /dev/full\n{COUNT};"])
def test_a_paid_answer_is_shown_where_it_cannot_be_written(
    folder: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    words = ["t.csv", "--csv", "-c", text]
    assert main([*words, *(["-o", "/dev/full"] if text == COUNT else [])]) == 1
    said = capsys.readouterr()
    assert said.out.startswith("COUNT(*)\n")
    assert "cannot write /dev/full: No space left on device" in said.err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_an_answer_that_standard_output_does_not_take_is_shown_beside_it(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        monkeypatch.setattr(sys, "stdout", full)
        monkeypatch.setattr(os, "dup2", lambda *_: None)
        assert main(["t.csv", "--csv", "-c", COUNT]) == 1
        monkeypatch.undo()
        with pytest.raises(OSError, match="No space"):
            full.close()
    assert "COUNT(*)\n" in capsys.readouterr().err


def test_what_does_not_fit_leaves_what_did(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = OutputFile(Path("out.txt"))
    file.write(b"one answer\n")
    parts = iter([b"half of", OSError(28, "No space left on device")])
    write = file.stream.write

    class Full:
        """A stream that takes half of an answer."""

        def write(self, _: object) -> int | None:
            part = next(parts)
            if isinstance(part, OSError):
                raise part
            return write(part)

        def __getattr__(self, name: str) -> object:
            return getattr(file_stream, name)

    file_stream = file.stream
    file.stream = Full()  # type: ignore[assignment]
    with pytest.raises(OSError, match="No space"):
        file.write(b"half of another\n")
    file.close()
    assert Path("out.txt").read_bytes() == b"one answer\n"


def test_a_name_that_was_taken_in_the_meantime_is_left(folder: Path) -> None:
    file = OutputFile(Path("out.txt"))
    file.write(b"an answer")
    Path("out.txt").write_text("somebody's")
    with pytest.raises(UsageError, match="did not write") as caught:
        file.close()
    assert Path("out.txt").read_text() == "somebody's"
    [part] = Path().glob(".dpdb-*.part")
    assert caught.value.hint is not None
    assert part.name in caught.value.hint
    assert part.read_text() == "an answer"


def test_pages_and_drafts_are_whole_or_not_there(folder: Path) -> None:
    with contextlib.suppress(ValueError), written(Path("page.html")) as file:
        file.write(b"half")
        raise ValueError("a page")
    assert not Path("page.html").exists()
    assert not list(Path().glob(".dpdb-*"))
    for name in ("t.ledger-shm", "far/t.anchor"):
        with pytest.raises(UsageError):
            check_output(Path(name), new=True)


@pytest.mark.parametrize(
    "words",
    [["init", "t.csv", "-o"], ["lab", "room", "0101010101", "--html"],
     ["lab", "membership", "--trials", "1", "--html"],
     ["utility", "--figure", "2", "--plot"],
     ["risk", "t.csv", "--query", "SELECT COUNT(*) FROM t", "--epsilon", "1", "--figure", "1", "--plot"]],
    ids=lambda words: words[0],
)  # fmt: skip
def test_every_writer_asks(
    folder: Path, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    Path("page.svg").write_text("a year's work")
    Path("b.svg-wal").write_text("")
    Path("b.svg").write_bytes(Path("t.ledger").read_bytes())
    for name in ("page.svg", "b.svg"):
        before = Path(name).read_bytes()
        assert main([*words, name]) == 2
        assert Path(name).read_bytes() == before
        said = capsys.readouterr().err
        assert "there is a file page.svg" in said or "b.svg is read by dpdb" in said


def test_a_new_file_among_the_files_of_a_table_is_refused(folder: Path) -> None:
    Path("parts").mkdir()
    with pytest.raises(UsageError, match="is not overwritten"):
        check_output(Path("parts/new.parquet"), [Path("parts/*.parquet")])


def test_force_does_not_go_with_restricted(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["t.toml", "--restricted", "--force", "-c", COUNT]) == 2
    assert "--force does not go with --restricted" in capsys.readouterr().err


def test_no_other_module_opens_a_file_to_write() -> None:
    """But those of ledgers, of history and logs, of a class, and of files for the time of a run."""
    writes = re.compile(
        r"O_CREAT|O_WRONLY|FileIO\(|\.write_(?:text|bytes)\(|open\([^)]*[\"'][wax]b?[\"']"
    )
    package = Path(output_files.__file__).parents[1]
    found = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if any(
            writes.search(line)
            for line in path.read_text("utf-8").splitlines()
            if "devnull" not in line
        )
    }
    assert found == {
        "policy/output_files.py", "ledger/book/file_book.py", "ledger/book/database.py",
        "ledger/book/server_book.py",
        "interfaces/prompt/prompt.py", "interfaces/prompt/shell.py", "lab/scenario.py",
        "interfaces/commands/serve.py", "lab/classroom/box.py", "lab/classroom/player.py", "lab/live/state.py",
    }  # fmt: skip
