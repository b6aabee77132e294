"""Binders for the expressions of a SELECT: over a row, over the answer, and constants."""

from __future__ import annotations

from dataclasses import field

from sqlglot import exp

from dpdb.errors import Place, StatementError, TooLarge, TypeMismatch, Unsupported
from dpdb.plan.expressions.expressions import (
    ColumnRef,
    Expr,
    IntervalEnd,
    Literal,
    Slot,
    interval_ends,
    slots,
)
from dpdb.plan.expressions.functions import AGGREGATES, FUNCTIONS
from dpdb.plan.expressions.single_values import UnitValue, single_value
from dpdb.plan.logical.derived import Window
from dpdb.plan.logical.query import Aggregate, Output
from dpdb.plan.relations.relations import Source
from dpdb.policy.catalog import Kind
from dpdb.records import dataclass
from dpdb.sql.aggregates.aggregate_formulas import of_two_columns
from dpdb.sql.aggregates.aggregates import aggregate, is_aggregate
from dpdb.sql.aggregates.lists import element
from dpdb.sql.aggregates.named_arguments import report, reported, without_report
from dpdb.sql.aggregates.windows import window
from dpdb.sql.scalars.expression_binder import ExpressionBinder
from dpdb.sql.scopes.views import Scope, SubqueryBinder
from dpdb.sql.syntax.trees import only

MAX_OUTPUTS = 200
INTERVAL_ENDS = ["DP_INTERVAL_LOW", "DP_INTERVAL_HIGH"]
"""The functions that return the ends of an interval, by Snowflake's names."""


class RowExpressions(ExpressionBinder):
    """Binds expressions over a row: their leaves are columns and scalar subqueries."""

    def __init__(self, binder: SubqueryBinder, scope: Scope):
        super().__init__(binder.text, binder.effort)
        self._binder = binder
        self._scope = scope

    @property
    def function_names(self) -> list[str]:
        return list(FUNCTIONS)

    def leaf(self, node: exp.Expr) -> Expr | None:
        if isinstance(node, exp.Column):
            return self._scope.column(node)
        if isinstance(node, exp.Subquery):
            return self._binder.correlated(node, self._scope) or self._binder.subquery(node)
        if isinstance(node, exp.Exists):
            return self._binder.looked_up(node, None, self._scope)
        if isinstance(node, exp.In) and node.args.get("query") is not None:
            return self._binder.looked_up(node, self.expression(node.this), self._scope)
        if is_aggregate(node):
            raise Unsupported(
                "an aggregate cannot be used here",
                hint="conditions on aggregates go into HAVING; an aggregate of groups' answers is "
                "SELECT MAX(n) FROM (SELECT y, COUNT(*) AS n FROM t GROUP BY y)",
                place=self.place(node),
            )
        return None


def condition_in(tree: exp.Select, name: str, expressions: ExpressionBinder) -> Expr | None:
    """The condition in WHERE, HAVING or QUALIFY; None where a SELECT has no such clause."""
    clause = tree.args.get(name)
    return expressions.condition(clause.this) if clause else None


class NamedExpressions(ExpressionBinder):
    """Binds expressions in which the columns of a SELECT list may have their names."""

    aliases: dict[str, Expr]

    def ordering(self, node: exp.Expr) -> Expr:
        """A term of ORDER BY; a name by itself is an alias rather than a column."""
        name = node.unnest()
        alias = self._alias(name) if isinstance(name, exp.Column) else None
        return self.expression(node) if alias is None else alias

    def _alias(self, node: exp.Column) -> Expr | None:
        return None if node.args.get("table") else self.aliases.get(node.name.casefold())


