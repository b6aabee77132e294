"""Parts of tables are put together as often as their number says."""

from __future__ import annotations

from dpdb.engines.streams.gathered import Gathered


def test_what_is_put_together_grows_by_a_quarter() -> None:
    """So a part is put together with others about five times, however many there are."""
    touched = list[int]()

    def together(parts: list[int]) -> int:
        touched.append(len(parts))
        return sum(parts)

    gathered = Gathered(together)
    for part in range(1_000):
        gathered.add(part)
    assert gathered.all() == sum(range(1_000))
    times, sizes = len(touched), touched[1:-1]
    assert times < 30
    assert all(size >= 9 for size in sizes)
    assert max(sizes) <= 1_000 // 5 + 2


def test_nothing_was_added() -> None:
    assert not Gathered[int](sum)
