"""The tables that a policy file declares: their files, units, keys and columns."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from dpdb.policy.catalog import Column, Kind, Table
from dpdb.policy.csv.csv_format import (
    CsvFormat,
    valid_comment,
    valid_decimal,
    valid_encoding,
    valid_flag,
    valid_quote,
    valid_separator,
    valid_skip,
)
from dpdb.policy.reading.column_reader import ColumnReader, ReferenceReader, null_texts
from dpdb.policy.reading.policy_text import PolicyText
from dpdb.policy.reading.unit_reader import OF_UNITS, UnitReader, keeps_values, whole
from dpdb.policy.storage import SPARK, ServerTable, Storage, file_kind, server_table
from dpdb.records import dataclass

_FORMAT: dict[str, Callable[[object], Any]] = {
    "separator": valid_separator,
    "encoding": valid_encoding,
    "quote": valid_quote,
    "decimal": valid_decimal,
    "header": valid_flag,
    "multiline": valid_flag,
    "comment": valid_comment,
    "skip": valid_skip,
}
"""The keys of a table that say how its file is written."""

_INNER = {"table": "a DuckDB or SQLite file", "sheet": "an Excel workbook"}
"""The keys that name one of several tables in a file, and the files that they go with."""

KEYS = (
    *("path", "table", "sheet", "source", "engine", "workers"),
    *OF_UNITS,
    *("public", "key", "at_most"),
    *_FORMAT,
    "null",
    "columns",
)

ENGINES = ("memory", "stream", "spark")
"""The engines that a policy can name."""

MOST_WORKERS = 64
"""The most processes that a policy can ask for."""

MOST_ROWS = 10**6
"""The most rows of a public table that a policy can say share a value."""


@dataclass(frozen=True)
class TableReader:
    """Reads the tables of one policy file, each by itself."""

    text: PolicyText
    tables: dict[str, Any]
    """The section of the tables, as it is written."""
    kinds: tuple[str, ...] = ()
    """The kinds of units that the policy declares."""

    def table(self, name: str) -> Table:
        """The table of a name in the section."""
        where = ("tables", name)
        section = self.text.section(self.tables, name, ("tables",))
        self.text.check_keys(section, KEYS, where)
        path, *also = self._path(section, name, where)
        declared = self.text.section(section, "columns", where)
        if not declared:
            raise self.text.error("a table needs columns", where)
        form = self._format(section, where)
        null = null_texts(self.text, section, where) or ()
        reader = ColumnReader(self.text, self._references, null, form.decimal)
        columns = tuple(reader.column(name, declared, (*where, "columns")) for name in declared)
        public = self._public(section, where)
        of_units = self.text, self._references, self.kinds, section, columns, where
        unit = UnitReader(*of_units).units()
        return Table(
            name,
            path,
            columns,
            unit.column,
            unit.rows,
            form,
            unit.chain,
            public,
            self._key(section, columns, where),
            self._at_most(section, columns, where),
            unit.groups,
            section.get("table", section.get("sheet")),
            self._engine(section, where),
            self._server(section, name, where),
            unit.held,
            tuple(also),
            workers=self._workers(section, where),
            finds_cap=unit.finds,
            kind=unit.kind,
            owners=unit.owners,
        )

    def _path(self, section: dict[str, Any], name: str, where: tuple[str, ...]) -> tuple[Path, ...]:
        """The files of a table, and whether the other keys go with a file of its kind."""
        for key in _INNER:
            if not isinstance(section.get(key, ""), str):
                raise self.text.error(f"{key} is a string", (*where, key))
        written = section.get("path", f"{name}.csv")
        listed = written if isinstance(written, list) else [written]
        if not listed or not all(isinstance(each, str) and each for each in listed):
            raise self.text.error("path is a string, or a list of them", (*where, "path"))
        path, *also = (self.text.path.parent / each for each in listed)
        kind = file_kind(path)
        if also and (kind.value.inner or {file_kind(each) for each in also} != {kind}):
            raise self.text.error("files of one table are of one kind", (*where, "path"))
        if "source" in section:
            for key in ("path", *_INNER, *_FORMAT):
                if key in section:
                    raise self.text.error(f"{key} goes with a file", (*where, key))
            return (path,)
        for key, label in _INNER.items():
            if key in section and kind.value.inner != key:
                raise self.text.error(f"{key} goes with the path of {label}", (*where, key))
        for key in _FORMAT:
            if key in section and kind is not Storage.CSV:
                raise self.text.error(f"a {kind.value.label} file has no {key}", (*where, key))
        return (path, *also)

    def _server(
        self, section: dict[str, Any], name: str, where: tuple[str, ...]
    ) -> ServerTable | None:
        """The table of a server that has the rows, where the section names one."""
        if "source" not in section:
            return None
        if not isinstance(section["source"], str):
            raise self.text.error("source is a string", (*where, "source"))
        return self.text.accepted(
            section["source"], lambda source: server_table(source, name), (*where, "source")
        )

    @property
    def _references(self) -> ReferenceReader:
        return ReferenceReader(self.text, self.tables)

    def _format(self, section: dict[str, Any], where: tuple[str, ...]) -> CsvFormat:
        """The declared format of the CSV file."""
        given = {
            key: self.text.accepted(section[key], valid, (*where, key))
            for key, valid in _FORMAT.items()
            if key in section
        }
        return self.text.accepted(given, lambda values: CsvFormat(**values), (*where, "quote"))

    def _engine(self, section: dict[str, Any], where: tuple[str, ...]) -> str | None:
        """The engine that evaluates queries; None where the storage decides."""
        engine = section.get("engine")
        if engine is None:
            return None
        if engine not in ENGINES:
            *names, last = (f'"{name}"' for name in ENGINES)
            raise self.text.error(f"engine is {', '.join(names)} or {last}", (*where, "engine"))
        source = str(section.get("source", ""))
        in_spark = source.startswith(f"{SPARK}:")
        if engine == "spark" and not in_spark and (source or not _is_parquet(section)):
            problem = "Spark reads Parquet files and the tables of its catalog"
            raise self.text.error(problem, (*where, "engine"))
        if engine == "stream" and in_spark:
            problem = 'a table in Spark has the engine "spark" or "memory"'
            raise self.text.error(problem, (*where, "engine"))
        return str(engine)

    def _workers(self, section: dict[str, Any], where: tuple[str, ...]) -> int | None:
        """The processes that read a file at once; None where its size decides."""
        if "workers" not in section:
            return None
        here = (*where, "workers")
        paths = section.get("path", "")
        kind = file_kind(Path(str(paths[0] if isinstance(paths, list) and paths else paths)))
        csv = kind is Storage.CSV and section.get("engine") == "stream"
        if "source" in section or not (csv or kind is Storage.PARQUET):
            problem = 'workers goes with Parquet files, and CSV files whose engine is "stream"'
            raise self.text.error(problem, here)
        return whole(self.text, section["workers"], here, MOST_WORKERS)

    def _public(self, section: dict[str, Any], where: tuple[str, ...]) -> bool:
        """Whether everybody may know the rows."""
        public = section.get("public", False)
        if not isinstance(public, bool):
            raise self.text.error("public is true or false", (*where, "public"))
        for key in OF_UNITS:
            if public and key in section:
                raise self.text.error("the rows of a public table have no unit", (*where, key))
        return public

    def _key(
        self, section: dict[str, Any], columns: tuple[Column, ...], where: tuple[str, ...]
    ) -> tuple[str, ...]:
        """The names of the key's columns, in the order in which the table declares them."""
        if "key" not in section:
            return ()
        here, key = (*where, "key"), section["key"]
        listed = [key] if isinstance(key, str) else key
        names = [column.name for column in columns]
        known = isinstance(listed, list) and all(name in names for name in listed)
        if not known or not 0 < len(listed) == len({*listed}):
            raise self.text.error("key is the name of a column, or a list of names", here)
        chosen = [column for column in columns if column.name in listed]
        if not all(column.kind is not Kind.NUMBER and keeps_values(column) for column in chosen):
            raise self.text.error("a key is no number, without bounds, and nullable", here)
        return tuple(column.name for column in chosen)

    def _at_most(
        self, section: dict[str, Any], columns: tuple[Column, ...], where: tuple[str, ...]
    ) -> tuple[tuple[str, int], ...]:
        """The most rows of a public table that share a value, for some of its columns."""
        here = (*where, "at_most")
        declared = self.text.section(section, "at_most", where)
        if declared and not section.get("public", False):
            raise self.text.error("at_most goes with public = true", here)
        self.text.check_keys(declared, tuple(column.name for column in columns), here)
        return tuple(
            (name, whole(self.text, declared[name], (*here, name), MOST_ROWS)) for name in declared
        )


def _is_parquet(section: dict[str, Any]) -> bool:
    return file_kind(Path(str(section.get("path", "")))) is Storage.PARQUET
