"""`dpdb init`: a first policy for a data file, for its data owner to complete.

It runs for the owner of the file, and reads rows of a CSV file to suggest types. It never suggests
bounds: they must come from knowledge of the subject.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from dpdb.errors import InvalidOption, UsageError, printable
from dpdb.interfaces.cli.arguments import separator
from dpdb.interfaces.cli.parsers import Parser
from dpdb.lab.studies.draft import Draft, drafts
from dpdb.lab.studies.suggested_types import SuggestedType, cell_keys, kind_of
from dpdb.policy.catalog import Kind, Table
from dpdb.policy.cell_format import PLAIN, CellFormat
from dpdb.policy.csv.csv_format import CsvFormat, valid_encoding, valid_separator
from dpdb.policy.output_files import written

_HEADER = """\
# The draft of a policy for {file}, by `dpdb init`: for the data owner's eyes
# until all of it has been checked{reason}. What the
# policy says in the end is public.{counts}
#
# Bounds and values must come from knowledge of the subject, never from the
# file: a bound read off the data gives away the row that sets it. Values
# outside the bounds are clamped to them, and the wider they are, the more
# noise there is. Columns without bounds can be counted, not summed.

[budget]
epsilon = 1.0   # total privacy loss of a session
queries = 10    # each query gets epsilon / queries

[privacy]
neighbors = "add-remove"
"""
_READ_OFF_ROWS = ", as the types were read off rows"
_COUNTS = """ Delete the numbers of cells first:
# they are read off rows, too."""
_TABLE = """\

[tables.{table}]
{place}
{format}unit = "row"    # or the column that says whom a row is about, with rows_per_unit = 5
{units}# rows_per_unit = "find": queries find for some epsilon how many rows of a person count
# of several tables, keys and public rows: dpdb help policy

[tables.{table}.columns]
"""


def main(words: list[str]) -> int:
    """Run `dpdb init` with the words after it; errors are raised as `DpdbError`."""
    options = parser().parse_args(words)
    try:
        form = CsvFormat(
            separator=None if options.separator is None else valid_separator(options.separator),
            encoding=None if options.encoding is None else valid_encoding(options.encoding),
            header=not options.no_header,
        )
    except InvalidOption as error:
        raise UsageError(error.message, hint=error.hint) from None
    if options.file.endswith(".toml"):
        raise UsageError(f"{options.file} is a policy already", hint="dpdb check FILE.toml")
    tables = drafts(options.file, form)
    text = _policy_text(tables, options.output)
    if options.output is None:
        print(text, end="")
    else:
        with written(options.output, new=True) as file:
            file.write(text.encode())
    for note in [note for each in tables for note in each.notes]:
        print(f"note: {printable(note)}", file=sys.stderr)
    if options.output is not None:
        print(f"wrote {printable(str(options.output))}: check each line, and give bounds to the "
              "columns that are to be summed", file=sys.stderr)  # fmt: skip
    return 0


def parser() -> argparse.ArgumentParser:
    """The parser of `dpdb init`."""
    result = Parser(
        "dpdb init",
        "FILE.csv [-o FILE.toml] [options]",
        "For the data owner only: draft a policy for a data file. Rows of a CSV file "
        "are read to suggest types; bounds are left open.",
    )
    add = result.add_argument
    add("file", metavar="FILE.csv", help="a data file, or postgresql:///DATABASE?table=NAME")
    add("-o", dest="output", type=Path, metavar="FILE.toml",
        help="write the draft there, where there must be no file yet (default: standard output, "
        "for a policy beside the file)")  # fmt: skip
    add("--separator", type=separator, metavar="C", help="what separates cells: ; or \\t for a tab")
    add("--encoding", metavar="NAME", help="latin-1, utf-16, …")
    add("--no-header", action="store_true",
        help="the first line is a row; columns get numbers, to be replaced by names")  # fmt: skip
    return result


def _policy_text(tables: Sequence[Draft], output: Path | None) -> str:
    """The text of a policy that is written to `output`, or beside the file: bounds left open."""
    table = tables[0].table
    reason = "" if table.storage.typed else _READ_OFF_ROWS
    file = table.path.name if table.server is None else table.place
    counted = any(each.counted for draft in tables for each in draft.types)
    header = _HEADER.format(file=_plain(file), reason=reason, counts=_COUNTS if counted else "")
    return header + "".join(_table_text(each, output) for each in tables)


def _table_text(draft: Draft, output: Path | None) -> str:
    table = draft.table
    text = _TABLE.format(
        table=_key(table.name),
        place=_place(table, output),
        format="".join(f"{line}\n" for line in _format_lines(draft)),
        units="".join(f"# {line}\n" for line in _unit_lines(draft)),
    )
    columns = zip(table.columns, draft.types, strict=True)
    return text + "".join(
        _lines(column.name, suggested, draft.rows) for column, suggested in columns
    )


