"""An answer as a DataFrame of pandas.

It is the one module of the room that imports pandas, and it is given nothing but noisy values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dpdb.answers.formats.sheet import sheet
from dpdb.answers.record import AnswerRecord, Cell
from dpdb.errors import UsageError
from dpdb.policy.catalog import Kind

if TYPE_CHECKING:
    import pandas as pd

_TYPES = {
    Kind.INTEGER: "Int64",
    Kind.NUMBER: "Float64",
    Kind.TEXT: "str",
    Kind.BOOLEAN: "boolean",
    Kind.DATE: "datetime64[s]",
    Kind.TIMESTAMP: "datetime64[us]",
}
INT64_MAX = 2**63 - 1


def data_frame(answer: AnswerRecord) -> pd.DataFrame:
    """What the answer's table shows, without intervals; see Answer.to_pandas for the types."""
    try:
        import pandas as pd  # noqa: PLC0415 (slow, and for this alone)
    except ModuleNotFoundError:
        raise UsageError("to_pandas() needs pandas", hint='pip install "dpdb[pandas]"') from None
    header, shown = sheet(answer)
    kinds: Sequence[Kind | None] = answer.kinds or [None] * len(header)
    columns = {
        i: pd.Series(column.cells, dtype=_type(kind, column.cells))
        for i, (kind, column) in enumerate(zip(kinds, shown, strict=True))
    }
    # Two columns may have the same name, so the names come last.
    return pd.DataFrame(columns).set_axis(header, axis="columns")


def _type(kind: Kind | None, cells: Sequence[Cell]) -> str | None:
    """The type of a column; None, for pandas to choose, where no query says what it is."""
    if kind is Kind.INTEGER and any(isinstance(c, int) and abs(c) > INT64_MAX for c in cells):
        return _TYPES[Kind.NUMBER]
    return None if kind is None else _TYPES[kind]
