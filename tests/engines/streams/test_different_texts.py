"""Different texts, by keys that chance could give to two of them."""

from __future__ import annotations

import numpy as np
import pytest

from dpdb.engines.streams.different_texts import DifferentTexts


def per_cell(monkeypatch: pytest.MonkeyPatch, *rows: tuple[int, int]) -> list[int]:
    """The number of texts of two cells, whose hashes are 0 and 1; rows are a cell and a hash."""
    different = DifferentTexts(2)
    monkeypatch.setattr(different, "_cell_hashes", np.array([0, 1], dtype=np.uint64))
    for cell, text in rows:
        different.add(np.array([cell]), np.array([text], dtype=np.uint64))
    return [int(number) for number in different.per_cell()]


@pytest.mark.parametrize("rows", [((1, 4), (0, 5)), ((0, 5), (1, 4)), ((0, 5), (1, 4), (0, 5))])
def test_a_row_takes_no_place_of_another_cell_with_its_key(
    rows: tuple[tuple[int, int], ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert per_cell(monkeypatch, *rows) == [1, 1]


def test_a_key_counts_once_in_its_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    assert per_cell(monkeypatch, (0, 5), (0, 5), (1, 5)) == [1, 1]
