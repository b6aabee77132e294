"""`dpdb lab room`: its arguments, the secret bits, and where the game is shown."""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from dpdb.errors import DataFileError, UsageError, printable
from dpdb.interfaces.cli.arguments import data_file, seed
from dpdb.interfaces.cli.parsers import Parser, add_force, write
from dpdb.interfaces.console.terminal import tell_error
from dpdb.lab.scenario import DataFile

FEWEST, USUAL, MOST = 10, 30, 60
WORDS = (("0", "1"), ("false", "true"), ("f", "t"), ("no", "yes"), ("n", "y"))
"""The spellings of a secret bit in a file: those of 0 and of 1."""


def main(words: list[str]) -> int:
    """Run `dpdb lab room` with the words after it."""
    options = _parser().parse_args(words)
    bits, whose = _bits(options)
    if options.html:
        from dpdb.lab.classroom.room import page  # noqa: PLC0415 (jinja2, numpy)

        write(options.html, page(bits, whose, options.seed), force=options.force)
        return 0
    from rich.console import Console  # noqa: PLC0415 (numpy, rich)

    from dpdb.lab.classroom.room import Projector, play, stages  # noqa: PLC0415

    projector = Projector(Console(highlight=False), options.delay)
    projector.console.print(f"{printable(whose)}\n", markup=False)
    with TemporaryDirectory(prefix="dpdb-room-") as directory:
        for stage in stages(len(bits)):
            projector.show(stage, bits, play(stage, bits, Path(directory), options.seed))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        "dpdb lab room",
        "[BITS | --data FILE.csv] [options]",
        "A room of people with a secret bit each, found out by counts of random "
        "subsets: exact ones, rounded ones, and those that a privacy budget buys.",
    )
    add = parser.add_argument
    add("bits", nargs="*", metavar="BITS", help=f"from {FEWEST} to {MOST} zeros and ones")
    add("--data", type=data_file, metavar="FILE.csv",
        help="the first column of zeros and ones in it")  # fmt: skip
    add("--html", type=Path, metavar="FILE", help="write a page that plays it")
    add("--delay", type=_seconds, default=0.15, metavar="S", help="seconds between two pictures")
    add("--seed", type=seed, default=1, metavar="S", help="the same seed, the same questions")
    add_force(parser)
    return parser


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value <= 60:
        raise argparse.ArgumentTypeError("a number of seconds from 0 to 60 is needed")
    return value


def _bits(options: argparse.Namespace) -> tuple[tuple[int, ...], str]:
    """The secrets, and a sentence that says whose they are."""
    if options.data and options.bits:
        raise UsageError("the bits come from a file or are typed in, not both")
    if options.data:
        return _of_file(options.data)
    typed = "".join(options.bits)
    if not typed and sys.stdin.isatty() and sys.stdout.isatty():
        return _asked(options.seed)
    return _typed(typed, options.seed)


def _typed(text: str, seed: int) -> tuple[tuple[int, ...], str]:
    """The bits that a text writes; of an empty one, tosses of coins."""
    text = "".join(text.replace(",", " ").split())
    if not text:
        from dpdb.lab.classroom.room import coins  # noqa: PLC0415 (numpy)

        return coins(USUAL, seed), f"{USUAL} secret bits, by the toss of coins."
    if set(text) - {"0", "1"}:
        raise UsageError("secret bits are zeros and ones", hint=f"such as {'01' * (FEWEST // 2)}")
    _seats(len(text))
    return tuple(map(int, text)), f"{len(text)} secret bits, typed in."


def _asked(seed: int) -> tuple[tuple[int, ...], str]:
    """The bits that are typed in; what is mistyped is asked for again."""
    while True:
        try:
            return _typed(input(f"{USUAL} secret bits, 0 or 1; Enter tosses coins: "), seed)
        except EOFError:
            return _typed("", seed)
        except UsageError as error:
            tell_error("", error)


def _of_file(path: Path) -> tuple[tuple[int, ...], str]:
    """The bits of the first column in which every cell is a bit."""
    file = DataFile.read(path)
    for place, column in enumerate(file.table.columns):
        cells = [row[place].strip().casefold() for row in file.rows]
        for nothing, something in WORDS:
            if cells and set(cells) <= {nothing, something}:
                _seats(len(cells))
                bits = tuple(int(cell == something) for cell in cells)
                whose = f"{column.name} of {path.name}, {len(bits)} rows"
                return bits, f"For the data owner's eyes, not to be published: {whose}."
    raise DataFileError(f"no column of {path.name} has only zeros and ones")


def _seats(number: int) -> None:
    if not FEWEST <= number <= MOST:
        raise UsageError(f"a room has {FEWEST} to {MOST} seats, and these are {number} bits")
