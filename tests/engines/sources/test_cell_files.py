"""SQLite, JSON lines and Excel: what a cell of each is, and files that mean no good."""

from __future__ import annotations

import sqlite3
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import pytest

import dpdb
from dpdb.engines.sources import cell_source
from dpdb.engines.sources.opening import open_source
from dpdb.errors import DataFileError
from dpdb.interfaces.cli.main import main
from dpdb.lab.studies.draft import drafts
from dpdb.policy.catalog import Column, Kind, Table
from dpdb.policy.csv.csv_format import CsvFormat
from dpdb.policy.reading.reader import read_policy
from dpdb.policy.schemas import workbook as workbooks
from dpdb.policy.schemas.table_files import check_file, undeclared_tables
from dpdb.vectors.columns import Numbers
from tests.support.cell_files import NAMESPACE, cell, workbook


def column(path: Path, kind: Kind = Kind.TEXT, name: str = "x", **fields: Any) -> list[Any]:
    """The values of a column of the only table in a file."""
    table = Table("t", path, (Column(name, kind),), **fields)
    found = open_source(table).load([name]).columns[name]
    if isinstance(found, Numbers):
        assert found.null is not None
        return [
            None if lost else unit
            for unit, lost in zip(found.units.tolist(), found.null, strict=True)
        ]
    return [[*found.values, None][code] for code in found.codes.tolist()]


def database(path: Path, *statements: str) -> Path:
    with sqlite3.connect(path) as connection:
        for statement in statements:
            connection.execute(statement)
    connection.close()
    return path


def test_a_cell_of_sqlite_is_what_it_holds_whatever_its_column_says(tmp_path: Path) -> None:
    path = database(
        tmp_path / "t.db",
        "CREATE TABLE t (x INTEGER, y REAL)",
        "INSERT INTO t VALUES (1, 2.5), ('12x', 'abc'), (NULL, 9e999), (9223372036854775807, 3.0)",
        "INSERT INTO t VALUES (CAST(x'ff' AS TEXT), -9e999), (x'37', 1), ('', '')",
    )
    assert column(path) == ["1", "12x", None, "9223372036854775807", "\ufffd", "7", None]
    assert column(path, Kind.INTEGER) == [1, None, None, 2**53, None, 7, None]
    assert column(path, Kind.NUMBER, "y") == [2.5, None, None, 3.0, None, 1.0, None]
    assert column(path, Kind.TEXT, "y") == ["2.5", "abc", None, "3", None, "1", None]


def test_rows_of_sqlite_have_one_order_whichever_columns_are_read(tmp_path: Path) -> None:
    path = database(
        tmp_path / "t.db",
        "CREATE TABLE t (x INTEGER, y INTEGER)",
        "CREATE INDEX by_x ON t (x)",
        "INSERT INTO t VALUES (3, 1), (1, 2), (2, 3)",
    )
    assert column(path, Kind.INTEGER) == [3, 1, 2]
    assert column(path, Kind.INTEGER, "y") == [1, 2, 3]


def test_what_sqlite_computes_is_left_out(tmp_path: Path) -> None:
    path = database(
        tmp_path / "t.db",
        "CREATE TABLE t (x INTEGER, day DATE, seen DATETIME, other, z INTEGER GENERATED ALWAYS AS (1 / x))",
        "CREATE VIEW v AS SELECT * FROM t",
        "CREATE TABLE u (a TEXT)",
    )
    tables = undeclared_tables(path)
    assert [table.name for table in tables] == ["t", "u"]
    kinds = {each.name: each.kind for each in tables[0].columns}
    assert kinds == {
        "x": Kind.INTEGER,
        "day": Kind.DATE,
        "seen": Kind.TIMESTAMP,
        "other": Kind.TEXT,
    }
    [named] = undeclared_tables(Path(f"{path}?table=u"))
    assert (named.name, named.path) == ("u", path)
    for bad in ("?table=v", "?table=w"):
        with pytest.raises(DataFileError, match="there is no table"):
            undeclared_tables(Path(f"{path}{bad}"))
    (tmp_path / "no.db").write_text("x,y\n1,2\n" * 100)
    with pytest.raises(DataFileError, match="cannot be read as a SQLite file"):
        undeclared_tables(tmp_path / "no.db")


