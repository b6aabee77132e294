"""An answer in a notebook: a small HTML table, or a DataFrame of pandas.

No other module of the room imports pandas, and this one is given nothing but noisy values.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from dpdb.answers.formats.footer import footer
from dpdb.answers.formats.sheet import is_numeric, sheet, text_sheet
from dpdb.answers.record import AnswerRecord, Cell
from dpdb.errors import UsageError
from dpdb.policy.catalog import Kind

if TYPE_CHECKING:
    import pandas as pd
    from jinja2 import Template


_TABLE = """\
<div class="dpdb-answer">
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
    header, texts = text_sheet(answer)
    sides = ["right" if is_numeric(column) else "left" for column in texts]
    columns, rows = list(zip(header, sides, strict=True)), list(zip(*texts, strict=True))
    lines = footer(answer).splitlines()[1:]
    return _template().render(columns=columns, rows=rows, lines=lines)


@cache
def _template() -> Template:
    from jinja2 import Environment, StrictUndefined  # noqa: PLC0415 (slow)

    return Environment(autoescape=True, undefined=StrictUndefined).from_string(_TABLE)


_TYPES = {
    Kind.INTEGER: "Int64",
    Kind.NUMBER: "Float64",
    Kind.TEXT: "str",
    Kind.BOOLEAN: "boolean",
    Kind.DATE: "datetime64[s]",
    Kind.TIMESTAMP: "datetime64[us]",
}
INT64_MAX = 2**63 - 1


def data_frame(answer: AnswerRecord) -> pd.DataFrame:
    """The answer's table without intervals; see Answer.to_pandas for the types."""
    try:
        import pandas as pd  # noqa: PLC0415 (slow, and for this alone)
    except ModuleNotFoundError:
        raise UsageError("to_pandas() needs pandas", hint='pip install "dpdb[pandas]"') from None
    header, shown = sheet(answer)
    kinds: Sequence[Kind | None] = answer.kinds or [None] * len(header)
    columns = {
        i: pd.Series(column.cells, dtype=_type(kind, column.cells))
        for i, (kind, column) in enumerate(zip(kinds, shown, strict=True))
    }
    # Two columns may have the same name, so the names come last.
    return pd.DataFrame(columns).set_axis(header, axis="columns")


def _type(kind: Kind | None, cells: Sequence[Cell]) -> str | None:
    """The type of a column; None, for pandas to choose, if no query says what it is."""
    if kind is Kind.INTEGER and any(isinstance(c, int) and abs(c) > INT64_MAX for c in cells):
        return _TYPES[Kind.NUMBER]
    return None if kind is None else _TYPES[kind]
