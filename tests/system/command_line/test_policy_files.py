"""Policies: what is wrong with one is said with its line, and good ones mean what they say."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.command_line import Make, Run

DATA = "a,b,c,d\n1,x,2000-01-01,true\n2,y,2001-01-01,false\n3,,,\n"
TABLE = '[tables.t]\npath = "t.csv"\n'
COLUMNS = f"{TABLE}[tables.t.columns]\n"  # what follows stands on line 4
REST = '[tables.t.columns]\na = { type = "text" }\n'
GOOD = f'{COLUMNS}a = {{ type = "integer", bounds = [0, 9] }}\n'
DEEP = 10_000


def column(declaration: str) -> str:
    return f'{COLUMNS}b = {{ type = "text" }}\na = {{ {declaration} }}\n'


BROKEN: list[tuple[str | bytes, int | None, str]] = [
    # (policy, line, what is said of it, with "\nhint: …" where it has a hint)
    ("", None, "no [tables.NAME] section"),
    ("[budget]\nepsilon = 1\n", None, "no [tables.NAME] section"),
    ("tables = 3\n", 1, "tables"),
    (TABLE, 1, "needs columns"),
    (COLUMNS, 1, "needs columns"),
    (f"{TABLE}columns = 3\n", 3, "columns"),
    (f"{COLUMNS}a = 3\n", 4, "a"),
    (f"{TABLE}workers = 2\n[tables.t.columns]\na = {{ type = 'text' }}\n", 3, "Parquet files"),
    ("x =\n", 1, "line 1"),
    (f"{GOOD}\n[tables\n", 6, "line 6"),
    ("[budget]\nepsilon = 1\nepsilon = 2\n", 3, "line 3"),
    (b"\xff\xfe[\x00", None, "not UTF-8"),
    # Unknown and misspelt
    (f"[budgett]\n{GOOD}", 1, "\nhint: did you mean budget?"),
    (f"[budget]\nepsilom = 1\n{GOOD}", 2, "\nhint: did you mean epsilon?"),
    (f'[budget]\nwindow = "30 days"\n{GOOD}', 2, "\nhint: did you mean period?"),
    (f'[privacy]\nunit = "person"\n{GOOD}', 2, "\nhint: did you mean units?"),
    (f'[privacy]\n\nneighbours = "replace"\n{GOOD}', 3, "\nhint: did you mean neighbors?"),
    (f'{GOOD}\n[privacy]\nneighbors = "both"\n', 7, '"add-remove", "replace"'),
    ('[tables.t]\ntable = "u"\n' + REST, 2, "goes with the path of a DuckDB or SQLite file"),
    ('[tables.t]\npath = "t.parquet"\ntable = "u"\n' + REST, 3, "goes with the path of a DuckDB or SQLite file"),
    ('[tables.t]\npath = "t.duckdb"\ntable = 3\n' + REST, 3, "table is a string"),
    ('[tables.t]\npath = "t.parquet"\nseparator = ";"\n' + REST, 3, "a Parquet file has no separator"),
    ('[tables.t]\npath = "t.duckdb"\nheader = false\n' + REST, 3, "a DuckDB file has no header"),
    ('[tables.t]\npth = "t.csv"\n[tables.t.columns]\na = { type = "text" }\n', 2, "path"),
    (column('typ = "integer"'), 5, "\nhint: did you mean type?"),
    (column('type = "int"'), 5, "integer, number, text, boolean, date, timestamp"),
    (column('type = ["integer"]'), 5, "integer, number, text, boolean, date, timestamp"),
    (column("bounds = [0, 1]"), 5, "integer, number, text, boolean, date, timestamp"),
    # Budgets
    (f"[budget]\nepsilon = 0\n{GOOD}", 2, "epsilon"),
    (f"[budget]\nepsilon = -1\n{GOOD}", 2, "epsilon"),
    (f"[budget]\nepsilon = 1e5\n{GOOD}", 2, "epsilon"),
    (f"[budget]\nepsilon = nan\n{GOOD}", 2, "epsilon"),
    (f"[budget]\nepsilon = inf\n{GOOD}", 2, "epsilon"),
    (f"[budget]\nepsilon = true\n{GOOD}", 2, "epsilon"),
    (f'[budget]\nepsilon = "1"\n{GOOD}', 2, "epsilon"),
    (f"[budget]\nepsilon = 1e-320\n{GOOD}", 2, "epsilon"),
    (f"[budget]\nepsilon = 1e999999999\n{GOOD}", 2, "epsilon"),
    (f"[budget]\nepsilon = 1e99999999999999999999\n{GOOD}", None, ""),
    (f"[budget]\nepsilon = 1\ndelta = 1\n{GOOD}", 3, "delta"),
    (f"[budget]\nepsilon = 1\ndelta = -0.1\n{GOOD}", 3, "delta"),
    (f"[budget]\nqueries = 0\n{GOOD}", 2, "queries"),
    (f"[budget]\nqueries = 2.5\n{GOOD}", 2, "queries"),
    (f"[budget]\nqueries = true\n{GOOD}", 2, "queries"),
    (f"[budget]\nqueries = 0x{'f' * 5000}\n{GOOD}", 2, "queries"),
    (f"[budget]\nscope = \"galaxy\"\n{GOOD}", 2, "scope"),
    # Bounds, steps and values
    (column('type = "integer", bounds = 3'), 5, "[low, high]"),
    (column('type = "integer", bounds = [3]'), 5, "[low, high]"),
    (column('type = "integer", bounds = [3, 1]'), 5, "low first"),
    (column('type = "integer", bounds = [0.5, 1]'), 5, "0.5"),
    (column('type = "integer", bounds = [false, true]'), 5, "integer"),
    (column('type = "integer", bounds = [0, 1e3]'), 5, "integer"),
    (column('type = "integer", bounds = [0, 9007199254740993]'), 5, "2^53"),
    (column('type = "number", bounds = [0, inf]'), 5, "bounds"),
    (column('type = "number", bounds = [nan, 1]'), 5, "bounds"),
    (column('type = "number", bounds = [0, 1e400]'), 5, "bounds"),
    (column('type = "number", bounds = [0, 1e350]'), 5, "bounds"),
    (column('type = "number", bounds = [0, 1e-345], step = 1e-350'), 5, "columns.a"),
    (column('type = "number", bounds = [0, 1], step = 0'), 5, "step"),
    (column('type = "number", bounds = [0, 1], step = -0.1'), 5, "step"),
    (column('type = "number", bounds = [0, 1], step = 1e-300'), 5, "columns.a"),
    (column('type = "number", bounds = [0.2, 0.8], step = 1'), 5, "step"),
    (column('type = "number", step = 0.1'), 5, "step"),
    (column('type = "integer", bounds = [0, 9], step = 1'), 5, "step"),
    (column('type = "text", bounds = [0, 1]'), 5, "bounds"),
    (column('type = "boolean", bounds = [0, 1]'), 5, "bounds"),
    (column('type = "text", values = []'), 5, "values"),
    (column('type = "text", values = "x"'), 5, "values"),
    (column('type = "text", values = [1]'), 5, "text"),
    (column('type = "text", values = [""]'), 5, "text"),
    (column('type = "text", values = ["x", "x"]'), 5, "twice"),
    (column('type = "number", values = [1, 1.0]'), 5, "twice"),
    (column('type = "integer", values = [1, 2.0]'), 5, "2.0"),
    (column('type = "boolean", values = [1]'), 5, "boolean"),
    (column('type = "integer", values = [1], bounds = [0, 1]'), 5, "values"),
    (column(f'type = "text", values = [0x{"f" * 5000}]'), 5, "text"),
    (column('type = "text", values = ["x",\n  3]'), 5, "text"),
    (column('type = "integer", nullable = false'), 5, "nullable"),
    (column('type = "integer", nullable = 1, bounds = [0, 1]'), 5, "nullable"),
    # Dates
    (column('type = "date", bounds = [2001-01-01, 2000-01-01]'), 5, "low first"),
    (column('type = "date", bounds = [2000, 2001]'), 5, "date"),
    (column('type = "date", bounds = [2000-01-01T00:00:00, 2001-01-01]'), 5, "date"),
    (column('type = "date", bounds = [00:00:00, 2001-01-01]'), 5, "date"),
    (column('type = "date", bounds = ["2000-01-01", "tomorrow"]'), 5, "date"),
    (column('type = "date", bounds = [2000-13-01, 2001-01-01]'), 5, ""),
    (column('type = "timestamp", bounds = [2001-01-01T00:00:00, 2000-01-01]'), 5, "low first"),
    (column('type = "timestamp", bounds = [2000, 2001]'), 5, "2000 is no timestamp"),
    (column('type = "integer", bounds = [0.5, 1]'), 5, "0.5 is no integer"),
    (column('type = "timestamp", bounds = [00:00:00, 2001-01-01]'), 5, "timestamp"),
    (column('type = "timestamp", bounds = ["2000-01-01 25:00", "2001-01-01"]'), 5, "timestamp"),
    (column('type = "timestamp", bounds = [1600-01-01, 2001-01-01]'), 5, "timestamp"),
    (column('type = "timestamp", values = [2000-01-01T00:00:00Z, 2000-01-01T01:00:00+01:00]'), 5,
     "a value is listed twice"),
    (column('type = "timestamp", step = 0.0000001'), 5, "a microsecond or a multiple of it"),
    (column('type = "timestamp", step = 0'), 5, "a microsecond or a multiple of it"),
    (column('type = "timestamp", bounds = [2000-01-01T00:00:01, 2000-01-01T00:00:02], step = 5'), 5,
     "step"),
    (column('type = "timestamp", values = ["2000-01-01"], step = 1'), 5, "no room for"),
    # Doubles that would be infinite for some values
    (column(f'type = "number", bounds = [0, 100_000_000_000], step = 1.{"0" * 297}1'), 5, "digits"),
    (column('type = "number", bounds = [0, 1e-295], step = 1.00000000000001e-299'), 5, "digits"),
    (column('type = "number", values = [1.00000000000001e-299, 0]'), 5, "too many decimals"),
    # Units
    (f'{TABLE}unit = "e"\n[tables.t.columns]\na = {{ type = "text" }}\n', 3, "unit"),
    (f'{TABLE}unit = 3\n[tables.t.columns]\na = {{ type = "text" }}\n', 3, "unit"),
    (f'{TABLE}unit = ["a"]\n[tables.t.columns]\na = {{ type = "text" }}\n', 3, "unit"),
    (f'{TABLE}unit = {{ a = 1 }}\n[tables.t.columns]\na = {{ type = "text" }}\n', 3, "unit"),
    (f'{TABLE}rows_per_unit = 2\n[tables.t.columns]\na = {{ type = "text" }}\n', 3, "unit"),
    (f'{TABLE}unit = "a"\nrows_per_unit = 0\n[tables.t.columns]\na = {{ type = "text" }}\n', 4, ""),
    (f"[privacy]\nsample_key = 3\n{GOOD}", 2, "sample_key"),
    (f'[privacy]\nsample = "a"\n{GOOD}', 2, "sample_key"),
    ('[tables.t]\npath = 3\n[tables.t.columns]\na = { type = "text" }\n', 2, "path"),
    # How the file is written
    (f'{TABLE}separator = ";;"\n{REST}', 3, "separator is one"),
    (f'{TABLE}separator = "é"\n{REST}', 3, "separator is one"),
    (f'{TABLE}separator = 3\n{REST}', 3, "separator is one"),
    (f'{TABLE}encoding = "utf-7"\n{REST}', 3, "line by line"),
    (f'{TABLE}encoding = "klingon"\n{REST}', 3, "no encoding"),
    (f'{TABLE}encoding = "\\u0000"\n{REST}', 3, "no encoding"),
    (f'{TABLE}encoding = 8\n{REST}', 3, "encoding"),
    (f'{TABLE}header = "no"\n{REST}', 3, "true or false"),
    (f'{TABLE}quote = "ab"\n{REST}', 3, "quote is one"),
    (f'{TABLE}quote = ","\n{REST}', 3, "quote is one"),
    (f'{TABLE}decimal = ";"\n{REST}', 3, "decimal is"),
    (f'{TABLE}separator = "^"\nquote = "^"\n{REST}', 4, "another"),
    (f'{TABLE}seperator = ";"\n{REST}', 3, "\nhint: did you mean separator?"),
    # Hostile
    (f"a = {'[' * DEEP}", None, ""),
    (f"a = {'{a=' * DEEP}", None, ""),
    (f"a = {'1' * 5000}\n{GOOD}", None, ""),
    (f"{'a.' * 1_000}a = 1\n{GOOD}", 1, "unknown key"),
    ("\0", 1, ""),
    (f'{COLUMNS}"\\u001b[31m\\u202e" = {{ type = "x" }}\n', 4, "\\x1b[31m\\u202e"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("policy", "line", "said"), BROKEN, ids=[str(text)[-60:] for text, _, _ in BROKEN]
)
def test_broken(run: Run, make: Make, policy: str | bytes, line: int | None, said: str) -> None:
    path = make(DATA, policy)
    for file in (path, path.with_suffix(".toml")):
        ran = run(file, "-c", "SHOW TABLES")
        assert (ran.code, ran.out) == (2, "")
        assert "Traceback" not in ran.err
        assert ran.err.startswith("error: ")
        assert "t.toml" in ran.err
        assert said in ran.err
        assert "\x1b" not in ran.err
        assert len(ran.err) < 1_000
        if line is not None:
            # tomllib's own complaints name the line in their own words.
            assert f"line {line}:" in ran.err or f"line {line}," in ran.err


def test_the_line_is_that_of_the_right_table(run: Run, make: Make) -> None:
    policy = (
        "# two tables with the same columns\n"
        '[tables.t]\npath = "t.csv"\n'
        '[tables.t.columns]\na = { type = "integer", bounds = [0, 9] }\nb = { type = "text" }\n'
        '[tables.u]\npath = "t.csv"\n'
        '[tables.u.columns]\nb = { type = "text" }\na = { type = "integer", bounds = [9, 0] }\n'
    )
    ran = run(make(DATA, policy), "-c", "SHOW TABLES")
    assert "line 11:" in ran.err
    assert "tables.u.columns.a.bounds" in ran.err


@pytest.mark.parametrize(
    "columns",
    [
        "[tables.t.columns.a]\ntype = 'integer'\n\nbounds = [9, 0]\n",
        "[tables.t.columns]\na.type = 'integer'\n\na.bounds = [9, 0]\n",
        "[tables.t.columns]\n'a'.type = 'integer'\n\n'a'.bounds = [9, 0]\n",
        "[tables.t.columns]\n\n\n\"a\" = { 'type' = 'integer', 'bounds' = [9, 0] }\n",
    ],
)
def test_the_line_however_it_is_written(run: Run, make: Make, columns: str) -> None:
    ran = run(make(DATA, f'[tables.t]\npath = "t.csv"\n{columns}'), "-c", "SHOW TABLES")
    assert ran.code == 2
    assert "line 6:" in ran.err


def test_a_column_may_be_called_like_a_key(run: Run, make: Make) -> None:
    policy = (
        '[tables.t.columns]\ntype = { type = "text" }\nbounds = { type = "integer", '
        'bounds = [0, 9] }\nbudget = { type = "text" }\n\n[budget]\nepsilon = 0\n'
    )
    ran = run(make("type,bounds,budget\nx,1,y\n", policy), "-c", "SHOW TABLES")
    assert "line 7:" in ran.err
    ran = run(
        make("type,bounds,budget\nx,1,y\n", policy.replace("epsilon = 0", "epsilon = 2")),
        "-c", 'SELECT SUM("bounds"), COUNT("type") FROM t',
    )  # fmt: skip
    assert ran.code == 0


def test_a_byte_order_mark(run: Run, make: Make) -> None:
    # Notepad puts one in front.
    assert run(make(DATA, b"\xef\xbb\xbf" + GOOD.encode()), "-c", "SHOW TABLES").code == 0


def test_a_file_beside_the_policy(run: Run, make: Make, tmp_path: Path) -> None:
    make(DATA, GOOD, name="t")
    (tmp_path / "deeper").mkdir()
    policy = tmp_path / "deeper" / "p.toml"
    policy.write_text(GOOD.replace('"t.csv"', '"../t.csv"'), encoding="utf-8")
    ran = run(policy, "--json", "-c", "SHOW TABLES; SELECT SUM(a) FROM t")
    assert ran.code == 0
    policy.write_text(GOOD.replace('"t.csv"', '"nope.csv"'), encoding="utf-8")
    ran = run(policy, "-c", "SHOW TABLES")
    assert (ran.code, ran.out) == (2, "")


def test_crlf_and_tabs(run: Run, make: Make) -> None:
    assert run(make(DATA, GOOD.replace("\n", "\r\n").replace(" = ", "\t=\t")), "-c", "").code == 0
    broken = GOOD.replace("[0, 9]", "[9, 0]").replace("\n", "\r\n")
    assert "line 4:" in run(make(DATA, broken), "-c", "SHOW TABLES").err


# --- Good ones

FULL = """
[budget]
epsilon = 0.3
delta = 1e-9
queries = 7

