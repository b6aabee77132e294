"""Typed expressions over rows, and over aggregates.

Both kinds use the same nodes and differ in their leaves: columns for rows, slots for aggregates and
keys. Expressions of equal meaning are equal records as far as this is cheap to see: comparisons are
written with `<` and `<=`, and the operands of AND, OR and `=` are sorted.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import assert_never

from dpdb.errors import InternalError
from dpdb.plan.expressions.functions import CALLS
from dpdb.policy.catalog import Column, Kind, Value
from dpdb.records import dataclass


@dataclass(frozen=True)
class Literal:
    """A constant; None is NULL."""

    value: Value | None
    kind: Kind


@dataclass(frozen=True)
class ColumnRef:
    """A column of the table, read row by row."""

    column: Column

    def __hash__(self) -> int:
        """The hash of the name alone, since a column can have thousands of declared values."""
        return hash(self.column.name)

    @property
    def kind(self) -> Kind:
        return self.column.kind


@dataclass(frozen=True)
class Slot:
    """A place for a value that is filled in later.

    Its `role` is `aggregate`, `key` or `subquery` (the noisy answer of one), and `index` counts the
    slots of one role.
    """

    role: str
    index: int
    kind: Kind


@dataclass(frozen=True)
class Arithmetic:
    """`left operator right` for `+`, `-`, `*`, `/` (true division) or `%`; NULL where undefined."""

    operator: str
    left: Expr
    right: Expr
    kind: Kind


@dataclass(frozen=True)
class Compare:
    """`left operator right` for `=`, `<>`, `<` or `<=`."""

    operator: str
    left: Expr
    right: Expr
    kind: Kind = Kind.BOOLEAN


@dataclass(frozen=True)
class Logic:
    """The `and` or `or` of at least two operands, in three-valued logic."""

    operator: str
    operands: tuple[Expr, ...]
    kind: Kind = Kind.BOOLEAN

    def __hash__(self) -> int:
        """The hash of the fields, which is worked out once: filters are often looked up."""
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((self.operator, self.operands, self.kind))


@dataclass(frozen=True)
class Not:
    """Three-valued negation."""

    operand: Expr
    kind: Kind = Kind.BOOLEAN


@dataclass(frozen=True)
class IsNull:
    """The test for NULL, which is true or false and never NULL."""

    operand: Expr
    kind: Kind = Kind.BOOLEAN


@dataclass(frozen=True)
class InList:
    """Membership in a list of constants; `null` says whether the list also holds a NULL."""

    operand: Expr
    values: tuple[Value, ...]
    null: bool
    kind: Kind = Kind.BOOLEAN


@dataclass(frozen=True)
class Like:
    """Pattern match; `None` in the pattern stands for `%`, the empty string for `_`."""

    operand: Expr
    pattern: tuple[str | None, ...]
    kind: Kind = Kind.BOOLEAN


@dataclass(frozen=True)
class Case:
    """The value of the first branch whose condition is true."""

    branches: tuple[tuple[Expr, Expr], ...]
    default: Expr
    kind: Kind


@dataclass(frozen=True)
class Call:
    """A scalar function, one of CALLS."""

    name: str
    arguments: tuple[Expr, ...]
    kind: Kind

    def __post_init__(self) -> None:
        if self.name not in CALLS:
            raise InternalError(f"there is no function {self.name}")


@dataclass(frozen=True)
class Cast:
    """The conversion to a type; NULL where the value cannot be read as that type."""

    operand: Expr
    kind: Kind


@dataclass(frozen=True)
class IntervalEnd:
    """The lower or the upper end of the interval of an expression over noisy aggregates."""

    operand: Expr
    upper: bool

    @property
    def kind(self) -> Kind:
        return self.operand.kind


Expr = (
    Literal | ColumnRef | Slot | Arithmetic | Compare | Logic | Not | IsNull | InList | Like | Case
    | Call | Cast | IntervalEnd
)  # fmt: skip


def is_null_constant(expression: Expr) -> bool:
    """Whether an expression is the constant NULL."""
    return isinstance(expression, Literal) and expression.value is None


def conjunction(*conditions: Expr | None) -> Expr | None:
    """The AND of the conditions that are not None; None if all are."""
    match [condition for condition in conditions if condition is not None]:
        case []:
            return None
        case [only]:
            return only
        case several:
            return logic("and", several)


def conjuncts(condition: Expr | None) -> tuple[Expr, ...]:
    """The operands of an AND, or the condition itself; none if there is none."""
    if isinstance(condition, Logic) and condition.operator == "and":
        return condition.operands
    return () if condition is None else (condition,)


def logic(operator: str, operands: list[Expr]) -> Expr:
    """The AND or OR of the operands, flattened, without repetitions, and sorted."""
    flat: dict[Expr, None] = {}
    for operand in operands:
        if isinstance(operand, Logic) and operand.operator == operator:
            flat.update(dict.fromkeys(operand.operands))
        else:
            flat[operand] = None
    if len(flat) == 1:
        return next(iter(flat))
    return Logic(operator, _sorted(flat))


def _sorted(operands: Iterable[Expr]) -> tuple[Expr, ...]:
    """The operands sorted as they are written, the name of the type first.

    What an operand holds is written out, which takes long, only where two have the same type.
    """
    by_type: dict[str, list[Expr]] = {}
    for operand in operands:
        by_type.setdefault(type(operand).__name__, []).append(operand)
    for several in by_type.values():
        if len(several) > 1:
            several.sort(key=repr)
    return tuple(operand for name in sorted(by_type) for operand in by_type[name])


def compare(operator: str, left: Expr, right: Expr) -> Compare:
    """A comparison, with sides exchanged where needed so that equal meaning is written one way."""
    match operator:
        case ">":
            return Compare("<", right, left)
        case ">=":
            return Compare("<=", right, left)
        case "=" | "<>":
            first, second = _sorted((left, right))
            return Compare(operator, first, second)
        case "<" | "<=":
            return Compare(operator, left, right)
    raise InternalError(f"there is no comparison {operator}")


def children(expression: Expr) -> tuple[Expr, ...]:
    """The direct operands of an expression."""
    match expression:
        case Literal() | ColumnRef() | Slot():
            return ()
        case Arithmetic(left=left, right=right) | Compare(left=left, right=right):
            return left, right
        case Logic(operands=operands):
            return operands
        case (
            Not(operand=operand)
            | IsNull(operand=operand)
            | InList(operand=operand)
            | Like(operand=operand)
            | Cast(operand=operand)
            | IntervalEnd(operand=operand)
        ):
            return (operand,)
        case Case(branches=branches, default=default):
            return (*(part for branch in branches for part in branch), default)
        case Call(arguments=arguments):
            return arguments
        case _:
            assert_never(expression)


def height(expression: Expr) -> int:
    """The depth to which operators are nested."""
    return max((1 + height(child) for child in children(expression)), default=0)


def size(expression: Expr) -> int:
    """The number of nodes of `expression`, itself included."""
    return 1 + sum(map(size, children(expression)))


def slots(expression: Expr, role: str) -> set[int]:
    """The indices of the slots of one role within an expression."""
    if isinstance(expression, Slot):
        return {expression.index} if expression.role == role else set()
    return set().union(*(slots(child, role) for child in children(expression)))


def interval_ends(expression: Expr) -> set[IntervalEnd]:
    """The ends of intervals within an expression."""
    if isinstance(expression, IntervalEnd):
        return {expression}
    return set().union(*(interval_ends(child) for child in children(expression)))


def columns_of(expression: Expr) -> dict[str, Column]:
    """The columns that an expression reads, by name."""
    if isinstance(expression, ColumnRef):
        return {expression.column.name: expression.column}
    columns: dict[str, Column] = {}
    for child in children(expression):
        columns |= columns_of(child)
    return columns
