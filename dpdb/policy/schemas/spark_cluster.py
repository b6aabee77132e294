"""Spark: the session of the user's cluster, and what it says of the columns of a table."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING

from dpdb.errors import DataFileError
from dpdb.policy.catalog import Kind, Table
from dpdb.policy.schemas.stored_types import StoredColumn, StoredType, names_in_file
from dpdb.policy.storage import ServerTable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import DataType

# ruff: noqa: PLC0415 - pyspark is optional

_SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.caseSensitive": "true",
    # Nothing may cut up a part that has all rows of its units.
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.execution.arrow.maxRecordsPerBatch": str(1 << 17),
    "spark.sql.execution.arrow.useLargeVarTypes": "true",
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
    # A file that is missing or broken is an error, and never left out.
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
}
"""Values are read in one way, whatever the cluster is used for besides."""

_GLOB = str.maketrans({each: f"\\{each}" for each in "\\*?[]{}"})
"""Escapes of the characters that have a meaning in the paths of Spark."""

_TYPES = {
    **dict.fromkeys(("byte", "short", "integer", "long"), StoredType.INTEGER),
    **dict.fromkeys(("float", "double"), StoredType.FLOAT),
    **dict.fromkeys(("string", "char", "varchar"), StoredType.TEXT),
    **dict.fromkeys(("timestamp", "timestamp_ntz"), StoredType.TIMESTAMP),
    "boolean": StoredType.BOOLEAN,
    "date": StoredType.DATE,
}


@contextmanager
def spark_errors(table: Table) -> Iterator[None]:
    """Hide Spark's own words on an error, as they could quote values."""
    from py4j.protocol import Py4JError
    from pyarrow import ArrowException
    from pyspark.errors import PySparkException

    try:
        with warnings.catch_warnings():
            # Which versions of other packages it likes is of no concern to who asks a query.
            warnings.simplefilter("ignore")
            yield
    except (PySparkException, Py4JError, ArrowException, OSError, EOFError):
        raise DataFileError(
            f"{table.place} cannot be read by Spark",
            hint="the logs of the cluster may say why; its workers need dpdb, too",
        ) from None


def rows_in_spark(table: Table) -> DataFrame:
    """The rows of a table, with the declared columns under their declared names."""
    frame = _stored_rows(table)
    stored = _columns(frame)
    names_whole_units(table, stored)
    held = names_in_file(table, stored)
    with spark_errors(table):
        return frame.select(*(frame[quoted(held[c.name])].alias(c.name) for c in table.columns))


def columns_in_spark(table: Table) -> tuple[StoredColumn, ...]:
    """The columns of a table, as the cluster declares them; that is public, as a header is."""
    return _columns(_stored_rows(table))


def check_spark(table: Table) -> None:
    """Raise DataFileError where the cluster does not have the table with the declared columns."""
    rows_in_spark(table)


def names_whole_units(table: Table, stored: Sequence[StoredColumn]) -> None:
    """Raise DataFileError where two values of the unit's column could name the same unit.

    Rows come together by their stored values: "7" and "7.0" are one number, and two texts.
    """
    if table.unit is None or table.chain is not None or table.owners or table.public:
        return
    name = names_in_file(table, stored)[table.unit]
    stored_type = next(column.type for column in stored if column.name == name)
    declared = table.unit_types[table.kind]
    written = stored_type is StoredType.TEXT and declared is not Kind.TEXT
    if written or stored_type is StoredType.FLOAT:
        raise DataFileError(
            f"{table.place}: {table.unit} holds {stored_type.value}, "
            f"of which several could name the same unit of type {declared}",
            hint='declare it as type = "text"' if written else "store it as integers or decimals",
        )


def _stored_rows(table: Table) -> DataFrame:
    """All rows with all columns; nothing of them is read yet."""
    session = _session(table)
    with spark_errors(table):
        if table.server is None:
            paths = [f"file://{path.absolute()}" for path in table.files]
            return session.read.parquet(*(path.translate(_GLOB) for path in paths))
        name = _name_in_catalog(table.server)
        if not session.catalog.tableExists(name):
            raise DataFileError(f"{table.place}: there is no such table")
        entry = session.catalog.getTable(name)
        if entry.isTemporary or entry.tableType == "VIEW":
            raise DataFileError(
                f"{table.place} is a view, where reading a row can fail", hint="name a table"
            )
        return session.read.table(name)


def _name_in_catalog(server: ServerTable) -> str:
    parts = [*server.schema.split("."), server.table] if server.schema else [server.table]
    return ".".join(map(quoted, parts))


def quoted(name: str) -> str:
    """A name as Spark takes it for one, whatever signs are in it."""
    return "`" + name.replace("`", "``") + "`"


def _columns(frame: DataFrame) -> tuple[StoredColumn, ...]:
    return tuple(StoredColumn(field.name, _stored_type(field.dataType)) for field in frame.schema)


def _stored_type(kind: DataType) -> StoredType:
    """The stored type of a type of Spark."""
    from pyspark.sql.types import DecimalType

    if isinstance(kind, DecimalType):
        return StoredType.DECIMAL if kind.scale else StoredType.INTEGER
    return _TYPES.get(kind.typeName().partition("(")[0], StoredType.OTHER)


def _session(table: Table) -> SparkSession:
    """A session of the cluster that the table is in, with settings of its own."""
    require_spark(table)
    netloc = "" if table.server is None else table.server.address.partition("://")[2]
    with spark_errors(table):
        return _connected(f"spark://{netloc}" if netloc else None)


def require_spark(table: Table) -> None:
    """Raise DataFileError where what talks to Spark is not installed."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import pyarrow  # noqa: F401
            import pyspark.sql  # noqa: F401
    except ModuleNotFoundError:
        raise DataFileError(
            f"{table.place} is read by Spark, and the package pyspark is not installed",
            hint='pip install "dpdb[spark]"',
        ) from None


@lru_cache
def _connected(master: str | None) -> SparkSession:
    """A session of the cluster that is running or that the environment names; it says nothing."""
    import subprocess

    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    if SparkSession.getActiveSession() is None:
        # Where the workers have another Python, the environment says so.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        conf = SparkConf()
        if master is not None:
            conf.setMaster(master)
        conf.setIfMissing("spark.app.name", "dpdb")
        silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        gateway = launch_gateway(conf, silent)
        SparkContext(conf=SparkConf(_jvm=gateway.jvm), gateway=gateway)
    session = SparkSession.builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    own = session.newSession()
    for name, value in _SETTINGS.items():
        own.conf.set(name, value)
    return own
