"""`dpdb risk` on a file of a million rows; the ordinary suite has a tenth of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.interfaces.cli.test_risk import found

SEED = 11


@pytest.mark.examples(10**6, 10**5)
def test_a_large_file(
    examples: int, capsys: pytest.CaptureFixture[str], tmp_path: Path, tried: Callable[[str], None]
) -> None:
    """Against sums over all worlds, for a sample of them and for the one most at risk."""
    generator = np.random.default_rng(SEED)
    values = generator.lognormal(10, 1, examples).round(2)
    file = tmp_path / "pay.csv"
    file.write_text("pay\n" + "\n".join(map(str, values.tolist())) + "\n")
    [result] = found(
        capsys, "--query", "SELECT AVG(pay) FROM pay", "--max-risk", "1/3", file=file
    )  # fmt: skip
    n, total = examples, math.fsum(values)
    low, second, *_, below, high = np.sort(values)
    change = max(total - (n - 1) * low - second, (n - 1) * high + below - total)
    assert result["whole"] == pytest.approx(total / n, rel=1e-12)
    assert result["sensitivity"] == pytest.approx(change / (n - 1) / (n - 2), rel=1e-9)
    assert result["widest"] == pytest.approx((high - low) / (n - 1), rel=1e-9)

    def risk(value: float, epsilon: float) -> float:
        distances = np.abs(values - value) / (n - 1) / result["sensitivity"]
        return float(1 / np.exp(-epsilon * distances).sum())

    most = result["most_at_risk"]
    assert most[0]["missing"] == high
    assert [row["risk"] for row in most] == pytest.approx(
        [risk(row["missing"], result["epsilon"]) for row in most], rel=1e-9
    )
    sample = [*generator.choice(values, 30), low, second]
    assert max(risk(value, result["epsilon"]) for value in sample) <= most[-1]["risk"]
    assert risk(high, result["epsilon"]) <= 1 / 3 < risk(high, result["epsilon"] * 1.0001)
    tried(f"seed {SEED}: {examples} rows")
