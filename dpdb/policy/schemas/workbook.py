"""Excel workbooks (`.xlsx`): the header of a sheet, and its rows as cells that write their values.

A workbook is a zip archive of XML files (ECMA-376 part 1, section 18). They are read by expat, a
piece at a time: a cell far away from the others takes no memory. A document type is refused, as
its entities could grow without end.
"""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field
from pathlib import Path
from typing import NoReturn
from xml.parsers import expat

from dpdb.errors import DataFileError, did_you_mean
from dpdb.policy.catalog import LONGEST_TEXT, Table
from dpdb.policy.csv.csv_header import distinct_names
from dpdb.policy.schemas.stored_types import (
    StoredColumn,
    StoredType,
    bool_cell,
    float_cell,
    moment_cell,
)
from dpdb.policy.timestamps import DAY
from dpdb.records import dataclass

MOST_UNPACKED = 4 << 30
"""The most bytes that the files of a workbook may unpack to."""
_PIECE = 1 << 16
_MAIN = "xl/workbook.xml"
_RELATIONS, _STRINGS, _STYLES = (
    "xl/_rels/workbook.xml.rels",
    "xl/sharedStrings.xml",
    "xl/styles.xml",
)
_DATE_FORMATS = frozenset((*range(14, 23), *range(27, 37), *range(50, 59)))
"""The numbers of the built-in formats of dates and times (section 18.8.30)."""
_NO_LETTERS = re.compile(r'"[^"]*"|\\.|_.|\*.|\[[^\]]*\]')
"""The parts of a format that are shown as they are, and its conditions, colours and places."""
_ELAPSED = re.compile(r"\[(?:h+|m+|s+)\]", re.IGNORECASE)
_ESCAPED = re.compile(r"_x([0-9A-Fa-f]{4})_")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")
_MOST_WRITTEN = len("_x000A_") * (LONGEST_TEXT + 1)
"""The characters of a text that are kept: each can be an escape."""
_COLUMN = re.compile(r"[A-Z]{1,3}")
_SERIALS = 61, 2_958_465
"""The first day that is one after the 29 February 1900, which there was not, and the last."""
_DAY_ZERO, _FROM_1904 = -25_569, 1_462
"""The day of serial 0 from 1970-01-01, and the days between the two calendars of workbooks."""
_MILLISECONDS = 86_400_000


