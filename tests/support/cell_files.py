"""Files whose rows come as cells, written from Arrow tables: SQLite, JSON lines, Excel."""

from __future__ import annotations

import datetime
import json
import sqlite3
import zipfile
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import pyarrow as pa

from dpdb.policy.timestamps import iso_timestamp

SHEET = "xl/worksheets/sheet1.xml"
NAMESPACE = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"


def write_cells(path: Path, rows: pa.Table) -> Path:
    """A file of the kind that the path says."""
    path.unlink(missing_ok=True)
    columns = [[plain(value) for value in column.to_pylist()] for column in rows.columns]
    records = list(zip(*columns, strict=True))
    if path.suffix == ".db":
        with sqlite3.connect(path) as connection:
            names = ", ".join('"' + name.replace('"', '""') + '"' for name in rows.column_names)
            connection.execute(f'CREATE TABLE "{path.stem}" ({names})')
            marks = ", ".join("?" * len(columns))
            connection.executemany(f'INSERT INTO "{path.stem}" VALUES ({marks})', records)
        connection.close()
    elif path.suffix == ".jsonl":
        lines = (json.dumps(dict(zip(rows.column_names, row, strict=True))) for row in records)
        path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    elif path.suffix == ".xlsx":
        workbook(path, [rows.column_names, *records])
    else:
        raise ValueError(path.suffix)
    return path


def plain(value: Any) -> Any:
    """A value as these files hold it: dates and timestamps are texts."""
    if isinstance(value, datetime.datetime):
        value = value if value.tzinfo else value.replace(tzinfo=datetime.UTC)
        since = value - datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
        return iso_timestamp(since // datetime.timedelta(microseconds=1))
    if isinstance(value, datetime.date):
        return value.isoformat()
    return value


def workbook(
    path: Path, rows: Any, *, sheet: str = "", main: str = "", styles: str = "", strings: str = ""
) -> Path:
    """A workbook of one sheet, `First`, with these rows; or with other texts of its files."""
    body = "".join(f"<row>{''.join(map(cell, row))}</row>" for row in rows)
    relations = f'<Relationships><Relationship Id="r1" Type="x/worksheet" Target="{SHEET[3:]}"/></Relationships>'
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/_rels/workbook.xml.rels", relations)
        archive.writestr("xl/workbook.xml", main or (
            f'<workbook xmlns="{NAMESPACE}" xmlns:r="r"><sheets><sheet name="First" r:id="r1"/></sheets></workbook>'))  # fmt: skip
        if styles:
            archive.writestr("xl/styles.xml", styles)
        if strings:
            archive.writestr("xl/sharedStrings.xml", strings)
        archive.writestr(
            SHEET,
            sheet or f'<worksheet xmlns="{NAMESPACE}"><sheetData>{body}</sheetData></worksheet>',
        )
    return path


def cell(value: Any) -> str:
    match value:
        case None:
            return "<c/>"
        case bool():
            return f'<c t="b"><v>{int(value)}</v></c>'
        case int() | float():
            return f"<c><v>{value!r}</v></c>"
    # What XML has no characters for is escaped as Excel does it.
    text = "".join(c if c.isprintable() else f"_x{ord(c):04X}_" for c in str(value))
    return f'<c t="inlineStr"><is><t xml:space={quoteattr("preserve")}>{escape(text)}</t></is></c>'
