"""Batches of rows from Parquet and DuckDB files, and the rows that a Spark cluster sends.

Parquet files are read by Arrow rather than by a database: Arrow keeps bytes which are no UTF-8 for
the grammar of cells. DuckDB would refuse the whole file for one such text, and quote it.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow
from pyarrow import parquet
from pyarrow.types import is_decimal, is_string

from dpdb.engines.protocol import MAX_ROWS, Progress, Witness
from dpdb.engines.sources.arrow.typed_source import (
    BATCH,
    Batches,
    BatchReader,
    TypedColumns,
    batch_rows,
    has_few_values,
)
from dpdb.engines.sources.arrow.values import TEXTS
from dpdb.engines.sources.protocol import Loaded, Names, Partition, Source, Version, state_of
from dpdb.errors import DataFileError
from dpdb.policy.catalog import Table
from dpdb.policy.names import quoted
from dpdb.policy.schemas.database_files import duckdb_columns, open_duckdb, open_parquet, rows_of
from dpdb.policy.schemas.spark_cluster import rows_in_spark, spark_errors
from dpdb.policy.schemas.stored_types import StoredType, names_in_file, stored_columns
from dpdb.records import dataclass
from dpdb.vectors.grammar import LONGEST

if TYPE_CHECKING:
    from pyarrow.parquet import FileMetaData


class ParquetReader(BatchReader):
    """Reads one Parquet file, or those that match a pattern, one after the other."""

    def files(self, table: Table) -> tuple[Path, ...]:
        return table.files

    def rows(self, table: Table) -> int:
        return sum(file.metadata.num_rows for file in _files(table, ()))

    def partitions(self, table: Table, names: Collection[str]) -> list[Partition]:
        """Row groups of each file: as many together as have no more rows than a batch, or one."""
        size, before, found = batch_rows(table, names), 0, list[Partition]()
        for place, file in enumerate(_files(table, tuple(names))):
            groups, rows = list[int](), 0
            for group in range(file.metadata.num_row_groups):
                more = file.metadata.row_group(group).num_rows
                if groups and rows + more > size:
                    found.append(Partition(before, place, file.path, tuple(groups)))
                    before, groups, rows = before + rows, [], 0
                groups.append(group)
                rows += more
            if groups:
                found.append(Partition(before, place, file.path, tuple(groups)))
            before += rows
        return found

    def batches(self, table: Table, names: Collection[str], partition: Partition) -> Batches:
        size, path = batch_rows(table, names), partition.path
        file = _File.of(path, state_of(path, table.place), table, tuple(names))
        called, read = [*file.columns], [*file.columns.values()]
        with open_parquet(path, table.place, file.dictionaries, file.metadata) as opened:
            found = opened.iter_batches(size, partition.groups, read, use_threads=False)
            for batch in _full(found, size):
                yield pyarrow.record_batch([batch.column(each) for each in read], called)


@dataclass(frozen=True, eq=False)
class _File:
    """A file, and what is read of it."""

    path: Path
    metadata: FileMetaData
    """The file's own metadata."""
    columns: dict[str, str]
    """For each column that is read, by its name in the policy, its name in the file."""
    dictionaries: frozenset[str]
    """The columns whose texts are read as places in a dictionary."""

    @classmethod
    @lru_cache(maxsize=2**7)
    def of(cls, path: Path, _state: tuple[int, ...], table: Table, names: tuple[str, ...]) -> _File:
        """The file, to be read for the columns that the policy calls `names`.

        What it says of itself is not asked for again until it is written.
        """
        with open_parquet(path, table.place) as file:
            metadata = file.metadata
            stored = stored_columns(metadata.schema.to_arrow_schema())
            held = names_in_file(table, stored)
            columns = {name: held[name] for name in names}
            metadata = with_types_to_read(metadata, columns.values())
        texts = {column.name for column in stored if column.type is StoredType.TEXT}
        few = {held[column.name] for column in table.columns if has_few_values(column)}
        return cls(path, metadata, columns, frozenset(texts & few))


def _files(table: Table, names: tuple[str, ...]) -> Iterator[_File]:
    """The files of a table, to be read for these columns."""
    for path in table.files:
        yield _File.of(path, state_of(path, table.place), table, names)


def _full(pieces: Iterator[pyarrow.RecordBatch], size: int) -> Iterator[pyarrow.RecordBatch]:
    """Batches of so many rows at least, but for the last.

    Where a dictionary is that of a group of rows, what is read ends with the group.
    """
    waiting: list[pyarrow.RecordBatch] = []
    for piece in pieces:
        waiting.append(piece)
        if sum(each.num_rows for each in waiting) >= size:
            yield _joined(waiting)
            waiting.clear()
    if waiting:
        yield _joined(waiting)


def _joined(pieces: Sequence[pyarrow.RecordBatch]) -> pyarrow.RecordBatch:
    return pieces[0] if len(pieces) == 1 else pyarrow.concat_batches(pieces)


_AS_STORED = {"INT32": pyarrow.decimal32, "INT64": pyarrow.decimal64}
_MAGIC, _LENGTH = b"PAR1", 4
"""The first and last bytes of a file, and the size of the footer's length before the last."""
_KEY = b"ARROW:schema"
"""The key under which Arrow looks for the types that a writer had."""
_STOP = b"\0"
"""The end of a structure in Thrift's compact protocol."""
_LIST_OF_ONE_PAIR, _TEXT = bytes([0x09, 2 * 5, 0x1C]), b"\x18"
"""In the same protocol the fifth field of the footer, with a list of one pair; a text follows."""


