"""Typed expressions: small frozen records, the same for rows and for aggregates.

Row expressions and expressions over aggregates are the same nodes; they differ
in their leaves. Equal meaning gives equal records as far as is cheap to see:
comparisons point one way, the operands of AND, OR and `=` are sorted.
"""

from __future__ import annotations

from dataclasses import dataclass

from dpdb.policy.catalog import Column, Kind, Value


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
        """By name, as a column can have thousands of values; within a table names differ."""
        return hash(self.column.name)

    @property
    def kind(self) -> Kind:
        return self.column.kind


@dataclass(frozen=True)
class Slot:
    """A value filled in later: a subquery's noisy answer, an aggregate, a group's key."""

    role: str
    index: int
    kind: Kind


@dataclass(frozen=True)
class Arithmetic:
    """`+`, `-`, `*`, `/` (true division) or `%`; NULL where undefined."""

    operator: str
    left: Expr
    right: Expr
    kind: Kind


@dataclass(frozen=True)
class Compare:
    """`=`, `<>`, `<` or `<=`."""

    operator: str
    left: Expr
    right: Expr
    kind: Kind = Kind.BOOLEAN


@dataclass(frozen=True)
class Logic:
    """`and` or `or` of two operands or more, in three-valued logic."""

    operator: str
    operands: tuple[Expr, ...]
    kind: Kind = Kind.BOOLEAN


@dataclass(frozen=True)
class Not:
    """Three-valued negation."""

    operand: Expr
    kind: Kind = Kind.BOOLEAN


@dataclass(frozen=True)
class IsNull:
    """True or false, never NULL."""

    operand: Expr
    kind: Kind = Kind.BOOLEAN


@dataclass(frozen=True)
class InList:
    """Membership in a list of constants; `null` where the list holds a NULL."""

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
    """A scalar function of the allow-list."""

    name: str
    arguments: tuple[Expr, ...]
    kind: Kind


@dataclass(frozen=True)
class Cast:
    """Conversion; NULL where the value cannot be read as the target type."""

    operand: Expr
    kind: Kind


Expr = (
    Literal
    | ColumnRef
    | Slot
    | Arithmetic
    | Compare
    | Logic
    | Not
    | IsNull
    | InList
    | Like
    | Case
    | Call
    | Cast
)


def conjunction(*conditions: Expr | None) -> Expr | None:
    """The AND of the conditions that are there."""
    match [condition for condition in conditions if condition is not None]:
        case []:
            return None
        case [only]:
            return only
        case several:
            return logic("and", several)


def logic(operator: str, operands: list[Expr]) -> Expr:
    """AND or OR, flattened, without repetitions, in an order of its own."""
    flat: dict[Expr, None] = {}
    for operand in operands:
        inner = operand.operands if _is(operand, operator) else (operand,)  # type: ignore[union-attr]
        flat.update(dict.fromkeys(inner))
    if len(flat) == 1:
        return next(iter(flat))
    return Logic(operator, tuple(sorted(flat, key=repr)))


def _is(expression: Expr, operator: str) -> bool:
    return isinstance(expression, Logic) and expression.operator == operator


def compare(operator: str, left: Expr, right: Expr) -> Compare:
    """A comparison, turned so that equal meaning is written one way."""
    match operator:
        case ">":
            return Compare("<", right, left)
        case ">=":
            return Compare("<=", right, left)
        case "=" | "<>":
            first, second = sorted((left, right), key=repr)
            return Compare(operator, first, second)
    return Compare(operator, left, right)


def children(expression: Expr) -> tuple[Expr, ...]:
    """The direct operands of an expression."""
    match expression:
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
        ):
            return (operand,)
        case Case(branches=branches, default=default):
            return (*(part for branch in branches for part in branch), default)
        case Call(arguments=arguments):
            return arguments
    return ()


def height(expression: Expr) -> int:
    """How many operators are within each other."""
    return max((1 + height(child) for child in children(expression)), default=0)


def size(expression: Expr) -> int:
    """How many expressions there are in `expression`, itself among them."""
    return 1 + sum(map(size, children(expression)))


def slots(expression: Expr, role: str) -> set[int]:
    """The indices of the slots of one role within an expression."""
    if isinstance(expression, Slot):
        return {expression.index} if expression.role == role else set()
    return set().union(*(slots(child, role) for child in children(expression)))


def column_names(expression: Expr) -> set[str]:
    """The names of the columns within an expression."""
    if isinstance(expression, ColumnRef):
        return {expression.column.name}
    return set().union(*(column_names(child) for child in children(expression)))
