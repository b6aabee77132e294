"""Tests of columns as they are stored, without the work of making doubles."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from functools import reduce
from typing import Any

import numpy as np

from dpdb.vectors.columns import Codes, Numbers
from dpdb.vectors.vector import Array, Bools, Vector, truth

FEW = 8
"""How many constants are looked for one by one."""


def tested(held: Numbers, test: Callable[[Any], Any]) -> Vector:
    """A test of a column's numbers as they are stored, false where they are NULL.

    Where the test is false for the filler, which is public, it is false for every NULL.
    """
    passed = test(held.units)
    return truth(passed, held.null) if test(held.filler) else Vector(passed, held.null)


def with_any_code(chosen: Bools, held: Codes) -> Bools:
    """Whether the code of each cell is one of the chosen; comparing is faster than looking up.

    Which way is taken tells what is chosen, so the dictionary must be public.
    """
    if len(chosen) == 1:  # a constant, whatever the code
        return chosen
    true = np.flatnonzero(chosen)
    if len(true) == 0:
        return np.zeros(1, dtype=bool)
    first, last = int(true[0]), int(true[-1])
    if first == last:
        return held.with_code(first)
    if last - first + 1 == len(true):
        return np.asarray((held.codes >= first) & (held.codes <= last))
    return chosen.take(held.codes)


def among(values: Array, listed: Array) -> Bools:
    """Whether each value is listed. The way to search depends on the list's length alone."""
    if len(listed) <= FEW:
        return equal_to_any(values, listed)
    places = np.searchsorted(listed, values).clip(max=len(listed) - 1)
    return np.asarray(listed[places] == values)


def equal_to_any(values: Array | int, listed: Iterable[Any]) -> Bools:
    """Whether each value equals one of those listed."""
    equal = [np.equal(values, each) for each in listed]
    return reduce(operator.or_, equal or [np.zeros(np.shape(values), dtype=np.bool_)])
