"""`dpdb lab`: the attacks, their options, and the reports they make."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from dpdb.errors import InvalidOption, UsageError
from dpdb.lab.attack import PROTECTED_AT, Attack, Scenes
from dpdb.lab.catalogue import catalogue, find
from dpdb.lab.defences import Defence, exactly
from dpdb.lab.room.command import main as room
from dpdb.lab.scenario import DataFile
from dpdb.policy.budget import valid_epsilon

if TYPE_CHECKING:
    from dpdb.lab.pages.report import Report

MOST_TRIALS = 100_000
ROOM = "room.html"


def main(words: list[str]) -> int:
    """Run `dpdb lab` with the words after it; errors are raised as `DpdbError`."""
    # The lab's matrices are small: numpy's threads would only wait for each other.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if words[:1] == ["room"]:
        return room(words[1:])
    options = parser().parse_args(words)
    if options.all:
        return _all(options)
    if options.attack is None:
        return _list(options)
    return _one(options)


def parser() -> argparse.ArgumentParser:
    """The parser of `dpdb lab`."""
    result = argparse.ArgumentParser(
        prog="dpdb lab",
        usage="dpdb lab [ATTACK | --all] [options]",
        description="Attacks on statistical databases, with their defence off and on. "
        "Without ATTACK: which there are. `dpdb lab room` plays one with secrets of your own.",
        allow_abbrev=False,
    )
    add = result.add_argument
    add("attack", nargs="?", metavar="ATTACK", help="the attack to demonstrate")
    add("--all", action="store_true", help="all of them, into the directory that --html names")
    add("--epsilon", action="append", type=_epsilon, metavar="E",
        help="against privacy at this ε; may be given again (default: 0.1, 1, 5)")  # fmt: skip
    add("--trials", type=_whole, metavar="N",
        help="count so many runs (default: rates as exact as they can be had)")  # fmt: skip
    add("--seed", type=_seed, default=1, metavar="S", help="the same seed gives the same story")
    add("--data", type=Path, metavar="FILE.csv", help="on this file, where the attack suits any")
    add("--json", action="store_true", help="print the report as a JSON object")
    add("--html", type=Path, metavar="FILE", help="write a page to look at and to print")
    add("--png", type=Path, metavar="FILE", help="write the chart as a picture")
    return result


def _epsilon(text: str) -> float:
    try:
        value = float(text)
        valid_epsilon(exactly(value))
    except (ValueError, OverflowError):
        raise argparse.ArgumentTypeError("a number is needed") from None
    except InvalidOption as error:
        raise argparse.ArgumentTypeError(error.message) from None
    return value


def _whole(text: str, least: int = 1, most: int = MOST_TRIALS) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 20 and least <= int(text) <= most):
        raise argparse.ArgumentTypeError(f"a whole number from {least} to {most} is needed")
    return int(text)


def _seed(text: str) -> int:
    return _whole(text, 0, 2**63)


def _list(options: argparse.Namespace) -> int:
    if options.html or options.png or options.data:
        raise UsageError("which attack?", hint="name one, or --all --html DIR")
    attacks = catalogue().values()
    if options.json:
        print(_json_text([{"name": a.name, "title": a.title, "source": a.source} for a in attacks]))
        return 0
    width = max(len(attack.name) for attack in attacks)
    for attack in attacks:
        print(f"  {attack.name:<{width}}  {attack.title}")
    print("\ndpdb lab NAME runs one, dpdb lab --all --html DIR all of them.")
    print("dpdb lab room plays the reconstruction with thirty secret bits of your own.")
    return 0


def _one(options: argparse.Namespace) -> int:
    from dpdb.lab.pages import terminal  # noqa: PLC0415 (numpy)
    from dpdb.lab.pages.report import as_object  # noqa: PLC0415

    report = _try_attack(find(options.attack), options)
    if options.json:
        print(_json_text(as_object(report)))
    if options.html:
        from dpdb.lab.pages import html  # noqa: PLC0415 (jinja2, matplotlib)

        _write(options.html, html.page(report))
    if options.png:
        from dpdb.lab.pages.rates import rates  # noqa: PLC0415
        from dpdb.lab.plots.files import save_png  # noqa: PLC0415 (matplotlib)

        save_png(rates(report), options.png)
    if not (options.json or options.html or options.png):
        print(terminal.page(report), end="")
    return 0


def _all(options: argparse.Namespace) -> int:
    from dpdb.lab.pages import html  # noqa: PLC0415 (jinja2, matplotlib, numpy)

    if not options.html or options.attack or options.json or options.png or options.data:
        raise UsageError("--all goes with --html DIR", hint="dpdb lab --all --html reports")
    try:
        options.html.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot make {options.html}: {error.strerror}") from None
    attacks = catalogue()
    reports = []
    for name, attack in attacks.items():
        reports.append(_try_attack(attack, options))
        _write(options.html / f"{name}.html", html.page(reports[-1], list(attacks)))
    room(["--html", str(options.html / ROOM), "--seed", str(options.seed)])
    _write(options.html / "index.html", html.index(reports, ROOM))
    return 0


def _try_attack(attack: Attack, options: argparse.Namespace) -> Report:
    """The report of an attack's trials; at a terminal, progress is shown while they run."""
    from dpdb.lab.curve import curve  # noqa: PLC0415 (numpy)
    from dpdb.lab.pages.report import report_of  # noqa: PLC0415
    from dpdb.lab.trial import run_trials  # noqa: PLC0415

    scenes: Scenes = attack.scenario
    if options.data:
        attack, scenes = attack.on(DataFile.read(options.data))
    defences = attack.defences(options.epsilon or PROTECTED_AT)
    shown = sys.stderr.isatty()
    trials = run_trials(
        attack,
        defences,
        options.trials,
        options.seed,
        scenes=scenes,
        progress=_progress if shown else None,
    )
    points = () if options.data or options.trials else curve(attack, trials.showings, options.seed)
    if shown:
        print("\r\033[K", end="", file=sys.stderr, flush=True)
    return report_of(trials, points)


def _progress(attack: Attack, defence: Defence) -> None:
    print(f"\r\033[K{attack.name}: {defence.label} …", end="", file=sys.stderr, flush=True)


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from None
    print(f"wrote {path}", file=sys.stderr)


def _json_text(content: object) -> str:
    return json.dumps(content, ensure_ascii=False, allow_nan=False)
