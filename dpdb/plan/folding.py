"""Upper and lower case: of ASCII letters alone.

What other letters fold to differs between systems and between versions of
Unicode, and can change a text's length: 'ß' is 'SS', 'ẞ' or itself.
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
