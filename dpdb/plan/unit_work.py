"""The work that one unit can add to a statement: rows, memory and time, from the plan alone.

`stability` bounds how many rows of a unit each relation has. Here the same is done for what SELECTs
within FROM make of relations, node by node:

| node | rows | rows while it is worked out |
|---|---|---|
| a table | its `rows_held` | the same |
| a join, EXISTS or IN | see `stability` | see `stability` |
| GROUP BY what names a unit | its source's, or combinations of the other keys | its source's |
| UNION ALL | the sum of its parts | the sum |
| windows | its source's | its source's, for each window |
| the SELECT that is answered | its source's, up to its cap | its source's |

**Theorem.** If no scan of a stored table yields more than `rows_held` rows of any unit u, then each
node N of a statement's source has |N(D_u)| ≤ `rows`(N) for every database D, and at most `made`(N)
rows, or pairs of rows, of u exist while N is worked out.

*Proof*, by induction over the tree. Tables and relations: the theorem of `stability`, whose
premise for a made table is the claim for the node below. A condition or a projection keeps rows or
drops them. GROUP BY makes one row of one or more; its keys beside the one that names the unit have
no more combinations than the product of their declared values, and the unit's own key at most two
values in rows of u, itself and NULL. UNION ALL has the rows of its parts, one after the other. A
window adds a column. Hashes for a cap, and windows, are worked out for the rows that are there. ∎

`bytes`(N) follows from `made`(N) and what is held of each row, and the time from `cost_table`.
"""

from __future__ import annotations

import math
from dataclasses import field

from dpdb.errors import Place, TooLarge
from dpdb.plan import cost_table
from dpdb.plan.cost_table import Costs
from dpdb.plan.identity import identity
from dpdb.plan.logical.per_unit import PerUnit
from dpdb.plan.logical.query import WORK, Function, Query
from dpdb.plan.logical.row_tables import MadeTable, RowUnion, WindowedRows, made_of, stored_tables
from dpdb.plan.relations.privacy_ids import names_unit
from dpdb.plan.relations.relations import Join, Joined, Mark, Relation, Scan, Source, scans
from dpdb.policy.catalog import USUAL_ROWS_HELD, Table
from dpdb.policy.names import written
from dpdb.privacy.mechanisms.selections.found_limit import ROWS as FOUND_LIMIT_ROWS
from dpdb.records import dataclass

MAX_UNIT_ROWS = 100_000
"""The most rows of one unit that exist during the computation of a node."""
MAX_UNIT_BYTES = 64_000_000
"""The most memory that the rows of one unit take in a node."""
MAX_UNIT_SECONDS = 0.01
"""The most time that the rows of one unit take in a statement."""
PIECE = 2**26
"""The most memory of the units that are worked on at once; one of MAX_UNIT_BYTES fits."""
FEW_ROWS = 10_000
LITTLE_TIME = 0.001
"""The rows and the seconds of one unit that EXPLAIN does not mention."""


@dataclass(frozen=True)
class NodeWork:
    """The work that one unit can add to one node of a statement."""

    name: str
    """The name of the node in messages."""
    made: int
    """The most rows of the unit that exist during the computation of the node."""
    bytes: int = 0
    nanoseconds: int = 0

    @property
    def seconds(self) -> float:
        """The most time."""
        return self.nanoseconds / 1e9


@dataclass(frozen=True)
class UnitWork:
    """The work that one unit can add to a statement."""

    nodes: tuple[NodeWork, ...] = ()
    unit: str = "row"
    """The name of the unit in messages."""

    @property
    def seconds(self) -> float:
        """The most time, of all nodes together."""
        return sum(node.nanoseconds for node in self.nodes) / 1e9

    @property
    def bytes(self) -> int:
        """The most memory of any node."""
        return max((node.bytes for node in self.nodes), default=0)

    @property
    def is_large(self) -> bool:
        """Whether EXPLAIN shows the work."""
        many = any(node.made > FEW_ROWS for node in self.nodes)
        return many or self.seconds > LITTLE_TIME

    @property
    def largest(self) -> NodeWork | None:
        """The node with the most rows."""
        return max(self.nodes, key=lambda node: node.made, default=None)

    @property
    def dearest(self) -> NodeWork | None:
        """The node that takes the most time."""
        return max(self.nodes, key=lambda node: node.nanoseconds, default=None)


NO_WORK = UnitWork()


def work_of(query: Query, *, unless_settled: bool = False) -> UnitWork:
    """The work that one unit can add to a query, its subqueries and the tables that they make.

    With `unless_settled`, queries that the policy alone answers are left out.
    """
    known: UnitWork | None = None if unless_settled else vars(query).get(WORK)
    if known is not None:
        return known
    below = (work_of(each, unless_settled=unless_settled).nodes for each in query.subqueries)
    nodes = [node for several in below for node in several]
    if type(query) is Query and not (query.public or (unless_settled and query.settled)):
        nodes += _Nodes(query.table).of_query(query)
    work = UnitWork(tuple(nodes), _reading(query).table.unit_in_words)
    if not unless_settled:
        vars(query)[WORK] = work
    return work


