"""Reports of the noise and the bounds of an aggregate as JSON: what the answer says of them anyway."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dpdb.policy.catalog import Policy
from dpdb.session.session import Session
from tests.support.exactly import write

pytestmark = pytest.mark.usefixtures("anywhere")


@pytest.fixture
def policy(tmp_path: Path) -> Policy:
    columns = 'k = { type = "boolean" }\nx = { type = "integer", bounds = [0, 50] }\n'
    text = f"[budget]\nepsilon = 1000\n[tables.t]\n[tables.t.columns]\n{columns}"
    return write(tmp_path, "t", "k,x\n" + "true,7\nfalse,30\n" * 40, text)


REPORTS = {
    "COUNT(*, report_format => 'JSON')": ("COUNT(*)", None),
    "SUM(x, report_format => 'JSON')": ("SUM(x)", (0, 50)),
    "AVG(x, contribution_bounds_per_row => (0, 12.5), report_format => 'json')": (
        "AVG(CLAMP(x, 0, 12.5))",
        (0, 12.5),
    ),
    'ANON_SUM(x CLAMPED BETWEEN 5 AND 9 WITH REPORT(FORMAT = "json"))': (
        "SUM(CLAMP(x, 5, 9))",
        (5, 9),
    ),
    "ANON_COUNT(* WITH REPORT(FORMAT=JSON))": ("COUNT(*)", None),
}
"""Aggregates with reports, the aggregates that these are of, and their bounds."""


@pytest.mark.parametrize("asked", REPORTS)
def test_a_report_has_the_value_its_noise_and_its_bounds(asked: str, policy: Policy) -> None:
    """Aggregates beside it that are the same draw no noise of their own."""
    plain, bounds = REPORTS[asked]
    beside = f"{plain} AS v, DP_INTERVAL_LOW(v), DP_INTERVAL_HIGH(v)"
    session = Session(policy)
    rows = session.execute(f"SELECT {asked}, {beside} FROM t GROUP BY k").rows
    assert len(rows) == 2
    for report, value, low, high in rows:
        assert isinstance(value, int | float)
        assert isinstance(low, int | float)
        assert isinstance(high, int | float)
        read = json.loads(str(report))
        noise = read["result"].pop("noise_confidence_interval")
        assert noise == {"lower_bound": low - value, "upper_bound": high - value}
        ends = (
            None
            if bounds is None
            else dict(zip(("lower_bound", "upper_bound"), bounds, strict=True))
        )
        assert read == {"result": {"value": value}, "bounding_report": ends}


def test_a_report_costs_what_the_aggregate_costs(policy: Policy) -> None:
    session = Session(policy)
    plain, report = (
        session.execute(f"EXPLAIN SELECT SUM(x{more}) FROM t").releases
        for more in ("", ", report_format => 'JSON'")
    )
    assert [(r.epsilon, r.scale) for r in report] == [(r.epsilon, r.scale) for r in plain]


def test_what_is_unknown_is_null(policy: Policy) -> None:
    answer = Session(policy).execute(
        "SELECT AVG(x, report_format => 'JSON') FROM t WHERE x < 0 AND x > 9"
    )
    [[report]] = answer.rows
    assert json.loads(str(report))["result"]["value"] is None
