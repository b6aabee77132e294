"""The format of a column's cells, where the plain grammar does not read them.

A format rewrites the text of one cell: `9/30/1990` becomes `1990-09-30`, `$1,234` becomes `1234`,
and `NA` the empty text. The grammar of cells then reads the result, so that a format changes no
other rule. A text that does not fit becomes `?`, which is no number and no date.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from functools import cache, lru_cache

from dpdb.errors import UsageError
from dpdb.records import dataclass

SPACE = " \t\n\v\f\r"
"""The characters that may stand around a number, a date or a null."""
UNREAD = "?"
"""The text of a cell that does not fit."""
THOUSANDS = (",", ".", "'", " ", "_", "\N{NO-BREAK SPACE}", "\N{NARROW NO-BREAK SPACE}")
"""The marks that can stand between thousands."""
PIVOT = 69
"""Years of two digits from here on are in the 1900s, and the others in the 2000s."""
_MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_MONTH_OF = {name[:length]: at for at, name in enumerate(_MONTHS, 1) for length in (3, None)}
_FIELDS = {
    "Y": ("year", 4, 4), "y": ("short_year", 2, 2), "m": ("month", 1, 2), "d": ("day", 1, 2),
    "j": ("day_of_year", 1, 3), "H": ("hour", 1, 2), "I": ("half_hour", 1, 2),
    "M": ("minute", 1, 2), "S": ("second", 1, 2), "f": ("fraction", 1, 9),
}  # fmt: skip
"""Of each directive in digits the name of its field, and its fewest and most digits."""
_WORDS = {
    "b": ("month_name", "[A-Za-z]{3}"),
    "B": ("month_name", "[A-Za-z]{3,9}+"),
    "p": ("half", "[AaPp][Mm]"),
    "z": ("zone", r"[Zz]|[+-](?:[01][0-9]|2[0-3]):?[0-5][0-9]"),
}
DIRECTIVES = (*_FIELDS, *_WORDS, "%")
"""The letters that can follow a % in a format."""


@dataclass(frozen=True)
class CellFormat:
    """The format of a column's cells, as the policy declares it."""

    formats: tuple[str, ...] = ()
    """The formats of dates or timestamps, of which the first one that fits is used."""
    null: tuple[str, ...] = ()
    """The texts that mean NULL; the empty one always does."""
    thousands: str = ""
    prefix: str = ""
    suffix: str = ""
    percent: bool = False
    """Whether numbers are percentages: 12 % is 0.12."""

    @property
    def of_numbers(self) -> bool:
        """Whether the format says how numbers are written."""
        return bool(self.thousands or self.prefix or self.suffix or self.percent)

    def plain(self, text: str, kind: str, decimal: str = ".") -> str:
        """The text that the grammar of cells reads in place of a cell's, of a column of a kind."""
        if kind == "text":
            return "" if text in self.null else text
        held = text.strip(SPACE)
        if not held or held in self.null:
            return ""
        if self.formats and kind in ("date", "timestamp"):
            found = reformatted(held, self.formats) or UNREAD
            return found[:10] if kind == "date" else found  # a day, whatever the time
        if kind not in ("integer", "number"):
            return text
        if self.of_numbers:
            return self._number(text, decimal)
        if decimal != ".":
            return text.translate({ord(decimal): ".", ord("."): decimal})
        return text

    def _number(self, text: str, decimal: str) -> str:
        endings = (self.suffix, "%" if self.percent else "")
        parts = _number_pattern(self.thousands, self.prefix, endings, decimal).fullmatch(text)
        if parts is None:
            return UNREAD
        signs = [part for part in parts.group("open", "before", "after") if part]
        if len(signs) > 1 or bool(parts["open"]) != bool(parts["close"]):
            return UNREAD
        sign = "-" if signs and signs[0] in "(-" else ""
        whole, rest = parts["whole"], parts["rest"] or ""
        if not (whole or len(rest) > 1) or (self.percent and parts["power"]):
            return UNREAD
        if self.thousands:
            whole = whole.replace(self.thousands, "")
        power = "e-2" if self.percent else parts["power"] or ""
        return f"{sign}{whole}.{rest[1:]}{power}" if rest else f"{sign}{whole}{power}"


PLAIN = CellFormat()
"""The format of cells that the grammar reads as they are."""


@cache
def _number_pattern(
    thousands: str, prefix: str, endings: tuple[str, ...], decimal: str
) -> re.Pattern[str]:
    """Sign or bracket, prefix, digits, an ending; prefix and ending may be missing in a cell."""
    space, digits = f"[{SPACE}]*+", "[0-9]++"
    if thousands:
        digits = f"[0-9]{{1,3}}(?:{re.escape(thousands)}[0-9]{{3}})++(?![0-9])|{digits}"
    before = f"(?:{re.escape(prefix)}{space})?" if prefix else ""
    after = "|".join(re.escape(each) for each in endings if each)
    return re.compile(
        rf"{space}(?P<open>\()?{space}(?P<before>[+-])?{space}{before}(?P<after>[+-])?"
        rf"(?P<whole>{digits}|)(?P<rest>{re.escape(decimal)}[0-9]*+)?(?P<power>[eE][+-]?[0-9]++)?"
        rf"{space}(?:{after})?{space}(?P<close>\))?{space}"
    )


def reformatted(text: str, formats: Sequence[str]) -> str | None:
    """The ISO text of the date or timestamp that `text` writes in one of the formats, or None."""
    for each in formats:
        parts = date_pattern(each).fullmatch(text)
        if parts is not None and (found := _iso(parts.groupdict())) is not None:
            return found
    return None


