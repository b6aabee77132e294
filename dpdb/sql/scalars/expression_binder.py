"""The expression binder: sqlglot's expressions into ours, by an allow-list of their nodes."""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction

from sqlglot import exp

from dpdb.errors import StatementError, UnknownName, Unsupported, did_you_mean
from dpdb.plan.expressions.expressions import Arithmetic, Expr, Literal, Not, height, logic, size
from dpdb.plan.expressions.functions import FUNCTIONS
from dpdb.policy.catalog import Kind
from dpdb.sql.scalars import calls, types
from dpdb.sql.scalars.calls import call
from dpdb.sql.scalars.date_functions import DATE_CALLS, at_time_zone, date_call, shifted
from dpdb.sql.scalars.predicates import PREDICATES, PredicateBinder
from dpdb.sql.scalars.spellings import clock, respelled
from dpdb.sql.syntax.literals import literal
from dpdb.sql.syntax.trees import chain, check_depth, named, node_name, only, written_name

COMPARISONS: dict[type[exp.Expr], str] = {
    exp.EQ: "=", exp.NEQ: "<>", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=",
}  # fmt: skip
ARITHMETIC: dict[type[exp.Expr], str] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.Mod: "%",
    exp.IntDiv: "//",
}
_INSTEAD: dict[type[exp.Expr], str] = {
    exp.Any: "x IN (1, 2) is true of the values of a list",
    exp.Tuple: "x = 1 AND y = 2 compares two columns, EXISTS (SELECT 1 FROM s WHERE s.x = t.x AND"
    " s.y = t.y) looks for a pair, and COUNT(DISTINCT (x, y)) counts pairs",
    exp.Glob: "LIKE 'a%' is true of texts that begin with a",
    exp.SimilarTo: "REGEXP_LIKE(s, 'pattern') matches a regular expression",
    exp.Columns: "name each column: AVG(x), AVG(z)",
    exp.BitwiseXor: "POWER(x, 2) is x to the power of 2",
    exp.DateBin: "TIME_BUCKET(INTERVAL '1 day', date) is the first day of a stretch",
    exp.Window: "windows go over answers, never over rows, and bins have bounds that are known: "
    "WIDTH_BUCKET(x, 0, 100, 4)",
    exp.MonthsBetween: "DATE_DIFF('month', start, end) counts months",
}
"""Hints for the expressions of other systems."""


_INSTEAD_OF_NAME = {
    "TO_DATE": "STRPTIME('31.12.2020', '%d.%m.%Y') reads a text, and DATE '2020-12-31' is a day",
    "TO_TIMESTAMP": "STRPTIME('31.12.2020', '%d.%m.%Y') reads a text",
    "CUT": "WIDTH_BUCKET(x, 0, 100, 4) is the number of a bin, FLOOR(x / 10) * 10 its start",
    "COUNT_STAR": "COUNT(*) counts rows",
    "WEIGHTED_AVG": "SUM(x * z) / SUM(z) is the mean of x with weights z",
}
"""Hints for functions that are called so elsewhere, and that sqlglot does not know."""


_OPERATORS: dict[type[exp.Expr], str] = {
    exp.BitwiseXor: "^",
    exp.BitwiseAnd: "&",
    exp.BitwiseOr: "|",
    exp.BitwiseNot: "~",
    exp.BitwiseLeftShift: "<<",
    exp.BitwiseRightShift: ">>",
}
"""The operators that dpdb has not, as they are typed."""


_USUAL = "`dpdb help functions` lists the functions"


