"""What one unit can add to the work of a statement: rows, memory and time, from the plan alone.

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
Texts count up to the longest one that a column or an expression has, and all texts of one column in
the rows of a unit up to what the table holds of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from dpdb.errors import Place, TooLarge
from dpdb.plan import cost_table
from dpdb.plan.cost_table import Cost
from dpdb.plan.derived import Window
from dpdb.plan.expressions import (
    Call,
    Case,
    Cast,
    ColumnRef,
    Compare,
    Expr,
    InList,
    Like,
    Literal,
    children,
    columns_of,
)
from dpdb.plan.identity import identity
from dpdb.plan.per_unit import PerUnit
from dpdb.plan.query import Query
from dpdb.plan.relations import Join, Joined, Mark, Relation, Scan, Source, scans
from dpdb.plan.row_unions import RowUnion
from dpdb.plan.row_windows import WindowedRows
from dpdb.plan.single_values import SingleValue
from dpdb.plan.text_functions import LONGEST_JOINED
from dpdb.policy.catalog import Kind, Table

MAX_UNIT_ROWS = 100_000
"""The most rows of one unit that exist while a node is worked out."""
MAX_UNIT_BYTES = 64_000_000
"""The most memory that the rows of one unit take in a node."""
MAX_UNIT_SECONDS = 0.01
"""The most time that the rows of one unit take in a statement."""
PIECE = 2**26
"""The most memory that the units take that are worked on at once: those of a piece, one at least.

