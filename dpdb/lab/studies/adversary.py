"""The adversary, the risk of disclosure, and the ε that keeps it low enough.

[LC11] sections 4 to 6. The adversary knows all n rows of X and that the file asked
about is X less one of them: n possible worlds ω, alike before the answer. The
answer γ is f(ω) with Laplace noise of scale λ = Δf/ε, and Bayes' rule makes of
it a belief β in each world. The risk is the greatest belief.

The worst answer for ω_i is γ = f(ω_i), by the triangle inequality. The belief in ω_i is
1/Σ_k exp((|γ-f(ω_i)| - |γ-f(ω_k)|)/λ). Each term is least, exp(-|f(ω_i)-f(ω_k)|/λ), at
γ = f(ω_i), so all terms are least there at once. So equation 3 is attained, and its maximum
over the worlds is the supremum of the risk over all answers. The risk never falls as ε rises,
because no term rises.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property

import numpy as np

from dpdb.errors import Unsupported, UsageError
from dpdb.lab.studies.worlds import Array, ValuePlaces, Worlds
from dpdb.plan.expressions.expressions import Slot
from dpdb.plan.logical.query import NO_OPTIONS, Aggregate, Function, Query
from dpdb.plan.planner import outline
from dpdb.policy.budget import LARGEST_EPSILON
from dpdb.policy.catalog import Policy
from dpdb.records import dataclass
from dpdb.session.backends import open_engine
from dpdb.sql.selects.statements import Select, statement

LARGEST = float(LARGEST_EPSILON)
"""The largest ε of the search; a query that is safe at it counts as safe at any."""
_CLOSE = 1e-9
"""Relative width at which the search ends."""
_REACH = 500.0
"""Exponents are taken over at most this range at once: exp(500) is far from overflow."""


@dataclass(frozen=True, repr=False)
class Adversary:
    """The beliefs about which world is the file, after one answer."""

    worlds: Worlds

    @property
    def prior(self) -> float:
        """α(ω) = 1/n: before the answer all worlds are equally likely (section 4.3)."""
        return 1 / self.worlds.number

    def scale(self, epsilon: float) -> float:
        """λ = Δf/ε."""
        return self.worlds.sensitivity / epsilon

    def densities(self, response: float, epsilon: float) -> Array:
        """P(κ(ω) = γ), the density of the answer in each world; the sensitivity must not be 0."""
        distances = np.abs(response - self.worlds.answers)
        scale = self.scale(epsilon)
        return np.asarray(np.exp(-distances / scale) / (2 * scale))

    def beliefs(self, response: float, epsilon: float) -> Array:
        """β(ω) by which value is missing, after the answer `response` (definition 3)."""
        distances = np.abs(response - self.worlds.answers)
        # Without sensitivity all worlds' answers are the same, and so are the distances.
        nearness = (distances.min() - distances) / (self.scale(epsilon) or 1.0)
        weights = np.exp(nearness)
        return np.asarray(weights / (self.worlds.counts * weights).sum())

    def risks(self, epsilon: float) -> Array:
        """The greatest β(ω) that any answer can cause, by which value is missing (equation 3)."""
        places, counts, which = self._places
        # Both sums include the worlds at the place itself.
        near = (
            _behind(places, counts, epsilon) + _behind(-places[::-1], counts[::-1], epsilon)[::-1]
        )
        return np.asarray((1 / (near - counts))[which])

    def risk(self, epsilon: float) -> float:
        """The greatest belief that any answer can cause, in any world (definition 5)."""
        return float(self.risks(epsilon).max())

    def bound(self, epsilon: float) -> float:
        """The bound on the risk if all worlds were Δv apart (equation 5)."""
        others = self.worlds.number - 1
        return 1 / (1 + others * math.exp(-epsilon * self._widest))

    def bounding_epsilon(self, risk: Fraction) -> float | None:
        """The largest ε whose bound is at most `risk` (equation 7); None if there is none.

        `LARGEST` stands for any ε.
        """
        n = self.worlds.number
        if risk * n < 1:
            return None
        odds = math.log((n - 1) * risk / (1 - risk))
        return min(odds / self._widest, LARGEST) if self._widest else LARGEST

    def largest_epsilon(self, risk: Fraction) -> float | None:
        """The largest ε whose risk is at most `risk`, by binary search; None if there is none.

        The paper would search below the bound of equation 7, but the bound itself
        is safe: what is looked for lies above it. `LARGEST` stands for any ε. The
        result is below the exact one by at most a part in 10^9.
        """
        high = self.bounding_epsilon(risk)
        if not high:  # none at all, or 0: the risk of no answer is 1/n
            return high
        limit = float(risk)
        if self.risk(LARGEST) <= limit:
            return LARGEST
        low = 0.0
        while self.risk(high) <= limit:
            low, high = high, 2 * high
        while high - low > _CLOSE * high:
            middle = (low + high) / 2
            low, high = (middle, high) if self.risk(middle) <= limit else (low, middle)
        return low

    @cached_property
    def _widest(self) -> float:
        """Δv in units of Δf."""
        return self.worlds.widest / (self.worlds.sensitivity or 1.0)

    @cached_property
    def _places(self) -> tuple[Array, Array, ValuePlaces]:
        """The distinct answers in units of Δf, ascending, how many worlds each has, and which."""
        distinct, which = np.unique(self.worlds.shifts, return_inverse=True)
        counts = np.bincount(which, weights=self.worlds.counts).astype(np.float64)
        return (distinct - distinct[0]) / (self.worlds.sensitivity or 1.0), counts, which


def _behind(places: Array, counts: Array, epsilon: float) -> Array:
    """Σ counts_k·exp(-ε·(place_i - place_k)) over k <= i, for every i; `places` ascend.

    One running sum of growing exponentials, begun anew before they grow too far.
    """
    sums = np.empty(len(places))
    reach = _REACH / epsilon if epsilon else math.inf
    start, carried = 0, 0.0
    while start < len(places):
        origin = places[start]
        end = int(np.searchsorted(places, origin + reach, side="right"))
        growth = np.exp(epsilon * (places[start:end] - origin))
        sums[start:end] = (carried + np.cumsum(counts[start:end] * growth)) / growth
        if end < len(places):
            carried = float(sums[end - 1] * np.exp(-epsilon * (places[end] - places[end - 1])))
        start = end
    return sums


def exceeding(response: float, whole: float, world: float, scale: float) -> float:
    """Pr[κ(X) > γ] / Pr[κ(ω) > γ] with Laplace noise around f(X) and f(ω) (section 4.1)."""
    whole_tail, world_tail = (_log_tail((response - mean) / scale) for mean in (whole, world))
    # e^709 is the last that a double holds.
    return math.exp(whole_tail - world_tail) if whole_tail - world_tail < 709 else math.inf


def _log_tail(distance: float) -> float:
    """The logarithm of the chance that standard Laplace noise is above `distance`."""
    if distance > 0:
        return math.log(0.5) - distance
    return math.log1p(-math.exp(distance) / 2)


class Universe:
    """The values that queries over one file count, read exactly; the file is read once."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._engine = open_engine(policy)

    def counted_values(self, text: str) -> tuple[Aggregate, Array]:
        """The query's aggregate, and the sorted values that it counts: the universe X."""
        select = statement(text, self._policy)
        if not isinstance(select, Select) or select.explain:
            raise Unsupported("the risk is that of a SELECT")
        _check_shape(select.query)
        [aggregate] = select.query.aggregates
        argument = aggregate.argument
        counts = aggregate.function is Function.COUNT
        if argument is not None and argument.kind.temporal and not counts:
            raise Unsupported("the risk is worked out for numbers, not for dates",
                              place=aggregate.place)  # fmt: skip
        [counted] = self._engine.values(outline(select.query, self._policy), {})
        [values] = counted.cells if counts else counted.cells_or_mean
        return aggregate, values


