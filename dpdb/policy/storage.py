"""Storages of tables: kinds of files, told by their names alone, servers and clusters."""

from __future__ import annotations

import glob
import os
import stat
from enum import Enum
from pathlib import Path
from urllib.parse import parse_qsl, urlencode, urlsplit

from dpdb.errors import DataFileError, InvalidOption
from dpdb.records import dataclass


@dataclass(frozen=True)
class _Facts:
    """Public facts of one way to store tables."""

    label: str
    """The name in messages."""
    suffixes: tuple[str, ...] = ()
    """The ends of files' names; none for CSV, which any other file is, and for servers."""
    schemes: tuple[str, ...] = ()
    """The schemes of the addresses of servers."""
    typed: bool = True
    """Whether the types of columns are stored, too."""
    streamed: bool = False
    """Whether queries go over the rows block by block where the policy does not say."""
    inner: str = ""
    """The key of a policy that names one of several tables in a file; empty if there is one."""


class Storage(Enum):
    """The storages of tables: kinds of files, servers, clusters.

    Three places match on them: `policy.schemas.table_files`, where columns are found,
    `engines.sources.opening`, where rows are read, and `lab.studies.draft`, which guesses types.
    """

    CSV = _Facts("CSV", typed=False)
    PARQUET = _Facts("Parquet", (".parquet",), streamed=True)
    DUCKDB = _Facts("DuckDB", (".duckdb",), streamed=True, inner="table")
    SQLITE = _Facts("SQLite", (".db", ".sqlite", ".sqlite3"), inner="table")
    JSON = _Facts("JSON", (".jsonl", ".ndjson", ".json"), typed=False)
    EXCEL = _Facts("Excel", (".xlsx",), typed=False, inner="sheet")
    POSTGRESQL = _Facts("PostgreSQL", schemes=("postgresql", "postgres"))
    SPARK = _Facts("Spark", schemes=("spark",))
    FRAME = _Facts("data frame")
    TRIAL = _Facts("made-up rows")

    @property
    def typed(self) -> bool:
        """Whether the types of columns are stored, too."""
        return self.value.typed


SUFFIXES = tuple(suffix for each in Storage for suffix in each.value.suffixes)
"""The ends of the names of files that are not CSV."""


def file_kind(path: Path) -> Storage:
    """The kind of a file: CSV, unless its name ends otherwise."""
    suffix = path.suffix.lower()
    return next((each for each in Storage if suffix in each.value.suffixes), Storage.CSV)


_FOREIGN = {
    ".xml": "xml", ".feather": "feather", ".orc": "orc", ".xls": "excel",
    ".dta": "stata", ".sav": "spss",
}  # fmt: skip
"""Ends of the names of files that are not read, and the readers that pandas has for them."""


def _refuse_foreign(path: Path, named: Path) -> None:
    """Raise an error for a file that by its name is of a kind that is not read.

    As CSV, the lines of an XML file would be counted as rows.
    """
    reader = _FOREIGN.get(path.suffix.lower())
    if reader is None:
        return
    to = f"{named.with_suffix('')}.parquet"
    hint = f'pandas.read_{reader}("{named}").to_parquet("{to}") writes one that is read'
    raise DataFileError(f"{named}: files named {path.suffix} are not read", hint=hint)


def server_kind(address: str) -> Storage | None:
    """The kind of server at an address, by its scheme; None if it is no server's."""
    scheme = address.partition("://")[0]
    return next((each for each in Storage if scheme in each.value.schemes), None)


def within_file(path: Path) -> tuple[Path, str | None]:
    """The file, and the table in it, of a path such as `people.duckdb?table=people`."""
    address, mark, query = str(path).rpartition("?")
    file, (key, equals, name) = Path(address), query.partition("=")
    inner = file_kind(file).value.inner
    return (file, name) if mark and equals and name and key == inner else (path, None)


def is_pattern(path: Path) -> bool:
    """Whether the path is a pattern of the files whose rows make up one table."""
    return glob.has_magic(str(path)) and not file_kind(path).value.inner and not path.is_file()


