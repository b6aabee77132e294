"""The parser of the arguments of every command."""

from __future__ import annotations

import argparse
from typing import NoReturn

from dpdb.errors import printable


class Parser(argparse.ArgumentParser):
    """A parser whose errors move no cursor: they repeat words, which may be the names of files."""

    def error(self, message: str) -> NoReturn:
        super().error(printable(message))


def add_force(to: argparse.ArgumentParser) -> None:
    """The argument that lets outputs take the place of files that are not dpdb's."""
    to.add_argument(
        "--force",
        action="store_true",
        help="replace files that dpdb did not write, but for the data, policy and ledger in use",
    )
