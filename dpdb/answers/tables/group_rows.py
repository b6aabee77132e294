"""The groups of an answer: the keys of each, and the order in which they stand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from operator import is_not

import numpy as np
import numpy.typing as npt

from dpdb.answers.estimates import Noisy, vector
from dpdb.plan.expressions.expressions import Slot
from dpdb.plan.logical.query import KeyRow, are_sought
from dpdb.plan.physical.plan import Plan
from dpdb.policy.catalog import Value
from dpdb.vectors.vector import AnyVector


def with_keys(plan: Plan, rows: tuple[KeyRow, ...]) -> Plan:
    """The plan with the keys found in the data that are shown."""
    if plan.found is None or not are_sought(plan.found):
        return plan
    shown = replace(plan, found=replace(plan.found, shown=rows))
    if plan.competing_rows == plan.found.most:  # and not with the rows of other answers
        return replace(shown, competing_rows=max(shown.cells, 1))
    return shown


def with_all_keys(plan: Plan, noisy: Noisy) -> Plan:
    """The plan and its subplans, each with the keys that are shown."""
    if noisy.subresults:
        below = zip(plan.subplans, noisy.subresults, strict=True)
        subplans = tuple(with_all_keys(*each) for each in below)
        if any(map(is_not, subplans, plan.subplans)):
            plan = replace(plan, subplans=subplans)
    return with_keys(plan, noisy.keys)


def key_vectors(plan: Plan) -> Mapping[Slot, AnyVector]:
    """The values of each GROUP BY key, one for each group."""
    return {
        Slot("key", index, key.kind): vector(values, key.kind).take(places)
        for (index, key), (values, places) in zip(enumerate(plan.keys), _keys(plan), strict=True)
    }


def group_order(plan: Plan) -> npt.NDArray[np.intp]:
    """The groups by their first key, then by their second, and so on.

    Declared values stand in the order of their declaration, and found ones by size, NULL last.
    """
    if plan.found is None or len(plan.found.places) == len(plan.keys):
        return np.arange(plan.cells)
    places = [places for _, places in _keys(plan)]
    return np.lexsort(places[::-1])


KeyPlaces = list[tuple[tuple[Value | None, ...], npt.NDArray[np.intp]]]
"""For each key its different values, and for each group the index of its value."""


def _keys(plan: Plan) -> KeyPlaces:
    """The places of all keys; declared keys change faster from group to group than found ones."""
    groups = np.arange(plan.cells)
    repeated = declared = len(groups) // max(1, _found_rows(plan))
    keys: KeyPlaces = []
    for index, values in enumerate(plan.key_values):
        if plan.found is not None and index in plan.found.places:
            different, places = _found(plan, plan.found.places.index(index))
            keys.append((different, places[groups // max(1, declared)]))
        else:
            repeated //= len(values)
            keys.append((values, groups // max(1, repeated) % len(values)))
    return keys


def _found_rows(plan: Plan) -> int:
    return 1 if plan.found is None else len(plan.found.shown or ())


def _found(plan: Plan, column: int) -> tuple[tuple[Value | None, ...], npt.NDArray[np.intp]]:
    """The different values of a found key in their order, NULL last, and each row's index."""
    assert plan.found is not None
    values = [row[column] for row in plan.found.shown or ()]
    known = sorted({value for value in values if value is not None})
    different = (*known, None) if None in values else tuple(known)
    index = {value: place for place, value in enumerate(different)}
    return different, np.array([index[value] for value in values], dtype=np.intp)