@pytest.mark.parametrize(
    ("line", "text", "number"),
    [
        ('{"x": 9007199254740993}', "9007199254740993", 2.0**53),
        ('{"x": 1e400}', "1e400", None),
        ('{"x": ' + "9" * 5_000 + "}", "9" * 5_000, None),
        ('{"x": 1.50, "x": "7"}', "7", 7.0),
        ('{"x": true}', "true", None),
        ('{"x": [1]}', None, None),
        ('{"x": {"x": 1}}', None, None),
        ('{"y": 1}', None, None),
        ('{"x": "\\ud800"}', "\ufffd\ufffd\ufffd", None),
        ('{"x": "a\\u0000"}', "a\ufffd", None),
        ("[1]", None, None),
        ('{"x": 1', None, None),
        ("[" * 100_000, None, None),
        ('{"x": "' + "y" * 10_001 + '"}', None, None),
        ('{"x": "' + "y" * 70_000 + '"}', None, None),
    ],
)  # fmt: skip
def test_a_value_of_json_is_as_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, text: Any, number: Any
) -> None:
    """In a line and in an array; in an array what is not closed takes the rest."""
    monkeypatch.setattr(cell_source, "_LINE", 1 << 17)
    path = tmp_path / "t.jsonl"
    path.write_text(f'\ufeff{{"x": "first"}}\n\n{line}\r\n{{"x": "last"}}')
    assert column(path) == ["first", text, "last"]
    assert column(path, Kind.NUMBER) == [None, number, None]
    path = path.rename(tmp_path / "t.json")
    assert column(path) == ["first", text, "last"]
    path.write_text(f'\ufeff [{{"x": "first"}},\n{line},\r\n{{"x": "last"}}\n]\n')
    closed = ["last"] if line.count("[") == line.count("]") and line[-1] in "]}" else []
    assert column(path) == ["first", text, *closed]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("[]", []),
        ("", []),
        ('[{"x": "a,b]}"}, {"x": "\\"[{"}, {"y": {"x": [1, {}]}, "x": 3}]', ["a,b]}", '"[{', "3"]),
        ('[{"x": 1}, 5, "x", null, [], {"x": 2},]', ["1", None, None, None, None, "2"]),
        ('[{"x": 1}, , {"x": 2}', ["1", None, "2"]),
        ('[{"x": "%s"}, {"x": 2}]' % ("y" * 300), [None, "2"]),
    ],
)
def test_elements_of_an_array_of_json(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, found: list[str | None]
) -> None:
    monkeypatch.setattr(cell_source, "_LINE", 256)
    path = tmp_path / "t.json"
    path.write_text(text)
    assert column(path) == found
    monkeypatch.setattr(cell_source, "_MOST_JSON", 20)
    if len(text) > 20:
        with pytest.raises(DataFileError, match="is an array of over"):
            column(path)


@pytest.mark.parametrize("text", ["", "[]", "{\n}", '{"data": [{"x": 1}]}', "[[1, 2]]"])
def test_init_says_where_json_holds_no_rows(tmp_path: Path, text: str) -> None:
    path = tmp_path / "t.json"
    path.write_text(text)
    with pytest.raises(DataFileError, match="rows are objects") as refused:
        drafts(str(path), CsvFormat())
    assert 't.jsonl"' in (refused.value.hint or "")


def test_a_line_of_json_has_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cell_source, "_LINE", 64)
    path = tmp_path / "t.jsonl"
    path.write_text('{"x": 1}\n{"x": "' + "y" * 1_000 + '"}\n{"x": 2}\n{"x": "' + "y" * 300)
    assert column(path) == ["1", None, "2", None]


def test_a_line_of_many_objects_takes_no_memory(tmp_path: Path) -> None:
    """A line of 6 MB, of which Python would make 180 MB of objects."""
    path = tmp_path / "t.jsonl"
    path.write_text('{"x": 1}\n{"x": [' + "{}," * 2_000_000 + "{}]}\n")
    tracemalloc.start()
    assert column(path) == ["1", None]
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 50_000_000


def test_json_lines_need_a_policy(tmp_path: Path) -> None:
    """The keys of rows are theirs alone."""
    path = tmp_path / "t.jsonl"
    with pytest.raises(DataFileError, match="cannot read"):
        dpdb.connect(path)
    path.write_text('{"x": 1, "y": "a"}\n' * 3)
    with pytest.raises(DataFileError) as refused:
        dpdb.connect(path)
    assert "dpdb init" in (refused.value.hint or "")
    policy = {"tables": {"t": {"columns": {"x": {"type": "integer"}, "z": {"type": "text"}}}}}
    assert dpdb.connect(path, policy=policy).execute("DESCRIBE t").rows


