"""The command `dpdb`: a subcommand, the prompt or a batch of statements, and the exit code."""

from __future__ import annotations

import argparse
import errno
import io
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from dpdb.errors import DpdbError, UsageError, printable
from dpdb.interfaces.cli.arguments import (
    parser,
    policy_for_arguments,
    remote_session,
    with_statement,
)
from dpdb.interfaces.cli.batch import Batch, scripted
from dpdb.interfaces.cli.parsers import SUBCOMMANDS, check_command, check_spelling
from dpdb.interfaces.console.settings import ShellSettings, check_settings, read_settings
from dpdb.interfaces.console.terminal import ProgressLine, tell_error
from dpdb.policy.catalog import Policy
from dpdb.policy.schemas.table_files import remarks
from dpdb.session.connect import session_on, valid_seed

if TYPE_CHECKING:
    from dpdb.interfaces.console.terminal import Ask
    from dpdb.session.connect import AnySession


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code; Ctrl-C raises KeyboardInterrupt."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    unseen = sys.stdout is None  # so a closed stream is
    _make_streams_safe()
    try:
        if words and words[0] in SUBCOMMANDS:
            return SUBCOMMANDS[words[0]].run(words[1:])
        command = parser()
        check_spelling(words, command)
        options = with_statement(command.parse_intermixed_args(words))
        check_command(options.files)
        check_restricted(options)
        if unseen and not options.output:
            raise UsageError(
                "standard output is closed: answers would cost ε, and be lost",
                hint="-o FILE writes them into a file",
            )
        valid_seed(options.seed, teach=options.teach)
        typed = not options.scripts and sys.stdin.isatty()
        return _prompt(options) if typed else _batch(options)
    except DpdbError as error:
        tell_error("", error)
        return error.exit_code
    except ModuleNotFoundError:
        raise
    except (MemoryError, ImportError):  # a library could not be loaded
        print("error: this machine has too little memory", file=sys.stderr)
        return 1
    except OSError as error:
        # If the reader of a pipe is gone, there is nobody to report an error to.
        if error.errno != errno.EPIPE:
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


def _session(
    policy: Policy,
    options: argparse.Namespace,
    progress: ProgressLine,
    remote: AnySession | None,
    *,
    protected: bool = True,
) -> AnySession:
    """The session that the options ask for; in teaching mode it can begin with privacy off."""
    if remote is not None:  # its settings are those of all sessions of the analyst
        return remote
    # The progress of a load tells the file's size, which is for its owner to see.
    shown = progress if sys.stderr.isatty() and not options.restricted else None
    session = session_on(
        policy, teach=options.teach, seed=options.seed, analyst=options.analyst, progress=shown
    )
    if not protected:
        session.execute("SET dp = off")
    if options.plan:
        session.execute("SET plan = on")
    if options.format == "csv" and not options.intervals:
        session.execute("SET interval = off")  # nothing shows it, so the value has its ε
    return session


def _print_remarks(policy: Policy, remote: AnySession | None) -> None:
    """Say on stderr how the files are read, where that is told from their headers."""
    for table in policy.tables if remote is None else ():
        for remark in remarks(table):
            print(f"note: {printable(remark)}", file=sys.stderr)


def _given_settings(settings: ShellSettings, options: argparse.Namespace) -> ShellSettings:
    """The settings, changed by the options of the command line."""
    if options.format is not None:
        settings.change("mode", options.format, "--format")
    if options.intervals:
        settings.change("intervals", "on", "--intervals")
    if options.no_color:
        settings.change("color", "off", "--no-color")
    return settings


