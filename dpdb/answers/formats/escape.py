"""Texts made harmless for spreadsheets and Markdown; `errors.printable` does it for terminals."""

from __future__ import annotations

import re

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_MARKUP = re.compile(r"[\\|<&`\[]")


def spreadsheet(text: str) -> str:
    """`text` so that a spreadsheet shows it and does not compute it as a formula (CWE-1236)."""
    return f"'{text}" if text.startswith(_FORMULA) else text


def markdown(text: str) -> str:
    """`text` as a cell of a Markdown table that it does not end, without tags, links and code."""
    return _MARKUP.sub(r"\\\g<0>", text)