def _unit_lines(draft: Draft) -> list[str]:
    """Hints at the columns that may say whom a row is about; of two a row may be about both."""
    names = [*draft.units]
    if not names:
        return []
    lines = [f"by their names perhaps: {', '.join(map(_plain, names))}"]
    if len(names) == 2:
        one, other = map(_string, map(_plain, names))
        lines += [
            f"whose is a row? if {_plain(names[0])} and {_plain(names[1])} name two who are both"
            " to be protected:",
            f'unit = {{ person = [{one}, {other}] }}, with units = ["person"] in [privacy]; or',
            f'unit = {{ customer = {one}, supplier = {other} }}, with units = ["customer",'
            ' "supplier"]: dpdb help messages',
        ]
    return lines


def _place(table: Table, output: Path | None) -> str:
    """The line that says where the rows are, in a policy at `output`."""
    if table.server is not None:
        return f"source = {_string(table.server.source)}"
    path = Path(table.path.name)
    if output is not None:
        path = Path(os.path.relpath(table.path, output.parent))
    lines = f"path = {_string(path.as_posix())}"
    inner = table.storage.value.inner
    return f"{lines}\n{inner} = {_string(table.stored_as)}" if table.stored_as else lines


def _format_lines(draft: Draft) -> list[str]:
    """The keys that say how the file is written, where it is not as most are."""
    form, lines = draft.table.csv, []
    if form.separator is not None:
        lines.append(f"separator = {_string(form.separator)}")
    if form.encoding is not None:
        lines.append(f"encoding = {_string(form.encoding)}")
    if form.decimal != ".":
        lines.append(f"decimal = {_string(form.decimal)}")
    if form.comment:
        lines.append(f"comment = {_string(form.comment)}")
    if form.skip:
        lines.append(f"skip = {form.skip}")
    if not form.header:
        lines.append("header = false  # the columns below are those of the file, in order")
    return lines


_HINTS = {
    Kind.INTEGER: "bounds = [LOW, HIGH], or values = [1, 2] to group by them",
    Kind.NUMBER: "bounds = [LOW, HIGH] and, for its precision, step = 0.01",
    Kind.DATE: "bounds = [1900-01-01, 2030-12-31]",
    Kind.TIMESTAMP: "bounds = [2020-01-01T00:00:00, 2030-12-31T23:59:59]",
    Kind.TEXT: 'values = ["one", "other"] to group by them',
}


def _lines(name: str, suggested: SuggestedType, rows: int) -> str:
    """The line of a column, and comments: other types that fit, and what else to declare.

    In a text column a placeholder may be a text of its own, as NA is for Namibia: a comment alone
    makes it NULL.
    """
    kind, null = suggested.kind, suggested.null
    kept = "" if kind is Kind.TEXT else null
    declared = [(kind, suggested.cells, suggested.fitting, kept)]
    if suggested.number:
        declared.append((Kind.INTEGER, PLAIN, 0, null))
    for text, fitting in suggested.either:
        form = CellFormat((text,))
        declared.append((kind_of(form), form, fitting, null))
    if null and declared[-1][-1] == "":
        declared.append((kind, PLAIN, 0, null))
    lines = []
    for each, form, fitting, missing in declared:
        keys = ", ".join(filter(None, (f'type = "{each}"', cell_keys(form), missing)))
        counts = _counts(suggested, fitting, rows, null=bool(missing))
        lines.append(f"{_key(name)} = {{ {keys} }}" + (f"  # {counts}" if counts else ""))
    lines[1:] = [f"# {_plain(line)}" for line in lines[1:]]
    if hint := _HINTS.get(kind):
        lines.append(f"# {_plain(name)}: {hint}; from knowledge of the subject")
    return "".join(f"{line}\n" for line in lines)


def _counts(suggested: SuggestedType, fitting: int, rows: int, *, null: bool) -> str:
    """The number of cells that a format and placeholders explain; empty where there are none."""
    said = [f"{fitting:,} fit"] if fitting else []
    if null:
        said += [f'{number:,} are "{text}"' for text, number in suggested.missing]
    return f"of the first {rows:,} cells {', '.join(said)}" if said else ""


def _key(name: str) -> str:
    """A TOML key, quoted where it has to be."""
    if re.fullmatch(r"[A-Za-z0-9_-]+", name):
        return name
    return _string(name)


def _string(text: str) -> str:
    """A TOML string, in which characters that cannot be printed are escaped."""
    return '"' + "".join(_character(c) for c in text) + '"'


def _character(character: str) -> str:
    if character in '"\\\t':
        return {"\t": "\\t"}.get(character, f"\\{character}")
    return character if character.isprintable() else f"\\U{ord(character):08X}"


def _plain(text: str) -> str:
    """Text that stays within a comment's line."""
    return "".join(c if c.isprintable() else "?" for c in text)
