"""The entries of a ledger: what happened, what had been spent after it, and a seal on both.

Each seal is a hash of the entry and of the seal before it. So the last seal, kept elsewhere, stands
for all entries, and none can be changed, left out or put in without changing it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import field
from fractions import Fraction
from typing import Any

from dpdb.ledger.book.plan_text import RegionText
from dpdb.ledger.terms import TermTexts
from dpdb.privacy.accounting.composition import NO_LOSS, ComposedLoss
from dpdb.records import dataclass

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
            **_event(self.event),
            "totals": _totals(self.totals),
            "decision": self.decision,
            "latest": dict(self.latest),
            "grouped_before": self.grouped_before,
        }
        return json.dumps(fields, sort_keys=True, separators=(",", ":"))

    @classmethod
    def read(cls, number: int, text: str) -> Entry:
        """The entry kept as `text`."""
        fields = json.loads(text)
        totals = fields["totals"]
        return cls(
            number,
            fields["time"],
            fields["who"],
            _charge(fields) if fields["action"] in CHARGES else _decision(fields),
            Totals(_loss(totals["loss"]), totals["queries"], totals["regions"], totals["turns"]),
            fields["decision"],
            fields["latest"],
            fields["grouped_before"],
        )


def seal(before: bytes, number: int, text: str) -> bytes:
    """The seal of the entry `number`, kept as `text`, after one with the seal `before`."""
    return hashlib.sha256(before + number.to_bytes(8, "big") + text.encode()).digest()


def _event(event: Charge | Decision) -> dict[str, Any]:
    match event:
        case Charge():
            return {
                "action": event.action,
                "statement": event.statement,
                "loss": _texts(event.loss),
                "queries": event.queries,
                "region": event.region,
                "group": event.group,
                "own": _texts(event.own),
                "shown": None if event.shown is None else _texts(event.shown),
            }
        case Decision():
            limits = event.limits
            return {
                "action": event.action,
                "why": event.why,
                "terms": event.terms,
                "limits": None if limits is None else {n: str(e) for n, e in limits.items()},
                "digests": dict(event.digests),
                "key": event.key,
                "since": event.since,
                "version": event.version,
            }


def _charge(fields: Mapping[str, Any]) -> Charge:
    return Charge(
        fields["statement"],
        _loss(fields["loss"]),
        fields["queries"],
        fields["region"],
        fields["group"],
        _loss(fields["own"]),
        None if fields["shown"] is None else _loss(fields["shown"]),
        fields["action"] == CHARGES[1],
    )


def _decision(fields: Mapping[str, Any]) -> Decision:
    limits = fields["limits"]
    return Decision(
        fields["action"],
        fields["why"],
        fields["terms"],
        None if limits is None else {name: Fraction(most) for name, most in limits.items()},
        fields["digests"],
        fields["key"],
        fields["since"],
        fields["version"],
    )


def _totals(totals: Totals) -> dict[str, Any]:
    return {
        "loss": _texts(totals.loss),
        "queries": totals.queries,
        "regions": totals.regions,
        "turns": totals.turns,
    }


_FORMER_PARTS = 6


def _texts(loss: ComposedLoss) -> list[str]:
    """A loss as exact fractions."""
    return [str(part) for part in loss.parts]


def _loss(texts: list[str]) -> ComposedLoss:
    """The loss of exact fractions; earlier versions had no `own_delta`, which is δ at most."""
    parts = [*map(_fraction, texts)]
    return ComposedLoss(*parts, *parts[1:2] * (len(parts) == _FORMER_PARTS))


def _fraction(text: str) -> Fraction:
    """As `Fraction(text)`, and several times as fast: a ledger holds many."""
    numerator, _, denominator = text.partition("/")
    return Fraction(int(numerator), int(denominator or 1))
