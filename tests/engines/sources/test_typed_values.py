"""A value of a typed column means what the cell of a CSV file means that writes it."""

from __future__ import annotations

import datetime
import random
import struct
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import pyarrow
import pytest

from dpdb.engines.sources.arrow.typed_source import TypedColumns
from dpdb.engines.sources.opening import open_source
from dpdb.policy.catalog import Column, Kind, Table
from dpdb.policy.timestamps import TIMESTAMPS
from tests.support.csv_files import integer, loaded, ordinal, plain, quoted
from tests.support.typed_files import KINDS, load_values, write_typed

VALUES = (Fraction(29, 100), -2, -1, Fraction(7, 100))
NUMBERS = [
    integer(),
    integer(-7, 40),
    integer(-7, 40, nullable=False),
    Column("x", Kind.INTEGER, Fraction(0), Fraction(9), values=(9, 1, 0)),
    Column("x", Kind.INTEGER, Fraction(-7), Fraction(9), values=(9, -7), nullable=False),
    Column("x", Kind.INTEGER, Fraction(1), Fraction(2**51), values=(2**51, 1, 9)),
    Column("x", Kind.INTEGER, Fraction(2**53 - 1), Fraction(2**53), values=(2**53 - 1, 2**53)),
    Column("x", Kind.NUMBER, Fraction(-5), Fraction(1, 2), Fraction(1, 2), (-5, Fraction(1, 2))),
    Column("x", Kind.NUMBER, Fraction(-5), Fraction(1, 2), values=(-5, Fraction(1, 2))),
    Column("x", Kind.NUMBER, Fraction(-2), Fraction(29, 100), Fraction(1, 100), VALUES),
    ordinal(Kind.NUMBER),
    ordinal(Kind.NUMBER, -5, 5, step="0.01"),
    ordinal(Kind.NUMBER, "-5.005", "9.999", step="0.01"),
    ordinal(Kind.NUMBER, -(2**50), 2**50, step="0.01"),
]
"""Every way in which a number is held."""
BOOLEAN, TEXT = Column("x", Kind.BOOLEAN), Column("x", Kind.TEXT)
MOMENTS = [Column("x", Kind.TIMESTAMP), ordinal(Kind.TIMESTAMP, 0, 10**13, step=60_000_000)]
OTHERS = [
    Column("x", Kind.DATE),
    BOOLEAN,
    *MOMENTS,
    TEXT,
    Column("x", Kind.TEXT, nullable=False),
    Column("x", Kind.TEXT, values=("b", "a")),
]
HOSTILE = ["", " 7", "1e400", "nan", "-0", "9007199254740993", "2020-02-30", "0001-01-01", "TRUE",
           "a", "ß\0", '"', '"a""', "a,b\nc", "x" * 10_001, "00012", "+3.5", "1_000", None,
           "2020-01-01 12:34:56.789", "2020-01-01T12:34Z", "1699-12-31 23:59"]  # fmt: skip
RANDOM = random.Random(1)
LONG = [None, -1, 2**53 + 1, -(2**63), 2**63 - 1, *range(-9, 50),
        *(RANDOM.randrange(-(2**63), 2**63) >> RANDOM.randrange(64) for _ in range(200))]  # fmt: skip
DOUBLES = [None, 0.5, 2.5, -0.0, 0.285, 1e300, 5e-324, float("nan"), float("inf"), float("-inf"),
           *(struct.unpack("d", RANDOM.randbytes(8))[0] for _ in range(200))]  # fmt: skip


def assert_alike(folder, texts, array, declared, kind="parquet"):
    """The values of an array are what these cells are, in each of the declared columns."""
    columns = [replace(column, name=f"x{at}") for at, column in enumerate(declared)]
    path = write_typed(folder, "t", pyarrow.table({column.name: array for column in columns}), kind)
    source, names = open_source(Table("t", path, tuple(columns))), [each.name for each in columns]
    held, blocks = source.load(names).columns, list(source.blocks(names))
    header = ",".join(column.name for column in columns) + ",other\n"
    lines = [",".join([quoted(text)] * len(columns)) + ",0\n" for text in texts]
    cells, rows = loaded(folder / "t.csv", header + "".join(lines), *columns)
    assert rows == len(texts) == len(array)
    for column in columns:
        for code in range(len(column.values or ())):
            parts = [block.columns[column.name].with_code(code) for block in blocks]
            with_code = [cell for part in parts for cell in part.tolist()]
            assert with_code == cells[column.name].with_code(code).tolist(), column.kind
        assert repr(plain(held[column.name])) == repr(plain(cells[column.name])), column.kind


