"""Defences that fail: older controls than differential privacy, and mistakes in it."""

from __future__ import annotations

import random
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from math import log
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from dpdb.answers.answer import Answer
from dpdb.answers.record import ReleaseReport
from dpdb.errors import Unsupported
from dpdb.lab.database import (
    MANY,
    AlteredDatabase,
    Claimed,
    Database,
    Defence,
    Protected,
    Side,
    exactly,
    session_of,
    unprotected,
)
from dpdb.lab.scenario import Scenario
from dpdb.policy.budget import LARGEST_EPSILON
from dpdb.privacy.noise.sources import seeded
from dpdb.records import dataclass

if TYPE_CHECKING:
    from dpdb.session.session import Session


@dataclass(frozen=True)
class Rounded(Defence):
    """Exact answers, rounded."""

    to: int

    LABEL = "rounded to {to}s"

    NOTE = "Every answer is rounded to the nearest multiple of {to}."

    def open(self, scenario: Scenario, directory: Path, seed: int) -> Database:
        database = unprotected(scenario, directory)
        return AlteredDatabase(database, lambda value: round(value / self.to) * self.to)


@dataclass(frozen=True)
class QuerySetSize(Defence):
    """The control of the 1970s: no answer about fewer than `least` rows or all but so few."""

    least: int

    LABEL = "query sets of {least} or more"

    NOTE = (
        "Exact answers, but none about fewer than {least} people, "
        "and none about all but fewer than {least}."
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

    LABEL = "{k}-anonymous table"

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

    LABEL = "sticky noise (ε = {each:g} a condition)"

    NOTE = (
        "Noise at ε = {each:g} for every condition after WHERE, made from its words and "
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


@dataclass(frozen=True)
class LocalSensitivity(Claimed):
    """The noise of [EGS]: Δf is read off the data, and b is shown."""

    LABEL = "local Δf, “ε = {budget:g}”"

    NOTE = "Laplace noise of scale k·Δf/ε, where Δf is read off the data; the scale is public."

    def open(self, scenario: Scenario, directory: Path, seed: int) -> Session:
        policy = scenario.policy(directory, exactly(self.budget), self.queries)
        settings = ("SET sensitivity = 'local'", "SET reveal = 'on'")
        return session_of(policy, seeded(seed), *settings, teach=True)


@dataclass(frozen=True)
class DoubleLaplace(Claimed):
    """Laplace noise in doubles, by the textbook's formula, of scale b = k·Δf/ε."""

    sensitivity: Fraction = Fraction(1)
    called: str = "doubles"

    LABEL = "{called}, “ε = {budget:g}”"

    NOTE = (
        "Laplace noise of scale k·Δf/ε with Δf = {sensitivity}, computed as ±b·log|u| in doubles."
    )

    def open(self, scenario: Scenario, directory: Path, seed: int) -> Database:
        numbers = random.Random(seed)  # noqa: S311 (a lesson is to run the same way twice)
        each = exactly(self.budget) / self.queries
        scale = float(self.sensitivity / each)

        def noisy(exact: float) -> float:
            return exact + textbook_noise(numbers.uniform(-1, 1), scale)

        drawn = ReleaseReport("", "", "laplace", self.sensitivity, self.sensitivity / each, each)
        return AlteredDatabase(unprotected(scenario, directory), noisy, (drawn,))


def textbook_noise(u: float, scale: float) -> float:
    """[EGS] Definition 3: X(u) = -b·log|u| for u > 0 and b·log|u| for u ≤ 0.

    u is uniform in (-1, 1), and the scale is b.
    """
    return -scale * log(abs(u)) if u > 0 else scale * log(abs(u))


@dataclass(frozen=True)
class EachItsOwn(Defence):
    """Noise for each answer as if it were the only one: the answers' ε are not added up."""

    each: float

    LABEL = "noise, no budget (ε = {each:g} each)"

    NOTE = (
        "Fresh noise at ε = {each:g} for every answer, "
        "with no budget for all of them and no memory of repeats."
    )

    def open(self, scenario: Scenario, directory: Path, seed: int) -> Database:
        policy = scenario.policy(directory, LARGEST_EPSILON, MANY)
        settings = (f"SET epsilon = {self.each!r}", "SET repeats = 'fresh'")
        return session_of(policy, seeded(seed), *settings)


@dataclass(frozen=True)
class KeysOfTheRows(Defence):
    """Counts of the groups that have rows: noisy, or exact if there is no `budget`."""

    column: str
    budget: float | None = None

    @property
    def side(self) -> Side:
        return Side.OFF if self.budget is None else Side.FOIL

    @property
    def label(self) -> str:
        if self.budget is None:
            return "no protection"
        return f"groups present, “ε = {self.budget:g}”"

    @property
    def note(self) -> str:
        if self.budget is None:
            return ""
        return "Every count has noise of the right scale, but only groups that exist are listed."

    @property
    def epsilon(self) -> float | None:
        return self.budget

    def open(self, scenario: Scenario, directory: Path, seed: int) -> Database:
        present = scenario.with_keys_of_its_rows(self.column)
        if self.budget is None:
            return unprotected(present, directory)
        return session_of(present.policy(directory, exactly(self.budget), 1), seeded(seed))


@dataclass(frozen=True)
class Undeclared(Protected):
    """dpdb where the policy declares no values for a column."""

    column: str = ""

    LABEL = "undeclared, ε = {budget:g}"

    NOTE = "The policy does not say which values there may be, so there are no groups to list."

    def open(self, scenario: Scenario, directory: Path, seed: int) -> Session:
        columns = tuple(
            replace(column, values=None) if column.name == self.column else column
            for column in scenario.declared
        )
        return super().open(replace(scenario, columns=columns), directory, seed)


@dataclass(frozen=True)
class RowsAsUnits(Claimed):
    """Privacy for each row, where a person has many rows."""

    LABEL = "unit = row, “ε = {budget:g}”"

    NOTE = "Differential privacy for rows: each is hidden, a person with many is not."

    def open(self, scenario: Scenario, directory: Path, seed: int) -> Database:
        rows = replace(scenario, unit=None, rows_per_unit=1)
        policy = rows.policy(directory, exactly(self.budget), self.queries)
        return session_of(policy, seeded(seed))


@dataclass(frozen=True)
class FirstOwner(Claimed):
    """Privacy for the first of the two owners of each row."""

    LABEL = "unit = customer, “ε = {budget:g}”"

    NOTE = "Differential privacy for customers: whoever else a row is about is not hidden."

    def open(self, scenario: Scenario, directory: Path, seed: int) -> Database:
        alone = replace(scenario, unit=scenario.owners[0], owners=(), rows_per_unit=1)
        policy = alone.policy(directory, exactly(self.budget), self.queries)
        return session_of(policy, seeded(seed))


@dataclass(frozen=True)
class Owner(Claimed):
    """Noise on what is published, none on what the owner has collected."""

    LABEL = "owner of ε = {budget:g}"

    NOTE = (
        "Everybody reports the truth. The owner publishes counts with noise at ε = {budget:g}, and "
        "the attacker is the owner, or reads the owner's disk."
    )

    def open(self, scenario: Scenario, directory: Path, seed: int) -> Database:
        return unprotected(scenario, directory)


@dataclass(frozen=True)
class Told(Claimed):
    """Something is told of each exact answer, by a program that ends when it tells None."""

    ENDED: ClassVar[str] = ""
    """The refusal after the end."""

    @abstractmethod
    def program(self, seed: int) -> Callable[[float], float | None]:
        """A new run of the program: from an exact answer to what is told."""

    def open(self, scenario: Scenario, directory: Path, seed: int) -> Database:
        run = self.program(seed)

        def told(exact: float) -> float:
            if (answer := run(exact)) is None:
                raise Unsupported(self.ENDED)
            return answer

        return AlteredDatabase(unprotected(scenario, directory), told)
