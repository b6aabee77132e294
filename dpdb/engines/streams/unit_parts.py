"""The rows of a table whose units are named by a column, in parts that each have whole units.

Which part a unit is in follows from a hash of its name. How many parts there are follows from the
size of the table's file, which everybody knows who may list it. Each part is gathered in one pass
over all rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from dpdb.engines.relations.row_unions import one_after_the_other
from dpdb.engines.sources.protocol import Loaded
from dpdb.engines.streams.unit_words import unit_hashes
from dpdb.plan.expressions.single_values import UnitValue, single_value
from dpdb.plan.logical.query import are_sought
from dpdb.plan.physical.plan import Plan
from dpdb.policy.catalog import Table
from dpdb.vectors.vector import Array


def caps_groups(plan: Plan) -> bool:
    """Whether units are in so many groups at most, which is decided before their rows are capped.

    It takes all rows of a unit to decide both.
    """
    assert isinstance(plan.table, Table)
    return bool(plan.keys and plan.table.groups_per_unit is not None)


def looks_at_units(plan: Plan) -> bool:
    """Whether a plan needs the rows of a unit that count together."""
    arguments = (estimate.aggregate.argument for estimate in plan.estimates)
    return are_sought(plan.found) or any(
        isinstance(single_value(argument), UnitValue) for argument in arguments
    )


def part_of(blocks: Iterable[Loaded], unit: str, number: int, parts: int) -> Loaded:
    """Of all blocks, one at least, the rows of the units of one part."""
    chosen = []
    for block in blocks:
        part = unit_hashes(block.columns[unit]) % parts
        chosen.append(rows_of(block, np.flatnonzero(part == number)))
    return _together(chosen)


def rows_of(block: Loaded, rows: Array) -> Loaded:
    """Some rows of a block."""
    columns = {name: column.taken(rows) for name, column in block.columns.items()}
    return Loaded(columns, len(rows), block.version)


def _together(blocks: Sequence[Loaded]) -> Loaded:
    """The rows of all blocks, whose columns are taken out, so that each is freed when joined."""
    names, rows = list(blocks[0].columns), sum(block.rows for block in blocks)
    columns = {
        name: one_after_the_other([block.columns.pop(name) for block in blocks]) for name in names
    }
    return Loaded(columns, rows, blocks[0].version)
