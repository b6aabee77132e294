"""The rows of some units: in stored tables, and in those that are made of them.

Every relation is unit-wise (see `plan.relations`): a SELECT within FROM makes the rows of some
units of their rows alone. So units are worked on in pieces, one after the other. The tables made of
a piece are dropped before the next one. Counts and sums of the piece stay, or the rows that count
in the end, of which a unit has no more than its cap. The number of units in a piece is public: it
follows from the most that one unit can have (`plan.unit_work`), and from PIECE. So the memory for
made tables depends neither on the number of units nor on the rows of any of them.

Each piece takes some time of its own, which follows from the statement. One unit more makes one
piece more only if the last one was full. So the first piece has fewer units than the others, by a
number that is secret and uniform: then one unit more makes a piece more with the probability 1 / k,
where k units are in a piece. Public tables are sorted, and looked through for EXISTS and IN, once
for all pieces; expressions are worked out only for those of their texts that rows meet.

Stored rows stand in the order of their units, so that those of a piece are next to each other. The
texts of a piece have numbers of their own, so that expressions are worked out for them alone, and
not for all texts of the table.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field, replace

import numpy as np

from dpdb.engines.relations.joins import JoinedRows
from dpdb.engines.relations.leaves import Leaf, Leaves, own_texts, with_null_row
from dpdb.engines.relations.row_groups import RowsOfUnits, unit_groups
from dpdb.engines.relations.row_unions import (
    PassedRows,
    columns_of_all,
    one_after_the_other,
    owners_of_all,
)
from dpdb.engines.sources.protocol import Loaded
from dpdb.engines.units.caps import PlanRows, Units
from dpdb.engines.units.filling import SharedRows, row_numbers
from dpdb.engines.units.held_rows import HeldRows, decided_by
from dpdb.engines.units.keys import Owners, each_its_own
from dpdb.engines.units.row_hashes import HashKey
from dpdb.engines.values.grid_values import mask
from dpdb.plan.expressions.expressions import Expr, Slot
from dpdb.plan.identity import identity
from dpdb.plan.logical.per_unit import PerUnit
from dpdb.plan.logical.row_tables import MadeTable, RowUnion, WindowedRows, stored_tables
from dpdb.plan.physical.plan import Plan
from dpdb.plan.relations.relations import Joined, Scan, Source, columns_joined_on, scans
from dpdb.plan.unit_work import PIECE
from dpdb.policy.catalog import Column, Kind, Table
from dpdb.records import dataclass
from dpdb.vectors.columns import Codes, Numbers
from dpdb.vectors.evaluate import Frame
from dpdb.vectors.vector import AnyVector

Read = Callable[[Table, frozenset[str]], Loaded]
"""Reads columns of a stored table."""

ColumnsByName = Mapping[str, Numbers | Codes]


@dataclass(frozen=True, repr=False)
class TableRows:
    """Rows of a table, and their owners."""

    columns: ColumnsByName
    rows: int
    owners: Owners | None
    """None where each row is a unit, or the table public."""
    first: int = 0
    """The number of the first row, in a table whose rows are units."""

    @property
    def everyones(self) -> Owners:
        """The owners of the rows; without any, each row is a unit of its own."""
        return each_its_own(self.rows, self.first) if self.owners is None else self.owners


@dataclass(repr=False)
class UnitRows:
    """The rows of the units of a piece, or those of all units and of nobody."""

    held: HeldRows
    read: Read
    sample_key: str
    piece: range | None = None
    """The numbers of the units; None for all rows."""
    public: dict[tuple[Scan, frozenset[str]], Leaf] = field(default_factory=dict, repr=False)
    """The public tables that are read, shared by all pieces."""
    _made: dict[str, TableRows] = field(default_factory=dict, repr=False)
    """The rows of made tables, by the identity of the table."""

    def of(self, piece: range | None) -> UnitRows:
        """The rows of the units of a piece; tables that are made of them are made anew."""
        return replace(self, piece=piece, _made={})

    def counted(self, plan: Plan, slots: Mapping[Slot, AnyVector]) -> PlanRows:
        """The rows that count for a plan; without a piece the rest of a table's rows, too."""
        table, names = plan.table, plan.column_names
        if table.kinds:
            return self._shared(table, plan.where, names, slots)
        if isinstance(table, Joined):
            leaves = self._leaves(table, names, slots)
            joined = JoinedRows(table, plan.where, leaves)
            rows = joined.all() if table.public else joined.counted()
            first = next(scans(table.relation)).table
            # Where each row is a unit, rows are numbered from the first one of the piece on.
            before = 0 if self.piece is None or first.unit is not None else self.piece.start
            return PlanRows(leaves.frame(rows, names), len(rows), None, rows.owners + before)
        every = self._of_table(table, names, slots)
        if self.piece is None:
            return every
        counted = every.counted(plan)
        kept = np.arange(every.rows) if counted is None else np.flatnonzero(counted)
        columns = {name: every.frame.columns[name].taken(kept) for name in names}
        owners = None if every.owners is None else every.owners[kept]
        return PlanRows(Frame(columns, slots), len(kept), None, owners)

    def _shared(
        self,
        source: Source,
        where: Expr | None,
        names: frozenset[str],
        slots: Mapping[Slot, AnyVector],
    ) -> PlanRows:
        """The rows that pass a condition of a source whose rows have two owners.

        Rows of a join have the owners of the rows of its first table, and rows of other private
        tables are of one of them, whatever a column that references says.
        """
        if isinstance(source, Joined):
            leaves, (base, *others) = self._leaves(source, names, slots), scans(source.relation)
            rows = JoinedRows(source, where, leaves).all()
            of_base = self.held.shared(base.table, self._columns, self.sample_key)
            for scan in others:
                if (owners := leaves.leaves[scan.leaf].owners) is not None:
                    units = owners.numbers[rows.numbers[scan.leaf]]
                    shared = of_base.joined(rows.numbers[base.leaf], row_numbers)
                    rows = rows.take(shared.owned_by(units, source.kinds.index(scan.table.kind)))
            shared = of_base.joined(
                rows.numbers[base.leaf], lambda at: leaves.hashes(rows.take(at))
            )
            return PlanRows(leaves.frame(rows, names), len(rows), None, None, shared)
        if isinstance(source, RowUnion):
            parts = [self._shared(p.source, p.where, p.names_read, slots) for p in source.parts]
            passed = [PassedRows(each.frame, each_its_own(each.rows)) for each in parts]
            columns, number = columns_of_all(source, passed), sum(each.rows for each in parts)
            owned = [each.shared for each in parts if each.shared is not None]
            shared = SharedRows.together(owned, same=len(source.kinds) == 1)
            frame = Frame({name: columns[name] for name in names}, slots)
        else:
            whole = self.rows_of(source, names)
            number, shared = whole.rows, self.held.shared(source, self._columns, self.sample_key)
            frame = Frame({name: whole.columns[name] for name in names}, slots)
        every = PlanRows(frame, number, None, None, shared)
        return every if where is None else every.taken(np.flatnonzero(mask(where, frame, number)))

    def _of_table(
        self, table: Table, names: frozenset[str], slots: Mapping[Slot, AnyVector]
    ) -> PlanRows:
        """All rows of a table, with the columns of these names."""
        if table.unit is None:
            every = self.rows_of(table, names)
        else:  # Which of a unit's rows count depends on all declared columns.
            every = self.rows_of(table, frozenset(column.name for column in table.columns))
        units, owners = None, every.owners
        if owners is not None and isinstance(table, MadeTable):
            units = Units.of(table, every.columns, owners, self.sample_key)
        elif owners is not None:
            units = self.held.units(table, self._columns, self.sample_key)
        frame = Frame({name: every.columns[name] for name in names}, slots)
        return PlanRows(frame, every.rows, units, None if owners is None else owners.numbers)

    def passed(self, source: Source, where: Expr | None, names: frozenset[str]) -> PassedRows:
        """The rows of a source that have an owner and pass a condition."""
        if isinstance(source, Joined):
            leaves = self._leaves(source, names, {})
            rows = JoinedRows(source, where, leaves).all()
            base = next(scans(source.relation))
            whole = self.rows_of(base.table, frozenset())
            frame, places = leaves.frame(rows, names), rows.numbers[base.leaf]
            return PassedRows(frame, whole.everyones.of_rows(places))
        whole = self.rows_of(source, names)
        passing = whole.everyones.numbers >= 0
        if where is not None:
            passing = passing & mask(where, Frame(whole.columns), whole.rows)
        places = np.flatnonzero(passing)
        frame = Frame({name: whole.columns[name].taken(places) for name in names})
        return PassedRows(frame, whole.everyones.of_rows(places))

    def rows_of(
        self, table: Table, names: Collection[str], used: Collection[str] | None = None
    ) -> TableRows:
        """The rows of a table in the piece, with the columns of these names.

        Columns that are not `used` are only hashed: their dictionary may have texts of other rows.
        """
        used = names if used is None else used
        if isinstance(table, MadeTable):
            return self._made_rows(table)
        loaded = self.read(table, decided_by(table) | frozenset(names))
        rows = loaded.rows
        if table.owners or (table.unit is None and (self.piece is None or table.public)):
            return TableRows({name: loaded.columns[name] for name in names}, rows, None)
        owners = self.held.owners(table, self._columns, self.sample_key)
        declared = [column for column in table.columns if column.name in names]
        if self.piece is None:
            return TableRows({c.name: self._column(table, c) for c in declared}, rows, owners)
        if owners is None:
            own = slice(self.piece.start, max(self.piece.start, min(self.piece.stop, rows)))
            columns = {
                c.name: _cut(c, self._column(table, c), own, used=c.name in used) for c in declared
            }
            return TableRows(columns, own.stop - own.start, None, own.start)
        ordered = self.held.ordered(table, self._columns, self.sample_key)
        own = slice(*np.searchsorted(ordered.numbers, (self.piece.start, self.piece.stop)).tolist())
        columns = {}
        for c in declared:
            column = self.held.ordered_column(table, c, self._columns, self.sample_key)
            columns[c.name] = _cut(c, column, own, used=c.name in used)
        there = Owners(ordered.numbers[own], owners.names, owners.naming(ordered.places[own]))
        return TableRows(columns, own.stop - own.start, there)

    def units_of(self, source: Source) -> int:
        """The greatest number of units in a stored table of a source."""
        most = 0
        for table in stored_tables(source):
            if not table.public:
                rows = self.read(table, decided_by(table)).rows
                owners = self.held.owners(table, self._columns, self.sample_key)
                last = rows if owners is None else int(owners.numbers.max(initial=-1)) + 1
                most = max(most, last)
        return most

    def _column(self, table: Table, column: Column) -> Numbers | Codes:
        return self.held.column(table, column, self._columns, self.sample_key)

    def _columns(self, table: Table, names: Collection[str]) -> ColumnsByName:
        return self.read(table, frozenset(names)).columns

    def _leaves(
        self, source: Joined, names: frozenset[str], slots: Mapping[Slot, AnyVector]
    ) -> Leaves:
        read = names | columns_joined_on(source.relation)
        return Leaves({scan.leaf: self._leaf(scan, read) for scan in scans(source.relation)}, slots)

    def _leaf(self, scan: Scan, names: Collection[str]) -> Leaf:
        """The table of a scan, with the columns that are read or that tell its rows apart."""
        table, apart = scan.table, scan.table.told_apart_by
        read = {c.name for c in table.columns if scan.name(c) in names or c in apart}
        known = scan, frozenset(read)
        if known not in self.public:
            used = {c.name for c in table.columns if scan.name(c) in names}
            leaf = self._leaf_of(scan, read, used)
            if not table.public:
                return leaf
            self.public[known] = leaf
        return self.public[known]

    def _leaf_of(self, scan: Scan, read: Collection[str], used: Collection[str]) -> Leaf:
        held = self.rows_of(scan.table, read, used)
        columns = {name: with_null_row(held.columns[name]) for name in read}
        return Leaf(scan, columns, held.rows, held.owners, HashKey.of(self.sample_key))

    def _made_rows(self, table: MadeTable) -> TableRows:
        """The rows of a made table, which are made once."""
        known = identity(table)
        if known not in self._made:
            self._made[known] = self._worked_out(table)
        return self._made[known]

    def _worked_out(self, table: MadeTable) -> TableRows:
        columns: ColumnsByName
        match table:
            case PerUnit():
                assert table.source is not None
                passed = self.passed(table.source, table.where, table.names_read)
                first, columns = unit_groups(table, passed.frame, passed.owners.numbers)
                owners = passed.owners.of_rows(first)
            case RowUnion():
                parts = [self.passed(p.source, p.where, p.names_read) for p in table.parts]
                owners, columns = owners_of_all(parts), columns_of_all(table, parts)
            case WindowedRows():
                assert table.rows is not None
                made = self._made_rows(table.rows)
                owners = made.everyones
                windows = RowsOfUnits(table, made.columns, owners).windows()
                columns = {**made.columns, **windows}
        return TableRows(columns, len(owners.numbers), None if table.public else owners)


