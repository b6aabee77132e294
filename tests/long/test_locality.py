"""Many random expressions: what one is for a row is a function of that row alone."""

from __future__ import annotations

import pytest

from tests.support.row_expressions import expressions
from tests.vectors.test_locality import _first_difference


@pytest.mark.examples(20_000, 60)
def test_a_row_alone_is_what_it_is_among_others(examples: int, tried) -> None:
    assert _first_difference(expressions(examples, seed=100)) is None
    tried(f"{examples} expressions")
