"""The scores of a class: each file's attack is played in a box, and ranked beside the others.

`row` makes a line of the table from runs, `ranked` orders lines of any source, and `score` plays a
file. So a live board shows the same table for guesses that a team sent in by hand.
"""

from __future__ import annotations

import csv
import io
import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from dpdb.answers.formats.render import RULED, grid, spreadsheet
from dpdb.errors import DpdbError, error_text, printable
from dpdb.lab.attack import Attack, Showing
from dpdb.lab.classroom import box
from dpdb.lab.classroom.attack_file import opened
from dpdb.lab.classroom.box import StudentFile, end_all
from dpdb.lab.classroom.walls import Sandbox
from dpdb.lab.database import Defence, Protected
from dpdb.lab.pages import html
from dpdb.lab.pages.report import Report, report_of
from dpdb.lab.trial import Game, Rate, Trials, at_least, interval, run_once
from dpdb.records import dataclass

AT_A_TIME = 2
"""Files that are played at the same time."""
ONE_IN = 10_000
"""At most one row in so many of honest files is marked."""


@dataclass(frozen=True)
class Rules:
    """Rules for all files of a class."""

    task: Attack | None
    """The attack whose data and secret all files are played on; None if each brings its own."""
    epsilons: Sequence[float]
    trials: int
    seconds: int
    """The time that each file has."""
    seed: int


@dataclass(frozen=True)
class Played:
    """A run: the right guesses of all, and the ε that its answers used."""

    hits: int
    tries: int
    epsilon: float = 0.0


@dataclass(frozen=True)
class Row:
    """A line of the table: the runs of a student against one defence."""

    student: str
    defence: str
    epsilon: float | None
    """The ε that the defence claims; None where it claims none."""
    hits: int
    tries: int
    low: float
    high: float
    """The ends of the 95 % interval of the success rate [CP34]."""
    ceiling: float | None
    """The mean of the runs' ceilings, each at the ε that the run used."""
    used: tuple[float, float, float]
    """The mean, the least and the largest ε that a run used."""
    sandbox: Sandbox
    beyond: bool
    """Whether asking cannot succeed so often."""
    compared: bool = True
    """Whether all students attack the same secret."""
    rank: int | None = None
    tie: bool = False

    @property
    def rate(self) -> float:
        """The success rate."""
        return self.hits / self.tries

    @property
    def note(self) -> str:
        """A remark in a few words, if there is one."""
        return "not by asking" if self.beyond else "tie" if self.tie else ""


@dataclass(frozen=True)
class Score:
    """The result of a student's file."""

    student: str
    report: Report | None
    """None if the file could not be played to its end."""
    rows: tuple[Row, ...]
    error: str = ""


def row(
    student: str, defence: Defence, attack: Attack, runs: Sequence[Played], sandbox: Sandbox
) -> Row:
    """The line of runs whose secrets are independent of each other."""
    hits, tries = sum(run.hits for run in runs), sum(run.tries for run in runs)
    used = [run.epsilon for run in runs]
    ceilings = [] if defence.epsilon is None else [attack.ceiling(epsilon) for epsilon in used]
    known = [ceiling for ceiling in ceilings if ceiling is not None]
    low, high = interval(hits, tries)
    return Row(
        student,
        defence.label,
        defence.epsilon,
        hits,
        tries,
        low,
        high,
        ceiling=sum(known) / len(known) if known else None,
        used=(sum(used) / len(used), min(used), max(used)),
        sandbox=sandbox,
        beyond=bool(known) and _chance(runs, sum(known) / len(known)) < 1 / ONE_IN,
    )


