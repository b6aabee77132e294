"""The arguments of a parser as plain records, for completion, the man page and mistyped options.

argparse has no public way to list them: its `_actions` are read here and nowhere else.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from itertools import takewhile
from pathlib import Path

from dpdb.errors import UsageError, did_you_mean
from dpdb.records import dataclass


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


def check_spelling(words: Iterable[str], parser: argparse.ArgumentParser) -> None:
    """Refuse a word that is nearly the name of a long option.

    argparse would read DuckDB's `-csv` as `-c sv`, and answer what stands beside it. What has a
    space in it is a statement that begins with a comment.
    """
    names = [name for option in options_of(parser) for name in option.names]
    known = [name.removeprefix("--") for name in names if name.startswith("--")]
    for word in takewhile(lambda word: word != "--", words):
        name = word.partition("=")[0]
        bare = name.lstrip("-")
        mistyped = name.startswith("--") != (bare in known)
        if name.startswith("-") and " " not in name and mistyped:
            hint = did_you_mean(bare, known, "--{}".format)
            if hint:
                raise UsageError(f"no option {name}", hint=hint)


def _option(action: argparse.Action) -> Option:
    choices = tuple(map(str, action.choices or ()))
    metavar = action.metavar if isinstance(action.metavar, str) else None
    named = metavar or "|".join(choices) or ("FILE" if action.type is Path else action.dest.upper())
    value = "" if action.nargs == 0 else named
    return Option(tuple(action.option_strings), value, choices, (action.help or "") % vars(action))
