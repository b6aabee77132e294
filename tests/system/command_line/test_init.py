"""`dpdb init`: a draft for any header is a policy."""

from __future__ import annotations

import csv
import io
import re
import resource
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.support.command_line import Make, Run


def test_a_draft_is_a_policy(run: Run, make: Make, tmp_path: Path) -> None:
    path = make(
        "id,born,member,pay,plan,odd name\n"
        "1,1990-01-31,true,1.5,basic,x\n2,,no,20,gold,\n3,1985-05-05,FALSE,1e3,gold,y\n"
    )
    draft = run("init", path)
    assert (draft.code, draft.err) == (0, "")
    document = tomllib.loads(draft.out)
    columns = document["tables"]["t"]["columns"]
    assert {name: column["type"] for name, column in columns.items()} == {
        "id": "integer", "born": "date", "member": "boolean", "pay": "number", "plan": "text",
        "odd name": "text",
    }  # fmt: skip
    # No bound is guessed from the rows.
    assert not any("bounds" in column or "values" in column for column in columns.values())
    for secret in ("1990", "1985", "basic", "gold"):
        assert secret not in draft.out
    policy = tmp_path / "t.toml"
    policy.write_text(draft.out, encoding="utf-8")
    ran = run(path, "-c", "SELECT COUNT(*), COUNT(DISTINCT plan) FROM t; DESCRIBE t")
    assert ran.code == 0
    completed = (
        draft.out.replace('"number" }', '"number", bounds = [0, 9] }')
        .replace('plan = { type = "text" }', 'plan = { type = "text", values = ["gold"] }')
        .replace('"date" }', '"date", bounds = [1900-01-01, 2030-12-31] }')
    )
    policy.write_text(completed, encoding="utf-8")
    ran = run(path, "-c", "SELECT plan, SUM(pay), MIN(born) FROM t GROUP BY plan")
    assert ran.code == 0


@pytest.mark.parametrize(
    "name",
    ["a b", "a.b", "a#b", 'a"b', "a'b", "a\\b", "[a]", "a=b", "é", "日本", "\u202ea", "a\x7fb",
     "1", "-", "\U0001f600", "\\\U0001f600", "\U0001fffe", "tables"],
)  # fmt: skip
def test_a_draft_for_any_header(run: Run, make: Make, tmp_path: Path, name: str) -> None:
    buffer = io.StringIO()
    csv.writer(buffer).writerows([[name, "other"], ["1", "2"]])
    path = make(buffer.getvalue())
    draft = run("init", path)
    assert draft.code == 0
    columns = tomllib.loads(draft.out)["tables"]["t"]["columns"]
    assert list(columns) == [name, "other"]
    (tmp_path / "t.toml").write_text(draft.out, encoding="utf-8")
    assert run(path, "-c", "DESCRIBE t; SELECT COUNT(*) FROM t").code == 0


@pytest.mark.parametrize("name", ["a b", "a.b", "x'y", "\U0001f600", "q\\\U0001f600"])
def test_a_draft_for_any_file_name(run: Run, make: Make, name: str) -> None:
    path = make("a\n1\n", name=name)
    document = tomllib.loads(run("init", path).out)
    assert list(document["tables"]) == [name]
    assert document["tables"][name]["path"] == path.name


def types(run: Run, path: Path, *words: object) -> dict[str, str]:
    draft = run("init", path, *words)
    assert draft.code == 0
    [table] = tomllib.loads(draft.out)["tables"].values()
    return {name: column["type"] for name, column in table["columns"].items()}


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["1", "NA", "3", "n/a", "-", "", "NULL"], "integer"),
        (["1", "2", "oops"], "integer"),
        (["1", "oops"], "text"),
        (["1", "2", "3", "x", "y"], "text"),
        (["1", "2.5", "oops"], "number"),
        ([*map(str, range(95)), *"abcd"], "integer"),
        ([*map(str, range(95)), *"abcdef"], "text"),
        (["2020-01-01", "2020-01-02", "unknown"], "date"),
        (["2020-01-01 10:00:00", "2020-01-02T10:00Z", "unknown"], "timestamp"),
        (["yes", "No", "NA", "yes"], "boolean"),
        (["y", "n", "n", "?"], "boolean"),
        (["on", "off"], "boolean"),
        (["F", "F", "F"], "text"),
        (["F", "M", "F"], "text"),
        (["1", "0", "1"], "integer"),
        (["01234", "99999"], "text"),
        (["", "NA"], "text"),
    ],
)
def test_types(run: Run, make: Make, cells: list[str], kind: str) -> None:
    path = make("x,y\n" + "".join(f"{cell},\n" for cell in cells))
    assert types(run, path)["x"] == kind