def check_rows(source: Source, where: Place | None) -> None:
    """Refuse a table or relation of which one unit can have too many rows, or too large ones.

    The tables below it have been checked before.
    """
    if source.public:
        return
    for node in _Nodes(source).of_source(deep=False):
        if node.made > MAX_UNIT_ROWS:
            raise TooLarge(
                f"one {source.unit_in_words} can have {node.made} rows in {node.name},"
                f" {MAX_UNIT_ROWS} are allowed",
                hint="join on a unique key or on more columns, aggregate before joining, or declare"
                f" {_fewer_rows(source)}",
                place=where,
            )
        if node.bytes > MAX_UNIT_BYTES:
            raise TooLarge(
                f"the rows of one {source.unit_in_words} can take {node.bytes // 10**6} MB in"
                f" {node.name}, {MAX_UNIT_BYTES // 10**6} MB are allowed",
                hint="use fewer or shorter texts, or declare a length in the policy, or"
                f" {_fewer_rows(source)}",
                place=where,
            )


def _fewer_rows(source: Source) -> str:
    """The line of the policy that would lower the rows that a unit is taken to have."""
    private = (each for each in stored_tables(source) if each.unit is not None)
    tables = (each for each in private if each.rows_held == USUAL_ROWS_HELD > each.rows_per_unit)
    if source.kinds:
        return "a lower rows_per_unit in the policy"
    if (table := next(tables, None)) is None:
        return "a lower rows_held_per_unit in the policy"
    return (
        f"rows_held_per_unit = {table.rows_per_unit} in [tables.{written(table.name)}] of the"
        f" policy, in place of {table.rows_held}"
    )


def check_time(query: Query, where: Place | None) -> None:
    """Refuse a statement to which the rows of one unit can add too much time."""
    if work_of(query).seconds <= MAX_UNIT_SECONDS:
        return
    work = work_of(query, unless_settled=True)
    if work.seconds > MAX_UNIT_SECONDS:
        node = work.dearest
        assert node is not None
        raise TooLarge(
            f"the rows of one {work.unit} can take {milliseconds(work.seconds)} ms,"
            f" {milliseconds(MAX_UNIT_SECONDS)} are allowed: most of them in {node.name}",
            hint="join on a unique key, use fewer windows and functions of texts, or declare a"
            f" length in the policy, or {_fewer_rows(_reading(query).table)}",
            place=where,
        )


def _reading(query: Query) -> Query:
    """A query, of this one and its subqueries, that reads private rows, if any does."""
    if type(query) is Query and not query.table.public:
        return query
    private = (_reading(each) for each in query.subqueries if not each.public)
    return next(private, query)


def milliseconds(seconds: float) -> str:
    """A time as messages have it, rounded up."""
    return f"{math.ceil(seconds * 10_000) / 10:g}"


