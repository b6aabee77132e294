"""The texts of distinct cells, each with a code. They are made when they are first asked for.

Many questions read the codes alone, such as how many texts there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from dpdb.engines.sources.csv_records import Cells
from dpdb.engines.sources.distinct_cells import DistinctCells
from dpdb.engines.sources.packed_cells import PackedCells


class FoundTexts(Sequence[str]):
    """Texts, each once and in no order, of which `make` makes so many."""

    def __init__(self, number: int, make: Callable[[], Iterable[str]]) -> None:
        self._number = number
        self._make = make
        self._made: tuple[str, ...] | None = None

    def __len__(self) -> int:
        return self._number

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts())

    @overload
    def __getitem__(self, place: int) -> str: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[str]: ...

    def __getitem__(self, place: int | slice) -> str | Sequence[str]:
        return self._texts()[place]

    def _texts(self) -> tuple[str, ...]:
        # Another thread may make them, too: it holds what they are made of for so long.
        make = self._make
        if self._made is None:
            self._made = tuple(make())
            self._make = tuple
        return self._made


def coded_texts(
    distinct: DistinctCells, quote: bytes, read: Callable[[bytes], str | None]
) -> tuple[FoundTexts, NDArray[Any]]:
    """The texts of cells, each once, and for each cell the code of its own.

    `read` says what the text of a cell is, None if it has none; of a plain one it is not asked.
    The code after the last text stands for None.
    """
    plain = distinct.packed.plain(quote)
    known, special = len(plain), np.flatnonzero(~plain)
    texts = [read(raw) for raw in distinct.cells(special).written()]
    # A text that has to be read may be that of a plain cell, too, and then gets the code of that
    # cell. Where there is none so far, it joins the distinct ones.
    written = Cells.of([(text or "").encode() for text in texts])
    is_plain = PackedCells.of(written).plain(quote)
    twins = distinct.numbers(written.among(np.flatnonzero(is_plain)))
    plain = np.append(plain, np.ones(len(distinct) - known, dtype=np.bool_))
    # The texts of plain cells have the first codes, and those of no plain cell the next.
    codes = np.cumsum(plain) - 1
    codes[special[is_plain]] = codes[twins]
    others = [texts[place] for place in np.flatnonzero(~is_plain).tolist()]
    further = tuple(text for text in dict.fromkeys(others) if text is not None)
    packed, first = distinct.packed, int(np.count_nonzero(plain))
    number = first + len(further)
    code_of = dict(zip((*further, None), range(first, number + 1), strict=True))
    codes[special[~is_plain]] = [code_of[text] for text in others]

    def make() -> Iterable[str]:
        return (*packed.among(np.flatnonzero(plain)).texts(), *further)

    return FoundTexts(number, make), codes[:known].astype(np.min_scalar_type(number))
