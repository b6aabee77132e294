"""Upper and lower case of ASCII letters; all other letters stay as they are.

The case of other letters differs between systems and versions of Unicode, and can change the length
of a text: the upper case of 'ß' is 'SS', 'ẞ' or 'ß'.
"""

from __future__ import annotations

import string

_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
_UPPER = str.maketrans(string.ascii_lowercase, string.ascii_uppercase)


def lower(text: str) -> str:
    """The text with A to Z in lower case."""
    return text.translate(_LOWER)


def upper(text: str) -> str:
    """The text with a to z in upper case."""
    return text.translate(_UPPER)
