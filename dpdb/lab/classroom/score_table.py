"""The scores of a class as a table, as CSV, and as pages."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence

from dpdb.answers.formats.render import RULED, grid, spreadsheet
from dpdb.errors import printable
from dpdb.lab.classroom.score import Score
from dpdb.lab.pages import html
from dpdb.lab.pages.report import Success

HEADS = ("student", "ε", "right", "success", "95 % interval", "ceiling", "ε used")
CSV_HEADS = ("student", "defence", "epsilon", "hits", "tries", "rate", "low", "high", "ceiling",
             "epsilon_used", "error")  # fmt: skip
ABOVE = "✘ above the ceiling: more than asking can tell; look at the file"


def as_table(scores: Sequence[Score]) -> str:
    """A line for each student and ε; below them, the errors and what looks too good."""
    rows = [
        [printable(score.student), *_figures(success, spent)]
        for score in scores
        for success, spent in _successes(score)
    ]
    columns = list(zip(*rows, strict=True))
    parts = [grid(HEADS, columns, RULED, [False] * len(HEADS))] if rows else []
    parts += [_lines(score.error) for score in scores if score.error]
    parts += [
        f"{printable(score.student)}, {success.defence}: {ABOVE}"
        for score in scores
        for success, _ in _successes(score)
        if success.broken
    ]
    return "\n\n".join(parts) + "\n"


def as_csv(scores: Sequence[Score]) -> str:
    """A row for each student and defence, or one with the error."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(CSV_HEADS)
    for score in scores:
        student = spreadsheet(printable(score.student))
        for s, spent in _successes(score):
            figures = (s.hits, s.tries, s.rate, s.low, s.high, s.ceiling)
            claimed = (s.defence, s.epsilon)
            writer.writerow((student, *claimed, *figures, None if s.epsilon is None else spent, ""))
        if score.error:
            error = spreadsheet(printable(" ".join(score.error.split())))
            writer.writerow((student, *[""] * (len(CSV_HEADS) - 2), error))
    return text.getvalue()


def pages(scores: Sequence[Score]) -> Iterator[tuple[str, str]]:
    """The name of each page with its text: one for each student, and the index of all."""
    played = [score.student for score in scores if score.report]
    for score in scores:
        if score.report:
            yield f"{score.student}.html", html.page(score.report, played)
        else:
            template = html.templates().get_template("failed.html")
            yield f"{score.student}.html", template.render(score=score)
    yield (
        "index.html",
        html.templates()
        .get_template("class.html")
        .render(scores=[(score, list(_successes(score))) for score in scores]),
    )


def _successes(score: Score) -> Iterator[tuple[Success, float]]:
    if score.report:
        yield from zip(score.report.successes, score.spent, strict=True)


def _figures(success: Success, spent: float) -> list[str]:
    private = success.epsilon is not None
    return [
        f"{success.epsilon:g}" if private else "off",
        f"{success.hits} of {success.tries}",
        f"{success.rate:.1%}",
        f"{success.low:.1%} – {success.high:.1%}",
        "" if success.ceiling is None else f"{success.ceiling:.1%}",
        f"{spent:g}" if private else "",
    ]


def _lines(error: str) -> str:
    return "\n  ".join(printable(line) for line in error.split("\n"))
