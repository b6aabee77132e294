"""`dpdb prepare`: a data file written anew as Parquet, by its data owner."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from dpdb.errors import UsageError, printable
from dpdb.interfaces.cli.parsers import Parser
from dpdb.lab.studies.draft import drafts
from dpdb.policy.catalog import Table
from dpdb.policy.csv.csv_format import CsvFormat
from dpdb.policy.storage import Storage, file_kind, is_server_address, within_file
from dpdb.session.connect import policy_of


def main(words: list[str]) -> int:
    """Run `dpdb prepare` with the words after it; errors are raised as `DpdbError`."""
    options = parser().parse_args(words)
    if file_kind(options.output) is not Storage.PARQUET:
        raise UsageError(f"{options.output} is written as Parquet", hint="-o FILE.parquet")
    try:
        from dpdb.lab.studies.prepare import prepare  # noqa: PLC0415 (Parquet is optional)
    except ModuleNotFoundError:
        raise UsageError(
            "Parquet files are written by the package pyarrow, which is not installed",
            hint='pip install "dpdb[parquet]"',
        ) from None
    table, notes = _declared(options.file)
    prepare(table, options.output)
    place = options.file if table.server is None else table.place
    for note in notes:
        print(f"note: {printable(note)}", file=sys.stderr)
    print(f"wrote {printable(str(options.output))}, as private as {printable(place)}: "
          f'in a policy, path = "{printable(options.output.name)}"', file=sys.stderr)  # fmt: skip
    return 0


def parser() -> argparse.ArgumentParser:
    """The parser of `dpdb prepare`."""
    result = Parser(
        "dpdb prepare",
        "FILE.csv -o FILE.parquet",
        "For the data owner only: write a data file anew as Parquet, with the columns "
        "and types of its policy, or else of the draft that dpdb init would make. Whatever bounds "
        "a policy declares, answers from both files are alike.",
    )
    add = result.add_argument
    add("file", metavar="FILE.csv", help="a data file, or postgresql:///DATABASE?table=NAME")
    add("-o", dest="output", type=Path, metavar="FILE.parquet", required=True,
        help="the file to write, where there must be none yet")  # fmt: skip
    return result


def _declared(source: str) -> tuple[Table, tuple[str, ...]]:
    """The table of a file with its types, by the policy beside it or by a draft, and notes.

    That of a server has the types that the server says.
    """
    if is_server_address(source):
        return policy_of(source).tables[0], ()
    path, _ = within_file(Path(source))
    here = path.absolute()
    tables = [table for table in policy_of(source).tables if table.path.absolute() == here]
    if not tables:
        raise UsageError(f"the policy beside {path} is about other files")
    if len(tables) > 1:
        raise UsageError(f"{path} has several tables, and one is written")
    [table] = tables
    if not any(column.guessed for column in table.columns):
        return table, ()
    [drafted] = drafts(source, CsvFormat())
    typed = zip(drafted.table.columns, drafted.types, strict=True)
    columns = tuple(
        replace(column, kind=each.kind, cells=each.cells, guessed=False) for column, each in typed
    )
    return replace(drafted.table, columns=columns), drafted.notes
