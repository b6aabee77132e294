"""Generated expressions, held against DuckDB on the same rows.

`test_semantics` lists where dpdb means something else; each shape here is written twice, too.
"""

from __future__ import annotations

import math

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from dpdb.errors import MissingBounds, TooLarge
from tests.support.exactly import exactly
from tests.support.two_engines import (
    Pair,
    check_condition,
    check_number,
    check_text,
    duck_rows,
    grid_of_sum,
    grid_point,
    number_leaves,
)

Pairs = st.SearchStrategy[Pair]


def _join(shape: str, *parts: Pair, duck: str | None = None) -> Pair:
    ours = shape.format(*(part[0] for part in parts))
    return ours, (duck or shape).format(*(part[1] for part in parts))


# A bare NULL has no type of its own; these do.
NULL_NUMBER = ("NULLIF(1, 1)", "NULL::DOUBLE")
NULL_TEXT = ("NULLIF('a', 'a')", "NULL::TEXT")
NULL_TRUTH = ("NULLIF(TRUE, TRUE)", "NULL::BOOLEAN")
text_leaves = st.one_of(
    st.sampled_from([("t", "t"), ("s", "s")]),
    st.sampled_from(["a", "b", "abc", "x_y", "10%", "", "É", "it''s"]).map(
        lambda text: (f"'{text}'",) * 2
    ),
)
date_leaves = st.sampled_from(
    [("d", "d"), ("e", "e"), ("DATE '2000-02-29'",) * 2, ("DATE '1970-01-01'",) * 2]
)
truth_leaves = st.sampled_from([("b", "b"), ("c", "c"), ("TRUE", "TRUE"), ("FALSE", "FALSE")])
patterns = st.text(st.sampled_from("ab%_é!c1"), max_size=6)


def _like(text: Pair, pattern: str, negated: bool) -> Pair:
    word = "NOT LIKE" if negated else "LIKE"
    return _join("({0} " + word + f" '{pattern}')", text)


def _members(operand: Pair, items: list[Pair], negated: bool) -> Pair:
    word = "NOT IN" if negated else "IN"
    ours = ", ".join(item[0] for item in items)
    theirs = ", ".join(item[1] for item in items)
    return f"({operand[0]} {word} ({ours}))", f"({operand[1]} {word} ({theirs}))"


def _made(shape: str, *parts: Pairs, duck: str | None = None) -> Pairs:
    return st.builds(lambda *chosen: _join(shape, *chosen, duck=duck), *parts)


def _numbers(number, text, date, truth):
    return st.one_of(
        _made("({0} + {1})", number, number),
        _made("({0} - {1})", number, number),
        _made("({0} * {1})", number, number),
        _made("({0} / {1})", number, number, duck="({0} / NULLIF({1}, 0))"),
        _made("({0} % {1})", number, number, duck="({0} % NULLIF({1}, 0))"),
        _made("(-{0})", number, duck="(0 - {0})"),
        _made("ABS({0})", number),
        _made("FLOOR({0})", number),
        _made("CEIL({0})", number),
        st.integers(-2, 3).flatmap(lambda digits: _made(f"ROUND({{0}}, {digits})", number)),
        _made("LEAST({0}, {1}, {2})", number, number, number),
        _made("GREATEST({0}, {1})", number, number),
        _made("COALESCE({0}, {1})", number, number),
        _made("NULLIF({0}, {1})", number, number),
        _made("CASE WHEN {0} THEN {1} ELSE {2} END", truth, number, number),
        _made("CASE WHEN {0} THEN {1} END", truth, number),
        _made("CASE {0} WHEN {1} THEN {2} ELSE {3} END", text, text, number, number),
        _made("LENGTH({0})", text, duck="length({0})::DOUBLE"),
        _made("({0} - {1})", date, date, duck="({0} - {1})::DOUBLE"),
        _made("CAST({0} AS INTEGER)", truth, duck="{0}::INT::DOUBLE"),
        _made("CAST({0} AS INTEGER)", number, duck="round_even({0}, 0)"),
    )


def _texts(number, text, date, truth):
    return st.one_of(
        _made("LOWER({0})", text, duck="ascii_lower({0})"),
        _made("UPPER({0})", text, duck="ascii_upper({0})"),
        st.tuples(st.integers(1, 4), st.integers(0, 4)).flatmap(
            lambda place: _made(f"SUBSTR({{0}}, {place[0]}, {place[1]})", text)
        ),
        _made("COALESCE({0}, {1})", text, text),
        _made("NULLIF({0}, {1})", text, text),
        _made("CASE WHEN {0} THEN {1} ELSE {2} END", truth, text, text),
        _made("CAST({0} AS TEXT)", truth),
        _made("CAST({0} AS TEXT)", date),
    )


