"""The notebook: `%dpdb FILE` connects it, and `%%dpdb` answers the statements of a cell."""

from __future__ import annotations

import argparse
import keyword
import shlex
from typing import TYPE_CHECKING, NoReturn

from dpdb.errors import UsageError, printable
from dpdb.interfaces.cli.arguments import (
    BEGINS,
    add_session_arguments,
    policy_for_arguments,
    remote_session,
)
from dpdb.policy.schemas.table_files import remarks
from dpdb.session.connect import session_on
from dpdb.sql.text.placeholders import names_in
from dpdb.sql.text.splitting import split

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from dpdb.session.connect import AnySession


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Give the notebook `%dpdb` and `%%dpdb`; `%load_ext dpdb` calls this function."""
    notebook = Notebook(shell)
    manager = shell.magics_manager
    manager.register_function(notebook.connect, magic_kind="line", magic_name="dpdb")
    manager.register_function(notebook.run, magic_kind="cell", magic_name="dpdb")


class Notebook:
    """The session of a notebook's magics, and where they leave answers."""

    def __init__(self, shell: InteractiveShell):
        self._shell = shell
        self._session: AnySession | None = None

    def connect(self, line: str) -> AnySession | None:
        """`%dpdb FILE… [options]`: from now on `%%dpdb` asks about these files.

        The options are those of the command line that say which session there is to be. The session
        is returned, so `db = %dpdb people.csv` can be used from Python, too.
        """
        if BEGINS.match(line):
            raise UsageError("a statement has its own cell", hint=f"%%dpdb\n{line.strip()}")
        try:
            options = _parser().parse_args(_words(line))
        except SystemExit:  # after --help has been printed
            return None
        if not options.files:
            raise UsageError("no data file or policy given", hint="%dpdb people.csv --epsilon 1")
        remote = remote_session(options)
        if remote is not None:
            self._session = remote
            return remote
        policy = policy_for_arguments(options)
        for table in policy.tables:
            for remark in remarks(table):
                print(f"note: {printable(remark)}")
        self._session = session_on(
            policy, teach=options.teach, seed=options.seed, analyst=options.analyst
        )
        return self._session

    def run(self, line: str, cell: str) -> None:
        """`%%dpdb [NAME]`: answer the statements of the cell, and keep the last answer as NAME.

        `{x}` in a statement is the value of the notebook's variable x.
        """
        from IPython.display import display  # noqa: PLC0415 (only notebooks have it)

        name = line.strip()
        if name and (not name.isidentifier() or keyword.iskeyword(name)):
            raise UsageError(f"{name} is not the name of a variable", hint="%%dpdb answer")
        if self._session is None:
            raise UsageError("there is no session yet", hint="%dpdb people.csv --epsilon 1")
        for piece in split(cell):
            known = self._shell.user_ns
            values = {each: known[each] for each in names_in(piece.text) if each in known}
            answer = self._session.execute(piece.text, values or None)
            display(answer)  # type: ignore[no-untyped-call]
            if name:
                self._shell.user_ns[name] = answer


class _LineParser(argparse.ArgumentParser):
    """A parser that raises UsageError, rather than ending the program."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(message, hint="%dpdb --help")


def _parser() -> argparse.ArgumentParser:
    result = _LineParser(
        prog="%dpdb",
        usage="%%dpdb [FILE.csv | POLICY.toml]... [options]",
        description="Connect the notebook; `%%dpdb` then answers SQL.",
        allow_abbrev=False,
    )
    add_session_arguments(result)
    return result


def _words(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError as error:
        raise UsageError(f"{str(error).lower()}: {line}") from None
