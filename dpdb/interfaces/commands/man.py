"""`dpdb man`: the man page, from the parsers of the command line."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from dpdb import __version__, manual
from dpdb.interfaces.cli.arguments import parser as main_parser
from dpdb.interfaces.cli.parsers import SUBCOMMANDS, Option, Parser, options_of
from dpdb.interfaces.console.settings import SETTINGS


def main(words: list[str]) -> int:
    """Print the page."""
    parser().parse_args(words)
    print("\n".join(_page()))
    return 0


def parser() -> argparse.ArgumentParser:
    """The parser of `dpdb man`."""
    return Parser("dpdb man", None, "Print the man page: dpdb man > dpdb.1, or | man -l -")


def _page() -> Iterator[str]:
    """The lines of the page, in the man macros of roff."""
    top = main_parser()
    yield f'.TH DPDB 1 "" "dpdb {__version__}"'
    about = (top.description or "").rstrip(".")
    yield from (".SH NAME", f"dpdb \\- {_plain(about[:1].lower() + about[1:])}")
    yield from (".SH SYNOPSIS", f".B {_plain(_usage(top))}")
    description, _, codes = (top.epilog or "").partition("exit codes: ")
    yield from (".SH DESCRIPTION", *map(_plain, description.splitlines()))
    yield from (".SH EXIT STATUS", *map(_plain, codes.splitlines()))
    yield ".SH OPTIONS"
    yield from _listed(top)
    yield ".SH COMMANDS"
    for name, command in SUBCOMMANDS.items():
        own = command.parser
        yield from (
            f".SS dpdb {name}",
            _plain(own.description or ""),
            ".PP",
            f".B {_plain(_usage(own))}",
        )
        yield from _listed(own)
    yield ".SH ENVIRONMENT"
    for setting in SETTINGS.values():
        values = ", ".join(setting.values)
        yield from (".TP", f".B DPDB_{setting.name.upper()}", _plain(f"{setting.help}: {values}"))
    yield from (
        ".SH FILES",
        ".TP",
        ".I $XDG_CONFIG_HOME/dpdb/config.toml",
        "Settings of the prompt.",
    )
    yield from (".TP", ".I $XDG_STATE_HOME/dpdb/history", "What was typed at the prompt.")
    yield from (".SH SEE ALSO", _plain(f"dpdb help: {', '.join(manual.PAGES)}."))


def _usage(own: argparse.ArgumentParser) -> str:
    return " ".join(own.format_usage().removeprefix("usage: ").split())


def _listed(own: argparse.ArgumentParser) -> Iterator[str]:
    for option in options_of(own):
        yield from (".TP", f".B {_plain(_head(option))}", _plain(option.help))


def _head(option: Option) -> str:
    names = ", ".join(option.names) or option.value
    return f"{names} {option.value}" if option.names and option.value else names


def _plain(text: str) -> str:
    """Text in which roff finds no requests and no escapes, and ASCII alone."""
    shown = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq")
    shown = "".join(c if c.isascii() else f"\\[u{ord(c):04X}]" for c in shown)
    return f"\\&{shown}" if shown.startswith(".") else shown
