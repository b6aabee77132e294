"""Texts are those that the grammar reads of each cell by itself, and each has one code."""

from __future__ import annotations

from unittest.mock import patch

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dpdb.engines.sources.cells.distinct import DistinctCells, coded_texts
from dpdb.engines.sources.cells.words import PackedCells
from dpdb.vectors import grammar
from tests.support.csv_files import cells_of

PARTS = st.sampled_from(
    [b"", b"a", b"Abel Wo", b"ods", b'"', b'""', b"'", b"\0", b"?", b"\n", b"\x7f", b"\x80",
     b"\xff", "é".encode(), "\ue000".encode(), "😀".encode(), b"x" * 8, b"x" * 40]
)  # fmt: skip
RAWS = st.lists(PARTS, max_size=4).map(b"".join)


@pytest.mark.parametrize("quote", [b'"', b"'", b""])
@settings(max_examples=60, deadline=None)
@given(raws=st.lists(RAWS, max_size=12))
@example(raws=[b'"a"', b"a", b"", b'""', b"a\0", b"a\x80", b"a?", b"\0"])
@example(raws=[b'"""a"""', b'"a"', b"a", b'"b"', b'"\xff"', b"\xfe", "\ufffd".encode(), b'"b"b'])
@example(raws=["\ue000".encode(), "😀".encode(), b"\xff", b"x" * 8, b"x" * 16, b"x" * 17])
def test_texts_are_those_of_the_grammar(quote, raws):
    def read(raw):
        return grammar.text(raw, quote) or None

    distinct = DistinctCells()
    numbers = distinct.numbers(cells_of(raws))
    values, codes = coded_texts(distinct, quote, read)
    assert [(*values, None)[code] for code in codes[numbers].tolist()] == [*map(read, raws)]
    assert len(values) == len({*values}) == len({*map(read, raws)} - {None})


def test_plain_texts_are_made_many_at_a_time():
    """So that the test above compares them with the grammar, not the grammar with itself."""
    distinct = DistinctCells()
    distinct.numbers(cells_of([b"Abel Woods", b"a", b"x" * 50, b"\x7f\n"]))
    values, _ = coded_texts(distinct, b'"', lambda _: pytest.fail("a plain cell was asked for"))
    assert [*values] == ["Abel Woods", "a", "x" * 50, "\x7f\n"]


def test_texts_are_made_when_they_are_first_asked_for():
    """Their number is known before, which is all that counting needs."""
    distinct = DistinctCells()
    distinct.numbers(cells_of([b"Abel Woods", b'"Abel Woods"', b'"a, b"', "José".encode()]))
    with patch.object(PackedCells, "texts", autospec=True, side_effect=PackedCells.texts) as made:
        values, codes = coded_texts(distinct, b'"', grammar.text)
        assert (len(values), codes.tolist(), made.call_count) == (3, [0, 0, 1, 2], 0)
        assert [*values, values[0], *values[1:]] == [*values] * 2
        assert made.call_count == 1
