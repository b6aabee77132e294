"""How a CSV file is written: its separator, quote and decimal mark, its encoding, its header."""

from __future__ import annotations

from pathlib import Path

from dpdb.errors import InvalidOption
from dpdb.policy.encodings import canonical_name
from dpdb.records import dataclass

COMMA = ","
SEPARATORS = {COMMA: "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
"""The separators that a header can tell, the likeliest first."""
_TAB = "\t"
_SEPARATOR_BY_SUFFIX = {".tsv": _TAB, ".tab": _TAB}
_GZIP = ".gz"


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
class CsvFormat:
    """What is declared of how a file is written.

    Where `separator` or `encoding` is None, the name of the file says it, or else its header.
    Without a header nothing is told from the file, as its first line is a row.
    """

    separator: str | None = None
    encoding: str | None = None
    quote: str = '"'
    decimal: str = "."
    header: bool = True
    multiline: bool = True

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


def valid_header(value: object) -> bool:
    """`value` if it says whether there is a header; raises InvalidOption."""
    if not isinstance(value, bool):
        raise InvalidOption("header is true or false")
    return value


def valid_multiline(value: object) -> bool:
    """`value` if it says whether cells go over lines; raises InvalidOption."""
    if not isinstance(value, bool):
        raise InvalidOption("multiline is true or false")
    return value


def _is_mark(text: object) -> bool:
    return isinstance(text, str) and len(text) == 1 and text.isascii() and text not in "\0\r\n"


def separator_by_name(path: Path) -> str | None:
    """The separator that the name of a file tells: a tab for `.tsv`; None if it tells none."""
    return _SEPARATOR_BY_SUFFIX.get(unpacked_name(path).suffix.lower())


def is_gzip(path: Path) -> bool:
    """Whether the file is compressed by gzip, by its name."""
    return path.suffix.lower() == _GZIP


def unpacked_name(path: Path) -> Path:
    """The path without the suffix of gzip."""
    return path.with_suffix("") if is_gzip(path) else path
