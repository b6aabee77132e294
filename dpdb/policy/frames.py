"""Data frames in memory as tables: recognized, held, and never written.

No library is imported for them but pyarrow: a frame's own library is in the process already.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Mapping, Sequence
from typing import Any

from dpdb.errors import DataFileError, UsageError

_STREAM = "__arrow_c_stream__"
"""The method by which libraries hand over columns of Arrow."""
_ADVICE = {"Series": ".to_frame()", "LazyFrame": ".collect()", "ndarray": "pandas.DataFrame(array)"}
"""The way to a frame from objects that are none, by the names of their types."""
SOURCES = "a path, a list of paths, a DataFrame, a policy, or a dict of tables by name"


class _Rows:
    """The object that holds the columns, so that they are forgotten with it."""

    def __init__(self, data: Any, others: Mapping[str, Sequence[object]]) -> None:  # noqa: ANN401
        self.data = data
        self.others = others


class HeldFrame:
    """A frame as it was when a session was made with it: another is another, whatever it holds.

    Tables stay in caches after their session. So a frame that belongs to policies holds its columns
    only as long as one of them is there.
    """

    def __init__(
        self,
        data: Any,  # noqa: ANN401
        others: Mapping[str, Sequence[object]] | None = None,
        *,
        declared: bool = False,
    ) -> None:
        """`data` is a `pandas.DataFrame` or a `pyarrow.Table`.

        `others` are columns that Arrow does not hold, as objects of Python. Unless the columns are
        `declared` by a policy, their types are those of the frame.
        """
        rows = data if isinstance(data, _Rows) else _Rows(data, others or {})
        self._rows: _Rows | None = rows
        self._place = weakref.ref(rows)
        self.declared = declared

    def as_declared(self) -> HeldFrame:
        """The frame of a table whose columns a policy declares."""
        return HeldFrame(self._rows or self._place(), declared=True)

    def given_away(self) -> object:
        """The rows, for a policy that holds them from now on."""
        rows, self._rows = self._place(), None
        return rows

    @property
    def data(self) -> Any:  # noqa: ANN401
        """The columns, as pandas or Arrow has them."""
        return self._held.data

    @property
    def others(self) -> Mapping[str, Sequence[object]]:
        """The columns that come after these, as objects of Python."""
        return self._held.others

    @property
    def _held(self) -> _Rows:
        rows = self._place()
        if rows is None:
            raise DataFileError("the frame of this table is forgotten, as its policy is")
        return rows

    @property
    def is_pandas(self) -> bool:
        """Whether the columns are those of pandas."""
        return _is_a(self.data, "pandas", "DataFrame")


def held_frame(source: object) -> HeldFrame | None:
    """The source, if it is a frame: by reference, as copies of pandas share their values.

    What is neither a frame of pandas or polars nor a table of Arrow may have other rows when it is
    read again, and so is read here.
    """
    if _is_a(source, "pandas", "DataFrame"):
        return HeldFrame(source.copy(deep=False))  # type: ignore[attr-defined]
    if _is_a(source, "pyarrow", "Table"):
        return HeldFrame(source)
    if not hasattr(type(source), _STREAM) or type(source).__name__ in _ADVICE:
        return None
    streamed, others = source, dict[str, Sequence[object]]()
    if _is_a(source, "polars", "DataFrame"):
        frame: Any = source
        kept = [name for name, dtype in frame.schema.items() if _is_in_arrow(dtype)]
        others = {name: frame[name].to_list() for name in frame.columns if name not in kept}
        streamed = frame.select(kept)
    return HeldFrame(_read(streamed), others)


def no_source(source: object) -> UsageError:
    """The error of an argument that is no source; it shows the type alone, as others are rows."""
    kind = type(source)
    called = f"{kind.__module__}.{kind.__qualname__}".removeprefix("builtins.")
    advice = _ADVICE.get(kind.__name__)
    hint = f"make a frame of it: {advice}" if advice else f"a source is {SOURCES}"
    return UsageError(f"dpdb reads no tables from a {called}", hint=hint)


def _is_a(source: object, module: str, name: str) -> bool:
    kind = getattr(sys.modules.get(module), name, None)
    return isinstance(kind, type) and isinstance(source, kind)


def _is_in_arrow(dtype: object) -> bool:
    """Whether Arrow has values of a type of polars: of other types no column can be handed over."""
    return str(dtype) not in ("Object", "Int128", "UInt128", "Unknown")


def _read(streamed: object) -> Any:  # noqa: ANN401
    """The rows of an Arrow stream as a table of Arrow."""
    try:
        import pyarrow  # noqa: PLC0415 (it imports numpy)
    except ModuleNotFoundError:
        raise UsageError(
            "the columns are handed over by the package pyarrow, which is not installed",
            hint='pip install "dpdb[parquet]"; a DataFrame of pandas does without',
        ) from None
    try:
        return pyarrow.RecordBatchReader.from_stream(streamed).read_all()
    except Exception:  # what it says could quote a value
        raise DataFileError(f"the rows of a {type(streamed).__name__} cannot be read") from None
