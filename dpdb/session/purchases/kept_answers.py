"""Answers as a session remembers them and as a ledger keeps them, and as they are chosen again.

They hold noisy values and public facts alone.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from fractions import Fraction
from itertools import islice
from typing import TYPE_CHECKING, Any

from dpdb.ledger.book.plan_text import read, written
from dpdb.ledger.protocol import Price
from dpdb.plan.expressions.expressions import Expr
from dpdb.plan.identity import identity
from dpdb.plan.logical.query import Function, Query
from dpdb.plan.physical.plan import Plan
from dpdb.plan.physical.release import Release, ReleasedGroup
from dpdb.plan.releases.quantiles import with_intervals
from dpdb.policy.catalog import Column
from dpdb.records import dataclass
from dpdb.session.purchases.query_plans import Plans, key_of

if TYPE_CHECKING:
    from dpdb.answers.estimates import Draws, Noisy
    from dpdb.plan.relations.relations import Source
    from dpdb.session.purchases.purchases import Purchase
    from dpdb.vectors.vector import Array


_DTYPES = ("int64", "object")
"""The types of noisy values: whole numbers all."""


@dataclass(frozen=True, repr=False)
class Chosen:
    """The plans with which a query is answered."""

    plans: Plans
    key: str
    """The identity of its plans, as if the query were new: by it a repeat is known."""
    before: Purchase | None = None
    """The answer that the same query had, if any."""
    new_to_asker: Plans | None = None
    """The plans that EXPLAIN shows where the answer follows from what others were shown.

    An analyst with a limit is shown those of an answer that nobody was shown, at the same price,
    and so does not learn from EXPLAIN what others have asked.
    """

    is_foreseen: bool = False
    """Whether the same query will be answered before, where that is only foreseen."""
    notes: tuple[str, ...] = ()
    """Notes on bounds that were found before."""
    goes_on: bool = False
    """Whether the answer before is not as accurate as asked, and there are finer plans."""

    @property
    def repeats(self) -> Purchase | None:
        """The answer before, if it is to be given again."""
        return None if self.goes_on else self.before

    @property
    def is_free(self) -> bool:
        """Whether the answer was paid for, or follows from what was."""
        follows = self.plans[-1].follows and self.new_to_asker is None
        return self.repeats is not None or self.is_foreseen or follows

    @property
    def explained(self) -> Plan:
        """The plan that EXPLAIN shows."""
        return (self.new_to_asker or self.plans)[-1]


@dataclass(frozen=True, repr=False)
class KeptAnswer:
    """A purchase with its releases, and the key by which it is found again."""

    key: object
    """The identity of the query's plans, as if it were new."""
    purchase: Purchase
    fresh: tuple[Release, ...]
    """The releases that were drawn for it."""
    remembered: tuple[ReleasedGroup, ...]
    """The groups that it recalled: their values come first among those of the purchase."""
    keys: tuple[Expr, ...]
    """The keys of the cells in which it was drawn."""
    groups: tuple[tuple[int, ReleasedGroup], ...]
    """The groups that were drawn, each with the index of its first release."""
    series: tuple[str, ...] = ()
    """The series to which the drawn releases belong, by name; empty where they belong to none."""

    @classmethod
    def of(
        cls, key: object, purchase: Purchase, plan: Plan, series: tuple[str, ...] = ()
    ) -> KeptAnswer:
        """The purchase for a plan, in the form that is kept."""
        # Which rows pass a filter with a subquery, and which keys are found, depends on noise; and
        # other queries have no cells of NULL.
        null = any(None in values for values in plan.key_values)
        groups = () if plan.subplans or plan.found or null else plan.groups
        return cls(key, purchase, plan.fresh, plan.remembered, plan.keys, groups, series)

    def answering(self, plan: Plan) -> Purchase | None:
        """The purchase with the noisy values of another plan; None where it lacks some.

        Two queries that would draw the same if they were new can differ in what they recall: of
        AVG(x) and COUNT(*) the second may be remembered, which AVG(x) alone does not read.
        """
        if plan.fresh != self.fresh or not set(plan.remembered) <= set(self.remembered):
            return None
        noisy = self.purchase.result.noisy
        recalled = sum(len(group.releases) for group in self.remembered)
        drawn = iter(noisy.draws[:recalled])
        known = {group: tuple(islice(drawn, len(group.releases))) for group in self.remembered}
        own = (values for group in plan.remembered for values in known[group])
        noisy = _answered(plan, replace(noisy, draws=(*own, *noisy.draws[recalled:])))
        return replace(self.purchase, result=replace(self.purchase.result, noisy=noisy))

    @property
    def recalled_groups(self) -> Iterator[tuple[ReleasedGroup, Draws]]:
        """The groups that it recalled as they were drawn, with their noisy values."""
        draws = iter(self.purchase.result.noisy.draws)
        for group in self.remembered:
            values = tuple(islice(draws, len(group.releases)))
            if group.source is None:
                yield group, values

    @property
    def drawn_groups(self) -> Iterator[tuple[ReleasedGroup, Draws]]:
        """The groups that were drawn for it, with their noisy values."""
        draws = self.purchase.result.noisy.draws
        for first, group in self.groups:
            yield group, draws[first : first + len(group.releases)]

    @property
    def levels(self) -> Iterator[tuple[Release, str, Array]]:
        """The releases that are levels of series, with the series' names and the noisy values."""
        if self.series:
            drawn = self.purchase.result.noisy.draws[-len(self.fresh) :]
            yield from zip(self.fresh, self.series, drawn, strict=True)

    @property
    def text(self) -> str | None:
        """The text that `read_answer` reads; None where some part has none."""
        bought = self.purchase
        try:
            return json.dumps(
                {
                    "key": written(self.key),
                    "fresh": written(self.fresh),
                    "remembered": written(self.remembered),
                    "keys": written(self.keys),
                    "groups": written(self.groups),
                    "series": list(self.series),
                    "noisy": _noisy_text(bought.result.noisy),
                    "price": [str(bought.price.epsilon), str(bought.price.delta)],
                    "queries": bought.price.queries,
                    "notes": list(bought.notes),
                    "step": bought.step,
                },
                separators=(",", ":"),
            )
        except TypeError:
            return None


