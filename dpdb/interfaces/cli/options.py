"""The arguments of a parser as plain records, for completion and the man page.

argparse has no public way to list them: its `_actions` are read here and nowhere else.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Option:
    """One option, or a positional argument, which has no names."""

    names: tuple[str, ...]
    value: str
    """What its value is called; empty for a flag."""
    choices: tuple[str, ...]
    help: str

    @property
    def is_file(self) -> bool:
        """Whether its value is the name of a file."""
        return self.value.startswith("FILE") or self.value == "DIR"


def options_of(parser: argparse.ArgumentParser) -> list[Option]:
    """All arguments of a parser, in order."""
    return [_option(action) for action in parser._actions if action.help != argparse.SUPPRESS]


def _option(action: argparse.Action) -> Option:
    choices = tuple(map(str, action.choices or ()))
    metavar = action.metavar if isinstance(action.metavar, str) else None
    named = metavar or "|".join(choices) or ("FILE" if action.type is Path else action.dest.upper())
    value = "" if action.nargs == 0 else named
    return Option(tuple(action.option_strings), value, choices, (action.help or "") % vars(action))