@dataclass
class AnswerExpressions(NamedExpressions):
    """Binds expressions over the answer: their leaves are aggregates, keys, aliases, subqueries.

    A column hides an alias of its name, as in PostgreSQL and DuckDB.
    """

    binder: SubqueryBinder
    rows: RowExpressions
    scope: Scope
    keys: tuple[Expr, ...]
    aggregates: list[Aggregate] = field(default_factory=list)
    aliases: dict[str, Expr] = field(default_factory=dict)
    windows: list[Window] = field(default_factory=list)
    """The different window functions read so far."""
    groupings: list[tuple[int, ...]] = field(default_factory=list)
    """The different calls of GROUPING, by the indices of the keys that they name."""

    def __post_init__(self) -> None:
        super().__init__(self.binder.text, self.binder.effort)

    @property
    def function_names(self) -> list[str]:
        return [*AGGREGATES, *FUNCTIONS, *INTERVAL_ENDS]

    def leaf(self, node: exp.Expr) -> Expr | None:
        if isinstance(node, exp.Window):
            return window(node, self, self.windows)
        if isinstance(node, exp.Grouping | exp.GroupingId):
            return self._grouping(node)
        if is_aggregate(node):
            return self._aggregate(node)
        if isinstance(node, exp.Subquery):
            return self.binder.subquery(node)
        if isinstance(node, exp.Column):
            return self._name(node)
        if isinstance(node, exp.Dot) and (call := reported(node, self.text)) is not None:
            return self.expression(call)
        if isinstance(node, exp.Bracket) and (call := element(node, self.text)) is not None:
            return self.expression(call)
        if isinstance(node, exp.Anonymous) and str(node.this).upper() in INTERVAL_ENDS:
            return self._interval_end(node)
        return self._key(node)

    def _key(self, node: exp.Expr) -> Slot | None:
        """The slot of a computed key of GROUP BY; None for any other expression."""
        computed = [key for key in self.keys if not isinstance(key, ColumnRef)]
        if not computed or isinstance(node, (exp.Literal, exp.Paren)):
            return None
        if any(is_aggregate(part) or isinstance(part, exp.Subquery) for part in node.walk()):
            return None  # No key contains an aggregate or a subquery.
        try:
            expression = self.rows.expression(node)
        except StatementError:  # it reads a name of the answer
            return None
        if expression not in computed:
            return None
        return Slot("key", self.keys.index(expression), expression.kind)

    def _grouping(self, node: exp.Expr) -> Slot:
        """The slot of GROUPING(a, b), a bit for each of these keys that a row is not grouped by."""
        only(node, self.text, "expressions")
        keys = [self.expression(part) for part in node.expressions]
        named = tuple(key.index for key in keys if isinstance(key, Slot) and key.role == "key")
        if len(named) != len(keys) or not 1 <= len(named) <= MAX_OUTPUTS:
            raise TypeMismatch("GROUPING takes columns of GROUP BY", place=self.place(node))
        if named not in self.groupings:
            self.groupings.append(named)
        return Slot("grouping", self.groupings.index(named), Kind.INTEGER)

    def _interval_end(self, node: exp.Anonymous) -> IntervalEnd:
        """DP_INTERVAL_LOW(x) or DP_INTERVAL_HIGH(x), of an aggregate or the alias of a column."""
        name = str(node.this).upper()
        self._check_noisy(name, self.place(node))
        if len(node.expressions) == 1:
            operand = self.ordering(node.expressions[0])
            noisy = slots(operand, "aggregate") | slots(operand, "subquery")
            plain = not interval_ends(operand) and not slots(operand, "window")
            if noisy and operand.kind.ordinal and plain:
                return IntervalEnd(operand, upper=name == "DP_INTERVAL_HIGH")
        raise TypeMismatch(
            f"{name} takes a number from aggregates, or the alias of one", place=self.place(node)
        )

    def _check_noisy(self, asked: str, where: Place | None) -> None:
        """Refuse intervals and reports of noise over an answer, whose noise was drawn before."""
        if self.scope.view.derived is not None:
            raise Unsupported(
                "what is computed from answers has no intervals",
                hint=f"{asked} goes into the SELECT whose answer is read",
                place=where,
            )

    def _aggregate(self, node: exp.Expr) -> Expr:
        if (plain := without_report(node, self.text)) is not None:
            self._check_noisy("report_format", self.place(node))
            value = self._aggregate(plain)
            single = self.aggregates[value.index] if isinstance(value, Slot) else None
            return report(value, single, self.place(node))
        computed = of_two_columns(node, self.rows, lambda call: self._slot(call, node))
        if computed is not None:
            return computed
        call = aggregate(node, self.rows, self.scope.view.table)
        if self.scope.view.derived is not None and isinstance(
            single_value(call.argument), UnitValue
        ):
            raise Unsupported(
                "rows of an answer have no units whose contributions could be clamped",
                hint="contribution bounds go into the SELECT that reads a table",
                place=self.place(node),
            )
        return self._slot(call, node)

    def _slot(self, call: Aggregate, node: exp.Expr) -> Slot:
        """The slot of an aggregate, which is asked for at `node`."""
        if call not in self.aggregates:
            if len(self.aggregates) == MAX_OUTPUTS:
                raise TooLarge(f"more than {MAX_OUTPUTS} aggregates", place=self.place(node))
            self.aggregates.append(call)
        return Slot("aggregate", self.aggregates.index(call), call.kind)

    def starred(self, node: exp.Expr) -> list[Output]:
        """Refuse `*`."""
        raise Unsupported(
            "SELECT * is not supported",
            hint=hint_for_rows(self.scope.view.table),
            place=self.place(node),
        )

    def _name(self, node: exp.Column) -> Expr:
        alias = self._alias(node)
        if alias is not None and not self.scope.has(node.name):
            return alias
        column = self.scope.column(node)
        if isinstance(column, Literal):
            return column
        if column not in self.keys:
            raise Unsupported(
                f"{node.name} must be inside an aggregate or in GROUP BY",
                hint=hint_for_rows(self.scope.view.table),
                place=self.place(node),
            )
        return Slot("key", self.keys.index(column), column.kind)


def hint_for_rows(source: Source) -> str:
    """A hint at queries to ask instead of rows."""
    if source.public:
        return "GROUP BY shows the different values of a public table, and how often they occur"
    return "single rows are never shown; try SELECT COUNT(*) FROM t"


class NoisyRowExpressions(NamedExpressions, RowExpressions):
    """Binds the columns of a SELECT over answers: windows may be in them, and aliases."""

    def __init__(self, binder: SubqueryBinder, scope: Scope):
        super().__init__(binder, scope)
        self.aliases: dict[str, Expr] = {}
        self.windows: list[Window] = []

    def leaf(self, node: exp.Expr) -> Expr | None:
        if isinstance(node, exp.Window):
            return window(node, self, self.windows)
        if isinstance(node, exp.Column) and not self._scope.has(node.name):
            alias = self._alias(node)
            if alias is not None:
                return alias
        return super().leaf(node)

    def starred(self, node: exp.Expr) -> list[Output]:
        """The columns of `*` or `t.*`."""
        only(node.this if isinstance(node, exp.Column) else node, self.text)
        return [Output(name, expression) for name, expression in self._scope.all_columns(node)]


Answers = AnswerExpressions | NoisyRowExpressions
"""The binders of the columns of an answer."""


class Constants(ExpressionBinder):
    """Binds expressions without leaves, as LIMIT and OFFSET take them."""

    @property
    def function_names(self) -> list[str]:
        return list(FUNCTIONS)

    def leaf(self, node: exp.Expr) -> Expr | None:
        return None
