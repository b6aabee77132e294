"""Parts of tables are put together as often as their number says."""

from __future__ import annotations

from math import isqrt

from dpdb.engines.statistics.gathered import FEW, Gathered


def test_few_parts_wait() -> None:
    """No more than the square root of all before them, or a few: that bounds what they hold."""
    before, waiting = list[int](), list[int]()

    def together(parts: list[int]) -> int:
        before.append(sum(waiting))
        waiting.append(len(parts) - (len(waiting) > 0))
        return sum(parts)

    gathered = Gathered(together)
    for part in range(1_000):
        gathered.add(part)
    assert gathered.all() == sum(range(1_000))
    *usual, last = waiting
    assert usual == [max(FEW, isqrt(number)) + 1 for number in before[:-1]]
    assert sum(waiting) == 1_000
    assert last <= usual[-1]


def test_nothing_was_added() -> None:
    assert not Gathered[int](sum)