def _chance(runs: Sequence[Played], ceiling: float) -> float:
    """An upper bound on the chance of as many right guesses, by the mean of the ceilings.

    What is told for a privacy loss of ε, chosen on the way or not, is at most e^ε times as likely
    with one secret as with another ([RRUV16] section 4), so that a run is right with at most the
    ceiling of the ε that it used. With one guess in each of n runs, k >= n·ceiling + 1 or more are
    right at most as likely as in n draws at the mean ceiling ([Hoe56] Theorem 4). Guesses of one
    run hang together: then for the mean r of the runs' rates it is e^(-n·D), with D = r·ln(r/c) +
    (1 - r)·ln((1 - r)/(1 - c)) for the ceiling c < r ([Hoe63] Theorem 1).
    """
    rates = [run.hits / run.tries for run in runs]
    number, mean = len(rates), sum(rates) / len(rates)
    if mean * number < ceiling * number + 1:
        return 1.0
    if all(run.tries == 1 for run in runs):
        return at_least(sum(run.hits for run in runs), number, ceiling)
    parts = ((mean, ceiling), (1 - mean, 1 - ceiling))
    return math.exp(-number * sum(r * math.log(r / c) for r, c in parts if r > 0))


def ranked(rows: Iterable[Row]) -> list[Row]:
    """The rows by defence, rank and interval; a rank counts the rows that lie wholly above.

    So whoever has an interval that overlaps the best one's is first, too; of equal ranks the one
    whose interval begins higher is listed first, or one lucky guess would be at the top. Ranks are
    given under privacy, to rows of one secret from a sandbox, which asking can explain; rows
    without a rank come last.
    """
    rows = list(rows)
    fair = [
        each
        for each in rows
        if each.epsilon is not None and each.sandbox is not Sandbox.NONE
        if each.compared and not each.beyond
    ]
    ranks = {
        id(each): 1 + sum(o.epsilon == each.epsilon and o.low > each.high for o in fair)
        for each in fair
    }
    taken = [(each.epsilon, ranks[id(each)]) for each in fair]
    placed = [
        replace(each, rank=ranks[id(each)], tie=taken.count((each.epsilon, ranks[id(each)])) > 1)
        if id(each) in ranks
        else each
        for each in rows
    ]
    return sorted(placed, key=_place)


def _place(row: Row) -> tuple[float, float, float, float]:
    """The key by which rows are listed."""
    claimed = -1.0 if row.epsilon is None else row.epsilon
    return claimed, math.inf if row.rank is None else row.rank, -row.low, -row.rate


def class_scores(
    paths: Sequence[Path], rules: Rules, progress: Callable[[int], None]
) -> list[Score]:
    """A score for each file, in their order; `progress` is told how many are done."""
    with ThreadPoolExecutor(AT_A_TIME) as threads:
        played = [threads.submit(score, path, rules) for path in paths]
        try:
            for done, _ in enumerate(as_completed(played), 1):
                progress(done)
        except KeyboardInterrupt:
            threads.shutdown(wait=False, cancel_futures=True)
            # A file that is just being opened starts a process after the others have ended.
            while not all(each.done() for each in played):
                end_all()
                time.sleep(0.1)
            raise
        return [each.result() for each in played]


def score(given: Path | StudentFile, rules: Rules) -> Score:
    """The score of one file.

    Every defence has secrets of its own: an attack that remembers what it found out from exact
    answers knows nothing of the next secret.
    """
    name = given.stem if isinstance(given, Path) else given.name
    rows, showings = list[Row](), list[Showing]()
    try:
        file = StudentFile.read(given) if isinstance(given, Path) else given
        with (
            opened(file, rules.seconds, task=rules.task) as attack,
            TemporaryDirectory(prefix="dpdb-lab-") as folder,
        ):
            defences = (attack.off, *(Protected(e, attack.queries) for e in rules.epsilons))
            for place, defence in enumerate(defences):
                game, runs = Game(attack, attack.scenario, defence), list[Played]()
                for trial in range(rules.trials):
                    showing = run_once(game, Path(folder), rules.seed + place, trial)
                    showings += [showing][trial:]
                    runs.append(Played(showing.hits, showing.tries, _used(showing)))
                line = row(name, defence, attack, runs, box.sandbox())
                rows.append(replace(line, compared=rules.task is not None))
    except DpdbError as error:
        return Score(name, None, (), error_text("", error).removeprefix("error: "))
    except Exception as error:
        # Somebody's file has found a fault in the lab: that is no reason to stop for the others.
        return Score(name, None, (), f"{name}.py: {type(error).__name__} in the lab")
    rates = tuple(
        replace(Rate.counted(defence, each.hits, each.tries), ceiling=each.ceiling)
        for defence, each in zip(defences, rows, strict=True)
    )
    trials = Trials(attack, rules.trials, rules.seed, tuple(showings), rates)
    return Score(name, report_of(trials), tuple(rows))


