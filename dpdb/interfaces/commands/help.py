"""`dpdb help`: the pages of the manual, and the options of the subcommands."""

from __future__ import annotations

import argparse
import os
import shutil
import sys

from dpdb import manual
from dpdb.interfaces.cli.parsers import SUBCOMMANDS, Parser
from dpdb.interfaces.console.help import rendered
from dpdb.interfaces.console.terminal import paged

_HOW = """\
dpdb help TOPIC prints a page or a section of one, or finds a function, a clause, a word of the
glossary or the words of a question: dpdb help avg, dpdb help group by, dpdb help reset budget.
dpdb help init prints the options of a command."""


def main(words: list[str]) -> int:
    """Print a page of the manual: laid out on a terminal, elsewhere as it is written."""
    wanted = " ".join(parser().parse_args(words).topic)
    if not wanted:
        print(f"{manual.contents()}\n\n{_HOW}")
        return 0
    if wanted in SUBCOMMANDS and wanted not in manual.topics():
        SUBCOMMANDS[wanted].parser.print_help()
        return 0
    text = manual.topic(wanted)
    if sys.stdout.isatty():
        color = "NO_COLOR" not in os.environ
        text = rendered(text, shutil.get_terminal_size().columns, color=color)
        paged(text)
    else:
        print(text)
    return 0


def parser() -> argparse.ArgumentParser:
    """The parser of `dpdb help`."""
    result = Parser("dpdb help", None, "Read the manual.")
    result.add_argument("topic", nargs="*", metavar="TOPIC",
        help="a page, a section, a function, a word, or a command")  # fmt: skip
    return result