def read_answer(text: str, columns: Mapping[str, Column]) -> KeptAnswer | None:
    """The answer that is kept as this text; None where it reads other columns.

    `columns` are found by their identities or, in a text of earlier versions, by their names.
    """
    from dpdb.session.purchases.executor import NoisyResult  # noqa: PLC0415 (numpy)
    from dpdb.session.purchases.purchases import Purchase  # noqa: PLC0415 (numpy)

    fields = json.loads(text)
    epsilon, delta = map(Fraction, fields["price"])
    purchase = Purchase(
        NoisyResult(_noisy(fields["noisy"])),
        Price(epsilon, delta, fields["queries"]),
        tuple(fields["notes"]),
        fields["step"],
    )
    try:
        return KeptAnswer(
            read(fields["key"], columns),
            purchase,
            read(fields["fresh"], columns),
            read(fields["remembered"], columns),
            read(fields["keys"], columns),
            read(fields["groups"], columns),
            tuple(fields["series"]),
        )
    except (LookupError, ValueError):  # records of earlier versions can have other fields
        return None


Scope = str
"""The rows that releases are about: the identity of what is read, and of the filter."""
CellKeys = tuple[Expr, ...]


@dataclass(repr=False)
class Groups:
    """The noisy values of groups, by the rows and the cells that they are about."""

    _held: dict[Scope, dict[CellKeys, dict[ReleasedGroup, Draws]]] = field(default_factory=dict)

    def of(self, scope: Scope) -> dict[CellKeys, dict[ReleasedGroup, Draws]]:
        """The groups over some rows, by the keys of their cells."""
        return self._held.get(scope, {})

    def over(self, query: Query | Plan) -> dict[ReleasedGroup, Draws]:
        """The groups over the rows and the cells of a query, the latest at the end."""
        return self.of(scope_of(query)).get(query.keys, {})

    def add(
        self, scope: Scope, keys: CellKeys, groups: Iterable[tuple[ReleasedGroup, Draws]]
    ) -> None:
        """Take note of groups, so that the latest is the last."""
        known = self._held.setdefault(scope, {}).setdefault(keys, {})
        for group, values in groups:
            known.pop(group, None)
            known[group] = values

    def copied(self) -> Groups:
        """A copy to which groups can be added."""
        return Groups(
            {
                scope: {keys: dict(known) for keys, known in of_scope.items()}
                for scope, of_scope in self._held.items()
            }
        )


