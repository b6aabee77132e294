"""`dpdb help`: the pages of the manual."""

from __future__ import annotations

import argparse
import os
import shutil
import sys

from dpdb import manual
from dpdb.interfaces.cli.parsers import Parser
from dpdb.manual.terminal import rendered


def main(words: list[str]) -> int:
    """Print a page of the manual: laid out on a terminal, elsewhere as it is written."""
    wanted = parser().parse_args(words).topic
    text = manual.contents() if wanted is None else manual.topic(wanted)
    if wanted is not None and sys.stdout.isatty():
        import pydoc  # noqa: PLC0415 (slow, and for this alone)

        color = "NO_COLOR" not in os.environ
        text = rendered(text, shutil.get_terminal_size().columns, color=color)
        # Less shows a short page at once, and colours, unless its user wants otherwise.
        os.environ.setdefault("LESS", "FRX")
        pydoc.pager(text)
    else:
        print(text)
    return 0


def parser() -> argparse.ArgumentParser:
    """The parser of `dpdb help`."""
    result = Parser(prog="dpdb help", description="Read the manual.")
    result.add_argument("topic", nargs="?", metavar="TOPIC", help="a page, or a topic in one")
    return result