@pytest.mark.parametrize("kind", KINDS)
def test_texts_are_cells(tmp_path, kind):
    texts = [text or "" for text in HOSTILE]
    assert_alike(tmp_path, texts, pyarrow.array(HOSTILE), [*NUMBERS, *OTHERS], kind)


@pytest.mark.parametrize("kind", KINDS)
def test_texts_of_a_dictionary_are_cells(tmp_path, kind):
    """What is in the dictionary alone, or there twice, changes nothing."""
    dictionary = pyarrow.array([text for text in HOSTILE if text is not None] + ["7", "unused", ""])
    rows = [RANDOM.choice([None, *range(len(dictionary) - 2)]) for _ in range(60)]
    array = pyarrow.DictionaryArray.from_arrays(pyarrow.array(rows, pyarrow.int32()), dictionary)
    texts = ["" if row is None else dictionary[row].as_py() for row in rows]
    if kind == "duckdb":  # whose own dictionaries have each text once
        array = array.cast(pyarrow.string())
    assert_alike(tmp_path, texts, array, [*NUMBERS, *OTHERS], kind)


def test_a_text_that_no_row_has_is_no_value_of_the_column(tmp_path):
    indices = pyarrow.array([2, None, 0], pyarrow.int8())
    array = pyarrow.DictionaryArray.from_arrays(indices, pyarrow.array(["b", "unused", "a"]))
    columns = TypedColumns.of(Table("t", tmp_path, (TEXT,)), ["x"])
    columns.add(pyarrow.record_batch([array], ["x"]))
    held = columns.finish()["x"]
    assert plain(held) == ["a", None, "b"]
    assert sorted(held.values) == ["a", "b"]


def test_integers(tmp_path):
    texts = ["" if value is None else str(value) for value in LONG]
    assert_alike(tmp_path, texts, pyarrow.array(LONG), [*NUMBERS, Column("x", Kind.TEXT)])
    small = [0, 1, 2, None]
    array = pyarrow.array(small, pyarrow.uint8())
    assert_alike(tmp_path, ["0", "1", "2", ""], array, [*NUMBERS, Column("x", Kind.BOOLEAN)])
    assert_alike(tmp_path, [str(2**64 - 1)], pyarrow.array([2**64 - 1], pyarrow.uint64()), NUMBERS)


def test_doubles(tmp_path):
    texts = ["" if value is None else repr(value) for value in DOUBLES]
    assert_alike(tmp_path, texts, pyarrow.array(DOUBLES), NUMBERS)
    halves = pyarrow.array([0.1, None], pyarrow.float32())
    assert_alike(tmp_path, ["0.10000000149011612", ""], halves, NUMBERS)


@pytest.mark.parametrize(
    ("digits", "scale"), [(9, 2), (15, 3), (18, 18), (18, 1), (38, 7), (38, 0)]
)
def test_decimals(tmp_path, digits, scale):
    """Each is the double that is nearest to it, however many digits it has."""
    whole = [None if n is None else int(str(abs(n))[:digits]) * (1 - 2 * (n < 0)) for n in LONG]
    values = [None if n is None else Decimal(f"{n}e-{scale}") for n in whole]
    texts = ["" if value is None else f"{value:f}" for value in values]
    assert_alike(tmp_path, texts, pyarrow.array(values, pyarrow.decimal128(digits, scale)), NUMBERS)


def test_dates(tmp_path):
    """Of the years that a cell can write; others are NULL, and so is infinity."""
    days = [None, 0, -719_162, 2_932_896, -719_163, 2_932_897, 2**31 - 1, -(2**31)]
    array = pyarrow.array(days, pyarrow.int32()).cast(pyarrow.date32())
    texts = ["", "1970-01-01", str(datetime.date.min), str(datetime.date.max), *[""] * 4]
    declared = [OTHERS[0], TEXT, *MOMENTS, ordinal(Kind.DATE, 0, 9)]
    assert_alike(tmp_path, texts, array, declared)
    assert_alike(tmp_path, ["1970-01-02"], pyarrow.array([86_400_000], pyarrow.date64()), declared)