def _dates(number, text, date, truth):
    return st.one_of(
        st.integers(-400, 400).flatmap(lambda days: _made(f"({{0}} + {days})", date)),
        _made("COALESCE({0}, {1})", date, date),
        _made("GREATEST({0}, {1})", date, date),
        _made("NULLIF({0}, {1})", date, date),
        _made("IF({0}, {1}, {2})", truth, date, date),
    )


def _truths(number, text, date, truth):
    signs = st.sampled_from(["=", "<>", "<", "<=", ">", ">="])
    asked = st.sampled_from(["TRUE", "FALSE", "NOT TRUE", "NOT FALSE"])
    null = st.just(("NULL", "NULL"))
    members = st.lists(number_leaves | null, min_size=1, max_size=4)
    words = st.lists(text_leaves | null, min_size=1, max_size=4)
    return st.one_of(
        *(
            st.builds(lambda sign, a, b: _join(f"({{0}} {sign} {{1}})", a, b), signs, kind, kind)
            for kind in (number, text, date, truth)
        ),
        _made("({0} AND {1})", truth, truth),
        _made("({0} OR {1})", truth, truth),
        _made("({0} AND {1} OR NOT {2})", truth, truth, truth),
        _made("(NOT {0})", truth),
        _made("({0} IS NULL)", st.one_of(number, text, date, truth)),
        asked.flatmap(lambda words: _made(f"({{0}} IS {words})", truth)),
        _made("({0} BETWEEN {1} AND {2})", number, number, number),
        _made("({0} NOT BETWEEN {1} AND {2})", date, date, date),
        st.builds(_members, number, members, st.booleans()),
        st.builds(_members, text, words, st.booleans()),
        st.builds(_like, text, patterns, st.booleans()),
        _made("COALESCE({0}, {1})", truth, truth),
        _made("CASE WHEN {0} THEN {1} END", truth, truth),
    )


def _grown(depth: int):
    """Strategies for numbers, texts, dates and truths of at most this depth."""
    leaves = (
        number_leaves | st.just(NULL_NUMBER),
        text_leaves | st.just(NULL_TEXT),
        date_leaves,
        truth_leaves | st.just(NULL_TRUTH),
    )
    if depth == 0:
        return leaves
    below = _grown(depth - 1)
    grow = (_numbers, _texts, _dates, _truths)
    return tuple(_opaque(leaf | make(*below)) for leaf, make in zip(leaves, grow, strict=True))


def _opaque(inner: Pairs) -> Pairs:
    """The same, without the megabytes of its repr."""

    @st.composite
    def pairs(draw):
        return draw(inner)

    return pairs()


NUMBER, TEXT, _, TRUTH = _grown(3)
GENERATED = settings(
    max_examples=100,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@GENERATED
@given(pair=TRUTH)
def test_a_generated_condition_holds_on_the_same_rows(world, pair):
    check_condition(world, *pair)


@GENERATED
@given(pair=NUMBER)
def test_a_generated_number_is_the_same_on_every_row(world, pair):
    values = [value for (value,) in duck_rows(world, pair[1])]
    # Doubles leave their range only after more operations than are nested here.
    assert all(value is None or math.isfinite(value) for value in values)
    ours = f"CLAMP({pair[0]}, -500, 500)"
    theirs = f"CASE WHEN ({pair[1]}) IS NOT NULL THEN greatest(-500, least(500, {pair[1]})) END"
    check_number(world, ours, theirs)


@GENERATED
@given(pair=TEXT)
def test_a_generated_text_is_the_same_on_every_row(world, pair):
    check_text(world, *pair)


RANGES = st.one_of(
    st.builds(
        lambda name, sign, value: _join(f"({{0}} {sign} {{1}})", (name, name), value),
        st.sampled_from(["i", "j", "n", "m"]),
        st.sampled_from(["=", "<", "<=", ">", ">="]),
        number_leaves,
    ),
    st.builds(_members, st.just(("j", "j")), st.lists(number_leaves, min_size=1), st.booleans()),
    _made("({0} BETWEEN {1} AND {2})", number_leaves, number_leaves, number_leaves),
    _made("(NOT {0})", TRUTH),
    TRUTH,
)
CONDITION = _opaque(
    RANGES | _made("({0} AND {1})", RANGES, RANGES) | _made("({0} OR {1})", RANGES, RANGES)
)


@GENERATED
@given(pair=_grown(2)[0], condition=CONDITION)
def test_bounds_narrowed_by_where_hold_the_values(world, pair, condition):
    """What WHERE admits is not clamped: the planned bounds are around all of it."""
    text = f"SELECT SUM({pair[0]}) FROM t WHERE {condition[0]}"
    try:
        grid = grid_of_sum(text, world)
    except (MissingBounds, TooLarge):
        assume(False)
    rows = duck_rows(world, f"({pair[1]})::DOUBLE", f"({condition[1]})")
    expected = sum(
        grid_point(value, grid) for value, chosen in rows if chosen and value is not None
    )
    assert exactly(text, world.policy, world.engine) == [[expected]]
