"""Generated expressions, held against DuckDB on the same rows.

`test_semantics` lists where dpdb means something else; each shape here is written twice, too.
"""

from __future__ import annotations

import math

from hypothesis import HealthCheck, assume, given, settings

from dpdb.errors import MissingBounds, TooLarge
from tests.support.exactly import exactly_of, planned
from tests.support.generated_expressions import CONDITION, NUMBER, TEXT, TRUTH, grown
from tests.support.two_engines import (
    check_condition,
    check_number,
    check_text,
    duck_rows,
    grid_of,
    grid_point,
)

GENERATED = settings(
    max_examples=30,  # tests/long has thousands
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@GENERATED
@given(pair=TRUTH)
def test_a_generated_condition_holds_on_the_same_rows(fast_world, pair):
    check_condition(fast_world, *pair)


@GENERATED
@given(pair=NUMBER)
def test_a_generated_number_is_the_same_on_every_row(fast_world, pair):
    values = [value for (value,) in duck_rows(fast_world, pair[1])]
    # Doubles leave their range only after more operations than are nested here.
    assert all(value is None or math.isfinite(value) for value in values)
    ours = f"CLAMP({pair[0]}, -500, 500)"
    theirs = f"CASE WHEN ({pair[1]}) IS NOT NULL THEN greatest(-500, least(500, {pair[1]})) END"
    check_number(fast_world, ours, theirs)


@GENERATED
@given(pair=TEXT)
def test_a_generated_text_is_the_same_on_every_row(fast_world, pair):
    check_text(fast_world, *pair)


@GENERATED
@given(pair=grown(2)[0], condition=CONDITION)
def test_bounds_narrowed_by_where_hold_the_values(fast_world, pair, condition):
    """What WHERE admits is not clamped: the planned bounds are around all of it."""
    text = f"SELECT SUM({pair[0]}) FROM t WHERE {condition[0]}"
    try:
        plan = planned(text, fast_world.policy)
    except (MissingBounds, TooLarge):
        assume(False)
    grid = grid_of(plan)
    rows = duck_rows(fast_world, f"({pair[1]})::DOUBLE", f"({condition[1]})")
    expected = sum(
        grid_point(value, grid) for value, chosen in rows if chosen and value is not None
    )
    assert exactly_of(plan, fast_world.engine) == [[expected]]