@dataclass(frozen=True)
class Workbook:
    """An open workbook, with what its cells refer to."""

    named: str
    archive: zipfile.ZipFile
    left: list[int] = field(default_factory=lambda: [MOST_UNPACKED])
    """The bytes that may still be unpacked."""

    def sheets(self) -> tuple[dict[str, str], bool]:
        """The file of each sheet by its name, and whether days are counted from 1904."""
        targets, sheets, calendar = dict[str, str](), dict[str, str](), list[str]()

        def relation(name: str, given: dict[str, str]) -> None:
            if name == "Relationship" and given.get("Type", "").endswith("/worksheet"):
                target = given.get("Target", "")
                inner = target.lstrip("/") if target.startswith("/") else f"xl/{target}"
                targets[given.get("Id", "")] = inner

        def entry(name: str, given: dict[str, str]) -> None:
            if name == "sheet":
                place = next((value for key, value in given.items() if key.endswith(":id")), "")
                if place in targets:
                    sheets[given.get("name", "")] = targets[place]
            elif name == "workbookPr":
                calendar.append(given.get("date1904", "0"))

        self._parse(_RELATIONS, relation)
        self._parse(_MAIN, entry)
        return sheets, calendar[-1:] in (["1"], ["true"])

    def date_styles(self) -> frozenset[str]:
        """The styles of cells that show dates."""
        if _STYLES not in self.archive.namelist():
            return frozenset()
        dates, formats, within = {str(number) for number in _DATE_FORMATS}, list[str](), [False]

        def start(name: str, given: dict[str, str]) -> None:
            if name == "numFmt" and _shows_date(given.get("formatCode", "")):
                dates.add(given.get("numFmtId", ""))
            within[0] = name == "cellXfs" or (within[0] and name != "cellStyles")
            if name == "xf" and within[0]:
                formats.append(given.get("numFmtId", "0"))

        self._parse(_STYLES, start)
        return frozenset(str(at) for at, number in enumerate(formats) if number in dates)

    def texts(self) -> list[bytes]:
        """The texts that cells share."""
        if _STRINGS not in self.archive.namelist():
            return []
        found, parts = list[bytes](), _Parts()
        inside = {"t": False, "rPh": False}

        def start(name: str, given: dict[str, str]) -> None:
            inside.update({name: True} if name in inside else {})

        def end(name: str) -> None:
            inside.update({name: False} if name in inside else {})
            if name == "si":
                found.append(_text_cell(parts.taken()))

        def text(data: str) -> None:
            if inside["t"] and not inside["rPh"]:  # not how it is pronounced
                parts.add(data)

        self._parse(_STRINGS, start, end, text)
        return found

    def rows(self, sheet: str | None) -> Iterator[list[bytes]]:
        """The rows of a sheet, the first if none is named; blank ones are left out."""
        sheets, from_1904 = self.sheets()
        known = [*sheets]
        if not known or (sheet is not None and sheet not in sheets):
            hint = did_you_mean(sheet, known) or f"there are {', '.join(known)}" if sheet else None
            raise DataFileError(
                f"{self.named}: there is no sheet {sheet or ''}".rstrip(), hint=hint
            )
        reader = _SheetReader(self.texts(), self.date_styles(), _FROM_1904 if from_1904 else 0)
        for _ in self._pieces(sheets[sheet or known[0]], reader.start, reader.end, reader.text):
            yield from reader.taken()

    def _parse(self, *parsed: object) -> None:
        for _ in self._pieces(*parsed):  # type: ignore[arg-type]
            pass

    def _pieces(
        self,
        member: str,
        start: Callable[[str, dict[str, str]], None],
        end: Callable[[str], None] | None = None,
        text: Callable[[str], None] | None = None,
    ) -> Iterator[None]:
        """Parse a file of the archive; stops after each piece."""
        parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartElementHandler = lambda name, given: start(name.rpartition(":")[2], given)
        parser.EndElementHandler = lambda name: end(name.rpartition(":")[2]) if end else None
        parser.CharacterDataHandler = text
        parser.StartDoctypeDeclHandler = self._refuse
        with self.archive.open(member) as file:
            while piece := file.read(_PIECE):
                self.left[0] -= len(piece)
                if self.left[0] < 0:
                    limit = f"{MOST_UNPACKED >> 30} GiB"
                    raise DataFileError(f"{self.named} unpacks to more than {limit}")
                parser.Parse(piece, False)
                yield
        parser.Parse(b"", True)

    def _refuse(self, *_: object) -> NoReturn:
        raise DataFileError(f"{self.named} has a document type, as no workbook has")


