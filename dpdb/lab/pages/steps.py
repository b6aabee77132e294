"""A report in steps, with a question for the class before whatever it could find out itself."""

from __future__ import annotations

from collections.abc import Iterator

from dpdb.lab.pages import terminal
from dpdb.lab.pages.report import Act, Report
from dpdb.records import dataclass


@dataclass(frozen=True)
class StoryPart:
    """A part of the story, and the question that comes before the next one."""

    shown: str
    question: str = ""
    """Empty where the story goes on at once."""


def steps(report: Report) -> Iterator[StoryPart]:
    """The story of `dpdb lab NAME`, in the same order."""
    secret = terminal.section("The secret", terminal.wrapped(report.secret))
    yield StoryPart(f"{terminal.title(report)}\n\n{secret}", "How would you find it out?")
    yield StoryPart(terminal.section("The idea", terminal.wrapped(report.idea)))
    for act in report.acts:
        yield from _act(act)
    yield StoryPart("", "In how many of a hundred runs does it succeed, against each of these?")
    rates = terminal.section("How often it succeeds", terminal.rates(report))
    yield StoryPart("\n\n".join([rates, *terminal.figures(report)]), "What stopped it?")
    yield StoryPart(terminal.section("What stopped it", terminal.wrapped(report.remedy)))
    if report.tasks:
        yield StoryPart(terminal.section("What to try next", "").rstrip())
    for task in report.tasks:
        yield StoryPart(terminal.wrapped(task.question, first="  • "), "What comes out?")
        yield StoryPart(terminal.wrapped(task.solution, first="    → "))


def _act(act: Act) -> Iterator[StoryPart]:
    yield StoryPart(terminal.heading(act), "What would you ask first?")
    for place, line in enumerate(act.lines, 1):
        last = place == len(act.lines)
        before = f"{terminal.omission(act)}\n" if last and act.omitted else ""
        question = "What follows from that, and what do you guess?" if last else "And next?"
        yield StoryPart(f"{before}{terminal.exchange(line)}", question)
    yield StoryPart("\n".join(terminal.verdict(act)))
