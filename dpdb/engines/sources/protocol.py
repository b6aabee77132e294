"""The protocol of a source: the columns of a table, whole or partition by partition."""

from __future__ import annotations

import hmac
import os
from abc import abstractmethod
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Protocol

from dpdb.engines.protocol import Progress, Witness
from dpdb.errors import DataFileError
from dpdb.policy.catalog import Table
from dpdb.records import dataclass
from dpdb.vectors.columns import Codes, Numbers


@dataclass(frozen=True)
class Version:
    """Marks that differ between two versions of the data, known without looking into the data.

    For a file these are numbers that the system keeps of it.
    """

    marks: tuple[int, ...] = ()


NO_DATA = Version()
"""The version of rows that are worked out from others."""


@dataclass(frozen=True, repr=False)
class Loaded:
    """Columns by name, the number of rows, and the version of the data that they are from."""

    columns: dict[str, Numbers | Codes]
    rows: int
    version: Version
    first: int = 0
    """The number of the table's rows before these."""


@dataclass(frozen=True)
class Partition:
    """Rows of a table that are read by themselves: numbers that follow from the files alone.

    Without `groups` the partition is the whole table.
    """

    first: int = 0
    """The number of the table's rows before these, or of bytes where units have no names."""
    file: int = 0
    """The place of the file among those of the table."""
    path: Path = Path()
    """The file itself."""
    groups: tuple[int, ...] = ()
    """The numbers of row groups of the file, or the bytes at which a range starts and stops."""
    version: Version | None = None
    """The version of the data that a witness was shown; None if `read` asks the witness."""


@dataclass(frozen=True, repr=False)
class Written:
    """Some cells of one column as a file would have them, without quotes."""

    cells: list[bytes]
    """The cells; one that is too long is empty."""
    too_long: int = 0
    """The number of cells that are too long."""


Names = Collection[str]
"""The names of columns."""


class Source(Protocol):
    """Reads the rows of one table.

    What a cell becomes is a function of that cell and of its column's declaration. Rows have the
    same order whenever they are read of one version, so columns that are read one after the other
    belong together.

    A `witness` is shown the digest each time that rows are read, and no result may be used before:
    `load` asks before it returns, `blocks` before it ends, and of partitions either `partitions`
    or `read`. `progress` is told the fraction that is read.

    Methods raise DataFileError where the data cannot be read, in words that follow from the policy
    and the system's error alone. What a driver says of rows is never passed on.
    """

    table: Table

    @abstractmethod
    def load(
        self, names: Names, progress: Progress | None = None, witness: Witness | None = None
    ) -> Loaded:
        """All rows of the columns called `names`; without any the rows are only counted."""

    def blocks(
        self, names: Names, progress: Progress | None = None, witness: Witness | None = None
    ) -> Iterator[Loaded]:
        """The rows that `load` returns, in the same order, some at a time.

        Put together, the blocks are what `load` returns, but for `Codes` of texts, whose values
        are those of the block alone. All blocks have the same version, or DataFileError is raised.
        Where rows are cut follows from their number and their length; by default nowhere.
        """
        yield self.load(names, progress, witness)

    def partitions(
        self, names: Collection[str], witness: Witness | None = None
    ) -> Sequence[Partition]:
        """The partitions of the table, in the order of its rows; by default there is one.

        Each can be read in a thread or a process of its own, at the same time as others.
        """
        return [Partition()]

    def cut(self, witness: Witness | None = None) -> Sequence[Partition]:
        """Partitions for processes, of what a thread reads as one; none by default.

        The witness is asked. Of the rows before a partition only the order is known.
        """
        return []

    def read(
        self,
        partition: Partition,
        names: Collection[str],
        progress: Progress | None = None,
        witness: Witness | None = None,
    ) -> Iterator[Loaded]:
        """The blocks of one partition; if it has a version, of that version alone."""
        return self.blocks(names, progress, witness)

    @abstractmethod
    def digest(self, key: bytes) -> str:
        """The digest of the present data that a witness with this key is shown, in hexadecimal."""

    def written(self) -> Iterator[tuple[Written, ...]]:
        """The cells of each declared column, some rows at a time, for the data owner."""
        raise DataFileError(
            f"{self.table.place}: its cells are not looked at one by one",
            hint="dpdb prepare writes the table into a Parquet file",
        )


class FileSource(Source):
    """A source whose rows are in files, which are known by their marks and by their bytes."""

    @abstractmethod
    def files(self) -> tuple[Path, ...]:
        """All files that the rows are in, in the order in which they are read."""

    def digest(self, key: bytes) -> str:
        return digest_of(self.files(), self.table.place, key)

    def witnessed(self, witness: Witness | None) -> Version:
        """The version of the files, whose digest the witness has been shown."""
        version = version_of(self.files(), self.table.place)
        if witness is not None:
            witness.check(self.table.name, self.digest(witness.key))
        return version

    def check(self, version: Version, only: Partition | None = None) -> None:
        """Refuse what was read if the files, or that of one partition, have become others."""
        if only is None or not only.groups:
            same = version_of(self.files(), self.table.place) == version
        else:
            own = version_of([only.path], self.table.place).marks
            same = version.marks[only.file * len(own) :][: len(own)] == own
        if not same:
            raise has_changed(self.table)


def load_more(
    source: Source,
    before: Loaded,
    names: Collection[str],
    progress: Progress | None,
    witness: Witness | None,
) -> Loaded:
    """The loaded columns of a source, with those called `names` that are still missing.

    Rows of two versions of the data do not belong together: data that have changed are refused.
    """
    missing = {name for name in names if name not in before.columns}
    if not missing:
        return before
    more = source.load(missing, progress, witness)
    if more.version != before.version or more.rows != before.rows:
        raise has_changed(source.table)
    return Loaded({**before.columns, **more.columns}, before.rows, before.version)


def has_changed(table: Table) -> DataFileError:
    """The error of a table of which two versions were seen in one session."""
    return DataFileError(
        f"{table.place} has changed since it was first read", hint="start a new session"
    )


PIECE = 1 << 20
"""The bytes that are read at a time where only their digest is wanted."""


def keyed(key: bytes) -> hmac.HMAC:
    """An HMAC: it tells nothing of the data to whoever does not have the key."""
    return hmac.new(key, digestmod="sha256")


def marks(status: os.stat_result) -> tuple[int, ...]:
    """Numbers that the system keeps of a file, which change when the file does."""
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def version_of(paths: Sequence[Path], named: str) -> Version:
    """The version of several files, which messages call `named`."""
    return Version(tuple(mark for path in paths for mark in marks(_status(path, named))))


def state_of(path: Path, named: str) -> tuple[int, ...]:
    """More numbers than the version of a file has: no writing leaves all of them as they were."""
    status = _status(path, named)
    return *marks(status), status.st_ctime_ns


def _status(path: Path, named: str) -> os.stat_result:
    try:
        return path.stat()
    except OSError as error:
        raise DataFileError(f"cannot read {named}: {error.strerror}") from None


def digest_of(paths: Sequence[Path], named: str, key: bytes) -> str:
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
