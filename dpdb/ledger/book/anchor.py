"""An anchor: a file, kept elsewhere, that tells an older copy of a ledger from the ledger.

A copy is whole in itself. But the anchor has been told the seal of each later entry, and the copy
does not lead to those.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from dpdb.errors import LedgerError
from dpdb.records import dataclass

_RECORD = re.compile(rb"^([0-9]{1,18}) ([0-9a-f]{64})$", re.MULTILINE)
_TAIL = 2**14
"""How many bytes at the end are read: processes may add their records out of order."""


@dataclass(frozen=True)
class Anchor:
    """A file to which a record is added for each entry: its number and its seal."""

    path: Path

    def begin(self, number: int, seal: bytes) -> None:
        """Make the file, with one record; raises LedgerError where there is one."""
        self._write(os.O_CREAT | os.O_EXCL, number, seal)

    def add(self, number: int, seal: bytes) -> None:
        """Add a record, which is on the disk then; raises LedgerError."""
        self._write(0, number, seal)

    def last(self) -> tuple[int, bytes]:
        """The number and the seal of the last entry that the anchor was told of."""
        try:
            with self.path.open("rb") as file:
                file.seek(0, os.SEEK_END)
                file.seek(max(file.tell() - _TAIL, 0))
                records = _RECORD.findall(file.read())
        except OSError as error:
            raise self._refused(error) from None
        if not records:
            raise LedgerError(f"{self.path} is no anchor of a ledger")
        number, seal = max(records, key=lambda record: int(record[0]))
        return int(number), bytes.fromhex(seal.decode())

    def _write(self, how: int, number: int, seal: bytes) -> None:
        # A line end comes first, too: the record before may have been cut off by a crash.
        record = f"\n{number} {seal.hex()}\n".encode()
        try:
            file = os.open(self.path, os.O_WRONLY | os.O_APPEND | how, 0o600)
            try:
                if os.write(file, record) < len(record):
                    raise LedgerError(f"{self.path} has no room for another record")
                os.fsync(file)
            finally:
                os.close(file)
        except OSError as error:
            raise self._refused(error) from None

    def _refused(self, error: OSError) -> LedgerError:
        return LedgerError(
            f"cannot use the anchor {self.path}: {error.strerror}",
            hint="without it an older copy of the ledger would not be noticed",
        )