class _Parts:
    """The characters of one text, up to the most that a text may hold."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._size = 0

    def add(self, data: str) -> None:
        """Some more characters come."""
        if self._size <= _MOST_WRITTEN:
            self._parts.append(data)
            self._size += len(data)

    def taken(self) -> str:
        """The text; the next one begins."""
        text = "".join(self._parts)
        self._parts, self._size = [], 0
        return text


class _SheetReader:
    """Puts the cells of a sheet into rows as the parser comes to them."""

    def __init__(self, texts: Sequence[bytes], dates: frozenset[str], shift: int) -> None:
        self._texts, self._dates, self._shift = texts, dates, shift
        self._rows: list[list[bytes]] = []
        self._cells: dict[int, bytes] = {}
        self._width: int | None = None
        self._place, self._kind, self._style = -1, "n", ""
        self._parts = _Parts()
        self._inside = self._spoken = False

    def taken(self) -> list[list[bytes]]:
        """The rows that are complete, each of as many cells as the first."""
        rows, self._rows = self._rows, []
        return rows

    def start(self, name: str, given: dict[str, str]) -> None:
        """An element begins."""
        match name:
            case "row":
                self._cells, self._place = {}, -1
            case "c":
                letters = _COLUMN.match(given.get("r", ""))
                self._place = self._place + 1 if letters is None else _number(letters[0])
                self._kind, self._style = given.get("t", "n"), given.get("s", "0")
            case "v" | "t":
                self._inside = not self._spoken
            case "rPh":
                self._spoken = True

    def text(self, data: str) -> None:
        """Some characters come."""
        if self._inside:
            self._parts.add(data)

    def end(self, name: str) -> None:
        """An element ends."""
        match name:
            case "v" | "t":
                self._inside = False
            case "rPh":
                self._spoken = False
            case "c":
                cell = self._cell(self._parts.taken())
                if cell and (self._width is None or self._place < self._width):
                    self._cells[self._place] = cell
            case "row" if self._cells:
                if self._width is None:
                    self._width = max(self._cells) + 1
                self._rows.append([self._cells.get(at, b"") for at in range(self._width)])

    def _cell(self, held: str) -> bytes:
        """The cell that writes a value; what an error or a formula without value has is empty."""
        match self._kind:
            case "s":
                known = held.isascii() and held.isdigit() and len(held) < 10
                at = int(held) if known else len(self._texts)
                return self._texts[at] if at < len(self._texts) else b""
            case "b":
                return bool_cell(held == "1")
            case "e":
                return b""
            case "n":
                return self._number(held)
        return _text_cell(held)

    def _number(self, held: str) -> bytes:
        if not _NUMBER.fullmatch(held):
            return b""
        number = float(held)
        if self._style not in self._dates:
            return float_cell(number)
        number += self._shift
        if not _SERIALS[0] <= number < _SERIALS[1] + 1:
            return b""
        return moment_cell(round(number * _MILLISECONDS) * 1_000 + _DAY_ZERO * DAY)


def _number(letters: str) -> int:
    """The place of a column from 0: A, B, …, Z, AA."""
    place = 0
    for letter in letters:
        place = 26 * place + ord(letter) - 64
    return place - 1


def _text_cell(text: str) -> bytes:
    """The cell of a text; what is too long is one byte longer than it may be."""
    if "_x" in text:
        text = _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text)
    return text.encode("utf-8", "surrogatepass")[: LONGEST_TEXT + 1]


def _shows_date(code: str) -> bool:
    """Whether a format shows a number as a date, and not as a time that has passed."""
    letters = _NO_LETTERS.sub("", code).lower()
    return not _ELAPSED.search(code) and any(letter in letters for letter in "dmyhs")


@contextmanager
def open_workbook(path: Path) -> Iterator[Workbook]:
    """The workbook in a file; raises DataFileError where it is none."""
    try:
        with zipfile.ZipFile(path) as archive:
            yield Workbook(str(path), archive)
    except OSError as error:
        raise DataFileError(f"cannot read {path}: {error.strerror}") from None
    except (
        zipfile.BadZipFile, zlib.error, EOFError, KeyError, NotImplementedError, RuntimeError,
        expat.ExpatError,
    ):  # fmt: skip
        raise DataFileError(f"{path} cannot be read as an Excel workbook") from None


def sheet_names(table: Table) -> tuple[str, ...]:
    """The names of the columns of a table's sheet: its first row that is not blank."""
    with open_workbook(table.path) as workbook:
        header = next(workbook.rows(table.stored_as), None)
    if header is None:
        raise DataFileError(f"{table.path} is empty", hint="the first row names the columns")
    return distinct_names([cell.decode("utf-8", "replace") for cell in header])[0]


def sheet_columns(table: Table) -> tuple[StoredColumn, ...]:
    """The columns of a table's sheet, of which only the names are known."""
    names = sheet_names(table)
    return tuple(StoredColumn(name, StoredType.TEXT, free=True, guessed=True) for name in names)
