"""Each value of a frame is read as the cell of a CSV file that writes it, whatever its dtype."""

from __future__ import annotations

import csv
import datetime
import math
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from dateutil import tz

from dpdb.engines.sources import frame_source
from dpdb.engines.sources.opening import open_source
from dpdb.policy.catalog import Column, Kind, Table
from dpdb.policy.cell_format import CellFormat
from dpdb.policy.csv.csv_format import CsvFormat
from dpdb.policy.frames import held_frame
from dpdb.vectors.columns import Numbers

INTS = [0, 1, -7, 40, 127, None]
BIG = [0, 1, 2**53, 2**53 + 1, 10**9, 2**63 - 1]
FLOATS = [0.0, -0.0, 1.0, 2.5, -7.0, 40.0, 1e22, 2.0**53, 5e-324, float("inf"), float("nan")]
TEXTS = [
    "",
    "1",
    " 7 ",
    "2.50",
    "true",
    "No",
    "2020-01-02",
    "2020-01-02 03:04:05",
    "a,\"b'\n",
    "é",
    None,
]
DAYS = ["2020-01-02", "1699-12-31", "0001-01-01", "9999-12-31", "2020-01-02T03:04:05.123456", None]
OBJECTS = [*INTS, *BIG, 2**1100, 10**5000, *FLOATS, *TEXTS, True, False, Decimal("1.50"), Decimal("NaN"),
           b"7", b"\xff", np.float32(0.5), np.int8(3), np.bool_(True), np.datetime64("2020-01-02"), pd.NaT,
           pd.NA, datetime.date(2020, 1, 2), datetime.datetime(2020, 1, 2, 3, 4, 5, 600_000),
           pd.Timestamp("2020-01-02"), pd.Timestamp("2020-01-02 03:04", tz="Asia/Tokyo"), [1], {}, object(),
           "\ud800", "a\0b", "x" * 10_000, "x" * 10_001, "é" * 5_001]  # fmt: skip


def moments(unit: str) -> pd.Series:
    return pd.Series(np.array(DAYS, dtype=f"datetime64[{unit}]"))


DTYPES: dict[str, Callable[[], pd.Series]] = {
    **{name: lambda name=name: pd.Series(INTS[:-1]).astype(name) for name in ("int8", "int16", "int32")},
    "int64": lambda: pd.Series(BIG),
    "uint8": lambda: pd.Series([0, 1, 40, 255], dtype="uint8"),
    "uint64": lambda: pd.Series([0, 1, 2**64 - 1, 2**53 + 1], dtype="uint64"),
    "Int64": lambda: pd.Series([*BIG, None], dtype="Int64"),
    "UInt8": lambda: pd.Series([0, 1, None], dtype="UInt8"),
    "float16": lambda: pd.Series([0.5, 1.0, None], dtype="float16"),
    "float32": lambda: pd.Series([0.5, 1.0, 2.0**30, None], dtype="float32"),
    "float64": lambda: pd.Series(FLOATS),
    "longdouble": lambda: pd.Series(np.array([0.5, 1.0, np.nan], dtype=np.longdouble)),
    "swapped": lambda: pd.Series(np.array(FLOATS, dtype=">f8")),
    "Float64": lambda: pd.Series([0.5, 1.0, None], dtype="Float64"),
    "bool": lambda: pd.Series([True, False]),
    "boolean": lambda: pd.Series([True, False, None], dtype="boolean"),
    "str": lambda: pd.Series(TEXTS, dtype="str"),
    "string[python]": lambda: pd.Series(TEXTS, dtype=pd.StringDtype("python")),
    "string[pyarrow]": lambda: pd.Series(TEXTS, dtype=pd.ArrowDtype(pa.string())),
    "int64[pyarrow]": lambda: pd.Series([*BIG, None], dtype=pd.ArrowDtype(pa.int64())),
    "double[pyarrow]": lambda: pd.Series([0.5, 1.0, None], dtype=pd.ArrowDtype(pa.float64())),
    "bool[pyarrow]": lambda: pd.Series([True, None], dtype=pd.ArrowDtype(pa.bool_())),
    "object": lambda: pd.Series(OBJECTS, dtype=object),
    "category": lambda: pd.Series(pd.Categorical(TEXTS)),
    "category of ints": lambda: pd.Series(pd.Categorical([7, 1, None, 7], categories=[9, 7, 1])),
    "datetime64[ns]": lambda: pd.Series(np.array(["2020-01-02", "1969-12-31T23:59:59.9999999", None], "M8[ns]")),
    "datetime64[us]": lambda: moments("us"),
    "datetime64[s]": lambda: moments("s"),
}  # fmt: skip
EMPTY = object()
DECLARATIONS: dict[str, Column] = {
    "integer": Column("x", Kind.INTEGER),
    "bounded": Column("x", Kind.INTEGER, Fraction(1), Fraction(40)),
    "listed": Column("x", Kind.INTEGER, Fraction(1), Fraction(7), values=(1, 7)),
    "number": Column("x", Kind.NUMBER),
    "on a grid": Column("x", Kind.NUMBER, Fraction(-7), Fraction(40), Fraction(1, 2)),
    "text": Column("x", Kind.TEXT),
    "short": Column("x", Kind.TEXT, length=4, nullable=False),
    "words": Column("x", Kind.TEXT, values=("1", "true", "7")),
    "boolean": Column("x", Kind.BOOLEAN),
    "date": Column("x", Kind.DATE),
    "timestamp": Column("x", Kind.TIMESTAMP),
}


