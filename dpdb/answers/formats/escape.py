"""Names and texts made harmless for a terminal, a spreadsheet or Markdown."""

from __future__ import annotations

from dpdb.errors import printable

__all__ = ["printable", "spreadsheet"]

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def spreadsheet(text: str) -> str:
    """`text` so that a spreadsheet shows it and does not compute it as a formula (CWE-1236)."""
    return f"'{text}" if text.startswith(_FORMULA) else text
