"""The answers that a ledger keeps, as a session reads them and adds to them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import field, replace

from dpdb.ledger.book.plan_text import former_scope
from dpdb.ledger.protocol import ReleaseStore
from dpdb.plan.expressions.expressions import Expr
from dpdb.plan.identity import identity
from dpdb.plan.logical.query import Query
from dpdb.plan.physical.plan import Plan
from dpdb.plan.relations.relations import Source
from dpdb.policy.catalog import Column, Table
from dpdb.records import dataclass
from dpdb.session.purchases.kept_answers import KeptAnswer, Scope, read_answer, scope_of, scope_over

News = Iterator[tuple[Scope, str, KeptAnswer]]
"""Answers that were not read before: the scope of each, and the analyst to whom it was shown."""


@dataclass(repr=False)
class LedgerAnswers:
    """Reads each answer that a ledger keeps once, when a query may follow from it.

    Its columns are those of the policy's tables, and those that were read over the same rows, such
    as columns of joined tables.
    """

    store: ReleaseStore
    tables: tuple[Table, ...]
    """The tables of the policy."""
    _columns: dict[Scope, dict[str, Column]] = field(default_factory=dict)
    """The columns that were read over each scope, by identity."""
    _read: dict[str, int] = field(default_factory=dict)
    """For each scope, or name, the number of the last release that was read."""

    def copied(self) -> LedgerAnswers:
        """A copy that reads on for itself."""
        columns = {scope: dict(known) for scope, known in self._columns.items()}
        return replace(self, _columns=columns, _read=dict(self._read))

    def note_query(self, query: Query) -> None:
        """Read again what is kept where a query reads columns that no table of the policy has.

        Columns of joined tables are such columns, and those computed for each unit or group of
        units.
        """
        stored = query.table in self.tables and not query.subqueries
        if stored and not query.has_single_values:
            return
        if self._note(scope_of(query), query.columns_read):
            for name in (scope_of(query), former_scope(query.table, query.where)):
                self._read.pop(name or "", None)

    def note_sought(self, plan: Plan) -> None:
        """The same for the columns of a plan whose cap is found: its rows are not capped.

        Its query does not read the columns of what units add.
        """
        read = (column for each in (plan, *plan.subplans) for column in each.columns_aggregated)
        if self._note(scope_of(plan), read):
            self._read.pop(scope_of(plan), None)

    def news(self, table: Source, where: Expr | None) -> News:
        """The releases that are kept about some rows, but for those that were read before."""
        scope, former = scope_over(table, where), former_scope(table, where)
        yield from self._news_under(scope, scope, table)
        if former is not None:
            yield from self._news_under(former, scope, table)

    def news_named(self, name: str, table: Source, columns: Iterable[Column]) -> News:
        """The same for what is kept under a name about some columns over a table."""
        if self._note(name, columns):
            self._read.pop(name, None)
        yield from self._news_under(name, name, table)

    def keep(self, scope: Scope, text: str, *, if_latest: bool, in_steps: bool) -> bool:
        """Keep an answer; no if others have kept more since the last that was read."""
        last = self._read.get(scope, 0)
        number = self.store.keep(scope, text, last if if_latest else None)
        if number is not None and in_steps:  # nobody else has kept anything before it
            self._read[scope] = number
        return number is not None

    def _note(self, scope: Scope, columns: Iterable[Column]) -> bool:
        """Take note of columns that are read over a scope; whether any of them is new there."""
        known, read = (
            self._columns.setdefault(scope, {}),
            {identity(each): each for each in columns},
        )
        is_new = not read.keys() <= known.keys()
        known |= read
        return is_new

    def _news_under(self, name: str, scope: Scope, table: Source) -> News:
        """The releases that are kept under a name, which is that of a scope, or was."""
        releases = self.store.kept(name, self._read.get(name, 0))
        if not releases:
            return
        own = (table,) if isinstance(table, Table) else ()
        columns = self._columns_of(scope, (*self.tables, *own), by_name=name != scope)
        for release in releases:
            self._read[name] = release.number
            kept = read_answer(release.kept.text, columns)
            if kept is not None:
                yield scope, release.kept.who, kept

    def _columns_of(
        self, scope: Scope, tables: Iterable[Table], *, by_name: bool
    ) -> dict[str, Column]:
        """The columns of some tables, and those that were read over a scope.

        They are by identity, or by name where one column alone that was read has the name.
        """
        read = self._columns.get(scope, {})
        own = [column for table in tables for column in table.columns]
        if not by_name:
            return {**{identity(column): column for column in own}, **read}
        named = Counter(column.name for column in read.values())
        columns = {column.name: column for column in (*own, *read.values())}
        return {name: column for name, column in columns.items() if named[name] <= 1}
