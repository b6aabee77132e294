"""The parts of a column of codes, which come one after another."""

from __future__ import annotations

from dpdb.engines.sources.builder import code_type, joined
from dpdb.policy.catalog import Value
from dpdb.vectors.columns import Codes


class CodeParts:
    """Codes of the same values; those of one part alone stay as they are held."""

    def __init__(self, values: tuple[Value, ...]) -> None:
        self._values = values
        self._parts: list[Codes] = []

    def add(self, part: Codes) -> None:
        """Append a part."""
        if self._parts:
            # Where there are several parts, plain codes are the narrowest way to hold each.
            self._parts[-1] = Codes(self._parts[-1].codes, self._values)
        self._parts.append(part)

    def finish(self) -> Codes:
        """All parts that were added since they were last asked for."""
        parts, self._parts = self._parts, []
        if len(parts) == 1:
            return parts[0]
        return Codes(joined([part.codes for part in parts], code_type(self._values)), self._values)
