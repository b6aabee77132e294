"""Expressions: equal meaning is written one way, and nothing in them is overlooked."""

from __future__ import annotations

import pytest

from dpdb.plan.expressions.expressions import (
    Arithmetic,
    Call,
    Case,
    Cast,
    ColumnRef,
    Compare,
    Expr,
    InList,
    IsNull,
    Like,
    Literal,
    Logic,
    Not,
    Slot,
    children,
    columns_of,
    compare,
    conjunction,
    height,
    logic,
    size,
    slots,
)
from dpdb.policy.catalog import Column, Kind

A, B, C = (ColumnRef(Column(name, Kind.BOOLEAN)) for name in "abc")
X, Y = (ColumnRef(Column(name, Kind.INTEGER)) for name in "xy")
ONE = Literal(1, Kind.INTEGER)
FIRST, SECOND = Slot("aggregate", 0, Kind.NUMBER), Slot("aggregate", 1, Kind.NUMBER)
INNER = Slot("subquery", 0, Kind.NUMBER)


def test_a_conjunction_is_of_the_conditions_that_are_there() -> None:
    assert conjunction() is None
    assert conjunction(None, None) is None
    assert conjunction(None, A) == A
    assert conjunction(A, None, B) == Logic("and", (A, B))


def test_operands_are_flat_sorted_and_there_once() -> None:
    expected = Logic("and", (A, B, C))
    assert logic("and", [C, logic("and", [B, A])]) == expected
    assert logic("and", [logic("and", [A, B]), logic("and", [C, B])]) == expected
    assert logic("or", [A, A]) == A
    assert logic("or", [C, logic("and", [B, A])]) == Logic("or", (C, Logic("and", (A, B))))


def test_operands_of_all_types_have_one_order() -> None:
    """That of their text, so that it depends neither on the query's nor on a hash."""
    parts: list[Expr] = [
        Compare("<", X, ONE), Compare("<", Y, ONE), InList(X, (1,), False), Not(A), A, B,
        IsNull(X), Like(X, ("a",)), Literal(True, Kind.BOOLEAN), Cast(X, Kind.BOOLEAN),
        Logic("or", (A, B)), Call("coalesce", (A, B), Kind.BOOLEAN), Case(((A, B),), C, Kind.BOOLEAN),
    ]  # fmt: skip
    expected = Logic("and", tuple(sorted(parts, key=repr)))
    assert logic("and", parts) == logic("and", parts[::-1]) == expected


@pytest.mark.parametrize(
    ("operator", "other"), [("<", ">"), ("<=", ">="), ("=", "="), ("<>", "<>")]
)
def test_comparisons_point_one_way(operator: str, other: str) -> None:
    assert compare(operator, X, Y) == compare(other, Y, X)
    assert compare(operator, X, Y).operator == operator


def test_what_is_not_equal_stays_apart() -> None:
    assert compare("<", X, Y) != compare("<", Y, X)
    assert compare("<", X, Y) != compare("<=", X, Y)


NESTED: list[tuple[Expr, tuple[Expr, ...]]] = [
    (ONE, ()),
    (X, ()),
    (FIRST, ()),
    (Arithmetic("-", X, Y, Kind.INTEGER), (X, Y)),
    (compare("<", X, Y), (X, Y)),
    (Logic("or", (A, B, C)), (A, B, C)),
    (Not(A), (A,)),
    (IsNull(X), (X,)),
    (InList(X, (1, 2), null=False), (X,)),
    (Like(X, ("a", None)), (X,)),
    (Cast(X, Kind.TEXT), (X,)),
    (Case(((A, X), (B, Y)), ONE, Kind.INTEGER), (A, X, B, Y, ONE)),
    (Call("least", (X, Y, ONE), Kind.INTEGER), (X, Y, ONE)),
]


@pytest.mark.parametrize(
    ("expression", "operands"), NESTED, ids=[type(e).__name__ for e, _ in NESTED]
)
def test_every_operand_is_found(expression: Expr, operands: tuple[Expr, ...]) -> None:
    assert children(expression) == operands
    assert size(expression) == 1 + len(operands)
    assert height(expression) == bool(operands)
    assert columns_of(expression) == columns_of(Logic("and", (expression,)))


def test_depth_and_size_are_of_all_that_is_within() -> None:
    expression = Not(Logic("and", (A, compare("<", X, Arithmetic("+", Y, ONE, Kind.INTEGER)))))
    assert height(expression) == 4
    assert size(expression) == 8
    assert set(columns_of(expression)) == {"a", "x", "y"}


def test_slots_are_told_apart_by_their_role() -> None:
    expression = Call("least", (SECOND, Not(INNER), Cast(FIRST, Kind.TEXT)), Kind.NUMBER)
    assert slots(expression, "aggregate") == {0, 1}
    assert slots(expression, "subquery") == {0}
    assert slots(expression, "key") == set()