def data_files(*paths: Path) -> tuple[Path, ...]:
    """The files at paths that may be patterns, whether or not they can be read."""
    found = (sorted(glob.glob(str(path))) if is_pattern(path) else [path] for path in paths)
    return tuple(Path(each) for files in found for each in files)


def files_of(*paths: Path) -> tuple[Path, ...]:
    """The file at each path, or those that match a pattern, in the order of their names.

    Messages name the pattern alone: the names of its files could be made of values.
    """
    found = []
    for path in paths:
        files = data_files(path)
        if not files:
            raise DataFileError(f"no file matches {path}")
        found += [_regular(each, path) for each in files]
    return tuple(found)


def _regular(path: Path, named: Path) -> Path:
    """The path, once it is sure to be that of a file which may be read."""
    _refuse_foreign(path, named)
    try:
        # The kind of file is checked before opening, because opening a pipe may wait for ever.
        if stat.S_ISREG(path.stat().st_mode):
            os.close(os.open(path, os.O_RDONLY))
            return path
    except OSError as error:
        raise DataFileError(f"cannot read {named}: {error.strerror}") from None
    except ValueError as error:  # a NUL in the path
        raise DataFileError(f"cannot read {named}: {error}") from None
    raise DataFileError(f"{named} is not a regular file")


POSTGRESQL = "postgresql"
SPARK = "spark"
_USUAL_SCHEMA = "public"


@dataclass(frozen=True)
class ServerTable:
    """A table of a PostgreSQL server, or of the catalog of a Spark cluster.

    In PostgreSQL `address` is the URI of a database, as libpq takes it: parts that are left out
    come from the environment. In Spark it is the URI of the cluster's master, or `spark://` alone
    where the environment names the master.
    """

    address: str
    schema: str
    table: str

    @property
    def source(self) -> str:
        """The table's address in a policy, as `server_table` reads it, without a password."""
        parts = urlsplit(self.address)
        user, at, host = parts.netloc.rpartition("@")
        kept = [each for each in parse_qsl(parts.query) if each[0] != "password"]
        settings = urlencode([*kept, ("table", self._qualified_name)])
        return f"{parts.scheme}://{user.partition(':')[0]}{at}{host}{parts.path}?{settings}"

    @property
    def place(self) -> str:
        """The table's address in messages, without a password."""
        parts = urlsplit(self.address)
        host = parts.netloc.rpartition("@")[2]
        return f"{parts.scheme}://{host}{parts.path}?table={self._qualified_name}"

    @property
    def _qualified_name(self) -> str:
        return f"{self.schema}.{self.table}" if self.schema else self.table

    @property
    def storage(self) -> Storage:
        """The kind of server that has the rows."""
        storage = server_kind(self.address)
        assert storage is not None
        return storage


def is_server_address(text: str) -> bool:
    """Whether a text names a server rather than a file."""
    return server_kind(text) is not None


def server_table(source: str, usual_name: str | None = None) -> ServerTable:
    """The table that a source such as `postgresql:///hospital?table=public.people` names.

    Where it names none, it is `usual_name`. Raises InvalidOption.
    """
    try:
        parts = urlsplit(source)
        settings = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
    except ValueError:
        raise InvalidOption("source is not the address of a database") from None
    if server_kind(f"{parts.scheme}://") is None:
        raise InvalidOption(
            "source is the address of a PostgreSQL database or of a Spark cluster",
            hint="postgresql:///NAME or spark:///",
        )
    named = [value for key, value in settings if key == "table"] or [usual_name or ""]
    schema, _, table = named[-1].rpartition(".")
    if not table or len(named) > 1:
        raise InvalidOption("source names one table, as postgresql:///hospital?table=people does")
    rest = urlencode([(key, value) for key, value in settings if key != "table"])
    if parts.scheme == SPARK:
        if rest or parts.path.strip("/"):
            raise InvalidOption("a source in Spark is spark://HOST:PORT?table=DATABASE.TABLE")
        return ServerTable(f"{SPARK}://{parts.netloc}", schema, table)
    address = f"{POSTGRESQL}://{parts.netloc}{parts.path}" + (f"?{rest}" if rest else "")
    return ServerTable(address, schema or _USUAL_SCHEMA, table)