No less than MAX_UNIT_BYTES, so that one unit is in it.
"""
FEW_ROWS = 10_000
LITTLE_TIME = 0.001
"""The rows and the seconds of one unit up to which EXPLAIN says nothing of them."""
LEAST_TEXTS = 10_000
"""The bytes of all texts of a unit in one column, or TEXTS_A_ROW for each row that is held."""
TEXTS_A_ROW = 100
_JOINED = 4 * LONGEST_JOINED
"""The most bytes of a text that `||` makes."""
_SHORT = 40
"""More than the characters of a number, a date or a boolean."""


@dataclass(frozen=True)
class NodeWork:
    """What one unit can add to one node of a statement."""

    name: str
    """What the statement calls the node."""
    made: int
    """The most rows of the unit that exist while it is worked out."""
    bytes: int = 0
    nanoseconds: int = 0

    @property
    def seconds(self) -> float:
        """The most time."""
        return self.nanoseconds / 1e9


@dataclass(frozen=True)
class UnitWork:
    """What one unit can add to a statement."""

    nodes: tuple[NodeWork, ...] = ()
    unit: str = "row"
    """What a message calls the unit."""

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
        """Whether EXPLAIN says how much it is."""
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
    """What one unit can add to a query, to its subqueries and to all tables that are made.

    With `unless_settled` without those that the policy alone answers.
    """
    below = (work_of(each, unless_settled=unless_settled).nodes for each in query.subqueries)
    nodes = [node for several in below for node in several]
    if type(query) is Query and not (query.public or (unless_settled and query.settled)):
        nodes += _Nodes(query.table).of_query(query)
    return UnitWork(tuple(nodes), _reading(query).table.unit_in_words)


def check_rows(source: Source, where: Place | None) -> None:
    """Refuse a table or relation of which one unit can have too many rows, or too large ones.

    What it is made of has been checked before.
    """
    if source.public:
        return
    for node in _Nodes(source).of_source(deep=False):
        if node.made > MAX_UNIT_ROWS:
            raise TooLarge(
                f"one {source.unit_in_words} can have {node.made} rows in {node.name},"
                f" {MAX_UNIT_ROWS} are allowed",
                hint="join on a key or on more columns, aggregate before joining, or declare a"
                " lower rows_held_per_unit in the policy",
                place=where,
            )
        if node.bytes > MAX_UNIT_BYTES:
            raise TooLarge(
                f"the rows of one {source.unit_in_words} can take {node.bytes // 10**6} MB in"
                f" {node.name}, {MAX_UNIT_BYTES // 10**6} MB are allowed",
                hint="use fewer or shorter texts, or declare a lower rows_held_per_unit or a"
                " length in the policy",
                place=where,
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
            f" {milliseconds(MAX_UNIT_SECONDS)} are allowed:"
            f" most of them in {node.name}",
            hint="join on a key, use fewer windows and functions of texts, or declare a lower"
            " rows_held_per_unit or a length in the policy",
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
class _Texts:
    """The texts of a column or an expression in the rows of a unit."""

    longest: int
    """The most bytes of one."""
    held: int = 0
    """The most bytes of all cells of the columns that they are from."""
    rows: int = 1
    """The number of rows that these columns have of the unit."""
    others: int = 0
    """The most bytes of one that is from no column."""

    def different(self, rows: int) -> int:
        """The most bytes of different texts in so many rows."""
        return min(rows * self.longest, self.held + rows * self.others)

    def in_rows(self, rows: int) -> int:
        """The most bytes in so many rows, where a join repeats the rows of a table evenly."""
        times = -(-rows // max(self.rows, 1))
        return min(rows * self.longest, times * self.held + rows * self.others)

    @staticmethod
    def made(longest: int) -> _Texts:
        """Texts that are from no column."""
        return _Texts(longest, others=longest)

    @staticmethod
    def of_any(parts: Iterable[_Texts]) -> _Texts:
        """The texts where each is of one of the parts."""
        several = [*parts]
        return _Texts(
            max((part.longest for part in several), default=0),
            sum(part.held for part in several),
            min((part.rows for part in several if part.held), default=1),
            max((part.others for part in several), default=0),
        )


@dataclass(frozen=True)
class _Nodes:
    """The nodes of one source, and what they take."""

    source: Source
    seen: set[str] = field(default_factory=set)
    """The identities of the tables that are made already: each is made once for a statement."""

    def of_query(self, query: Query) -> list[NodeWork]:
        """The nodes of a query: those of its source, and the rows that count."""
        rows = self.source.rows_held
        filters = dict.fromkeys([query.where, *(each.where for each in query.aggregates)])
        arguments = dict.fromkeys(part for each in query.aggregates for part in each.arguments)
        parts = [*query.keys, *arguments, *filters]
        # Arguments are put on a grid, and it is seen where they are NULL.
        taken = self._total((*parts, *arguments), rows)
        taken += rows * cost_table.COUNTED * max(1, len(query.aggregates) + len(query.keys))
        caps = int(rows > self.source.rows_per_unit) + (query.groups_per_unit is not None)
        taken += caps * (self._hashes(rows) + cost_table.CAP) + self._keys(query.keys, rows)
        held = self._bytes(rows, parts)
        return [*self.of_source(), NodeWork("the SELECT that is answered", rows, held, taken)]

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
            taken += self._total(equal, rows) + self._keys(equal, rows)
        taken += self._total([rest], step.made if pairs else held)
        if step.alike is not None or source.entering is not None:
            taken += _Nodes(right.table)._hashes(right.table.rows_held) + cost_table.CAP
        leaves = len([*scans(relation)])
        size = step.made * (4 * leaves + 4) + self._bytes(step.made, [rest])
        return [*nodes, NodeWork(name, step.made, size, taken)]

    def _of_scan(self, table: Table, *, deep: bool) -> list[NodeWork]:
        return [] if table.public else _Nodes(table, self.seen)._of_table(table, deep=deep)

    def _of_table(self, table: Table, *, deep: bool) -> list[NodeWork]:
        """The nodes of a table: what is read, or what makes it."""
        match table:
            case PerUnit() | RowUnion() | WindowedRows() if (
                deep and identity(table) not in self.seen
            ):
                self.seen.add(identity(table))
                return [*self._below(table), self._made(table)]
            case PerUnit() | RowUnion() | WindowedRows():
                # It is held already.
                return [] if deep else [self._made(table)]
        taken = table.rows_held * cost_table.SCAN + cost_table.BLOCK
        return [NodeWork(table.name, table.rows_held, 8 * table.rows_held, taken)]

    def _is_new(self, table: Table) -> bool:
        """Whether a table is not made yet."""
        return identity(table) not in self.seen

    def _below(self, table: PerUnit | RowUnion | WindowedRows) -> list[NodeWork]:
        """The nodes of what a table is made of."""
        match table:
            case PerUnit(source=source):
                assert source is not None
                return _Nodes(source, self.seen).of_source()
            case RowUnion(parts=parts):
                sources = (part.source for part in parts)
                return [n for each in sources for n in _Nodes(each, self.seen).of_source()]
            case WindowedRows(rows=rows):
                assert rows is not None
                return _Nodes(rows, self.seen).of_source()

    def _made(self, table: PerUnit | RowUnion | WindowedRows) -> NodeWork:
        """What making a table takes, once that is there which it is made of."""
        match table:
            case PerUnit(source=source):
                assert source is not None
                below, rows = _Nodes(source), source.rows_held
                parts = [part for a in table.aggregates for part in a.parts]
                taken = below._total([table.where, *parts], rows) + cost_table.BLOCK
                taken += rows * cost_table.AGGREGATE * (len(table.keys) + len(table.aggregates))
                taken += below._keys(table.keys, rows)
                held = below._bytes(rows, [table.where, *table.keys, *parts])
                return NodeWork(_called(Scan(table)), rows, held, taken)
            case RowUnion(parts=several):
                taken = held = 0
                for part in several:
                    below, rows = _Nodes(part.source), part.source.rows_held
                    taken += below._total([part.where, *part.columns], rows) + cost_table.BLOCK
                    taken += rows * cost_table.UNION * max(1, len(part.columns))
                    taken += below._keys(part.columns, rows)
                    held += below._bytes(rows, part.columns)
                return NodeWork(_called(Scan(table)), table.rows_held, held, taken)
            case WindowedRows(rows=inner, windows=windows):
                assert inner is not None
                below, rows = _Nodes(inner), inner.rows_held
                parts_of_all: list[Expr] = [part for each in windows for part in each.parts]
                taken = below._total(parts_of_all, rows) + cost_table.BLOCK
                taken += below._hashes(rows) + rows * cost_table.WINDOW * len(windows)
                for each in windows:
                    ordered = (*each.partition, *(term.expression for term in each.order))
                    taken += below._keys(ordered, rows)
                held = below._bytes(rows, parts_of_all) + 9 * rows * len(windows)
                return NodeWork(_called(Scan(table)), rows, held, taken)

    def _bytes(self, rows: int, parts: Sequence[Expr | None]) -> int:
        """The memory of what is read and worked out in so many rows."""
        expressions = dict.fromkeys(part for part in parts if part is not None)
        read = {name: ColumnRef(c) for e in expressions for name, c in columns_of(e).items()}
        held = 4 * rows
        for each in {*read.values(), *expressions}:
            if each.kind is Kind.TEXT:
                held += 8 * rows + 4 * self._texts(each).different(rows)
            else:
                held += 9 * rows
        return held

    def _total(self, expressions: Iterable[Expr | None], rows: int) -> int:
        """The time to work out some expressions in so many rows."""
        return sum(self._time(each, rows) for each in expressions if each is not None)

    def _time(self, expression: Expr, rows: int) -> int:
        """The time to work out an expression in so many rows."""
        below = self._total(children(expression), rows)
        if isinstance(expression, ColumnRef):
            if not isinstance(expression.column, SingleValue):
                return 0
            value = expression.column
            return rows * cost_table.WINDOW + self._total((value.argument, value.where), rows)
        cost = _cost(expression)
        return below + rows * cost.row + self._read(cost, children(expression), rows)

    def _read(self, cost: Cost, read: Sequence[Expr], rows: int) -> int:
        """The time that the characters of texts take."""
        if not cost.character:
            return 0
        texts = [self._texts(each) for each in read if each.kind is Kind.TEXT]
        # Texts of several columns are compared row by row; what is of one column is worked out for
        # each different text, and so are functions.
        once = cost is not cost_table.EQUAL or len(set().union(*map(columns_of, read))) == 1
        read_of_all = (t.different(rows) if once else t.in_rows(rows) for t in texts)
        return int(sum(read_of_all) * cost.character)

    def _keys(self, expressions: Iterable[Expr], rows: int) -> int:
        """The time that texts take by which rows are sorted, grouped, joined or put together."""
        keys = [each for each in expressions if each.kind is Kind.TEXT and not _is_listed(each)]
        return len(keys) * rows * cost_table.KEY.row + self._read(cost_table.KEY, keys, rows)

    def _hashes(self, rows: int) -> int:
        """The time to hash so many rows of the source, of which a cap may leave some out."""
        leaves = (
            [Scan(self.source)] if isinstance(self.source, Table) else scans(self.source.relation)
        )
        columns = sum(len(leaf.table.key or leaf.table.columns) for leaf in leaves)
        return rows * (cost_table.HASH + cost_table.HASHED_COLUMN * columns)

    def _texts(self, expression: Expr) -> _Texts:
        """The texts that an expression can come to."""
        match expression:
            case ColumnRef(column=column):
                return self._texts_of(column.name)
            case Literal(value=str(value)):
                return _Texts.made(len(value.encode("utf-8", "replace")))
            case Case(branches=branches, default=default):
                return _Texts.of_any(map(self._texts, (*(value for _, value in branches), default)))
            case Call(name="concat", arguments=arguments):
                whole = sum(self._texts(each).longest for each in arguments)
                return _Texts.made(min(whole, _JOINED))
            case Call(name="coalesce" | "nullif", arguments=arguments):
                return _Texts.of_any(map(self._texts, arguments))
            case Call(name="replace", arguments=(first, old, new)):
                # A character stands for one of one to four bytes, or all together are few.
                if self._texts(new).longest <= self._texts(old).longest:
                    return self._texts(first)
                return _Texts.made(max(4 * self._texts(first).longest, _JOINED))
            case Call(kind=Kind.TEXT, arguments=(first, *_)) if first.kind is Kind.TEXT:
                return self._texts(first)
            case Cast(operand=operand) if operand.kind is Kind.TEXT:
                return self._texts(operand)
        return _Texts.made(_SHORT)

    def _texts_of(self, name: str) -> _Texts:
        """The texts of a column of the source."""
        if isinstance(self.source, Joined):
            for scan in scans(self.source.relation):
                for column in scan.table.columns:
                    if scan.name(column) == name:
                        return _Nodes(scan.table)._texts_of(column.name)
            return _Texts.made(_SHORT)
        at = next((n for n, c in enumerate(self.source.columns) if c.name == name), None)
        if at is None:
            return _Texts.made(_SHORT)
        match self.source:
            case PerUnit(source=source) as table:
                assert source is not None
                each: Expr | None = (*table.keys, *(a.argument for a in table.aggregates))[at]
                return _Texts.made(_SHORT) if each is None else _Nodes(source)._texts(each)
            case RowUnion(parts=parts):
                return _Texts.of_any(_Nodes(p.source)._texts(p.columns[at]) for p in parts)
            case WindowedRows(rows=rows) as table:
                assert rows is not None
                if at < len(rows.columns):
                    return _Nodes(rows)._texts_of(name)
                window: Window = table.windows[at - len(rows.columns)]
                return _Texts.of_any(map(_Nodes(rows)._texts, window.arguments[:1]))
        column = self.source.columns[at]
        longest = column.length
        if column.values is not None:
            declared = (len(str(value).encode("utf-8", "replace")) for value in column.values)
            longest = max(declared, default=0)
        if self.source.public:
            return _Texts.made(longest)
        held = self.source.rows_held
        if name == self.source.unit:  # It is the same in all rows.
            return _Texts(longest, longest, 1)
        return _Texts(longest, max(LEAST_TEXTS, TEXTS_A_ROW * held), held)


def _cost(expression: Expr) -> Cost:
    """What an operation takes, without its operands."""
    has_texts = any(each.kind is Kind.TEXT for each in children(expression))
    match expression:
        case Literal():
            return Cost(0)
        case Call(name="coalesce" | "nullif") if has_texts:
            return cost_table.CAST
        case Call(name=name):
            return cost_table.call(name)
        case Cast():
            texts = has_texts or expression.kind is Kind.TEXT
            return cost_table.CAST if texts else cost_table.NUMBER
        case Like(pattern=pattern):
            return cost_table.like(pattern)
        case InList():
            return cost_table.EQUAL if has_texts else cost_table.LISTED
        case Case() if has_texts:
            return cost_table.CAST
        case Compare() if has_texts:
            return cost_table.EQUAL
    return cost_table.NUMBER


def _is_listed(expression: Expr) -> bool:
    """Whether the policy lists the texts, of which those in rows are only numbers."""
    return isinstance(expression, ColumnRef) and expression.column.values is not None


def _entering(source: Joined, scan: Scan) -> int:
    """The most rows of a unit that a table brings into a relation."""
    if scan.table.public:
        return 0
    held = scan.table.rows_held
    return held if source.entering is None else min(held, source.entering)


def _called(scan: Scan) -> str:
    """What a statement calls a table."""
    match scan.table:
        case PerUnit(keys=keys):
            return f"GROUP BY {', '.join(key.column.called for key in keys)}"
        case WindowedRows(windows=windows):
            return f"the window{'s' if windows[1:] else ''} OVER rows of a unit"
        case RowUnion(parts=parts):
            return "UNION ALL" if parts[1:] else "a SELECT within FROM"
    return scan.leaf or scan.table.name
