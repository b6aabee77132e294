"""The arguments of the command line: names, checks, and the policy that they make."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from dpdb import __version__
from dpdb.answers.formats.render import FORMATS
from dpdb.errors import InvalidOption, UsageError
from dpdb.interfaces.cli.parsers import Parser, add_force
from dpdb.policy.budget import (
    LARGEST_QUERIES,
    Composition,
    Neighbors,
    Timing,
    valid_delta,
    valid_epsilon,
)
from dpdb.policy.catalog import Policy
from dpdb.policy.numbers import exact_number
from dpdb.policy.storage import is_server_address
from dpdb.session.connect import connect, is_address, policy_of

if TYPE_CHECKING:
    from dpdb.session.connect import AnySession

EPILOG = """\
Statements are separated by semicolons and come after the files, from -c, from -f or
from standard input; without any, at a terminal, dpdb is a shell.
`dpdb init FILE.csv` drafts a policy for a data file, and `dpdb check POLICY` tells which cells
do not fit it; `dpdb prepare` writes it anew as Parquet; `dpdb budget` opens and
watches a budget that lasts beyond a session, `dpdb user` adds accounts to it;
`dpdb utility` tells how far noise lets answers be relied on, `dpdb risk` which epsilon is
safe enough; `dpdb lab` shows attacks;
`dpdb help [TOPIC]` is the manual, `dpdb man` the man page, and `dpdb completion SHELL` lets
bash, zsh or fish complete all of these.
exit codes: 0 all answered, 1 a statement failed, 2 usage, policy, file or
ledger, 3 budget exhausted, 130 interrupted
"""
BEGINS = re.compile(r"\s*(?:(?:select|explain|show|describe|desc|set)\s|[.\\][a-z?]+(?:\s|$))",
                        re.IGNORECASE)  # fmt: skip
"""The beginning of a statement or a dot command that stands where files do."""


def parser() -> argparse.ArgumentParser:
    """The parser of the command line."""
    result = Parser(
        "dpdb",
        "[FILE.csv | POLICY.toml]... [STATEMENTS] [-c STATEMENTS]... [-f FILE]... [options]",
        "Answer statistical SQL about files and databases with differential privacy.",
        EPILOG,
    )
    add = result.add_argument
    add("-c", dest="scripts", action=_Script, metavar="STATEMENTS", help="run these statements")
    add("-f", dest="scripts", action=_Script, metavar="FILE", help="run the statements in a file")
    add_session_arguments(result)
    add("--format", choices=list(FORMATS), help="how to print answers: table")
    add("--json", dest="format", action="store_const", const="json", help="--format json")
    add("--csv", dest="format", action="store_const", const="csv", help="--format csv")
    add("--intervals", action="store_true",
        help="with each column x its interval: x_low and x_high")  # fmt: skip
    add("--plan", action="store_true",
        help="plan the statements together, so that they share what they draw")  # fmt: skip
    add("-o", "--output", default="", metavar="FILE", help="write answers to a file")
    add_force(result)
    add("--on-error", choices=["stop", "continue"], default="stop",
        help="whether to go on after a statement that fails")  # fmt: skip
    add("--config", type=Path, metavar="FILE", help="settings of the prompt (.help settings)")
    add("--restricted", action="store_true",
        help="no way from what is typed to other files and programs")  # fmt: skip
    add("--no-color", action="store_true", help="never colour; batch output has no colour anyway")
    add("--version", action="version", version=f"dpdb {__version__}")
    return result


def add_session_arguments(to: argparse.ArgumentParser) -> None:
    """The arguments that say which session there is to be."""
    add = to.add_argument
    add(
        "files",
        nargs="*",
        metavar="FILE",
        help="a CSV, Parquet, DuckDB, SQLite or Excel file, the address of a table, or a policy; "
        "or https://… alone, a server that answers",
    )
    add("--epsilon", type=epsilon, help="total privacy loss allowed")
    add("--delta", type=_delta, help="total probability of failure allowed")
    add("--queries", type=_queries, help="number of queries allowed; each gets epsilon / queries")
    add("--composition", choices=[str(name) for name in Composition],
        help="the theorem by which queries add up; all but pure need delta")  # fmt: skip
    add("--neighbors", choices=[str(name) for name in Neighbors], help="what one row may change")
    add("--timing", choices=[str(name) for name in Timing],
        help="when answers leave: on ticks, or after delays that are private, too")  # fmt: skip
    add("--bounds", action="append", default=[], metavar="COL=LO:HI", type=_bounds,
        help="bounds of a column, from knowledge of the subject")  # fmt: skip
    add("--separator", type=separator, metavar="C",
        help="what separates cells, in files without a policy: ; or \\t for a tab")  # fmt: skip
    add("--encoding", metavar="NAME", help="of files without a policy: latin-1, utf-16, …")
    add("--no-header", type=lambda text: [*map(str.strip, text.split(","))], metavar="NAMES",
        help="the columns, in order, of files without a policy or a header: a,b,c")  # fmt: skip
    add_ledger_argument(to)
    add("--analyst", metavar="NAME",
        help="who asks, where the owner of the ledger asks for somebody else")  # fmt: skip
    add("--trial", action="store_true",
        help="answer from rows made up from the policy: free, and no data are read")  # fmt: skip
    add("--teach", action="store_true",
        help="teaching mode: privacy can be switched off; no answer is private")  # fmt: skip
    add("--seed", type=seed, help="noise that can be predicted; with --teach only")
    add("--token-file", type=Path, metavar="FILE",
        help="of an analyst's token for the server https://…; or it is in DPDB_TOKEN")  # fmt: skip


def add_ledger_argument(to: argparse.ArgumentParser) -> None:
    """The argument that says where a lasting budget is kept."""
    to.add_argument("--ledger", metavar="FILE",
        help="of a budget that lasts, or postgresql://…, in place of the policy's")  # fmt: skip


def with_statement(options: argparse.Namespace) -> argparse.Namespace:
    """The options, with a statement after the files, as in `dpdb FILE "SQL"`, as one of -c."""
    *files, last = options.files or [""]
    if BEGINS.match(last) and not Path(last).exists():
        options.files, options.scripts = files, [("-c", last), *(options.scripts or [])]
    return options


class _Script(argparse.Action):
    """Collects -c and -f in the order given."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        collected = list(getattr(namespace, self.dest) or [])
        setattr(namespace, self.dest, [*collected, (option_string, values)])