def _used(showing: Showing) -> float:
    """The ε that a run has used up, by its last answer."""
    for exchange in reversed(showing.exchanges):
        if exchange.answer is not None:
            balance = exchange.answer.balance
            return float(balance.budget.epsilon - balance.epsilon_left)
    return 0.0


HEADS = ("rank", "student", "ε", "right", "success", "95 % interval", "ceiling", "ε used", "note")
CSV_HEADS = ("rank", "student", "defence", "epsilon", "hits", "tries", "rate", "low", "high",
             "ceiling", "epsilon_used", "epsilon_used_least", "epsilon_used_most", "note",
             "sandbox", "error")  # fmt: skip
ABOVE = "✘ not by asking: more is right than its ε can tell; look at the file"
UNRANKED = "nothing is ranked: a file could read the secrets. Install bubblewrap"


def all_ranked(scores: Sequence[Score]) -> list[Row]:
    """The rows of all students."""
    return ranked(each for score in scores for each in score.rows)


def as_table(scores: Sequence[Score]) -> str:
    """A line for each student and ε; below them, the errors, what looks too good, the sandbox."""
    rows = all_ranked(scores)
    columns = list(zip(*([printable(cell) for cell in cells(each)] for each in rows), strict=True))
    parts = [grid(HEADS, columns, RULED, [False] * len(HEADS))] if rows else []
    failed = (score.error.split("\n") for score in scores if score.error)
    parts += ["\n  ".join(map(printable, lines)) for lines in failed]
    parts += [f"{printable(each.student)}, {each.defence}: {ABOVE}" for each in rows if each.beyond]
    kind = box.sandbox()
    parts.append(f"sandbox: {kind}" + (f", so {UNRANKED}" if kind is Sandbox.NONE else ""))
    return "\n\n".join(parts) + "\n"


def cells(row: Row) -> list[str]:
    """The texts of a row under `HEADS`."""
    private = row.epsilon is not None
    mean, least, most = (f"{value:.4g}" for value in row.used)
    return [
        ("" if not private else "–") if row.rank is None else str(row.rank),
        row.student,
        f"{row.epsilon:g}" if private else "off",
        f"{row.hits} of {row.tries}",
        f"{row.rate:.1%}",
        f"{row.low:.1%} – {row.high:.1%}",
        "" if row.ceiling is None else f"{row.ceiling:.1%}",
        "" if not private else mean if least == most else f"{mean} ({least} – {most})",
        row.note,
    ]


def as_csv(scores: Sequence[Score]) -> str:
    """A row for each student and defence, or one with the error."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(CSV_HEADS)
    for r in all_ranked(scores):
        student = spreadsheet(printable(r.student))
        figures = (r.hits, r.tries, r.rate, r.low, r.high, r.ceiling)
        used = (None,) * 3 if r.epsilon is None else r.used
        claimed = (r.rank, student, r.defence, r.epsilon)
        writer.writerow((*claimed, *figures, *used, r.note, r.sandbox, ""))
    for score in scores:
        if score.error:
            student = spreadsheet(printable(score.student))
            error = spreadsheet(printable(" ".join(score.error.split())))
            writer.writerow(("", student, *[""] * (len(CSV_HEADS) - 3), error))
    return text.getvalue()


def pages(scores: Sequence[Score]) -> Iterator[tuple[str, str]]:
    """The name of each page with its text: one for each student, and the index of all."""
    played = [score.student for score in scores if score.report]
    for score in scores:
        if score.report:
            yield f"{score.student}.html", html.page(score.report, played)
        else:
            yield f"{score.student}.html", html.rendered("failed.html", score=score)
    listed = [(each, cells(each)) for each in all_ranked(scores)]
    failed = [score for score in scores if score.error]
    yield (
        "index.html",
        html.rendered("class.html", heads=HEADS, rows=listed, failed=failed, sandbox=box.sandbox()),
    )
