"""OPTIONS(sensitivity = smooth): noise whose scale is a secret."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import numpy as np
import pytest

from dpdb.answers.formats.explain_tree import explain_screen
from dpdb.answers.formats.render import FORMATS
from dpdb.policy.budget import Budget, Neighbors
from dpdb.policy.catalog import Column, Kind
from dpdb.privacy.noise.smooth import statistic_and_scale
from dpdb.privacy.noise.system import SystemNoise
from dpdb.session.session import Session
from tests.support.brute import ADD_REMOVE, REPLACE, world
from tests.support.noiseless import Noiseless
from tests.support.optional import COLUMNS, PLENTY, asking, opened, refused

pytestmark = pytest.mark.usefixtures("in_memory")


@pytest.mark.parametrize("select", ["MIN(x)", "MAX(m)", "MEDIAN(x)", "QUANTILE_CONT(k, 0.3)"])
@pytest.mark.parametrize("grouped", ["", " GROUP BY g"])
@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE])
def test_noise_of_smooth_sensitivity(select: str, grouped: str, relation: Neighbors) -> None:
    query = asking("sensitivity = 'smooth'", f"{select} FROM t{grouped}")
    none = opened(Budget(Fraction(1), Fraction(0), 10), relation)
    assert "smooth sensitivity needs delta above 0" in refused(none, query)
    session = opened(relation=relation)
    explained = session.execute(f"EXPLAIN {query}")
    answer = session.execute(query)
    for each in (explained, answer):
        [drawn] = each.releases
        assert drawn.mechanism == "smooth laplace"
        assert (drawn.sensitivity, drawn.scale, drawn.margin) == (None, None, None)
        assert (drawn.epsilon, drawn.delta) == (each.cost.epsilon, each.cost.delta)
        assert each.cost.epsilon == PLENTY.epsilon / PLENTY.queries
        assert each.cost.delta == PLENTY.delta / PLENTY.queries
        (note,), clamped = each.notes, each.bounding
        assert note.startswith(f"{select} has noise of a size that is secret, and has no interval")
        assert len(clamped) == 1
        assert all("values are clamped to" in other for other in clamped)
    session.execute("SET sensitivity = 'smooth'")
    assert session.execute(f"SELECT {select} FROM t{grouped}").repeat


def test_the_scale_of_smooth_noise_is_shown_nowhere() -> None:
    """Whatever is printed is the same for rows whose noise has another scale (A20)."""
    values = ["0", "50", "100"], ["0", "50", "50", "50", "50", "50", "100"]
    query = asking("sensitivity = 'smooth', epsilon = 500", "MEDIAN(m), MAX(m) FROM t")
    shown, scales = [], []
    for column in values:
        here = world(COLUMNS, budget=PLENTY)
        here.source.rows = [("a", "1", "3", m, "") for m in column]
        session = Session(here.policy, noise=Noiseless())
        explained = session.execute(f"EXPLAIN {query}")
        assert explained.plan is not None
        answer = session.execute(query)
        shown.append([render(each) for each in (explained, answer) for render in FORMATS.values()])
        shown[-1].append(explain_screen(explained, ()))
        steps = np.array([4 * int(m) for m in column])
        scales.append(statistic_and_scale(steps, (0, 400), explained.plan.releases[0].mechanism)[1])
        assert answer.rows == ((50.0, 100.0),)
        assert answer.intervals == ((None, None),)
    assert scales[0] > 2 * scales[1]
    assert shown[0] == shown[1]
    taught = Session(here.policy, noise=Noiseless(), teach=True)
    assert taught.execute(query).revealed == ()
    taught.execute("SET reveal = on")
    [median, _] = taught.execute(query).revealed
    assert (median.stat, median.scale) == (50.0, float(scales[1] / 4))


@pytest.mark.parametrize(
    ("relation", "rows", "keys", "touched"),
    [
        (ADD_REMOVE, 1, "", 1), (ADD_REMOVE, 1, "g", 1), (ADD_REMOVE, 2, "", 1),
        (ADD_REMOVE, 2, "g", 2), (ADD_REMOVE, 5, "g", 3), (REPLACE, 1, "", 1),
        (REPLACE, 1, "g", 2), (REPLACE, 2, "g", 3), (REPLACE, 2, "", 1),
    ],
)  # fmt: skip
def test_cells_that_a_unit_can_touch_have_their_parts(
    relation: Neighbors, rows: int, keys: str, touched: int
) -> None:
    """A unit's rows are in `touched` of three cells, each of which has that part of ε and δ."""
    columns = (*COLUMNS, Column("u", Kind.TEXT))
    unit = "u" if rows > 1 else None
    here = world(columns, relation, unit, rows, PLENTY)
    grouped = f" GROUP BY {keys}" if keys else ""
    explained = Session(here.policy).execute(
        f"EXPLAIN {asking('sensitivity = smooth', f'MEDIAN(x) FROM t{grouped}')}"
    )
    assert explained.plan is not None
    [release] = explained.plan.releases
    assert (release.mechanism.rows_per_unit, release.mechanism.groups_per_unit) == (rows, touched)
    one = release.mechanism.scale_of(Fraction(7))
    share = PLENTY.epsilon / PLENTY.queries
    assert one * share == pytest.approx(2 * 7 * touched, rel=1e-9)


def test_the_median_of_many_rows_is_close() -> None:
    """ε = 1, δ = 1e-6 and 10,000 rows around the middle of wide bounds."""
    random = Random(5)
    values = sorted(min(max(round(random.gauss(50, 15)), 0), 1000) for _ in range(10_000))
    here = world(
        (Column("y", Kind.INTEGER, Fraction(0), Fraction(1000)),),
        budget=Budget(Fraction(1), Fraction(1, 10**6), 1),
    )
    here.source.rows = [(str(value),) for value in values]
    query = asking("sensitivity = 'smooth'", "MEDIAN(y) FROM t")
    found = [
        Session(here.policy, noise=SystemNoise(Random(seed).randbytes)).execute(query).rows[0][0]
        for seed in range(30)
    ]
    # A rank more is 1/250 of a year here, and at β = 1/(2·ln(2e6)) some 29 of them count: the
    # scale is far below a step, and 2 off has a probability of exp(-1.5/scale).
    assert max(abs(value - values[4999]) for value in found) <= 1
