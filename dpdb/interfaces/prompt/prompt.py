"""The prompt: prompt_toolkit's session, and the loop that reads and runs entries."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from contextlib import suppress

from prompt_toolkit import PromptSession
from prompt_toolkit.application import get_app
from prompt_toolkit.auto_suggest import AutoSuggestFromHistory
from prompt_toolkit.completion import Completer
from prompt_toolkit.enums import DEFAULT_BUFFER, EditingMode
from prompt_toolkit.filters import has_focus
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.layout.processors import HighlightMatchingBracketProcessor
from prompt_toolkit.lexers import PygmentsLexer
from prompt_toolkit.output import ColorDepth, Output, create_output
from prompt_toolkit.utils import is_dumb_terminal

from dpdb.errors import LedgerError, printable
from dpdb.interfaces.console.commands import commands_of, run_typed
from dpdb.interfaces.console.console import Console
from dpdb.interfaces.console.entries import finished, interjection, open_statement
from dpdb.interfaces.console.settings import ShellSettings
from dpdb.interfaces.console.terminal import Ask, cut, tell, width
from dpdb.interfaces.prompt.completion import ShellCompleter
from dpdb.interfaces.prompt.shell import Shell
from dpdb.interfaces.prompt.status import REFUSED, TRIAL_STYLE, greeting, toolbar
from dpdb.interfaces.prompt.words import STYLE, DpdbLexer
from dpdb.policy.output_files import xdg_home

PROMPT = "dpdb> "
MENU = 4
"""The lines kept free for completions; more would push help out of a small window."""
TEACHING_PROMPT = "dpdb (teaching)> "
TRIAL_PROMPT = "trial> "

Read = Callable[[str], str]
"""Reads one entry that begins with the given text; raises EOFError at the end of input."""


def converse(shell: Shell, *, teach: bool) -> None:
    """Greet, run entries until the end of input, and print the summary of the session."""
    tell(greeting(shell.policy, width(), teach=teach))
    read = _plain_reader(shell, teach) if is_dumb_terminal() else _reader(shell, teach)
    pending: str | None = ""
    try:
        while pending is not None:
            pending = _one_turn(shell, read, pending)
        tell(shell.summary())
    except OSError as error:
        if error.errno != errno.EIO:
            raise
        raise BrokenPipeError(errno.EPIPE, "the terminal is gone") from error
    finally:
        shell.preload.leave()


def _one_turn(shell: Shell, read: Read, pending: str) -> str | None:
    """Read one entry, which begins with `pending`, and run it.

    Returns the text that the next entry begins with; None at the end of input.
    """
    try:
        return run_typed(shell, read(pending))
    except KeyboardInterrupt:
        return ""
    except EOFError:
        return None


def asker(settings: ShellSettings) -> Ask:
    """A function that asks questions; Ctrl-D there is the same as Ctrl-C."""

    def ask(question: str, completer: Completer | None) -> str:
        try:
            if is_dumb_terminal():
                return input(question)
            session: PromptSession[str] = PromptSession(
                question, completer=completer, output=_terminal(), color_depth=_depth(settings)
            )
            return session.prompt()
        except EOFError:
            raise KeyboardInterrupt from None

    return ask


def _message(shell: Shell, teach: bool) -> StyleAndTextTuples:
    """The prompt, which says whether the next answer is of data."""
    if shell.on_trial:
        return [(TRIAL_STYLE, TRIAL_PROMPT)]
    return [("", TEACHING_PROMPT if teach else PROMPT)]


def _plain_reader(shell: Shell, teach: bool) -> Read:
    """A reader for terminals that can only print."""

    def read(pending: str) -> str:
        message = _message(shell, teach)[0][1]
        text = pending + input(_continuation(len(message)) if pending else message)
        while not _is_run(text):
            text += "\n" + input(_continuation(len(message)))
        return text

    return read


def _reader(shell: Shell, teach: bool) -> Read:
    session = _prompt_session(shell, teach)

    def read(pending: str) -> str:
        session.editing_mode = EditingMode(shell.settings["editing"].upper())
        session.color_depth = _depth(shell.settings)
        return session.prompt(default=pending)

    return read


def _is_run(text: str) -> bool:
    """Whether Enter runs the text: it is complete, or its last line is a command."""
    return finished(text) or interjection(text) is not None


def _depth(settings: ShellSettings) -> ColorDepth | None:
    return None if settings.is_on("color") else ColorDepth.DEPTH_1_BIT


def _prompt_session(shell: Shell, teach: bool) -> PromptSession[str]:
    session: PromptSession[str] = PromptSession(
        lambda: _message(shell, teach),
        multiline=True,
        prompt_continuation=_continuation,
        key_bindings=_keys(),
        completer=completer_of(shell, teach=teach),
        lexer=PygmentsLexer(DpdbLexer),
        style=STYLE,
        include_default_pygments_style=False,
        history=InMemoryHistory() if shell.restricted else open_history(),
        auto_suggest=AutoSuggestFromHistory(),
        input_processors=[HighlightMatchingBracketProcessor(chars="()")],
        bottom_toolbar=lambda: _toolbar(shell),
        enable_open_in_editor=not shell.restricted,
        tempfile_suffix=".sql",
        output=_terminal(),
    )
    session.app.before_render += lambda _: _make_room(session)
    session.app.after_render += lambda _: shell.preload.begin()
    return session


def _make_room(session: PromptSession[str]) -> None:
    """Keep lines free below what is typed, as completions would hide it if they were above.

    Where the window is too low for both, the toolbar stays, and what is typed scrolls.
    """
    typed = session.default_buffer.document.line_count
    rows = session.output.get_size().rows
    session.reserve_space_for_menu = max(min(typed + MENU, rows - 1), 1 + MENU)


def completer_of(console: Console, *, teach: bool) -> ShellCompleter:
    """The completer of statements and of the console's commands."""
    commands = {name: command.help for name, command in commands_of(console).items()}
    return ShellCompleter(console.policy, commands, teach=teach)


def _continuation(columns: int, _line: int = 1, wrapped: int = 0) -> str:
    """The text before a new line of an entry; a line that is wrapped gets spaces."""
    return ("" if wrapped else "...> ").rjust(columns)


def _terminal() -> Output:
    """The terminal, even where standard output goes somewhere else."""
    return create_output(always_prefer_tty=True)


def _keys() -> KeyBindings:
    keys = KeyBindings()

    @keys.add("enter", filter=has_focus(DEFAULT_BUFFER))
    def enter(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if buffer.complete_state and buffer.complete_state.current_completion:
            buffer.complete_state = None
        elif _is_run(buffer.text):
            buffer.validate_and_handle()
        else:
            buffer.newline(copy_margin=False)

    return keys


def _toolbar(shell: Shell) -> StyleAndTextTuples:
    text = open_statement(get_app().current_buffer.text)
    try:
        quote = shell.quote(text, get_app().invalidate)
        return toolbar(shell.last_balance, quote, width())
    except LedgerError as error:
        return [(REFUSED, cut(f" {printable(error.message)}", width()))]


def open_history() -> History:
    """The history in the XDG state directory; where no file can be made, one in memory."""
    path = xdg_home("STATE", ".local/state") / "history"
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # The file gets its permissions before it gets any text, so others can never read it.
        file = os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
        os.fchmod(file, 0o600)
        os.close(file)
    except OSError:
        return InMemoryHistory()
    return _LenientHistory(path)


class _LenientHistory(FileHistory):
    """A history that goes on without an error where its file cannot be written."""

    def store_string(self, string: str) -> None:
        with suppress(OSError):
            super().store_string(string)