def written(value: Any) -> str:
    """The cell that writes a value, as the manual says it: told without a line of the program."""
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, int | np.integer):
        return str(value) if abs(int(value)) < 2**1100 else ""
    if isinstance(value, float | np.floating):
        value = float(value)
        if not math.isfinite(value):
            return ""
        return str(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)
    if isinstance(value, Decimal):
        return str(value) if value.is_finite() else ""
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    if isinstance(value, str):
        return value
    if isinstance(value, np.datetime64):
        value = None if np.isnat(value) else value.astype("M8[us]").item()
    if isinstance(value, datetime.datetime) and value is not pd.NaT:
        zoned = value.tzinfo is not None
        value = value.astimezone(datetime.UTC).replace(tzinfo=None) if zoned else value
        plain = datetime.datetime(value.year, value.month, value.day, value.hour, value.minute, value.second,
                                  value.microsecond)  # fmt: skip
        midnight = plain.time() == datetime.time() and not zoned
        written = plain.isoformat(" ")
        return (
            plain.date().isoformat()
            if midnight
            else written.rstrip("0")
            if "." in written
            else written
        )
    return value.isoformat() if type(value) is datetime.date else ""


def cells(column: pd.Series, *, exact: bool) -> list[str]:
    """The cells of a column; with `exact` none for numbers that one NULL would round."""
    rounds = column.dtype.kind in "iufO" and isinstance(column.dtype, np.dtype)
    values = column.array.to_numpy() if column.dtype.kind == "M" else column.astype(object)
    if column.dtype.kind == "f":
        values = column.astype("float64").astype(object)
    numbers = (int, float, np.integer, np.floating)
    return [
        ""
        if exact and rounds and isinstance(value, numbers) and abs(value) >= 2**53
        else written(value)
        for value in values
    ]


def write(path: Path, cells: list[str]) -> None:
    with path.open("w", newline="", encoding="utf-8", errors="surrogateescape") as file:
        file.write("x\n")
        writer = csv.writer(file, quoting=csv.QUOTE_ALL)
        for cell in cells:
            text = cell.encode("utf-8", "surrogatepass" if cell == "\ud800" else "surrogateescape")
            writer.writerow([text.decode("utf-8", "surrogateescape")])


