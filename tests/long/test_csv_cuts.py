"""Records are the same wherever a CSV file is cut: random quotes, separators and line ends."""

from __future__ import annotations

import io
from collections import Counter
from random import Random
from unittest import mock

import pytest

from dpdb.engines.sources.cells import cuts, records
from dpdb.policy.csv.csv_format import Punctuation
from tests.long.parts import Part

TOKENS = (",", "\r", "\n", "\r\n", "a")


def rows_of(text: bytes, width: int, punctuation: Punctuation) -> list[tuple[bytes, ...]]:
    return [
        row
        for block in records.blocks(io.BytesIO(text), width, punctuation)
        for row in zip(*(block.column(at).written() for at in range(width)), strict=True)
    ]


@pytest.mark.examples(60_000, 200, most=2_000)
def test_ranges_of_a_file_have_its_records(part: Part, tried) -> None:
    random, seen = Random(part.seed), Counter[str]()
    for _ in range(part.examples):
        quote = random.choice(['"', '"', "'", ""])
        weights = random.choice(
            [(5, 1, 3, 1, 2, 1, 2), (2, 4, 3, 1, 1, 1, 1), (1, 6, 4, 2, 3, 2, 0)]
        )
        tokens = random.choices((quote, quote * 2, *TOKENS), weights, k=random.randint(0, 150))
        width = random.choice([1, 3, 3])
        header, text = b"x,y,z\n", "".join(tokens).encode()
        punctuation = Punctuation(b",", quote.encode(), b".", random.random() < 0.8)
        within, piece = random.choice([5, 9, 17, 20_001]), random.choice([1, 5, 20, 40])
        file = header + text
        with (
            mock.patch.multiple(records, WITHIN=within, BLOCK=random.choice([4, 16, 64, 1 << 20])),
            mock.patch.multiple(cuts, WITHIN=within, PIECE=piece, _VIEW=random.choice([1, 8, 99])),
            mock.patch.object(cuts, "RANGE", random.choice([1, 2, 3])),
        ):
            found = cuts.ranges(
                lambda place, size, file=file: file[place : place + size],
                len(header), len(file), punctuation,
            )  # fmt: skip
            number = -(-max(1, -(-len(text) // piece)) // cuts.RANGE)
            assert len(found) == number, "the number follows from the size"
            assert all(start <= stop for start, stop in found)
            parts = [file[start:stop] for start, stop in found]
            assert b"".join(parts) == text
            apart = [row for each in parts for row in rows_of(each, width, punctuation)]
            assert apart == rows_of(text, width, punctuation), (text, punctuation, within, piece)
        places = range(piece, len(text), piece)
        seen["CRLF on a cut"] += any(text[at - 1 : at + 1] == b"\r\n" for at in places)
        seen["lines within quotes"] += any(row.count(b"\n") for each in apart for row in each)
        seen["no line end"] += not text.endswith((b"\r", b"\n"))
        seen["empty"] += not text
    assert len(seen) == 4
    tried(f"{part.examples} files: {dict(seen)}")