DATES = f"""<styleSheet xmlns="{NAMESPACE}"><numFmts><numFmt numFmtId="164" formatCode="yyyy\\-mm\\-dd"/>
<numFmt numFmtId="165" formatCode="[h]:mm"/><numFmt numFmtId="166" formatCode="0.0&quot; days&quot;"/></numFmts>
<cellStyleXfs><xf numFmtId="14"/></cellStyleXfs>
<cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="164"/><xf numFmtId="165"/><xf numFmtId="166"/></cellXfs>
</styleSheet>"""


def sheet(*cells: str) -> str:
    rows = "".join(f"<row>{each}</row>" for each in (cell("x"), *cells))
    return f'<worksheet xmlns="{NAMESPACE}"><sheetData>{rows}</sheetData></worksheet>'


def number(value: str, style: int = 0) -> str:
    return f'<c s="{style}"><v>{value}</v></c>'


def test_a_cell_of_a_sheet_is_the_value_it_stores(tmp_path: Path) -> None:
    cells = {
        number("0.10000000000000001"): "0.1", number("7"): "7", number("1E3"): "1000", number("1_0"): None,
        number("43832", 1): "2020-01-02", number("43832.5", 2): "2020-01-02 12:00:00",
        number("60", 1): None, number("61", 1): "1900-03-01", number("2958465", 1): "9999-12-31",
        number("2958466", 1): None, number("1.5", 3): "1.5", number("43832", 4): "43832",
        '<c t="e"><v>#N/A</v></c>': None, '<c t="b"><v>1</v></c>': "true",
        '<c t="str"><f>A1</f><v>told</v></c>': "told", "<c><f>1+1</f></c>": None,
        '<c t="s"><v>9</v></c>': None,
        '<c t="inlineStr"><is><r><t>ru</t></r><r><t>ns</t></r><rPh><t>no</t></rPh></is></c>': "runs",
    }  # fmt: skip
    marked = [f'{each}<c r="B1"><v>1</v></c>' for each in cells]
    first = cell("x") + cell("y")
    body = sheet(*marked).replace(cell("x"), first, 1)
    path = workbook(tmp_path / "t.xlsx", [], sheet=body, styles=DATES)
    assert column(path) == [*cells.values()]
    days = [
        text if text and text[4:5] == "-" and len(text) == 10 else None for text in cells.values()
    ]
    assert [day is not None for day in column(path, Kind.DATE)] == [day is not None for day in days]


def test_days_of_a_workbook_may_be_counted_from_1904(tmp_path: Path) -> None:
    main_file = (
        f'<workbook xmlns="{NAMESPACE}" xmlns:r="r"><workbookPr date1904="1"/>'
        '<sheets><sheet name="First" r:id="r1"/></sheets></workbook>'
    )
    path = workbook(
        tmp_path / "t.xlsx", [], sheet=sheet(number("42370", 1)), styles=DATES, main=main_file
    )
    assert column(path) == ["2020-01-02"]


def test_a_sheet_is_chosen_by_its_name(tmp_path: Path) -> None:
    path = workbook(tmp_path / "t.xlsx", [["x"], [1]])
    [table] = undeclared_tables(path)
    assert (table.name, [each.name for each in table.columns]) == ("t", ["x"])
    [table] = undeclared_tables(Path(f"{path}?sheet=First"))
    assert table.name == "First"
    with pytest.raises(DataFileError, match="no sheet Other"):
        undeclared_tables(Path(f"{path}?sheet=Other"))
    (tmp_path / "p.toml").write_text(
        '[tables.people]\npath = "t.xlsx"\nsheet = "First"\n[tables.people.columns]\nx = { type = "integer" }\n'
    )
    [table] = read_policy(tmp_path / "p.toml").tables
    check_file(table)
    assert open_source(table).load(["x"]).rows == 1


def test_two_cells_far_apart_take_no_memory(tmp_path: Path) -> None:
    """In 4,790 bytes: another reader asks for 549 GB and aborts the process."""
    far = '<row r="1"><c r="A1"><v>1</v></c></row><row r="1048576"><c r="XFD1048576"><v>1</v></c></row>'
    path = workbook(
        tmp_path / "t.xlsx", [], sheet=f"<worksheet><sheetData>{far}</sheetData></worksheet>"
    )
    assert column(path, name="1") == []