@pytest.mark.parametrize("unit", [None, "x"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_value_is_the_cell_that_writes_it(
    dtype: str, unit: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(frame_source, "BATCH", 7)
    column = DTYPES[dtype]()
    files = {exact: tmp_path / f"t{exact}.csv" for exact in (False, True)}
    for exact, path in files.items():
        write(path, cells(column, exact=exact))
    frame = held_frame(pd.DataFrame({"x": column}))
    for name, declared in DECLARATIONS.items():
        if unit and (declared.lower is not None or not declared.nullable):
            continue
        path = files[unit is not None or declared.kind is Kind.TEXT]
        table = Table("t", path, (declared,), unit, csv=CsvFormat(separator=","))
        own, its = values(replace(table, frame=frame)), values(table)
        assert own == its, name


def values(table: Table) -> list[Any]:
    loaded = open_source(table).load(["x"])
    assert sum(each.rows for each in open_source(table).blocks(["x"])) == loaded.rows
    column = loaded.columns["x"]
    if isinstance(column, Numbers):
        null = np.zeros(loaded.rows, bool) if column.null is None else column.null
        return [
            None if lost else unit
            for unit, lost in zip(column.units.tolist(), null.tolist(), strict=True)
        ]
    return [[*column.values, None][code] for code in column.codes.tolist()]


ZONED = [pd.Timestamp("2020-01-02", tz="UTC"), pd.Timestamp("2020-06-02 12:00", tz="UTC")]
LARGE = [1, 2**53 - 1, 2**53, 2**53 + 1, -(2**53), 10**18, 10**18 + 1]
FORMATTED = {
    "percent": CellFormat(percent=True),
    "nulls": CellFormat(null=("-33.0", "0.0", "17.85")),
    "days": CellFormat(formats=("%m/%d/%Y", "%Y-%m-%d %H:%M:%S")),
}
FORMATS = {
    f"{kind} {name}": Column("x", kind, cells=cells)
    for kind in (Kind.INTEGER, Kind.NUMBER, Kind.TEXT, Kind.DATE, Kind.TIMESTAMP)
    for name, cells in FORMATTED.items()
    if (name == "days") <= kind.temporal
} | {
    "of a grid": Column(
        "x", Kind.NUMBER, Fraction(-1), Fraction(1), Fraction(1, 1000), cells=FORMATTED["percent"]
    )
}
ADDED: dict[str, tuple[list[Any], object]] = {
    "integers become floats": (LARGE, np.nan),
    "integers become objects": (LARGE, "x"),
    "floats become objects": ([0.005, 1.005, -33.05, 17.85, -33.0, -0.0, 2.0**53, 1e300], "x"),
    "timestamps become objects": (
        [pd.Timestamp("2020-01-02"), pd.Timestamp("2020-01-02 12:00")],
        "x",
    ),
    "moments of a zone become objects": (ZONED, "x"),
    "booleans become objects": ([True, False], None),
    "a text becomes an object": (["1", " 7 ", "é", ""], 1),
}


@pytest.mark.parametrize("unit", [None, "x"])
@pytest.mark.parametrize("change", ADDED)
def test_a_row_that_changes_the_dtype_changes_no_other_row(change: str, unit: str | None) -> None:
    rows, added = ADDED[change]
    one, other = pd.Series(rows), pd.Series([*rows, added])
    assert one.dtype != other.dtype
    for name, declared in (DECLARATIONS | FORMATS).items():
        if unit and (declared.lower is not None or not declared.nullable):
            continue
        read = []
        for column in (one, other):
            frame = held_frame(pd.DataFrame({"x": column})).as_declared()
            read.append(values(Table("t", Path("t"), (declared,), unit, frame=frame))[: len(rows)])
        assert read[0] == read[1], name


@pytest.mark.parametrize(
    "value",
    [
        np.datetime64(5, "as"),
        np.datetime64(2**62, "Y"),
        datetime.datetime.max.replace(tzinfo=tz.tzstr("AAA-13BBB,J1/0,J365/24")),
    ],
)
def test_a_moment_beyond_the_calendar_is_null(value: object) -> None:
    frame = held_frame(pd.DataFrame({"x": pd.Series([value, "2020-01-02"], dtype=object)}))
    table = Table("t", Path("t"), (DECLARATIONS["timestamp"],), frame=frame)
    assert values(table)[0] is None


class Hostile(str):
    """A text all of whose methods fail."""

    def fails(self, *_: object) -> Any:
        raise AssertionError("a method of a value was called")

    __str__ = __repr__ = __eq__ = __hash__ = __len__ = __bool__ = encode = fails  # type: ignore[assignment]


class Stranger:
    __str__ = __repr__ = __eq__ = __hash__ = __float__ = __int__ = __bool__ = Hostile.fails  # type: ignore


class HostileNumber(int):
    __le__ = __ge__ = __lt__ = __gt__ = __neg__ = Hostile.fails  # type: ignore[assignment]


def test_no_method_of_a_value_is_called() -> None:
    column = [Stranger(), Hostile("a"), "b", HostileNumber(1)]
    frame = held_frame(pd.DataFrame({"x": pd.Series(column, dtype=object)}))
    table = Table("t", Path("t"), (Column("x", Kind.TEXT),), frame=frame)
    assert values(table) == [None, "a", "b", None]
