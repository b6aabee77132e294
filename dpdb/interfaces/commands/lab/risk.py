"""`dpdb risk`: the ε that is safe enough for a query on one file.

It is for the owner of the file alone: it reads the rows exactly, protects nothing, and says so.
"""

from __future__ import annotations

import argparse
import sys
from fractions import Fraction
from pathlib import Path

from dpdb.answers.formats.json_lines import dumped
from dpdb.errors import DataFileError, StatementError, UsageError, error_text
from dpdb.interfaces.cli.arguments import data_file, epsilon_as_float, seed
from dpdb.interfaces.cli.parsers import Parser, add_force
from dpdb.lab.figures import Lines
from dpdb.lab.pages import characters
from dpdb.lab.studies.adversary import LARGEST, Adversary, Universe, observe
from dpdb.lab.studies.risk import (
    NOTICE,
    REMARK,
    QueryRisk,
    as_object,
    as_page,
    distributions,
    risks,
)
from dpdb.lab.studies.worlds import Array, worlds
from dpdb.plan.logical.query import Aggregate, Function
from dpdb.policy.numbers import exact_number
from dpdb.policy.reading.reader import policy_for
from dpdb.sql.text.splitting import split


def main(words: list[str]) -> int:
    """Run `dpdb risk` with the words after it; errors are raised as `DpdbError`."""
    options = parser().parse_args(words)
    _check(options)
    if not options.file.is_file():
        raise DataFileError(f"there is no file {options.file}")
    universe = Universe(policy_for(options.file))
    counted = {}
    for text in (piece.text for query in options.query for piece in split(query)):
        try:
            counted[text] = universe.counted_values(text)
        except StatementError as error:
            print(error_text(text, error), file=sys.stderr)
            return error.exit_code
    if not counted:
        raise UsageError("--query is empty")
    findings = [_finding(text, *counted[text], options) for text in counted]
    if options.json:
        for finding in findings:
            print(dumped(as_object(finding)))
    else:
        print("\n\n".join([NOTICE, *(as_page(finding) for finding in findings), REMARK]))
    if options.figure:
        _draw(_figures(findings, counted, options.figure), options.plot, force=options.force)
    return 0


def parser() -> argparse.ArgumentParser:
    """The parser of `dpdb risk`."""
    result = Parser(
        "dpdb risk",
        "FILE.csv --query SELECT … [--max-risk R] [--epsilon E] [options]",
        "For the data owner only: how sure of one row's absence an answer can make "
        "somebody who knows all the others, and the epsilon that keeps it below a limit.",
    )
    add = result.add_argument
    add("file", metavar="FILE.csv", type=data_file)
    add("--query", action="append", required=True, metavar="SELECT",
        help="one aggregate over the file; may be given again")  # fmt: skip
    add("--max-risk", type=_risk, metavar="R",
        help="find the epsilon at which no belief is above this, as 0.3333 or 1/3")  # fmt: skip
    add("--epsilon", type=epsilon_as_float, metavar="E",
        help="show risk and beliefs at this epsilon")  # fmt: skip
    add("--response", type=_number, metavar="X", help="beliefs after this answer")
    add("--simulate", action="store_true", help="beliefs after an answer drawn with noise")
    add("--missing", type=_number, metavar="VALUE",
        help="a row of this value is missing (default: the one most at risk)")  # fmt: skip
    add("--seed", type=seed, metavar="S", help="the same seed draws the same answer")
    add("--json", action="store_true", help="one JSON object for each query")
    add("--figure", type=int, choices=[1, 2, 3],
        help="1: answers of each world, 2: bound and risk, 3: mean and median")  # fmt: skip
    add("--plot", type=Path, metavar="FILE", help="the figure into a .svg or .png file")
    add_force(result)
    return result


def _risk(text: str) -> Fraction:
    over, slash, under = text.partition("/")
    value, divisor = exact_number(over), exact_number(under) if slash else Fraction(1)
    if value is None or not divisor or not 0 < value / divisor < 1:
        raise argparse.ArgumentTypeError("a probability between 0 and 1 is needed")
    return value / divisor


def _number(text: str) -> float:
    value = exact_number(text)
    if value is None or abs(value) > 1e100:
        raise argparse.ArgumentTypeError("a number is needed")
    return float(value)


def _check(options: argparse.Namespace) -> None:
    """Refuse options that make no sense together."""
    if options.max_risk is None and options.epsilon is None:
        raise UsageError("say how much risk is too much, or which epsilon it is about",
                         hint="--max-risk 1/3, or --epsilon 1")  # fmt: skip
    if options.response is not None and options.simulate:
        raise UsageError("--response gives the answer that --simulate would draw")
    if options.missing is not None and options.response is None and not options.simulate:
        raise UsageError("--missing goes with --response or --simulate")
    if options.seed is not None and not options.simulate:
        raise UsageError("--seed goes with --simulate")
    if options.plot and not options.figure:
        raise UsageError("which figure?", hint="--figure 1, 2 or 3")
    if options.figure and options.json and not options.plot:
        raise UsageError("--json leaves no room for a figure", hint="--plot FILE.svg")


def _finding(
    text: str, aggregate: Aggregate, values: Array, options: argparse.Namespace
) -> QueryRisk:
    adversary = Adversary(worlds(aggregate.function, values, aggregate.fraction))
    bounding = largest = None
    if options.max_risk is not None:
        bounding = adversary.bounding_epsilon(options.max_risk)
        largest = adversary.largest_epsilon(options.max_risk)
    epsilon = options.epsilon
    if epsilon is None and largest and largest < LARGEST:
        epsilon = largest
    observation = None
    if options.response is not None or options.simulate:
        observation = observe(
            adversary,
            _needed(epsilon),
            missing=options.missing,
            response=options.response,
            seed=options.seed,
        )
    return QueryRisk(text, adversary, options.max_risk, bounding, largest, epsilon, observation)


def _needed(epsilon: float | None) -> float:
    if epsilon is None:
        raise UsageError("no epsilon follows from --max-risk here", hint="name one: --epsilon 1")
    return epsilon


def _figures(
    findings: list[QueryRisk], counted: dict[str, tuple[Aggregate, Array]], number: int
) -> list[Lines]:
    if number == 2:
        adversaries = {finding.query: finding.adversary for finding in findings}
        return [risks(adversaries, findings[0].most)]
    if number == 1:
        shown = [(f.query, f.adversary, _needed(f.epsilon)) for f in findings]
    else:
        [first, *_] = findings
        _, values = counted[first.query]
        mean = Adversary(worlds(Function.AVG, values))
        median = Adversary(worlds(Function.QUANTILE, values, Fraction(1, 2)))
        epsilon = _needed(first.epsilon)
        shown = [("Mean", mean, epsilon), ("Median", median, epsilon)]
    if not all(adversary.worlds.sensitivity for _, adversary, _ in shown):
        raise UsageError("no row changes the answer: there is no noise to draw")
    return [distributions(*one) for one in shown]


def _draw(figures: list[Lines], path: Path | None, *, force: bool) -> None:
    """Draw on the terminal or into a file; several figures go into files -a, -b and so on."""
    if path is None:
        for figure in figures:
            print(f"\n{figure.title}\n{characters.figure_text(figure, characters.page_width())}")
        return
    from dpdb.lab.pages.chart import save  # noqa: PLC0415 (matplotlib)

    if len(figures) == 1:
        save(figures[0], path, force=force)
        return
    for place, figure in enumerate(figures):
        save(figure, path.with_stem(f"{path.stem}-{chr(ord('a') + place)}"), force=force)
