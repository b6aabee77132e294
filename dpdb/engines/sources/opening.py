"""Which source a table's rows are read from."""

from __future__ import annotations

from dpdb.engines.sources.csv_source import CsvSource
from dpdb.engines.sources.protocol import Source
from dpdb.policy.catalog import Table


def open_source(table: Table) -> Source:
    """The source that the policy names for a table; nothing is read yet."""
    return CsvSource(table)
