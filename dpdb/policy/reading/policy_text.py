"""The text of a policy file: its sections, its plain values, and the line of a mistake."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

from dpdb.errors import DpdbError, PolicyError, did_you_mean
from dpdb.records import dataclass

T = TypeVar("T")
V = TypeVar("V")


RENAMED = {"window": "period"}
"""Keys of policies that were written for earlier versions, and their names now."""


@dataclass(frozen=True)
class PolicyText:
    """A policy file as written; errors in it name the line."""

    path: Path
    text: str

    def section(self, section: dict[str, Any], key: str, above: tuple[str, ...]) -> dict[str, Any]:
        """The subsection at `key`; empty if it is missing."""
        subsection = section.get(key, {})
        if not isinstance(subsection, dict):
            raise self.error(f"{key} is a section or {{ … }}", (*above, key))
        return subsection

    def check_keys(
        self, section: dict[str, Any], keys: tuple[str, ...], where: tuple[str, ...]
    ) -> None:
        """Raise PolicyError for a key of the section that is not among `keys`."""
        for key in section:
            if key not in keys:
                known = did_you_mean(RENAMED.get(key, key), keys)
                hint = known or f"there are {', '.join(keys)}"
                raise self.error(f"unknown key {shown(key)}", (*where, key), hint)

    def error(self, message: str, where: tuple[str, ...], hint: str | None = None) -> PolicyError:
        """A PolicyError that names the file, the line and the key."""
        line = _line(self.text, where)
        at = f", line {line}" if line else ""
        return PolicyError(f"{self.path.name}{at}: {'.'.join(where)}: {message}", hint=hint)

    def one_of(
        self, section: dict[str, Any], where: tuple[str, str], known: list[Any], default: str
    ) -> str:
        """The value of the last key of `where` in its section; it must be one of `known`."""
        value = section.get(where[-1], default)
        if value not in known:
            names = ", ".join(f'"{name}"' for name in known)
            raise self.error(f"{where[-1]} is one of {names}", where)
        return str(value)

    def accepted(self, value: V, valid: Callable[[V], T], where: tuple[str, ...]) -> T:
        """The result of `valid` for a value; an error of `valid` becomes a PolicyError."""
        try:
            return valid(value)
        except DpdbError as error:
            raise self.error(error.message, where, error.hint) from None

    def fraction(self, value: object, where: tuple[str, ...]) -> Fraction:
        """A TOML number, exactly."""
        finite = not isinstance(value, Decimal) or value.is_finite()
        if isinstance(value, bool) or not isinstance(value, int | Decimal | Fraction) or not finite:
            raise self.error(f"{where[-1]} is a number", where)
        if isinstance(value, Decimal) and not -300 < value.adjusted() < 300:
            raise self.error(f"{where[-1]} is out of range", where)
        return Fraction(value)


def shown(value: object) -> str:
    """A value as an error message shows it, shortened to 40 characters."""
    try:
        text = str(value)
    except ValueError:  # an integer has thousands of digits
        text = "this number"
    return text if len(text) <= 40 else f"{text[:40]}…"


def _line(text: str, where: tuple[str, ...]) -> int | None:
    """The line that sets the key at `where`, or else the nearest section above; None if neither.

    tomllib does not give the lines of values, so the keys are searched for one after the other,
    each from the line of the one before.
    """
    lines = text.splitlines()
    start = 0
    last = None
    for depth, key in enumerate(where):
        quoted = rf"""(?:{re.escape(key)}|"{re.escape(key)}"|'{re.escape(key)}')"""
        pattern = re.compile(rf"^\s*\[[^\]]*\b{quoted}\s*[\].]|(?:^|[\s{{,.]){quoted}\s*[=.]")
        for number in range(start, len(lines)):
            if pattern.search(lines[number].split("#")[0]):
                start = last = number
                break
        else:
            if depth == 0:
                return None
    return None if last is None else last + 1
