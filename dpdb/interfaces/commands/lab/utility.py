"""`dpdb utility`: how useful noisy answers will be, before any query is asked."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from dpdb.errors import InvalidOption, UsageError, printable
from dpdb.interfaces.cli.parsers import Parser, add_force
from dpdb.lab.studies.accuracy import Differential
from dpdb.lab.studies.utility import as_object, as_text, utility
from dpdb.policy.numbers import exact_number

if TYPE_CHECKING:
    from dpdb.lab.figures import Lines


_TENTH = Fraction(1, 10)
MOST_CURVES = 6
"""The number of colours that curves can have."""

EPILOG = """\
Numbers may be lists (1,10); several sensitivities are queries on one database.
examples (Shoaran, Thomo, Weber, Differential Privacy in Practice):
  dpdb utility --epsilon 0.01                               example 1
  dpdb utility --epsilon 0.01 --sensitivity 1,1 --answer 3000,30000
                                                            example 2
  dpdb utility --epsilon 0.01 --sensitivity 1,1 --answer 3000,30000 --noise-index 1,10
                                                            example 3
  dpdb utility --figure 1 --epsilon 0.5,1,2                 figure 1, with your own curves
  dpdb utility --figure 2 --plot figure.svg                 figure 2, into a file
  dpdb utility --figure 2 --against relative-error          its variant, at ε = 0.1
  dpdb utility --epsilon 0.1 --delta 1e-5 --queries 100     three composition theorems
  dpdb utility --density                                    Hu's figures 7.1 and 7.2
  dpdb utility --density --epsilon 0.1,1                    the noise at these ε
