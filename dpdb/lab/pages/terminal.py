"""A report as a page for the terminal, narrow enough for a projector, at once or in steps."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from dpdb.errors import printable
from dpdb.lab.pages.characters import figure_text, page_width
from dpdb.lab.pages.report import HEADINGS, Act, Report, ReportLine, Success, counted
from dpdb.records import dataclass

_LONGEST_BAR = 40
_SHORTEST_BAR = 10


def page(report: Report) -> str:
    """The whole report as text."""
    parts = [
        title(report),
        *([wrapped(report.notice)] if report.notice else []),
        told("The secret", report.secret),
        told("The idea", report.idea),
        *(_act(act) for act in report.acts),
        section("How often it succeeds", rates(report)),
        *figures(report),
        told("What stopped it", report.remedy),
    ]
    if report.tasks:
        tasks = (
            f"{wrapped(task.question, first='  • ')}\n{wrapped(task.solution, first='    → ')}"
            for task in report.tasks
        )
        parts.append(section("What to try next", "\n".join(tasks)))
    return "\n\n".join(filter(None, parts)) + "\n"


def title(report: Report) -> str:
    """The title and the source."""
    return f"{printable(report.title)}\n{'━' * page_width()}\n{wrapped(report.source)}"


def section(name: str, body: str) -> str:
    """A part of the page under its heading."""
    return f"{name.upper()}\n{body}"


def told(name: str, text: str) -> str:
    """A text under its heading; nothing if a student's file has no such text."""
    return section(name, wrapped(text)) if text else ""


def wrapped(text: str, first: str = "  ") -> str:
    """A text in lines of the page's width, indented as its first line is."""
    return textwrap.fill(
        printable(text), page_width(), initial_indent=first, subsequent_indent=" " * len(first)
    )


def _act(act: Act) -> str:
    lines = list(map(exchange, act.lines))
    if act.omitted:
        lines.insert(-1, omission(act))
    return "\n".join([heading(act), *lines, *verdict(act)])


def heading(act: Act) -> str:
    """The defence of a run, and its effect."""
    title = HEADINGS[act.side]
    if act.side != "off":
        title = f"{title} {act.defence}"
    return f"── {printable(title)}" + (f"\n{wrapped(act.note)}" if act.note else "")


def exchange(line: ReportLine) -> str:
    """A statement, cut to one line, and its answer below it."""
    asked = _cut(printable(line.sql), page_width() - 4)
    came = _cut(printable(line.answer), page_width() - 8)
    return f"  > {asked}\n      {'✋ ' if line.refused else ''}{came}"


def omission(act: Act) -> str:
    """Number of exchanges left out, in words."""
    return f"  … {act.omitted} more"


def verdict(act: Act) -> tuple[str, str]:
    """The inference from the answers, and the guess beside the truth."""
    mark = "✘" if act.hits < act.tries else "✔"
    guess = f"  → guess {act.guess} · truth {act.truth} · {mark} {act.verdict}"
    return wrapped(act.inference, first="  ∴ "), printable(guess)


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


def figures(report: Report) -> list[str]:
    """The figures, each under its title."""
    return [section(each.title, figure_text(each, page_width())) for each in report.figures]


def rates(report: Report) -> str:
    """Bars of the success rates, with their intervals and ceilings."""
    width = max(len(success.defence) for success in report.successes)
    beside = width + max(len(_figures(success)) for success in report.successes) + 6
    bar = max(_SHORTEST_BAR, min(_LONGEST_BAR, page_width() - beside))
    lines = [wrapped(counted(report)), ""]
    lines += [
        f"  {printable(s.defence):<{width}}  {_bar(s, report.baseline, bar)} {_figures(s)}"
        for s in report.successes
    ]
    if report.baseline is not None:
        blind = f"a guess without any answer is right in {_percent(report.baseline)}"
        lines += ["", wrapped(blind, first="  ┊ ")]
    if any(success.ceiling is not None for success in report.successes):
        most = "the most that ε allows; ✘ more than that: the ε is not what it claims"
        lines.append(wrapped(most, first="  ◆ "))
    return "\n".join(lines)


def _bar(success: Success, baseline: float | None, length: int) -> str:
    """█ up to the rate, ├─┤ over the interval, ┊ for guessing and ◆ for the ceiling."""

    def place(rate: float) -> int:
        return round(rate * length)

    cells = ["█" if cell < place(success.rate) else " " for cell in range(length + 1)]
    if baseline is not None:
        cells[place(baseline)] = "┊"
    low, high = place(success.low), place(success.high)
    if high > low:
        cells[low + 1 : high] = "─" * (high - low - 1)
        cells[low], cells[high] = "├", "┤"
    if success.ceiling is not None:
        cells[place(success.ceiling)] = "◆"
    return "".join(cells)


def _figures(success: Success) -> str:
    text = f"{_percent(success.rate):>7}"
    if success.tries is not None:
        text += f" [{success.low * 100:.1f}, {success.high * 100:.1f}]"
    if success.ceiling is None:
        return text
    return f"{text} ◆ {_percent(success.ceiling)}{' ✘' if success.broken else ''}"


def _percent(rate: float) -> str:
    return f"{rate * 100:.1f} %"


@dataclass(frozen=True)
class StoryPart:
    """A part of the story, and the question that comes before the next one."""

    shown: str
    question: str = ""
    """Empty where the story goes on at once."""


def steps(report: Report) -> Iterator[StoryPart]:
    """The story of `dpdb lab NAME`, in the same order."""
    secret = told("The secret", report.secret)
    yield StoryPart(f"{title(report)}\n\n{secret}", "How would you find it out?")
    yield StoryPart(told("The idea", report.idea))
    for act in report.acts:
        yield from _act_in_steps(act)
    yield StoryPart("", "In how many of a hundred runs does it succeed, against each of these?")
    successes = section("How often it succeeds", rates(report))
    yield StoryPart("\n\n".join([successes, *figures(report)]), "What stopped it?")
    yield StoryPart(told("What stopped it", report.remedy))
    if report.tasks:
        yield StoryPart(section("What to try next", "").rstrip())
    for task in report.tasks:
        yield StoryPart(wrapped(task.question, first="  • "), "What comes out?")
        yield StoryPart(wrapped(task.solution, first="    → "))


def _act_in_steps(act: Act) -> Iterator[StoryPart]:
    yield StoryPart(heading(act), "What would you ask first?")
    for place, line in enumerate(act.lines, 1):
        last = place == len(act.lines)
        before = f"{omission(act)}\n" if last and act.omitted else ""
        question = "What follows from that, and what do you guess?" if last else "And next?"
        yield StoryPart(f"{before}{exchange(line)}", question)
    yield StoryPart("\n".join(verdict(act)))
