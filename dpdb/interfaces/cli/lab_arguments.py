"""What the arguments of `dpdb lab` and its subcommands have in common."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from dpdb.errors import InvalidOption, UsageError, printable
from dpdb.interfaces.cli.parsers import Parser
from dpdb.lab.defences import exactly
from dpdb.policy.budget import valid_epsilon
from dpdb.policy.output_files import save

MOST_TRIALS = 100_000
LONGEST_LIMIT = 3600
"""Seconds that a student's file can be given."""


def parser(prog: str, usage: str, description: str) -> argparse.ArgumentParser:
    """A parser that takes no abbreviations."""
    return Parser(prog=prog, usage=f"{prog} {usage}", description=description, allow_abbrev=False)


def epsilon(text: str) -> float:
    """An ε to try an attack at."""
    try:
        value = float(text)
        valid_epsilon(exactly(value))
    except (ValueError, OverflowError):
        raise argparse.ArgumentTypeError("a number is needed") from None
    except InvalidOption as error:
        raise argparse.ArgumentTypeError(error.message) from None
    return value


def trials(text: str) -> int:
    """A number of trials."""
    return _whole(text, 1, MOST_TRIALS)


def seed(text: str) -> int:
    """The seed of a generator."""
    return _whole(text, 0, 2**63)


def limit(text: str) -> int:
    """The seconds that a student's file has."""
    return _whole(text, 1, LONGEST_LIMIT)


def _whole(text: str, least: int, most: int) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 20 and least <= int(text) <= most):
        raise argparse.ArgumentTypeError(f"a whole number from {least} to {most} is needed")
    return int(text)


def write(path: Path, text: str, *, force: bool) -> None:
    """Write a page, and say so on the error stream."""
    save(path, text.encode(), force=force)
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
