"""What a source gives back: the columns of a table, whole or piece by piece."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Protocol

from dpdb.engines.protocol import Progress, Witness
from dpdb.errors import DataFileError
from dpdb.policy.catalog import Table
from dpdb.vectors.columns import Codes, Numbers


@dataclass(frozen=True)
class Version:
    """What tells one version of the data from another, without a look at what is in them.

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


class Source(Protocol):
    """Reads the rows of one table.

    What a cell becomes is a function of that cell and of its column's declaration. Rows have the
    same order whenever they are read of one version, so columns that are read one after the other
    belong together.

    Of a `witness` the digest is asked for each time that rows are read, and no result may be used
    before: `load` asks before it returns, `blocks` before it ends. `progress` is told the fraction
    that is read.

    Methods raise DataFileError where the data cannot be read, in words that follow from the policy
    and the system's error alone. What a driver says of rows is never passed on.
    """

    table: Table

    @abstractmethod
    def load(
        self,
        names: Collection[str],
        progress: Progress | None = None,
        witness: Witness | None = None,
    ) -> Loaded:
        """All rows of the columns called `names`; without any the rows are only counted."""

    @abstractmethod
    def blocks(
        self,
        names: Collection[str],
        progress: Progress | None = None,
        witness: Witness | None = None,
    ) -> Iterator[Loaded]:
        """The rows that `load` returns, in the same order, some at a time.

        Put together, the blocks are what `load` returns, but for `Codes` of texts, whose values
        are those of the block alone. All blocks have the same version, or DataFileError is raised.
        Where rows are cut follows from their number and their length.
        """

    def strands(
        self,
        names: Collection[str],
        most: int,
        progress: Progress | None = None,
        witness: Witness | None = None,
    ) -> list[Iterator[Loaded]]:
        """The blocks of `blocks`, each in one of at most `most` strands.

        Each strand can be gone over in a thread of its own, at the same time as others. Which
        blocks it has is not known before.
        """
        return [self.blocks(names, progress, witness)]

    @abstractmethod
    def digest(self, key: bytes) -> str:
        """What a witness with this key is shown of the data as they are now, in hexadecimal."""


def load_more(
    source: Source,
    before: Loaded,
    names: Collection[str],
    progress: Progress | None,
    witness: Witness | None,
) -> Loaded:
    """What was loaded of a source and the columns called `names` that are missing in it.

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
