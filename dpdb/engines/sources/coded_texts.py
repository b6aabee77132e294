"""The texts of distinct cells, each with a code. They are made when they are first asked for.

Many questions read the codes alone, such as how many texts there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from dpdb.engines.sources.csv_records import Cells
from dpdb.engines.sources.distinct_cells import DistinctCells
from dpdb.engines.sources.packed_cells import PackedCells


class FoundTexts(Sequence[str]):
    """Texts, each once and in no order: first those of plain cells, then further ones."""

    def __init__(self, plain: PackedCells, further: Sequence[str]) -> None:
        self._plain = plain
        self._further = further
        self._length = len(plain) + len(further)
        self._made: tuple[str, ...] | None = None

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts())

    @overload
    def __getitem__(self, place: int) -> str: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[str]: ...

    def __getitem__(self, place: int | slice) -> str | Sequence[str]:
        return self._texts()[place]

    def _texts(self) -> tuple[str, ...]:
        plain = self._plain
        if self._made is None:
            self._made = (*plain.texts(), *self._further)
            # Another thread may have come so far, which holds them until it needs them no more.
            self._plain = plain.among(np.empty(0, np.intp))
        return self._made


def coded_texts(
    distinct: DistinctCells, quote: bytes, read: Callable[[bytes], str | None]
) -> tuple[FoundTexts, NDArray[Any]]:
    """The texts of cells, each once, and for each cell the code of its own.

    `read` says what the text of a cell is, None if it has none; of a plain one it is not asked.
    The code after the last text stands for None.
    """
    number = len(distinct)
    special = np.flatnonzero(~distinct.packed.plain(quote))
    texts = [read(raw) for raw in distinct.cells(special).written()]
    # A text that has to be read may be that of a plain cell, too, and then gets the code of that.
    written = Cells.of([(text or "").encode() for text in texts])
    simple = PackedCells.of(written).plain(quote)
    same = distinct.numbers(written.among(np.flatnonzero(simple)))
    plain = distinct.packed.plain(quote)
    codes = np.cumsum(plain) - 1
    others = [text for text, known in zip(texts, simple.tolist(), strict=True) if not known]
    further = tuple(text for text in dict.fromkeys(others) if text is not None)
    found = FoundTexts(distinct.packed.among(np.flatnonzero(plain)), further)
    last = range(len(found) - len(further), len(found) + 1)
    code_of = dict(zip((*further, None), last, strict=True))
    codes[special[simple]] = codes[same]
    codes[special[~simple]] = [code_of[text] for text in others]
    return found, codes[:number].astype(np.min_scalar_type(len(found)))
