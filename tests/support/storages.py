"""The rows of a policy's tables in other kinds of storage."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import pandas
import pyarrow.parquet
import pytest

from dpdb.lab.studies.prepare import prepare
from dpdb.policy.catalog import Table
from dpdb.policy.frames import held_frame
from tests.support.cell_files import write_cells
from tests.support.postgres import Server
from tests.support.typed_files import KINDS, write_typed

POSTGRESQL = "postgresql"
FRAMES = ("frame", "frame-object", "polars")
CELLS = {"sqlite": ".db", "jsonl": ".jsonl", "xlsx": ".xlsx"}
ALL_KINDS = (*KINDS, POSTGRESQL, *FRAMES, *CELLS, "zip")
_NUMBERS = count()


def frame_of(rows: pyarrow.Table, kind: str) -> object:
    """The rows as a frame of pandas, with the types that it infers or with objects, or of polars."""
    if kind == "polars":
        return pytest.importorskip("polars").from_arrow(rows)
    if kind == "frame":
        return rows.to_pandas()
    columns = zip(rows.column_names, rows.columns, strict=True)
    objects = {name: pandas.Series(cells.to_pylist(), dtype=object) for name, cells in columns}
    return pandas.DataFrame(objects)


def in_storage(
    table: Table, folder: Path, kind: str, server: Callable[[], Server] | None = None
) -> Table:
    """The table, with the rows of its own file in one of ALL_KINDS.

    The server is asked for where it is needed, and skips that test alone. There each table is a new
    one, as none that is being read can be replaced.
    """
    if kind == "zip":
        with ZipFile(folder / f"{table.path.name}.zip", "w", ZIP_DEFLATED) as archive:
            archive.write(table.path, table.path.name)
        return replace(table, path=folder / f"{table.path.name}.zip")
    path = folder / f"{table.name}.parquet"
    prepare(table, path)
    rows = pyarrow.parquet.read_table(path)
    if kind == POSTGRESQL:
        assert server is not None
        return replace(table, server=server().insert(f"{table.name}{next(_NUMBERS)}", rows))
    if kind in FRAMES:
        return replace(table, frame=held_frame(frame_of(rows, kind)))
    if kind in CELLS:
        return replace(table, path=write_cells(folder / f"{table.name}{CELLS[kind]}", rows))
    if kind != "parquet":
        path = write_typed(folder, table.name, rows, kind)
    return replace(table, path=path)
