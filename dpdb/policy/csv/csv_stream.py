"""The bytes of a CSV file as UTF-8, unpacked and transcoded while they are read."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import field
from pathlib import Path
from typing import BinaryIO, Protocol

from dpdb.errors import DataFileError
from dpdb.policy.csv.csv_format import (
    EVERY_LINE,
    MARKED,
    MARKS,
    UTF8,
    CsvFormat,
    LineFormat,
    Transcoder,
    transcoder,
)
from dpdb.policy.csv.packing import packing_of, unpacked
from dpdb.records import dataclass

_FOREIGN = (
    (b"PK\x03\x04", "is a zip archive or a workbook", "give it a name that ends in .zip or .xlsx"),
    (b"\x1f\x8b", "is compressed by gzip", "give it a name that ends in .gz"),
    (b"\x28\xb5\x2f\xfd", "is compressed by Zstandard", "give it a name that ends in .zst"),
    (b"SQLite format 3\0", "is a SQLite database", "give it a name that ends in .db"),
)
_BLANKS = re.compile(rb"[ \t]++")
_AROUND = re.compile(rb" ?(\r?\n) ?")
_FIRST_BYTES = 64
"""The number of bytes that are searched for byte-order marks."""


class Hash(Protocol):
    """A hash of bytes that come piece by piece."""

    def update(self, data: bytes, /) -> object:
        """Take the next bytes into account."""


@dataclass
class CsvStream:
    """A file that is read once, from its start to its end."""

    named: str
    """The file in messages."""
    file: BinaryIO
    """As it is on the disk."""
    _unpacked: Callable[[int], bytes]
    _transcoder: Transcoder | None
    _lines: LineFilter | None = None
    _ahead: bytes = field(default=b"", repr=False)
    _ended: bool = False
    hash: Hash | None = None
    """Is given all that is read, unpacked and transcoded."""

    @property
    def fraction(self) -> float:
        """The fraction of the file that has been read, from 0 to 1."""
        return min(self.file.tell() / max(os.fstat(self.file.fileno()).st_size, 1), 1.0)

    def read(self, size: int) -> bytes:
        """The next `size` bytes; fewer only at the end."""
        text = self._read(size)
        if self.hash is not None:
            self.hash.update(text)
        return text

    def _read(self, size: int) -> bytes:
        if self._transcoder is None and self._lines is None:
            return self.unpack(size)
        parts = [self._ahead]
        length = len(self._ahead)
        while length < size and not self._ended:
            data = self.unpack(size - length)
            self._ended = not data
            if self._transcoder is not None:
                data = self._transcoder.feed(data, final=self._ended)
            if self._lines is not None:
                data = self._lines.feed(data, final=self._ended)
            parts.append(data)
            length += len(parts[-1])
        text = b"".join(parts)
        self._ahead = text[size:]
        return text[:size]

    def at(self, place: int, size: int) -> bytes:
        """The `size` bytes from a place of the file on; fewer only at the end."""
        try:
            text = os.pread(self.file.fileno(), size, place)
            while more := os.pread(self.file.fileno(), size - len(text), place + len(text)):
                text += more
            return text
        except OSError as error:
            raise DataFileError(f"cannot read {self.named}: {error.strerror}") from error

    def unpack(self, size: int) -> bytes:
        """The next `size` bytes as they are encoded in the file."""
        try:
            return self._unpacked(size)
        except OSError as error:
            raise DataFileError(f"cannot read {self.named}: {error.strerror}") from error


@contextmanager
def open_csv(
    path: Path, encoding: str = UTF8, mark: int = 0, named: str = "", lines: LineFormat = EVERY_LINE
) -> Iterator[CsvStream]:
    """The file, `named` in messages, from after its byte-order mark of `mark` bytes.

    Of its text are left out the lines that are no rows.

    Where it cannot be opened, read or unpacked, DataFileError is raised.
    """
    with _open(path, named or str(path)) as file:
        packing, named = packing_of(path), named or str(path)
        read = file.read if packing is None else unpacked(file, packing, named)
        kept = None if lines == EVERY_LINE else LineFilter(lines)
        stream = CsvStream(named, file, read, transcoder(encoding), kept)
        stream.unpack(mark)
        yield stream


def _open(path: Path, named: str) -> BinaryIO:
    try:
        # The kind of file is checked before opening, because opening a pipe may wait for ever.
        if not stat.S_ISREG(os.stat(path).st_mode):
            kind = "a directory" if path.is_dir() else "not a regular file"
            raise DataFileError(f"{named} is {kind}")
        return open(path, "rb")
    except OSError as error:
        raise DataFileError(f"cannot read {named}: {error.strerror}") from error
    except ValueError as error:  # a NUL in the path
        raise DataFileError(f"cannot read {named}: {error}") from error


def encoding_of(path: Path, form: CsvFormat, named: str = "") -> tuple[str, int]:
    """The encoding of a file, and the number of bytes of the marks that it begins with.

    Without a header the file is looked at only where the name of the encoding says that there is
    a mark, as anything else would be a row's.
    """
    declared, named = form.encoding, named or str(path)
    if not form.header and declared not in MARKED:
        return declared or UTF8, 0
    with open_csv(path, named=named) as stream:
        start = stream.read(_FIRST_BYTES)
    for magic, what, hint in _FOREIGN if form.header else ():
        if start.startswith(magic):
            raise DataFileError(f"{named} {what}, and no CSV file", hint=hint)
    mark, marked = next(((m, name) for m, name in MARKS if start.startswith(m)), (b"", UTF8))
    if declared in MARKED:
        family = declared.removesuffix("-sig")
        if not marked.startswith(family):
            raise DataFileError(
                f"{named} does not begin with the mark of {family}",
                hint=f"{family}-le and {family}-be are the encodings without one",
            )
    elif declared not in (None, marked):
        return declared, 0
    # Programs that join files repeat the mark. After the first, without a header, it is a row's.
    most = len(start) if form.header else 1
    length = 0
    while mark and start.startswith(mark, length) and length < most * len(mark):
        length += len(mark)
    return marked, length


class LineFilter:
    """Leaves lines out of a text in UTF-8 that comes piece by piece.

    Lines are physical ones, which end with a line feed, also within quotes. No line is held:
    whatever its length, a filter keeps a byte or two between the pieces that it is fed.
    """

    def __init__(self, form: LineFormat) -> None:
        self._comment = form.comment.encode()
        self._blanks = form.blanks
        self._skip = form.skip
        self._begins = True
        """Whether the next byte is the first one of a line."""
        self._dropped = form.skip > 0
        """Whether the line that is read is left out."""
        self._held = b""
        """The text that may be dropped or kept by what follows."""
        self._kept_begins = True
        """Whether the next byte that is kept is the first one of a line."""

    def feed(self, data: bytes, *, final: bool) -> bytes:
        """The next bytes that are kept."""
        kept = b"".join(self._lines(data)) if self._dropped or self._comment else data
        return self._separated(kept, final=final) if self._blanks else kept

    def _lines(self, data: bytes) -> list[bytes]:
        """The parts of a piece that are on lines which are kept."""
        found, place = [], 0
        while place < len(data):
            if self._begins and self._comment and data.startswith(self._comment, place):
                self._dropped = True
            self._begins = False
            if self._dropped:
                end = data.find(b"\n", place) + 1
                if not end:
                    break
                self._skip = max(self._skip - 1, 0)
                self._dropped = self._skip > 0
            elif self._comment:
                # All lines until one that is a comment are kept together.
                end = data.find(b"\n" + self._comment, place) + 1 or len(data)
                found.append(data[place:end])
            else:
                end = len(data)
                found.append(data[place:end])
            self._begins = data[end - 1 : end] == b"\n"
            place = end
        return found

    def _separated(self, data: bytes, *, final: bool) -> bytes:
        """The text with one blank for each run of them, and none where a line begins or ends."""
        text = _AROUND.sub(rb"\1", _BLANKS.sub(b" ", self._held + data))
        if self._kept_begins:
            text = text.removeprefix(b" ")
        self._held = b""
        if not final:
            whole = text.rstrip(b" \r")
            text, self._held = whole, text[len(whole) :]
        else:
            text = text.removesuffix(b" ")
        if text:
            self._kept_begins = text.endswith(b"\n")
        return text
