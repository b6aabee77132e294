"""Older controls than differential privacy: refusal, rounding, generalisation, sticky noise."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from dpdb.answers.answer import Answer
from dpdb.answers.record import ReleaseReport
from dpdb.errors import Unsupported
from dpdb.lab.altered_database import AlteredDatabase
from dpdb.lab.database import Database
from dpdb.lab.defences import Defence, exactly, unprotected
from dpdb.lab.scenario import Scenario
from dpdb.records import dataclass

if TYPE_CHECKING:
    from dpdb.session.session import Session


@dataclass(frozen=True)
class Rounded(Defence):
    """Exact answers, rounded."""

    to: int

    @property
    def label(self) -> str:
        return f"rounded to {self.to}s"

    @property
    def note(self) -> str:
        return f"Every answer is rounded to the nearest multiple of {self.to}."

    def open(self, scenario: Scenario, directory: Path, seed: int) -> Database:
        database = unprotected(scenario, directory)
        return AlteredDatabase(database, lambda value: round(value / self.to) * self.to)


@dataclass(frozen=True)
class QuerySetSize(Defence):
    """The control of the 1970s: no answer about fewer than `least` rows or all but so few."""

    least: int

    @property
    def label(self) -> str:
        return f"query sets of {self.least} or more"

    @property
    def note(self) -> str:
        return (
            f"Exact answers, but none about fewer than {self.least} people, "
            f"and none about all but fewer than {self.least}."
        )

    def open(self, scenario: Scenario, directory: Path, seed: int) -> Database:
        return _SizeControl(unprotected(scenario, directory), self.least, len(scenario.rows))


@dataclass(frozen=True)
class _SizeControl:
    database: Session
    least: int
    rows: int

    def execute(self, text: str) -> Answer:
        _, _, rest = text.partition(" FROM ")
        counting = f"SELECT COUNT(*) FROM {rest}"  # noqa: S608 (a session takes it, as from anybody)
        size = self.database.execute(counting).rows[0][0]
        assert isinstance(size, int)
        if not self.least <= size <= self.rows - self.least:
            raise Unsupported("the query set is too small, or too large")
        return self.database.execute(text)


@dataclass(frozen=True)
class Generalised(Defence):
    """A k-anonymous table, queried exactly: each row shares its quasi-identifiers with k - 1.

    `coarser` makes the quasi-identifiers of one row coarser.
    """

    k: int
    coarser: Callable[[tuple[object, ...]], tuple[object, ...]]

    @property
    def label(self) -> str:
        return f"{self.k}-anonymous table"

    @property
    def note(self) -> str:
        return (
            "Quasi-identifiers are blurred until nobody differs in them "
            f"from at least {self.k - 1} others."
        )

    def open(self, scenario: Scenario, directory: Path, seed: int) -> Database:
        rows = [self.coarser(tuple(row)) for row in scenario.rows]
        return unprotected(replace(scenario, rows=rows), directory)


@dataclass(frozen=True)
class Sticky(Defence):
    """Laplace noise for each condition of a question, always the same for the same condition.

    This is the static noise of Diffix ([FPM17]) without its other
    parts. In Diffix the noise is normal, here it has Laplace's distribution.
    """

    each: float

    @property
    def label(self) -> str:
        return f"sticky noise (ε = {self.each:g} a condition)"

    @property
    def note(self) -> str:
        return (
            f"Noise at ε = {self.each:g} for every condition after WHERE, made from its words and "
            "a secret: the same condition, the same noise, as often as it is asked. No budget."
        )

    def open(self, scenario: Scenario, directory: Path, seed: int) -> Database:
        return _StickyNoise(unprotected(scenario, directory), exactly(self.each), seed)


@dataclass(frozen=True)
class _StickyNoise:
    database: Session
    each: Fraction
    secret: int

    def execute(self, text: str) -> Answer:
        conditions = text.partition(" WHERE ")[2].split(" AND ")
        noise = sum(map(self._noise, conditions))
        drawn = ReleaseReport("", "", "laplace", Fraction(1), 1 / self.each, self.each)
        sticky = AlteredDatabase(
            self.database, lambda exact: exact + noise, (drawn,) * len(conditions)
        )
        return sticky.execute(text)

    def _noise(self, condition: str) -> float:
        """The difference of two exponential numbers has Laplace's distribution."""
        made = random.Random(f"{self.secret} {condition}")  # noqa: S311 (a lesson runs the same way twice)
        rate = float(self.each)
        return made.expovariate(rate) - made.expovariate(rate)
