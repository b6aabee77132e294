"""The subcommands of `dpdb`: for each the module that has its `main` and its `parser`."""

from __future__ import annotations

import argparse
from importlib import import_module
from pathlib import Path

from dpdb.errors import UsageError, did_you_mean
from dpdb.records import dataclass


@dataclass(frozen=True)
class Subcommand:
    """One subcommand; its module is imported when it is used, as some import numpy."""

    module: str
    summary: str

    def run(self, words: list[str]) -> int:
        """Run it with the words after its name; returns the exit code."""
        code: int = import_module(f"dpdb.interfaces.cli.{self.module}").main(words)
        return code

    @property
    def parser(self) -> argparse.ArgumentParser:
        """The parser of its arguments."""
        made: argparse.ArgumentParser = import_module(f"dpdb.interfaces.cli.{self.module}").parser()
        return made


SUBCOMMANDS = {
    "init": Subcommand("init", "draft a policy for a data file"),
    "check": Subcommand("check", "which cells do not fit a policy"),
    "prepare": Subcommand("prepare", "write a data file anew as Parquet"),
    "budget": Subcommand("budget", "a budget that lasts: open, show, grant, verify"),
    "risk": Subcommand("risk", "which epsilon is safe enough"),
    "utility": Subcommand("utility", "how far noise lets answers be relied on"),
    "lab": Subcommand("lab", "attacks on statistical databases"),
    "help": Subcommand("help", "the manual"),
    "completion": Subcommand("completion", "completion for bash, zsh or fish"),
    "man": Subcommand("man", "the man page"),
}


def check_command(files: list[str]) -> None:
    """Refuse a first word that is nearly the name of a subcommand, and no file.

    A word with a dot or a slash in it is meant for a file.
    """
    word = files[0] if files and files[0].isalpha() else ""
    hint = did_you_mean(word, SUBCOMMANDS, "dpdb {}".format)
    if hint and not Path(word).exists():
        raise UsageError(f"no command and no file is called {word}", hint=hint)
