"""The parsers of the command line, the list of their options, the subcommands and their outputs."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from itertools import takewhile
from pathlib import Path
from typing import Any, NoReturn

from dpdb.errors import UsageError, did_you_mean, printable
from dpdb.policy.output_files import save
from dpdb.records import dataclass


class Parser(argparse.ArgumentParser):
    """A parser that takes no abbreviations, and shows `epilog` as it is written.

    Its errors move no cursor: they repeat words, which may be the names of files.
    """

    def __init__(self, prog: str, usage: str | None, description: str, epilog: str = ""):
        formatter = argparse.RawDescriptionHelpFormatter if epilog else argparse.HelpFormatter
        super().__init__(
            prog=prog,
            usage=usage and f"{prog} {usage}",
            description=description,
            epilog=epilog,
            formatter_class=formatter,
            allow_abbrev=False,
        )

    def error(self, message: str) -> NoReturn:
        super().error(printable(message))


def add_force(to: argparse.ArgumentParser) -> None:
    """The argument that lets outputs take the place of files that are not dpdb's."""
    to.add_argument(
        "--force",
        action="store_true",
        help="replace files that dpdb did not write, but for the data, policy and ledger in use",
    )


@dataclass(frozen=True)
class Option:
    """An option, or a positional argument, which has no names."""

    names: tuple[str, ...]
    value: str
    """Name of the option's value; empty for a flag."""
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


def check_options(
    options: argparse.Namespace, program: str, of: Mapping[str, Sequence[str]]
) -> None:
    """Refuse an option that is given with a command that it is not `of`."""
    for name, commands in of.items():
        if getattr(options, name) and options.command not in commands:
            option = f"--{name.replace('_', '-')}"
            raise UsageError(f"{option} is of {program} {' and '.join(commands)}")


def _option(action: argparse.Action) -> Option:
    choices = tuple(map(str, action.choices or ()))
    metavar = action.metavar if isinstance(action.metavar, str) else None
    named = metavar or "|".join(choices) or ("FILE" if action.type is Path else action.dest.upper())
    value = "" if action.nargs == 0 else named
    return Option(tuple(action.option_strings), value, choices, (action.help or "") % vars(action))


def write(path: Path, content: str | bytes, *, force: bool) -> None:
    """Write a page or a file, and say so on the error stream."""
    save(path, content.encode() if isinstance(content, str) else content, force=force)
    print(f"wrote {printable(str(path))}", file=sys.stderr)


def make_folder(path: Path) -> None:
    """Make a folder for pages, if it is not there."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot make {path}: {error.strerror}") from None


def show_progress(text: str) -> None:
    """At a terminal, one line on the error stream that the next one replaces; "" clears it."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


@dataclass(frozen=True)
class Subcommand:
    """A subcommand; its module is imported when it is used, as some import numpy."""

    module: str
    summary: str

    def run(self, words: list[str]) -> int:
        """Run the command with the words after its name; returns the exit code."""
        code: int = self._imported().main(words)
        return code

    @property
    def parser(self) -> argparse.ArgumentParser:
        """The parser of the command's arguments."""
        made: argparse.ArgumentParser = self._imported().parser()
        return made

    def _imported(self) -> Any:  # noqa: ANN401 (a module)
        return import_module(f"dpdb.interfaces.commands.{self.module}")


SUBCOMMANDS = {
    "init": Subcommand("owner.init", "draft a policy for a data file"),
    "check": Subcommand("owner.check", "which cells do not fit a policy"),
    "trial": Subcommand("owner.trial", "rows made up from a policy, as files to practise on"),
    "prepare": Subcommand("owner.prepare", "write a data file anew as Parquet"),
    "serve": Subcommand("serve", "a server that analysts reach by browsers and programs"),
    "mcp": Subcommand("mcp", "an assistant asks, over standard input and output"),
    "budget": Subcommand("owner.budget", "a budget that lasts: open, show, grant, verify"),
    "user": Subcommand("owner.user", "accounts of those who ask a server"),
    "risk": Subcommand("lab.risk", "which epsilon is safe enough"),
    "utility": Subcommand("lab.utility", "how far noise lets answers be relied on"),
    "lab": Subcommand("lab.attacks", "attacks on statistical databases"),
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