class ExpressionBinder(PredicateBinder):
    """Binds scalar expressions. A subclass says what their leaves may be."""

    @abstractmethod
    def leaf(self, node: exp.Expr) -> Expr | None:
        """The expression that a leaf stands for; None if `node` is no leaf here."""

    @property
    @abstractmethod
    def function_names(self) -> list[str]:
        """The names of the functions that may be called here, for "did you mean"."""

    def expression(self, node: exp.Expr, depth: int = 0) -> Expr:
        check_depth(depth, node, self.text)
        self.effort.spend(1, node, self.text)
        if (leaf := self.leaf(node)) is not None:
            check_depth(depth + height(leaf), node, self.text)
            self.effort.spend(size(leaf), node, self.text)
            return leaf
        match node:
            case exp.Paren():
                only(node, self.text, "this")
                return self.expression(node.this, depth + 1)
            case exp.Literal() | exp.Boolean() | exp.Null():
                return literal(node, self.text)
            case exp.Neg():
                return self._negative(node, depth)
            case exp.And() | exp.Or() | exp.DPipe():
                return self._chain(node, depth)
            case exp.Not():
                only(node, self.text, "this")
                return Not(self.condition(node.this, depth + 1))
            case _ if isinstance(node, PREDICATES):
                return self.predicate(node, depth)
            case exp.Case() | exp.If():
                return self._case(node, depth)
            case exp.Cast() | exp.TryCast() | exp.AtTimeZone():
                return self._cast(node, depth)
        if type(node) in ARITHMETIC:
            return self._arithmetic(node, depth)
        if type(node) in COMPARISONS:
            only(node, self.text, "this", "expression")
            operator = COMPARISONS[type(node)]
            return self.compared(operator, node.this, node.expression, depth)
        if isinstance(node, exp.Func):
            return self._function(node, depth)
        raise Unsupported(
            f"{_OPERATORS.get(type(node)) or node_name(node)} is not supported",
            hint=_INSTEAD.get(type(node), _USUAL),
            place=self.place(node),
        )

    def _negative(self, node: exp.Expr, depth: int) -> Expr:
        only(node, self.text, "this")
        inside = node.this
        operand = types.numeric(self.expression(inside, depth + 1), self.place(inside))
        if isinstance(operand, Literal) and isinstance(operand.value, (int, Fraction)):
            return Literal(-operand.value, operand.kind)
        return Arithmetic("-", Literal(0, Kind.INTEGER), operand, operand.kind)

    def _chain(self, node: exp.Expr, depth: int) -> Expr:
        """A chain of ANDs, of ORs or of `||` as one operation."""
        operands = chain(node, self.text)
        if isinstance(node, exp.DPipe):
            texts = [self.expression(operand, depth + 1) for operand in operands]
            return types.concatenation(texts, self.place(node))
        conditions = [self.condition(operand, depth + 1) for operand in operands]
        return logic("and" if isinstance(node, exp.And) else "or", conditions)

    def _arithmetic(self, node: exp.Expr, depth: int) -> Expr:
        only(node, self.text, "this", "expression")
        operator, where = ARITHMETIC[type(node)], self.place(node)
        if operator in "+-" and isinstance(node.expression, exp.Interval):
            date = self.expression(node.this, depth + 1)
            return shifted(date, 1 if operator == "+" else -1, node.expression, where)
        left, right = (self.expression(side, depth + 1) for side in (node.this, node.expression))
        if operator in "+-" and (left.kind.temporal or right.kind.temporal):
            return types.date_arithmetic(operator, left, right, where)
        if operator == "//":
            return types.whole_division(left, right, where)
        return types.arithmetic(operator, left, right, where)

    def _case(self, node: exp.Expr, depth: int) -> Expr:
        if isinstance(node, exp.If):
            only(node, self.text, "this", "true", "false")
            ifs, default, operand = [node], node.args.get("false"), None
        else:
            only(node, self.text, "this", "ifs", "default")
            ifs, default, operand = node.args["ifs"], node.args.get("default"), node.this
        branches = []
        for branch in ifs:
            if operand is None:
                condition = self.condition(branch.this, depth + 1)
            else:
                condition = self.compared("=", operand, branch.this, depth)
            branches.append((condition, self.expression(branch.args["true"], depth + 1)))
        otherwise = (
            Literal(None, Kind.TEXT) if default is None else self.expression(default, depth + 1)
        )
        return types.case(branches, otherwise, self.place(node))

    def _cast(self, node: exp.Expr, depth: int) -> Expr:
        if isinstance(node, exp.AtTimeZone):
            only(node, self.text, "this", "zone")
            moment = self.expression(node.this, depth + 1)
            return at_time_zone(moment, node.args["zone"], self.place(node))
        only(node, self.text, "this", "to", "safe")
        kind, written = calls.target(node.args["to"], self.place(node))
        sizes = [self.expression(size, depth + 1) for size in written]
        operand = self.expression(node.this, depth + 1)
        calls.check_zone(node.args["to"], operand, self.place(node))
        return calls.cast(operand, kind, sizes, self.place(node))

    def _function(self, node: exp.Func, depth: int) -> Expr:
        def bind(part: exp.Expr) -> Expr:
            return self.expression(part, depth + 1)

        where = self.place(node)
        if isinstance(node, exp.Extract):
            only(node, self.text, "this", "expression")
            where = self.place(node.expression)
            return date_call("EXTRACT", [node.this, node.expression], bind, where)
        if (day := clock(node, self.effort.today, where)) is not None:
            return day
        name, arguments = named(node)
        if not name:
            raise self._unknown(node)
        first_name = FUNCTIONS[name].name
        if first_name in DATE_CALLS:
            return date_call(name, arguments, bind, where)
        if (meant := respelled(first_name, arguments, where)) is not None:
            meant.parent = node.parent
            return bind(meant)
        made = call(name, [bind(part) for part in arguments], where)
        self.effort.spend_states(made, node, self.text)
        return made

    def _unknown(self, node: exp.Func) -> StatementError:
        """The error for a function outside the list: SQL's are unsupported, others unknown."""
        if not isinstance(node, exp.Anonymous):
            operator = isinstance(node, exp.Binary)  # such as ->, which has no name to read
            name = node_name(node) if operator else written_name(node, self.text)
            message = f"{name} is not supported"
            hint = _INSTEAD.get(type(node), _USUAL)
            return Unsupported(message, hint=hint, place=self.place(node))
        name = str(node.this)
        meant = _INSTEAD_OF_NAME.get(name.upper())
        hint = meant or did_you_mean(name, self.function_names) or _USUAL
        return UnknownName(f"no function {name} here", hint=hint, place=self.place(node))
