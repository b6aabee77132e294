"""Window functions over the rows of an answer, which are noisy: post-processing."""

from __future__ import annotations

import numpy as np

from dpdb.answers.tables.noisy_table import order_keys
from dpdb.plan.logical.derived import Window
from dpdb.plan.logical.row_tables import PICKS, TOTALS
from dpdb.vectors.evaluate import Frame, evaluate, holds
from dpdb.vectors.relational.keys import ranks, sort_keys, spread
from dpdb.vectors.relational.windows import FrameTotals, OrderedRows
from dpdb.vectors.vector import AnyVector, alike, choose, finite, numbers


def values(window: Window, frame: Frame, number: int) -> AnyVector:
    """The value of a window function on each of so many rows."""
    keys = [evaluate(each, frame) for each in window.partition]
    within = [key for each in keys for key in sort_keys(each, number)]
    by = order_keys(window.order, frame, number)
    rows = OrderedRows.of(within, by, np.arange(number))
    if window.function in PICKS:
        return _picked(window, frame, rows)
    if window.function in TOTALS:
        return _total(window, frame, rows, number)
    return numbers(rows.ranked(window))


def _picked(window: Window, frame: Frame, rows: OrderedRows) -> AnyVector:
    """The value of another row; where there is none, the default of LAG and LEAD, or NULL."""
    chosen, there = rows.picked(window)
    if window.function not in ("lag", "lead"):
        return evaluate(window.arguments[0], frame).take(chosen).with_nulls(~there)
    value, default = alike([evaluate(each, frame) for each in window.arguments[:2]])
    return choose(there, value.take(chosen), default)


def _total(window: Window, frame: Frame, rows: OrderedRows, number: int) -> AnyVector:
    """COUNT, SUM, AVG, MIN or MAX of the rows that each row reads."""
    counted, ranked = np.ones(number, dtype=np.bool_), np.zeros(number)
    if window.where is not None:
        counted &= holds(window.where, frame)
    if window.arguments:
        argument = evaluate(window.arguments[0], frame)
        counted &= ~spread(argument.null, number)
        ranked = spread(ranks(argument).astype(np.float64), number)
    totals = FrameTotals(rows, window, counted)
    if window.function == "count":
        return numbers(totals.number)
    return finite(totals.of(ranked, np.inf), totals.number == 0)
