"""The transcript of one run of an attack: questions and answers, the guess and the truth."""

from __future__ import annotations

from dpdb.answers.answer import Answer
from dpdb.lab.defences import Defence
from dpdb.records import dataclass


@dataclass(frozen=True)
class Guess:
    """The attacker's guess, and how it follows from the answers."""

    value: object
    because: str


@dataclass(frozen=True)
class Exchange:
    """A statement and its answer, or the reason of its refusal."""

    sql: str
    answer: Answer | None
    refusal: str | None = None


@dataclass(frozen=True)
class Showing:
    """One run of an attack against one defence, with the truth beside the guess."""

    defence: Defence
    exchanges: tuple[Exchange, ...]
    guess: Guess
    truth: object
    hits: int
    tries: int
