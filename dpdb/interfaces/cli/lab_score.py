"""`dpdb lab --score`: a class's files, and where their scores go."""

from __future__ import annotations

import argparse
import secrets
import sys
from pathlib import Path

from dpdb.errors import UsageError, printable
from dpdb.interfaces.cli import lab_arguments as kinds
from dpdb.interfaces.cli.parsers import add_force
from dpdb.lab.catalogue import find
from dpdb.lab.classroom.process import TIME_LIMIT
from dpdb.policy.output_files import save

TRIALS = 200
"""How often each attack is tried, where neither an option nor the task says it."""
INDEX = "index"
"""The page with the table; no student's page can have its name."""


def main(words: list[str]) -> int:
    """Run `dpdb lab` with words among which `--score` is; errors are raised as `DpdbError`."""
    options = _parser().parse_args(words)
    paths = _files(options.score)
    from dpdb.lab.classroom.score import Rules, class_scores  # noqa: PLC0415 (numpy)
    from dpdb.lab.classroom.score_table import as_csv, as_table, pages  # noqa: PLC0415

    task = find(options.task) if options.task else None
    rules = Rules(
        task=task,
        epsilons=options.epsilon or [1.0],
        trials=options.trials or (task.trials if task else TRIALS),
        seconds=options.limit,
        seed=secrets.randbits(62) if options.seed is None else options.seed,
    )

    def show(done: int) -> None:
        kinds.show_progress(f"{done} of {len(paths)} files")

    try:
        show(0)
        scores = class_scores(paths, rules, show)
    finally:
        kinds.show_progress("")
    if options.html:
        kinds.make_folder(options.html)
        for name, page in pages(scores):
            save(options.html / name, page.encode(), force=options.force)
        index = printable(str(options.html / f"{INDEX}.html"))
        print(f"wrote {index} and the pages it links", file=sys.stderr)
    print(as_csv(scores) if options.csv else as_table(scores), end="")
    if not options.csv:
        game = f"the secret of {task.name}" if task else "secrets of their own"
        print(f"\n{rules.trials} trials on {game}, seed {rules.seed}, 95 % intervals")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = kinds.parser(
        "dpdb lab",
        "--score DIR [options]",
        "Play the attacks in a class's files, each in processes of its own, two at a "
        "time. The files are run with your rights: read what you do not trust.",
    )
    add = parser.add_argument
    add("--score", type=Path, required=True, metavar="DIR", help="a file NAME.py for each student")
    add("--task", metavar="ATTACK", help="on the data and the secret of this attack")
    add("--epsilon", action="append", type=kinds.epsilon, metavar="E",
        help="against privacy at this ε; may be given again (default: 1)")  # fmt: skip
    add(
        "--trials",
        type=kinds.trials,
        metavar="N",
        help=f"how often (default: {TRIALS}, or the task's)",
    )
    add("--limit", type=kinds.limit, default=TIME_LIMIT, metavar="S",
        help=f"seconds that each file has (default: {TIME_LIMIT})")  # fmt: skip
    add("--seed", type=kinds.seed, metavar="S", help="the same secrets again (default: new ones)")
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
