"""Budgets: of a session, and a lasting one that belongs to the data."""

from __future__ import annotations

import re
from dataclasses import field
from enum import StrEnum
from fractions import Fraction
from pathlib import Path
from urllib.parse import parse_qsl, urlencode, urlsplit

from dpdb.errors import InvalidOption, Place
from dpdb.policy.numbers import decimal
from dpdb.records import dataclass

SMALLEST_EPSILON = Fraction(1, 10**9)
LARGEST_EPSILON = Fraction(10**4)
SMALLEST_DELTA = Fraction(1, 10**100)
"""The least δ with which a composition theorem, or a release, can compute."""
LARGEST_QUERIES = 10**9


class Neighbors(StrEnum):
    """The neighbour relations: what one privacy unit may change."""

    ADD_REMOVE = "add-remove"
    REPLACE = "replace"


class Timing(StrEnum):
    """When answers leave: on ticks, or after delays that make their moments private, too."""

    PLAIN = "plain"
    NOISY = "noisy"


class Composition(StrEnum):
    """The composition theorems: how the losses of statements add up."""

    PURE = "pure"
    ADVANCED = "advanced"
    ZCDP = "zcdp"


@dataclass(frozen=True)
class Budget:
    """The total privacy loss and number of queries allowed."""

    epsilon: Fraction = Fraction(1)
    delta: Fraction = Fraction(0)
    queries: int = 10
    composition: Composition = Composition.PURE

    def __hash__(self) -> int:
        """A hash of one field, as hashing fractions takes long: a process has few budgets."""
        return hash(self.queries)


def valid_epsilon(value: Fraction, place: Place | None = None) -> Fraction:
    """`value` if it can be an ε; otherwise raises InvalidOption, at `place`."""
    if not SMALLEST_EPSILON <= value <= LARGEST_EPSILON:
        ends = f"{decimal(SMALLEST_EPSILON)} and {decimal(LARGEST_EPSILON)}"
        raise _out_of_range(f"epsilon must be between {ends}", place)
    return value


def valid_delta(value: Fraction, place: Place | None = None) -> Fraction:
    """`value` if it can be a δ; otherwise raises InvalidOption, at `place`."""
    if not 0 <= value < 1:
        raise _out_of_range("delta must be at least 0 and below 1", place)
    return value


def _out_of_range(problem: str, place: Place | None) -> InvalidOption:
    """The error; an analyst's statement, which has a place, gets a hint."""
    hint = None if place is None else "SHOW BUDGET tells what is left"
    return InvalidOption(problem, hint=hint, place=place)


def valid_queries(value: int) -> int:
    """`value` if it can be a number of queries."""
    if type(value) is not int or not 1 <= value <= LARGEST_QUERIES:
        raise InvalidOption("queries is a whole number, at least 1")
    return value


def valid_budget(budget: Budget, minimum_units: int = 1) -> Budget:
    """`budget` if it has the δ that its theorem needs; otherwise raises InvalidOption.

    To hide the groups of fewer than `minimum_units` needs a δ, too.
    """
    if minimum_units > 1 and budget.delta < SMALLEST_DELTA:
        raise InvalidOption(
            f"minimum_units = {minimum_units} needs delta of {decimal(SMALLEST_DELTA)} or more",
            hint="delta = 1e-6 in [budget], or --delta 1e-6; far below 1 / the number of rows",
        )
    if budget.composition is not Composition.PURE and budget.delta < SMALLEST_DELTA:
        raise InvalidOption(
            f"composition = {budget.composition} needs delta of {decimal(SMALLEST_DELTA)} or more",
            hint="for instance delta = 1e-6; it should be far below 1 / the number of rows",
        )
    return budget


SUFFIX = ".ledger"
KEY_SUFFIX = ".ledger.key"
"""The end of the name of the key's file beside the policy, where a server has the ledger."""
LONGEST_NAME = 100
_SCHEMES = ("postgresql", "postgres")
_SCHEMA = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_USUAL_SCHEMA = "dpdb"


@dataclass(frozen=True)
class LedgerServer:
    """A schema of a PostgreSQL database with a ledger, such as `postgresql://db/h?schema=clinic`.

    `address` is the URI of the database, as libpq takes it: parts that are left out come from the
    environment.
    """

    address: str = field(repr=False)
    schema: str = _USUAL_SCHEMA

    @property
    def place(self) -> str:
        """The address in messages, without a user or a password."""
        parts = urlsplit(self.address)
        kept = [each for each in parse_qsl(parts.query) if each[0] in ("host", "port")]
        settings = urlencode([*kept, ("schema", self.schema)], safe="/")
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}?{settings}"

    @property
    def has_standby(self) -> bool:
        """Whether it names several hosts, so that another can take over."""
        parts = urlsplit(self.address)
        hosts = [value for key, value in parse_qsl(parts.query) if key in ("host", "hostaddr")]
        return any("," in each for each in (parts.netloc, *hosts))


def ledger_at(text: str, folder: Path = Path()) -> Path | LedgerServer:
    """The ledger that a text names: a file, in `folder`, or an address; raises InvalidOption."""
    if not text or "\0" in text:
        raise InvalidOption("ledger is the name of a file, or the address of a PostgreSQL database")
    if "://" not in text:
        return folder / text
    try:
        parts = urlsplit(text)
        settings = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
    except ValueError:
        raise InvalidOption("ledger is not the address of a database") from None
    if text.count("@") > parts.netloc.count("@") or parts.netloc.count("@") > 1:
        # Its parts would be others than they were meant to be, and messages quote some.
        raise InvalidOption(
            "ledger is an address in which / and @ of a user or a password are written %2F and %40"
        )
    schemas = [value for key, value in settings if key == "schema"] or [_USUAL_SCHEMA]
    named = len(schemas) == 1 and _SCHEMA.fullmatch(schemas[0])
    if parts.scheme not in _SCHEMES or not named or len(parts.path) < 2:
        raise InvalidOption(
            "ledger is a file, or postgresql://HOST/DATABASE?schema=NAME with a name in small "
            "letters, digits and _"
        )
    rest = urlencode([each for each in settings if each[0] != "schema"])
    end = f"?{rest}" if rest else ""
    return LedgerServer(f"{_SCHEMES[0]}://{parts.netloc}{parts.path}{end}", schemas[0])


@dataclass(frozen=True)
class LastingBudget:
    """A named budget: what is spent of it is kept in a ledger for good."""

    name: str
    ledger: Path | LedgerServer
    queries_in_all: int | None = None
    """The most queries of all sessions together; None where only each session has a limit."""
    analysts: tuple[tuple[str, Fraction], ...] | None = None
    """For each analyst the most ε of the whole; None where anyone may ask for all of it."""
    anchor: Path | None = None
    """A file elsewhere that tells an older copy of the ledger; None where there is none."""
    period: int | None = None
    """After how many days the budget is renewed; None where it is for good."""
    key: Path | None = field(default=None, compare=False)
    """The file of the key, where a server has the ledger; None where there is no policy file."""

    @property
    def duration(self) -> str:
        """The time for which one ε has to last, in words."""
        match self.period:
            case None:
                return "for good"
            case 1:
                return "every day"
        return f"every {self.period} days"


def is_name(text: object) -> bool:
    """Whether a text can be the name of a budget, or of an analyst."""
    return isinstance(text, str) and 0 < len(text) <= LONGEST_NAME and text.isprintable()
