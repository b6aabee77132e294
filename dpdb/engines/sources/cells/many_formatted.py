"""Formatted cells, read many at a time: dates, timestamps and numbers as a policy declares them.

A cell is read here only if `CellFormat.plain` makes the same value of it; the others are left.
Whether a format can be read here follows from the format alone.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpdb.engines.sources.cells.grids import Floats
from dpdb.engines.sources.cells.plain import days_of_dates
from dpdb.engines.sources.cells.records import Cells
from dpdb.policy.catalog import Kind
from dpdb.policy.cell_format import PIVOT, SPACE, CellFormat, date_pieces
from dpdb.policy.csv.csv_format import Punctuation
from dpdb.policy.timestamps import DAY, HOUR, MINUTE, SECOND, TIMESTAMPS
from dpdb.vectors.vector import Bools

_Bytes = NDArray[np.uint8]
_Ints = NDArray[np.int64]

_NAMES = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTHS = {int.from_bytes(name.encode()): at for at, name in enumerate(_NAMES, 1)}
_MONTH_CODES = np.array(sorted(_MONTHS))
_MONTH_NUMBERS = np.array([_MONTHS[code] for code in sorted(_MONTHS)])
_READ_HERE = frozenset("YymdHIMSbp")
"""The directives that are read here."""
_CASE = np.uint8(0x20)
"""The bit in which small letters differ from capitals."""
_AM, _PM = (int.from_bytes(half.encode()) for half in ("am", "pm"))
_MOST_DIGITS = 15
_POWERS = 10.0 ** np.arange(_MOST_DIGITS + 3)


class _Walk:
    """Cells that are read from the left, each at a place of its own."""

    def __init__(self, cells: Cells) -> None:
        self._text, self._raw = cells.text, np.frombuffer(cells.text, np.uint8)
        self.at, self.ends = cells.starts.copy(), cells.ends
        self.fits = np.ones(len(cells), dtype=np.bool_)

    def next(self) -> tuple[_Bytes, Bools]:
        """The next byte of each cell, and whether there is one."""
        return self._raw[self.at], self.at < self.ends

    def literal(self, text: bytes) -> None:
        """Step over a text that each cell must have here."""
        for byte in text:
            found, there = self.next()
            self.fits &= there & (found == byte)
            self.at += there

    def number(self, fewest: int, most: int) -> _Ints:
        """The number in the next digits, of which as many as can be are taken."""
        value, going = np.zeros(len(self.at), dtype=np.int64), self.fits
        for place in range(most):
            found, there = self.next()
            digit = found - np.uint8(ord("0"))
            going = going & there & (digit <= 9)
            if place < fewest:  # a cell without this digit does not fit, whatever its number is
                value *= 10
                value += digit
                self.fits = going
            else:
                value = np.where(going, 10 * value + digit, value)
            self.at += going
        return value

    def option(self, text: bytes, among: Bools | None = None) -> Bools:
        """Step over a text where it stands, and tell where; only `among` these cells, if given."""
        ends = np.minimum(self.at + len(text), self.ends)
        found = equal(Cells(self._text, self.at, ends), text)
        if among is not None:
            found &= among
        self.at += len(text) * found
        return found

    def whole(self, mark: bytes) -> tuple[_Ints, _Ints]:
        """The numbers in the next digits, and their digits; marks may stand between thousands."""
        value, digits = np.zeros(len(self.at), dtype=np.int64), np.zeros(len(self.at), np.int64)
        group, marked = digits.copy(), np.zeros(len(self.at), dtype=np.bool_)
        going = np.ones(len(self.at), dtype=np.bool_)
        for _ in range(_MOST_DIGITS + _MOST_DIGITS // 3 if mark else _MOST_DIGITS):
            if not going.any():
                break
            found, there = self.next()
            going &= there
            digit = found - np.uint8(ord("0"))
            is_digit = going & (digit <= 9)
            value = np.where(is_digit, 10 * value + digit, value)
            digits += is_digit
            group += is_digit
            if mark:
                is_mark = going & (found == mark[0])
                self.fits &= ~is_mark | (group == 3) | (~marked & (group >= 1) & (group <= 3))
                group[is_mark] = 0
                marked |= is_mark
                is_digit |= is_mark
            going = is_digit
            self.at += going
        self.fits &= ~marked | (group == 3)
        return value, digits

    def digits(self, value: _Ints, among: Bools) -> tuple[_Ints, _Ints]:
        """The numbers with the next digits after theirs, `among` these cells, and how many."""
        number, going = np.zeros(len(self.at), dtype=np.int64), among
        for _ in range(_MOST_DIGITS):
            if not going.any():
                break
            found, there = self.next()
            digit = found - np.uint8(ord("0"))
            going = going & there & (digit <= 9)
            value = np.where(going, 10 * value + digit, value)
            number += going
            self.at += going
        return value, number

    def letters(self, number: int) -> _Ints:
        """The next letters, `number` of them, as small ones in one whole number."""
        value = np.zeros(len(self.at), dtype=np.int64)
        for _ in range(number):
            found, there = self.next()
            small = found | _CASE
            self.fits &= there & (small >= ord("a")) & (small <= ord("z"))
            value = 256 * value + small
            self.at += there
        return value

    def ended(self) -> Bools:
        """Mask of the cells that fit up to their ends."""
        return np.asarray(self.fits & (self.at == self.ends))


def many_read(cells: Cells, kind: Kind, form: CellFormat, decimal: bytes) -> tuple[Floats, Bools]:
    """The values of cells without quotes, and which of them are read here."""
    return _moments(cells, kind, form) if kind.temporal else _numbers(cells, form, decimal)


def equal(cells: Cells, text: bytes) -> Bools:
    """Mask of the cells that are this text."""
    alike: Bools = np.asarray(cells.ends - cells.starts == len(text))
    rows = np.flatnonzero(alike)
    raw = np.frombuffer(cells.text, np.uint8)
    for place, byte in enumerate(text):
        rows = rows[raw[cells.starts[rows] + place] == byte]
    alike[:] = False
    alike[rows] = True
    return alike


def is_read_here(kind: Kind, form: CellFormat, punctuation: Punctuation) -> bool:
    """Whether cells of a format are read here: some directives and marks are not."""
    quote = punctuation.quote.decode()
    if kind.temporal:
        return bool(form.formats) and all(_is_simple(each, quote) for each in form.formats)
    if kind not in (Kind.INTEGER, Kind.NUMBER) or not form.of_numbers:
        return False
    # A mark within a prefix could be read in two ways.
    affixes = form.prefix + form.suffix
    marks = f"0123456789+-(){form.thousands}{punctuation.decimal.decode()}{quote}"
    one_ending = not (form.suffix and form.percent)
    return one_ending and form.thousands.isascii() and set(affixes).isdisjoint(marks)


def _is_simple(written: str, quote: str) -> bool:
    pieces = date_pieces(written)
    letters = {piece.letter for piece in pieces if piece.letter}
    ends = pieces[0].text[:1] + pieces[-1].text[-1:]
    quoted = quote and any(quote in piece.text for piece in pieces)
    return letters <= _READ_HERE and not quoted and set(ends).isdisjoint(SPACE)


def _moments(cells: Cells, kind: Kind, form: CellFormat) -> tuple[Floats, Bools]:
    """Dates in days or timestamps in microseconds, each by the first format that fits."""
    values, read = np.full(len(cells), np.nan), np.zeros(len(cells), dtype=np.bool_)
    for written in form.formats:
        days, time, fits = _by_format(cells, written)
        found = days.astype(np.float64)
        if kind is Kind.TIMESTAMP:
            moments = days * DAY + time
            held = (TIMESTAMPS[0] <= moments) & (moments <= TIMESTAMPS[1])
            found = np.where(held, moments, np.nan)
        values = np.where(fits & ~read, found, values)
        read |= fits
    return values, read


def _by_format(cells: Cells, written: str) -> tuple[_Ints, _Ints, Bools]:
    """The days from 1970-01-01, the microseconds of the day, and which cells fit the format."""
    walk, held = _Walk(cells), dict[str, _Ints]()
    for piece in date_pieces(written):
        match piece.letter:
            case "":
                walk.literal(piece.text.encode())
            case "b":
                held["m"] = _months(walk.letters(3))
            case "p":
                half = walk.letters(2)
                held["p"] = np.where(half == _PM, 1, np.where(half == _AM, 0, 2))
            case letter:
                held[letter] = walk.number(piece.fewest, piece.most)
    zeros = np.zeros(len(cells), dtype=np.int64)
    if "y" in held:
        held["Y"] = held["y"] + np.where(held["y"] >= PIVOT, 1900, 2000)
    days, dated = days_of_dates(held["Y"], held["m"], held["d"])
    fits = walk.ended() & dated
    hour = held.get("H", zeros)
    if "I" in held:
        fits &= (held["I"] >= 1) & (held["I"] <= 12) & (held["p"] <= 1)
        hour = held["I"] % 12 + 12 * held["p"]
    minute, second = held.get("M", zeros), held.get("S", zeros)
    fits &= (hour <= 23) & (minute <= 59) & (second <= 59)
    return days, hour * HOUR + minute * MINUTE + second * SECOND, fits


def _months(codes: _Ints) -> _Ints:
    """The months with names of these letters; 0 for others."""
    places = np.searchsorted(_MONTH_CODES, codes).clip(max=len(_MONTH_CODES) - 1)
    return np.where(_MONTH_CODES[places] == codes, _MONTH_NUMBERS[places], 0)


def _numbers(cells: Cells, form: CellFormat, decimal: bytes) -> tuple[Floats, Bools]:
    """Numbers of at most fifteen digits, maybe with a minus, marks, a prefix and an ending."""
    ending = (form.suffix or ("%" if form.percent else "")).encode()
    walk = _Walk(_without_ending(cells, ending))
    below = walk.option(b"-")
    walk.option(form.prefix.encode())
    below |= walk.option(b"-", ~below)
    value, digits = walk.whole(form.thousands.encode())
    pointed = walk.option(decimal)
    walk.fits &= digits > 0
    value, decimals = walk.digits(value, pointed)
    walk.fits &= (pointed == (decimals > 0)) & (digits + decimals <= _MOST_DIGITS)
    # Both are exact, so the division rounds correctly, as in `plain_numbers`.
    found = value / _POWERS[decimals + 2 * form.percent]
    return np.where(below, 0.0 - found, found), walk.ended()


def _without_ending(cells: Cells, ending: bytes) -> Cells:
    """The cells without a text at their ends, which may be missing."""
    if not ending:
        return cells
    starts = np.maximum(cells.ends - len(ending), cells.starts)
    has = equal(Cells(cells.text, starts, cells.ends), ending)
    return Cells(cells.text, cells.starts, np.where(has, starts, cells.ends))
