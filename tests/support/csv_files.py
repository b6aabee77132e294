"""CSV files of a few cells, and what they are loaded as."""

from __future__ import annotations

import csv
import io
import re
from fractions import Fraction
from unittest.mock import patch

import numpy as np
from hypothesis import HealthCheck, settings

from dpdb.engines.sources.cells import records
from dpdb.engines.sources.cells.records import MARGIN, WITHIN, Cells
from dpdb.engines.sources.csv_source import CsvSource
from dpdb.policy.catalog import Column, Kind, Table
from dpdb.policy.csv.csv_format import CsvFormat
from dpdb.vectors.columns import Codes

BLOCKS = (1, 7, 16, 40, 200, 1 << 22)
"""In bytes: how a file is cut must not be seen."""
anywhere = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)


def loaded(path, content, *columns, block=1 << 22, unit=None, **form):
    """The columns of a file with this content, written in this form."""
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    table = Table("t", path, columns, unit, csv=CsvFormat(**form))
    with patch.object(records, "BLOCK", block):
        found = CsvSource(table).load([column.name for column in columns])
    return found.columns, found.rows


def quoted(text):
    return '"' + text.replace('"', '""') + '"'


def plain(column):
    """The cells of a column as Python values; None for NULL."""
    if isinstance(column, Codes):
        values = (*column.values, None)
        return [values[code] for code in column.codes.tolist()]
    units = column.units.tolist()
    null = [False] * len(units) if column.null is None else column.null.tolist()
    return [None if nothing else unit for unit, nothing in zip(units, null, strict=True)]


def read(path, texts, column, block=1 << 22):
    """The cells of one column read from these texts, in a file with another column."""
    content = f"other,{column.name}\n" + "".join(f"0,{quoted(text)}\n" for text in texts)
    columns, rows = loaded(path, content, column, block=block)
    assert rows == len(texts)
    return columns[column.name]


def integer(lower=None, upper=None, **options):
    return ordinal(Kind.INTEGER, lower, upper, **options)


def ordinal(kind, lower=None, upper=None, step=1, **options):
    bounds = {} if lower is None else {"lower": Fraction(lower), "upper": Fraction(upper)}
    return Column("x", kind, step=Fraction(step), **bounds, **options)


def ends_open(text, **form):
    """Whether a text ends within quotes, by the csv module."""
    return [*csv.reader(io.StringIO(f"{text}\nZ", newline=""), **form)][-1] != ["Z"]


def as_read(text, *, within=WITHIN, multiline=True):
    """The records by the rules, sign by sign; a blank line is an empty one."""
    records, cells, at = [], [], 0
    while at < len(text):
        start, at = at, _after_quotes(text, at, within=within, multiline=multiline)
        while at < len(text) and text[at] not in ",\r\n":
            at += 1
        cells.append(_without_quotes(text[start:at]))
        blank = start == at and len(cells) == 1
        if at == len(text) or text[at] != ",":
            at += 2 if text[at : at + 2] == "\r\n" else 1
            records.append([] if blank else cells)
            cells = []
        else:
            at += 1
            if at == len(text):
                records.append([*cells, ""])
    return records


def _after_quotes(text, at, *, within, multiline):
    """Where a cell goes on after the quotes around what it begins with, if there are any."""
    closed = re.compile(r'"((?:[^"]|"")*)"(?!")' if multiline else r'"((?:[^"\r\n]|"")*)"(?!")')
    found = closed.match(text, at)
    return at if found is None or found.end() - 1 - at > within else found.end()


def _without_quotes(cell):
    found = re.fullmatch(r'"((?:[^"]|"")*+)"(.*)', cell, re.DOTALL)
    return cell if found is None else found[1].replace('""', '"') + found[2]


def cells_of(raws):
    """The cells of one block; digits before the first and after the last are no part of them."""
    text = b"1" * MARGIN + b",".join(raws) + b"2" * 8
    lengths = np.array([len(raw) for raw in raws], dtype=np.intp)
    ends = MARGIN - 1 + np.cumsum(lengths + 1)
    return Cells(text, ends - lengths, ends)


class Remembering:
    """A witness that remembers what it is shown."""

    key = b"key"

    def __init__(self):
        self.seen = []

    def check(self, table, digest):
        self.seen.append((table, digest))
