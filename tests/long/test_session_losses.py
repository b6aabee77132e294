"""No random session loses more, all draws together, than its ledger says is spent."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random

import pytest

from tests.audit.test_session_losses import CASES, Case, caps, loses_no_more_than_is_spent
from tests.long.parts import Part
from tests.support.random_sessions import random_pair
from tests.support.witnessed_sessions import check


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "case" in metafunc.fixturenames:
        long = metafunc.config.getoption("--scale") > 0
        metafunc.parametrize("case", CASES if long else CASES[:1], ids=" ".join)


def test_sessions_with_other_caps_lose_no_more_than_is_spent(case: Case, tmp_path: Path) -> None:
    for cap in caps(case)[1:]:
        loses_no_more_than_is_spent(case, cap, tmp_path)


@pytest.mark.examples(5_000, 15, most=250)
def test_random_sessions_lose_no_more_than_is_spent(part: Part, tmp_path: Path, tried) -> None:
    """Nor is anything told on neighbouring tables that differs, where noisy values are equal."""
    outcomes: Counter[str] = Counter()
    for at in range(part.examples):
        chance = Random(f"{part.seed} {at}")
        pair = random_pair(chance, tmp_path)
        told, witness = check(pair.script, pair.one, pair.other, at)
        outcomes["answered"] += sum(each.text.startswith("{") for each in told)
        outcomes["statements"] += len(told)
        for draw in witness.draws:
            outcomes[type(draw.kind).__name__] += 1
            outcomes["moved"] += draw.inputs[0] != draw.inputs[1]
    tried(f"{part}: {dict(outcomes)}")
    assert outcomes["answered"] > outcomes["statements"] / 2
    assert outcomes["moved"] > part.examples
