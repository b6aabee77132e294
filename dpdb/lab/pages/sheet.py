"""The blanks of a worksheet: their names, what they ask for, and the answers that can be marked."""

from __future__ import annotations

from dpdb.lab.pages.report import Report
from dpdb.records import dataclass


@dataclass(frozen=True)
class Blank:
    """A field of a worksheet."""

    name: str
    """Its name in the form, once in each sheet."""
    label: str
    answer: float | str | None = None
    """The right answer if it can be marked; None for an opinion, a guess or an explanation."""
    lines: int = 1
    near: float = 0.5
    """The distance from the answer within which a number is right; rates are in per cent."""

    def right(self, text: str) -> bool | None:
        """Whether the entry is right; None if it is empty or cannot be marked."""
        entry = text.strip().casefold()
        if not entry or self.answer is None:
            return None
        if isinstance(self.answer, str):
            return entry == self.answer.casefold()
        try:
            number = float(entry.removesuffix("%").strip().replace(",", "."))
        except ValueError:
            return False
        return abs(number - self.answer) <= self.near


def blanks(report: Report) -> dict[str, Blank]:
    """The blanks of the worksheet on a report by name, in the order of the page."""
    found = [Blank("name", "Name"), Blank("ask", "What would you ask?", lines=2)]
    for place, act in enumerate(report.acts):
        truth = act.truth if act.tries == 1 else None
        found += [
            Blank(f"follows{place}", "What follows?", lines=2),
            Blank(f"guess{place}", "Your guess"),
            Blank(f"sure{place}", "How sure are you, in per cent?"),
            Blank(f"truth{place}", "The truth", _number_or_text(truth), near=0),
        ]
    found += [
        Blank("expected", "expected, of a guess without any answer"),
        Blank("found", "found, of a guess without any answer", _per_cent(report.baseline)),
    ]
    for place, success in enumerate(report.successes):
        found.append(Blank(f"expected{place}", f"expected: {success.defence}"))
        if success.ceiling is not None:
            ceiling = _per_cent(success.ceiling)
            found.append(Blank(f"ceiling{place}", f"ceiling: {success.defence}", ceiling))
        rate = _per_cent(success.rate)
        found.append(Blank(f"found{place}", f"found: {success.defence}", rate))
    found.append(Blank("remedy", "What stopped it", lines=5))
    for place, task in enumerate(report.tasks):
        found.append(Blank(f"task{place}", task.question, task.answer, 3, task.near))
    return {blank.name: blank for blank in found}


def _per_cent(rate: float | None) -> float | None:
    return None if rate is None else 100 * rate


def _number_or_text(text: str | None) -> float | str | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        return text
