"""The binder of predicates: comparisons, BETWEEN, IN, IS and LIKE."""

from __future__ import annotations

from abc import ABC, abstractmethod

from sqlglot import exp

from dpdb.errors import Place, TooLarge, Unsupported
from dpdb.plan.expressions.expressions import (
    Call,
    Expr,
    InList,
    IsNull,
    Like,
    Literal,
    Not,
    compare,
    logic,
)
from dpdb.plan.expressions.text_functions import lower
from dpdb.policy.catalog import Kind
from dpdb.sql.scalars import types
from dpdb.sql.scalars.spellings import like_each
from dpdb.sql.syntax.literals import like_pattern
from dpdb.sql.syntax.trees import Effort, only, place

MAX_LIST = 1_000
"""The most values that IN takes."""
MAX_PATTERN = 1_000
"""The most characters of a pattern."""
PREDICATES = (exp.Between, exp.In, exp.Like, exp.ILike, exp.Escape, exp.Is, exp.NullSafeEQ,
              exp.NullSafeNEQ)  # fmt: skip


class PredicateBinder(ABC):
    """Binds predicates. A subclass binds their operands."""

    def __init__(self, text: str, effort: Effort):
        self.text = text
        self.effort = effort

    @abstractmethod
    def expression(self, node: exp.Expr, depth: int = 0) -> Expr:
        """Any allowed expression."""

    def place(self, node: exp.Expr) -> Place | None:
        """The place of `node` in the statement."""
        return place(node, self.text)

    def condition(self, node: exp.Expr, depth: int = 0) -> Expr:
        """A boolean expression."""
        expression = self.expression(node, depth)
        if isinstance(expression, types.CONDITIONS):
            return expression
        return types.of_kind(expression, Kind.BOOLEAN, self.place(node))

    def compared(self, operator: str, left: exp.Expr, right: exp.Expr, depth: int) -> Expr:
        """A comparison of two sides of one kind."""
        sides = [self.expression(side, depth + 1) for side in (left, right)]
        first, second = types.comparable(sides, self.place(left))
        return compare(operator, first, second)

    def predicate(self, node: exp.Expr, depth: int) -> Expr:
        """A predicate of the types in `PREDICATES`."""
        match node:
            case exp.Between():
                only(node, self.text, "this", "low", "high", "symmetric")
                return self._between(node, depth)
            case exp.In():
                only(node, self.text, "this", "expressions", "unnest")
                return self._in(node, depth)
            case exp.Is():
                only(node, self.text, "this", "expression")
                return self._is(node, depth)
            case exp.NullSafeEQ() | exp.NullSafeNEQ():
                only(node, self.text, "this", "expression")
                sides = [self.expression(side, depth + 1) for side in (node.this, node.expression)]
                alike = types.alike(sides, self.place(node))
                return Not(alike) if isinstance(node, exp.NullSafeNEQ) else alike
            case exp.Escape():
                only(node, self.text, "this", "expression")
                escape = self.expression(node.expression, depth + 1)
                if not (isinstance(escape, Literal) and len(str(escape.value)) == 1):
                    raise Unsupported("ESCAPE takes one character", place=self.place(node))
                return self._like(node.this, str(escape.value), depth)
        return self._like(node, "", depth)

    def _between(self, node: exp.Between, depth: int) -> Expr:
        """Between the ends in their order, and in either order where it is symmetric."""
        low, high = node.args["low"], node.args["high"]
        orders = [(low, high), (high, low)] if node.args.get("symmetric") else [(low, high)]
        within = []
        for start, end in orders:
            above = self.compared("<=", start, node.this, depth)
            below = self.compared("<=", node.this, end, depth)
            within.append(logic("and", [above, below]))
        return logic("or", within)

    def _is(self, node: exp.Expr, depth: int) -> Expr:
        if isinstance(node.expression, exp.Null):
            return IsNull(self.expression(node.this, depth + 1))
        if isinstance(node.expression, exp.Boolean):
            false = Literal(False, Kind.BOOLEAN)
            operand = self.condition(node.this, depth + 1)
            tested = operand if node.expression.this else Not(operand)
            return Call("coalesce", (tested, false), Kind.BOOLEAN)
        raise Unsupported("IS takes NULL, TRUE or FALSE", place=self.place(node))

    def _in(self, node: exp.Expr, depth: int) -> Expr:
        items = node.expressions
        if (listed := node.args.get("unnest")) is not None:  # x IN UNNEST([1, 2]) is x IN (1, 2).
            only(listed, self.text, "expressions")
            items = [one for each in listed.expressions for one in each.expressions]
        if listed is not None and not (items and isinstance(listed.expressions[0], exp.Array)):
            raise Unsupported(
                "IN UNNEST takes constants", hint="IN UNNEST([1, 2])", place=self.place(node)
            )
        if len(items) > MAX_LIST:
            raise TooLarge(
                f"a list of {len(items)} values, {MAX_LIST} are allowed", place=self.place(node)
            )
        parts = [self.expression(part, depth + 1) for part in (node.this, *items)]
        operand, *values = types.comparable(parts, self.place(node))
        if not all(isinstance(value, Literal) for value in values):
            return logic("or", [compare("=", operand, value) for value in values])
        constants = {v.value for v in values if isinstance(v, Literal) and v.value is not None}
        null = any(isinstance(v, Literal) and v.value is None for v in values)
        return InList(operand, tuple(sorted(constants, key=repr)), null)

    def _like(self, node: exp.Expr, escape: str, depth: int) -> Expr:
        only(node, self.text, "this", "expression", "negate")
        if (tests := like_each(node)) is not None:
            return self.expression(tests, depth + 1)
        operand, pattern = (
            types.of_kind(self.expression(side, depth + 1), Kind.TEXT, self.place(side))
            for side in (node.this, node.expression)
        )
        if not isinstance(pattern, Literal):
            raise Unsupported("a LIKE pattern must be a constant", place=self.place(node))
        if pattern.value is None:
            return Literal(None, Kind.BOOLEAN)
        written = str(pattern.value)
        if len(written) > MAX_PATTERN:
            raise TooLarge(f"a pattern longer than {MAX_PATTERN}", place=self.place(node))
        self.effort.spend_pattern(written, node, self.text)
        if isinstance(node, exp.ILike):
            written, operand = lower(written), Call("lower", (operand,), Kind.TEXT)
        like = Like(operand, like_pattern(written, escape))
        return Not(like) if node.args.get("negate") else like