def scope_of(of: Query | Plan) -> Scope:
    """The scope, which is cached with the record."""
    held = vars(of)
    if "_scope" not in held:
        held["_scope"] = scope_over(of.table, of.where)
    return str(held["_scope"])


def scope_over(table: Source, where: Expr | None) -> Scope:
    """The scope of the rows of a table that pass a filter."""
    return identity((table, where))


def can_be_kept(plan: Plan) -> bool:
    """Whether all that is kept of a plan has a text: only then may levels of series be drawn."""
    try:
        written((plan.fresh, plan.remembered, plan.keys, plan.groups))
    except TypeError:
        return False
    return True


PlansOf = Callable[[Query, tuple[ReleasedGroup, ...]], tuple[Plans, ...]]
"""Gives the plans of a query that recalls some groups."""
Known = Callable[[str, Plan, Query], KeptAnswer | None]
"""Gives the answer that is kept under a key, for a plan of a query."""
Recall = Callable[[Plan, "Draws"], None]
"""Takes note of the noisy values that a plan recalls."""


def answered_otherwise(
    query: Query, possible: Sequence[Plans], plans_of: PlansOf, known: Known, recall: Recall
) -> Chosen | None:
    """The plans of a query that was answered with the other setting of `interval`.

    Asked for with an interval, an answer that has none keeps its values, and the intervals are
    drawn around them: a fifth of ε that was not paid for before. Asked for without, an answer with
    intervals is repeated, though its values had four fifths of ε alone. None where the query was
    not answered, or where it has no quantile of its own to be shown with an interval.
    """
    quantiles = any(each.function is Function.QUANTILE for each in query.aggregates)
    if not quantiles or query.subqueries:
        return None
    shown = query.options.interval == "on"
    options = replace(query.options, interval="off" if shown else "on")
    other = replace(query, options=options)
    others = plans_of(other, ())
    for place, plans in enumerate(others if len(others) == len(possible) else ()):
        if plans[-1].found or len(plans) > 1:
            continue
        key = key_of(plans[-1], options)
        kept = known(key, plans[-1], other)
        if kept is None:
            continue
        (plan,) = plans_of(other, kept.remembered)[place]
        before = kept.answering(plan)
        if before is None:
            continue
        if not shown:
            return Chosen((plan,), key, before)
        wanted = possible[place][-1]
        key, plan = key_of(wanted, query.options), with_intervals(wanted, plan)
        recall(plan, before.result.noisy.draws)
        drawn = known(key, wanted, query)
        return Chosen((plan,), key, None if drawn is None else drawn.answering(plan))
    return None


def _answered(plan: Plan, noisy: Noisy) -> Noisy:
    """The noisy values with the answers of subqueries, which follow from theirs."""
    from dpdb.answers.tables.derived import subquery_answers  # noqa: PLC0415 (numpy)

    within = tuple(map(_answered, plan.subplans, noisy.subresults))
    return replace(noisy, subqueries=subquery_answers(plan, within), subresults=within)


def _noisy_text(noisy: Noisy) -> dict[str, Any]:
    return {
        "draws": [_array_text(each) for each in noisy.draws],
        "within": [_noisy_text(each) for each in noisy.subresults],
        "keys": written(noisy.keys),
    }


def _noisy(fields: Mapping[str, Any]) -> Noisy:
    from dpdb.answers.estimates import Noisy  # noqa: PLC0415 (numpy)

    within = tuple(_noisy(each) for each in fields["within"])
    draws = tuple(_array(each) for each in fields["draws"])
    return Noisy(draws, {}, within, read(fields["keys"], {}))


def _array_text(values: Array) -> dict[str, Any]:
    if values.dtype.name not in _DTYPES:
        raise TypeError(values.dtype)
    return {"type": values.dtype.name, "shape": values.shape, "values": values.ravel().tolist()}


def _array(fields: Mapping[str, Any]) -> Array:
    import numpy as np  # noqa: PLC0415

    return np.array(fields["values"], dtype=fields["type"]).reshape(fields["shape"])
