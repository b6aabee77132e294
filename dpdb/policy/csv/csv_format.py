"""The format of a CSV file: separator, quote, decimal mark, header, and encoding."""

from __future__ import annotations

import codecs
import re
from functools import cache
from pathlib import Path
from typing import Protocol

from dpdb.errors import InvalidOption
from dpdb.policy.csv.packing import unpacked_name
from dpdb.records import dataclass

COMMA = ","
BLANK = " "
"""The separator of files whose cells are separated by runs of blanks and tabs."""
SEPARATORS = {COMMA: "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
"""The separators that a header can tell, the likeliest first."""
_TAB = "\t"
MOST_SKIPPED = 10_000
"""The most lines before a header."""
_SEPARATOR_BY_SUFFIX = {".tsv": _TAB, ".tab": _TAB}


@dataclass(frozen=True)
class Punctuation:
    """The marks of a file, each one byte of ASCII; the quote is empty where nothing is quoted."""

    separator: bytes = b","
    quote: bytes = b'"'
    decimal: bytes = b"."
    multiline: bool = True
    """Whether a cell within quotes can go over several lines."""


ORDINARY = Punctuation()
"""The punctuation of most files."""
NO_QUOTES = Punctuation(quote=b"")
"""The punctuation of texts that stand by themselves, as those of typed columns do."""


@dataclass(frozen=True)
class LineFormat:
    """The lines that are left out of a file, and whether blanks separate its cells."""

    skip: int = 0
    """The number of lines before the header, or the first row."""
    comment: str = ""
    """The character that lines begin with which are no rows."""
    blanks: bool = False


EVERY_LINE = LineFormat()
"""The format of files whose lines are all read as they are."""


@dataclass(frozen=True)
class CsvFormat:
    """The declared format of a file.

    Where `separator` or `encoding` is None, the name of the file says it, or else its header.
    Without a header nothing is told from the file, as its first line is a row.
    """

    separator: str | None = None
    encoding: str | None = None
    quote: str = '"'
    decimal: str = "."
    header: bool = True
    multiline: bool = True
    comment: str = ""
    skip: int = 0

    @property
    def lines(self) -> LineFormat:
        """The lines that are no rows, and whether blanks separate cells."""
        return LineFormat(self.skip, self.comment, self.separator == BLANK)

    def __post_init__(self) -> None:
        if self.quote and self.quote in (self.separator, self.decimal):
            raise InvalidOption("quote is another character than separator and decimal")

    def punctuation(self, separator: str) -> Punctuation:
        """The punctuation of a file with this separator."""
        return Punctuation(
            separator.encode(), self.quote.encode(), self.decimal.encode(), self.multiline
        )


def valid_separator(text: object) -> str:
    """`text` if it can separate cells; raises InvalidOption."""
    if not _is_mark(text) or text == '"':
        raise InvalidOption("separator is one ASCII character, neither a quote nor a line end")
    return str(text)


def valid_quote(text: object) -> str:
    """`text` if it can quote cells, or is empty for files without quotes; raises InvalidOption."""
    if text != "" and (not _is_mark(text) or text in SEPARATORS):
        raise InvalidOption(
            "quote is one ASCII character that is no separator, or empty where nothing is quoted"
        )
    return str(text)


def valid_decimal(text: object) -> str:
    """`text` if it is a decimal mark; raises InvalidOption."""
    if text not in (".", ","):
        raise InvalidOption('decimal is "." or ","')
    return str(text)


def valid_encoding(text: object) -> str:
    """The canonical name of the encoding called `text`; raises InvalidOption."""
    if not isinstance(text, str):
        raise InvalidOption("encoding is the name of one")
    return canonical_name(text)


def valid_flag(value: object) -> bool:
    """`value` if it is true or false; raises InvalidOption."""
    if not isinstance(value, bool):
        raise InvalidOption("the value is true or false")
    return value


def valid_comment(text: object) -> str:
    """`text` if lines of a comment can begin with it; raises InvalidOption."""
    if not _is_mark(text) or text == '"':
        raise InvalidOption("comment is one ASCII character, neither a quote nor a line end")
    return str(text)


def valid_skip(number: object) -> int:
    """`number` if so many lines can come before the header; raises InvalidOption."""
    if type(number) is not int or not 0 <= number <= MOST_SKIPPED:
        raise InvalidOption(f"skip is a number of lines from 0 to {MOST_SKIPPED:,}")
    return number


def _is_mark(text: object) -> bool:
    return isinstance(text, str) and len(text) == 1 and text.isascii() and text not in "\0\r\n"


def separator_by_name(path: Path) -> str | None:
    """The separator that the name of a file tells: a tab for `.tsv`; None if it tells none."""
    return _SEPARATOR_BY_SUFFIX.get(unpacked_name(path).suffix.lower())


UTF8 = "utf-8"
FALLBACK = "cp1252"
"""The encoding assumed for a file that is not UTF-8: Latin-1 with the characters of Windows."""
# UTF-32 first: its little-endian mark begins with that of UTF-16.
MARKS = (
    (codecs.BOM_UTF8, UTF8),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
"""Byte-order marks, and the encoding that each belongs to."""
MARKED = ("utf-8-sig", "utf-16", "utf-32")
"""The encodings whose name says that a byte-order mark comes first."""
_WIDE = ("utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be")
_EAST_ASIAN = (
    "big5", "big5hkscs", "cp932", "cp949", "cp950", "euc_jis_2004", "euc_jisx0213", "euc_jp",
    "euc_kr", "gb18030", "gb2312", "gbk", "johab", "shift_jis", "shift_jis_2004", "shift_jisx0213",
)  # fmt: skip
_UNKNOWN = "\udcff"
"""Stands for bytes that are no character until they become 0xFF."""
_UNKNOWN_HANDLER = "dpdb-unknown"
_LINE = re.compile(rb"[^\r\n]+")

codecs.register_error(_UNKNOWN_HANDLER, lambda error: (_UNKNOWN, _end(error)))


def _end(error: UnicodeError) -> int:
    assert isinstance(error, UnicodeDecodeError)
    return error.end


class Transcoder(Protocol):
    """Makes the bytes of a file, given in order, into those of UTF-8."""

    def feed(self, data: bytes, *, final: bool) -> bytes:
        """The UTF-8 of these bytes and of those kept back before; it keeps none back if `final`."""


def canonical_name(name: str) -> str:
    """Python's name of the encoding that is called `name`.

    Raises InvalidOption if there is none, or if what a byte means there depends on other lines.
    """
    try:
        info = codecs.lookup(name)
    except (LookupError, ValueError):
        raise InvalidOption(
            f"there is no encoding {name}", hint="latin-1, cp1252, utf-16, shift_jis, …"
        ) from None
    known = info.name in (UTF8, *MARKED, *_WIDE, *_EAST_ASIAN) or _table(info.name) is not None
    if not known:
        raise InvalidOption(
            f"the encoding {name} cannot be read line by line", hint="save the file as UTF-8"
        )
    return info.name


def transcoder(encoding: str) -> Transcoder | None:
    """The transcoder to UTF-8 from an encoding, given by its canonical name; None for UTF-8."""
    if encoding == UTF8:
        return None
    if encoding in _WIDE:
        return _ByUnit(encoding)
    if encoding in _EAST_ASIAN:
        return _ByLine(encoding)
    table = _table(encoding)
    assert table is not None, encoding
    return _ByByte(table)


class _ByByte:
    """For encodings in which each byte is a character."""

    def __init__(self, table: str) -> None:
        self._table = table

    def feed(self, data: bytes, *, final: bool) -> bytes:
        text, _ = codecs.charmap_decode(data, "strict", self._table)
        return text.encode(UTF8, "surrogateescape")


class _ByUnit:
    """For encodings in units of two or four bytes."""

    def __init__(self, encoding: str) -> None:
        self._decoder = codecs.getincrementaldecoder(encoding)(_UNKNOWN_HANDLER)

    def feed(self, data: bytes, *, final: bool) -> bytes:
        return self._decoder.decode(data, final).encode(UTF8, "surrogateescape")


class _ByLine:
    """For encodings in which line feeds and returns are never part of another character."""

    def __init__(self, encoding: str) -> None:
        self._encoding = encoding
        self._rest: list[bytes] = []

    def feed(self, data: bytes, *, final: bool) -> bytes:
        whole = len(data) if final else max(data.rfind(b"\n"), data.rfind(b"\r")) + 1
        if not (whole or final):
            self._rest.append(data)
            return b""
        lines = b"".join((*self._rest, data[:whole]))
        self._rest = [data[whole:]]
        return _LINE.sub(self._utf8, lines)

    def _utf8(self, line: re.Match[bytes]) -> bytes:
        return line[0].decode(self._encoding, _UNKNOWN_HANDLER).encode(UTF8, "surrogateescape")


@cache
def _table(encoding: str) -> str | None:
    """The characters of all 256 bytes, where each byte is one whatever comes before it."""
    if not codecs.lookup(encoding)._is_text_encoding:
        return None
    characters = ""
    for byte in range(256):
        try:
            characters += codecs.getincrementaldecoder(encoding)().decode(bytes([byte]))
        except UnicodeDecodeError:
            characters += _UNKNOWN
        except Exception:  # codecs that are not for text raise what they like
            return None
        if len(characters) != byte + 1:  # the byte waits for more
            return None
    return characters