def unit_partitions(whole: UnitRows, plan: Plan) -> Sequence[range | None]:
    """The numbers of the units of each piece, for a plan over a relation or a made table.

    The rows of a stored table or of public ones are in one piece, which is None.
    """
    table = plan.table
    if table.public or table.kinds or not isinstance(table, Joined | MadeTable):
        return [None]
    units, size = whole.units_of(table), units_in_a_piece(plan)
    starts = range(-secrets.randbelow(size), max(units, 1), size)
    return [range(max(first, 0), min(first + size, units)) for first in starts]


def together(parts: Sequence[PlanRows]) -> PlanRows:
    """The rows of all pieces, which are one or more."""
    if len(parts) == 1:
        return parts[0]
    frames = [part.frame for part in parts]
    columns = {
        name: one_after_the_other([frame.columns[name] for frame in frames])
        for name in frames[0].columns
    }
    owners = [part.owners for part in parts if part.owners is not None]
    rows = sum(part.rows for part in parts)
    of_all = np.concatenate(owners) if owners else None
    return PlanRows(replace(frames[0], columns=columns), rows, None, of_all)


def units_in_a_piece(plan: Plan) -> int:
    """The number of units whose rows take at most PIECE bytes in every node, at least one."""
    return max(1, PIECE // plan.work.bytes) if plan.work.bytes else 1


def _cut(column: Column, held: Numbers | Codes, rows: slice, *, used: bool) -> Numbers | Codes:
    """Some rows of a column; used texts without declared values get numbers of their own."""
    own, private = held.within(rows), column.kind is Kind.TEXT and column.values is None
    return own_texts(own) if used and private and isinstance(own, Codes) else own
