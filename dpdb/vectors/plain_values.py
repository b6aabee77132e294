"""Values of vectors as plain Python values."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dpdb.policy.catalog import Kind, Value
from dpdb.vectors.vector import AnyVector, TextVector


def plain_values(vector: AnyVector, kind: Kind, places: npt.NDArray[np.intp]) -> list[Value | None]:
    """The values at some places; None for NULL.

    Dates are days, timestamps microseconds, and numbers whole ones.
    """
    if isinstance(vector, TextVector):
        texts = [*vector.dictionary, None]
        return [texts[code] for code in vector.codes[places].tolist()]
    values = vector.values[places].tolist()
    plain: list[Value | None] = [v if kind is Kind.BOOLEAN else int(v) for v in values]
    if vector.null is None:
        return plain
    missing = vector.null[places].tolist()
    return [None if no else value for no, value in zip(missing, plain, strict=True)]
