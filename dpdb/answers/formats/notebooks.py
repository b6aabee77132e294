"""An answer in a notebook: a small HTML table, and a figure of matplotlib with error bars."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any

from dpdb.answers.formats.footer import TRIAL, cautions, footer
from dpdb.answers.formats.frames import typed
from dpdb.answers.formats.render import FORMATS
from dpdb.answers.formats.sheet import is_numeric, text_sheet
from dpdb.answers.record import AnswerRecord, Origin
from dpdb.errors import UsageError, printable
from dpdb.policy.catalog import Kind

if TYPE_CHECKING:
    from jinja2 import Template
    from matplotlib.axes import Axes


KINDS = ("bar", "line")
_NUMBERS = (Kind.INTEGER, Kind.NUMBER)
_CAP = 3
"""The length of the caps of error bars, in points."""


def plotted(answer: AnswerRecord, axes: Axes | None, kind: str | None) -> Axes:
    """The noisy numbers of an answer over the keys before them, drawn into `axes` or new ones.

    Numbers over one key that is a number with decimals, a date or a timestamp are lines, others are
    bars. A single row without keys has a bar for each column.
    """
    if kind is not None and kind not in KINDS:
        raise UsageError(f"there is no plot {kind}", hint='kind="bar" or kind="line"')
    kinds, (keys, shown) = answer.kinds, over_keys(answer)
    if not shown:
        raise UsageError(
            "there is no noisy number to plot",
            hint="SELECT zip, COUNT(*) FROM t GROUP BY zip has one for each zip",
        )
    series = [series_of(answer, place) for place in shown]
    places = on_a_scale(answer, keys)
    continuous = places is not None and kinds[keys[0]] is not Kind.INTEGER
    kind = kind or ("line" if continuous else "bar")
    if axes is None:
        import matplotlib.pyplot as plt  # noqa: PLC0415 (slow, and for this alone)

        _, axes = plt.subplots()
    if kind == "bar" or places is None:
        labels = [label(answer, keys, row) for row in range(len(answer.rows))]
        if not keys and len(answer.rows) == 1:
            labels, series = [name for name, *_ in series], [_as_one(series)]
        places = list(range(len(labels)))
        axes.set_xticks(places, labels, parse_math=False)
    _draw(axes, places, series, kind)
    _caption(axes, answer, [answer.columns[place] for place in keys], [name for name, *_ in series])
    return axes


def over_keys(answer: AnswerRecord) -> tuple[list[int], list[int]]:
    """The places of the keys, and of the noisy numbers over them; none if nothing is drawn."""
    origins = answer.origins
    shown = [
        place
        for place, (origin, each) in enumerate(zip(origins, answer.kinds, strict=False))
        if origin is not Origin.KEY and each in _NUMBERS
    ]
    if not shown or not answer.cells:
        return [], []
    keys = [place for place in range(shown[0]) if origins[place] is Origin.KEY]
    return keys, shown


def on_a_scale(answer: AnswerRecord, keys: list[int]) -> list[Any] | None:
    """The one key of each row as a number or a date; None where there are others, or a NULL."""
    if len(keys) != 1 or not answer.kinds[keys[0]].ordinal:
        return None
    cells = [typed(cell, answer.kinds[keys[0]]) for cell in answer.cells[keys[0]].cells]
    return None if None in cells else cells


Series = tuple[str, list[float], list[float], list[float]]
"""A name, numbers, and the lengths of the error bars below and above them."""


def series_of(answer: AnswerRecord, place: int) -> Series:
    """The numbers of a column; a NULL is left out, and so is an end that only a bound limits."""
    column = answer.cells[place]
    values = [math.nan if cell is None else float(cell) for cell in column.cells]
    ends = [interval or (None, None) for interval in column.intervals]
    below, above = (
        [
            0.0 if end[side] is None else max(0.0, sign * (float(end[side] or 0) - value))
            for value, end in zip(values, ends, strict=True)
        ]
        for side, sign in ((0, -1), (1, 1))
    )
    return printable(answer.columns[place]), values, below, above


def _as_one(series: list[Series]) -> Series:
    """The first numbers of several columns as one column."""
    _, values, below, above = ([each[place][0] for each in series] for place in range(4))
    return "", values, below, above  # type: ignore[return-value]


def label(answer: AnswerRecord, keys: list[int], row: int) -> str:
    """The keys of a row as one text."""
    cells = [answer.cells[place].cells[row] for place in keys]
    return printable(" · ".join("NULL" if cell is None else str(cell) for cell in cells))


def _draw(axes: Axes, places: list[Any], series: list[Series], kind: str) -> None:
    if kind == "line":
        for name, values, *errors in series:
            axes.errorbar(places, values, errors, fmt="o-", capsize=_CAP, label=name)
        return
    width = 0.8 / len(series)
    for number, (name, values, *errors) in enumerate(series):
        shift = (number - (len(series) - 1) / 2) * width
        shifted = [place + shift for place in places]
        axes.bar(shifted, values, width, yerr=errors, capsize=_CAP, label=name)


def _caption(axes: Axes, answer: AnswerRecord, keys: list[str], names: list[str]) -> None:
    """Say what the axes are; no text of a query is read as mathematics."""
    axes.set_xlabel(printable(" · ".join(keys)), parse_math=False)
    if len(names) == 1:
        axes.set_ylabel(names[0], parse_math=False)
    else:
        for text in axes.legend().get_texts():
            text.set_parse_math(False)
    if told := cautions(answer):
        axes.set_title(" · ".join(told), parse_math=False)


_SCREEN = '<div class="dpdb-answer"><pre>{{ screen }}</pre></div>'
_TABLE = """\
<div class="dpdb-answer">
{%- if trial %}
<p><b>{{ trial }}</b></p>
{%- endif %}
<table>
<thead><tr>
{%- for name, align in columns %}<th scope="col" style="text-align: {{ align }}">{{ name }}</th>
{%- endfor %}</tr></thead>
<tbody>
{%- for row in rows %}
<tr>
{%- for cell in row %}<td style="text-align: {{ columns[loop.index0][1] }}">{{ cell }}</td>
{%- endfor %}</tr>
{%- endfor %}
</tbody>
</table>
{%- if lines %}
<p>{% for line in lines %}{{ line }}{% if not loop.last %}<br>{% endif %}{% endfor %}</p>
{%- endif %}
</div>"""


def as_html(answer: AnswerRecord) -> str:
    """The command line's table as HTML, every text escaped, with the footer below."""
    screen = FORMATS["table"].screen(answer)
    if screen is not None:
        return _template(_SCREEN).render(screen=screen)
    header, texts = text_sheet(answer)
    sides = ["right" if is_numeric(column) else "left" for column in texts]
    columns, rows = list(zip(header, sides, strict=True)), list(zip(*texts, strict=True))
    lines = footer(answer).splitlines()[1:]
    if answer.trial:
        lines.append(TRIAL)
    trial = TRIAL if answer.trial else ""
    return _template(_TABLE).render(columns=columns, rows=rows, lines=lines, trial=trial)


@cache
def _template(text: str) -> Template:
    from jinja2 import Environment, StrictUndefined  # noqa: PLC0415 (slow)

    return Environment(autoescape=True, undefined=StrictUndefined).from_string(text)
