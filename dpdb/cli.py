"""The command line: what to load, what to run, how to print, and exit codes."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TextIO

from dpdb import __version__
from dpdb.errors import DataFileError, DpdbError, InvalidOption, SetupError, UsageError
from dpdb.policy import LARGEST_QUERIES, Neighbors, Policy, valid_delta, valid_epsilon
from dpdb.policyfile import policy_for, read_policy, with_bounds
from dpdb.shell.render import FORMATS, error_as_json, error_text
from dpdb.sql.splitting import split

INTERRUPTED = 130
TICK = 0.01
"""Answers leave on a tick, in seconds, so that how long one took tells little of the rows."""
PATIENCE = 0.5
"""Seconds a load may take before it shows progress."""

EPILOG = """\
Statements are separated by semicolons and come from -c, -f or standard input.
`dpdb init FILE.csv` drafts a policy for a CSV file.
exit codes: 0 all answered, 1 a statement failed, 2 usage, policy or file,
3 budget exhausted, 130 interrupted
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    try:
        if words[:1] == ["init"]:
            return _init(words[1:])
        return _batch(_parser().parse_args(words))
    except DpdbError as error:
        print(error_text("", error), file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read the answers has left; nothing more can be said to them.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="dpdb",
        usage="dpdb [FILE.csv | POLICY.toml]... [-c STATEMENTS]... [-f FILE]... [options]",
        description="Answer statistical SQL about CSV files with differential privacy.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("files", nargs="*", metavar="FILE", help="a CSV file, or a policy that names some")
    add("-c", dest="scripts", action=_Script, metavar="STATEMENTS", help="run these statements")
    add("-f", dest="scripts", action=_Script, metavar="FILE", help="run the statements in a file")
    add("--epsilon", type=_epsilon, help="total privacy loss allowed")
    add("--delta", type=_delta, help="total probability of failure allowed")
    add("--queries", type=_queries, help="number of queries allowed; each gets epsilon / queries")
    add("--neighbors", choices=list(Neighbors), help="what one row may change")
    add("--bounds", action="append", default=[], metavar="COL=LO:HI", type=_bounds,
        help="bounds of a column, from knowledge of the subject")  # fmt: skip
    add("--format", choices=list(FORMATS), default="table", help="how to print answers")
    add("--json", dest="format", action="store_const", const="json", help="--format json")
    add("--csv", dest="format", action="store_const", const="csv", help="--format csv")
    add("--teach", action="store_true",
        help="teaching mode: privacy can be switched off; no answer is private")  # fmt: skip
    add("--seed", type=_seed, help="noise that can be predicted; with --teach only")
    add("--on-error", choices=["stop", "continue"], default="stop",
        help="whether to go on after a statement that fails")  # fmt: skip
    add("--no-color", action="store_true", help="never colour; batch output has no colour anyway")
    add("--version", action="version", version=f"dpdb {__version__}")
    return parser


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
    try:
        return Fraction(text) if len(text) <= 40 and "/" not in text and "_" not in text else _bad()
    except (ValueError, ZeroDivisionError):
        return _bad()


def _bad() -> Fraction:
    raise argparse.ArgumentTypeError("a number is needed")


def _epsilon(text: str) -> Fraction:
    return _valid(lambda: valid_epsilon(_number(text)))


def _delta(text: str) -> Fraction:
    return _valid(lambda: valid_delta(_number(text)))


def _valid(check: object) -> Fraction:
    try:
        return check()  # type: ignore[operator,no-any-return]
    except InvalidOption as error:
        raise argparse.ArgumentTypeError(error.message) from None


def _queries(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= LARGEST_QUERIES):
        raise argparse.ArgumentTypeError("a whole number, at least 1, is needed")
    return int(text)


def _seed(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 20):
        raise argparse.ArgumentTypeError("a whole number is needed")
    return int(text)


def _bounds(text: str) -> tuple[str, tuple[Fraction, Fraction]]:
    name, equals, span = text.rpartition("=")
    low, colon, high = span.partition(":")
    if not (name and equals and colon):
        raise argparse.ArgumentTypeError("write COLUMN=LOW:HIGH")
    lower, upper = _number(low), _number(high)
    if lower > upper:
        raise argparse.ArgumentTypeError("LOW is above HIGH")
    return name, (lower, upper)


def _policy(options: argparse.Namespace) -> Policy:
    """The policies of all files as one, with what the command line says on top."""
    if not options.files:
        raise UsageError("no CSV file or policy given", hint="dpdb people.csv -c 'SELECT …'")
    policies = [
        read_policy(path) if path.suffix == ".toml" else policy_for(path)
        for path in map(Path, options.files)
    ]
    tables = tuple(table for policy in policies for table in policy.tables)
    names = [table.name.casefold() for table in tables]
    if len(set(names)) < len(names):
        raise UsageError("two tables have the same name")
    if any(policy.budget != policies[0].budget for policy in policies):
        raise UsageError("the files' policies differ in their budget",
                         hint="put the tables into one policy")  # fmt: skip
    if any(policy.neighbors != policies[0].neighbors for policy in policies):
        raise UsageError("the files' policies differ in their neighbours")
    budget = policies[0].budget
    given = {name: getattr(options, name) for name in ("epsilon", "delta", "queries")}
    budget = replace(budget, **{name: value for name, value in given.items() if value is not None})
    neighbors = Neighbors(options.neighbors) if options.neighbors else policies[0].neighbors
    policy = replace(policies[0], tables=tables, budget=budget, neighbors=neighbors)
    return with_bounds(policy, dict(options.bounds))


def _batch(options: argparse.Namespace) -> int:
    """Run the statements and print their answers; the gravest error's code, or 0."""
    from dpdb.privacy.seeded_noise import seeded  # noqa: PLC0415
    from dpdb.session import Session  # noqa: PLC0415 (after the arguments: --help is quick)

    if options.seed is not None and not options.teach:
        raise UsageError("--seed makes noise predictable", hint="it goes with --teach only")

    policy = _policy(options)
    for table in policy.tables:
        if not table.path.is_file():
            raise DataFileError(f"there is no file {table.path}")
    session = Session(
        policy,
        noise=None if options.seed is None else seeded(options.seed),
        progress=_Progress() if sys.stderr.isatty() else None,
        teach=options.teach,
    )
    show = FORMATS[options.format]
    code = 0
    separate = False
    for text in _statements(options.scripts or [], sys.stdin):
        started = time.monotonic()
        try:
            shown = show(session.execute(text))
            time.sleep(-(time.monotonic() - started) % TICK)
        except DpdbError as error:
            code = max(code, error.exit_code)
            _report(text, error, options.format)
            if options.on_error == "stop" or isinstance(error, SetupError):
                break
            continue
        if separate and options.format != "json":
            print()
        separate = True
        print(shown, flush=True)
    return code


def _report(text: str, error: DpdbError, form: str) -> None:
    """An error goes to stderr; scripts that read JSON find it among the answers too."""
    if form == "json":
        print(error_as_json(text, error), flush=True)
    print(error_text(text, error), file=sys.stderr)


def _statements(scripts: list[tuple[str, str]], stdin: TextIO) -> Iterator[str]:
    if not scripts:
        if stdin.isatty():
            raise UsageError("there is no prompt yet", hint="give statements with -c, -f or stdin")
        scripts = [("-f", "-")]
    for option, value in scripts:
        text = value if option == "-c" else _read(value, stdin)
        yield from (piece.text for piece in split(text))


def _read(name: str, stdin: TextIO) -> str:
    try:
        return stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise UsageError(f"{name} is not UTF-8 text") from None
    except OSError as error:
        raise UsageError(f"cannot read {name}: {error.strerror}") from None


class _Progress:
    """How far a long load has come, on one line of the terminal that goes away."""

    def __init__(self) -> None:
        self._started = time.monotonic()

    def __call__(self, fraction: float) -> None:
        if time.monotonic() - self._started < PATIENCE:
            return
        shown = f"loading {fraction:4.0%}" if fraction < 1 else ""
        print(f"\r{shown:<14}\r", end="", file=sys.stderr, flush=True)


def _init(words: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="dpdb init",
        description="Draft a policy for a CSV file, to standard output.",
    )
    parser.add_argument("file", metavar="FILE.csv", type=Path)
    options = parser.parse_args(words)
    from dpdb.drafting import draft  # noqa: PLC0415 (pandas)

    print(draft(options.file), end="")
    return 0
