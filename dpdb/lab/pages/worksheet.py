"""Reports for students: what was asked and answered, and room for all that follows from it."""

from __future__ import annotations

from collections.abc import Sequence

from dpdb.lab.pages.html import HEADINGS, templates
from dpdb.lab.pages.report import Report


def page(report: Report, pages: Sequence[Report] = ()) -> str:
    """The page of a report without guess, truth, rates, explanation or solution."""
    return (
        templates()
        .get_template("worksheet.html")
        .render(report=report, headings=HEADINGS, pages=pages)
    )


def index(reports: Sequence[Report]) -> str:
    """The page that links to all reports."""
    return templates().get_template("worksheets.html").render(reports=reports)
