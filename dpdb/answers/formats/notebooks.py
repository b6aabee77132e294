"""An answer in a notebook: a small HTML table."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from dpdb.answers.formats.footer import TRIAL, footer
from dpdb.answers.formats.render import FORMATS
from dpdb.answers.formats.sheet import is_numeric, text_sheet
from dpdb.answers.record import AnswerRecord

if TYPE_CHECKING:
    from jinja2 import Template


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
