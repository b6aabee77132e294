"""Quotes around cells are taken away where there are none within."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dpdb.engines.sources.cells.plain import within_quotes
from dpdb.vectors import grammar
from tests.support.csv_files import cells_of

PARTS = st.sampled_from([b"", b"a", b'"', b'""', b"'", b"\0", b"\xff", b"x" * 7, b"y" * 30])
RAWS = st.lists(PARTS, max_size=5).map(b"".join)


@pytest.mark.parametrize("quote", [b'"', b"'", b""])
@settings(max_examples=60, deadline=None)
@given(raws=st.lists(RAWS, max_size=12))
@example(raws=[b'"a"', b'""', b'"', b'"""', b'"a"b"', b'a"', b'"a', b'"' + b"x" * 40 + b'"'])
@example(raws=[b'"' + b"x" * place + b'"' + b"x" * (40 - place) + b'"' for place in range(41)])
def test_cells_keep_their_text(quote, raws):
    found = within_quotes(cells_of(raws), quote).written()
    for raw, inner in zip(raws, found, strict=True):
        simple = bool(quote) and len(raw) > 1 and raw[:1] == raw[-1:] == quote
        assert inner == (raw[1:-1] if simple and quote not in raw[1:-1] else raw)
        assert grammar.text(inner, quote) == grammar.text(raw, quote)