The paper prints 2300 in example 1 because it rounds the noise, 230.26, to 230 first.
"""


def main(words: list[str]) -> int:
    """Run `dpdb utility` with the words after it; errors are raised as `DpdbError`."""
    options = parser().parse_args(words)
    try:
        if options.figure or options.density:
            _draw(options)
        else:
            _print_numbers(options)
    except InvalidOption as error:
        raise UsageError(error.message, hint=error.hint) from None
    return 0


def parser() -> argparse.ArgumentParser:
    """The parser of `dpdb utility`."""
    result = Parser(
        "dpdb utility",
        "--epsilon E [options]\n       dpdb utility --figure 1|2 | --density [options]",
        "How large the noise is, and how large an answer must be to be worth asking "
        "for. No data is read.",
        EPILOG,
    )
    add = result.add_argument

    def numbers(name: str, symbol: str, text: str) -> None:
        add(name, type=_numbers, action="extend", metavar=symbol, help=text)

    numbers("--epsilon", "E", "the privacy loss, of all queries together")
    numbers("--sensitivity", "Δ", "of each query (default: 1, as of a count)")
    numbers("--probability", "PR", "of noise at least as large as z (default: 0.1)")
    numbers("--relative-error", "RE", "the threshold, one or one for each query (default: 0.1)")
    numbers("--answer", "A", "a true or assumed answer for each query, or several for one")
    numbers("--delta", "δ", "also σ of Gaussian noise that is private but for this probability")
    numbers("--queries", "K", "also what so many, each of ε, reveal together at δ")
    numbers("--noise-index", "γ", "of each query: how its noise compares with others' (DIFF)")
    add("--json", action="store_true", help="print the numbers as a JSON object")
    group = result.add_mutually_exclusive_group()
    group.add_argument("--figure", choices=["1", "2"],
        help="1: noise against probability; 2: minimum true answer against ε")  # fmt: skip
    group.add_argument("--density", nargs="?", const="both", choices=["laplace", "normal", "both"],
        help="Laplace densities, Laplace beside normal, or (default) both")  # fmt: skip
    add("--against", choices=["epsilon", "relative-error"],
        help="what --figure 2 has on its horizontal axis (default: epsilon)")  # fmt: skip
    add("--plot", type=Path, metavar="FILE",
        help="draw into a .svg or .png file, not into the terminal")  # fmt: skip
    add_force(result)
    return result


def _numbers(text: str) -> list[Fraction]:
    values = [exact_number(part.strip()) for part in text.split(",")]
    if None in values:
        raise argparse.ArgumentTypeError("numbers are needed, as in 0.1 or 1,10")
    return [value for value in values if value is not None]


def _print_numbers(options: argparse.Namespace) -> None:
    """Print the numbers, as text or as JSON."""
    if options.plot or options.against:
        raise UsageError("which figure?", hint="--figure 1, --figure 2 or --density")
    if not options.epsilon:
        raise UsageError("--epsilon is missing", hint="dpdb utility --epsilon 0.01")
    epsilon = _one(options, "epsilon", _TENTH)
    index = options.noise_index
    sensitivities = options.sensitivity or [Fraction(1)] * len(index or [1])
    number = len(sensitivities)
    mechanism = (
        Differential(tuple(sensitivities), tuple(index), epsilon)
        if index
        else Differential.uniform(sensitivities, epsilon)
    )
    result = utility(
        mechanism,
        _one(options, "probability", _TENTH),
        _thresholds(options.relative_error or [_TENTH], number),
        _answers(options.answer or [], number),
        delta=_one(options, "delta", _TENTH) if options.delta else None,
        number=_queries(options),
    )
    print(json.dumps(as_object(result), allow_nan=False) if options.json else as_text(result))


def _queries(options: argparse.Namespace) -> int | None:
    """The number of queries to compose; None where the option is not given."""
    if not options.queries:
        return None
    queries = _one(options, "queries", _TENTH)
    if not options.delta or queries.denominator != 1:
        raise UsageError("--queries is a whole number, and needs --delta", hint="--delta 1e-5")
    return int(queries)


def _one(options: argparse.Namespace, name: str, default: Fraction) -> Fraction:
    """The one number of an option; more of them are an error."""
    given: list[Fraction] = getattr(options, name) or [default]
    if len(given) != 1:
        dashed = name.replace("_", "-")
        raise UsageError(f"--{dashed} needs one number here", hint=f"--{dashed} 0.1")
    return given[0]


def _thresholds(given: list[Fraction], number: int) -> list[Fraction]:
    """A threshold for each query."""
    if len(given) == 1:
        return given * number
    if len(given) != number:
        raise UsageError("--relative-error needs one number, or one for each query")
    return given


def _answers(given: list[Fraction], number: int) -> list[list[Fraction]]:
    """A list of answers for each query: all of them for a single query, otherwise one each."""
    if number == 1 or not given:
        return [given] * number
    if len(given) != number:
        raise UsageError("--answer needs one number for each query")
    return [[answer] for answer in given]


def _draw(options: argparse.Namespace) -> None:
    """Draw the figures, into files or in the terminal."""
    figures = _figures(options)
    if options.plot:
        from dpdb.lab.pages.chart import save  # noqa: PLC0415 (the numbers do without)

        for name, figure in figures.items():
            stem = options.plot.stem if len(figures) == 1 else f"{options.plot.stem}-{name}"
            path = options.plot.parent / f"{stem}{options.plot.suffix}"
            save(figure, path, force=options.force)
            print(f"wrote {printable(str(path))}", file=sys.stderr)
        return
    from dpdb.lab.pages.characters import figure_text, page_width  # noqa: PLC0415

    width = page_width()
    parts = [f"{figure.title}\n\n{figure_text(figure, width)}" for figure in figures.values()]
    print("\n\n".join(parts))


def _figures(options: argparse.Namespace) -> dict[str, Lines]:
    """The figures to draw, keyed by figure number in the paper."""
    if options.against and options.figure != "2":
        raise UsageError("--against goes with --figure 2")
    from dpdb.lab.studies import accuracy as known  # noqa: PLC0415 (a parser does without)

    sensitivity = sum(options.sensitivity or [Fraction(1)], start=Fraction(0))
    epsilons = _curves(options.epsilon or known.EPSILONS)
    probabilities = _curves(options.probability or known.PROBABILITIES)
    match options.figure or options.density:
        case "1":
            _only(options, "--figure 1", "epsilon", "sensitivity")
            return {"1": known.noise_by_probability(sensitivity, epsilons)}
        case "2" if options.against == "relative-error":
            _only(options, "--against relative-error", "probability", "sensitivity", "epsilon")
            epsilon = _one(options, "epsilon", _TENTH)
            return {"2": known.answer_by_relative_error(sensitivity, probabilities, epsilon)}
        case "2":
            _only(options, "--figure 2", "probability", "sensitivity", "relative_error")
            threshold = _one(options, "relative_error", _TENTH)
            return {"2": known.answer_by_epsilon(sensitivity, probabilities, threshold)}
        case "both" if options.epsilon or options.sensitivity:
            _only(options, "--density", "epsilon", "sensitivity")
            return {"noise": known.noise_densities(sensitivity, epsilons)}
    _only(options, f"--density {options.density}")
    densities = {"7.1": known.laplace_densities(), "7.2": known.laplace_and_normal()}
    chosen = {"laplace": ["7.1"], "normal": ["7.2"], "both": ["7.1", "7.2"]}[options.density]
    return {name: densities[name] for name in chosen}


def _curves(values: Sequence[Fraction]) -> Sequence[Fraction]:
    if len(values) > MOST_CURVES:
        raise UsageError(f"a figure has at most {MOST_CURVES} curves")
    return values


def _only(options: argparse.Namespace, figure: str, *names: str) -> None:
    """Refuse the options that have no effect on the figure."""
    for name in ("epsilon", "sensitivity", "probability", "relative_error", "answer",
                 "delta", "queries", "noise_index", "json"):  # fmt: skip
        if getattr(options, name) and name not in names:
            raise UsageError(f"--{name.replace('_', '-')} does not go with {figure}")
