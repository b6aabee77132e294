"""What holds the rows of tables; of files, their names alone tell what kind they are."""

from __future__ import annotations

import glob
import stat
from enum import Enum
from pathlib import Path

from dpdb.errors import DataFileError


class Storage(Enum):
    """What holds the rows of a table: a kind of file, a server, or a cluster."""

    CSV = "CSV"
    PARQUET = "Parquet"
    DUCKDB = "DuckDB"
    POSTGRESQL = "PostgreSQL"
    SPARK = "Spark"

    @property
    def typed(self) -> bool:
        """Whether it says itself of what type the columns are."""
        return self is not Storage.CSV


_BY_SUFFIX = {".parquet": Storage.PARQUET, ".duckdb": Storage.DUCKDB}


def file_kind(path: Path) -> Storage:
    """The kind of a file: CSV, unless its name ends otherwise."""
    return _BY_SUFFIX.get(path.suffix.lower(), Storage.CSV)


def is_pattern(path: Path) -> bool:
    """Whether the path is a pattern of the Parquet files whose rows make up one table."""
    named = file_kind(path) is Storage.PARQUET and glob.has_magic(str(path))
    return named and not path.is_file()


def data_files(path: Path) -> tuple[Path, ...]:
    """The files at a path that may be a pattern, whether or not they can be read."""
    return tuple(map(Path, sorted(glob.glob(str(path))))) if is_pattern(path) else (path,)


def files_of(path: Path) -> tuple[Path, ...]:
    """The file at a path, or those that match a pattern, in the order of their names.

    Messages name the pattern alone: the names of its files could be made of values.
    """
    paths = data_files(path)
    if not paths:
        raise DataFileError(f"no file matches {path}")
    return tuple(_regular(each, path) for each in paths)


def _regular(path: Path, named: Path) -> Path:
    """The path, once it is sure to be that of a file which may be read."""
    try:
        # The kind of file is checked before opening, because opening a pipe may wait for ever.
        if stat.S_ISREG(path.stat().st_mode):
            path.open("rb").close()
            return path
    except OSError as error:
        raise DataFileError(f"cannot read {named}: {error.strerror}") from None
    except ValueError as error:  # a NUL in the path
        raise DataFileError(f"cannot read {named}: {error}") from None
    raise DataFileError(f"{named} is not a regular file")
