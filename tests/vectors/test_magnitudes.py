"""Where arithmetic has no mask for overflow, no row can overflow."""

from __future__ import annotations

import numpy as np
import pytest

from dpdb.plan.expressions.expressions import Expr, children
from dpdb.plan.ranges.ranges import interval
from dpdb.policy.catalog import Kind
from dpdb.vectors import evaluate
from dpdb.vectors.magnitudes import magnitude, stays_finite
from dpdb.vectors.vector import Vector
from tests.support.row_expressions import ROWS, expressions, frame_of, parsed, random_cells

CANCELLING = "((1 / 10 + 0.2 - 0.3 + i * 0) * 1e200) * 1e200"
"""Nothing by interval arithmetic; the error of its doubles is not."""


def _within(expression: Expr) -> list[Expr]:
    return [expression, *(part for child in children(expression) for part in _within(child))]


def test_doubles_keep_within_the_magnitude() -> None:
    bounded = 0
    for number, (text, expression) in enumerate(expressions(200, 5)):
        frame = frame_of(random_cells(number % 4))
        for part in filter(stays_finite, _within(expression)):
            with np.errstate(all="ignore"):
                found = evaluate.evaluate(part, frame)
            assert isinstance(found, Vector), text
            assert np.all(np.abs(found.values) <= magnitude(part) * (1 + 1e-9)), text
            bounded += part.kind is not Kind.BOOLEAN
    assert bounded > 300


def test_cancelling_doubles_are_null_rather_than_infinite() -> None:
    expression = parsed(CANCELLING)
    assert interval(expression, {}).bounded
    with np.errstate(all="ignore"):
        found = evaluate.evaluate(expression, frame_of(random_cells(0)))
    assert isinstance(found, Vector)
    assert found.null is not None
    assert np.broadcast_to(found.null, ROWS).all()
    assert np.isfinite(found.values).all()


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("k * 2 + 1", False), ("k / 12", False), ("k % 7", False), ("ROUND(k / 3, 2)", False),
        ("k / k", True), ("k / 0", True), ("k * 1e300", True), ("k / 5e-324", True), ("f + 1", True),
        ("COALESCE(i, 0) - k", False), ("i - k", True),
    ],
)  # fmt: skip
def test_a_mask_is_there_only_where_a_value_can_be_null(text: str, masked: bool) -> None:
    with np.errstate(all="ignore"):
        found = evaluate.evaluate(parsed(text), frame_of(random_cells(0)))
    assert (found.null is not None) is masked
