"""Dot commands, which change how things look, never data or budget."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from dpdb.answers.formats.render import as_list
from dpdb.errors import UnknownName, UsageError, did_you_mean, printable, reportable
from dpdb.interfaces.console.chart import chart
from dpdb.interfaces.console.console import Console, Entry, OutputLost
from dpdb.interfaces.console.entries import Command, Sql, entries, interjection, open_statement
from dpdb.interfaces.console.habits import ANSWERS, SETTLED, TOGGLE
from dpdb.interfaces.console.help import help_on
from dpdb.interfaces.console.scripts import statements
from dpdb.interfaces.console.settings import SETTINGS
from dpdb.interfaces.console.terminal import tell, width
from dpdb.policy.names import quoted
from dpdb.records import dataclass

RECENT = 20
"""The number of entries that `.history` shows."""
Run = Callable[[Console, str], bool]


@dataclass(frozen=True)
class DotCommand:
    """A dot command; `run` takes its argument, and returns whether it succeeded."""

    usage: str
    help: str
    run: Run
    interactive: bool = False
    """Whether it is for the prompt alone."""
    files: bool = False
    """Whether it reads or writes a file that is named after it."""
    programs: bool = False
    """Whether it starts another program."""

    @property
    def leads_out(self) -> bool:
        """Whether it leads to other files or programs, and so is not there with --restricted."""
        return self.files or self.programs


def run_typed(console: Console, text: str) -> str:
    """Run what was typed, up to the first entry that fails; returns the text to go on with."""
    console.typed.append(text)
    interrupted = interjection(text)
    if interrupted is None:
        console.pending = ""
        run_all(console, entries(text))
        return console.pending
    before, command = interrupted
    console.pending = before + "\n"
    run(console, command)
    return console.pending


def run_all(console: Console, todo: Iterable[Entry]) -> bool:
    """Run entries up to the first that fails; returns whether all succeeded."""
    waiting = iter(todo)
    for entry in waiting:
        if not run(console, entry):
            if left := len(list(waiting)):
                tell(f"not run: the {left} after it")
            return False
    return True


def run(console: Console, entry: Entry) -> bool:
    """Run an entry, or show what is wrong with it; returns whether it succeeded."""
    match entry:
        case Sql():
            return console.execute(entry)
        case Command():
            try:
                if settled := SETTLED.get(f"{entry.name} {entry.argument}".strip().lower()):
                    tell(settled)
                    return True
                return _command(entry, console).run(console, entry.argument)
            except (EOFError, OutputLost):  # .quit, or as good as that
                raise
            except Exception as error:
                console.fail(reportable(error))
        case _:
            console.fail(entry)
    return False


def commands_of(console: Console) -> dict[str, DotCommand]:
    """The commands that there are: with --restricted, none that is for files."""
    return {n: each for n, each in COMMANDS.items() if not (each.leads_out and console.restricted)}


def _command(entry: Command, console: Console) -> DotCommand:
    """The command that an entry names."""
    name = entry.name.lower()
    command = COMMANDS.get(name)
    if command is None:
        hint = ANSWERS.get(entry.name) or did_you_mean(name, COMMANDS) or ".help lists them"
        raise UnknownName(f"no command {entry.name}", hint=hint)
    if command.interactive and not console.interactive:
        raise UsageError(f"{name} is for the prompt")
    if command.leads_out and console.restricted:
        raise UsageError(f"{name} is not there with --restricted")
    return command


def _help(console: Console, topic: str) -> bool:
    here = commands_of(console).values()
    tell(help_on(topic, console.settings, {command.usage: command.help for command in here}))
    return True


def _schema(console: Console, name: str) -> bool:
    names = [name.strip('"')] if name else [table.name for table in console.policy.tables]
    return run_all(console, (Sql(f"DESCRIBE {quoted(name)}") for name in names))


def _chart(console: Console, column: str) -> bool:
    if console.answer is None:
        raise UsageError("there is no answer to draw", hint="SELECT x, COUNT(*) FROM t GROUP BY x;")
    console.show(chart(console.answer, column, width()))
    return True


def _edit(console: Console, _: str) -> bool:
    """Open in an editor the unfinished statement, or else the last; its text is typed anew."""
    earlier = (open_statement(text) for text in reversed(console.typed[:-1]))
    text = console.pending or next((f"{each};" for each in earlier if each), "")
    console.pending = console.edited(text).rstrip()
    return True


def _output(console: Console, name: str) -> bool:
    console.redirect(name)
    return True


def _once(console: Console, name: str) -> bool:
    if not name:
        raise UsageError(".once needs the name of a file")
    console.redirect(name, once=True)
    return True


def _run_file(console: Console, name: str, *, planned: bool) -> bool:
    """Run the statements in a file; where `planned` they are planned together first."""
    file = Path(name)
    if file in console.reading:
        raise UsageError(f"{name} reads itself")
    around = console.reading
    console.reading = (*around, file)
    try:
        return run_all(console, console.planned(statements(name, KNOWN), now=planned))
    finally:
        console.reading = around


def _answers(console: Console, _: str) -> bool:
    console.show(as_list(console.session.answers()))
    return True


def _history(console: Console, _: str) -> bool:
    for text in console.typed[-RECENT:]:
        tell("\n".join(map(printable, text.split("\n"))))
    return True


def _quit(console: Console, _: str) -> bool:
    raise EOFError


def _changing(name: str) -> Run:
    """The command that shows or changes a setting."""

    def change(console: Console, value: str) -> bool:
        first, second = SETTINGS[name].toggled
        if value == TOGGLE and first in SETTINGS[name].values:
            value = second if console.settings[name] == first else first
        if value:
            console.settings.change(name, value.lower(), f".{name}")
        if console.interactive or not value:
            tell(f"{name}: {console.settings[name]}")
        return True

    return change


COMMANDS = {
    ".help": DotCommand(".help [TOPIC]", "this list; help on a topic or a command", _help),
    ".tables": DotCommand(
        ".tables", "the tables: SHOW TABLES", lambda console, _: console.execute(Sql("SHOW TABLES"))
    ),
    ".schema": DotCommand(".schema [TABLE]", "their columns: DESCRIBE table", _schema),
    ".ask": DotCommand(
        ".ask", "build a query by questions", lambda console, _: console.asked(), interactive=True
    ),
    ".chart": DotCommand(".chart [COLUMN]", "the last answer by group as bars", _chart),
    ".output": DotCommand(
        ".output [FILE]", "answers into a file, or back here", _output, files=True
    ),
    ".once": DotCommand(".once FILE", "the next answer into a file", _once, files=True),
    ".read": DotCommand(
        ".read FILE",
        "run the statements in a file",
        lambda console, name: _run_file(console, name, planned=False),
        files=True,
    ),
    ".plan": DotCommand(
        ".plan FILE",
        "plan these together, then run them",
        lambda console, name: _run_file(console, name, planned=True),
        files=True,
    ),
    ".edit": DotCommand(
        ".edit", "edit the last statement in $EDITOR", _edit, interactive=True, programs=True
    ),
    ".answers": DotCommand(
        ".answers", "what you were told so far, with ± and cost; free", _answers
    ),
    ".history": DotCommand(
        ".history", f"the last {RECENT} entries of this session", _history, interactive=True
    ),
    **{
        f".{s.name}": DotCommand(
            f".{s.name} [VALUE]", s.help, _changing(s.name), programs=s.name == "pager"
        )
        for s in SETTINGS.values()
    },
    ".quit": DotCommand(".quit", "leave, as Ctrl-D does", _quit),
}
KNOWN = frozenset(name.lower() for name in (*COMMANDS, *ANSWERS))
"""The names that begin a command in a file of statements, even one that is not there."""
