"""The one number of each unit of which a cap is found: of all its rows that are held."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path
from random import Random

import numpy as np
import pytest

from tests.engines.conformance.conftest import OpenEngine
from tests.support.exactly import planned, write

POLICY = """
[tables.t]
unit = "who"
rows_per_unit = 2
rows_held_per_unit = 9
[tables.t.columns]
who = {{ type = "text" }}
g = {{ type = "text", values = ["a", "b"] }}
x = {{ type = "number", bounds = [-2, 10], step = 0.5 }}
"""
OPTIONS = "WITH DIFFERENTIAL_PRIVACY OPTIONS(rows_per_unit = 'find')"


@pytest.mark.parametrize("seed", range(3))
def test_numbers_of_units_are_those_of_their_rows(
    seed: int, tmp_path: Path, open_engine: OpenEngine
) -> None:
    """Rows of units of 1 to 8 rows, some without a unit, in any order."""
    random = Random(seed)
    rows = [(f"u{unit}", random.choice("abc"), random.choice(["", -2, 0.5, 3, 10]))
            for unit in range(20) for _ in range(random.randint(1, 8))]  # fmt: skip
    rows += [("", "a", 1), ("u3", "b", "")]
    random.shuffle(rows)
    text = "who,g,x\n" + "".join(f"{who},{g},{x}\n" for who, g, x in rows)
    policy = write(tmp_path, "t", text, POLICY.format())
    counted, known, total = (defaultdict[str, float](float) for _ in range(3))
    for who, g, x in rows:
        if who and g != "c":
            counted[who] += 1
            if x != "":
                known[who] += 1
                total[who] += float(x)
    where = "FROM t WHERE g IN ('a', 'b')"
    for asked, numbers, step in (
        (f"COUNT(*) {where}", counted, 1),
        (f"SUM(x) {where}", total, 0.5),
        (f"SUM(2 * x) {where}", {who: 2 * each for who, each in total.items()}, None),
        (f"AVG(x), SUM(x) {where}", {who: min(each, 2) for who, each in counted.items()}, 1),
        (f"g, COUNT(*) {where} GROUP BY g", {w: min(e, 2) for w, e in counted.items()}, 1),
        ("COUNT(x) FILTER (WHERE g <> 'c') FROM t",
         {who: known[who] for who in counted}, 1),
    ):  # fmt: skip
        (search,) = planned(f"SELECT {OPTIONS} {asked}", policy).subplans
        (result,) = open_engine().exact(search, {})
        (release,) = search.releases
        grid = release.statistic.grid  # type: ignore[union-attr]
        assert step is None or grid.step == step
        found = [each * float(grid.step) for each in np.asarray(result.cells[0]).tolist()]
        assert found == pytest.approx(sorted(numbers.values())), asked


def test_a_unit_that_is_left_out_takes_one_number_with_it(
    tmp_path: Path, open_engine: OpenEngine
) -> None:
    """However many rows it has, before or after WHERE and FILTER."""
    random = Random(5)
    rows = [(f"u{unit}", random.choice("ab"), random.choice([-2, 0.5, 3]))
            for unit in range(6) for _ in range(random.choice([1, 4, 30]))]  # fmt: skip
    for asked in ("SUM(x)", "COUNT(*)", "AVG(x), COUNT(*)", "SUM(x) FILTER (WHERE g = 'a')"):
        found = []
        for without in (None, *(f"u{unit}" for unit in range(6))):
            lines = [f"{who},{g},{x}\n" for who, g, x in rows if who != without]
            policy = write(tmp_path, "t", "who,g,x\n" + "".join(lines), POLICY.format())
            plan = planned(f"SELECT {OPTIONS} {asked} FROM t WHERE x > -1", policy)
            (search,) = plan.subplans
            (result,) = open_engine().exact(search, {})
            found.append(Counter(np.asarray(result.cells[0]).tolist()))
        for each in found[1:]:
            assert not each - found[0]
            assert (found[0] - each).total() <= 1
        assert any((found[0] - each).total() == 1 for each in found[1:])
