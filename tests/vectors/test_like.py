"""LIKE fits a text where some way to spread it over the pattern does."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dpdb.vectors import stored_texts
from dpdb.vectors.stored_texts import fitting

PARTS = st.lists(st.sampled_from([None, "", "a", "b", "ab", ".", "\n", "(?"]), max_size=6)
TEXTS = st.text(st.sampled_from("ab.\n(?"), max_size=8)


def fits(text, pattern):
    """Every way is tried."""
    if not pattern:
        return text == ""
    part, *rest = pattern
    if part is None:
        return any(fits(text[start:], rest) for start in range(len(text) + 1))
    if part == "":
        return text != "" and fits(text[1:], rest)
    return text.startswith(part) and fits(text[len(part) :], rest)


@settings(max_examples=300, deadline=None)
@given(TEXTS, PARTS)
@example("abab", ["a", None, "ab"])
@example("aab", [None, "ab", None, "b"])
@example("ab", ["ab", None, "b"])
@example("abab", ["ab", None, "b", None, "ab"])
def test_like_is_every_way_to_fit(text, pattern):
    assert fitting(tuple(pattern))(text) == fits(text, pattern)


def test_literal_text_is_searched_for_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    """An expression of the whole pattern takes longer the more a text resembles itself."""
    monkeypatch.delattr(stored_texts, "_expression")
    assert fitting(("one", None, "two", None, "three"))("one and two, three")
