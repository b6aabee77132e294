"""`dpdb lab audit` and `dpdb lab --score`: mechanisms and attacks that a class wrote."""

from __future__ import annotations

import argparse
import inspect
import secrets
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

from dpdb.answers.formats.json_lines import dumped
from dpdb.errors import StudentFileError, UsageError, printable
from dpdb.interfaces.cli.arguments import epsilon_as_float, limit, seed, trials
from dpdb.interfaces.cli.parsers import Parser, add_force, make_folder, show_progress
from dpdb.lab.catalogue import find
from dpdb.lab.classroom.box import TIME_LIMIT, TO_ERRORS, Box, StudentFile
from dpdb.lab.classroom.mechanisms import EXERCISES, Exercise, exercise
from dpdb.lab.classroom.messages import LONGEST
from dpdb.policy.output_files import save

if TYPE_CHECKING:
    from dpdb.lab.classroom.audit import AuditReport


_WIDTH = 88


def audit(words: list[str]) -> int:
    """Run `dpdb lab audit` with the words after it; errors are raised as `DpdbError`."""
    options = _audit_parser().parse_args(words)
    if options.mechanism is None:
        return _list()
    from dpdb.lab.classroom.audit import as_object, as_text, audited  # noqa: PLC0415 (numpy)

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


def _audit_parser() -> argparse.ArgumentParser:
    parser = Parser(
        "dpdb lab audit",
        "[MECHANISM | FILE.py] [options]",
        "Run a mechanism many times with a person in its data and many times without, "
        "and say how large its ε is at least. Without MECHANISM: which there are. "
        "A FILE.py is run in a sandbox, if this machine has one.",
    )
    add = parser.add_argument
    add("mechanism", nargs="?", metavar="MECHANISM", help="one of those listed, or a FILE.py with "
        "a function mechanism(values, epsilon, rng)")  # fmt: skip
    add("--seed", type=seed, default=1, metavar="S", help="the same seed, the same numbers")
    add("--limit", type=limit, default=TIME_LIMIT, metavar="S",
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
    from dpdb.lab.classroom.attack_file import checked  # noqa: PLC0415
    from dpdb.lab.classroom.audit import RUNS, NoNumbers, report  # noqa: PLC0415 (numpy)

    file = StudentFile.read(path)
    with Box(file, options.limit, TO_ERRORS) as box, box.process() as process:
        measured = process.ask(["measure", RUNS, options.seed], longest=LONGEST)
    try:
        return checked(
            file, lambda: report(measured["epsilon"], measured["values"], measured["outputs"])
        )
    except NoNumbers:
        raise StudentFileError(
            f"{path.name}: mechanism has to return a number, or a tuple of as many every time"
        ) from None


TRIALS = 200
"""The number of trials of each attack, if neither an option nor the task says it."""
INDEX = "index"
"""The page with the table; no student's page can have its name."""


def score(words: list[str]) -> int:
    """Run `dpdb lab` with words among which `--score` is; errors are raised as `DpdbError`."""
    options = _score_parser().parse_args(words)
    paths = _files(options.score)
    from dpdb.lab.classroom.scores import Rules, as_csv, as_table, class_scores, pages  # noqa: PLC0415 (numpy)

    task = find(options.task) if options.task else None
    rules = Rules(
        task=task,
        epsilons=options.epsilon or [1.0],
        trials=options.trials or (task.trials if task else TRIALS),
        seconds=options.limit,
        seed=secrets.randbits(62) if options.seed is None else options.seed,
    )

    def show(done: int) -> None:
        show_progress(f"{done} of {len(paths)} files")

    try:
        show(0)
        scores = class_scores(paths, rules, show)
    finally:
        show_progress("")
    if options.html:
        make_folder(options.html)
        for name, page in pages(scores):
            save(options.html / name, page.encode(), force=options.force)
        index = printable(str(options.html / f"{INDEX}.html"))
        print(f"wrote {index} and the pages it links", file=sys.stderr)
    print(as_csv(scores) if options.csv else as_table(scores), end="")
    if not options.csv:
        game = f"the secret of {task.name}" if task else "secrets of their own"
        print(f"\n{rules.trials} trials on {game}, seed {rules.seed}, 95 % intervals")
    return 0


def _score_parser() -> argparse.ArgumentParser:
    parser = Parser(
        "dpdb lab",
        "--score DIR [options]",
        "Play the attacks in a class's files, each in processes of its own, two at a "
        "time. The table names the sandbox; without one, the files have your rights.",
    )
    add = parser.add_argument
    add("--score", type=Path, required=True, metavar="DIR", help="a file NAME.py for each student")
    add("--task", metavar="ATTACK", help="on the data and the secret of this attack")
    add("--epsilon", action="append", type=epsilon_as_float, metavar="E",
        help="against privacy at this ε; may be given again (default: 1)")  # fmt: skip
    add("--trials", type=trials, metavar="N", help=f"how often (default: {TRIALS}, or the task's)")
    add("--limit", type=limit, default=TIME_LIMIT, metavar="S",
        help=f"seconds that each file has (default: {TIME_LIMIT})")  # fmt: skip
    add("--seed", type=seed, metavar="S", help="the same secrets again (default: new ones)")
    add("--csv", action="store_true", help="print the table as CSV")
    add("--html", type=Path, metavar="DIR", help="write a page for each student, and the table")
    add_force(parser)
    return parser


def _files(folder: Path) -> list[Path]:
    """The files of a folder, in the order of their names."""
    try:
        paths = sorted(path for path in folder.iterdir() if path.suffix == ".py")
    except OSError as error:
        raise UsageError(f"cannot read {folder}: {error.strerror}") from None
    if not paths:
        raise UsageError(f"there is no file .py in {folder}")
    if any(path.stem == INDEX for path in paths):
        raise UsageError(f"{INDEX}.py has to be called something else: a page has that name")
    return paths