@pytest.mark.parametrize(
    ("cells", "lines"),
    [
        (
            ["9/30/1990", "12/1/2020", "x"],
            ['x = { type = "date", format = "%m/%d/%Y" }  # of the first 3 cells 2 fit'],
        ),
        (
            ["30.9.1990 10:15", "1.2.2020 9:00"],
            ['x = { type = "timestamp", format = "%d.%m.%Y %H:%M" }  # of the first 2 cells 2 fit'],
        ),
        (
            ["Jan 1 2000", "Feb 29 2000"],
            ['x = { type = "date", format = "%b %d %Y" }  # of the first 2 cells 2 fit'],
        ),
        (
            ["2010/01/01 00:00:00", "2010/12/31 23:00:00"],
            [
                'x = { type = "timestamp", format = "%Y/%m/%d %H:%M:%S" }  '
                "# of the first 2 cells 2 fit"
            ],
        ),
        (
            ["19580329", "20200101", "-"],
            [
                'x = { type = "date", format = "%Y%m%d", null = ["-"] }  '
                '# of the first 3 cells 2 fit, 1 are "-"',
                '# x = { type = "integer", null = ["-"] }  # of the first 3 cells 1 are "-"',
            ],
        ),
        (["19580329", "20201301", "20209999"], ['x = { type = "integer" }']),
        (
            ["1/2/1990", "3/4/1990"],
            [
                'x = { type = "text" }',
                '# x = { type = "date", format = "%m/%d/%Y" }  # of the first 2 cells 2 fit',
                '# x = { type = "date", format = "%d/%m/%Y" }  # of the first 2 cells 2 fit',
            ],
        ),
        (
            ["$1,234.50", "$7", "$-3"],
            [
                'x = { type = "number", thousands = ",", prefix = "$" }  # of the first 3 cells 3 fit'
            ],
        ),
        (
            ["1,234", "7", "**"],
            [
                'x = { type = "integer", thousands = ",", null = ["**"] }  '
                '# of the first 3 cells 2 fit, 1 are "**"'
            ],
        ),
        (
            [*map(str, range(99)), "1,234"],
            ['x = { type = "integer", thousands = "," }  # of the first 100 cells 100 fit'],
        ),
        (
            ["12.5 %", "3%"],
            ['x = { type = "number", percent = true }  # of the first 2 cells 2 fit'],
        ),
        (
            ["1", "2", "NA", "-", "-"],
            [
                'x = { type = "integer", null = ["-", "NA"] }  '
                '# of the first 5 cells 2 are "-", 1 are "NA"'
            ],
        ),
        (
            ["Angola", "NA"],
            [
                'x = { type = "text" }',
                '# x = { type = "text", null = ["NA"] }  # of the first 2 cells 1 are "NA"',
            ],
        ),
    ],
)
def test_formats_of_cells(run: Run, make: Make, cells: list[str], lines: list[str]) -> None:
    """A draft is a policy that reads the file, and counts stand beside each line."""
    path = make("x\ty\n" + "".join(f"{cell}\t\n" for cell in cells))
    draft = run("init", path)
    written = draft.out.partition(".columns]\n")[2].splitlines()
    assert [line for line in written if "x = {" in line] == lines
    assert ("Delete the numbers of cells" in draft.out) == ("# of the first" in draft.out)
    path.with_suffix(".toml").write_text(draft.out)
    checked = run("check", path.with_suffix(".toml"))
    assert checked.code == 0
    unread = sum(cell in ("x", "NA", "-", "**") for cell in cells) if "text" not in lines[0] else 0
    assert f": {unread} of {len(cells)} cells NULL" in checked.out


