"""From what `connect` is given to the tables of a policy: files, patterns, addresses, frames."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from dpdb.errors import DataFileError, UsageError, did_you_mean
from dpdb.policy.catalog import Policy, Table
from dpdb.policy.csv.csv_format import CsvFormat
from dpdb.policy.frames import SOURCES, held_frame, no_source
from dpdb.policy.reading.reader import policy_for, policy_in, read_policy
from dpdb.policy.schemas.table_files import found_columns, places, server_place
from dpdb.policy.storage import is_server_address, server_table
from dpdb.records import dataclass

DataSource = object
"""A path, a list of paths, the address of a server's table, a policy, a frame, or a dict of these
by the names of tables."""
PolicySource = str | Path | Mapping[str, object] | Policy
"""A policy, its file, or its sections as a dict."""
_FRAME = "frame"
"""The name of a table whose frame is given without one."""


@dataclass(frozen=True)
class TableSources:
    """Sources, and how those without a policy of their own are read."""

    form: CsvFormat | None
    """The format of CSV files without a policy."""
    names: Sequence[str]
    """The columns of CSV files without a policy or a header."""
    name: str | None
    """The name of the only table; None where the source says it."""

    def policy(self, source: DataSource) -> Policy:
        """The policy of one source."""
        if isinstance(source, Policy):
            return source
        if isinstance(source, str | Path) and not is_server_address(str(source)):
            path = _checked(source)
            try:
                if path.suffix == ".toml":
                    policy = read_policy(path)
                else:
                    policy = policy_for(path, self.form, self.names)
            except OSError as error:  # it is in a folder that the user may not look into
                raise DataFileError(f"cannot read {path}: {error.strerror}") from None
        else:
            policy = Policy(tuple(map(found_columns, self._places(source, self.name))))
        if self.name is None:
            return policy
        if len(policy.tables) != 1:
            raise UsageError("name is for one table", hint='connect({"people": …, "zips": …})')
        return replace(policy, tables=(replace(policy.tables[0], name=self.name),))

    def with_rows(self, declared: PolicySource, sources: Sequence[DataSource]) -> Policy:
        """The policy, whose tables have their rows in the sources that are called by their names.

        One source is that of the only table, whatever its name.
        """
        match declared:
            case Policy():
                policy = declared
            case Mapping():
                policy = policy_in(declared)
            case str() | Path():
                policy = read_policy(_checked(declared))
            case _:
                raise UsageError("policy is a path, a dict of its sections, or a dpdb.Policy")
        found = [place for source in sources for place in self._places(source, self.name)]
        tables = {table.name: table for table in policy.tables}
        for place in found:
            table = policy.table(place.name)
            if table is None and len(found) == len(tables) == 1:
                [table] = policy.tables
            if table is None:
                raise UsageError(
                    f"the policy declares no table {place.name}",
                    hint=did_you_mean(place.name, [*tables]) or f"it declares {', '.join(tables)}",
                )
            frame = None if place.frame is None else place.frame.as_declared()
            inner = table.stored_as or (place.name if place.name != table.name else None)
            tables[table.name] = replace(
                table, path=place.path, also=place.also, server=place.server, frame=frame,
                stored_as=inner if place.storage.value.inner else None,
            )  # fmt: skip
        return replace(policy, tables=tuple(tables.values()))

    def _places(self, source: DataSource, name: str | None) -> Iterator[Table]:
        """The tables of a source, without their columns; one that has no name gets `name`."""
        match source:
            case str() | Path() if is_server_address(str(source)):
                yield server_place(server_table(str(source)))
            case str() | Path():
                yield from places(_checked(source), self.form, self.names)
            case Policy():
                raise UsageError("a policy is no source of rows", hint="policy=…")
            case Mapping() if source:
                for each, own in source.items():
                    if not isinstance(each, str) or not each:
                        raise UsageError(
                            "the tables of a dict are called by texts",
                            hint='connect({"people": …, "zips": …})',
                        )
                    held = [*self._places(own, each)]
                    if len(held) != 1:
                        raise UsageError(f"{each} is one table, and its source has {len(held)}")
                    inner = held[0].name if held[0].storage.value.inner else None
                    yield replace(held[0], name=each, stored_as=inner)
            case list() | tuple() if source and all(isinstance(p, str | Path) for p in source):
                first, *others = map(_checked, source)
                yield from places(first, self.form, self.names, tuple(others))
            case _:
                frame = held_frame(source)
                if frame is None:
                    raise no_source(source)
                called = name or _FRAME
                yield Table(called, Path(called), (), frame=frame)


_ALIKE = {
    "budget": "their budget",
    "lasting": "the budget that they name",
    "neighbors": "their neighbors",
    "noise": "their noise",
    "minimum_units": "their minimum_units",
    "timing": "the moments of their answers",
}
"""The fields in which united policies must agree, and the words for each in messages."""


def united(policies: list[Policy]) -> Policy:
    """A policy with the tables of all, which must agree on the session."""
    if not policies:
        raise UsageError("no data file or policy given")
    first = policies[0]
    tables = tuple(table for policy in policies for table in policy.tables)
    names = [table.name.casefold() for table in tables]
    if len(set(names)) < len(names):
        raise UsageError("two tables have the same name")
    for name, words in _ALIKE.items():
        if any(getattr(policy, name) != getattr(first, name) for policy in policies):
            raise UsageError(
                f"the files' policies differ in {words}", hint="put the tables into one policy"
            )
    units = {policy.unit for policy in policies} - {Policy.unit}
    if len(units) > 1:
        raise UsageError("the files' policies differ in what they call a unit")
    types = {named for table in tables for named in table.unit_types.items()}
    if len(types) > len(dict(types)):
        raise UsageError("the files' policies differ in the type of their units")
    return replace(first, tables=tables, unit=units.pop() if units else first.unit)


def _checked(source: str | Path) -> Path:
    """The path of a file, or of a pattern of files."""
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]+:/", str(source)):
        raise DataFileError(
            f"{source} is not on this machine: dpdb reads local files and PostgreSQL",
            hint="download it, and name the copy",
        )
    path = Path(source)
    if not str(source) or "\0" in str(path):
        raise DataFileError(f"{path} is not a file", hint=f"a source is {SOURCES}")
    try:
        if path.is_dir():
            raise DataFileError(f"{path} is not a file")
    except OSError as error:  # it is in a folder that the user may not look into
        raise DataFileError(f"cannot read {path}: {error.strerror}") from None
    return path
