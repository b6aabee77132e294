"""As with CSV files, everything but the noisy value says nothing of rows in files with types."""

from __future__ import annotations

import datetime
import os
from decimal import Decimal
from unittest import mock

import numpy as np
import pyarrow
import pytest

from dpdb.engines import streams
from dpdb.engines.sources.arrow import typed_source
from dpdb.interfaces.cli import main as cli
from tests.support.typed_files import write_typed
from tests.system.test_transcript import GROUPS, POLICIES, _first_difference, drowned

__all__ = ["drowned"]

SCHEMA = pyarrow.schema([
    ("id", pyarrow.int64()), ("name", pyarrow.string()), ("age", pyarrow.float64()),
    ("income", pyarrow.decimal128(18, 2)), ("zip", pyarrow.uint64()), ("city", pyarrow.string()),
    ("smoker", pyarrow.bool_()), ("born", pyarrow.date32()),
])  # fmt: skip
ASKED = ";\n".join(GROUPS[::6])
"""Every sixth of the queries that CSV files are asked."""


def row(number, **values):
    usual = {
        "id": number, "name": ["Ann", "Bob", "Cid"][number % 3] + str(number),
        "age": 20.0 + number * 7 % 60, "income": Decimal(number * 997), "zip": 10001 + number % 2,
        "city": ["Rome", "Oslo", "Lima"][number % 3], "smoker": number % 2 == 0,
        "born": datetime.date(1940 + number, 1 + number % 9, 17),
    }  # fmt: skip
    return {**usual, **values}


BENIGN = [row(number) for number in range(24)]
WORST = [
    dict.fromkeys(SCHEMA.names),
    row(0, age=float("nan"), name=""),
    row(1, age=float("inf"), id=-(2**63), zip=2**64 - 1, name="a\0b"),
    row(2, age=-1e308, id=2**63 - 1, income=Decimal("-9999999999999999.99"), name="x" * 10_001),
    row(3, age=5e-324, city="Atlantis", born=datetime.date.max, name="\x1b]0;owned\x07"),
    row(4, age=-0.0, born=datetime.date.min, name="'; DROP TABLE t; --"),
    row(5, name="Zoe", age=33.0),
]


def table(rows):
    return pyarrow.Table.from_pylist(rows, SCHEMA)


def spoilt(rows):
    """The table, with days of no calendar and a name that is no UTF-8."""
    held = table(rows)
    days = pyarrow.array(np.where(np.arange(len(rows)) % 2, 2**31 - 1, -(2**31)), pyarrow.int32())
    held = held.set_column(7, "born", days.cast(pyarrow.date32()))
    ends = pyarrow.array(range(len(rows) + 1), pyarrow.int32()).buffers()[1]
    content = pyarrow.py_buffer(b"\xff" * len(rows))
    names = pyarrow.Array.from_buffers(pyarrow.string(), len(rows), [None, ends, content])
    return held.set_column(1, "name", names)


@pytest.mark.parametrize(
    ("kind", "declared"),
    [("parquet", "declared"), ("parquet", "units"), ("parquet", "none"), ("duckdb", "units")],
)
def test_other_rows_change_no_byte(tmp_path, capsys, monkeypatch, kind, declared):
    """Four threads share the few rows of a Parquet file, as they would those of a large one."""
    monkeypatch.setattr(typed_source, "BATCH", 5)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: range(4), raising=False)
    shared = mock.Mock(wraps=streams.Threads)
    monkeypatch.setattr(streams, "Threads", shared)
    files = [table(BENIGN), table([*WORST, *BENIGN]), table([])]
    if kind == "parquet":  # DuckDB keeps neither
        files.append(spoilt(BENIGN))
    found = []
    for rows in files:
        path = write_typed(tmp_path, "t", rows, kind)
        if (text := POLICIES[declared]) is not None:
            text = text.format(neighbors="add-remove", null="")
            named = f'[tables.t]\npath = "t.{kind}"\n'
            if "[tables.t]\n" in text:
                text = text.replace("[tables.t]\n", named)
            else:
                text = text.replace("[tables.t.columns]", f"{named}[tables.t.columns]")
            path.with_suffix(".toml").write_text(text)
        options = ["--json", "--on-error", "continue", "--epsilon", "10000", "--queries", "1000"]
        code = cli.main([str(path), "-c", ASKED, *options, "--delta", "0.001"])
        found.append((str(code), *capsys.readouterr()))
    workers = {call.args[2] for call in shared.call_args_list}
    assert (4 in workers) == (kind == "parquet" and declared != "units")
    assert '"rows": [[' in found[0][1]
    assert "dpdb failed" not in found[0][1] + found[0][2]
    for transcript in found[1:]:
        for part, expected in zip(transcript, found[0], strict=True):
            assert _first_difference(part, expected) is None
