"""`dpdb completion SHELL`: a script with which bash, zsh or fish completes dpdb's arguments.

The scripts are made from the parsers of the command line. They run nothing of dpdb and read no
file: they know the words that stand in them.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator, Sequence

from dpdb import manual
from dpdb.interfaces.cli.arguments import parser as main_parser
from dpdb.interfaces.cli.parsers import SUBCOMMANDS, Option, Parser, options_of
from dpdb.lab.catalogue import catalogue
from dpdb.records import dataclass

EPILOG = """\
  bash   eval "$(dpdb completion bash)"       in ~/.bashrc
  zsh    eval "$(dpdb completion zsh)"        in ~/.zshrc, after compinit
  fish   dpdb completion fish | source        in ~/.config/fish/config.fish
"""


def main(words: list[str]) -> int:
    """Print the script for a shell."""
    shell = parser().parse_args(words).shell
    print("\n".join(SCRIPTS[shell](_commands())))
    return 0


def parser() -> argparse.ArgumentParser:
    """The parser of `dpdb completion`."""
    result = Parser(
        "dpdb completion",
        None,
        "Print a script with which a shell completes dpdb's arguments.",
        EPILOG,
    )
    result.add_argument("shell", choices=list(SCRIPTS), help="the shell")
    return result


@dataclass(frozen=True)
class _Command:
    """A subcommand, or dpdb itself, whose name is empty."""

    name: str
    summary: str
    options: tuple[Option, ...]
    words: tuple[str, ...]
    """The values of its positional arguments, besides files."""

    @property
    def takes_files(self) -> bool:
        return any(option.is_file for option in self.options if not option.names)


def _commands() -> list[_Command]:
    known = {"TOPIC": manual.topics(), "ATTACK": (*catalogue(), "room", "audit")}
    made = []
    for name in ("", *SUBCOMMANDS):
        command = SUBCOMMANDS.get(name)
        options = tuple(options_of(main_parser() if command is None else command.parser))
        words = [w for o in options if not o.names for w in (*o.choices, *known.get(o.value, ()))]
        words += [] if name else [*SUBCOMMANDS]
        made.append(_Command(name, command.summary if command else "", options, tuple(words)))
    return made


def _bash(commands: Sequence[_Command]) -> Iterator[str]:
    yield from (
        "_dpdb() {",
        "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command= words=",
        "  if (( COMP_CWORD > 1 )); then",
        "    case ${COMP_WORDS[1]} in",
        f"      {'|'.join(SUBCOMMANDS)}) command=${{COMP_WORDS[1]}};;",
        "    esac",
        "  fi",
        "  COMPREPLY=()",
        '  case "$command $prev" in',
    )
    for command in commands:
        for option in command.options:
            if option.names and option.value:
                wanted = "|".join(f"'{command.name} {name}'" for name in option.names)
                yield f"    {wanted}) {_bash_values(option)}; return;;"
    yield from ("  esac", '  case "$command $cur" in')
    for command in commands:
        options = " ".join(name for option in command.options for name in option.names)
        yield f"    '{command.name} '-*) words={shlex.quote(options)};;"
        # The names of subcommands stand in the first place alone.
        place = "" if command.name else "(( COMP_CWORD == 1 )) && "
        files = _BASH_FILES if command.takes_files else ":"
        words = shlex.quote(" ".join(command.words))
        yield f"    '{command.name} '*) {place}words={words}; {files};;"
    yield from (
        "  esac",
        '  COMPREPLY=($(compgen -W "$words" -- "$cur"))',
        "}",
        "complete -F _dpdb dpdb",
    )


_BASH_FILES = "compopt -o default 2>/dev/null"
"""Bash completes the names of files if no word fits."""


def _bash_values(option: Option) -> str:
    if option.choices:
        return f'COMPREPLY=($(compgen -W {shlex.quote(" ".join(option.choices))} -- "$cur"))'
    return _BASH_FILES if option.is_file else ":"


def _zsh(commands: Sequence[_Command]) -> Iterator[str]:
    yield from ("#compdef dpdb", "_dpdb() {", "  local -a commands", "  commands=(")
    yield from (f"    {shlex.quote(f'{c.name}:{c.summary}')}" for c in commands if c.name)
    yield from ("  )", "  case $words[2] in")
    for command in commands[1:]:
        yield f"    {command.name}) shift words; (( CURRENT-- )); _arguments -s \\"
        yield from _zsh_specs(command)
        yield "      ;;"
    yield "    *) (( CURRENT == 2 )) && _describe command commands; _arguments -s \\"
    yield from _zsh_specs(commands[0])
    yield from ("      ;;", "  esac", "}", "compdef _dpdb dpdb")


def _zsh_specs(command: _Command) -> Iterator[str]:
    for option in (each for each in command.options if each.names):
        about = option.help.replace("[", "(").replace("]", ")").replace(":", "\\:")
        value = option.value.lower().replace(":", " ")
        spec = f"[{about}]" + (f":{value}:{_zsh_values(option)}" if value else "")
        yield from (f"      {shlex.quote(f'*{name}{spec}')} \\" for name in option.names)
    words = f"({' '.join(command.words)})" if command.name and command.words else ""
    rest = words or ("_files" if command.takes_files else " ")
    yield f"      {shlex.quote(f'*:argument:{rest}')}"


def _zsh_values(option: Option) -> str:
    return (
        f"({' '.join(option.choices)})" if option.choices else "_files" if option.is_file else " "
    )


def _fish(commands: Sequence[_Command]) -> Iterator[str]:
    names = " ".join(SUBCOMMANDS)
    none = f"not __fish_seen_subcommand_from {names}"
    for command in commands:
        here = f"__fish_seen_subcommand_from {command.name}" if command.name else none
        start = f"complete -c dpdb -n {shlex.quote(here)}"
        if command.name:
            yield (
                f"complete -c dpdb -n __fish_is_first_arg -a {command.name} "
                f"-d {shlex.quote(command.summary)}"
            )
            files = "" if command.takes_files else " -f"
            if command.words or files:
                yield f"{start}{files} -a {shlex.quote(' '.join(command.words))}"
        for option in (o for o in command.options if o.names):
            flags = " ".join(
                f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}"
                for name in option.names
            )
            values = f" -xa {shlex.quote(' '.join(option.choices))}" if option.choices else (
                " -rF" if option.is_file else " -x")  # fmt: skip
            yield f"{start} {flags}{values if option.value else ''} -d {shlex.quote(option.help)}"


SCRIPTS = {"bash": _bash, "zsh": _zsh, "fish": _fish}