def _prompt(options: argparse.Namespace) -> int:
    """Run the shell at the terminal."""
    from dpdb.interfaces.prompt.prompt import asker, converse  # noqa: PLC0415 (batch does without)
    from dpdb.interfaces.prompt.shell import Shell  # noqa: PLC0415

    read = ShellSettings() if options.restricted else read_settings(options.config)
    settings = _given_settings(read, options)
    ask = asker(settings)
    remote = remote_session(options)
    if remote is not None:
        policy, protected = remote.policy, True
    elif options.files:
        policy, protected = policy_for_arguments(options), True
    else:
        policy, protected = _ask_policy(options, ask)
    _print_remarks(policy, remote)
    shell = Shell(
        policy,
        settings,
        ask,
        lambda progress: _session(policy, options, progress, remote, protected=protected),
        bounded=[name for name, _ in options.bounds],
        inputs=map(Path, options.files if remote is None else []),
        restricted=options.restricted,
        force=options.force,
        remote=remote is not None and remote.is_remote,
    )
    if policy.lasting is not None:
        shell.session  # noqa: B018 (what its ledger refuses is said before the greeting)
    shell.redirect(options.output)
    try:
        converse(shell, teach=options.teach)
    finally:
        shell.redirect("")
    return int(shell.lost)


def _ask_policy(options: argparse.Namespace, ask: Ask) -> tuple[Policy, bool]:
    """Ask for the file, ε and the number of queries, as the program of Evans et al. does.

    In teaching mode it also asks, as that program does, whether to use differential privacy.
    """
    from dpdb.interfaces.prompt.questions import ask_epsilon, ask_file, ask_protected, ask_queries  # noqa: PLC0415

    def read(path: Path) -> Policy:
        options.files = [path]
        return policy_for_arguments(options)

    policy = ask_file(ask, read)
    if options.teach and not ask_protected(ask):
        return policy, False
    budget = policy.budget
    if options.epsilon is None:
        budget = replace(budget, epsilon=ask_epsilon(ask, budget.epsilon))
    if options.queries is None:
        budget = replace(budget, queries=ask_queries(ask, budget.queries))
    return replace(policy, budget=budget), True


def _batch(options: argparse.Namespace) -> int:
    """Run the statements and print their answers; returns the gravest exit code."""
    if options.config is not None:
        check_settings(options.config)
    remote = remote_session(options)
    policy = policy_for_arguments(options) if remote is None else remote.policy
    _print_remarks(policy, remote)
    settings = _given_settings(ShellSettings(), options)
    session = _session(policy, options, ProgressLine(), remote)
    scripts = options.scripts or []
    read = [
        *(options.files if remote is None else []),
        *(name for option, name in scripts if option == "-f"),
    ]
    batch = Batch(
        policy, settings, session, map(Path, read), bounded=[name for name, _ in options.bounds],
        restricted=options.restricted, force=options.force,
    )  # fmt: skip
    batch.redirect(options.output)
    try:
        stop = options.on_error == "stop"
        batch.run_all(scripted(scripts), stop=stop, planned=options.plan)
    finally:
        batch.redirect("")
    return max(batch.code, int(batch.lost))


def check_restricted(options: argparse.Namespace) -> None:
    """Refuse, where --restricted is given, what leads to other files, or shows rows."""
    if not options.restricted:
        return
    named = [option for option, _ in options.scripts or [] if option == "-f"]
    given = {"-f": named, "-o": options.output, "--config": options.config,
             "--force": options.force, "--teach": options.teach}  # fmt: skip
    for name, value in given.items():
        if value:
            raise UsageError(f"{name} does not go with --restricted")
    if not options.files:
        raise UsageError("--restricted is given with a policy", hint="dpdb POLICY --restricted")
    _check_limits()


def _check_limits() -> None:
    """Refuse a process of limited memory or processor time, and leave no core of another.

    Limits are inherited by what sudo starts. Whether a query ends within one that the analyst has
    chosen depends on how many rows there are, and noise hides nothing of that.
    """
    import resource  # noqa: PLC0415 (Windows has none)

    for limit in (resource.RLIMIT_AS, resource.RLIMIT_DATA, resource.RLIMIT_CPU):
        if resource.getrlimit(limit)[0] != resource.RLIM_INFINITY:
            raise UsageError(
                "--restricted runs without a limit on memory or processor time",
                hint="ulimit -d unlimited -t unlimited -v unlimited",
            )
    _, most = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, most))