@pytest.mark.parametrize("shared", [True, False])
def test_a_long_text_of_a_sheet_takes_no_memory(tmp_path: Path, shared: bool) -> None:
    """A file of 20 KB whose one text unpacks to 14 MB."""
    long = "<t>" + "_x0041_" * 2_000_000 + "</t>"
    text = '<c t="s"><v>0</v></c>' if shared else f'<c t="inlineStr"><is>{long}</is></c>'
    texts = f"<sst><si>{long}</si><si><t>b</t></si></sst>"
    path = workbook(
        tmp_path / "t.xlsx", [], sheet=sheet(text, '<c t="s"><v>1</v></c>'), strings=texts
    )
    tracemalloc.start()
    assert column(path) == [None, "b"]
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 2_000_000


@pytest.mark.parametrize(
    ("spoilt", "said"),
    [
        (
            "<!DOCTYPE a [<!ENTITY b 'c'>]><worksheet><sheetData/></worksheet>",
            "has a document type",
        ),
        ("<worksheet><sheetData><row>", "cannot be read as an Excel workbook"),
        ("no XML", "cannot be read as an Excel workbook"),
        ("<worksheet><sheetData/></worksheet>", "is empty"),
        ("<worksheet>" + "<row/>" * 20_000 + "</worksheet>", "unpacks to more than"),
    ],
)
def test_a_workbook_that_is_none_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spoilt: str, said: str
) -> None:
    monkeypatch.setattr(workbooks, "MOST_UNPACKED", 100_000)
    path = workbook(tmp_path / "t.xlsx", [], sheet=spoilt)
    with pytest.raises(DataFileError, match=said):
        undeclared_tables(path)


def test_a_file_that_is_no_archive_is_no_workbook(tmp_path: Path) -> None:
    path = tmp_path / "t.xlsx"
    path.write_bytes(b"x,y\n1,2\n")
    with pytest.raises(DataFileError, match="cannot be read as an Excel workbook"):
        undeclared_tables(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.txt", "a")
    with pytest.raises(DataFileError, match="cannot be read as an Excel workbook"):
        undeclared_tables(path)


@pytest.mark.parametrize("suffix", [".db", ".jsonl", ".json", ".xlsx"])
def test_init_drafts_a_policy_that_check_reads(
    tmp_path: Path, suffix: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / f"people{suffix}"
    rows = [("a", 7, "2020-01-02"), ("b", 8.5, "x"), (None, 9, None)]
    if suffix == ".db":
        database(path, "CREATE TABLE people (name TEXT, age NUMERIC, day DATE)")
        with sqlite3.connect(path) as connection:
            connection.executemany("INSERT INTO people VALUES (?, ?, ?)", rows)
        connection.close()
    elif suffix == ".xlsx":
        workbook(path, [("name", "age", "day"), *rows])
    else:
        lines = ['{"name": "a", "age": 7, "day": "2020-01-02"}', '{"name": "b", "age": 8.5, "day": "x"}', '{"age": 9}']  # fmt: skip
        path.write_text("\n".join(lines) if suffix == ".jsonl" else f"[{','.join(lines)}]")
    assert main(["init", str(path), "-o", str(tmp_path / "people.toml")]) == 0
    kinds = [each.kind for each in read_policy(tmp_path / "people.toml").tables[0].columns]
    assert kinds[:2] == [Kind.TEXT, Kind.NUMBER]
    capsys.readouterr()
    assert main(["check", str(tmp_path / "people.toml")]) == 0
    assert "people: 3 rows in" in capsys.readouterr().out


def test_the_command_line_names_one_table_of_a_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    workbook(tmp_path / "t.xlsx", [["x"], [1]])
    database(tmp_path / "t.db", "CREATE TABLE a (x TEXT)", "CREATE TABLE b (y INTEGER)")
    for name, table in (("t.xlsx?sheet=First", "First"), ("t.db?table=b", "b")):
        assert main([str(tmp_path / name), "-c", "SHOW TABLES", "--csv"]) == 0
        assert capsys.readouterr().out == f"table,columns,unit\n{table},1,row\n"
    output = tmp_path / "b.parquet"
    assert main(["prepare", str(tmp_path / "t.db?table=b"), "-o", str(output)]) == 0
    assert [each.name for each in undeclared_tables(output)[0].columns] == ["y"]


def test_spark_reads_none_of_these(tmp_path: Path) -> None:
    path = database(tmp_path / "t.db", "CREATE TABLE t (x TEXT)")
    with pytest.raises(DataFileError, match="not read by Spark"):
        check_file(Table("t", path, (Column("x", Kind.TEXT),), engine="spark"))
