"""The columns of a data frame: their names, and the types of their values.

The types that pandas infers tell rows: one cell `NA` makes numbers of integers, one `x` texts, and
`2j` complex numbers. So each of them is read as every type that a policy can declare, with NULL for
what is no value. Without a policy a frame's types are public by its owner's word.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from dpdb.errors import UsageError
from dpdb.policy.catalog import Table
from dpdb.policy.csv.csv_header import distinct_names
from dpdb.policy.frames import HeldFrame
from dpdb.policy.schemas.stored_types import StoredColumn, StoredType, stored_type

_BY_KIND = {
    "b": StoredType.BOOLEAN,
    "i": StoredType.INTEGER,
    "u": StoredType.INTEGER,
    "f": StoredType.FLOAT,
    "M": StoredType.TIMESTAMP,
}
"""The stored types of columns by numpy's letter for their kind."""


def frame_columns(table: Table) -> tuple[StoredColumn, ...]:
    """The columns of the frame that a table has its rows in."""
    assert table.frame is not None
    return tuple(_columns(table.frame))


def _columns(frame: HeldFrame) -> Iterator[StoredColumn]:
    data = frame.data
    given = [*(data.columns if frame.is_pandas else data.column_names), *frame.others]
    names, _ = distinct_names([*map(_name, given)])
    if not names:
        raise UsageError("the frame has no columns", hint="an index is none: .reset_index()")
    dtypes = data.dtypes if frame.is_pandas else data.schema.types
    for name, dtype in zip(names, dtypes, strict=False):
        yield _of_pandas(name, dtype) if frame.is_pandas else _of_arrow(name, dtype)
    for name in names[len(dtypes) :]:
        yield StoredColumn(name, StoredType.TEXT, free=True, guessed=True)


def _name(given: object) -> str:
    """The name of a column: a text or a number, or several that are joined."""
    if isinstance(given, tuple):
        return "_".join(_name(each) for each in given if each != "")
    if isinstance(given, str | int) and not isinstance(given, bool):
        return str(given)
    raise UsageError(
        f"a column of the frame is called by a {type(given).__name__}",
        hint="names are texts or whole numbers: df.columns = [...]",
    )


def _of_pandas(name: str, dtype: Any) -> StoredColumn:  # noqa: ANN401
    pandas: Any = sys.modules["pandas"]
    if isinstance(dtype, pandas.CategoricalDtype):
        return _of_pandas(name, dtype.categories.dtype)
    if isinstance(dtype, pandas.ArrowDtype):
        return _of_arrow(name, dtype.pyarrow_dtype)
    if isinstance(dtype, pandas.StringDtype):
        return StoredColumn(name, StoredType.TEXT, free=True)
    if isinstance(dtype, pandas.DatetimeTZDtype):
        return StoredColumn(name, StoredType.TIMESTAMP, free=True)
    if str(dtype) == "object":
        return StoredColumn(name, StoredType.TEXT, free=True, guessed=True)
    if isinstance(dtype, pandas.SparseDtype):
        return _of_pandas(name, dtype.subtype)
    plain = hasattr(dtype, "newbyteorder") or hasattr(dtype, "numpy_dtype")
    stored = _BY_KIND.get(dtype.kind, StoredType.OTHER) if plain else StoredType.OTHER
    return StoredColumn(name, stored, free=True)


def _of_arrow(name: str, dtype: Any) -> StoredColumn:  # noqa: ANN401
    if str(dtype) == "null":
        return StoredColumn(name, StoredType.TEXT, free=True, guessed=True)
    return StoredColumn(name, stored_type(dtype), free=True)