def test_what_rows_tell_is_beside_the_draft_and_not_in_it(run: Run, make: Make) -> None:
    path = make("patient,customerId,age,visit nr\nann,1,5,1\nann,2,x,2\nbob,3,7,3\ncy,4,8,4\n")
    draft = run("init", path)
    assert draft.err.splitlines() == [
        'note: patient repeats. If it identifies a person, set unit = "patient"',
        "note: age: 1 of the first 4 cells are no integer, and will be NULL",
    ]
    assert "# by their names perhaps: patient, customerId, visit nr\n" in draft.out
    heading = " ".join(draft.out.replace("#", "").split("[budget]")[0].split())
    assert "for the data owner's eyes until all of it has been checked" in heading
    assert "Everything in it is public" not in heading
    assert "ann" not in draft.out


def test_rows_that_are_longer_than_the_header_are_told(run: Run, make: Make) -> None:
    """R writes no name above the names of rows: as drafted, each cell stands under the next."""
    path = make('"feed","pig"\n"a",26.5,4601\n"b",27.5,4602\n')
    assert "every row has more cells than the 2 names of the header" in run("init", path).err
    policy = path.with_suffix(".toml")
    policy.write_text(
        f'[budget]\nepsilon = 1\nqueries = 1\n[tables.t]\npath = "{path.name}"\nunit = "row"\n'
        'skip = 1\nheader = false\n[tables.t.columns]\nrow = { type = "text" }\n'
        'feed = { type = "number" }\npig = { type = "integer", bounds = [0, 9999] }\n'
    )
    exact = run(policy, "--teach", "--csv", "-c", "SET dp = off; SELECT SUM(pig) FROM t")
    assert "9203" in exact.out.split()
    assert "more cells" not in run("init", make("a,b\n1,2,3\n1,2\n")).err


