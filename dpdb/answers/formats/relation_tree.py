"""What a query reads from several tables, as a tree, and how many rows of a unit count."""

from __future__ import annotations

from collections.abc import Iterator

from dpdb.answers.formats.escape import printable
from dpdb.plan.expressions import ColumnRef, Expr, columns_of
from dpdb.plan.relations import Join, Joined, Relation, Scan


def relation_lines(source: Joined) -> Iterator[str]:
    """The lines of the tree, and those of the caps."""
    yield from _lines(source.relation, printable(source.unit_in_words))
    unit, cap = printable(source.unit_in_words), str(source.rows_per_unit)
    known = source.arithmetic
    yield f"rows per {unit}: {cap if known.isdigit() else f'{known} = {cap}'}"
    if source.entering is not None:
        yield (
            f"of each {unit} at most {source.entering} rows of a table are joined, "
            "as no key limits the pairs"
        )


def _lines(relation: Relation, unit: str) -> Iterator[str]:
    match relation:
        case Scan(table=table):
            yield f"{printable(str(relation))}{', public' if table.public else ''}"
        case Join():
            yield f"{relation.kind}{_condition(relation, unit)}"
            yield from _branch(_lines(relation.left, unit), "├─ ", "│  ")
            yield from _branch(_lines(relation.right, unit), "└─ ", "   ")


def _branch(lines: Iterator[str], lead: str, stem: str) -> Iterator[str]:
    yield lead + next(lines)
    for line in lines:
        yield stem + line


def _condition(join: Join, unit: str) -> str:
    """What the rows of both sides have in common."""
    parts = [f"{_written(one)} = {_written(other)}" for one, other in join.on]
    if join.rest is not None:
        parts.append(f"a condition on {_names(join.rest)}")
    on = f" on {' and '.join(parts)}" if parts else ", each row with each"
    return on if join.right.table.public else f"{on}, rows of one {unit}"


def _written(expression: Expr) -> str:
    if isinstance(expression, ColumnRef):
        return printable(expression.column.name)
    return f"an expression of {_names(expression)}"


def _names(expression: Expr) -> str:
    return ", ".join(printable(name) for name in columns_of(expression))
