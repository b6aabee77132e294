"""The relation that a query reads, as a tree for EXPLAIN, and the cap on a unit's rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dpdb.errors import printable
from dpdb.plan.expressions.expressions import ColumnRef, Expr, columns_of
from dpdb.plan.logical.per_unit import PerUnit
from dpdb.plan.logical.row_tables import RowUnion, WindowedRows
from dpdb.plan.relations.relations import (
    Equality,
    Join,
    Joined,
    Mark,
    Relation,
    Scan,
    Source,
    scans,
)


def source_lines(source: Source) -> Iterator[str]:
    """The tree of a relation and its caps; empty for a table of the policy."""
    match source:
        case Joined():
            yield from _joined_lines(source)
        case PerUnit() | WindowedRows():
            yield from _lines(Scan(source), printable(source.unit_in_words))
            yield f"rows per {printable(source.unit_in_words)}: {source.rows_per_unit}"
        case RowUnion():
            yield from _lines(Scan(source), printable(source.unit_in_words))
            yield _cap(source)


def origin_of_bounds(source: Source, name: str) -> str | None:
    """The origin of a column's bounds; None if they are those of a policy's column."""
    for scan in scans(_relation(source)):
        match scan.table:
            case PerUnit(aggregate_columns=columns):
                origin = "which follow from the cap and the bounds of a row"
            case WindowedRows(window_columns=columns):
                origin = "which follow from the cap and the bounds of a row"
            case RowUnion(columns=columns):
                origin = "which are around those of all parts"
            case _:
                continue
        if any(scan.name(column) == name for column in columns):
            return origin
    return None


def _joined_lines(source: Joined) -> Iterator[str]:
    yield from _lines(source.relation, printable(source.unit_in_words))
    if source.public:
        return  # all rows count
    yield _cap(source)
    unit = printable(source.unit_in_words)
    if source.entering is not None:
        yield (
            f"of each {unit} at most {source.entering} rows of a table are joined, "
            "as no unique key limits the pairs"
        )
    for right, alike in _alike(source, source.relation):
        yield (
            f"of each {unit} at most {alike} rows of {printable(str(right))} that are equal in"
            " what is joined meet another, as no unique key limits the pairs"
        )


def _alike(source: Joined, relation: Relation) -> Iterator[tuple[Scan, int]]:
    """The tables of which few equal rows are joined, and the number of these."""
    if isinstance(relation, Scan):
        return
    yield from _alike(source, relation.left)
    alike = source.step(relation).alike
    if alike is not None:
        yield relation.right if isinstance(relation, Join) else relation.lookup.right, alike


def _cap(source: Joined | RowUnion) -> str:
    """The number of a unit's rows that count, and its computation from the caps of the tables."""
    unit, known = printable(source.unit_in_words), source.arithmetic
    rows, lower = str(source.nominal), source.rows_per_unit < source.nominal
    asked = f"; {source.rows_per_unit} are asked for" if lower else ""
    return f"rows per {unit}: {rows if known == rows else f'{known} = {rows}'}{asked}"


def _lines(relation: Relation, unit: str) -> Iterator[str]:
    match relation:
        case Scan(table=PerUnit() as table):
            keys = ", ".join(printable(key.column.called) for key in table.keys)
            yield f"{relation.leaf or 'rows'} of GROUP BY {keys}, each of one {unit}"
            assert table.source is not None
            yield from _branch(_lines(_relation(table.source), unit), "└─ ", "   ")
        case Scan(table=WindowedRows(rows=RowUnion(parts=(part,)))):
            yield f"{relation.leaf or 'rows'} with windows over those of one {unit}"
            yield from _branch(_lines(_relation(part.source), unit), "└─ ", "   ")
        case Scan(table=RowUnion(parts=parts)):
            yield f"{relation.leaf or 'rows'} of {'UNION ALL' if parts[1:] else 'a SELECT'}"
            for part in parts[:-1]:
                yield from _branch(_lines(_relation(part.source), unit), "├─ ", "│  ")
            yield from _branch(_lines(_relation(parts[-1].source), unit), "└─ ", "   ")
        case Scan(table=table):
            yield f"{printable(str(relation))}{', public' if table.public else ''}"
        case Join(left=left, right=right, on=on, rest=rest):
            yield f"{relation.kind}{_condition(on, rest, right, unit)}"
            yield from _branches(left, right, unit)
        case Mark(left=left, lookup=lookup):
            compared = () if lookup.compared is None else (lookup.compared,)
            word = "IN" if compared else "EXISTS"
            on = (*compared, *lookup.on)
            yield f"{word}{_condition(on, lookup.rest, lookup.right, unit)}"
            yield from _branches(left, lookup.right, unit)


def _relation(source: Source) -> Relation:
    return source.relation if isinstance(source, Joined) else Scan(source)


def _branches(left: Relation, right: Scan, unit: str) -> Iterator[str]:
    yield from _branch(_lines(left, unit), "├─ ", "│  ")
    yield from _branch(_lines(right, unit), "└─ ", "   ")


def _branch(lines: Iterator[str], lead: str, stem: str) -> Iterator[str]:
    yield lead + next(lines)
    for line in lines:
        yield stem + line


def _condition(on: Iterable[Equality], rest: Expr | None, right: Scan, unit: str) -> str:
    """The condition of a join or lookup, in words."""
    parts = [f"{_written(one)} = {_written(other)}" for one, other in on]
    if rest is not None:
        parts.append(f"a condition on {_names(rest)}")
    written = f" on {' and '.join(parts)}" if parts else ", each row with each"
    return written if right.table.public else f"{written}, rows of one {unit}"


def _written(expression: Expr) -> str:
    if isinstance(expression, ColumnRef):
        return printable(expression.column.called)
    return f"an expression of {_names(expression)}"


def _names(expression: Expr) -> str:
    return ", ".join(printable(each.called) for each in columns_of(expression).values())
