"""The version and the digest of the files that a table is read from."""

from __future__ import annotations

import hmac
import os
from collections.abc import Sequence
from pathlib import Path

from dpdb.engines.sources.protocol import Version
from dpdb.errors import DataFileError

PIECE = 1 << 20
"""How many bytes are read at a time where only their digest is wanted."""


def keyed(key: bytes) -> hmac.HMAC:
    """An HMAC: it tells nothing of the data to whoever does not have the key."""
    return hmac.new(key, digestmod="sha256")


def marks(status: os.stat_result) -> tuple[int, ...]:
    """Numbers that the system keeps of a file, which change when the file does."""
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def version_of(paths: Sequence[Path], named: Path) -> Version:
    """The version of several files, which messages call `named`."""
    return Version(tuple(mark for path in paths for mark in marks(_status(path, named))))


def state_of(path: Path, named: Path) -> tuple[int, ...]:
    """More numbers than the version of a file has: no writing leaves all of them as they were."""
    status = _status(path, named)
    return *marks(status), status.st_ctime_ns


def _status(path: Path, named: Path) -> os.stat_result:
    try:
        return path.stat()
    except OSError as error:
        raise DataFileError(f"cannot read {named}: {error.strerror}") from None


def digest_of(paths: Sequence[Path], named: Path, key: bytes) -> str:
    """The keyed digest of the bytes of several files in their order; each is preceded by its size.

    Their names have no say in it, so that they can be moved.
    """
    seen = keyed(key)
    try:
        for path in paths:
            with path.open("rb") as file:
                seen.update(os.fstat(file.fileno()).st_size.to_bytes(8, "big"))
                while piece := file.read(PIECE):
                    seen.update(piece)
    except OSError as error:
        raise DataFileError(f"cannot read {named}: {error.strerror}") from None
    return seen.hexdigest()
