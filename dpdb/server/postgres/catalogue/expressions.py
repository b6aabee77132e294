"""Expressions of statements about the catalogue, bound to the tables in scope.

What is not understood is refused while it is bound. Bound expressions are total: a text that is no
number, beside a number, is NULL.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from sqlglot import exp

from dpdb.policy.catalog import Kind
from dpdb.server.postgres.catalogue.functions import FUNCTIONS, Names, arguments, name_of
from dpdb.server.postgres.catalogue.operations import cast, matcher
from dpdb.server.postgres.catalogue.parts import (
    LONGEST_NUMBER,
    NULL,
    Bound,
    Env,
    Query,
    Work,
    alike,
    calculated,
    common,
    compared,
    in_kind,
    listed,
    member,
    minus,
    negated,
    read_as,
    refused,
    shown,
    whole,
)
from dpdb.server.postgres.catalogue.scopes import Scope, fold_of
from dpdb.server.postgres.protocol import Refusal
from dpdb.server.postgres.statements import ParameterKind

_COMPARE: dict[type[exp.Expr], Callable[[Any, Any], Any]] = {
    exp.EQ: operator.eq,
    exp.NEQ: operator.ne,
    exp.GT: operator.gt,
    exp.GTE: operator.ge,
    exp.LT: operator.lt,
    exp.LTE: operator.le,
}
_NUMBERS = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.BitwiseAnd, exp.BitwiseOr)
_MATCHES = (exp.Like, exp.ILike, exp.RegexpLike, exp.RegexpILike, exp.Operator, exp.Escape)


class Expressions:
    """Binds the expressions of one statement."""

    def __init__(
        self,
        names: Names,
        kinds: Sequence[ParameterKind],
        values: Sequence[Any],
        work: Work,
        query: Callable[[exp.Expr, Scope | None], Query],
    ):
        """`kinds` and `values` are of the parameters; `query` binds a subquery."""
        self._names, self._kinds, self._values = names, kinds, values
        self._work, self._query = work, query

    def bind(self, node: exp.Expr, scope: Scope) -> Bound:  # noqa: PLR0912 (a case for each node)
        """The expression; raises Refusal."""
        match node:
            case exp.Literal():
                return _literal(node)
            case exp.Null() | exp.Boolean():
                return (
                    NULL if isinstance(node, exp.Null) else _constant(Kind.BOOLEAN, bool(node.this))
                )
            case exp.ByteString():
                return _constant(Kind.TEXT, node.name.replace("\\n", "\n"))
            case exp.Column():
                return self._column(node, scope)
            case exp.Parameter() | exp.Placeholder():
                return self._parameter(node)
            case exp.Paren() | exp.Collate() | exp.Alias():
                return self.bind(node.this, scope)
            case exp.And() | exp.Or():
                return self._both(node, scope)
            case exp.Not():
                inner = self.truth(node.this, scope)
                return Bound(Kind.BOOLEAN, lambda env: negated(inner(env)))
            case exp.Neg():
                number = self.bind(node.this, scope)
                return Bound(number.kind, lambda env: minus(number.value(env)))
            case exp.Is() | exp.NullSafeEQ() | exp.NullSafeNEQ():
                return self._same(node, scope)
            case exp.In():
                inside = node.args.get("query") or exp.Array(expressions=node.expressions)
                return self._quantified(node.this, inside, operator.eq, scope, every=False)
            case exp.Exists():
                query = self._query(node.this, scope)
                return Bound(Kind.BOOLEAN, lambda env: bool(query.rows(env)))
            case exp.Subquery() | exp.Select() | exp.SetOperation():
                return self._scalar(node, scope)
            case exp.Array():
                members = self._members(node, scope)
                return Bound(Kind.TEXT, lambda env: tuple(members(env)))
            case exp.Bracket(expressions=[place]):
                array, at = self.bind(node.this, scope).value, self.bind(place, scope).value
                first = 0 if isinstance(place.unnest(), exp.Literal) else 1
                return Bound(Kind.TEXT, lambda env: member(array(env), at(env), first))
            case exp.Case():
                return self._case(node, scope)
            case exp.Coalesce() | exp.Greatest() | exp.Least():
                return self._first(node, scope)
            case exp.Nullif():
                value, other = self._alike(node.this, node.expression, scope)
                kept = self.bind(node.this, scope)
                return Bound(
                    kept.kind, lambda env: None if value(env) == other(env) else kept.value(env)
                )
            case exp.Cast():
                return cast(node, self.bind(node.this, scope), self._names)
            case exp.Between():
                low = exp.GTE(this=node.this, expression=node.args["low"])
                high = exp.LTE(this=node.this, expression=node.args["high"])
                return self._both(exp.And(this=low, expression=high), scope)
            case exp.Dot() if isinstance(node.expression, exp.Func):
                return self.bind(node.expression, scope)
            case exp.DPipe():
                return self._concatenated(node, scope)
            case exp.AggFunc() | exp.Filter() | exp.Window():
                return scope.folded(
                    lambda inside: fold_of(node, lambda part: self.bind(part, inside), self._work)
                )
        if isinstance(node, _MATCHES):
            return matcher(node, lambda part: self.bind(part, scope), self._work)
        if isinstance(node, exp.Binary) and type(node) in _COMPARE:
            return self._compared(node, scope)
        if isinstance(node, _NUMBERS):
            return self._calculated(node, scope)
        return self._called(node, scope)

    def _column(self, node: exp.Column, scope: Scope) -> Bound:
        name = node.name.lower()
        found = scope.column(node.table.lower(), name)
        if found is not None:
            return found
        if not node.table and name == "user":
            return Bound(Kind.TEXT, lambda _: self._names.user)
        raise Refusal("42703", f"no column {name[:63]} in this part of the catalogue")

    def _parameter(self, node: exp.Expr) -> Bound:
        place = int(node.name) - 1
        if not 0 <= place < len(self._kinds):
            raise Refusal("42P02", f"there is no parameter ${place + 1}")
        kind = of if isinstance(of := self._kinds[place], Kind) else Kind.TEXT

        def value(_: Env) -> Any:  # noqa: ANN401
            given = self._values[place]
            plain = next(iter(given.values())) if isinstance(given, dict) else given
            return read_as(plain, kind)

        return Bound(kind, value)

    def truth(self, node: exp.Expr, scope: Scope) -> Callable[[Env], bool | None]:
        """A condition; raises Refusal."""
        bound = self.bind(node, scope)
        if bound.kind is Kind.BOOLEAN:
            return bound.value
        return lambda env: read_as(bound.value(env), Kind.BOOLEAN)

    def _both(self, node: exp.And | exp.Or, scope: Scope) -> Bound:
        decisive = isinstance(node, exp.Or)
        parts = [self.truth(each, scope) for each in node.flatten()]

        def value(env: Env) -> bool | None:
            unknown = False
            for part in parts:
                told = part(env)
                if told is decisive:
                    return decisive
                unknown |= told is None
            return None if unknown else not decisive

        return Bound(Kind.BOOLEAN, value)

    def _alike(
        self, left: exp.Expr, right: exp.Expr, scope: Scope
    ) -> tuple[Callable[[Env], Any], Callable[[Env], Any]]:
        """Two values in one kind: a text beside another kind is read as that."""
        return alike(self.bind(left, scope), self.bind(right, scope))

    def _same(self, node: exp.Binary, scope: Scope) -> Bound:
        left, right = self._alike(node.left, node.right, scope)
        negative = isinstance(node, exp.NullSafeNEQ) or bool(node.args.get("negate"))
        return Bound(Kind.BOOLEAN, lambda env: (left(env) == right(env)) is not negative)

    def _compared(self, node: exp.Binary, scope: Scope) -> Bound:
        compare, right = _COMPARE[type(node)], node.right
        every = name_of(right) == "all" or isinstance(right, exp.All)
        if every or isinstance(right, exp.Any):
            inside = right.expressions[0] if isinstance(right, exp.Anonymous) else right.this
            return self._quantified(node.left, inside.unnest(), compare, scope, every=every)
        first, second = self._alike(node.left, right, scope)
        return Bound(Kind.BOOLEAN, lambda env: compared(compare, first(env), second(env)))

    def _quantified(
        self,
        left: exp.Expr,
        inside: exp.Expr,
        compare: Callable[[Any, Any], Any],
        scope: Scope,
        *,
        every: bool,
    ) -> Bound:
        value, members = self.bind(left, scope), self._members(inside, scope)

        def told(env: Env) -> bool | None:
            own = value.value(env)
            found = members(env)
            self._work.spend(len(found))
            results = [
                compared(
                    compare, own, each if type(each) is type(own) else read_as(each, value.kind)
                )
                for each in found
            ]
            if (not every) in results:
                return not every
            return None if None in results else every

        return Bound(Kind.BOOLEAN, told)

    def _members(self, node: exp.Expr, scope: Scope) -> Callable[[Env], Sequence[Any]]:
        """The members of an array, or the values of a subquery's first column."""
        query = node.expressions[0] if isinstance(node, exp.Array) and node.expressions else node
        if isinstance(query, exp.Subquery | exp.Select | exp.SetOperation):
            rows = self._query(query, scope).rows
            return lambda env: [row[0] for row in rows(env)]
        if isinstance(node, exp.Array):
            parts = [self.bind(each, scope).value for each in node.expressions]
            return lambda env: [part(env) for part in parts]
        array = self.bind(node, scope).value
        return lambda env: listed(array(env))

    def _scalar(self, node: exp.Expr, scope: Scope) -> Bound:
        query = self._query(node, scope)

        def value(env: Env) -> Any:  # noqa: ANN401
            rows = query.rows(env)
            return rows[0][0] if rows else None

        return Bound(query.columns[0][1], value)

    def _case(self, node: exp.Case, scope: Scope) -> Bound:
        subject = node.this
        tests, results = list[Callable[[Env], Any]](), list[Bound]()
        for each in node.args["ifs"]:
            test = each.this if subject is None else exp.EQ(this=subject, expression=each.this)
            tests.append(self.truth(test, scope))
            results.append(self.bind(each.args["true"], scope))
        default = node.args.get("default")
        otherwise = NULL if default is None else self.bind(default, scope)
        kind = common([*results, otherwise])

        def value(env: Env) -> Any:  # noqa: ANN401
            pairs = zip(tests, results, strict=True)
            chosen = next((result for test, result in pairs if test(env) is True), otherwise)
            return in_kind(chosen, kind)(env)

        return Bound(kind, value)

    def _first(self, node: exp.Expr, scope: Scope) -> Bound:
        bound = [self.bind(each, scope) for each in (node.this, *node.expressions)]
        kind = common(bound)
        parts = [in_kind(each, kind) for each in bound]

        def present(env: Env) -> Iterator[Any]:
            return (told for part in parts if (told := part(env)) is not None)

        match node:
            case exp.Greatest():
                return Bound(kind, lambda env: max(present(env), default=None))
            case exp.Least():
                return Bound(kind, lambda env: min(present(env), default=None))
        return Bound(kind, lambda env: next(present(env), None))

    def _concatenated(self, node: exp.DPipe, scope: Scope) -> Bound:
        parts = [self.bind(each, scope).value for each in node.flatten()]

        def value(env: Env) -> str | None:
            told = [part(env) for part in parts]
            return None if None in told else self._work.joined(map(shown, told))

        return Bound(Kind.TEXT, value)

    def _calculated(self, node: exp.Expr, scope: Scope) -> Bound:
        parts = [self.bind(each, scope) for each in (node.this, node.expression)]
        kind = Kind.NUMBER if any(p.kind is Kind.NUMBER for p in parts) else Kind.INTEGER
        left, right = (in_kind(part, kind) for part in parts)

        def value(env: Env) -> int | float | None:
            first, second = left(env), right(env)
            return None if first is None or second is None else calculated(node, first, second)

        return Bound(kind, value)

    def _called(self, node: exp.Expr, scope: Scope) -> Bound:
        function = FUNCTIONS.get(name_of(node))
        if function is None:
            raise refused(node)
        given = [self.bind(each, scope).value for each in arguments(node)]
        call, names, work, is_strict = function.call, self._names, self._work, function.is_strict

        def value(env: Env) -> Any:  # noqa: ANN401
            told = [each(env) for each in given]
            return None if is_strict and None in told else call(names, work, *told)

        return Bound(function.kind, value)


def _constant(kind: Kind, value: object) -> Bound:
    return Bound(kind, lambda _: value)


def _literal(node: exp.Literal) -> Bound:
    text = node.name
    if node.is_string:
        return _constant(Kind.TEXT, text)
    if len(text) > LONGEST_NUMBER:
        raise Refusal("22003", "a number of the catalogue is too long")
    if text.isdecimal():
        return _constant(Kind.INTEGER, whole(int(text)))
    return _constant(Kind.NUMBER, read_as(text, Kind.NUMBER))
