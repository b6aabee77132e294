"""The entries of a ledger: what happened, what had been spent after it, and a seal on both.

Each seal is a hash of the entry and of the seal before it. So the last seal, kept elsewhere, stands
for all entries, and none can be changed, left out or put in without changing it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import field, fields
from fractions import Fraction
from typing import Any, TypeVar

from dpdb.ledger.book.plan_text import RegionText
from dpdb.ledger.terms import TermTexts
from dpdb.privacy.accounting.composition import NO_LOSS, ComposedLoss
from dpdb.records import dataclass

Record = TypeVar("Record", "Charge", "Decision", "Totals")
CHARGES = "charge", "corrected"
"""The names of entries with a charge."""
MOVE, ARRIVE = "move", "arrive"
"""The last entry of a ledger that was moved, and the one that follows in its new place alone."""
NO_SEAL = bytes(32)
"""The seal before that of the first entry."""


@dataclass(frozen=True)
class Charge:
    """A charge for a statement."""

    statement: str
    loss: ComposedLoss
    queries: int
    region: RegionText | None
    """The rows that the loss is on; None for all rows."""
    group: int | None
    """The group of statements about other rows that it joined; None where it joined none."""
    own: ComposedLoss
    """The full loss of the analyst's own statements, this one included."""
    shown: ComposedLoss | None = None
    """The loss shown to the analyst, if it is not `loss`: others can have paid for a part."""
    corrected: bool = False
    """Whether it is for what was released before, and charged too little for."""

    @property
    def action(self) -> str:
        """The name of the entry."""
        return CHARGES[self.corrected]

    @property
    def own_part(self) -> ComposedLoss:
        """The loss that the analyst's own account pays."""
        return self.loss if self.shown is None else self.shown


@dataclass(frozen=True)
class Decision:
    """A decision of the data owner, and the terms that hold from here on."""

    action: str
    """`open`, `accept`, `grant`, `revoke`, `renew`, `move` or `arrive`."""
    why: str
    terms: TermTexts
    limits: Mapping[str, Fraction] | None
    """For each analyst the most ε; None where anyone may ask for all of it."""
    digests: Mapping[str, str]
    """For each table the keyed digest of its data."""
    key: str = field(repr=False)
    """The key of the digests, in hexadecimal."""
    since: int
    """The entry from which on the budget is spent."""
    version: int
    """The entry from which on data and terms are the same: regions of others say nothing."""


@dataclass(frozen=True)
class Totals:
    """The sums of all that has been spent after an entry."""

    loss: ComposedLoss = NO_LOSS
    queries: int = 0
    regions: int = 0
    turns: int = 0


@dataclass(frozen=True)
class Entry:
    """An entry, but for its seal."""

    number: int
    time: int
    """In seconds since 1970."""
    who: str
    event: Charge | Decision
    totals: Totals
    decision: int
    """The number of the decision whose terms hold."""
    latest: Mapping[str, int]
    """For each analyst the number of the last charge."""
    grouped_before: int | None
    """The number of the last charge before this that joined a group, of the same version."""

    @property
    def last_grouped(self) -> int | None:
        """The number of the last charge up to this one that joined a group."""
        grouped = isinstance(self.event, Charge) and self.event.group is not None
        return self.number if grouped else self.grouped_before

    @property
    def text(self) -> str:
        """The entry as it is kept."""
        fields = {
            "time": self.time,
            "who": self.who,
            "action": self.event.action,
            **_written(self.event),
            "totals": _written(self.totals),
            "decision": self.decision,
            "latest": dict(self.latest),
            "grouped_before": self.grouped_before,
        }
        return json.dumps(fields, sort_keys=True, separators=(",", ":"))

    @classmethod
    def read(cls, number: int, text: str) -> Entry:
        """The entry kept as `text`."""
        told = json.loads(text)
        action, totals = told["action"], _read(Totals, told["totals"])
        event: Charge | Decision
        if action in CHARGES:
            event = _read(Charge, {**told, "corrected": action == CHARGES[1]})
        else:
            event = _read(Decision, told)
        return cls(
            number, told["time"], told["who"], event, totals, told["decision"], told["latest"],
            told["grouped_before"],
        )  # fmt: skip


def seal(before: bytes, number: int, text: str) -> bytes:
    """The seal of the entry `number`, kept as `text`, after one with the seal `before`."""
    return hashlib.sha256(before + number.to_bytes(8, "big") + text.encode()).digest()


_LOSSES = ("loss", "own", "shown")
"""The fields that are a loss, kept as the exact fractions of its parts."""
_FORMER_PARTS = 6
"""The parts of a loss in earlier versions, which had no `own_delta`: that is δ at most."""


def _written(record: Charge | Decision | Totals) -> dict[str, Any]:
    """The fields of a record in the types of JSON, by their names; `corrected` is the action's."""
    told = {each.name: getattr(record, each.name) for each in fields(record)}
    told.pop("corrected", None)
    for name in told.keys() & _LOSSES:
        told[name] = None if told[name] is None else [str(part) for part in told[name].parts]
    if told.get("limits") is not None:
        told["limits"] = {analyst: str(most) for analyst, most in told["limits"].items()}
    return told


def _read(record: type[Record], told: Mapping[str, Any]) -> Record:
    """The record of which `_written` has made these fields, among others."""
    read = {each.name: told[each.name] for each in fields(record)}
    for name in read.keys() & _LOSSES:
        read[name] = None if read[name] is None else _loss(read[name])
    if read.get("limits") is not None:
        read["limits"] = {analyst: Fraction(most) for analyst, most in read["limits"].items()}
    return record(**read)


def _loss(texts: list[str]) -> ComposedLoss:
    """The loss of exact fractions."""
    parts = [*map(_fraction, texts)]
    return ComposedLoss(*parts, *parts[1:2] * (len(parts) == _FORMER_PARTS))


def _fraction(text: str) -> Fraction:
    """As `Fraction(text)`, and several times as fast: a ledger holds many."""
    numerator, _, denominator = text.partition("/")
    return Fraction(int(numerator), int(denominator or 1))


def moved_to(last: Entry) -> str | None:
    """The place to which the ledger with this last entry was moved; None where it was not."""
    match last.event:
        case Decision(action=action, why=why) if action == MOVE:
            return why
    return None


def arrives(entry: Entry) -> bool:
    """Whether an entry is the first in the place to which a ledger was moved."""
    return isinstance(entry.event, Decision) and entry.event.action == ARRIVE