def with_types_to_read(metadata: FileMetaData, names: Collection[str]) -> FileMetaData:
    """The metadata of a file, with the types in which columns called `names` are read.

    Other columns are read as before, and so are texts in a dictionary.
    """
    written = metadata.schema.to_arrow_schema()
    columns = map(metadata.schema.column, range(metadata.num_columns))
    stored = {each.path: each.physical_type for each in columns if each.path in names}
    types = [_to_read(field.type, stored.get(field.name)) for field in written]
    schema = pyarrow.schema(zip(written.names, types, strict=True))
    if schema.types == written.types:
        return metadata
    file = BytesIO()
    metadata.write_metadata_file(file)
    footer = file.getvalue()[len(_MAGIC) : -_LENGTH - len(_MAGIC)].removesuffix(_STOP)
    # A field that is there twice is what it is the second time.
    pair = _text(_KEY) + _text(b64encode(schema.serialize().to_pybytes())) + _STOP
    footer += _LIST_OF_ONE_PAIR + pair + _STOP
    ended = footer + len(footer).to_bytes(_LENGTH, "little") + _MAGIC
    return parquet.read_metadata(BytesIO(_MAGIC + ended))


def _to_read(kind: pyarrow.DataType, stored: str | None) -> pyarrow.DataType:
    """The type for the same decimals as they are stored, or for texts; else the type itself."""
    if is_string(kind) and stored is not None:
        return TEXTS
    if not is_decimal(kind) or stored not in _AS_STORED:
        return kind
    return _AS_STORED[stored](kind.precision, kind.scale)


def _text(content: bytes) -> bytes:
    """The next text of a structure: its length, seven bits at a time, and the content."""
    length, left = b"", len(content)
    while left >= 0x80:
        length += bytes([left & 0x7F | 0x80])
        left >>= 7
    return _TEXT + length + bytes([left]) + content


_TEXTS = ("VARCHAR", "JSON")


class DuckDBReader(BatchReader):
    """Reads a table in the order in which DuckDB keeps its rows."""

    def files(self, table: Table) -> tuple[Path, ...]:
        # Rows that are not yet in the file are in the log beside it.
        log = table.path.with_name(f"{table.path.name}.wal")
        return (*table.files, *([log] if log.exists() else []))

    def rows(self, table: Table) -> int:
        with open_duckdb(table.path) as connection:
            [(number,)] = rows_of(connection, table).count("*").fetchall()
        return int(number)

    def batches(self, table: Table, names: Collection[str], partition: Partition) -> Batches:
        done = partition.first
        try:
            for batch in _batches(table, names, done):
                yield batch
                done += batch.num_rows
        except MemoryError:
            # One block of the file can hold texts of gigabytes.
            yield from _batches(table, names, done, limited=False)


def _batches(table: Table, names: Collection[str], first: int, *, limited: bool = True) -> Batches:
    """The columns called `names` from a row on."""
    with open_duckdb(table.path, limited=limited) as connection:
        held = names_in_file(table, duckdb_columns(connection, table))
        rows = rows_of(connection, table)
        kinds = dict(zip(rows.columns, map(str, rows.types), strict=True))
        listed = ", ".join(_cell(held[name], kinds[held[name]]) for name in names)
        read = rows.limit(MAX_ROWS, first) if first else rows
        for batch in read.project(listed).to_arrow_reader(BATCH):
            yield pyarrow.record_batch(batch.columns, [*names])


def _cell(name: str, kind: str) -> str:
    """A column in SQL; another text, that is too long as well, stands for each that is."""
    cell = quoted(name)
    if kind not in _TEXTS:
        return cell
    return f"CASE WHEN strlen({cell}) > {LONGEST} THEN repeat('x', {LONGEST + 1}) ELSE {cell} END"


@dataclass(frozen=True, repr=False)
class SparkSource(Source):
    """Collects the rows of a table.

    Spark promises no order of rows. So all declared columns are read at once, and belong together.
    """

    table: Table

    def load(
        self, names: Names, progress: Progress | None = None, witness: Witness | None = None
    ) -> Loaded:
        if witness is not None:
            self.digest(witness.key)
        version, frame = self.version(), rows_in_spark(self.table)
        if not names:
            with spark_errors(self.table):
                return Loaded({}, frame.count(), version)
        with spark_errors(self.table):
            read = frame.toArrow()
        columns = TypedColumns.of(self.table, [column.name for column in self.table.columns])
        rows = sum(map(columns.add, read.to_batches()))
        return Loaded(columns.finish(), rows, version)

    def digest(self, key: bytes) -> str:
        raise DataFileError(
            f"{self.table.place}: a budget that lasts is for data that can be recognized, "
            "which a table in Spark cannot",
            hint='name its Parquet files, with engine = "spark"',
        )

    def version(self) -> Version:
        """By the names of the files that Spark has the table in."""
        frame = rows_in_spark(self.table)
        with spark_errors(self.table):
            files = sorted(frame.inputFiles())
        return Version((int.from_bytes(sha256("\n".join(files).encode()).digest(), "big"),))