@dataclass(frozen=True)
class _Nodes:
    """The nodes of one source, and the work on each."""

    source: Source
    seen: set[str] = field(default_factory=set)
    """The identities of the tables made so far: a statement makes each of them once."""

    @property
    def costs(self) -> Costs:
        """The costs of expressions over the source."""
        return Costs(self.source)

    def of_query(self, query: Query) -> list[NodeWork]:
        """The nodes of a query: those of its source, and the rows that count."""
        rows = self.source.rows_held
        filters = dict.fromkeys([query.where, *(each.where for each in query.aggregates)])
        arguments = dict.fromkeys(part for each in query.aggregates for part in each.arguments)
        parts = [*query.keys, *arguments, *filters]
        # Arguments are put on a grid and checked for NULL.
        taken = self.costs.total((*parts, *arguments), rows) + self.costs.keys(query.keys, rows)
        taken += rows * cost_table.COUNTED * max(1, len(query.aggregates) + len(query.keys))
        if self.source.kinds:
            # AVG fills the distances from both ends, and counts NULL; a search each of its rooms.
            rooms = self.source.rows_per_unit.bit_length() + 1
            fillings = {Function.AVG: 3, Function.APPROX_BOUNDS: rooms}
            sums = sum(fillings.get(each.function, 1) for each in query.aggregates)
            sums += rooms if query.options.rows_per_unit == "find" else 0
            taken += self.costs.hashes(rows) + rows * cost_table.FILLED * sums
        else:
            caps = int(rows > self.source.rows_per_unit) + (query.groups_per_unit is not None)
            taken += caps * (self.costs.hashes(rows) + cost_table.CAP)
        values = self._values_taken(query)
        taken += values * cost_table.TAKEN
        held = self.costs.bytes(rows, parts) + values * cost_table.TAKEN_BYTES
        return [*self.of_source(), NodeWork("the SELECT that is answered", rows, held, taken)]

    def _values_taken(self, query: Query) -> int:
        """The most values of a unit in all numbers of different values that may find a limit."""
        rows = self.source.rows_per_unit
        if rows not in FOUND_LIMIT_ROWS:
            return 0
        distinct = (
            each.argument for each in query.aggregates if each.function is Function.COUNT_DISTINCT
        )
        return rows * sum(not names_unit(each, self.source) for each in distinct)

    def of_source(self, *, deep: bool = True) -> list[NodeWork]:
        """The nodes of the source; with `deep` those of all tables that are made for it, too."""
        if isinstance(self.source, Joined):
            return list(self._of_relation(self.source, self.source.relation, deep=deep))
        return self._of_table(self.source, deep=deep)

    def _of_relation(self, source: Joined, relation: Relation, *, deep: bool) -> list[NodeWork]:
        match relation:
            case Scan(table=table):
                return self._of_scan(table, deep=deep)
            case Join(left=left, right=right):
                pair, name = cost_table.JOIN_PAIR, f"{relation.kind} {_called(right)}"
                on, pairs, rest = relation.on, True, relation.rest
            case Mark(left=left, lookup=lookup):
                right, pair = lookup.right, cost_table.LOOKUP_PAIR
                name = f"{'EXISTS' if lookup.compared is None else 'IN'} over {_called(right)}"
                compared = () if lookup.compared is None else (lookup.compared,)
                on, pairs = (*lookup.on, *compared), lookup.pair_condition is not None
                rest = lookup.rest
        nodes = self._of_relation(source, left, deep=deep)
        nodes += self._of_scan(right.table, deep=deep)
        step = source.step(relation)
        held = _entering(source, right)
        before = _entering(source, left) if isinstance(left, Scan) else source.step(left).rows
        taken = step.made * pair + cost_table.BLOCK
        for side, rows in enumerate((before, held)):
            equal = [pair[side] for pair in on]
            taken += self.costs.total(equal, rows) + self.costs.keys(equal, rows)
        taken += self.costs.total([rest], step.made if pairs else held)
        if step.alike is not None or source.entering is not None:
            taken += Costs(right.table).hashes(right.table.rows_held) + cost_table.CAP
        leaves = len([*scans(relation)])
        size = step.made * (4 * leaves + 4) + self.costs.bytes(step.made, [rest])
        return [*nodes, NodeWork(name, step.made, size, taken)]

    def _of_scan(self, table: Table, *, deep: bool) -> list[NodeWork]:
        return [] if table.public else _Nodes(table, self.seen)._of_table(table, deep=deep)

    def _of_table(self, table: Table, *, deep: bool) -> list[NodeWork]:
        """The nodes of a table: its reading, or its making."""
        if isinstance(table, MadeTable):
            if not deep:
                return [_made(table)]
            if identity(table) in self.seen:  # it is held already
                return []
            self.seen.add(identity(table))
            below = (_Nodes(each, self.seen).of_source() for each in made_of(table))
            return [*(node for nodes in below for node in nodes), _made(table)]
        taken = table.rows_held * cost_table.SCAN + cost_table.BLOCK
        return [NodeWork(table.name, table.rows_held, 8 * table.rows_held, taken)]


def _made(table: MadeTable) -> NodeWork:
    """The work of making a table from rows that are held already."""
    taken = cost_table.BLOCK * len(made_of(table))
    source, *_ = made_of(table)
    below, rows, held = Costs(source), source.rows_held, 0
    match table:
        case PerUnit():
            parts = [part for each in table.aggregates for part in each.parts]
            taken += below.total([table.where, *parts], rows) + below.keys(table.keys, rows)
            taken += rows * cost_table.AGGREGATE * (len(table.keys) + len(table.aggregates))
            held = below.bytes(rows, [table.where, *table.keys, *parts])
        case WindowedRows(windows=windows):
            parts = [part for each in windows for part in each.parts]
            taken += below.total(parts, rows) + below.hashes(rows)
            taken += rows * cost_table.WINDOW * len(windows)
            for each in windows:
                ordered = (*each.partition, *(term.expression for term in each.order))
                taken += below.keys(ordered, rows)
            held = below.bytes(rows, parts) + 9 * rows * len(windows)
        case RowUnion(parts=several):
            rows = table.rows_held
            for part in several:
                below, own = Costs(part.source), part.source.rows_held
                taken += below.total([part.where, *part.columns], own)
                taken += own * cost_table.UNION * max(1, len(part.columns))
                taken += below.keys(part.columns, own)
                held += below.bytes(own, part.columns)
    return NodeWork(_called(Scan(table)), rows, held, taken)


def _entering(source: Joined, scan: Scan) -> int:
    """The most rows of a unit that a table brings into a relation."""
    if scan.table.public:
        return 0
    held = scan.table.rows_held
    return held if source.entering is None else min(held, source.entering)


def _called(scan: Scan) -> str:
    """The name of a table in messages."""
    match scan.table:
        case PerUnit(keys=keys):
            return f"GROUP BY {', '.join(key.column.called for key in keys)}"
        case WindowedRows(windows=windows):
            return f"the window{'s' if windows[1:] else ''} OVER rows of a unit"
        case RowUnion(parts=parts):
            return "UNION ALL" if parts[1:] else "a SELECT within FROM"
    return scan.leaf or scan.table.name