[privacy]
neighbors = "add-remove"

[tables.t]
path = "t.csv"
unit = "row"

[tables.t.columns]
a = { type = "integer", bounds = [-10, 1_000] }
b = { type = "text", values = ["x", "y", "="] }
c = { type = "date", bounds = [1900-01-01, "2030-12-31"] }
d = { type = "boolean" }
"""


def test_a_full_policy(run: Run, make: Make) -> None:
    script = (
        "SHOW BUDGET; DESCRIBE t; SELECT SUM(a), AVG(c), MAX(c) FROM t; "
        "SELECT b, d, COUNT(*) FROM t GROUP BY b, d"
    )
    ran = run(make(DATA, FULL), "--json", "-c", script)
    assert ran.code == 0
    budget, columns, answer, grouped = ran.answers
    assert {key: value for key, value in budget["budget"].items() if "left" not in key} == {
        "epsilon": 0.3, "delta": 1e-9, "queries": 7,
    }  # fmt: skip
    assert [row[:4] for row in columns["rows"]] == [
        ["a", "integer", -10, 1000],
        ["b", "text", None, None],
        ["c", "date", "1900-01-01", "2030-12-31"],
        ["d", "boolean", None, None],
    ]
    assert columns["rows"][1][4] == "x, y, ="
    assert answer["releases"][0]["sensitivity"] == 1000
    assert answer["rows"][0][2][4] == "-"
    assert [row[:2] for row in grouped["rows"]] == [
        [b, d] for b in ("x", "y", "=") for d in (False, True)
    ]


@pytest.mark.parametrize(
    ("declaration", "sensitivity"),
    [
        ('type = "integer", bounds = [0, 9]', 9),
        ('type = "integer", bounds = [-20, 9]', 20),
        ('type = "integer", bounds = [5, 5]', 5),
        ('type = "integer", bounds = [-9007199254740992, 9007199254740992]', 2**53),
        ('type = "integer", values = [3, 1, 2]', 3),
        ('type = "number", bounds = [0, 1]', 1),
        ('type = "number", bounds = [0.25, 0.75], step = 0.25', 0.75),
        ('type = "number", bounds = [0, 1_000_000], step = 0.01', 1_000_000),
        ('type = "number", bounds = [0, 2e6], step = 1_000', 2_000_000),
        ('type = "number", values = [0.5, 2.5]', 2.5),
        ('type = "integer", bounds = [0, 9], nullable = false', 9),
        ('type = "integer", values = [1, 2], nullable = false', 2),
    ],
)
def test_sums(run: Run, make: Make, declaration: str, sensitivity: float) -> None:
    policy = f"{COLUMNS}a = {{ {declaration} }}\n"
    ran = run(make(DATA, policy), "--epsilon", 100, "--json", "-c", "SELECT SUM(a) FROM t")
    assert ran.code == 0
    assert ran.answers[0]["releases"][0]["sensitivity"] == sensitivity


def test_declared_numbers_are_summed_as_they_are(run: Run, make: Make) -> None:
    policy = f'{COLUMNS}a = {{ type = "number", values = [0.5, 2.5, 0.75] }}\n'
    path = make("a\n0.5\n2.5\n2.5\n0.75\n1.5\n", policy)
    script = "SELECT SUM(a), MIN(a), MAX(a), COUNT(a), SUM(a) FILTER (WHERE a < 1) FROM t"
    ran = run(path, "--epsilon", 10_000, "--queries", 1, "--json", "-c", script)
    assert ran.rows == [[6.25, 0.5, 2.5, 4, 1.25]]


def test_a_unit_of_several_rows(run: Run, make: Make) -> None:
    policy = (
        f'{TABLE}unit = "b"\nrows_per_unit = 3\n[tables.t.columns]\n'
        'a = { type = "integer", bounds = [0, 9] }\nb = { type = "text" }\n'
    )
    ran = run(make(DATA, policy), "--json", "-c", "SELECT COUNT(*), SUM(a) FROM t")
    assert ran.code == 0
    drawn = [(r["aggregate"], r["sensitivity"]) for r in ran.answers[0]["releases"]]
    assert drawn == [("sum_above_lower", 27), ("sum_below_upper", 27), ("null_count", 3)]


@pytest.mark.parametrize("name", ["odd name", "a.b", "x#y", 'q"q', "é", "1"])
def test_names_that_need_quotes(run: Run, make: Make, name: str) -> None:
    quoted = '"' + name.replace('"', '\\"') + '"'
    policy = f'[tables.t.columns]\n{quoted} = {{ type = "integer", bounds = [0, 9] }}\n'
    header = '"' + name.replace('"', '""') + '"'
    ran = run(make(f"{header},z\n1,2\n", policy), "-c", f"SELECT SUM({header}) FROM t")
    assert ran.code == 0


@pytest.mark.parametrize("noise", ["system", "opendp"])
def test_sources_of_noise(run: Run, make: Make, noise: str) -> None:
    if noise == "opendp":
        pytest.importorskip("opendp")
    ran = run(make(DATA, f'[privacy]\nnoise = "{noise}"\n{GOOD}'), "-c", "SELECT SUM(a) FROM t")
    assert ran.code == 0


def test_replace(run: Run, make: Make) -> None:
    ran = run(
        make(DATA, f'[privacy]\nneighbors = "replace"\n{GOOD}'),
        "--json", "-c", "SELECT COUNT(*), SUM(a) FROM t",
    )  # fmt: skip
    assert ran.answers[0]["rows"][0][0] == 3
    assert [r["aggregate"] for r in ran.answers[0]["releases"]] == ["sum"]
