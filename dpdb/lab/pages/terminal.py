"""A report as a page for the terminal, narrow enough for a projector."""

from __future__ import annotations

import textwrap

from dpdb.errors import printable
from dpdb.lab.attack import StudentTask
from dpdb.lab.pages.report import HEADINGS, Act, Report, ReportLine, Success, counted
from dpdb.lab.plots.terminal import WIDTH, figure_text

_BAR = 40


def page(report: Report) -> str:
    """The whole report as text."""
    parts = [
        title(report),
        *([wrapped(report.notice)] if report.notice else []),
        section("The secret", wrapped(report.secret)),
        section("The idea", wrapped(report.idea)),
        *(_act(act) for act in report.acts),
        section("How often it succeeds", rates(report)),
        *(section(figure.title, figure_text(figure)) for figure in report.figures),
        section("What stopped it", wrapped(report.remedy)),
    ]
    if report.tasks:
        parts.append(section("What to try next", "\n".join(map(_task, report.tasks))))
    return "\n\n".join(parts) + "\n"


def _task(task: StudentTask) -> str:
    question = wrapped(task.question, first="  • ")
    return f"{question}\n{wrapped(task.solution, first='    → ')}"


def title(report: Report) -> str:
    """The title and the source."""
    return f"{printable(report.title)}\n{'━' * WIDTH}\n{wrapped(report.source)}"


def section(name: str, body: str) -> str:
    """A part of the page under its heading."""
    return f"{name.upper()}\n{body}"


def wrapped(text: str, first: str = "  ") -> str:
    """A text in lines of the page's width, indented as its first line is."""
    return textwrap.fill(
        printable(text), WIDTH, initial_indent=first, subsequent_indent=" " * len(first)
    )


def _act(act: Act) -> str:
    lines = list(map(exchange, act.lines))
    if act.omitted:
        lines.insert(-1, omission(act))
    return "\n".join([heading(act), *lines, *verdict(act)])


def heading(act: Act) -> str:
    """What the run is against, and what that does."""
    title = HEADINGS[act.side]
    if act.side != "off":
        title = f"{title} {act.defence}"
    return f"── {printable(title)}" + (f"\n{wrapped(act.note)}" if act.note else "")


def exchange(line: ReportLine) -> str:
    """A statement, cut to one line, and its answer below it."""
    asked = _cut(printable(line.sql), WIDTH - 4)
    came = _cut(printable(line.answer), WIDTH - 8)
    return f"  > {asked}\n      {'✋ ' if line.refused else ''}{came}"


def omission(act: Act) -> str:
    """How many exchanges are left out."""
    return f"  … {act.omitted} more"


def verdict(act: Act) -> tuple[str, str]:
    """What follows from the answers; and the guess beside the truth."""
    mark = "✘" if act.hits < act.tries else "✔"
    guess = f"  → guess {act.guess} · truth {act.truth} · {mark} {act.verdict}"
    return wrapped(act.inference, first="  ∴ "), printable(guess)


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


def rates(report: Report) -> str:
    """Bars of the success rates, with their intervals and ceilings."""
    width = max(len(success.defence) for success in report.successes)
    lines = [wrapped(counted(report)), ""]
    lines += [
        f"  {printable(s.defence):<{width}}  {_bar(s, report.baseline)} {_figures(s)}"
        for s in report.successes
    ]
    if report.baseline is not None:
        lines.append(f"\n  ┊ a guess without any answer is right in {_percent(report.baseline)}")
    if any(success.ceiling is not None for success in report.successes):
        lines.append("  ◆ the most that ε allows; ✘ more than that: the ε is not what it claims")
    return "\n".join(lines)


def _bar(success: Success, baseline: float | None) -> str:
    """█ up to the rate, ├─┤ over the interval, ┊ for guessing and ◆ for the ceiling."""
    cells = ["█" if place < round(success.rate * _BAR) else " " for place in range(_BAR + 1)]
    if baseline is not None:
        cells[_place(baseline)] = "┊"
    low, high = _place(success.low), _place(success.high)
    if high > low:
        cells[low + 1 : high] = "─" * (high - low - 1)
        cells[low], cells[high] = "├", "┤"
    if success.ceiling is not None:
        cells[_place(success.ceiling)] = "◆"
    return "".join(cells)


def _place(rate: float) -> int:
    return round(rate * _BAR)


def _figures(success: Success) -> str:
    text = f"{_percent(success.rate):>7}"
    if success.tries is not None:
        text += f" [{success.low * 100:.1f}, {success.high * 100:.1f}]"
    if success.ceiling is None:
        return text
    return f"{text} ◆ {_percent(success.ceiling)}{' ✘' if success.broken else ''}"


def _percent(rate: float) -> str:
    return f"{rate * 100:.1f} %"
