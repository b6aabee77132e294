"""`dpdb init`: a first policy for a CSV file, for its custodian to complete.

It runs for the owner of the file, and reads its rows to guess types. It never guesses bounds:
they must come from knowledge of the subject.
"""

from __future__ import annotations

import argparse
import csv
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from dpdb.policy.catalog import Kind
from dpdb.policy.csv_header import read_header
from dpdb.vectors import grammar

SAMPLE_ROWS = 10_000

_HEADER = """\
# A policy for {file}, drafted by `dpdb init`. Everything in it is public.
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

[tables.{table}]
path = {path}
unit = "row"    # or the column that says whom a row is about, with rows_per_unit

[tables.{table}.columns]
"""


def main(words: list[str]) -> int:
    """Print the draft."""
    print(draft(parser().parse_args(words).file), end="")
    return 0


def parser() -> argparse.ArgumentParser:
    """The parser of `dpdb init`."""
    result = argparse.ArgumentParser(
        prog="dpdb init",
        description="Draft a policy for a CSV file, to standard output.",
    )
    result.add_argument("file", metavar="FILE.csv", type=Path)
    return result


def draft(path: Path) -> str:
    """The text of a policy: columns and guessed types, bounds left open."""
    names = read_header(path)
    kinds = [_kind(column) for column in _sample(path, len(names))]
    table = _key(path.stem)
    text = _HEADER.format(file=_plain(path.name), table=table, path=_string(path.name))
    return text + "".join(_lines(name, kind) for name, kind in zip(names, kinds, strict=True))


def _sample(path: Path, width: int) -> list[list[str]]:
    """The cells of the first rows, column by column, without the empty ones."""
    columns: list[list[str]] = [[] for _ in range(width)]
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        for row in islice(_rows(csv.reader(file)), 1, SAMPLE_ROWS + 1):
            for column, cell in zip(columns, row, strict=False):
                if cell:
                    column.append(cell)
    return columns


def _rows(reader: Iterator[list[str]]) -> Iterator[list[str]]:
    """The rows before the first that Python's reader cannot read."""
    try:
        yield from reader
    except csv.Error:
        return


def _kind(column: list[str]) -> Kind:
    if not column:
        return Kind.TEXT
    if all(cell.lower() in ("true", "false") for cell in column):
        return Kind.BOOLEAN
    if all(grammar.date(cell) is not None for cell in column):
        return Kind.DATE
    numbers = [grammar.number(cell) for cell in column]
    if None in numbers:
        return Kind.TEXT
    whole = all(re.fullmatch(r"\s*[+-]?[0-9]+\s*", cell) for cell in column)
    return Kind.INTEGER if whole else Kind.NUMBER


_HINTS = {
    Kind.INTEGER: "bounds = [LOW, HIGH], or values = [1, 2] to group by them",
    Kind.NUMBER: "bounds = [LOW, HIGH] and, for its precision, step = 0.01",
    Kind.DATE: "bounds = [1900-01-01, 2030-12-31]",
    Kind.TEXT: 'values = ["one", "other"] to group by them',
}


def _lines(name: str, kind: Kind) -> str:
    line = f'{_key(name)} = {{ type = "{kind}" }}\n'
    hint = _HINTS.get(kind)
    return line + (f"# {_plain(name)}: {hint}; from knowledge of the subject\n" if hint else "")


def _key(name: str) -> str:
    """A TOML key, quoted where it has to be."""
    if re.fullmatch(r"[A-Za-z0-9_-]+", name):
        return name
    return _string(name)


def _string(text: str) -> str:
    """A TOML string, in which characters that cannot be printed are escaped."""
    return '"' + "".join(_character(c) for c in text) + '"'


def _character(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    return character if character.isprintable() else f"\\U{ord(character):08X}"


def _plain(text: str) -> str:
    """Text that stays within a comment's line."""
    return "".join(c if c.isprintable() else "?" for c in text)
