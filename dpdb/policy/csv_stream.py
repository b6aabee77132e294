"""The bytes of a CSV file as UTF-8, unpacked and transcoded while they are read."""

from __future__ import annotations

import gzip
import os
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import field
from pathlib import Path
from typing import BinaryIO, Protocol

from dpdb.errors import DataFileError
from dpdb.policy.csv_format import is_gzip
from dpdb.policy.encodings import UTF8, Transcoder, transcoder
from dpdb.records import dataclass


class Hash(Protocol):
    """A hash of bytes that come piece by piece."""

    def update(self, data: bytes, /) -> object:
        """Take the next bytes into account."""


@dataclass
class CsvStream:
    """A file that is read once, from its start to its end."""

    path: Path
    file: BinaryIO
    """As it is on the disk."""
    _unpacked: BinaryIO | gzip.GzipFile
    _transcoder: Transcoder | None
    _ahead: bytes = field(default=b"", repr=False)
    _ended: bool = False
    hash: Hash | None = None
    """Is given all that is read, unpacked and transcoded."""

    @property
    def fraction(self) -> float:
        """How much of the file has been read, from 0 to 1."""
        return min(self.file.tell() / max(os.fstat(self.file.fileno()).st_size, 1), 1.0)

    def read(self, size: int) -> bytes:
        """The next `size` bytes; fewer only at the end."""
        text = self._read(size)
        if self.hash is not None:
            self.hash.update(text)
        return text

    def _read(self, size: int) -> bytes:
        if self._transcoder is None:
            return self.unpack(size)
        parts = [self._ahead]
        length = len(self._ahead)
        while length < size and not self._ended:
            data = self.unpack(size - length)
            self._ended = not data
            parts.append(self._transcoder.feed(data, final=self._ended))
            length += len(parts[-1])
        text = b"".join(parts)
        self._ahead = text[size:]
        return text[:size]

    def unpack(self, size: int) -> bytes:
        """The next `size` bytes as they are encoded in the file."""
        try:
            return self._unpacked.read(size)
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise DataFileError(f"{self.path} is not a whole gzip file") from error
        except OSError as error:
            raise DataFileError(f"cannot read {self.path}: {error.strerror}") from error


@contextmanager
def open_csv(path: Path, encoding: str = UTF8, mark: int = 0) -> Iterator[CsvStream]:
    """The file from after its byte-order mark of `mark` bytes.

    Where it cannot be opened, read or unpacked, DataFileError is raised.
    """
    with _open(path) as file:
        unpacked = gzip.GzipFile(fileobj=file) if is_gzip(path) else file
        stream = CsvStream(path, file, unpacked, transcoder(encoding))
        stream.unpack(mark)
        yield stream


def _open(path: Path) -> BinaryIO:
    try:
        # The kind of file is checked before opening, because opening a pipe may wait for ever.
        if not stat.S_ISREG(os.stat(path).st_mode):
            kind = "a directory" if path.is_dir() else "not a regular file"
            raise DataFileError(f"{path} is {kind}")
        return open(path, "rb")
    except OSError as error:
        raise DataFileError(f"cannot read {path}: {error.strerror}") from error
    except ValueError as error:  # a NUL in the path
        raise DataFileError(f"cannot read {path}: {error}") from error
