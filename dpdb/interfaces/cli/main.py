"""The command `dpdb`: a subcommand, the prompt or a batch of statements, and the exit code."""

from __future__ import annotations

import argparse
import io
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from dpdb import manual
from dpdb.answers.formats.escape import printable
from dpdb.answers.formats.json_lines import error_as_json
from dpdb.answers.formats.render import FORMATS
from dpdb.errors import DpdbError, SetupError, Unsupported, error_text
from dpdb.interfaces.cli.arguments import parser, policy_for_arguments
from dpdb.interfaces.scripts import statements
from dpdb.interfaces.shell.progress import Progress
from dpdb.manual.terminal import rendered
from dpdb.policy.catalog import Policy
from dpdb.policy.csv_header import remarks
from dpdb.session.connect import session_on, valid_seed
from dpdb.sql.splitting import split

if TYPE_CHECKING:
    from dpdb.interfaces.shell.terminal import Ask
    from dpdb.session.session import Session

INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    _make_streams_safe()
    try:
        if words[:1] == ["init"]:
            from dpdb.interfaces.cli.init import main as init  # noqa: PLC0415 (numpy)

            return init(words[1:])
        if words[:1] == ["help"]:
            return _help(words[1:])
        if words[:1] == ["lab"]:
            from dpdb.interfaces.cli.lab import main as lab  # noqa: PLC0415 (numpy)

            return lab(words[1:])
        if words[:1] == ["utility"]:
            from dpdb.interfaces.cli.utility import main as utility  # noqa: PLC0415 (rare)

            return utility(words[1:])
        if words[:1] == ["risk"]:
            from dpdb.interfaces.cli.risk import main as risk  # noqa: PLC0415 (numpy)

            return risk(words[1:])
        if words[:1] == ["check"]:
            from dpdb.interfaces.cli.check import main as check  # noqa: PLC0415 (numpy)

            return check(words[1:])
        options = parser().parse_args(words)
        valid_seed(options.seed, teach=options.teach)
        typed = not options.scripts and sys.stdin.isatty()
        return _prompt(options) if typed else _batch(options)
    except DpdbError as error:
        print(error_text("", error), file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except OSError as error:
        # Where the reader of a pipe is gone, there is nobody to report an error to.
        if not isinstance(error, BrokenPipeError):
            print(f"error: cannot write: {error.strerror}", file=sys.stderr)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def _make_streams_safe() -> None:
    """Replace closed streams by empty ones, and escape characters that an encoding lacks."""
    sys.stdin = sys.stdin or open(os.devnull, encoding="utf-8")  # noqa: SIM115 (for good)
    sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _session(policy: Policy, options: argparse.Namespace, progress: Progress) -> Session:
    """The session that the options ask for."""
    shown = progress if sys.stderr.isatty() else None
    return session_on(policy, teach=options.teach, seed=options.seed, progress=shown)


def _print_remarks(policy: Policy) -> None:
    """Say on stderr how the files are read, where that is told from their headers."""
    for table in policy.tables:
        for remark in remarks(table):
            print(f"note: {printable(remark)}", file=sys.stderr)


def _prompt(options: argparse.Namespace) -> int:
    """Run the shell at the terminal."""
    from dpdb.interfaces.shell.prompt import asker, converse  # noqa: PLC0415 (batch does without)
    from dpdb.interfaces.shell.settings import read_settings  # noqa: PLC0415
    from dpdb.interfaces.shell.shell import Shell  # noqa: PLC0415

    settings = read_settings(options.config)
    if options.format is not None:
        settings.change("mode", options.format, "--format")
    if options.no_color:
        settings.change("color", "off", "--no-color")
    ask = asker(settings)
    policy = policy_for_arguments(options) if options.files else _ask_policy(options, ask)
    _print_remarks(policy)
    shell = Shell(
        policy,
        settings,
        ask,
        lambda progress: _session(policy, options, progress),
        bounded=[name for name, _ in options.bounds],
    )
    converse(shell, teach=options.teach)
    return 0


def _ask_policy(options: argparse.Namespace, ask: Ask) -> Policy:
    """Ask for the file, ε and the number of queries, as the program of Evans et al. does."""
    from dpdb.interfaces.shell.questions import ask_epsilon, ask_file, ask_queries  # noqa: PLC0415

    def read(path: Path) -> Policy:
        return policy_for_arguments(argparse.Namespace(**{**vars(options), "files": [path]}))

    policy = ask_file(ask, read)
    budget = policy.budget
    if options.epsilon is None:
        budget = replace(budget, epsilon=ask_epsilon(ask, budget.epsilon))
    if options.queries is None:
        budget = replace(budget, queries=ask_queries(ask, budget.queries))
    return replace(policy, budget=budget)


def _batch(options: argparse.Namespace) -> int:
    """Run the statements and print their answers; returns the gravest exit code."""
    policy = policy_for_arguments(options)
    _print_remarks(policy)
    session = _session(policy, options, Progress())
    show = FORMATS[options.format or "table"]
    code = 0
    separate = False
    for text in _statements(options.scripts or []):
        try:
            if isinstance(text, Unsupported):
                raise text
            shown = show(session.execute(text))
        except DpdbError as error:
            code = max(code, error.exit_code)
            _report("" if isinstance(text, Unsupported) else text, error, options.format)
            if options.on_error == "stop" or isinstance(error, SetupError):
                break
            continue
        if separate and options.format != "json":
            print()
        separate = True
        print(shown, flush=True)
    return code


def _report(text: str, error: DpdbError, form: str) -> None:
    """Print an error to stderr; with JSON, print it among the answers as well."""
    if form == "json":
        print(error_as_json(text, error), flush=True)
    print(error_text(text, error), file=sys.stderr)


def _statements(options: list[tuple[str, str]]) -> Iterator[str | Unsupported]:
    for option, value in options or [("-f", "-")]:
        if option == "-c":
            yield from (piece.text for piece in split(value))
        else:
            yield from statements(value)


def _help(words: list[str]) -> int:
    """Print a page of the manual: laid out on a terminal, elsewhere as it is written."""
    own = argparse.ArgumentParser(prog="dpdb help", description="Read the manual.")
    own.add_argument("topic", nargs="?", metavar="TOPIC", help="a page, or a topic in one")
    wanted = own.parse_args(words).topic
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