def test_a_kind_of_file_that_is_not_read_is_known_by_its_name(
    run: Run, make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As CSV, each line of XML would be a row."""
    pandas = pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    path = make("<rows><row><a>1</a></row><row><a>2</a></row></rows>\n").rename("t.xml")
    for words in (("init", path), (path, "-c", "SELECT COUNT(*) FROM t")):
        ran = run(*words)
        assert (ran.code, ran.out) == (2, "")
        assert re.findall(r"pandas\.read_xml\(.t\.xml.\)\.to_parquet\(.t\.parquet.\)", ran.err)
    pandas.read_xml("t.xml", parser="etree").to_parquet("t.parquet")
    exact = run("t.parquet", "--teach", "--csv", "-c", "SET dp = off; SELECT COUNT(*) FROM t")
    assert exact.out.split()[-1] == "2"


def test_the_path_holds_where_the_policy_is_written(
    run: Run, make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make("a\n1\n")
    (tmp_path / "policies").mkdir()
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    draft = run("init", "../t.csv", "-o", "../policies/p.toml")
    assert (draft.code, draft.out) == (0, "")
    monkeypatch.chdir(tmp_path)
    assert run("policies/p.toml", "-c", "SHOW TABLES").code == 0
    again = run("init", "t.csv", "-o", "policies/p.toml")
    assert (again.code, again.out) == (2, "")
    assert "there is a file policies/p.toml already" in again.err
    assert run("init", "t.csv", "-o", "nowhere/p.toml").code == 2


@pytest.mark.parametrize(
    ("content", "words", "keys"),
    [
        (b"a,b\n1,2\n", (), {}),
        (b"\xef\xbb\xbfa,b\n1,2\n", (), {}),
        (b"a;b\n1;2\n", (), {"separator": ";"}),
        (b"a;b\n1;2,5\n", (), {"separator": ";", "decimal": ","}),
        (b"a,b\n1,caf\xe9\n", (), {"encoding": "cp1252"}),
        ("a\tb\n1\t\u00e9\n".encode("utf-16"), (), {"separator": "\t", "encoding": "utf-16"}),
        (b"a^b\n1^2\n", ("--separator", "^"), {"separator": "^"}),
        (b"a;b;c,b\n1,2\n", ("--separator", ","), {"separator": ","}),
        ("\u65e5,b\n1,2\n".encode("shift_jis"), ("--encoding", "sjis"), {"encoding": "shift_jis"}),
        (b"1|x\n2|y\n", ("--no-header",), {"separator": "|", "header": False}),
        (b"\xef\xbb\xbf1,x\n", ("--no-header",), {"encoding": "utf-8-sig", "header": False}),
        (b'a,b\n1,"2,5"\n', (), {"decimal": ","}),
        (b'a,b\n1,"2,500"\n', (), {}),
        (b"a;b\n1;1.002,5\n", (), {"separator": ";", "decimal": ","}),
        (b"Report, 2020\n\na,b,c,d\n1,2,3,4\n4,5,6,7\n", (), {"skip": 2}),
        (b"# by x, y\n# z\na,b\n1,2\n# w\n", (), {"comment": "#"}),
        (b"#a,b\nann,2\nbob,3\n", (), {}),
        (b"# by x, y and z\n# a,b\n7,8\n9,10\n", (), {"skip": 1}),
        (b"a,b\n#ff,2\n#00,3\n", (), {}),
        (b"#aa,b\n#ff,2\n#00,3\nx,4\n", (), {}),
        (b"a   b\n1   2\n 3 \t4\n", (), {"separator": " "}),
        (b"a b\none two\nthree\n", (), {}),
    ],
)
def test_how_the_file_is_written(
    run: Run, make: Make, content: bytes, words: tuple[str, ...], keys: dict[str, object]
) -> None:
    path = make(content)
    policy = path.with_suffix(".toml")
    assert run("init", path, "-o", policy, *words).code == 0
    [table] = tomllib.loads(policy.read_text(encoding="utf-8"))["tables"].values()
    columns = table.pop("columns")
    assert {key: value for key, value in table.items() if key not in ("path", "unit")} == keys
    [*_, last] = columns
    script = f'SELECT COUNT("{last}"), COUNT(*) FROM t'
    asked = run(path, "--epsilon", 10_000, "--queries", 1, "--json", "-c", script)
    rows = content.count(b"\n") - ("header" not in keys) - table.get("skip", 0)
    if "comment" in keys:
        rows -= content.count(b"# ")
    assert (asked.rows, asked.err) == ([[rows, rows]], "")


@pytest.mark.parametrize("words", [["init"], ["init", "no such file.csv"], ["init", "/"],
                                   ["init", "a", "b"]])  # fmt: skip
def test_a_draft_of_nothing(run: Run, words: list[str]) -> None:
    ran = run(*words)
    assert (ran.code, ran.out) == (2, "")
    assert "Traceback" not in ran.err


def test_a_draft_that_cannot_be_written_leaves_no_file(make: Make) -> None:
    """Half of it would be taken for the policy of the file beside it."""
    path = make("a\n1\n")
    policy = path.with_suffix(".toml")
    command = [sys.executable, "-m", "dpdb", "init", str(path), "-o", str(policy)]
    ran = subprocess.run(
        command, capture_output=True, timeout=60, check=False, text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10)),
    )  # fmt: skip
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.startswith(f"error: cannot write {policy}: ")
    assert not policy.exists()


def test_two_columns_that_may_name_units_are_asked_about(run: Run, make: Make) -> None:
    rows = "sender,receiver,words\n1,2,30\n2,3,8\n"
    draft = run("init", make(rows)).out
    asked = next(line for line in draft.splitlines() if line.startswith("# unit = "))
    declared = asked.removeprefix("# ").partition(", with units")[0]
    policy = draft.replace('unit = "row"', f"{declared}  ", 1)
    policy = policy.replace("[privacy]\n", '[privacy]\nunits = ["person"]\n')
    shown = run(make(rows, policy), "--csv", "-c", "SHOW TABLES").out
    assert "person: sender, person: receiver" in shown
