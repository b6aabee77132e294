"""Reports as HTML, for the teacher or with blanks for a class; a page loads nothing from elsewhere.

The templates are beside this file. They escape every value that they show, except those that
they mark as safe: colours, and drawings, whose texts are escaped when they are drawn.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from dpdb import manual
from dpdb.errors import printable
from dpdb.lab.pages.chart import DARK, LIGHT, MARKS, SHAPES, declared, in_page
from dpdb.lab.pages.report import HEADINGS, Report, Success, counted, rates
from dpdb.records import dataclass

_LONGEST = 130
"""Letters of a statement that are shown."""
_THOUGHT = 280
"""Letters of a text on one slide."""


def page(report: Report, pages: Sequence[str] = ()) -> str:
    """The page of a report; among the `pages` of these names, it links to neighbours and index."""
    neighbours = None
    if pages:
        around = [None, *pages, None]
        place = pages.index(report.name)
        neighbours = {"before": around[place], "after": around[place + 2]}
    return rendered("report.html", neighbours=neighbours, **_drawn(report))


def slides(report: Report, pages: Sequence[str] = ()) -> str:
    """The lesson on a report for a projector: one thought on each slide, and keys to move."""
    return rendered("slides.html", **_drawn(report))


def _drawn(report: Report) -> dict[str, Any]:
    """A report and its charts, for a template."""
    return {
        "report": report,
        "headings": HEADINGS,
        "rates": in_page(rates(report)),
        "figures": [(figure.title, in_page(figure)) for figure in report.figures],
    }


def thoughts(text: str, most: int = _THOUGHT) -> list[str]:
    """A text in pieces of whole sentences, each of `most` letters at most if its sentences are."""
    pieces: list[str] = []
    for sentence in re.split(r"(?<=[.?!]) (?=\S)", text):
        if pieces and len(pieces[-1]) + len(sentence) < most:
            pieces[-1] += f" {sentence}"
        else:
            pieces.append(sentence)
    return pieces


def index(reports: Sequence[Report], room: str | None = None) -> str:
    """The page that links to all reports and to the page of the room, and says what ε means."""
    _, _, text = manual.topic("meaning").partition("\n")
    return rendered("index.html", reports=reports, room=room, epsilon=text.strip().split("\n\n"))


def worksheet(report: Report, pages: Sequence[str] = ()) -> str:
    """The page of a report without guess, truth, rates, explanation or solution.

    The browser keeps entries, and a button saves them as a text.
    """
    return rendered(
        "worksheet.html", report=report, headings=HEADINGS, pages=pages, blanks=blanks(report)
    )


def worksheets(reports: Sequence[Report], room: str | None = None) -> str:
    """The page that links to all worksheets, and to the page of the room."""
    return rendered("worksheets.html", reports=reports, room=room)


@dataclass(frozen=True)
class Blank:
    """A field of a worksheet."""

    name: str
    """Its name in the form, once in each sheet."""
    label: str
    lines: int = 1


def blanks(report: Report) -> dict[str, Blank]:
    """The blanks of the worksheet on a report by name, in the order of the page."""
    found = [Blank("name", "Name"), Blank("ask", "What would you ask?", lines=2)]
    for place in range(len(report.acts)):
        found += [
            Blank(f"follows{place}", "What follows?", lines=2),
            Blank(f"guess{place}", "Your guess"),
            Blank(f"sure{place}", "How sure are you, in per cent?"),
            Blank(f"truth{place}", "The truth"),
        ]
    found += [
        Blank("expected", "expected, of a guess without any answer"),
        Blank("found", "found, of a guess without any answer"),
    ]
    for place, success in enumerate(report.successes):
        found.append(Blank(f"expected{place}", f"expected: {success.defence}"))
        if success.ceiling is not None:
            found.append(Blank(f"ceiling{place}", f"ceiling: {success.defence}"))
        found.append(Blank(f"found{place}", f"found: {success.defence}"))
    found.append(Blank("remedy", "What stopped it", lines=5))
    for place, task in enumerate(report.tasks):
        found.append(Blank(f"task{place}", task.question, lines=3))
    return {blank.name: blank for blank in found}


def rendered(template: str, **values: object) -> str:
    """A template of the lab filled with values, each of them escaped."""
    return _templates().get_template(template).render(**values)


@cache
def _templates() -> Environment:
    environment = Environment(
        loader=PackageLoader("dpdb.lab.pages"),
        autoescape=True,
        finalize=_visible,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {
        "counted": counted,
        "cut": lambda text, most=_LONGEST: text if len(text) <= most else text[: most - 1] + "…",
        "found": _found,
        "part": lambda error: f"{float(f'{100 * error:.2g}'):g} %",
        "thoughts": thoughts,
        "percent": lambda rate, digits=1: f"{rate:.{digits}%}",
    }
    environment.globals |= {
        "light": declared(LIGHT),
        "dark": declared(DARK),
        "marks": SHAPES + MARKS,
    }
    return environment


def _visible(value: object) -> object:
    """A value before it is escaped, with the control characters of a text written out.

    Values marked as safe have the method `__html__`, and stay as they are.
    """
    return value if hasattr(value, "__html__") else printable(str(value))


def _found(report: Report, success: Success) -> bool:
    """Whether the attack finds out more than half of what a blind guess leaves open."""
    blind = report.baseline or 0.0
    return success.rate - blind > (1 - blind) / 2
