"""The blanks of a worksheet, by the names under which a browser keeps them."""

from __future__ import annotations

from dpdb.lab.pages.report import Report
from dpdb.records import dataclass


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
