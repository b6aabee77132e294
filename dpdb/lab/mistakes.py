"""Mistakes in differential privacy: defences that claim an ε and do not keep it."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction
from math import log
from pathlib import Path
from typing import TYPE_CHECKING

from dpdb.answers.record import ReleaseReport
from dpdb.lab.altered_database import AlteredDatabase
from dpdb.lab.database import Database
from dpdb.lab.defences import (
    MANY,
    Defence,
    Protected,
    Side,
    exactly,
    session_of,
    unprotected,
    with_settings,
)
from dpdb.lab.scenario import Scenario
from dpdb.policy.budget import LARGEST_EPSILON
from dpdb.privacy.noise.sources import seeded
from dpdb.records import dataclass

if TYPE_CHECKING:
    from dpdb.session.session import Session


@dataclass(frozen=True)
class LocalSensitivity(Defence):
    """The noise of [EGS]: Δf is read off the data, and b is shown."""

    budget: float
    queries: int = 1

    @property
    def label(self) -> str:
        return f"local Δf, “ε = {self.budget:g}”"

    @property
    def note(self) -> str:
        return "Laplace noise of scale k·Δf/ε, where Δf is read off the data; the scale is public."

    @property
    def epsilon(self) -> float:
        return self.budget

    def open(self, scenario: Scenario, directory: Path, seed: int) -> Session:
        policy = scenario.policy(directory, exactly(self.budget), self.queries)
        session = session_of(policy, seeded(seed), teach=True)
        return with_settings(session, ("SET sensitivity = 'local'", "SET reveal = 'on'"))


@dataclass(frozen=True)
class DoubleLaplace(Defence):
    """Laplace noise in doubles, by the textbook's formula, of scale b = k·Δf/ε."""

    budget: float
    queries: int = 1
    sensitivity: Fraction = Fraction(1)
    called: str = "doubles"

    @property
    def label(self) -> str:
        return f"{self.called}, “ε = {self.budget:g}”"

    @property
    def note(self) -> str:
        return (
            f"Laplace noise of scale k·Δf/ε with Δf = {self.sensitivity}, "
            "computed as ±b·log|u| in doubles."
        )

    @property
    def epsilon(self) -> float:
        return self.budget

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

    @property
    def label(self) -> str:
        return f"noise, no budget (ε = {self.each:g} each)"

    @property
    def note(self) -> str:
        return (
            f"Fresh noise at ε = {self.each:g} for every answer, "
            "with no budget for all of them and no memory of repeats."
        )

    def open(self, scenario: Scenario, directory: Path, seed: int) -> Database:
        policy = scenario.policy(directory, LARGEST_EPSILON, MANY)
        session = session_of(policy, seeded(seed))
        session.execute(f"SET epsilon = {self.each!r}")
        session.execute("SET repeats = 'fresh'")
        return session


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

    @property
    def label(self) -> str:
        return f"undeclared, ε = {self.budget:g}"

    @property
    def note(self) -> str:
        return "The policy does not say which values there may be, so there are no groups to list."

    def open(self, scenario: Scenario, directory: Path, seed: int) -> Session:
        columns = tuple(
            replace(column, values=None) if column.name == self.column else column
            for column in scenario.declared
        )
        return super().open(replace(scenario, columns=columns), directory, seed)


@dataclass(frozen=True)
class RowsAsUnits(Defence):
    """Privacy for each row, where a person has many rows."""

    budget: float
    queries: int

    @property
    def label(self) -> str:
        return f"unit = row, “ε = {self.budget:g}”"

    @property
    def note(self) -> str:
        return "Differential privacy for rows: each is hidden, a person with many is not."

    @property
    def epsilon(self) -> float:
        return self.budget

    def open(self, scenario: Scenario, directory: Path, seed: int) -> Database:
        rows = replace(scenario, unit=None, rows_per_unit=1)
        policy = rows.policy(directory, exactly(self.budget), self.queries)
        return session_of(policy, seeded(seed))
