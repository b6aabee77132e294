"""A CSV file into columns: those that are asked for, each cell by itself.

A cell's value is a function of its own bytes and of its column's declaration.
"""

from __future__ import annotations

import hmac
import os
from collections.abc import Collection
from dataclasses import dataclass

from dpdb.engines.memory.column_builders import Builder, builder
from dpdb.engines.memory.csv_records import blocks
from dpdb.engines.protocol import Progress, Witness
from dpdb.errors import DataFileError
from dpdb.policy.catalog import Table
from dpdb.policy.csv_header import Header, column_positions, header_of
from dpdb.policy.csv_stream import CsvStream, open_csv
from dpdb.vectors.columns import Codes, Numbers

_PIECE = 2**20
"""How many bytes are read at a time where only their digest is wanted."""


@dataclass(frozen=True)
class Version:
    """By what a file is known to be the one that it was: never by what is in it."""

    device: int
    inode: int
    size: int
    modified: int


NO_FILE = Version(0, 0, 0, 0)
"""That of rows which are worked out from others."""


@dataclass(frozen=True, repr=False)
class Loaded:
    """Columns by name, the number of rows, and the file they come from."""

    columns: dict[str, Numbers | Codes]
    rows: int
    version: Version


def load(
    table: Table,
    names: Collection[str],
    progress: Progress | None = None,
    witness: Witness | None = None,
) -> Loaded:
    """The columns of the table called `names`; without any the rows are only counted.

    `progress` is told, block by block, the fraction of the file that is read. The witness is shown
    the digest of what was read.
    """
    header = header_of(table)
    positions = column_positions(table, header.names)
    builders = {
        column.name: builder(
            column, exact=column.name in table.identifiers, punctuation=header.punctuation
        )
        for column in table.columns
        if column.name in names
    }
    fields = [(positions[name], gathering) for name, gathering in builders.items()]
    with open_csv(table.path, header.encoding, header.mark) as stream:
        version = _version(stream)
        seen = None if witness is None else _keyed(witness.key)
        stream.hash = seen
        stream.read(header.length)
        rows = _gather(stream, header, fields, progress)
    if witness is not None and seen is not None:
        witness.check(table.name, seen.hexdigest())
    fields.clear()
    # Each is taken out, so that its blocks are freed before the next is joined.
    columns = {name: builders.pop(name).finish() for name in list(builders)}
    return Loaded(columns, rows, version)


def digest(table: Table, key: bytes) -> str:
    """What a witness is shown of the table's data as they are now, in hexadecimal."""
    header = header_of(table)
    with open_csv(table.path, header.encoding, header.mark) as stream:
        stream.hash = seen = _keyed(key)
        while stream.read(_PIECE):
            pass
    return seen.hexdigest()


def load_more(
    table: Table,
    before: Loaded,
    names: Collection[str],
    progress: Progress | None = None,
    witness: Witness | None = None,
) -> Loaded:
    """What was loaded and the columns called `names` that are missing in it.

    Rows of two versions of a file do not belong together: a file that was changed is refused.
    """
    missing = {name for name in names if name not in before.columns}
    if not missing:
        return before
    more = load(table, missing, progress, witness)
    if more.version != before.version or more.rows != before.rows:
        raise DataFileError(
            f"{table.path} has changed since it was first read", hint="start a new session"
        )
    return Loaded({**before.columns, **more.columns}, before.rows, before.version)


def _keyed(key: bytes) -> hmac.HMAC:
    """An HMAC: it tells nothing of the data to whoever does not have the key."""
    return hmac.new(key, digestmod="sha256")


def _version(stream: CsvStream) -> Version:
    status = os.fstat(stream.file.fileno())
    return Version(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)


def _gather(
    stream: CsvStream,
    header: Header,
    fields: list[tuple[int, Builder]],
    progress: Progress | None,
) -> int:
    """Give every builder the cells of its column, and count the rows."""
    rows = 0
    for block in blocks(stream, len(header.names), header.punctuation):
        for position, gathering in fields:
            gathering.add(block.column(position))
        rows += block.rows
        if progress is not None:
            progress(stream.fraction)
    return rows
