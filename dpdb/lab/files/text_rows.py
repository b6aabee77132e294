"""The rows of a file as texts, cut into cells as the engine cuts them."""

from __future__ import annotations

from collections.abc import Iterator

from dpdb.engines.sources.cells.records import Block, blocks
from dpdb.engines.sources.opening import open_source
from dpdb.policy.catalog import Table
from dpdb.policy.csv.csv_header import Header
from dpdb.policy.csv.csv_stream import open_csv
from dpdb.policy.schemas.stored_types import column_positions
from dpdb.policy.schemas.table_files import header_of
from dpdb.policy.storage import Storage
from dpdb.vectors import grammar


def record_blocks(table: Table) -> Iterator[tuple[Header, Iterator[Block]]]:
    """The header of each of a table's CSV files, and the records after it."""
    for path in table.files:
        header = header_of(table, path)
        with open_csv(path, header.encoding, header.mark, table.named(path)) as stream:
            stream.read(header.length)
            yield header, blocks(stream, len(header.names), header.punctuation)


def text_rows(table: Table) -> Iterator[tuple[str, ...]]:
    """The cells of the declared columns, row by row; a missing one is empty.

    Numbers have a point, whatever decimal mark the file has.
    """
    if table.storage is not Storage.CSV:
        for held in open_source(table).written():
            written = ([grammar.text(raw, b"") for raw in column.cells] for column in held)
            yield from zip(*written, strict=True)
        return
    for header, records in record_blocks(table):
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
