"""Parts of texts are found where they are, and not where two texts meet."""

from __future__ import annotations

import random

import numpy as np
import pyarrow
import pytest

from dpdb.engines.sources.arrow import texts as arrow_texts
from dpdb.engines.sources.arrow.texts import ArrowTexts, MarkedBytes, begins_with

PARTS = ["a", "ab", "aba", "ä", "ab" * 16, "ab" * 16 + "a", "ab" * 200]


@pytest.mark.parametrize("size", [0, 1, 63, 64, 65, 128, 200])
def test_marks_before_each_place_are_counted(size: int) -> None:
    marks = np.random.default_rng(size).random(size) < 0.5
    places = np.arange(size + 1)
    assert MarkedBytes.of(marks).before(places).tolist() == [
        *map(sum, map(marks.__getitem__, map(slice, places)))
    ]


def test_a_part_can_be_longer_than_all_bytes() -> None:
    raw = np.frombuffer(b"aab", np.uint8)
    assert [begins_with(part, raw).tolist() for part in (b"a", b"ab", b"aab", b"aaab")] == [
        [True, True, False],
        [False, True, False],
        [True, False, False],
        [False, False, False],
    ]


@pytest.mark.parametrize("part", PARTS)
def test_texts_that_have_a_part_are_found(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether its last bytes are those of the text, or it is in two texts; also in a few rows."""
    monkeypatch.setattr(arrow_texts, "_BLOCK", 100)
    draw = random.Random(len(part))
    texts = [
        "".join(draw.choices(["a", "b", "ä"], [9, 9, 1], k=draw.randrange(6))) for _ in range(950)
    ]
    texts += [part, part[:-1], part[1:], "b" + part, part + "b", "ab" * 300, "", "ab", "abab"] * 3
    held = ArrowTexts(pyarrow.array(texts, pyarrow.large_string()), nullable=True)
    expected = [part in text for text in texts]
    assert held.containing(part).tolist() == expected
    assert held.within(slice(940, 970)).containing(part).tolist() == expected[940:970]
