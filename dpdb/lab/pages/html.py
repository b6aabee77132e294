"""Reports as HTML: one file each, which loads nothing from elsewhere.

The templates are beside this file. They escape every value that they show, except those that
they mark as safe: colours, and drawings, whose texts are escaped when they are drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined

from dpdb import manual
from dpdb.errors import printable
from dpdb.lab.pages.rates import rates
from dpdb.lab.pages.report import HEADINGS, Report, Success, counted
from dpdb.lab.plots.style import DARK, LIGHT, MARKS, SHAPES, declared
from dpdb.lab.plots.svg import in_page
from dpdb.records import dataclass

_LONGEST = 130
"""How many letters of a statement are shown."""


@dataclass(frozen=True)
class _Neighbours:
    """The names of the reports before and after a report, among several."""

    before: str | None
    after: str | None


def page(report: Report, pages: Sequence[str] = ()) -> str:
    """The page of a report; among the `pages` of these names, it links to neighbours and index."""
    return (
        templates()
        .get_template("report.html")
        .render(
            report=report,
            neighbours=_neighbours(report.name, pages),
            headings=HEADINGS,
            rates=in_page(rates(report)),
            figures=[(figure.title, in_page(figure)) for figure in report.figures],
        )
    )


def index(reports: Sequence[Report], room: str | None = None) -> str:
    """The page that links to all reports, and to the page of the room."""
    return (
        templates()
        .get_template("index.html")
        .render(reports=reports, room=room, epsilon=meaning_of_epsilon())
    )


def meaning_of_epsilon() -> list[str]:
    """What the manual says that ε means, in paragraphs."""
    _, _, text = manual.topic("meaning").partition("\n")
    return text.strip().split("\n\n")


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
    environment.filters |= {
        "counted": counted, "cut": _cut, "found": _found, "part": _part, "percent": _percent,
    }  # fmt: skip
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


def _neighbours(name: str, pages: Sequence[str]) -> _Neighbours | None:
    if not pages:
        return None
    place = pages.index(name)
    after = pages[place + 1] if place + 1 < len(pages) else None
    return _Neighbours(pages[place - 1] if place else None, after)


def _cut(sql: str) -> str:
    return sql if len(sql) <= _LONGEST else sql[: _LONGEST - 1] + "…"


def _found(report: Report, success: Success) -> bool:
    """Whether the attack finds out more than half of what a blind guess leaves open."""
    blind = report.baseline or 0.0
    return success.rate - blind > (1 - blind) / 2


def _part(error: float) -> str:
    """A relative error with two digits."""
    return f"{float(f'{100 * error:.2g}'):g} %"


def _percent(rate: float, digits: int = 1) -> str:
    return f"{rate:.{digits}%}"
