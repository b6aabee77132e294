"""Corrections of what earlier versions charged too little, made once when their ledger is opened.

They knew a table that a SELECT makes by a text that left out the names of its columns. So two
statistics of such a table could be taken for one, and the second be drawn as a finer level of the
first, for the difference of their ε, or as a coarser one, for nothing. Which levels are of another
statistic is not to be shown afterwards. So each is charged for as if it were: its ε less what was
paid. Nothing that was released of such tables is reused or refined any more (`plan_text`).
"""

from __future__ import annotations

import io
import json
import time
import tokenize
from ast import literal_eval
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

from dpdb.errors import LedgerError
from dpdb.ledger.book.book import Book, Sealed
from dpdb.ledger.book.entries import Charge, Decision, Entry
from dpdb.ledger.book.forms import book_at
from dpdb.ledger.book.plan_text import read
from dpdb.ledger.book.state import decision_of
from dpdb.policy.budget import LastingBudget
from dpdb.privacy.accounting.composition import NO_LOSS, ComposedLoss
from dpdb.privacy.accounting.loss import added
from dpdb.privacy.mechanisms.mechanism import Additive
from dpdb.records import dataclass

CORRECTED = "corrected: releases of tables that a SELECT makes were charged too little for"
"""The words that stand in the place of the statement."""
_ZERO = Fraction(0)


def open_book(lasting: LastingBudget) -> Book:
    """The book of a budget; raises LedgerError where it is not to be relied on."""
    book = book_at(lasting)
    book.bring_up_to_date(lambda last: _corrections(book, last))
    return book


@dataclass(frozen=True)
class _Shortfall:
    """The losses that the whole budget and an analyst's own account have not paid."""

    whole: ComposedLoss = NO_LOSS
    own: ComposedLoss = NO_LOSS

    def __add__(self, other: _Shortfall) -> _Shortfall:
        return _Shortfall(self.whole + other.whole, self.own + other.own)


def _corrections(book: Book, last: Sealed) -> Iterator[Entry]:
    """An entry for each analyst who was shown what was charged too little for."""
    entry, decision = last.entry, decision_of(book, last.entry)
    shortfalls: dict[str, _Shortfall] = defaultdict(_Shortfall)
    for who, shortfall in _shortfalls(book, decision):
        shortfalls[who] += shortfall
    for who, shortfall in shortfalls.items():
        whole, own = shortfall.whole.shortened(), shortfall.own.shortened()
        if whole == NO_LOSS == own:
            continue
        before = NO_LOSS
        if (charged := entry.latest.get(who, -1)) >= decision.since:
            event = book.at(charged).entry.event
            before = event.own if isinstance(event, Charge) else NO_LOSS
        number, totals = entry.number + 1, entry.totals
        entry = Entry(
            number,
            max(int(time.time()), entry.time),
            who,
            Charge(
                CORRECTED, whole, 0, None, None, (before + own).shortened(), own, corrected=True
            ),
            replace(totals, loss=(totals.loss + whole).shortened()),
            entry.decision,
            {**entry.latest, who: number},
            entry.last_grouped,
        )
        yield entry


def _shortfalls(book: Book, decision: Decision) -> Iterator[tuple[str, _Shortfall]]:
    """For each answer about tables that a SELECT makes who was shown it, and what was not paid.

    Those of the present budget are looked at. One that began anew with the same version of data
    and policy has releases of the budget before, too, which do no harm but for their price.
    """
    finest: dict[object, Fraction] = defaultdict(Fraction)
    for release in book.walk_kept(bytes.fromhex(decision.key)):
        kept = release.kept
        version, fields = int(kept.scope.partition(" ")[0]), json.loads(kept.text)
        of_now = version == decision.version or version >= decision.since
        if not (of_now and fields["series"]):
            continue
        if _is_of_stored(fields["key"], decision.terms["tables"]):
            continue
        mechanisms = [_mechanism(book, each) for each in fields["fresh"]]
        whole = own = _ZERO
        for mechanism, series in zip(mechanisms, fields["series"], strict=True):
            if not (isinstance(mechanism, Additive) and mechanism.has_levels):
                continue
            by_all, by_one = (version, series), (version, series, kept.who)
            whole += min(finest[by_all], mechanism.epsilon)
            own += min(finest[by_one], mechanism.epsilon)
            for known in (by_all, by_one):
                finest[known] = max(finest[known], mechanism.epsilon)
        in_full = ComposedLoss.of(added(mechanism.loss for mechanism in mechanisms))
        yield kept.who, _Shortfall(_short(in_full, whole), _short(in_full, own))


def _short(in_full: ComposedLoss, epsilon: Fraction) -> ComposedLoss:
    """The loss that is to be charged of an answer of which so much ε was not paid.

    The other sums are not those of the levels alone, as the square of a sum is more than that of
    its parts: they are charged in full. No level has a δ.
    """
    if not epsilon:
        return NO_LOSS
    return replace(in_full, epsilon=epsilon, delta=_ZERO, rho_delta=_ZERO, own_delta=_ZERO)


def _mechanism(book: Book, fields: Mapping[str, Any]) -> Any:  # noqa: ANN401 (a mechanism)
    try:
        _, _, mechanism, *_ = fields["Release"]
        return read(mechanism, {})
    except (LookupError, TypeError, ValueError):
        raise LedgerError(
            f"{book.place} keeps a release that this version of dpdb cannot read",
            hint="the version that wrote it can",
        ) from None


def _is_of_stored(key: Any, tables: Collection[str]) -> bool:  # noqa: ANN401 (JSON)
    """Whether a key is of stored tables alone, or of a version that knows all tables by structure.

    Earlier versions wrote a key as a list, with the name of what is read first: that of a stored
    table, or the `repr` of a relation, in which each scan has the name of its table.
    """
    if isinstance(key, str):
        return True
    name = key[0]
    while isinstance(name, list):  # a key with a goal is one of several things
        name = name[0]
    if name in tables:
        return True
    if not str(name).startswith(("Join(", "Mark(", "Scan(")):
        return False
    tokens = list(tokenize.generate_tokens(io.StringIO(name).readline))
    scanned = [
        literal_eval(third.string)
        for (first, second), third in zip(pairwise(tokens), tokens[2:], strict=False)
        if (first.string, second.string) == ("Scan", "(")
    ]
    return bool(scanned) and all(each in tables for each in scanned)
