"""Notes on keys: which of those found in the data are shown, and what their intervals say."""

from __future__ import annotations

from collections.abc import Iterator

from dpdb.plan.plan import Plan
from dpdb.plan.relations import Source
from dpdb.plan.statistics import KeyUnits
from dpdb.privacy.thresholding import Threshold


def key_notes(planned: Plan) -> tuple[str, ...]:
    """Notes on keys that were found in the data, and on an answer of declared ones alone."""
    if planned.keys and not planned.estimates and planned.found is None:
        return ("these are the keys that the policy declares, whether rows have them or not",)
    return tuple(dict.fromkeys(note for each in planned.every_plan for note in _notes(each)))


def _notes(planned: Plan) -> Iterator[str]:
    """The notes on the keys of a plan, without its subqueries."""
    for index, release in enumerate(planned.releases):
        if not isinstance(release.statistic, KeyUnits):
            continue
        assert isinstance(release.mechanism, Threshold)
        least, sure = release.mechanism.shown_from, release.mechanism.surely_from
        yield (
            f"shown are keys with about {least} or more {units(planned.table)}, "
            f"and all with {sure} or more"
        )
        columns = [each.label for each in planned.outputs if index in planned.released_for(each)]
        if columns:
            yield (
                f"± of {', '.join(columns)} holds for the keys that are shown; it is wide near "
                f"{least}, where keys are shown that noise was above zero for"
            )


def units(table: Source) -> str:
    """What is counted of each key: rows, or units by the name of their column."""
    return "rows" if table.unit is None else f"different {table.unit_in_words}"
