"""Reports as HTML: one file each, with nothing to load from anywhere else."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from dpdb.lab import svg
from dpdb.lab.report import Act, Report, Success, counted
from dpdb.lab.style import STYLE
from dpdb.plots.svg import drawn
from dpdb.shell.escape import printable

_HEADINGS = {"off": "Without privacy", "foil": "With another defence:", "private": "With privacy,"}


def page(told: Report, pages: Sequence[Report] = ()) -> str:
    """One report; among `pages` it links to its neighbours and the index."""
    body = [
        _navigation(told, pages),
        f"<h1>{_safe(told.title)}</h1>",
        f'<p class="source">{_safe(told.source)}</p>',
        _section("The secret", _paragraph(told.secret)),
        _section("The idea", _paragraph(told.idea)),
        *(_act(act) for act in told.acts),
        _section("How often it succeeds", _rates(told)),
        *(_section(figure.title, drawn(figure)) for figure in told.figures),
        _section("What stopped it", _paragraph(told.stopped)),
    ]
    if told.further:
        tasks = "".join(f"<li>{_safe(task)}</li>" for task in told.further)
        body.append(_section("What to try next", f"<ul>{tasks}</ul>"))
    body.append(
        f"<footer>dpdb {_safe(told.version)} · dpdb lab {_safe(told.name)} "
        f"--trials {told.trials} --seed {told.seed}</footer>"
    )
    return _document(told.title, body)


def index(reports: Sequence[Report]) -> str:
    """The page that links to all of them."""
    rows = "".join(_entry(number, told) for number, told in enumerate(reports, 1))
    head = "".join(
        f"<th>{title}</th>"
        for title in ("", "attack", "guessing", "no privacy", "another defence", "with privacy")
    )
    return _document(
        "The attack lab",
        [
            "<h1>The attack lab</h1>",
            "<p>Attacks on statistical databases, each with its defence off and then on: "
            "how often the secret is found out.</p>",
            f'<div class="wide"><table><thead><tr>{head}</tr></thead>'
            f"<tbody>{rows}</tbody></table></div>",
        ],
    )


def _entry(number: int, told: Report) -> str:
    groups = {
        side: "".join(_summary(s) for s in told.successes if s.side == side)
        for side in ("off", "foil", "private")
    }
    guessing = "" if told.baseline is None else f"{told.baseline:.1%}"
    cells = "".join(f"<td>{group}</td>" for group in groups.values())
    return (
        f"<tr><td>{number}</td>"
        f'<td><a href="{_safe(told.name)}.html">{_safe(told.title)}</a></td>'
        f"<td>{guessing}</td>{cells}</tr>"
    )


def _summary(success: Success) -> str:
    label = "" if success.side == "off" else f"{_safe(success.defence)}: "
    return f'<div class="summary {success.side}">{label}<b>{success.rate:.0%}</b></div>'


def _navigation(told: Report, pages: Sequence[Report]) -> str:
    if not pages:
        return ""
    place = pages.index(told)
    links = ['<a href="index.html">all attacks</a>']
    if place > 0:
        links.append(f'<a href="{pages[place - 1].name}.html">← {_safe(pages[place - 1].name)}</a>')
    if place + 1 < len(pages):
        links.append(f'<a href="{pages[place + 1].name}.html">{_safe(pages[place + 1].name)} →</a>')
    return f"<nav>{' · '.join(links)}</nav>"


def _act(act: Act) -> str:
    heading = _HEADINGS[act.side] + ("" if act.side == "off" else f" {act.defence}")
    lines = [_exchange(line.sql, line.answer, line.refused) for line in act.lines]
    if act.omitted:
        lines.insert(-1, f'<li class="omitted">… {act.omitted} more</li>')
    wrong = " wrong" if act.hits < act.tries else " right"
    return (
        f'<section class="act {act.side}"><h2>{_safe(heading)}</h2>'
        + (_paragraph(act.note) if act.note else "")
        + f"<ol>{''.join(lines)}</ol>"
        + f'<p class="inference">∴ {_safe(act.inference)}</p>'
        + f'<p class="verdict{wrong}">guess <b>{_safe(act.guess)}</b> · '
        + f"truth <b>{_safe(act.truth)}</b> · {act.verdict}</p></section>"
    )


def _exchange(sql: str, answer: str, refused: bool) -> str:
    shown = sql if len(sql) <= 130 else sql[:129] + "…"
    kind = "refused" if refused else "answer"
    return f'<li><code>{_safe(shown)}</code><span class="{kind}">{_safe(answer)}</span></li>'


def _rates(told: Report) -> str:
    notes = [f"{counted(told)}; the brackets are 95 % intervals (Clopper and Pearson)."]
    if told.baseline is not None:
        notes.append(f"Dotted: a guess without any answer is right in {told.baseline:.1%}.")
    if any(success.ceiling is not None for success in told.successes):
        notes.append("Diamonds: the most that ε-differential privacy allows.")
    if any(success.broken for success in told.successes):
        notes.append("A red diamond is exceeded: that defence does not keep the ε it claims.")
    return svg.rates(told) + f'<p class="legend">{" ".join(notes)}</p>' + _table(told)


def _table(told: Report) -> str:
    """The numbers of the chart, for those who read tables."""
    head = "".join(
        f"<th>{t}</th>" for t in ("defence", "right", "rate", "95 % interval", "ceiling")
    )
    rows = "".join(
        f"<tr><td>{_safe(s.defence)}</td><td>{s.hits} of {s.tries}</td><td>{s.rate:.1%}</td>"
        f"<td>{s.low:.1%} – {s.high:.1%}</td>"
        f"<td>{'' if s.ceiling is None else f'{s.ceiling:.1%}'}</td></tr>"
        for s in told.successes
    )
    return (
        f"<details><summary>the numbers</summary><table><thead><tr>{head}</tr></thead>"
        f"<tbody>{rows}</tbody></table></details>"
    )


def _section(title: str, body: str) -> str:
    return f"<section><h2>{_safe(title)}</h2>{body}</section>"


def _paragraph(text: str) -> str:
    return f"<p>{_safe(text)}</p>"


def _safe(text: str) -> str:
    return escape(printable(text))


def _document(title: str, body: Sequence[str]) -> str:
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{_safe(title)} · dpdb lab</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        + "\n".join(part for part in body if part)
        + "\n</body>\n</html>\n"
    )
