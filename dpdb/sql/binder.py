"""The binder: the text of a SELECT into a Query, by an allow-list.

Whatever this room does not name is refused, with its place in the text. Neither the text nor
sqlglot's trees go any further.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from sqlglot import exp
from sqlglot.errors import ParseError
from sqlglot.tokenizer_core import Token

from dpdb.errors import (
    Place,
    SyntaxFault,
    TooLarge,
    TypeMismatch,
    UnknownName,
    Unsupported,
)
from dpdb.plan.expressions import Expr, Literal, Slot, columns_of, conjunction, interval_ends
from dpdb.plan.query import NO_OPTIONS, Options, Ordering, Output, Query
from dpdb.policy.catalog import Policy
from dpdb.sql import sources
from dpdb.sql.dialect import parse, select_start
from dpdb.sql.distinct import check_distinct, distinct_keys
from dpdb.sql.labels import labels
from dpdb.sql.scopes import MAX_OUTPUTS, AnswerExpressions, Constants, RowExpressions
from dpdb.sql.terms import Option, agreed, with_key_terms
from dpdb.sql.trees import Effort, only, place, place_at, start
from dpdb.sql.views import Scope, View


def bind(
    tokens: list[Token],
    text: str,
    policy: Policy,
    options: Options = NO_OPTIONS,
    terms: tuple[Option, ...] = (),
) -> Query:
    """The query that these tokens of `text`, a single SELECT, ask of the policy's tables."""
    try:
        trees = parse(tokens, text)
    except ParseError as error:
        raise _syntax_fault(error) from None
    except RecursionError:
        raise TooLarge("the statement is nested too deeply") from None
    except Exception:
        raise SyntaxFault("this is not valid SQL") from None
    if len(trees) != 1 or not isinstance(trees[0], exp.Select):
        raise Unsupported("only a single SELECT is answered")
    return Binder(text, policy, tokens).query(trees[0], options, terms)


def _syntax_fault(error: ParseError) -> SyntaxFault:
    """sqlglot's complaint as ours: the word it stumbled over and its place."""
    details = error.errors[0] if error.errors else {}
    word = str(details.get("highlight") or "")
    line, end = details.get("line"), details.get("col")
    where = Place(line, max(1, end - len(word) + 1)) if line and end is not None else None
    return SyntaxFault(f"this is not valid SQL near '{word}'" if word else
                       "this is not valid SQL: it ends too soon", place=where)  # fmt: skip


