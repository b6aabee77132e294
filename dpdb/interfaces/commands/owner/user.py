"""`dpdb user COMMAND`: the accounts of people and programs that ask a server (`dpdb serve`)."""

from __future__ import annotations

import argparse
import getpass
import sys
from collections.abc import Callable
from pathlib import Path

from dpdb.answers.formats.render import FORMATS
from dpdb.errors import UsageError
from dpdb.interfaces.cli.arguments import add_ledger_argument, epsilon
from dpdb.interfaces.cli.parsers import Parser, check_options
from dpdb.interfaces.console.terminal import tell
from dpdb.ledger import custodian, people
from dpdb.ledger.accounts import user
from dpdb.ledger.custodian import book_of
from dpdb.policy.catalog import Policy
from dpdb.policy.numbers import decimal
from dpdb.session import budget_overview
from dpdb.session.connect import policy_of

EPILOG = """\
commands:
  add      NAME: make an account; its password is asked for twice, or read from a file.
           With --token and no file the account is for programs: it has no password
  list     which accounts there are, and what each may spend
  password NAME: set a new password; the sessions of the former end
  remove   NAME: end the account, its sessions and token, and its part of the budget
  token    NAME: print a new token, once; any other of the name ends
"""


def main(words: list[str]) -> int:
    """Run `dpdb user` with the words after it; errors are raised as `DpdbError`."""
    options = parser().parse_intermixed_args(words)
    _check_arguments(options)
    COMMANDS[options.command](policy_of(options.policy, ledger=options.ledger), options)
    return 0


def parser() -> argparse.ArgumentParser:
    """The parser of `dpdb user`."""
    result = Parser(
        "dpdb user",
        "COMMAND [NAME] POLICY [options]",
        "For the data owner only: the accounts of those who ask a server.",
        EPILOG,
    )
    add = result.add_argument
    add("command", metavar="COMMAND", choices=list(COMMANDS), help="what to do: see below")
    add("name", metavar="NAME", nargs="?", help="of all but list: the account's name")
    add("policy", metavar="FILE.toml", type=Path, help="the policy that names the budget")
    add("--epsilon", type=epsilon, help="of add: the most that the analyst may spend")
    add("--password-file", type=Path, metavar="FILE",
        help="of add and password: a file whose first line is the password")  # fmt: skip
    add("--token", action="store_true", help="of add: make a token, too, and print it")
    add_ledger_argument(result)
    add("--format", choices=list(FORMATS), help="of list: table")
    return result


def _check_arguments(options: argparse.Namespace) -> None:
    """Refuse what does not go with the command."""
    command = options.command
    if (options.name is None) != (command == "list"):
        raise UsageError(
            f"dpdb user {command} is followed by other words than these",
            hint="add, password, remove and token are followed by NAME POLICY, list by POLICY",
        )
    of = {"epsilon": ["add"], "password_file": ["add", "password"], "token": ["add"]}
    check_options(options, "dpdb user", of | {"format": ["list"]})


def _add(policy: Policy, options: argparse.Namespace) -> None:
    name, part = options.name, options.epsilon
    password = _password(options)
    token = budget_overview.add_user(policy, name, password, part, token=options.token)
    tell(f"added {name}" + ("" if part is None else f", who may spend ε {decimal(part)} in all"))
    if token is not None:
        _show_token(name, token)


def _password(options: argparse.Namespace) -> str | None:
    """The password: of the file, typed twice at a terminal, or none."""
    if options.password_file is not None:
        return _first_line(options.password_file)
    if options.token:
        return None
    if not sys.stdin.isatty():
        raise UsageError(
            "a password is typed at a terminal, or read from a file",
            hint="--password-file FILE reads it; add --token makes an account for programs",
        )
    try:
        given = getpass.getpass(f"password of {options.name}: ")
        if getpass.getpass("again: ") != given:
            raise UsageError("the two passwords differ", hint="nothing was changed: try again")
    except EOFError:
        raise UsageError("no password was typed") from None
    return given


def _first_line(path: Path) -> str:
    try:
        with path.open(encoding="utf-8") as file:
            return file.readline(people.LONGEST_PASSWORD * 4).rstrip("\r\n")
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path} is no text in UTF-8") from None


def _list(policy: Policy, options: argparse.Namespace) -> None:
    print(FORMATS[options.format or "table"](budget_overview.users_record(policy)))


def _new_password(policy: Policy, options: argparse.Namespace) -> None:
    password = _password(options)
    assert password is not None  # as there is no --token
    people.new_password(book_of(policy), options.name, password)
    tell(f"the password of {options.name} is another now; all sessions of the former end")


def _remove(policy: Policy, options: argparse.Namespace) -> None:
    custodian.remove_user(book_of(policy), user(), options.name)
    tell(f"removed {options.name}; what was spent stays spent")


def _token(policy: Policy, options: argparse.Namespace) -> None:
    _show_token(options.name, people.new_token(book_of(policy), options.name))


def _show_token(name: str, token: str) -> None:
    """Print a token, alone on its line of standard output."""
    tell(f"the token of {name} is shown this once, and is as good as a password:")
    print(token)


COMMANDS: dict[str, Callable[[Policy, argparse.Namespace], None]] = {
    "add": _add,
    "list": _list,
    "password": _new_password,
    "remove": _remove,
    "token": _token,
}
