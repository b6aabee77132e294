"""The types that columns of texts seem to have, with the formats of dates and numbers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from dpdb.policy.catalog import Kind
from dpdb.policy.cell_format import PLAIN, UNREAD, CellFormat
from dpdb.policy.timestamps import read_timestamp
from dpdb.records import dataclass
from dpdb.vectors import grammar

DATE_FORMATS = (
    *("%m/%d/%Y", "%d/%m/%Y", "%d.%m.%Y", "%d-%m-%Y", "%Y/%m/%d", "%d %b %Y"),
    *("%m/%d/%y", "%d/%m/%y", "%d.%m.%y", "%b %d, %Y", "%b %d %Y", "%b-%d-%Y", "%d-%b-%y"),
    *("%d-%b-%Y", "%Y/%m/%d %H:%M", "%Y/%m/%d %H:%M:%S", "%m/%d/%Y %H:%M", "%m/%d/%Y %H:%M:%S"),
    *("%d/%m/%Y %H:%M", "%d/%m/%Y %H:%M:%S", "%d.%m.%Y %H:%M", "%d.%m.%Y %H:%M:%S"),
    *("%m/%d/%Y %I:%M %p", "%m/%d/%Y %I:%M:%S %p"),
)
"""The formats that are tried."""
_NUMBER_FORMATS = (
    CellFormat(thousands=","),
    CellFormat(thousands="."),
    *(CellFormat(thousands=mark, prefix=sign) for mark in ("", ",") for sign in "$€£"),
    *(CellFormat(thousands=mark, suffix=sign) for mark in ("", ".") for sign in "€£"),
    CellFormat(percent=True),
)
PLACEHOLDERS = frozenset(
    ("na", "n/a", "n.a.", "#n/a", "nan", "null", "none", "nil", "-", "--", ".", "..", ":", "?",
     "n.v.", "*", "**", "***", "unknown", "missing", "not available", "#div/0!", "#value!", "#ref!")
)  # fmt: skip
"""Texts that people write into a cell where a value is missing."""
_WORDS = frozenset(("true", "false", "yes", "no", "on", "off"))
_LETTERS = (frozenset("tf"), frozenset("yn"))
_WHOLE = re.compile(r"\s*[+-]?[0-9]+\s*")
_LEADING_ZERO = re.compile(r"0[0-9]+")
_DECIMAL_COMMA = re.compile(r"[+-]?(?:[0-9]{1,3}(?:\.[0-9]{3})+|[0-9]+),[0-9]+")
_THREE_DIGITS = re.compile(",[0-9]{3}$")
_DECIMAL_POINT = re.compile(r"[+-]?(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)\.[0-9]+")
_COMPACT = "%Y%m%d"
_EIGHT_DIGITS = re.compile("(?:1[7-9]|2[01])[0-9]{6}")


@dataclass(frozen=True)
class SuggestedType:
    """The type that a column seems to have."""

    kind: Kind
    unreadable: int
    """Cells of the sample that the type would make NULL, without empty ones and placeholders."""
    repeats: bool
    """Whether several rows have the same value."""
    cells: CellFormat = PLAIN
    """The format in which the cells of that type are written."""
    fitting: int = 0
    """Cells of the sample that fit the format."""
    either: tuple[tuple[str, int], ...] = ()
    """Formats, each with how many cells it fits, among which only the data owner can choose."""
    number: bool = False
    """Whether the cells are whole numbers, too."""
    missing: tuple[tuple[str, int], ...] = ()
    """Placeholders that were seen, and how often."""

    @property
    def counted(self) -> bool:
        """Whether numbers of cells are told: those of a format, or of placeholders."""
        return bool(self.fitting or self.either or self.missing)

    @property
    def null(self) -> str:
        """The key that makes placeholders NULL, as a policy has it; empty where there are none."""
        listed = ", ".join(f'"{text}"' for text, _ in self.missing)
        return f"null = [{listed}]" if listed else ""


def suggested_type(cells: Sequence[str], decimal: str) -> SuggestedType:
    """The type that nearly all of a column's cells have; text if there is none.

    Empty cells and placeholders say nothing. One other cell, or one in twenty, may be wrong.
    """
    filled = [cell for cell in cells if cell]
    telling = [cell for cell in filled if cell.strip().casefold() not in PLACEHOLDERS]
    repeats = len(set(telling)) < len(telling)
    said = Counter(cell.strip() for cell in filled if cell.strip().casefold() in PLACEHOLDERS)
    missing = tuple(sorted(said.items())) if telling else ()
    compact = CellFormat((_COMPACT,))
    if all(_EIGHT_DIGITS.fullmatch(cell) for cell in telling) and (
        fits := _reads(compact, telling, decimal)
    ):
        return SuggestedType(
            Kind.DATE, len(telling) - fits, repeats, compact, fits, missing=missing, number=True
        )
    for kind in (Kind.BOOLEAN, Kind.DATE, Kind.TIMESTAMP, Kind.NUMBER):
        fitting = _fitting(kind, telling, decimal)
        if _are_nearly_all(len(fitting), telling):
            if kind is Kind.NUMBER and len(fitting) < len(telling):
                best = _best(_number_forms(decimal), telling, decimal)
                if _reads(best, telling, decimal) > len(fitting):
                    break  # one cell in a hundred is written 1,234
            if kind is Kind.NUMBER and all(_WHOLE.fullmatch(cell) for cell in fitting):
                kind = Kind.INTEGER  # noqa: PLW2901
            return SuggestedType(kind, len(telling) - len(fitting), repeats, missing=missing)
    reads = ((each, _reads(CellFormat((each,)), telling, decimal)) for each in DATE_FORMATS)
    formats = [(each, fits) for each, fits in reads if fits]
    if len(formats) > 1:
        return SuggestedType(Kind.TEXT, 0, repeats, either=tuple(formats), missing=missing)
    forms = [CellFormat((each,)) for each, _ in formats]
    if not any(_LEADING_ZERO.fullmatch(cell) for cell in telling):
        forms += _number_forms(decimal)
    best = _best(forms, telling, decimal)
    fits = 0 if best == PLAIN else _reads(best, telling, decimal)
    if not fits:
        return SuggestedType(Kind.TEXT, 0, repeats, missing=missing)
    kind = kind_of(best)
    if kind is Kind.NUMBER and not best.percent:
        plain = (best.plain(cell, kind, decimal) for cell in telling)
        whole = all(_WHOLE.fullmatch(text) for text in plain if text not in ("", UNREAD))
        kind = Kind.INTEGER if whole else kind
    return SuggestedType(kind, len(telling) - fits, repeats, best, fits, missing=missing)


def _number_forms(decimal: str) -> list[CellFormat]:
    """The formats of numbers that go with a decimal mark."""
    return [form for form in _NUMBER_FORMATS if form.thousands != decimal]


def _best(forms: Sequence[CellFormat], cells: Sequence[str], decimal: str) -> CellFormat:
    """The first format that reads the most cells."""
    return max(forms, key=lambda form: _reads(form, cells, decimal), default=PLAIN)


def _are_nearly_all(fitting: int, cells: Sequence[str]) -> bool:
    """Whether all cells fit but one, or one in twenty."""
    wrong = len(cells) - fitting
    return fitting > wrong and wrong <= max(1, len(cells) // 20)


def kind_of(form: CellFormat) -> Kind:
    """The type of the cells of a format."""
    if not form.formats:
        return Kind.NUMBER
    return Kind.TIMESTAMP if "%H" in form.formats[0] or "%I" in form.formats[0] else Kind.DATE


def _reads(form: CellFormat, cells: Sequence[str], decimal: str) -> int:
    """The number of cells that a format reads, if they are nearly all; else 0."""
    kind = kind_of(form)
    plain = [form.plain(cell, kind, decimal) for cell in cells]
    fitting = sum(text not in ("", UNREAD) for text in plain)
    return fitting if _are_nearly_all(fitting, cells) else 0


def cell_keys(form: CellFormat) -> str:
    """The keys of a format as a policy has them: `format = "%m/%d/%Y"`."""
    written = {"format": form.formats[0] if form.formats else "", "thousands": form.thousands,
               "prefix": form.prefix, "suffix": form.suffix}  # fmt: skip
    keys = [f'{key} = "{text}"' for key, text in written.items() if text]
    return ", ".join([*keys, "percent = true"] if form.percent else keys)


def suggested_decimal(columns: Sequence[Sequence[str]], separator: str) -> str:
    """The decimal mark that more cells have.

    1,234 is a whole number unless other cells have commas before fewer or more digits, or
    semicolons separate cells.
    """
    cells = [cell for column in columns for cell in column]
    commas = [cell for cell in cells if _DECIMAL_COMMA.fullmatch(cell)]
    if separator != ";" and all(_THREE_DIGITS.search(cell) for cell in commas):
        return "."
    return "," if len(commas) > sum(bool(_DECIMAL_POINT.fullmatch(cell)) for cell in cells) else "."


def _fitting(kind: Kind, cells: list[str], decimal: str) -> list[str]:
    """The cells that are of a kind."""
    match kind:
        case Kind.BOOLEAN:
            return _booleans(cells)
        case Kind.DATE:
            return [cell for cell in cells if grammar.date(cell) is not None]
        case Kind.TIMESTAMP:
            return [cell for cell in cells if read_timestamp(cell) is not None]
    if any(_LEADING_ZERO.fullmatch(cell) for cell in cells):
        return []  # As numbers, 007 and 7 would be the same.
    return [cell for cell in cells if grammar.number(grammar.with_point(cell, decimal)) is not None]


def _booleans(cells: list[str]) -> list[str]:
    """The cells that say true or false; letters do only where both of a pair are there."""
    said = {cell.lower() for cell in cells}
    words = _WORDS.union(*(pair for pair in _LETTERS if pair <= said))
    return [cell for cell in cells if cell.lower() in words]
