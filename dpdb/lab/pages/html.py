"""Reports as HTML: one file each, which loads nothing from elsewhere.

The templates are beside this file. They escape every value that they show, except those that
they mark as safe: colours, and drawings, whose texts are escaped when they are drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined

from dpdb.answers.formats.escape import printable
from dpdb.lab.pages.rates import rates
from dpdb.lab.pages.report import Report, counted
from dpdb.lab.plots.style import DARK, LIGHT, MARKS, SHAPES, declared
from dpdb.lab.plots.svg import in_page

HEADINGS = {"off": "Without privacy", "foil": "With another defence:", "private": "With privacy,"}
"""How the runs are headed, by the side of the defence."""
_LONGEST = 130
"""How many letters of a statement are shown."""


@dataclass(frozen=True)
class _Neighbours:
    """The reports before and after a report, among several."""

    before: Report | None
    after: Report | None


def page(report: Report, pages: Sequence[Report] = ()) -> str:
    """The page of a report; among `pages`, it links to its neighbours and the index."""
    return (
        templates()
        .get_template("report.html")
        .render(
            report=report,
            neighbours=_neighbours(report, pages),
            headings=HEADINGS,
            rates=in_page(rates(report)),
            figures=[(figure.title, in_page(figure)) for figure in report.figures],
        )
    )


def index(reports: Sequence[Report]) -> str:
    """The page that links to all reports."""
    return templates().get_template("index.html").render(reports=reports)


@cache
def templates() -> Environment:
    """The environment of the templates, with escaping switched on."""
    environment = Environment(
        loader=PackageLoader("dpdb.lab.pages"),
        autoescape=True,
        finalize=_visible,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"counted": counted, "cut": _cut, "percent": _percent}
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


def _neighbours(report: Report, pages: Sequence[Report]) -> _Neighbours | None:
    if not pages:
        return None
    place = pages.index(report)
    after = pages[place + 1] if place + 1 < len(pages) else None
    return _Neighbours(pages[place - 1] if place else None, after)


def _cut(sql: str) -> str:
    return sql if len(sql) <= _LONGEST else sql[: _LONGEST - 1] + "…"


def _percent(rate: float, digits: int = 1) -> str:
    return f"{rate:.{digits}%}"