def _iso(parts: dict[str, str | None]) -> str | None:
    """The text of a moment in ISO 8601: a date alone where no time is written."""
    numbers = {name: int(part) for name, part in parts.items() if part and part.isdigit()}
    year = numbers.get("year")
    if year is None:
        short = numbers["short_year"]
        year = short + (1900 if short >= PIVOT else 2000)
    month = numbers.get("month", 1)
    if (name := parts.get("month_name")) is not None:
        month = _MONTH_OF.get(name.lower(), 0)
    try:
        day = datetime.date(year, month, numbers.get("day", 1))
    except ValueError:
        return None
    if "day_of_year" in numbers:
        ordinal = day.replace(month=1, day=1).toordinal() + numbers["day_of_year"] - 1
        if not 1 <= ordinal <= datetime.date.max.toordinal():
            return None
        day = datetime.date.fromordinal(ordinal)
        if day.year != year:
            return None
    if {"hour", "half_hour", "minute", "second"}.isdisjoint(parts):
        return day.isoformat()
    hour = numbers.get("hour", 0)
    if "half_hour" in numbers:
        if not 1 <= numbers["half_hour"] <= 12:
            return None
        hour = numbers["half_hour"] % 12 + 12 * ((parts["half"] or "").lower() == "pm")
    minute, second = numbers.get("minute", 0), numbers.get("second", 0)
    if hour > 23 or minute > 59 or second > 59:
        return None
    clock = f"{hour:02}:{minute:02}:{second:02}"
    fraction = parts.get("fraction")
    return f"{day.isoformat()} {clock}{'.' + fraction if fraction else ''}{parts.get('zone') or ''}"


@dataclass(frozen=True)
class DatePiece:
    """A directive of a format, by its letter and its numbers of digits, or else a text."""

    letter: str
    text: str
    fewest: int = 0
    most: int = 0


@lru_cache(maxsize=1_000)
def date_pattern(written: str) -> re.Pattern[str]:
    """The pattern of a format such as `%m/%d/%Y`; raises UsageError for one that is none."""
    pattern, names = "", list[str]()
    for piece in date_pieces(written):
        if not piece.letter:
            pattern += re.escape(piece.text)
            continue
        if piece.letter in _WORDS:
            name, expression = _WORDS[piece.letter]
        else:
            name, expression = _FIELDS[piece.letter][0], f"[0-9]{{{piece.fewest},{piece.most}}}+"
        if name in names:
            raise UsageError(f"{written}: %{piece.letter} says again what is there already")
        names.append(name)
        pattern += f"(?P<{name}>{expression})"
    _check_fields(written, names)
    return re.compile(pattern)


@lru_cache(maxsize=1_000)
def date_pieces(written: str) -> tuple[DatePiece, ...]:
    """The directives of a format, and the texts between them; raises UsageError.

    A field takes as many digits as it can. Number fields without a text between them have all
    their digits, as in `%Y%m%d`.
    """
    pieces = _pieces(written)
    found = []
    for at, (letter, text) in enumerate(pieces):
        _, fewest, most = _FIELDS.get(letter, ("", 0, 0))
        beside = pieces[max(at - 1, 0) : at] + pieces[at + 1 : at + 2]
        full = any(each in _FIELDS or text[:1].isdigit() for each, text in beside)
        found.append(DatePiece(letter, text, most if full else fewest, most))
    return tuple(found)


def _pieces(written: str) -> list[tuple[str, str]]:
    """The directives of a format by their letter, and the texts between them."""
    found: list[tuple[str, str]] = []
    for piece in re.findall("%.|[^%]+|%", written, re.DOTALL):
        letter = piece[1:] if piece[0] == "%" else ""
        if piece[0] == "%" and letter not in DIRECTIVES:
            raise UsageError(
                f"{written}: {piece} is no directive",
                hint=f"write %{', %'.join(DIRECTIVES[:-1])} or %%",
            )
        found.append(("", "%") if letter == "%" else (letter, "" if letter else piece))
    return found


def _check_fields(written: str, names: list[str]) -> None:
    """Raise UsageError where a format names no day, or half of something."""

    def has(*wanted: str) -> bool:
        return any(name in names for name in wanted)

    if not has("year", "short_year"):
        raise UsageError(f"{written}: a format has a year, %Y or %y")
    if not has("day_of_year") and not (has("month", "month_name") and has("day")):
        raise UsageError(f"{written}: a format has %m and %d, or %j")
    doubled = (("year", "short_year"), ("month", "month_name"), ("hour", "half_hour"))
    for one, other in (*doubled, ("day_of_year", "day"), ("day_of_year", "month")):
        if has(one) and has(other):
            raise UsageError(f"{written}: says the {one.replace('_', ' ')} twice")
    if has("half_hour") != has("half"):
        raise UsageError(f"{written}: %I goes with %p")
    if has("minute") > has("hour", "half_hour") or has("second") > has("minute"):
        raise UsageError(f"{written}: minutes go with hours, and seconds with minutes")
    if has("fraction") > has("second") or has("zone") > has("minute"):
        raise UsageError(f"{written}: %f goes with %S, and %z with %M")


def check_formats(formats: Sequence[str]) -> None:
    """Raise UsageError for formats that read one text as two dates, such as day and month turned.

    `%m/%d/%Y` and `%d/%m/%Y` do: 3/4/2020 would be whichever comes first.
    """
    shapes = dict[str, str]()
    for each in formats:
        shape = re.sub(r"\(\?P<\w+>", "(", date_pattern(each).pattern)
        if shape in shapes:
            raise UsageError(
                f"{shapes[shape]} and {each} read the same texts as different dates",
                hint="keep the one that the file means",
            )
        shapes[shape] = each