@dataclass
class Binder:
    """Binds one SELECT; a SELECT within it gets a binder of its own."""

    text: str
    policy: Policy
    tokens: list[Token]
    """The tokens of the whole statement."""
    effort: Effort = field(default_factory=Effort)
    """The number of expressions read so far in the whole statement."""
    views: Mapping[str, View] = field(default_factory=dict)
    """The tables that WITH names here."""
    subqueries: list[Query] = field(default_factory=list)
    """The different scalar subqueries read so far in this SELECT."""

    def query(
        self, tree: exp.Select, options: Options = NO_OPTIONS, terms: tuple[Option, ...] = ()
    ) -> Query:
        """The SELECT as a Query."""
        only(tree, self.text, "expressions", "from_", "where", "group", "having", "order",
             "limit", "offset", "with_", "distinct")  # fmt: skip
        written = self.labels(tree)
        self.views = sources.with_views(tree, self)
        scope = sources.scope(tree, self)
        grouped = bool(tree.args.get("group") or tree.args.get("distinct"))
        table = agreed(terms, scope.view.table, grouped=grouped)
        scope = replace(scope, view=replace(scope.view, table=table))
        rows = RowExpressions(self, scope)
        where = tree.args.get("where")
        keys = self._keys(tree, scope, rows) or distinct_keys(tree, rows)
        condition = conjunction(scope.where, rows.condition(where.this) if where else None)
        answers = AnswerExpressions(self, rows, scope, keys)
        outputs = self._outputs(tree, answers, written)
        check_distinct(tree, keys, outputs)
        having = tree.args.get("having")
        query = Query(
            table=scope.view.table,
            outputs=outputs,
            where=condition,
            keys=keys,
            having=answers.condition(having.this) if having else None,
            order=tuple(self._orderings(tree, answers, outputs)),
            limit=self._count(tree.args.get("limit")),
            offset=self._count(tree.args.get("offset")) or 0,
            aggregates=tuple(answers.aggregates),
            subqueries=tuple(self.subqueries),
            options=options,
        )
        if not (query.aggregates or query.keys):
            raise Unsupported(
                "a query needs an aggregate such as COUNT(*), or a GROUP BY",
                hint="single rows are never shown",
            )
        return with_key_terms(query, terms)

    def subquery(self, node: exp.Subquery) -> Slot:
        """The slot of a scalar subquery, which is a constant to the query around it."""
        only(node, self.text, "this")
        if not isinstance(node.this, exp.Select):
            raise Unsupported("only a SELECT can be a subquery", place=place(node, self.text))
        query = self.within().query(node.this)
        one = len(query.outputs) == 1 and not interval_ends(query.outputs[0].expression)
        if not one or query.keys or query.having or query.cut:
            raise Unsupported(
                "a subquery gives one value: one aggregate, no GROUP BY, HAVING or LIMIT",
                place=place(node, self.text),
            )
        if query not in self.subqueries:
            self.subqueries.append(query)
        kind = query.outputs[0].expression.kind
        return Slot("subquery", self.subqueries.index(query), kind)

    def index_of(self, query: Query, node: exp.Expr) -> int:
        """The number of a view's subquery among those of the SELECT, which reads it at `node`."""
        if query not in self.subqueries:
            self.effort.spend(query.size, node, self.text)
            self.effort.spend_subqueries(query.selects, node, self.text)
            self.subqueries.append(query)
        return self.subqueries.index(query)

    def within(self) -> Binder:
        """A binder for a SELECT within this one, which sees the same tables."""
        return Binder(self.text, self.policy, self.tokens, self.effort, self.views)

    def labels(self, tree: exp.Select) -> list[str]:
        """The items of the SELECT list as written; refused if one is missing."""
        first, source = select_start(tree), tree.args.get("from_") or tree
        if first is None or 0 <= start(source) < first:
            raise Unsupported("a subquery begins with SELECT", place=place(source, self.text))
        written = labels([token for token in self.tokens if token.start >= first])
        if not all(written) or len(written) != len(tree.expressions):
            raise SyntaxFault(
                "an expression is missing between SELECT and FROM",
                place=place_at(first, self.text),
            )
        return written

    def check_items(self, tree: exp.Select) -> None:
        """Refuse a SELECT list in which something is missing, or which is too long."""
        self.labels(tree)
        self._check_number(tree.expressions, "columns asked for")

    def _keys(self, tree: exp.Select, scope: Scope, rows: RowExpressions) -> tuple[Expr, ...]:
        """The columns and expressions of GROUP BY, each once."""
        group = tree.args.get("group")
        if group is None:
            return ()
        only(group, self.text, "expressions")
        self._check_number(group.expressions, "keys")
        keys: dict[Expr, None] = {}
        for node in group.expressions:
            chosen = self._by_position(node.unnest(), tree.expressions)
            if isinstance(chosen, exp.Column) and not scope.has(chosen.name):
                chosen = self._by_alias(chosen, tree.expressions)
            chosen = chosen.this if isinstance(chosen, exp.Alias) else chosen
            key = rows.expression(chosen)
            if not columns_of(key):
                raise Unsupported(
                    "GROUP BY takes columns and expressions of columns",
                    place=place(node, self.text),
                )
            keys[key] = None
        return tuple(keys)

    def _by_alias(self, node: exp.Column, items: list[exp.Expr]) -> exp.Expr:
        """The item of the SELECT list whose alias is the name; otherwise the node itself."""
        name = node.name.casefold()
        return next((item for item in items if item.alias.casefold() == name), node)

    def _by_position(self, node: exp.Expr, items: list[exp.Expr]) -> exp.Expr:
        """The item of the SELECT list that a position stands for; otherwise the node itself."""
        if not (isinstance(node, exp.Literal) and not node.args.get("is_string")):
            return node
        number = str(node.this)
        short = number.isascii() and number.isdigit() and len(number) < 10
        if not (short and 1 <= int(number) <= len(items)):
            raise UnknownName(f"no column {number} in the answer", place=place(node, self.text))
        return items[int(number) - 1]

    def check_position(self, node: exp.Expr, items: list[exp.Expr]) -> bool:
        """Whether the node is the position of an item; refused where there is no such item."""
        return self._by_position(node, items) is not node

    def _outputs(
        self, tree: exp.Select, answers: AnswerExpressions, written: list[str]
    ) -> tuple[Output, ...]:
        items = tree.expressions
        self._check_number(items, "columns asked for")
        outputs = []
        for item, label in zip(items, written, strict=True):
            if isinstance(item, exp.Star):
                raise Unsupported(
                    "SELECT * is not supported",
                    hint="single rows are never shown; try SELECT COUNT(*)",
                    place=place(item, self.text),
                )
            if isinstance(item, exp.Alias):
                only(item, self.text, "this", "alias")
                expression = answers.expression(item.this)
                answers.aliases.setdefault(item.alias.casefold(), expression)
                outputs.append(Output(item.alias, expression))
            else:
                outputs.append(Output(label, answers.expression(item)))
        return tuple(outputs)

    def _orderings(
        self, tree: exp.Select, answers: AnswerExpressions, outputs: tuple[Output, ...]
    ) -> list[Ordering]:
        order = tree.args.get("order")
        if order is None:
            return []
        only(order, self.text, "expressions")
        self._check_number(order.expressions, "terms of ORDER BY")
        result = []
        for term in order.expressions:
            only(term, self.text, "this", "desc", "nulls_first")
            chosen = self._by_position(term.this, tree.expressions)
            if chosen is term.this:
                expression = answers.ordering(chosen)
            else:
                expression = outputs[int(str(term.this.this)) - 1].expression
            descending = bool(term.args.get("desc"))
            result.append(Ordering(expression, descending, bool(term.args.get("nulls_first"))))
        return result

    def _check_number(self, items: list[exp.Expr], what: str) -> None:
        if len(items) > MAX_OUTPUTS:
            raise TooLarge(
                f"{len(items)} {what}, {MAX_OUTPUTS} are allowed", place=place(items[0], self.text)
            )

    def _count(self, node: exp.Expr | None) -> int | None:
        """The number in LIMIT or OFFSET."""
        if node is None:
            return None
        only(node, self.text, "expression")
        value = Constants(self.text, self.effort).expression(node.expression)
        if not (isinstance(value, Literal) and type(value.value) is int and value.value >= 0):
            raise TypeMismatch("a whole number is needed here", place=place(node, self.text))
        return value.value
