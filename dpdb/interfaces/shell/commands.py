"""Dot commands, which change how things look, never data or budget."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dpdb.answers.formats.escape import printable
from dpdb.errors import DpdbError, UnknownName, Unsupported, UsageError, did_you_mean, error_text
from dpdb.interfaces.scripts import statements
from dpdb.interfaces.shell.chart import chart
from dpdb.interfaces.shell.entries import Command, entries
from dpdb.interfaces.shell.help import help_on
from dpdb.interfaces.shell.questions import ask_query
from dpdb.interfaces.shell.settings import SETTINGS
from dpdb.interfaces.shell.terminal import tell, width

if TYPE_CHECKING:
    from dpdb.interfaces.shell.shell import Shell

RECENT = 20
"""How many entries `.history` shows."""

Run = Callable[["Shell", str], bool]


@dataclass(frozen=True)
class DotCommand:
    """One dot command; `run` takes its argument, and returns whether it succeeded."""

    usage: str
    help: str
    run: Run


def run_typed(shell: Shell, text: str) -> None:
    """Run what was typed, up to the first entry that fails."""
    shell.typed.append(text)
    todo = list(entries(text))
    for number, entry in enumerate(todo, 1):
        done = run(shell, entry) if isinstance(entry, Command) else shell.execute(entry.text)
        if not done:
            shell.tell_skipped(len(todo) - number)
            return


def run(shell: Shell, entry: Command) -> bool:
    """Run a dot command, or print what is wrong with it; returns whether it succeeded."""
    try:
        command = COMMANDS.get(entry.name.lower())
        if command is None:
            raise UnknownName(
                f"no command {entry.name}",
                hint=did_you_mean(entry.name, COMMANDS) or ".help lists them",
            )
        return command.run(shell, entry.argument)
    except DpdbError as error:
        tell(error_text("", error))
        return False


def _help(shell: Shell, topic: str) -> bool:
    tell(help_on(topic, shell.settings, {c.usage: c.help for c in COMMANDS.values()}))
    return True


def _tables(shell: Shell, _: str) -> bool:
    return shell.execute("SHOW TABLES")


def _schema(shell: Shell, name: str) -> bool:
    names = [name] if name else [table.name for table in shell.policy.tables]
    return shell.execute_all(f"DESCRIBE {_quoted(name)}" for name in names)


def _quoted(name: str) -> str:
    return '"' + name.strip('"').replace('"', '""') + '"'


def _chart(shell: Shell, column: str) -> bool:
    if shell.answer is None:
        raise UsageError("there is no answer to draw", hint="SELECT x, COUNT(*) FROM t GROUP BY x;")
    shell.show(chart(shell.answer, column, width()))
    return True


def _ask(shell: Shell, _: str) -> bool:
    text = ask_query(shell)
    return text is None or shell.execute(text, confirmed=True)


def _output(shell: Shell, name: str) -> bool:
    try:
        shell.redirect(Path(name).expanduser().open("w", encoding="utf-8") if name else None)
    except OSError as error:
        raise UsageError(f"cannot write {name}: {error.strerror}") from None
    return True


def _read(shell: Shell, name: str) -> bool:
    texts = list(statements(name))
    for text in texts:
        if isinstance(text, Unsupported):
            raise text
    return shell.execute_all(text for text in texts if isinstance(text, str))


def _history(shell: Shell, _: str) -> bool:
    for text in shell.typed[-RECENT:]:
        tell("\n".join(map(printable, text.split("\n"))))
    return True


def _quit(shell: Shell, _: str) -> bool:
    raise EOFError


def _changing(name: str) -> Run:
    """The command that shows or changes a setting."""

    def change(shell: Shell, value: str) -> bool:
        if value:
            shell.settings.change(name, value.lower(), f".{name}")
        tell(f"{name}: {shell.settings[name]}")
        return True

    return change


COMMANDS = {
    ".help": DotCommand(".help [TOPIC]", "this list, or a page on a topic", _help),
    ".tables": DotCommand(".tables", "the tables: SHOW TABLES", _tables),
    ".schema": DotCommand(".schema [TABLE]", "their columns: DESCRIBE table", _schema),
    ".ask": DotCommand(".ask", "build a query by questions", _ask),
    ".chart": DotCommand(".chart [COLUMN]", "the last answer by group as bars", _chart),
    ".output": DotCommand(".output [FILE]", "answers into a file, or back here", _output),
    ".read": DotCommand(".read FILE", "run the statements in a file", _read),
    ".history": DotCommand(".history", f"the last {RECENT} entries of this session", _history),
    **{
        f".{s.name}": DotCommand(f".{s.name} [VALUE]", s.help, _changing(s.name))
        for s in SETTINGS.values()
    },
    ".quit": DotCommand(".quit", "leave, as Ctrl-D does", _quit),
}
