"""What stands between an attack and the rows: nothing, the paper's noise, or privacy."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from pathlib import Path

from dpdb.lab.database import Database
from dpdb.lab.scenario import Scenario
from dpdb.privacy.noise.seeded import seeded
from dpdb.privacy.noise.source import Noise
from dpdb.session.session import Session

MANY = 10**6
"""A query limit that is none."""


class Side(StrEnum):
    """What kind of thing a defence is: for the order and the colours of the story."""

    OFF = "off"
    FOIL = "foil"
    PRIVATE = "private"


class Defence(ABC):
    """A way to answer questions about a scenario's rows."""

    @property
    def side(self) -> Side:
        """What kind of thing it is."""
        return Side.FOIL

    @property
    @abstractmethod
    def label(self) -> str:
        """What it is called in tables and charts."""

    @property
    def note(self) -> str:
        """What it does, in a sentence; empty where the label says it all."""
        return ""

    @property
    def epsilon(self) -> float | None:
        """The privacy loss it claims, if it claims one."""
        return None

    @abstractmethod
    def open(self, scenario: Scenario, directory: Path, seed: int) -> Database:
        """A new session, with the rows written to `directory`."""


@dataclass(frozen=True)
class Unprotected(Defence):
    """Exact answers, as from any database."""

    @property
    def side(self) -> Side:
        return Side.OFF

    @property
    def label(self) -> str:
        return "no protection"

    def open(self, scenario: Scenario, directory: Path, seed: int) -> Session:
        return unprotected(scenario, directory)


@dataclass(frozen=True)
class Protected(Defence):
    """dpdb as it is: a budget of ε for so many queries."""

    budget: float
    queries: int

    @property
    def side(self) -> Side:
        return Side.PRIVATE

    @property
    def label(self) -> str:
        return f"ε = {self.budget:g}"

    @property
    def epsilon(self) -> float:
        return self.budget

    def open(self, scenario: Scenario, directory: Path, seed: int) -> Session:
        policy = scenario.policy(directory, exactly(self.budget), self.queries)
        return Session(policy, noise=seeded(seed))


def unprotected(scenario: Scenario, directory: Path, noise: Noise | None = None) -> Session:
    """A session that answers exactly, and as often as it is asked."""
    policy = scenario.policy(directory, Fraction(1), MANY)
    return with_settings(Session(policy, noise=noise, teach=True), ("SET dp = 'off'",))


def with_settings(session: Session, settings: tuple[str, ...]) -> Session:
    """The session, after these statements."""
    for setting in settings:
        session.execute(setting)
    return session


def exactly(epsilon: float) -> Fraction:
    """The decimal number that was meant: 0.1 is a tenth."""
    return Fraction(repr(epsilon))
