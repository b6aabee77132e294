"""Units of several rows: which of them count is settled by the unit's own rows, in many tables."""

from __future__ import annotations

import pytest

from dpdb.policy.catalog import Column
from tests.privacy.test_unit_sensitivity import OWNERS, dropped_by_capping


@pytest.mark.examples(1000, 1)
@pytest.mark.parametrize("owner", OWNERS, ids=lambda column: f"{column.kind}-{column.bounds}")
def test_a_units_rows_are_kept_whatever_the_others_are(owner: Column, examples: int, tried) -> None:
    dropped = [dropped_by_capping(owner, cap, examples) for cap in (1, 2, 3)]
    tried(f"{3 * examples} tables, {sum(dropped)} rows left out")
