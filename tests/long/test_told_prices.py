"""What is told is what is charged: in random sessions, however they are asked."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random

import pytest

from tests.long.parts import Part
from tests.support.told_prices import World

KINDS = ("answers", "free", "repeated", "asked later", "plans", "dearer", "refused")


@pytest.mark.examples(5_000, 160, most=500)
def test_prices_are_the_same_wherever_they_are_told(part: Part, tmp_path: Path, tried) -> None:
    """Told before = charged = taken off what is left = recorded; a repeat is free and equal.

    So it is for analysts with and without limits, for plans, repeats, refinements and compositions,
    and for two tables whose columns have the same names. A plan that passes is answered for what it
    says, and says where its statements cost more than one by one.
    """
    outcomes: Counter[str] = Counter()
    for at in range(part.examples):
        folder = tmp_path / str(at)
        folder.mkdir()
        world = World.random(Random(f"{part.seed} {at}"), folder)
        world.run()
        outcomes += world.outcomes
    tried(f"{part}: {dict(outcomes)}")
    assert set(outcomes) == set(KINDS)
    assert outcomes["answers"] > 4 * part.examples
