"""An answer as a table of another library: a DataFrame of pandas or polars, a table of Arrow.

The type of a column follows from the query alone, but that whole numbers beyond 64 bits become
doubles. The libraries are imported on request, and are given nothing but noisy values.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any

from dpdb.answers.formats.sheet import sheet, sheet_kinds
from dpdb.answers.record import AnswerRecord, Cell
from dpdb.errors import UsageError
from dpdb.policy.catalog import Kind

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

INT64 = range(-(2**63), 2**63)
TypedCell = Cell | datetime.date
"""A cell as Python has its type: dates and timestamps are no texts."""


def typed(cell: Cell, kind: Kind) -> TypedCell:
    """A cell of a column of this kind."""
    if cell is None:
        return None
    match kind:
        case Kind.DATE:
            return datetime.date.fromisoformat(str(cell))
        case Kind.TIMESTAMP:
            return datetime.datetime.fromisoformat(str(cell))
        case Kind.NUMBER:
            return float(cell)
        case Kind.TEXT:
            return str(cell)
    return cell


def columns(answer: AnswerRecord, *, intervals: bool) -> Iterator[tuple[str, Kind, list[Any]]]:
    """The name, the kind and the typed cells of each column, as `sheet` has them."""
    if answer.trial:
        number = len(answer.releases if answer.explain else answer.rows)
        yield "trial", Kind.BOOLEAN, [True] * number
    header, shown = sheet(answer, intervals=intervals)
    kinds = sheet_kinds(answer, shown, intervals=intervals)
    for name, column, kind in zip(header, shown, kinds, strict=True):
        yield name, kind, [typed(cell, kind) for cell in column.cells]


def _fitting(answer: AnswerRecord, *, intervals: bool) -> Iterator[tuple[str, Kind, list[Any]]]:
    """The columns, with doubles in place of whole numbers that do not fit 64 bits."""
    for name, kind, cells in columns(answer, intervals=intervals):
        if kind is Kind.INTEGER and not all(cell is None or cell in INT64 for cell in cells):
            yield name, Kind.NUMBER, [typed(cell, Kind.NUMBER) for cell in cells]
        else:
            yield name, kind, cells


_TYPES = {
    Kind.INTEGER: ("Int64", "Int64", "int64"),
    Kind.NUMBER: ("Float64", "Float64", "float64"),
    Kind.TEXT: ("str", "String", "string"),
    Kind.BOOLEAN: ("boolean", "Boolean", "bool"),
    Kind.DATE: ("datetime64[s]", "Date", "date32"),
    Kind.TIMESTAMP: ("datetime64[us]", "Datetime", "timestamp[us]"),
}
"""The types that columns of each kind have in pandas, polars and Arrow."""


def data_frame(answer: AnswerRecord, *, intervals: bool) -> pd.DataFrame:
    """A DataFrame of pandas."""
    pandas = _library("pandas", "df()", "pandas")
    named = list(_fitting(answer, intervals=intervals))
    made = {
        i: pandas.Series(cells, dtype=_TYPES[kind][0]) for i, (_, kind, cells) in enumerate(named)
    }
    # Two columns may have the same name, so the names come last.
    frame: pd.DataFrame = pandas.DataFrame(made).set_axis([name for name, _, _ in named], axis=1)
    return frame


def polars_frame(answer: AnswerRecord, *, intervals: bool) -> pl.DataFrame:
    """A DataFrame of polars, in which a name that is there already gets a number: `n`, `n_2`."""
    polars = _library("polars", "to_polars()", "polars")
    made: dict[str, pl.Series] = {}
    for name, kind, cells in _fitting(answer, intervals=intervals):
        number, label = 1, name
        while label in made:
            number += 1
            label = f"{name}_{number}"
        made[label] = polars.Series(label, cells, dtype=getattr(polars, _TYPES[kind][1]))
    frame: pl.DataFrame = polars.DataFrame(made)
    return frame


def arrow_table(answer: AnswerRecord, *, intervals: bool) -> pa.Table:
    """A table of Arrow."""
    arrow = _library("pyarrow", "to_arrow()", "parquet")
    names, arrays = [], []
    for name, kind, cells in _fitting(answer, intervals=intervals):
        names.append(name)
        arrays.append(arrow.array(cells, type=_TYPES[kind][2]))
    return arrow.Table.from_arrays(arrays, names=names)


def _library(name: str, method: str, extra: str) -> Any:  # noqa: ANN401 (a module)
    try:
        return import_module(name)
    except ModuleNotFoundError:
        raise UsageError(f"{method} needs {name}", hint=f'pip install "dpdb[{extra}]"') from None
