"""Interval arithmetic over cells: every value inside, and no wider than it need be."""

from __future__ import annotations

import itertools
import math
import random

import numpy as np
import pytest

from dpdb.answers.estimates import vector
from dpdb.answers.intervals.interval_arithmetic import Bounds, bounds_of
from dpdb.plan.expressions.expressions import Arithmetic, Call, Expr, Literal, Not, Slot
from dpdb.policy.catalog import Kind
from dpdb.vectors.evaluate import Frame, evaluate
from dpdb.vectors.vector import Vector

X, Y = Slot("aggregate", 0, Kind.NUMBER), Slot("aggregate", 1, Kind.NUMBER)
KEY, TEXT = Slot("key", 0, Kind.INTEGER), Slot("key", 1, Kind.TEXT)
NOTHING = Frame({}, {})


def number(value: int) -> Literal:
    return Literal(value, Kind.INTEGER)


def of(operator: str, left: Expr, right: Expr) -> Arithmetic:
    return Arithmetic(operator, left, right, Kind.NUMBER)


def call(name: str, *arguments: Expr) -> Call:
    return Call(name, arguments, Kind.NUMBER)


def box(*cells: tuple[float, float]) -> Bounds:
    """Ends cell by cell."""
    low, high = np.array(cells, dtype=np.float64).T
    return low, high


def pairs(found: Bounds | None) -> list[tuple[float, float]]:
    assert found is not None
    return list(zip(*(end.tolist() for end in found), strict=True))


BOXES = [(-3.5, -1.5), (-2.0, 3.0), (0.5, 2.5), (1.0, 1.0)]
EXPRESSIONS = {
    "sum": of("+", X, Y),
    "difference": of("-", X, Y),
    "product": of("*", X, Y),
    "quotient": of("/", X, Y),
    "absolute": call("abs", X),
    "least": call("least", X, Y),
    "greatest": call("greatest", X, Y),
    "floor": call("floor", X),
    "ceil": call("ceil", X),
    "round": call("round", X, number(0)),
    "clamp": call("clamp", X, number(-1), number(2)),
    "root": call("sqrt", X),
    "logarithm": call("ln", X),
    "power of e": call("exp", X),
    "cut off": call("trunc", X),
    "nested": of("-", of("*", X, number(3)), call("abs", Y)),
}


@pytest.mark.parametrize("expression", EXPRESSIONS.values(), ids=EXPRESSIONS)
@np.errstate(all="ignore")
def test_every_value_is_inside_and_the_ends_are_reached(expression: Expr) -> None:
    """Where the operands' boxes are all that is known, the range is that of their values."""
    rng = random.Random(11)
    for first, second in itertools.product(BOXES, repeat=2):
        [(low, high)] = pairs(bounds_of(expression, {X: box(first), Y: box(second)}, NOTHING))
        inside = [(rng.uniform(*first), rng.uniform(*second)) for _ in range(300)]
        inside += itertools.product(_turns(first), _turns(second))
        values = _values(expression, inside)
        assert all(low <= value <= high for value in values)
        if math.isfinite(low) and math.isfinite(high):
            assert (min(values), max(values)) == (low, high)


def _turns(ends: tuple[float, float]) -> tuple[float, ...]:
    """The ends of a box, and zero if it is between them: |x| is least there."""
    low, high = ends
    return (low, 0.0, high) if low < 0 < high else ends


def _values(expression: Expr, points: list[tuple[float, float]]) -> list[float]:
    """What the expression is at points; where it is undefined, nothing."""
    x, y = np.array(points).T
    found = evaluate(expression, Frame({}, {X: Vector(x), Y: Vector(y)}))
    assert isinstance(found, Vector)
    defined = np.full(len(x), fill_value=True) if found.null is None else ~found.null
    return list(found.values[defined])


def test_each_cell_has_its_own_bounds() -> None:
    known = {X: box((1, 2), (-5, 5)), Y: box((10, 20), (0, 1))}
    assert pairs(bounds_of(of("+", X, Y), known, NOTHING)) == [(11, 22), (-5, 6)]


@pytest.mark.parametrize("divisor", [(-1, 1), (0, 1), (-1, 0), (0, 0)])
@np.errstate(all="ignore")
def test_a_quotient_is_anything_where_the_divisor_may_be_zero(divisor: tuple[float, float]) -> None:
    found = bounds_of(of("/", X, Y), {X: box((1, 2)), Y: box(divisor)}, NOTHING)
    assert pairs(found) == [(-math.inf, math.inf)]


def test_what_is_public_is_a_point() -> None:
    frame = Frame({}, {KEY: vector([3, 4], Kind.INTEGER), TEXT: vector(["a", "b"], Kind.TEXT)})
    known = {X: box((0, 1), (0, 1))}
    assert pairs(bounds_of(of("+", X, KEY), known, frame)) == [(3, 4), (4, 5)]
    assert pairs(bounds_of(number(7), {}, frame)) == [(7, 7)]
    assert bounds_of(TEXT, known, frame) is None


@pytest.mark.parametrize(
    "expression",
    [
        Literal(None, Kind.NUMBER),
        Literal("a", Kind.TEXT),
        Not(X),
        of("%", X, Y),
        call("coalesce", X, Y),
        call("nullif", X, Y),
    ],
    ids=["NULL", "text", "NOT", "%", "COALESCE", "NULLIF"],
)
def test_what_is_not_worked_out_has_no_bounds(expression: Expr) -> None:
    known = {X: box((0, 1)), Y: box((0, 1))}
    assert bounds_of(expression, known, NOTHING) is None
    assert bounds_of(of("+", X, expression), known, NOTHING) is None
    assert bounds_of(call("abs", expression), known, NOTHING) is None
