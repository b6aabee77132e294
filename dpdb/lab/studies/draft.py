"""The draft of a policy from a data file: how the file is written, types, the unit.

Types of a CSV file are those of its first rows; other files and servers say themselves of what
types their columns are.

Bounds are never suggested: they must come from knowledge of the subject.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import assert_never

from dpdb.errors import DataFileError
from dpdb.lab.studies.cells import record_blocks, text_rows
from dpdb.lab.studies.file_layout import as_written
from dpdb.lab.studies.suggested_types import SuggestedType, suggested_decimal, suggested_type
from dpdb.policy.catalog import Column, Kind, Table
from dpdb.policy.csv.csv_format import CsvFormat
from dpdb.policy.schemas.table_files import (
    found_columns,
    header_of,
    places,
    remarks,
    server_place,
    undeclared_tables,
)
from dpdb.policy.storage import (
    Storage,
    file_kind,
    files_of,
    is_server_address,
    server_table,
    within_file,
)
from dpdb.records import dataclass

SAMPLE_ROWS = 10_000
_IDENTITIES = frozenset(
    ("id", "uid", "uuid", "guid", "key", "nr", "no", "number", "name", "email", "mail", "phone",
     "ssn", "person", "patient", "customer", "client", "user", "member", "employee", "student",
     "pupil", "household", "subject", "participant", "account", "sender", "receiver", "supplier",
     "vendor", "seller", "buyer")
)  # fmt: skip
"""Words that columns are called by which say whom a row is about."""
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
"""A word of a name that is written_so, or writtenSo."""


@dataclass(frozen=True)
class Draft:
    """The beginning of a policy of a file.

    The format in its table is what the policy has to declare of how the file is written.
    """

    table: Table
    types: tuple[SuggestedType, ...]
    rows: int
    """The rows of the sample that the types were read off."""
    units: tuple[str, ...]
    """The columns that by their names may say whom a row is about."""
    notes: tuple[str, ...]
    """Remarks that the data owner should know, and a policy should not tell."""


def drafts(source: str, form: CsvFormat) -> list[Draft]:
    """The draft for each table of a file, or for the one of a server that an address names.

    A CSV file is written as `form` says.
    """
    if is_server_address(source):
        return [_typed_draft(found_columns(server_place(server_table(source))))]
    path = Path(source)
    match file_kind(within_file(path)[0]):
        case Storage.CSV:
            return [_csv_draft(path, form)]
        case Storage.JSON:
            [table] = places(path)
            columns = tuple(Column(name, Kind.TEXT) for name in _keys(table))
            return [_guessed_draft(replace(table, columns=columns))]
        case Storage.EXCEL:
            return [_guessed_draft(table) for table in undeclared_tables(path)]
        case (
            Storage.PARQUET | Storage.DUCKDB | Storage.SQLITE
            # No file has one of these.
            | Storage.POSTGRESQL | Storage.SPARK | Storage.FRAME | Storage.TRIAL
        ):  # fmt: skip
            return [_typed_draft(table) for table in undeclared_tables(path)]
        case unknown:
            assert_never(unknown)


def _keys(table: Table) -> list[str]:
    """The keys of the first rows, in the order in which they first come."""
    from dpdb.engines.sources.cell_source import json_objects  # noqa: PLC0415

    rows = [*islice(json_objects(table), SAMPLE_ROWS)]
    keys = [*dict.fromkeys(key for row in rows for key in row)]
    alone = len(rows) == 1 and any(isinstance(value, dict | list) for value in rows[0].values())
    if keys and not alone:
        return keys
    raise DataFileError(
        f'{table.path}: rows are objects such as {{"age": 30}}, one in each line or in an array',
        hint=f'pandas.json_normalize(…).to_json("{table.path.with_suffix(".jsonl")}", '
        'orient="records", lines=True) writes such lines',
    )


def _typed_draft(table: Table) -> Draft:
    """The draft for a table whose columns have types already."""
    return Draft(
        table,
        tuple(SuggestedType(column.kind, 0, repeats=False) for column in table.columns),
        0,
        tuple(column.name for column in table.columns if _may_name_units(column)),
        (),
    )


def _csv_draft(path: Path, form: CsvFormat) -> Draft:
    """The draft for a CSV file that is written as `form` says, where it says anything."""
    form, names, notes = as_written(files_of(path)[0], form)
    [table] = undeclared_tables(path, form, names)
    separator = header_of(table).punctuation.separator
    notes = [*notes, *remarks(table), *_long_rows(table)]
    return _guessed_draft(table, notes, separator=separator.decode())


def _long_rows(table: Table) -> list[str]:
    """A note where every row of the first block has more cells than the header."""
    files = record_blocks(table)  # open while the name stands
    header, blocks = next(files)
    block = next(blocks, None)
    width = len(header.names)
    if block is None or not block.rows or not (block.last - block.first >= width).all():
        return []
    return [
        f"{table.path}: every row has more cells than the {width} names of the header. If a row "
        "begins with its name, the other cells stand under the wrong names: a policy can say "
        "skip = 1, header = false and name all columns. If the names come later: skip = 1, or "
        'comment = "#"'
    ]


def _guessed_draft(table: Table, notes: Sequence[str] = (), separator: str = "") -> Draft:
    """The draft for a table with types that its first rows suggest.

    So is the decimal mark of a CSV file, which has a separator.
    """
    rows = list(islice(text_rows(table), SAMPLE_ROWS))
    columns = [[row[place] for row in rows] for place in range(len(table.columns))]
    if separator:
        decimal = suggested_decimal(columns, separator)
        table = replace(table, csv=replace(table.csv, decimal=decimal))
    types = tuple(suggested_type(cells, table.csv.decimal) for cells in columns)
    notes, units = [*notes], []
    for column, suggested in zip(table.columns, types, strict=True):
        if suggested.unreadable:
            notes.append(
                f"{column.name}: {suggested.unreadable} of the first {len(rows)} cells are no "
                f"{suggested.kind}, and will be NULL"
            )
        if _may_name_units(column) and suggested.kind is not Kind.BOOLEAN:
            units.append(column.name)
            if suggested.repeats:
                unit = f'unit = "{column.name}"'
                notes.append(f"{column.name} repeats. If it identifies a person, set {unit}")
    return Draft(table, types, len(rows), tuple(units), tuple(notes))


def _may_name_units(column: Column) -> bool:
    """Whether the column, by its name, says whom a row is about."""
    return not _IDENTITIES.isdisjoint(word.lower() for word in _WORD.findall(column.name))
