"""An answer as a DataFrame of pandas.

This module alone of the room imports pandas: it is given noisy values, and makes no others of them.
"""

from __future__ import annotations

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
}
_BEYOND = "Float64"


def data_frame(answer: AnswerRecord) -> pd.DataFrame:
    """What the answer's table shows, without intervals; see Answer.to_pandas for the types."""
    try:
        import pandas as pd  # noqa: PLC0415 (slow, and for this alone)
    except ImportError:
        raise UsageError("to_pandas() needs pandas", hint='pip install "dpdb[pandas]"') from None
    header, rows = sheet(answer)
    types = [_TYPES[kind] for kind in answer.kinds] if answer.kinds and not answer.explain else None
    columns = {}
    for i in range(len(header)):
        cells = [row[i] for row in rows]
        known = types and (_BEYOND if _is_beyond(cells) else types[i])
        columns[i] = pd.Series(cells, dtype=known or None)
    # Two columns may have the same name, so the names come last.
    return pd.DataFrame(columns).set_axis(header, axis="columns")


def _is_beyond(cells: list[Cell]) -> bool:
    """Whether a whole number among the cells does not fit 64 bits."""
    return any(isinstance(cell, int) and not -(2**63) <= cell < 2**63 for cell in cells)