def _number(text: str) -> Fraction:
    value = exact_number(text)
    if value is None:
        raise argparse.ArgumentTypeError("a number is needed")
    return value


def epsilon(text: str) -> Fraction:
    """A privacy loss, as an argument."""
    return _valid(text, valid_epsilon)


def epsilon_as_float(text: str) -> float:
    """A privacy loss, as an argument of a command that computes with floats."""
    return float(epsilon(text))


def _delta(text: str) -> Fraction:
    return _valid(text, valid_delta)


def _valid(text: str, valid: Callable[[Fraction], Fraction]) -> Fraction:
    """The number that an argument writes, as `valid` accepts it."""
    try:
        return valid(_number(text))
    except InvalidOption as error:
        raise argparse.ArgumentTypeError(error.message) from None


def seed(text: str) -> int:
    """A seed, as an argument."""
    if not (text.isascii() and text.isdigit() and len(text) <= 20):
        raise argparse.ArgumentTypeError("a whole number is needed")
    return int(text)


def whole(most: int) -> Callable[[str], int]:
    """A reader of arguments that are whole numbers from 1 to `most`."""

    def read(text: str) -> int:
        if not (text.isascii() and text.isdigit() and len(text) < 20 and 1 <= int(text) <= most):
            raise argparse.ArgumentTypeError(f"a whole number from 1 to {most} is needed")
        return int(text)

    return read


trials, limit, _queries = whole(100_000), whole(3600), whole(LARGEST_QUERIES)
"""Readers of the trials of an attack, the seconds of a student's file, and a query limit."""


def _bounds(text: str) -> tuple[str, tuple[Fraction, Fraction]]:
    name, equals, span = text.rpartition("=")
    low, colon, high = span.partition(":")
    if not (name and equals and colon):
        raise argparse.ArgumentTypeError("write COLUMN=LOW:HIGH")
    lower, upper = _number(low), _number(high)
    if lower > upper:
        raise argparse.ArgumentTypeError("LOW is above HIGH")
    return name, (lower, upper)


def separator(text: str) -> str:
    """The separator of cells, as an argument; no shell makes a tab easy to type."""
    return "\t" if text == "\\t" else text


def data_file(text: str) -> Path:
    """A file for a command that cannot read the tables of a server."""
    if is_server_address(text):
        raise argparse.ArgumentTypeError(
            "a file is needed: dpdb prepare writes the table of a server into a FILE.parquet"
        )
    return Path(text)


_OF_SERVERS = (
    *("epsilon", "delta", "queries", "composition", "neighbors", "timing", "bounds"),
    *("separator", "encoding", "no_header", "ledger", "analyst", "teach", "seed"),
)
"""The options that are for the data owner of a server to say."""


def remote_session(options: argparse.Namespace) -> AnySession | None:
    """The session of the server that is named in place of files; None where files are."""
    if not any(map(is_address, options.files)):
        if options.token_file is not None:
            raise UsageError("--token-file is for a server", hint="dpdb https://…")
        return None
    given = [name for name in _OF_SERVERS if getattr(options, name)]
    if given:
        names = ", ".join(f"--{name.replace('_', '-')}" for name in given)
        raise UsageError(f"{names}: the server says these itself")
    return connect(*options.files, trial=options.trial, token=_token(options.token_file))


def _token(file: Path | None) -> str | None:
    """The token in a file that its owner alone can read, or else in the environment."""
    if file is None:
        return os.environ.get("DPDB_TOKEN")
    try:
        with file.expanduser().open(encoding="ascii") as opened:
            if os.fstat(opened.fileno()).st_mode & 0o077:
                raise UsageError(f"others can read {file}", hint=f"chmod 600 {file}")
            return opened.read(_LONGEST_TOKEN).strip()
    except OSError as error:
        raise UsageError(f"cannot read {file}: {error.strerror}") from None
    except ValueError:
        raise UsageError(f"{file} holds no token") from None


_LONGEST_TOKEN = 1_000


def policy_for_arguments(options: argparse.Namespace) -> Policy:
    """The policies of all files as one, changed by the options of the command line."""
    if not options.files:
        raise UsageError("no data file or policy given", hint="dpdb people.csv -c 'SELECT …'")
    try:
        return policy_of(
            *options.files,
            epsilon=options.epsilon,
            delta=options.delta,
            queries=options.queries,
            composition=options.composition,
            neighbors=options.neighbors,
            timing=options.timing,
            bounds=dict(options.bounds),
            separator=options.separator,
            encoding=options.encoding,
            no_header=options.no_header,
            ledger=options.ledger,
            trial=options.trial,
        )
    except InvalidOption as error:
        raise UsageError(error.message, hint=error.hint) from None
