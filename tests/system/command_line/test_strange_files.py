"""Files as strangers have them: how they are written is said by options, by a policy, or told."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from tests.support.command_line import Make, Run
from tests.support.hostile import check

EXACT = ("--epsilon", 10_000, "--queries", 1, "--json")
ALL = "SELECT COUNT(*), COUNT(name), COUNT(pay) FROM t WHERE pay > 1"
HEADER, ROWS = "name;pay;ok\n", "Jos\u00e9;2;y\nZo\u00eb;3;off\n;1;n\nx;9;on\n"


def counts(run: Run, path: Path, *words: object, script: str = ALL) -> list[object]:
    ran = run(path, *EXACT, *words, "-c", script)
    check(ran, 0)
    return ran.rows[0]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (HEADER + ROWS, ()),
        (HEADER + ROWS, ("--separator", ";")),
        ((HEADER + ROWS).replace(";", "\t"), ("--separator", "\\t")),
        ((HEADER + ROWS).replace(";", "^"), ("--separator", "^")),
        ((HEADER + ROWS).encode("latin-1"), ("--encoding", "latin-1")),
        ((HEADER + ROWS).encode("utf-16-le"), ("--encoding", "utf-16-le")),
        (ROWS, ("--separator", ";", "--no-header", "name,pay,ok")),
        (ROWS.replace(";", ","), ("--no-header", "name, pay, ok")),
    ],
)
def test_options_for_a_session(
    run: Run, make: Make, content: str | bytes, words: tuple[str, ...]
) -> None:
    assert counts(run, make(content), *words) == [3, 3, 3]


@pytest.mark.parametrize("name", ["t.csv.gz", "t.tsv", "t.tsv.gz", "t.TSV", "t.txt"])
@pytest.mark.parametrize("declared", [True, False])
def test_names_of_files(run: Run, tmp_path: Path, name: str, declared: bool) -> None:
    path = tmp_path / name
    content = (HEADER + ROWS).replace(";", "\t" if "tsv" in name.lower() else ",").encode()
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    if declared:
        policy = f'[tables.t]\npath = "{name}"\n[tables.t.columns]\nname = {{ type = "text" }}\n'
        policy += 'pay = { type = "integer", bounds = [0, 9] }\n'
        (tmp_path / "t.toml").write_text(policy)
    assert counts(run, path) == [3, 3, 3]
    assert run(path, "-c", "SHOW TABLES").err == ""


def test_keys_of_a_policy(run: Run, make: Make) -> None:
    policy = (
        '[tables.t]\nseparator = "|"\nencoding = "utf-16-be"\nquote = "\'"\ndecimal = ","\n'
        'header = false\n[tables.t.columns]\nname = { type = "text" }\n'
        'pay = { type = "number", bounds = [0, 9], step = 0.5 }\nok = { type = "boolean" }\n'
    )
    rows = "'Jos\u00e9|'|2,5|Y\nx|'3'|N\ny|1,5|maybe\n\"z\"|0,5|on\n"
    path = make(rows.encode("utf-16-be"), policy)
    script = (
        "SELECT COUNT(*) FILTER (WHERE name IN ('Jos\u00e9|', '\"z\"')), SUM(pay), "
        "COUNT(*) FILTER (WHERE ok), COUNT(*) FILTER (WHERE NOT ok) FROM t"
    )
    assert counts(run, path, script=script) == [2, 7.5, 2, 1]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--separator", ";;"), "separator is one ASCII character"),
        (("--separator", "\n"), "separator is one ASCII character"),
        (("--encoding", "klingon"), "there is no encoding klingon"),
        (("--encoding", "iso2022_jp"), "cannot be read line by line"),
        (("--no-header", "a,A"), "names that differ"),
        (("--no-header", "a,,b"), "names that differ"),
        (("--encoding", "utf-16"), "does not begin with the mark of utf-16"),
    ],
)
def test_options_that_make_no_sense(
    run: Run, make: Make, words: tuple[str, ...], said: str
) -> None:
    ran = run(make(HEADER + ROWS), *words, "-c", "SHOW TABLES")
    check(ran, 2)
    assert said in ran.err


def test_a_policy_says_how_its_files_are_written(run: Run, make: Make) -> None:
    path = make(HEADER + ROWS, '[tables.t.columns]\nname = { type = "text" }\n')
    for file in (path, path.with_suffix(".toml")):
        ran = run(file, "--separator", ";", "-c", "SHOW TABLES")
        check(ran, 2)
        assert "are for CSV files without a policy" in ran.err


def test_what_is_told_from_the_header_is_said_once(run: Run, make: Make) -> None:
    path = make((HEADER.replace("ok", "") + ROWS).encode("latin-1") + b"caf\xe9;1;\n")
    ran = run(path, "-c", "SHOW TABLES; SHOW BUDGET")
    assert ran.err.splitlines() == [
        f"note: {path}: cells are separated by semicolons, by the look of the first line;"
        ' numbers such as 12,50 need a policy with decimal = ","',
        f"note: {path}: a column has no name: here it is column_3",
    ]


def test_a_note_is_harmless_on_a_terminal(run: Run, make: Make) -> None:
    ran = run(make("\x1b[31m,\x1b[31m\n1,2\n"), "-c", "SHOW TABLES")
    check(ran, 0)
    assert "\\x1b[31m_2" in ran.err


def test_what_is_said_does_not_depend_on_rows(run: Run, make: Make) -> None:
    """No row tells a separator, an encoding or a number of columns."""
    bodies = ["", "1;2;3\n", "\u00e9,1\n" * 3, "a\tb\tc\td\te\n", '"', "sep=;\n"]
    for header, words in (("a,b\n", ()), ("", ("--no-header", "a,b"))):
        for encoding in ("utf-8", "latin-1", "utf-16-le"):
            said = set()
            for body in bodies:
                path = make(header.encode() + body.encode(encoding))
                ran = run(
                    path, *words, "-c", "DESCRIBE t; EXPLAIN SELECT COUNT(*) FROM t WHERE b > 1"
                )
                said.add((ran.code, ran.out, ran.err))
            assert len(said) == 1
            assert said.pop()[0] == 0


def test_words_of_booleans(run: Run, make: Make) -> None:
    policy = '[tables.t.columns]\nok = { type = "boolean" }\n'
    path = make("ok\nY\ny\nOn\nN\noff\nOFF\nyes\nja\n\n", policy)
    script = "SELECT COUNT(*) FILTER (WHERE ok), COUNT(*) FILTER (WHERE NOT ok) FROM t"
    assert counts(run, path, script=script) == [4, 3]


@pytest.mark.parametrize("kind", ["endless", "pipe", "folder"])
@pytest.mark.parametrize("named", ["t.toml", "t.csv"])
def test_a_policy_that_is_no_regular_file_is_refused_at_once(
    tmp_path: Path, run: Run, kind: str, named: str
) -> None:
    """Reading it would have no end, or would wait for somebody to write."""
    (tmp_path / "t.csv").write_text("a\n1\n")
    policy = tmp_path / "t.toml"
    match kind:
        case "endless":
            policy.symlink_to("/dev/zero")
        case "pipe":
            os.mkfifo(policy)
        case _:
            policy.mkdir()
    ran = run(tmp_path / named, "-c", "SHOW TABLES")
    assert (ran.code, ran.out) == (2, "")
    assert "t.toml is not a" in ran.err


@pytest.mark.parametrize("name", ["t.tsv", "t.xyz", "t", "none.csv", "t.csv.gz"])
def test_the_file_that_is_named_is_the_one_that_is_read(
    tmp_path: Path, run: Run, name: str
) -> None:
    """And not that of the policy that has the same name."""
    (tmp_path / "t.csv").write_text("a\n1\n")
    declared = '[tables.t]\npath = "t.csv"\n[tables.t.columns]\na = { type = "integer" }\n'
    (tmp_path / "t.toml").write_text(declared)
    (tmp_path / "t.tsv").write_text("a\n2\n")
    ran = run(tmp_path / name, "-c", "SELECT COUNT(*) FROM t")
    assert (ran.code, ran.out) == (2, "")
    assert "is about other files than" in ran.err or "cannot read" in ran.err
    (tmp_path / "there.csv").symlink_to("t.csv")
    (tmp_path / "there.toml").write_text(declared)
    (tmp_path / "sub").mkdir()
    for same in ("t.csv", "sub/../t.csv", "there.csv"):
        assert run(tmp_path / same, "-c", "SELECT COUNT(*) FROM t").code == 0


def test_settings_that_are_named_are_there(tmp_path: Path, run: Run) -> None:
    """With statements, too, which do not use them."""
    (tmp_path / "t.csv").write_text("a\n1\n")
    config = tmp_path / "config.toml"
    asked = (tmp_path / "t.csv", "--config", config, "-c", "SHOW TABLES")
    assert run(*asked).code == 2
    assert f"cannot read {config}" in run(*asked).err
    config.write_text("nothing = 1\n")
    assert "no setting nothing" in run(*asked).err
    config.write_text('mode = "json"\n')
    assert run(*asked).code == 0
