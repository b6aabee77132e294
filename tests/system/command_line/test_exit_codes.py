"""What scripts may rely on: exit codes, streams, and where statements come from."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dpdb import __version__
from dpdb.interfaces.cli.main import main
from dpdb.session.session import Session
from tests.support.command_line import COUNT, MEAN, Run


def process(*words: object, stdin: str | bytes = b"", **options: Any) -> Any:
    """`dpdb` as a process of its own."""
    command = [sys.executable, "-m", "dpdb", *map(str, words)]
    given = stdin.encode() if isinstance(stdin, str) else stdin
    return subprocess.run(
        command, input=given, capture_output=True, timeout=60, check=False, **options
    )


# --- The example of the contract, as a process


def test_two_queries_from_a_pipe(people: Path) -> None:
    ran = process(people, "--epsilon", 1, "--queries", 4, "--json", stdin=f"{COUNT}; {MEAN};")
    assert ran.returncode == 0
    assert ran.stderr == b""
    first, second = map(json.loads, ran.stdout.splitlines())
    assert first["releases"][0]["scale"] == 4
    parts = ["sum_above_lower", "sum_below_upper"]
    assert [release["aggregate"] for release in second["releases"]] == parts


def test_a_query_over_the_limit_exits_with_3(run: Run, people: Path) -> None:
    script = f"{COUNT}; {MEAN}; SELECT SUM(age) FROM people;"
    ran = run(people, "--epsilon", 1, "--queries", 2, "--json", stdin=script)
    assert ran.code == 3
    assert "Traceback" not in ran.err
    *_, third = ran.answers
    assert list(third) == ["statement", "error"]
    assert third["error"]["kind"] == "BudgetExceeded"
    assert ran.err.startswith("error: ")


def test_a_reader_that_leaves_early(people: Path) -> None:
    script = "SHOW BUDGET;" * 2_000
    command = [sys.executable, "-m", "dpdb", str(people)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as left:
        assert left.stdin is not None
        assert left.stdout is not None
        assert left.stderr is not None
        left.stdin.write(script.encode())
        left.stdin.close()
        assert left.stdout.readline().strip().startswith(b"left")
        left.stdout.close()
        assert left.stderr.read() == b""
        left.wait(60)


def test_streams_that_are_closed(people: Path, tmp_path: Path) -> None:
    dpdb = f"{sys.executable} -m dpdb {people}"

    def shell(command: str) -> Any:
        return subprocess.run(command, shell=True, capture_output=True, timeout=60, check=False)

    no_stdin = shell(f"{dpdb} <&-")
    assert b"Traceback" not in no_stdin.stderr
    no_stderr = shell(f"{dpdb} --csv -c 'SHOW TABLES' 2>&-")
    assert (no_stderr.returncode, no_stderr.stdout) == (0, b"table,columns,unit\npeople,5,row\n")
    no_stdout = shell(f"{dpdb} -c 'SHOW TABLES' >&-")
    assert no_stdout.returncode == 2
    assert no_stdout.stderr.startswith(b"error: standard output is closed: answers would cost")
    written = tmp_path / "written.txt"
    assert shell(f"{dpdb} -o {written} -c 'SHOW TABLES' >&-").returncode == 0
    assert "people" in written.read_text()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
@pytest.mark.parametrize("statement", ["SHOW TABLES", ".tables"])
def test_a_full_disk(people: Path, statement: str) -> None:
    with open("/dev/full", "wb") as full:
        command = [sys.executable, "-m", "dpdb", str(people), "-c", statement]
        ran = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, timeout=60, check=False)
    assert ran.returncode not in (0, 120)
    assert b"Traceback" not in ran.stderr
    assert b"error: cannot write: " in ran.stderr  # below the answer, which is not lost


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_an_output_that_cannot_show_everything(
    people: Path, encoding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A pipe on Windows is cp1252; ± and ε are in every table.
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding, errors="strict") for _ in range(2))
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)
    script = 'SELECT COUNT(*) AS "☃" FROM people; SELECT "☃ FROM people'
    assert main([str(people), "-c", script]) == 1
    for stream, said in ((out, b"spent"), (err, b"error: ")):
        stream.flush()
        assert said in stream.buffer.getvalue()


# --- Exit codes and streams


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["-c", "SHOW BUDGET"], 0),
        (["-c", ""], 0),
        (["-c", " ;; -- nothing\n"], 0),
        (["-c", COUNT], 0),
        (["-c", "SELECT nope FROM people"], 1),
        (["-c", "SELECT"], 1),
        (["-c", "SET epsilon = 0"], 1),
        (["-c", "SELECT SUM(LENGTH(name)) FROM people"], 1),
        (["-c", "SET epsilon = 2; " + COUNT], 3),
        (["--queries", "1", "-c", f"{COUNT}; {MEAN}"], 3),
        (["-f", "no such file"], 2),
        (["-f", "/"], 2),
        (["no such file.csv", "-c", COUNT], 2),
        (["no such policy.toml", "-c", COUNT], 2),
        (["--nope", "-c", COUNT], 2),
        (["--eps", "1", "-c", COUNT], 2),
        (["-c"], 2),
        (["--format", "xml", "-c", COUNT], 2),
        (["--epsilon", "0", "-c", COUNT], 2),
        (["--epsilon", "-1", "-c", COUNT], 2),
        (["--epsilon=-1", "-c", COUNT], 2),
        (["--epsilon", "nan", "-c", COUNT], 2),
        (["--epsilon", "inf", "-c", COUNT], 2),
        (["--epsilon", "1e-320", "-c", COUNT], 2),
        (["--epsilon", "1_000", "-c", COUNT], 2),
        (["--epsilon", "1/2", "-c", COUNT], 2),
        (["--delta", "1", "-c", COUNT], 2),
        (["--delta", "-0.1", "-c", COUNT], 2),
        (["--queries", "0", "-c", COUNT], 2),
        (["--queries", "2.5", "-c", COUNT], 2),
        (["--queries", "٣", "-c", COUNT], 2),
        (["--queries", "9" * 5000, "-c", COUNT], 2),
        (["--neighbors", "both", "-c", COUNT], 2),
        (["--on-error", "ignore", "-c", COUNT], 2),
        (["--bounds", "age", "-c", COUNT], 2),
        (["--bounds", "age=1", "-c", COUNT], 2),
        (["--bounds", "age=2:1", "-c", COUNT], 2),
        (["--bounds", "age=nan:1", "-c", COUNT], 2),
        (["--bounds", "age=0:inf", "-c", COUNT], 2),
        (["--bounds", "age=1_0:20", "-c", COUNT], 2),
        (["--bounds", "agee=1:2", "-c", COUNT], 2),
        (["--bounds", "name=1:2", "-c", COUNT], 2),
        (["--bounds", "zip=1:2", "-c", COUNT], 2),
        (["--seed", "1", "-c", COUNT], 2),
    ],
    ids=lambda value: " ".join(value)[:60] if isinstance(value, list) else None,
)
def test_exit_codes(run: Run, people: Path, words: list[str], code: int) -> None:
    ran = run(people, *words)
    assert ran.code == code
    assert "Traceback" not in ran.err
    if code in (0, 2):
        assert bool(ran.err) == (code == 2)
    if code == 2:
        assert ran.out == ""
    if code:
        assert "error: " in ran.err


@pytest.mark.parametrize("path", [".", "..", "/", ""])
def test_a_folder_is_no_data_file(run: Run, path: str) -> None:
    ran = run(path, "-c", COUNT)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("error: ")


def test_no_file_at_all(run: Run) -> None:
    for words in ((), ("-c", "SHOW BUDGET")):
        ran = run(*words)
        assert (ran.code, ran.out) == (2, "")
        assert ran.err.startswith("error: no data file or policy given")
        assert "hint: " in ran.err


def test_a_mistyped_subcommand(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ran = run("chek", "people.toml")
    assert ran.code == 2
    assert "no command and no file is called chek" in ran.err
    assert "did you mean dpdb check?" in ran.err
    assert "hint: download it" in run("https://example.org/chek.csv", "-c", COUNT).err
    assert "cannot read chek.csv" in run("chek.csv", "-c", COUNT).err
    Path("chek").write_text("age\n30\n")
    assert run("chek", "-c", "SELECT COUNT(*) FROM chek").code == 0


@pytest.mark.parametrize(("word", "hint"), [
    ("-csv", "--csv"), ("-json", "--json"), ("--epsilom=2", "--epsilon"), ("--bound", "--bounds"),
])  # fmt: skip
def test_a_mistyped_option_costs_nothing(run: Run, people: Path, word: str, hint: str) -> None:
    ran = run(people, word, "-c", COUNT)
    assert (ran.code, ran.out) == (2, "")
    assert f"no option {word.partition('=')[0]}\nhint: did you mean {hint}?" in ran.err


@pytest.mark.parametrize("comment", ["-- how many", "-- epsilon = 1", "--plan"])
def test_what_begins_with_a_dash_may_be_a_statement(run: Run, people: Path, comment: str) -> None:
    assert run(people, "-c", f"{comment}\n{COUNT}").code == 0
    assert run(people, f"-c{COUNT}").code == 0


def test_the_gravest_code_wins(run: Run, people: Path) -> None:
    script = f"SET epsilon = 2; {COUNT}; SELECT nope FROM people; SHOW TABLES"
    ran = run(people, "--on-error", "continue", "-c", script)
    assert ran.code == 3
    assert ran.err.count("error: ") == 2


def test_an_interrupt(run: Run, people: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Session, "execute", interrupted)
    ran = run(people, "-c", COUNT)
    assert (ran.code, ran.out) == (130, "")
    assert "Traceback" not in ran.err


def test_an_interrupt_while_modules_are_imported(
    run: Run, people: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Interrupted:
        @staticmethod
        def find_spec(*_: object) -> None:
            raise KeyboardInterrupt

    monkeypatch.delitem(sys.modules, "dpdb.interfaces.cli.main")
    monkeypatch.setattr(sys, "meta_path", [Interrupted])
    ran = run(people, "-c", COUNT)
    assert (ran.code, ran.out, ran.err) == (130, "", "interrupted\n")


def test_stop_at_the_first_error(run: Run, people: Path) -> None:
    ran = run(people, "--csv", "-c", "SHOW TABLES; SELECT nope FROM people; SHOW TABLES")
    assert ran.code == 1
    assert ran.out == "table,columns,unit\npeople,5,row\n"
    assert ran.err.startswith("error: no column nope\n")


def test_go_on_after_an_error(run: Run, people: Path) -> None:
    script = "SHOW TABLES; SELECT nope FROM people; SHOW TABLES"
    ran = run(people, "--csv", "--on-error", "continue", "-c", script)
    assert ran.code == 1
    assert ran.out == "table,columns,unit\npeople,5,row\n\ntable,columns,unit\npeople,5,row\n"


def test_an_error_points_at_its_place(run: Run, people: Path) -> None:
    ran = run(people, "-c", "SELECT COUNT(*)\nFROM people\nWHERE agee > 3")
    assert ran.err == (
        "error: no column agee\n  WHERE agee > 3\n        ^\nhint: did you mean age?\n"
    )


def test_version_and_help(run: Run) -> None:
    ran = run("--version")
    assert (ran.code, ran.out, ran.err) == (0, f"dpdb {__version__}\n", "")
    ran = run("--help")
    assert (ran.code, ran.err) == (0, "")
    for word in ("-c", "-f", "--epsilon", "--delta", "--queries", "--neighbors", "--bounds",
                 "--format", "--json", "--csv", "--on-error", "--teach", "--seed",
                 "dpdb init", "exit codes"):  # fmt: skip
        assert word in ran.out
    assert "Neighbors." not in ran.out


def test_choices_are_named_as_they_are_written(run: Run, people: Path) -> None:
    assert "Neighbors." not in run(people, "--neighbors", "both", "-c", COUNT).err


# --- Where statements come from


def test_scripts_run_in_the_order_given(run: Run, people: Path, tmp_path: Path) -> None:
    (tmp_path / "a.sql").write_text("SHOW TABLES; DESCRIBE people", encoding="utf-8")
    (tmp_path / "b.sql").write_text("SHOW BUDGET;\n", encoding="utf-8")
    ran = run(
        people, "--json", "-c", "SET epsilon = 0.5", "-f", tmp_path / "a.sql",
        "-c", "SET repeats = fresh; SHOW TABLES", "-f", tmp_path / "b.sql",
    )  # fmt: skip
    assert ran.code == 0
    assert [answer["statement"] for answer in ran.answers] == [
        "SET epsilon = 0.5", "SHOW TABLES", "DESCRIBE people", "SET repeats = fresh",
        "SHOW TABLES", "SHOW BUDGET",
    ]  # fmt: skip


def test_dash_is_standard_input(run: Run, people: Path) -> None:
    ran = run(people, "--json", "-c", "SHOW TABLES", "-f", "-", stdin="SHOW BUDGET")
    assert [answer["statement"] for answer in ran.answers] == ["SHOW TABLES", "SHOW BUDGET"]


def test_standard_input_is_left_alone_if_there_are_scripts(run: Run, people: Path) -> None:
    ran = run(people, "--json", "-c", "SHOW TABLES", stdin="SHOW BUDGET")
    assert [answer["statement"] for answer in ran.answers] == ["SHOW TABLES"]


def test_a_script_that_is_not_text(run: Run, people: Path, tmp_path: Path) -> None:
    (tmp_path / "a.sql").write_bytes(b"SHOW TABLES; \xff\xfe")
    ran = run(people, "-f", tmp_path / "a.sql")
    assert (ran.code, ran.out) == (2, "")
    assert "not UTF-8" in ran.err


def test_a_script_with_a_byte_order_mark(run: Run, people: Path, tmp_path: Path) -> None:
    # Notepad puts one in front.
    (tmp_path / "a.sql").write_bytes(b"\xef\xbb\xbfSHOW TABLES;")
    assert run(people, "-f", tmp_path / "a.sql").code == 0


@pytest.mark.parametrize("errors", ["strict", "surrogateescape"])
def test_standard_input_that_is_not_text(
    people: Path, errors: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Python escapes what it cannot decode where nobody has set a locale."""
    given = io.BytesIO(b"SHOW TABLES; \xff\xfe")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(given, encoding="utf-8", errors=errors))
    assert main([str(people)]) in (1, 2)
    said = capsys.readouterr().err
    assert said.startswith("error: ")
    assert "standard input" in said


def test_main_returns_a_code(people: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(people), "-c", "SHOW TABLES"]) == 0
    assert main([str(people), "-c", "SELECT"]) == 1
    assert "people" in capsys.readouterr().out


def test_bounds_that_no_double_reaches(run: Run, tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("x\n1\n")
    ran = run(tmp_path / "p.csv", "--bounds", "x=0:1e400", "-c", "SELECT COUNT(x) FROM p")
    assert (ran.code, ran.out) == (2, "")
    assert "1e300" in ran.err
