"""The rows of a file as texts, cut into cells as the engine cuts them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from dpdb.engines.sources.cells.records import Block, blocks
from dpdb.engines.sources.opening import open_source
from dpdb.errors import DataFileError
from dpdb.policy.catalog import Table
from dpdb.policy.csv.csv_format import ORDINARY
from dpdb.policy.csv.csv_header import Header
from dpdb.policy.csv.csv_stream import open_csv
from dpdb.policy.schemas.stored_types import column_positions
from dpdb.policy.schemas.table_files import header_of
from dpdb.policy.storage import Storage
from dpdb.vectors import grammar


@contextmanager
def record_blocks(table: Table) -> Iterator[tuple[Header, Iterator[Block]]]:
    """The header of a table's file, and the records after it."""
    header = header_of(table)
    with open_csv(table.path, header.encoding, header.mark) as stream:
        stream.read(header.length)
        yield header, blocks(stream, len(header.names), header.punctuation)


def server_blocks(table: Table) -> Iterator[Block]:
    """The rows of a table of a PostgreSQL server, as cells of its declared columns."""
    if table.storage is Storage.SPARK:
        raise DataFileError(
            f"{table.place}: cells of a table in Spark are not looked at one by one",
            hint="dpdb prepare writes the table into a Parquet file",
        )
    from dpdb.engines.sources.postgres_source import PostgresSource  # noqa: PLC0415 (optional)

    source = open_source(table)
    assert isinstance(source, PostgresSource)
    return source.records([column.name for column in table.columns])


def text_rows(table: Table) -> Iterator[tuple[str, ...]]:
    """The cells of the declared columns, row by row; a missing one is empty.

    Numbers have a point, whatever decimal mark the file has.
    """
    if table.server is not None:
        quote = ORDINARY.quote
        for block in server_blocks(table):
            cut = (block.column(place).written() for place in range(len(table.columns)))
            yield from zip(
                *([grammar.text(raw, quote) for raw in each] for each in cut), strict=True
            )
        return
    if table.storage.typed:
        from dpdb.lab.files.typed_cells import typed_cells  # noqa: PLC0415 (it is optional)

        for held in typed_cells(table):
            written = ([grammar.text(raw, b"") for raw in column.written] for column in held)
            yield from zip(*written, strict=True)
        return
    with record_blocks(table) as (header, records):
        positions = column_positions(table, header.names)
        quote, decimal = header.punctuation.quote, header.punctuation.decimal.decode()
        for block in records:
            columns = []
            for column in table.columns:
                cells = block.column(positions[column.name]).written()
                texts = [grammar.text(raw, quote) for raw in cells]
                if column.kind.ordinal:
                    texts = [grammar.with_point(text, decimal) for text in texts]
                columns.append(texts)
            yield from zip(*columns, strict=True)
