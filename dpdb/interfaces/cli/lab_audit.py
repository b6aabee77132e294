"""`dpdb lab audit`: the ε of a mechanism that a student wrote, or of one with a mistake."""

from __future__ import annotations

import argparse
import inspect
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

from dpdb.answers.formats.json_lines import dumped
from dpdb.errors import StudentFileError, printable
from dpdb.interfaces.cli import lab_arguments as kinds
from dpdb.lab.audit.mistakes import EXERCISES, Exercise, exercise
from dpdb.lab.classroom.process import TIME_LIMIT, TO_ERRORS, StudentProcess
from dpdb.lab.classroom.requests import Measure

if TYPE_CHECKING:
    from dpdb.lab.audit.report import AuditReport

_WIDTH = 88


def main(words: list[str]) -> int:
    """Run `dpdb lab audit` with the words after it; errors are raised as `DpdbError`."""
    options = _parser().parse_args(words)
    if options.mechanism is None:
        return _list()
    from dpdb.lab.audit.report import as_object, as_text, audited  # noqa: PLC0415 (numpy)

    if options.mechanism.endswith(".py"):
        told = _of_file(Path(options.mechanism), options)
        before, after = printable(Path(options.mechanism).name), ""
    else:
        chosen = exercise(options.mechanism)
        told = audited(chosen.mechanism, options.seed)
        before = f"{chosen.title}\n\n{_code(chosen)}"
        after = f"\n{textwrap.fill(chosen.explanation, _WIDTH)}\n"
    if options.json:
        print(dumped(as_object(told)))
    else:
        print(f"{before}\n\n{as_text(told)}\n{after}", end="")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = kinds.parser(
        "dpdb lab audit",
        "[MECHANISM | FILE.py] [options]",
        "Run a mechanism many times with a person in its data and many times without, "
        "and say how large its ε is at least. Without MECHANISM: which there are. A FILE.py is "
        "run with your rights.",
    )
    add = parser.add_argument
    add("mechanism", nargs="?", metavar="MECHANISM", help="one of those listed, or a FILE.py with "
        "a function mechanism(values, epsilon, rng)")  # fmt: skip
    add("--seed", type=kinds.seed, default=1, metavar="S", help="the same seed, the same numbers")
    add("--limit", type=kinds.limit, default=TIME_LIMIT, metavar="S",
        help=f"seconds that a FILE.py has (default: {TIME_LIMIT})")  # fmt: skip
    add("--json", action="store_true", help="print the bounds as a JSON object")
    return parser


def _list() -> int:
    width = max(len(each.name) for each in EXERCISES)
    for each in EXERCISES:
        print(f"  {each.name:<{width}}  {each.title}")
    print("\ndpdb lab audit NAME audits one, dpdb lab audit FILE.py one of your own.")
    return 0


def _code(chosen: Exercise) -> str:
    """The mechanism as it is written, without the sentence that is its title."""
    head, _, rest = inspect.getsource(chosen.function).partition('"""')
    body = rest.partition('"""\n')[2]
    return textwrap.indent(f"{head.rstrip()}\n{body}".rstrip(), "  ")


def _of_file(path: Path, options: argparse.Namespace) -> AuditReport:
    from dpdb.lab.audit.bound import RUNS  # noqa: PLC0415 (numpy)
    from dpdb.lab.audit.report import NoNumbers, report  # noqa: PLC0415
    from dpdb.lab.classroom.attack_file import checked  # noqa: PLC0415

    with StudentProcess(path, options.limit, TO_ERRORS) as process:
        measured = process.ask(Measure(RUNS, options.seed))
    try:
        return checked(
            process, lambda: report(measured["epsilon"], measured["values"], measured["outputs"])
        )
    except NoNumbers:
        raise StudentFileError(
            f"{path.name}: mechanism has to return a number, or a tuple of as many every time"
        ) from None
