"""Encodings of text files, made into UTF-8 block by block.

What a row becomes is a function of its own bytes. Every encoding belongs to one of four families
for which that holds by construction:

- UTF-8 is left as it is.
- Where each byte is a character, a table of 256 is all there is.
- In the wide encodings each unit of two or four bytes begins anew; two make one character where
  both are surrogates, which no line end is.
- In those of East Asia line feeds and returns are never part of another character, so what is
  between them is decoded by itself.

All others are refused: where a byte means what those before it have switched to, as in UTF-7 or
ISO 2022, one row could change how the next is read.

Bytes that an encoding does not know become the byte 0xFF, which UTF-8 does not know either.
"""

from __future__ import annotations

import codecs
import re
from functools import cache
from typing import Protocol

from dpdb.errors import InvalidOption

UTF8 = "utf-8"
FALLBACK = "cp1252"
"""What a file is taken for that is not UTF-8: Latin-1 with the characters of Windows."""
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
    """What makes text of an encoding, given by its canonical name, into UTF-8; None for UTF-8."""
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