def _check_shape(query: Query) -> None:
    """Refuse queries with more than one number, and tables where a unit has several rows."""
    bare = [isinstance(o.expression, Slot) and o.expression.role == "aggregate"
            for o in query.outputs]  # fmt: skip
    refused = {
        "GROUP BY": bool(query.keys),
        "a subquery": bool(query.subqueries),
        "HAVING": query.having is not None,
        "ORDER BY, LIMIT or OFFSET": query.cut,
        "OPTIONS": query.options != NO_OPTIONS,
        "more or less than one aggregate, by itself,": bare != [True],
        "units of several rows": query.table.rows_per_unit > 1,
    }
    for name, present in refused.items():
        if present:
            raise Unsupported(f"the risk is not worked out for queries with {name}",
                              hint="SELECT AVG(column) FROM table WHERE …")  # fmt: skip


@dataclass(frozen=True)
class Observation:
    """The answer that the adversary observes."""

    response: float
    missing: int
    """The row that the file lacks, as an index into the distinct values."""
    drawn: bool
    """Whether the answer was drawn with noise from that file, or given."""


def observe(
    adversary: Adversary,
    epsilon: float,
    *,
    missing: float | None,
    response: float | None,
    seed: int | None,
) -> Observation:
    """An answer to the query on the file without one row: `response`, or one drawn with noise.

    `missing` is the value of that row; without it, the row most at risk is missing.
    """
    worlds = adversary.worlds
    absent = int(adversary.risks(epsilon).argmax())
    if missing is not None:
        places = np.flatnonzero(worlds.missing == missing)
        if not len(places):
            raise UsageError(f"--missing: no row counted has the value {missing:.8g}")
        absent = int(places[0])
    if response is not None:
        return Observation(response, absent, drawn=False)
    noise = np.random.default_rng(seed).laplace(scale=adversary.scale(epsilon))
    return Observation(float(worlds.answers[absent] + noise), absent, drawn=True)
