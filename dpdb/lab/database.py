"""Databases as an attacker sees them, and the defences that open them: none, dpdb, and reports."""

from __future__ import annotations

import math
import random
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from enum import StrEnum
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Protocol

from dpdb.answers.answer import Answer
from dpdb.answers.record import Cell, Detail, ReleaseReport
from dpdb.lab.scenario import Scenario
from dpdb.privacy.noise.protocols import Noise
from dpdb.privacy.noise.sources import seeded
from dpdb.records import dataclass

if TYPE_CHECKING:
    from dpdb.policy.catalog import Policy
    from dpdb.session.session import Session


class Refused(Exception):
    """The database refuses a statement, because of its policy, its budget or its control."""


class Database(Protocol):
    """A `Session`, or something with the same one method."""

    def execute(self, text: str) -> Answer:
        """Answer one statement; for an attack, any refusal is raised as `Refused`."""
        ...


def number(answer: Answer, row: int = 0, column: int = 0) -> float:
    """A cell of an answer as a number; NULL is 0."""
    cell = answer.rows[row][column]
    return float(cell) if isinstance(cell, int | float) else 0.0


@dataclass(frozen=True)
class AlteredDatabase:
    """Answers as `database` does, with every number changed by `change`."""

    database: Database
    change: Callable[[float], float]
    releases: tuple[ReleaseReport, ...] = ()
    """The reports of noise that the answers carry."""

    def execute(self, text: str) -> Answer:
        """Answer one statement; only answers to queries are changed."""
        answer = self.database.execute(text)
        if not answer.query:
            return answer
        cells = tuple(
            replace(column, cells=tuple(map(self._cell, column.cells))) for column in answer.cells
        )
        return replace(answer, cells=cells, release_detail=Detail.of(self.releases))

    def _cell(self, cell: Cell) -> Cell:
        if isinstance(cell, int | float) and not isinstance(cell, bool):
            return self.change(cell)
        return cell


MANY = 10**6
"""A query limit that no attack reaches."""


class Side(StrEnum):
    """The kind of a defence, for the colours and headings of reports."""

    OFF = "off"
    FOIL = "foil"
    PRIVATE = "private"


class Defence(ABC):
    """A way to answer questions about a scenario's rows."""

    LABEL: ClassVar[str]
    """Its name in tables and charts, with fields in braces."""
    SIDE: ClassVar[Side] = Side.FOIL
    NOTE: ClassVar[str] = ""
    """Its effect, in a sentence with fields in braces; empty where the label is enough."""

    @property
    def side(self) -> Side:
        """Its kind: no protection, another defence, or privacy."""
        return self.SIDE

    @property
    def label(self) -> str:
        """Its name in tables and charts."""
        return self.LABEL.format_map(vars(self))

    @property
    def note(self) -> str:
        """Its effect, in a sentence; empty where the label is enough."""
        return self.NOTE.format_map(vars(self))

    @property
    def epsilon(self) -> float | None:
        """The ε that it claims; None if it claims none."""
        return None

    @abstractmethod
    def open(self, scenario: Scenario, directory: Path, seed: int) -> Database:
        """A new database with the scenario's rows, which are written to `directory`."""


@dataclass(frozen=True)
class Unprotected(Defence):
    """Exact answers, as from any database."""

    SIDE = Side.OFF
    LABEL = "no protection"

    def open(self, scenario: Scenario, directory: Path, seed: int) -> Session:
        return unprotected(scenario, directory)


@dataclass(frozen=True)
class Claimed(Defence):
    """A defence that claims an ε of `budget` for `queries` queries."""

    budget: float
    queries: int = 1

    @property
    def epsilon(self) -> float:
        return self.budget


@dataclass(frozen=True)
class Protected(Claimed):
    """dpdb with differential privacy."""

    SIDE = Side.PRIVATE
    LABEL = "ε = {budget:g}"

    def open(self, scenario: Scenario, directory: Path, seed: int) -> Session:
        policy = scenario.policy(directory, exactly(self.budget), self.queries)
        return session_of(policy, seeded(seed))


def truthful(epsilon: float) -> float:
    """The chance of a true report, e^ε / (1 + e^ε): the other report is e^ε times as rare."""
    return 1 / (1 + math.exp(-epsilon))


@dataclass(frozen=True)
class Reports(Claimed):
    """Randomised response: everybody tosses a coin before answering, and the owner sees reports."""

    SIDE = Side.PRIVATE
    LABEL = "reports, ε = {budget:g}"

    NOTE = (
        "Everybody reports the truth with the chance e^ε / (1 + e^ε), and else the opposite. The "
        "attacker is the owner, who has the reports and nothing more."
    )

    def open(self, scenario: Scenario, directory: Path, seed: int) -> Database:
        coin = random.Random(seed)  # noqa: S311 (a lesson is to run the same way twice)
        p = truthful(self.budget)
        reports = [
            (who, int((bit == 1) == (coin.random() < p)))  # the truth, or the opposite
            for who, bit in scenario.rows
        ]
        return unprotected(replace(scenario, rows=reports), directory)


def session_of(policy: Policy, noise: Noise | None, *settings: str, teach: bool = False) -> Session:
    """A session on the policy that has executed the statements `settings`.

    Imported late: a student's process knows defences, opens no session, and starts sooner without.
    """
    from dpdb.session.session import Session  # noqa: PLC0415

    session = Session(policy, noise=noise, teach=teach)
    for setting in settings:
        session.execute(setting)
    return session


def unprotected(scenario: Scenario, directory: Path) -> Session:
    """A session that answers exactly, with no limit on ε or queries."""
    policy = scenario.policy(directory, Fraction(1), MANY)
    return session_of(policy, None, "SET dp = 'off'", teach=True)


def exactly(epsilon: float) -> Fraction:
    """The decimal number that a double is written as: 0.1 gives exactly a tenth."""
    return Fraction(repr(epsilon))
