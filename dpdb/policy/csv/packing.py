"""Packed CSV files: what packs one, by its name, and its bytes as they are unpacked."""

from __future__ import annotations

import importlib
import sys
import zipfile
import zlib
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from dpdb.errors import DataFileError

MOST_UNPACKED = 64 << 30
"""The most bytes that a packed file may unpack to: 100 MB of zeros are 97 KB of zip."""


_OF_MACOS = "__MACOSX/"
"""The folder in which macOS puts more about each file of an archive."""


class Readable(Protocol):
    """Bytes in order."""

    def read(self, size: int, /) -> bytes:
        """The next `size` bytes; fewer only at the end."""


class Packing(Enum):
    """The ways in which a CSV file is packed, by the ends of their files' names."""

    GZIP = ".gz"
    ZIP = ".zip"
    ZSTD = ".zst"


def packing_of(path: Path) -> Packing | None:
    """The packing of a file, by its name; None where it is not packed."""
    suffix = path.suffix.lower()
    return next((each for each in Packing if each.value == suffix), None)


def unpacked_name(path: Path) -> Path:
    """The path without the suffix of what packs it."""
    return path if packing_of(path) is None else path.with_suffix("")


def unpacked(file: BinaryIO, packing: Packing, named: str) -> Callable[[int], bytes]:
    """The function that reads the next bytes of a packed file, which messages call `named`.

    Raises DataFileError, and so does the function, where the file is not whole or unpacks to more
    than MOST_UNPACKED bytes.
    """
    import gzip  # noqa: PLC0415 (few files are packed)

    broken: tuple[type[Exception], ...] = (
        gzip.BadGzipFile, zipfile.BadZipFile, EOFError, zlib.error,
        NotImplementedError, RuntimeError,  # a member is encrypted, or packed in another way
    )  # fmt: skip
    no_file = DataFileError(f"{named} is not a whole {packing.name.lower()} file")
    left = MOST_UNPACKED
    stream: Readable
    match packing:
        case Packing.GZIP:
            stream = gzip.GzipFile(fileobj=file)
        case Packing.ZSTD:
            zstd = _zstd(named)
            stream, broken = zstd.ZstdFile(file), (*broken, zstd.ZstdError)
        case Packing.ZIP:
            try:
                archive = zipfile.ZipFile(file)
                files = (each for each in archive.infolist() if not each.is_dir())
                [member] = [each for each in files if not each.filename.startswith(_OF_MACOS)]
                stream = archive.open(member)
            except ValueError:
                raise DataFileError(
                    f"{named} has several files, or none, and one is read", hint="unpack it"
                ) from None
            except broken:
                raise no_file from None

    def read(size: int) -> bytes:
        nonlocal left
        try:
            data = stream.read(size)
        except broken:
            raise no_file from None
        left -= len(data)
        if left < 0:
            raise DataFileError(f"{named} unpacks to more than {MOST_UNPACKED >> 30} GiB")
        return data

    return read


def _zstd(named: str) -> Any:  # noqa: ANN401
    """The module of the standard library, or for older Pythons the package."""
    name = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        raise DataFileError(
            f"{named} is packed by Zstandard, and the package {name} is not installed",
            hint='pip install "dpdb[zstd]"',
        ) from None
