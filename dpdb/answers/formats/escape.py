"""Names and texts made harmless for a terminal, a spreadsheet or Markdown."""

from __future__ import annotations

import unicodedata

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def printable(text: str) -> str:
    """`text` with control, format and other invisible characters written out.

    Escape sequences in a header would otherwise move the cursor or rename the
    window, and bidirectional marks reorder the line.
    """
    if text.isprintable():  # as nearly all texts are: none of these, and no space but the plain one
        return text
    return "".join(_visible(character) for character in text)


def _visible(character: str) -> str:
    if unicodedata.category(character) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"):
        code = ord(character)
        if code > 0xFFFF:
            return f"\\U{code:08x}"
        return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
    return character


def spreadsheet(text: str) -> str:
    """`text` as a spreadsheet shows it, and does not compute it (CWE-1236)."""
    return f"'{text}" if text.startswith(_FORMULA) else text
