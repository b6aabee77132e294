"""`dpdb budget COMMAND POLICY`: the data owner's commands for a budget that lasts."""

from __future__ import annotations

import argparse
from collections import deque
from collections.abc import Callable
from pathlib import Path

from dpdb.answers.formats.json_lines import dumped
from dpdb.answers.formats.render import FORMATS
from dpdb.errors import InvalidOption, UsageError
from dpdb.interfaces.cli.arguments import add_ledger_argument
from dpdb.interfaces.cli.parsers import Parser, check_options
from dpdb.ledger import custodian
from dpdb.ledger.accounts import user
from dpdb.ledger.book.database import Anchor
from dpdb.ledger.custodian import book_of, verified
from dpdb.policy.budget import is_name, valid_epsilon
from dpdb.policy.catalog import Policy
from dpdb.policy.numbers import decimal, exact_number
from dpdb.session import budget_overview
from dpdb.session.connect import policy_of

EPILOG = """\
commands:
  open     make the ledger, once: for the policy and the data as they are now
  show     what is spent and left: in all, by analyst, by day, and the last statements
  grant    NAME EPSILON: let an analyst spend so much; then only analysts with a grant may ask
  revoke   NAME: let an analyst ask no more
  accept   --why TEXT: let the policy and the data hold as they are now
  export   every entry, as CSV or JSON
  verify   check every entry, and work out every balance anew
  copy     TO: move the ledger to another file, or to postgresql://…; here it ends
"""


def main(words: list[str]) -> int:
    """Run `dpdb budget` with the words after it; errors are raised as `DpdbError`."""
    options = parser().parse_args(words)
    run = COMMANDS[options.command]
    policy = policy_of(options.policy, ledger=options.ledger)
    _check_arguments(options)
    print(run(policy, options))
    return 0


def parser() -> argparse.ArgumentParser:
    """The parser of `dpdb budget`."""
    result = Parser(
        "dpdb budget",
        "COMMAND POLICY [NAME [EPSILON]] [options]",
        "For the data owner only: open, watch and change a budget that lasts.",
        EPILOG,
    )
    add = result.add_argument
    add("command", metavar="COMMAND", choices=list(COMMANDS), help="what to do: see below")
    add("policy", metavar="FILE.toml", type=Path, help="the policy that names the budget")
    add("analyst", metavar="NAME", nargs="?",
        help="of grant and revoke: the analyst; of copy: the new place")  # fmt: skip
    add("epsilon", metavar="EPSILON", nargs="?", help="of grant: the most the analyst may spend")
    add_ledger_argument(result)
    add("--why", metavar="TEXT", help="of accept: the reason, which is recorded")
    add("--fresh-data", action="store_true",
        help="of accept: of people who were never in the data; the budget begins anew")  # fmt: skip
    add("--format", choices=["csv", "json"], default="csv", help="of export: csv")
    add("--anchor", type=Path, metavar="FILE",
        help="of verify: a file, kept elsewhere, that tells an older ledger from this")  # fmt: skip
    return result


def _check_arguments(options: argparse.Namespace) -> None:
    """Refuse what does not go with the command."""
    given = [value is not None for value in (options.analyst, options.epsilon)]
    wanted = {"grant": [True, True], "revoke": [True, False], "copy": [True, False]}
    if given != wanted.get(options.command, [False, False]):
        raise UsageError(
            f"dpdb budget {options.command} is followed by other words than these",
            hint="grant POLICY NAME EPSILON, revoke POLICY NAME, copy POLICY TO, "
            "and for others POLICY alone",
        )
    of = {"why": ["accept"], "fresh_data": ["accept"], "anchor": ["verify"]}
    check_options(options, "dpdb budget", of)


def _open(policy: Policy, options: argparse.Namespace) -> str:
    budget_overview.open_budget(policy)
    assert policy.lasting is not None
    for_how_long = f"ε {decimal(policy.budget.epsilon)} {policy.lasting.duration}"
    return f"opened {policy.lasting.name}: {for_how_long}\n{_note(policy)}"


def _note(policy: Policy) -> str:
    """Whom the budget does not bind."""
    assert policy.lasting is not None
    ledger = policy.lasting.ledger
    name = ledger.name if isinstance(ledger, Path) else ledger.place
    return (
        f"note: people who can write {name} or read the data can get round "
        "this budget (dpdb help worth)"
    )


def _show(policy: Policy, options: argparse.Namespace) -> str:
    return "\n\n".join(
        FORMATS["table"](record) for record in budget_overview.overview(policy).values()
    )


def _grant(policy: Policy, options: argparse.Namespace) -> str:
    number = exact_number(options.epsilon)
    if number is None or not is_name(options.analyst):
        raise UsageError("dpdb budget grant POLICY NAME EPSILON, and ε is a number")
    try:
        custodian.grant(book_of(policy), user(), options.analyst, valid_epsilon(number))
    except InvalidOption as error:
        raise UsageError(error.message) from None
    return f"{options.analyst} may spend ε {decimal(number)} in all"


def _revoke(policy: Policy, options: argparse.Namespace) -> str:
    custodian.revoke(book_of(policy), user(), options.analyst)
    return f"{options.analyst} may ask no more"


def _accept(policy: Policy, options: argparse.Namespace) -> str:
    if not (options.why or "").strip():
        raise UsageError("what is accepted needs a reason", hint='--why "…"')
    budget_overview.accept(policy, options.why, fresh=options.fresh_data)
    return "accepted; " + (
        "the budget begins anew" if options.fresh_data else "what was spent stays spent"
    )


def _export(policy: Policy, options: argparse.Namespace) -> str:
    record = budget_overview.history_record(policy)
    if options.format == "csv":
        return FORMATS["csv"](record)
    rows = (dict(zip(record.columns, row, strict=True)) for row in record.rows)
    return "\n".join(map(dumped, rows))


def _verify(policy: Policy, options: argparse.Namespace) -> str:
    book = book_of(policy)
    last, *_ = deque(verified(book), maxlen=1)
    number, spent = last.entry.number, decimal(last.entry.totals.loss.epsilon, 6)
    lines = [f"{number + 1} entries agree, ε {spent} spent", f"head: {number} {last.seal.hex()}"]
    if options.anchor is not None:
        anchor = Anchor(options.anchor)
        if options.anchor.exists():
            lines.append(f"{options.anchor}: leads on from entry {book.check_anchor(anchor)}")
            anchor.add(number, last.seal)
        else:
            lines.append(f"{options.anchor}: there was none, and it begins here")
            anchor.begin(number, last.seal)
    return "\n".join(lines)


def _copy(policy: Policy, options: argparse.Namespace) -> str:
    assert policy.lasting is not None
    ledger = policy.lasting.ledger
    last, kept, accounts = budget_overview.move(policy, options.analyst)
    return (
        f"{last.entry.number + 1} entries, {kept} releases and {accounts} accounts agree\n"
        "now write the new place as ledger = … into the policy of each machine: "
        f"{ledger if isinstance(ledger, Path) else ledger.place} spends nothing any more\n"
        f"head: {last.entry.number} {last.seal.hex()}"
    )


COMMANDS: dict[str, Callable[[Policy, argparse.Namespace], str]] = {
    "open": _open,
    "show": _show,
    "grant": _grant,
    "revoke": _revoke,
    "accept": _accept,
    "export": _export,
    "verify": _verify,
    "copy": _copy,
}
