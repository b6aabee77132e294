"""An answer by group as bars with error bars, from its noisy values alone."""

from __future__ import annotations

from dpdb.answers.answer import Answer
from dpdb.answers.formats.footer import cautions
from dpdb.answers.formats.sheet import ONLY_NOISE, cell_text
from dpdb.errors import UnknownName, UsageError, did_you_mean, display_width, printable
from dpdb.records import dataclass

NARROWEST = 10
"""The least width of the bars, in columns of the terminal."""


@dataclass(frozen=True)
class _Bar:
    """The bar of one group; without a value it is empty."""

    label: str
    text: str
    value: float | None
    low: float = 0.0
    high: float = 0.0


def chart(answer: Answer, column: str, width: int) -> str:
    """The chart of the noisy `column`, by default the first, of an answer with one key."""
    noisy = _noisy_columns(answer)
    keys = [i for i in range(len(answer.columns)) if i not in noisy]
    if len(keys) != 1 or not noisy or not answer.rows:
        raise UsageError(
            "a chart needs one column of GROUP BY, and a noisy number in each row",
            hint="SELECT x, COUNT(*) FROM t GROUP BY x;",
        )
    chosen = _chosen(answer, noisy, column)
    bars = [_bar(answer, row, keys[0], chosen) for row in range(len(answer.rows))]
    title = f"{answer.columns[chosen]} by {answer.columns[keys[0]]}"
    if _has_intervals(answer, chosen):
        title += ", ± at 95 %"
    title += "".join(f" · {caution}" for caution in cautions(answer))
    return "\n".join([printable(title), *_drawn(bars, width)])


def _noisy_columns(answer: Answer) -> list[int]:
    """The indices of columns with intervals or with selected numbers, which have no interval."""
    selected = {report.column for report in answer.releases if report.margin is None}
    return [
        i
        for i, name in enumerate(answer.columns)
        if _has_intervals(answer, i)
        or (name in selected and any(isinstance(row[i], int | float) for row in answer.rows))
    ]


def _has_intervals(answer: Answer, column: int) -> bool:
    return any(row[column] is not None for row in answer.intervals)


def _chosen(answer: Answer, noisy: list[int], column: str) -> int:
    if not column:
        return noisy[0]
    names = {answer.columns[i].casefold(): i for i in reversed(noisy)}
    if column.casefold() not in names:
        known = [answer.columns[i] for i in noisy]
        hint = did_you_mean(column, known) or f"columns are {', '.join(known)}"
        raise UnknownName(f"no column {column} to draw", hint=hint)
    return names[column.casefold()]


def _bar(answer: Answer, row: int, key: int, column: int) -> _Bar:
    value, interval = answer.rows[row][column], answer.intervals[row][column]
    label, text = cell_text(answer.rows[row][key], None), cell_text(value, interval)
    flags = answer.cells[column].only_noise
    if flags is not None and flags[row]:
        text += f" ({ONLY_NOISE})"
    if not isinstance(value, int | float):
        return _Bar(label, text, None)
    low, high = (value if end is None else end for end in interval or (value, value))
    assert isinstance(low, int | float)
    assert isinstance(high, int | float)
    return _Bar(label, text, value, low, high)


def _drawn(bars: list[_Bar], width: int) -> list[str]:
    labels, texts = (max(display_width(t) for t in column) for column in
                     ([b.label for b in bars], [b.text for b in bars]))  # fmt: skip
    room = max(width - labels - texts - 3, NARROWEST)
    known = [bar for bar in bars if bar.value is not None]
    least = min([0.0, *(bar.low for bar in known)])
    most = max([0.0, *(bar.high for bar in known)])
    scale = (room - 1) / (most - least or 1.0)
    return [
        f"{_padded(bar.label, labels)} {_line(bar, least, scale, room)} {_padded(bar.text, texts)}"
        for bar in bars
    ]


def _padded(text: str, width: int) -> str:
    return " " * (width - display_width(text)) + text


def _line(bar: _Bar, least: float, scale: float, room: int) -> str:
    """A solid bar from zero to the value, and over it ├─┼─┤ from low to high, if they are apart."""
    if bar.value is None:
        return " " * room
    zero, value, low, high = (
        round((end - least) * scale) for end in (0.0, bar.value, bar.low, bar.high)
    )
    cells = [" "] * room
    for at in range(min(zero, value), max(zero, value) + 1):
        cells[at] = "█"
    if bar.low < bar.high:
        cells[low : high + 1] = "─" * (high - low + 1)
        cells[low], cells[high], cells[value] = "├", "┤", "┼"
    return "".join(cells)
