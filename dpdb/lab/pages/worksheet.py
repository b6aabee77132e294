"""Reports for students: what was asked and answered, and room for all that follows from it."""

from __future__ import annotations

from collections.abc import Sequence

from dpdb.lab.pages.html import templates
from dpdb.lab.pages.report import HEADINGS, Report


def page(report: Report, pages: Sequence[str] = ()) -> str:
    """The page of a report without guess, truth, rates, explanation or solution."""
    return (
        templates()
        .get_template("worksheet.html")
        .render(report=report, headings=HEADINGS, pages=pages)
    )


def index(reports: Sequence[Report], room: str | None = None) -> str:
    """The page that links to all reports, and to the page of the room."""
    return templates().get_template("worksheets.html").render(reports=reports, room=room)