@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Berlin"])
@pytest.mark.parametrize(
    ("unit", "numbers", "texts"),
    [
        ("s", [0, -1], ["1970-01-01 00:00", "1969-12-31 23:59:59"]),
        ("ms", [1_001, -1], ["1970-01-01 00:00:01.001", "1969-12-31 23:59:59.999"]),
        ("us", [1, TIMESTAMPS[0]], ["1970-01-01 00:00:00.000001", "1700-01-01 00:00"]),
        ("us", [TIMESTAMPS[0] - 1, TIMESTAMPS[1] + 1], ["", ""]),
        ("ns", [1_999, -1], ["1970-01-01 00:00:00.000001999", "1969-12-31 23:59:59.999999999"]),
    ],
)
def test_timestamps(tmp_path, unit, numbers, texts, zone):
    """In UTC, to the microsecond; whatever unit they are held in, what no cell writes is NULL."""
    far = [2**63 - 1, -(2**63)] if unit in ("ms", "us") else []
    array = pyarrow.array([*numbers, *far, None], pyarrow.int64())
    held = array.cast(pyarrow.timestamp(unit, zone))
    assert_alike(tmp_path, [*texts, *[""] * (len(far) + 1)], held, MOMENTS)


@pytest.mark.parametrize("kind", KINDS)
def test_booleans(tmp_path, kind):
    array = pyarrow.array([True, None, False])
    assert_alike(tmp_path, ["true", "", "false"], array, [BOOLEAN, TEXT], kind)


@pytest.mark.parametrize(
    ("array", "kind", "names"),
    [
        (pyarrow.array([5, None, 2**53, 2**53 + 1]), Kind.INTEGER, [5, None, 2**53, None]),
        (pyarrow.array([5.0, 2.5, 1e300]), Kind.INTEGER, [5, None, None]),
        (pyarrow.array(["5", "5.0", "2.5"]), Kind.INTEGER, [5, 5, None]),
        (pyarrow.array([Decimal("7.00"), Decimal("7.01")]), Kind.INTEGER, [7, None]),
        (pyarrow.array([5, 2**60]), Kind.TEXT, ["5", str(2**60)]),
        (
            pyarrow.array([1, -1, 2**62], pyarrow.timestamp("us", "UTC")),
            Kind.TIMESTAMP,
            [1, -1, None],
        ),
        (pyarrow.array(["a", "a\0", ""]), Kind.TEXT, ["a", None, None]),
    ],
)
def test_a_value_that_loses_anything_names_no_unit(tmp_path, array, kind, names):
    path = write_typed(tmp_path, "t", pyarrow.table({"x": array}))
    source = open_source(Table("t", path, (Column("x", kind),), "x"))
    assert plain(source.load(["x"]).columns["x"]) == names


@pytest.mark.parametrize(
    "declared",
    [integer(-7, 40), ordinal(Kind.NUMBER, -5, 5), ordinal(Kind.NUMBER, -5, 5, step="0.01")],
)
@pytest.mark.parametrize("kind", [pyarrow.int64(), pyarrow.int8(), pyarrow.decimal128(18)])
def test_whole_numbers_within_bounds_name_the_units_that_their_cells_name(tmp_path, declared, kind):
    long = kind == pyarrow.int64()
    numbers = [number for number in LONG if long or number is None or abs(number) < 2**7]
    array = pyarrow.array(numbers, pyarrow.int64() if long else pyarrow.int32()).cast(kind)
    path = write_typed(tmp_path, "t", pyarrow.table({"x": array}))
    held = open_source(Table("t", path, (declared,), "x")).load(["x"]).columns["x"]
    lines = "".join("\n" if number is None else f"{number}\n" for number in numbers)
    cells, _ = loaded(tmp_path / "t.csv", f"x\n{lines}", declared, unit="x")
    assert plain(held) == plain(cells["x"])


def test_bytes_that_are_no_text_spoil_their_own_cell_alone(tmp_path):
    content = pyarrow.py_buffer(b"ab\xff")
    offsets = pyarrow.array([0, 2, 3], pyarrow.int32()).buffers()[1]
    array = pyarrow.Array.from_buffers(pyarrow.string(), 2, [None, offsets, content])
    column = Column("x", Kind.TEXT)
    read = load_values(tmp_path, {"x": array}, column)["x"]
    assert plain(read) == ["ab", "\N{REPLACEMENT CHARACTER}"]
    named = open_source(Table("t", tmp_path / "t.parquet", (column,), "x"))
    assert plain(named.load(["x"]).columns["x"]) == ["ab", None]


def test_columns_are_found_by_whole_names(tmp_path):
    """A name with a point is no path into another column, and case may differ."""
    values = {"a": [{"b": 1}], "a.b": [2], 'q"': [3], "ID": [4]}
    columns = [Column(name, Kind.INTEGER) for name in ("a.b", 'q"', "id")]
    for kind in ("parquet", "duckdb"):
        read = load_values(tmp_path, values, *columns, kind=kind)
        assert {name: plain(column) for name, column in read.items()} == {
            "a.b": [2], 'q"': [3], "id": [4]
        }  # fmt: skip
