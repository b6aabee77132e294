"""`dpdb lab`: the attacks, their options, and the reports they make."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import dpdb
from dpdb.answers.formats.json_lines import dumped
from dpdb.errors import UsageError, printable
from dpdb.interfaces.cli.arguments import data_file, epsilon_as_float, limit, seed, trials
from dpdb.interfaces.cli.parsers import Parser, add_force, make_folder, show_progress, write
from dpdb.interfaces.commands.lab.class_files import audit, score
from dpdb.interfaces.commands.lab.room import main as room
from dpdb.interfaces.commands.lab.serve import main as serve
from dpdb.lab.attack import PROTECTED_AT, Attack, Scenes
from dpdb.lab.catalogue import catalogue, find
from dpdb.lab.classroom.box import TIME_LIMIT, TO_ERRORS, StudentFile
from dpdb.lab.database import Defence
from dpdb.lab.scenario import DataFile
from dpdb.policy.output_files import check_output, save

if TYPE_CHECKING:
    from dpdb.lab.pages.report import Report


ROOM = "room.html"
SAMPLES = (
    *("people.csv", "people.toml", "students.csv", "students.toml"),
    *("evans_set1.sql", "evans_set2.sql"),
)
"""The files that tasks name; the wheel has them, too."""


def main(words: list[str]) -> int:
    """Run `dpdb lab` with the words after it; errors are raised as `DpdbError`."""
    # The lab's matrices are small: numpy's threads would only wait for each other.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if words[:1] == ["room"]:
        return room(words[1:])
    if words[:1] == ["audit"]:
        return audit(words[1:])
    if words[:1] == ["serve"]:
        return serve(words[1:])
    if "--score" in words:
        return score(words)
    options = parser().parse_args(words)
    if options.student and not options.html:
        raise UsageError("--student goes with --html", hint="dpdb lab NAME --html FILE --student")
    if options.slides and not (options.html and not options.student):
        raise UsageError(
            "--slides goes with --html alone", hint="dpdb lab NAME --html FILE --slides"
        )
    if options.step and not (options.attack and sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("--step goes with an attack, at a terminal", hint="dpdb lab NAME --step")
    if options.samples:
        return _write_samples(options)
    if options.all:
        return _all(options)
    if options.attack is None:
        return _list(options)
    return _one(options)


def parser() -> argparse.ArgumentParser:
    """The parser of `dpdb lab`."""
    result = Parser(
        "dpdb lab",
        "[ATTACK | FILE.py | --all] [options]\n"
        "       dpdb lab room | audit | serve | --score DIR [options]",
        "Attacks on statistical databases, with their defence off and on. "
        "Without ATTACK: which there are. `dpdb lab room` plays one with secrets of your own.",
    )
    add = result.add_argument
    add("attack", nargs="?", metavar="ATTACK", help="the attack to demonstrate, or a FILE.py")
    add("--all", action="store_true", help="all of them, into the directory that --html names")
    add("--epsilon", action="append", type=epsilon_as_float, metavar="E",
        help="against privacy at this ε; may be given again (default: 0.1, 1, 5)")  # fmt: skip
    add("--trials", type=trials, metavar="N",
        help="count so many runs (default: rates as exact as they can be had)")  # fmt: skip
    add("--seed", type=seed, default=1, metavar="S", help="the same seed gives the same story")
    add("--limit", type=limit, default=TIME_LIMIT, metavar="S",
        help=f"seconds that a FILE.py has (default: {TIME_LIMIT})")  # fmt: skip
    add("--data", type=data_file, metavar="FILE.csv",
        help="on this file, where the attack suits any")  # fmt: skip
    add("--json", action="store_true", help="print the report as a JSON object")
    add("--html", type=Path, metavar="FILE", help="write a page to look at and to print")
    add("--step", action="store_true", help="stop before each query, and ask the class what comes")
    add("--student", action="store_true", help="with --html: guesses and explanations left blank")
    add("--slides", action="store_true", help="with --html: for a projector, one thought a slide")
    add("--png", type=Path, metavar="FILE", help="write the chart as a picture")
    add("--samples", action="store_true",
        help="write the files that tasks name into ./sample_data")  # fmt: skip
    add_force(result)
    return result


def _write_samples(options: argparse.Namespace) -> int:
    """Write the sample files, which are in the package, or beside it in a checkout."""
    package = Path(dpdb.__file__).parent
    folder = Path("sample_data")
    make_folder(folder)
    for name in SAMPLES:
        kept = (place / folder / name for place in (package, package.parent))
        save(folder / name, next(filter(Path.is_file, kept)).read_bytes(), force=options.force)
    print(f"wrote {', '.join(SAMPLES)} into {folder}", file=sys.stderr)
    return 0


def _list(options: argparse.Namespace) -> int:
    if options.html or options.png or options.data:
        raise UsageError("which attack?", hint="name one, or --all --html DIR")
    attacks = catalogue().values()
    if options.json:
        print(dumped([{"name": a.name, "title": a.title, "source": a.source} for a in attacks]))
        return 0
    width = max(len(attack.name) for attack in attacks)
    for attack in attacks:
        print(f"  {attack.name:<{width}}  {attack.title}")
    print("\ndpdb lab NAME runs one, dpdb lab --all --html DIR all of them.")
    print("dpdb lab room plays the reconstruction with thirty secret bits of your own.")
    print("dpdb lab audit measures the ε of a mechanism, and finds mistakes in it.")
    print("dpdb lab serve holds the lesson in the browsers of a class.")
    print("dpdb help lesson is a plan for ninety minutes with a class.")
    return 0


def _one(options: argparse.Namespace) -> int:
    from dpdb.lab.pages import terminal  # noqa: PLC0415 (numpy)
    from dpdb.lab.pages.report import as_object  # noqa: PLC0415

    for path in filter(None, (options.html, options.png)):
        check_output(path, force=options.force)
    with _opened(options) as attack:
        report = _try_attack(attack, options)
    if options.json:
        print(dumped(as_object(report)))
    if options.html:
        write(options.html, _pages(options)[0](report), force=options.force)
    if options.png:
        from dpdb.lab.pages.chart import save_png  # noqa: PLC0415 (matplotlib)
        from dpdb.lab.pages.report import rates  # noqa: PLC0415

        save_png(rates(report), options.png, force=options.force)
    if options.step:
        _step_through(report)
    elif not (options.json or options.html or options.png):
        print(terminal.page(report), end="")
    return 0


def _step_through(report: Report) -> None:
    """The story in steps; Enter goes on, and Ctrl-D ends it."""
    from dpdb.lab.pages.terminal import steps  # noqa: PLC0415 (numpy)

    for step in steps(report):
        if step.shown:
            print(f"{step.shown}\n")
        if step.question:
            try:
                input(f"  ? {step.question} ")
            except EOFError:
                print()
                return
            print()


@contextmanager
def _opened(options: argparse.Namespace) -> Iterator[Attack]:
    """The attack of that name, or the one in that file."""
    if not options.attack.endswith(".py"):
        yield find(options.attack)
        return
    from dpdb.lab.classroom.attack_file import opened  # noqa: PLC0415 (numpy)

    with opened(StudentFile.read(Path(options.attack)), options.limit, shown=TO_ERRORS) as attack:
        yield attack


def _all(options: argparse.Namespace) -> int:
    if not options.html or options.attack or options.json or options.png or options.data:
        raise UsageError("--all goes with --html DIR", hint="dpdb lab --all --html reports")
    make_folder(options.html)
    attacks, reports, (page, index) = catalogue(), [], _pages(options)
    for name, attack in attacks.items():
        reports.append(_try_attack(attack, options))
        text = page(reports[-1], list(attacks))
        write(options.html / f"{name}.html", text, force=options.force)
    forced = ["--force"] if options.force else []
    room(["--html", str(options.html / ROOM), "--seed", str(options.seed), *forced])
    write(options.html / "index.html", index(reports, ROOM), force=options.force)
    return 0


def _pages(options: argparse.Namespace) -> tuple[Callable[..., str], Callable[..., str]]:
    """The page of a report, and the index of all: of the teacher, or for a class to fill in."""
    from dpdb.lab.pages import html  # noqa: PLC0415 (jinja2, matplotlib, numpy)

    if options.student:
        return html.worksheet, html.worksheets
    return (html.slides if options.slides else html.page), html.index


def _try_attack(attack: Attack, options: argparse.Namespace) -> Report:
    """The report of an attack's trials; at a terminal, progress is shown while they run."""
    from dpdb.lab.pages.report import report_of  # noqa: PLC0415
    from dpdb.lab.trial import curve, run_trials  # noqa: PLC0415 (numpy)

    scenes: Scenes = attack.scenario
    if options.data:
        attack, scenes = attack.on(DataFile.read(options.data))
    defences = attack.defences(options.epsilon or PROTECTED_AT)
    trials = run_trials(
        attack, defences, options.trials, options.seed, scenes=scenes, progress=_progress
    )
    points = () if options.data or options.trials else curve(attack, trials.showings, options.seed)
    show_progress("")
    return report_of(trials, points)


def _progress(attack: Attack, defence: Defence) -> None:
    show_progress(printable(f"{attack.name}: {defence.label} …"))
