"""The papers' figures: each line of them against its formula, and one point worked out by hand."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from dpdb.interfaces.cli.main import main
from dpdb.lab.figures import Lines

ROOT = Path(__file__).parents[2]
DAYS = "SELECT AVG(absence_days) FROM students"
YEAR = "SELECT AVG(school_year) FROM students"


def laplace(mean: float, s: float) -> Callable[[float], float]:
    """Hu's equation 7.4."""
    return lambda x: math.exp(-abs(x - mean) / s) / (2 * s)


class Curve(NamedTuple):
    """A line of a paper's figure, its formula, and a point of it worked out by hand."""

    where: str
    command: str
    label: str
    formula: Callable[[float], float]
    point: tuple[float, float]


RISK = f"risk sample_data/students.csv --query '{DAYS}'"
CURVES = [
    # Shoaran: 100 ln 2, 10 ln 2; ln 10 / (0.01 · 0.1), ln 10 / (0.1 · 0.1).
    Curve("Shoaran, figure 1", "utility --figure 1", "ε = 0.01",
          lambda pr: -100 * math.log(pr), (0.5, 69.3147)),
    Curve("Shoaran, figure 1", "utility --figure 1", "ε = 0.1",
          lambda pr: -10 * math.log(pr), (0.5, 6.9315)),
    Curve("Shoaran, figure 2", "utility --figure 2", "pr = 0.1",
          lambda epsilon: math.log(10) / (epsilon * 0.1), (0.01, 2302.5851)),
    Curve("Shoaran, figure 2, re for ε", "utility --figure 2 --against relative-error", "pr = 0.1",
          lambda re: math.log(10) / (0.1 * re), (0.1, 230.2585)),
    # Lee: λ = 17/12 at ε = 2, and 2 for the median; worlds are apart by Δv/Δf = 18/17 and 6/5.
    Curve("Lee, figure 1", f"{RISK} --epsilon 2 --figure 1", "without 10",
          laplace(2, 17 / 12), (2, 0.3529)),
    Curve("Lee, figure 1", f"{RISK} --epsilon 2 --figure 1", "without 1",
          laplace(5, 17 / 12), (5, 0.3529)),
    Curve("Lee, figure 2", f"{RISK} --query '{YEAR}' --max-risk 1/3 --figure 2", f"bound, {DAYS}",
          lambda epsilon: 1 / (1 + 3 * math.exp(-epsilon * 18 / 17)), (0, 0.25)),
    Curve("Lee, figure 2", f"{RISK} --query '{YEAR}' --max-risk 1/3 --figure 2", f"bound, {YEAR}",
          lambda epsilon: 1 / (1 + 3 * math.exp(-epsilon * 6 / 5)), (0, 0.25)),
    Curve("Lee, figure 2", f"{RISK} --query '{YEAR}' --max-risk 1/3 --figure 2", f"exact, {YEAR}",
          lambda epsilon: 1 / (1 + sum(math.exp(-k * epsilon / 5) for k in (2, 4, 6))), (0, 0.25)),
    Curve("Lee, figure 3a", f"{RISK} --epsilon 2 --figure 3", "without 10",
          laplace(2, 17 / 12), (2, 0.3529)),
    Curve("Lee, figure 3b", f"{RISK} --epsilon 2 --figure 3", "without 3 or 10",
          laplace(2, 2), (2, 0.25)),
    # Hu: 1/2s at the mean; 1/√2 and 1/√(2π) in figure 7.2.
    Curve("Evans, figure 1; Hu, figure 7.1", "utility --density laplace", "Laplace(0, 0.1)",
          laplace(0, 0.1), (0, 5)),
    Curve("Hu, figure 7.1", "utility --density laplace", "Laplace(0, 0.5)", laplace(0, 0.5), (0, 1)),
    Curve("Hu, figure 7.1", "utility --density laplace", "Laplace(0, 1)", laplace(0, 1), (0, 0.5)),
    Curve("Hu, figure 7.1", "utility --density laplace", "Laplace(-5, 1)", laplace(-5, 1), (-5, 0.5)),
    Curve("Hu, figure 7.2", "utility --density normal", "Laplace(0, sqrt(1/2))",
          laplace(0, math.sqrt(0.5)), (0, 0.7071)),
    Curve("Hu, figure 7.2", "utility --density normal", "Normal(0, 1)",
          lambda x: math.exp(-x * x / 2) / math.sqrt(2 * math.pi), (0, 0.3989)),
    Curve("Hu, equation 7.8", "utility --density --epsilon 0.1,1", "ε = 0.1: Laplace(0, 10)",
          laplace(0, 10), (0, 0.05)),
]  # fmt: skip


@pytest.mark.parametrize("curve", [pytest.param(c, id=f"{c.where}: {c.label}") for c in CURVES])
def test_figure(curve: Curve, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[Lines] = []
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr("dpdb.lab.pages.chart.save", lambda figure, *_, **__: drawn.append(figure))
    assert main([*shlex.split(curve.command), "--plot", "figure.svg"]) == 0
    points = next(s.points for lines in drawn for s in lines.series if s.label == curve.label)
    x, y = curve.point
    assert [round(up, 4) for across, up in points if across == pytest.approx(x)] == [y]
    formula = [curve.formula(across) for across, _ in points]
    assert [up for _, up in points] == pytest.approx(formula)
