"""Different texts of cells, of which keys are kept."""

from __future__ import annotations

import numpy as np
import pytest

from dpdb.engines.statistics.gathered import DifferentTexts


@pytest.mark.parametrize("cells", [1, 2, 3, 8, 9, 1_000])
def test_a_text_counts_once_in_each_cell(cells: int) -> None:
    """Rows come in blocks, and those in a group past the last one are in no cell."""
    random = np.random.default_rng(cells)
    hashes = random.integers(2**64, size=7, dtype=np.uint64)
    different, copy = DifferentTexts(cells), DifferentTexts(cells)
    found: set[tuple[int, int]] = set()
    for number in range(30):
        groups, texts = random.integers(cells + 1, size=50), random.choice(hashes, size=50)
        (copy if number % 3 else different).add(groups, texts)
        found.update(zip(groups.tolist(), texts.tolist(), strict=True))
    different.join(copy)
    expected = [sum(cell == own for own, _ in found) for cell in range(cells)]
    assert different.per_cell().tolist() == expected


def test_a_text_counts_once_where_there_are_no_groups() -> None:
    different = DifferentTexts(1)
    for block in ([5, 6], [2**64 - 1, 0, 5, 5]):
        different.add(None, np.array(block, dtype=np.uint64))
    assert different.per_cell().tolist() == [4]
