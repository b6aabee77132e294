"""PIVOT and SUMMARIZE, written out as the tokens of SELECTs.

`SUMMARIZE t` is a SELECT for each number with bounds, joined by UNION ALL.

`PIVOT t ON y USING SUM(x) GROUP BY z` is `SELECT z, SUM(x) FILTER (WHERE y = 'a') AS a, … FROM t
GROUP BY z`, with a column for each declared value of y. The filters exclude each other, so each
column has all of ε. `FROM t PIVOT (SUM(x) FOR y IN ('a', 'b'))` reads that SELECT in parentheses.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from fractions import Fraction
from itertools import count, takewhile

from sqlglot.tokenizer_core import Token, TokenType

from dpdb.errors import SyntaxFault, TooLarge, Unsupported
from dpdb.plan.expressions.expressions import ColumnRef
from dpdb.plan.ranges.group_keys import key_values
from dpdb.policy.catalog import Kind, Policy, Table, Value
from dpdb.policy.names import quoted, quoted_text
from dpdb.policy.names import written as written_name
from dpdb.policy.numbers import decimal
from dpdb.policy.timestamps import iso_text
from dpdb.records import dataclass
from dpdb.sql.syntax.literals import DEPTHS, between_commas
from dpdb.sql.syntax.trees import place_at
from dpdb.sql.text.dialect import tokenize
from dpdb.sql.text.placeholders import check_constants
from dpdb.sql.text.tokens import MAX_SELECTS, MAX_TOKENS, written


def written_out(tokens: list[Token], text: str, policy: Policy) -> list[Token]:
    """The tokens of a statement, with PIVOT and SUMMARIZE written out."""
    pivots = Pivots(text, policy, count(len(text)))
    if tokens and tokens[0].text.upper() == "SUMMARIZE":
        result = pivots.said(summary(tokens, text, policy))
    else:
        result = pivots.written_out(tokens)
    if result is tokens:  # their number was checked when they were read
        return tokens
    selects = sum(token.token_type is TokenType.SELECT for token in result)
    if len(result) > MAX_TOKENS or selects > MAX_SELECTS:
        raise TooLarge(
            f"{len(result)} tokens and {selects} SELECTs written out, {MAX_TOKENS} and"
            f" {MAX_SELECTS} are allowed",
            place=place_at(tokens[0].start, text),
        )
    return result


def summary(tokens: list[Token], text: str, policy: Policy) -> str:
    """The SELECT that SUMMARIZE is short for."""
    here = tokens[0]
    table = policy.table(tokens[1].text) if len(tokens) == 2 else None
    if table is None:
        raise Unsupported(
            "SUMMARIZE takes the name of a table",
            hint="SHOW TABLES lists the tables",
            place=place_at(tokens[1].start if tokens[1:] else here.start, text),
        )
    numbers = [
        each.name
        for each in table.columns
        if each.kind in (Kind.INTEGER, Kind.NUMBER) and each.bounds and each.values is None
    ]
    if not 0 < len(numbers) <= MAX_SELECTS:
        raise Unsupported(
            f"{table.name} has {len(numbers)} numbers with bounds, 1 to {MAX_SELECTS} are needed",
            hint="SELECT AVG(x, 0, 100), STDDEV(x, 0, 100) FROM t gives the bounds of one",
            place=place_at(here.start, text),
        )
    return " UNION ALL ".join(_summary(name, table.name) for name in numbers)


def _summary(column: str, table: str) -> str:
    name = written_name(column)
    quartiles = ", ".join(
        f"QUANTILE_CONT({name}, {q}) AS q{q * 100:.0f}" for q in (0.25, 0.5, 0.75)
    )
    return (  # It is shown, and read as tokens.
        f"SELECT {quoted_text(column)} AS name, COUNT({name}) AS count, AVG({name}) AS mean,"  # noqa: S608
        f" STDDEV({name}) AS deviation, {quartiles} FROM {written_name(table)}"
    )


MAX_PIVOTED = 100
"""The most values that a PIVOT makes columns of."""
_CLAUSES = (
    TokenType.ON, TokenType.USING, TokenType.GROUP_BY, TokenType.ORDER_BY, TokenType.LIMIT,
)  # fmt: skip
_BEFORE_TABLES = {TokenType.FROM, TokenType.JOIN, TokenType.COMMA}
_TYPES = ("DATE", "TIMESTAMP")
Tokens = list[Token]
Behind = Iterator[int]
"""Places behind the text, for tokens that nobody wrote."""


@dataclass(frozen=True)
class Pivots:
    """Writes out each PIVOT of a statement's text."""

    text: str
    policy: Policy
    behind: Behind

    def written_out(self, tokens: Tokens) -> Tokens:
        """The tokens of a statement, or of a part of one, without PIVOT."""
        if not any(token.token_type is TokenType.PIVOT for token in tokens):
            return tokens
        if tokens[0].token_type is TokenType.PIVOT:
            clauses = _clauses(tokens, _CLAUSES)
            if TokenType.ON in clauses and TokenType.USING in clauses:
                return self._statement(tokens[0], clauses)
        kept: Tokens = []
        at = 0
        while at < len(tokens):
            inside = _inside(tokens, at)
            at += 1
            if not inside:
                kept.append(tokens[at - 1])
            elif kept and kept[-1].token_type is TokenType.PIVOT:
                kept = self._factor(kept, inside)
                at += len(inside) + 1
            else:
                kept += [tokens[at - 1], *self.written_out(inside)]
                at += len(inside)
        return kept

    def _statement(self, here: Token, clauses: dict[TokenType | None, Tokens]) -> Tokens:
        column, calls, groups = (clauses.get(key, [])[1:] for key in _CLAUSES[:3])
        ending = [token for key in _CLAUSES[3:] for token in clauses.get(key, [])]
        source = clauses[None][1:]
        if not (source and column and calls) or (TokenType.GROUP_BY in clauses and not groups):
            raise SyntaxFault(
                "PIVOT takes a table, ON, USING and GROUP BY",
                hint="PIVOT t ON y USING SUM(x) GROUP BY z",
                place=place_at(here.start, self.text),
            )
        return [*self._select(here, source, column, calls, groups), *ending]

    def _factor(self, before: Tokens, inside: Tokens) -> Tokens:
        """The tokens before PIVOT (…), with the SELECT of the PIVOT in place of its table."""
        pivot = before[-1]
        first = len(before) - 1
        depth = 0
        while first and (depth or before[first - 1].token_type not in _BEFORE_TABLES):
            first -= 1
            kind = before[first].token_type
            depth -= DEPTHS.get(kind, 0)
        calls, column, groups = _for(inside)
        source = before[first:-1]
        if not (source and column and calls):
            raise SyntaxFault(
                "PIVOT takes aggregates, FOR and IN",
                hint="SELECT * FROM t PIVOT (SUM(x) FOR y IN ('a', 'b') GROUP BY z)",
                place=place_at(pivot.start, self.text),
            )
        select = self._select(pivot, source, column, calls, groups)
        return [*before[:first], *self.said("("), *select, *self.said(")")]

    def _select(
        self, here: Token, source: Tokens, column: Tokens, calls: Tokens, groups: Tokens
    ) -> Tokens:
        listed = _index(column, TokenType.IN)
        groups = groups or self._others(here, source, [*column[:listed], *calls])
        source = self.written_out(source)
        if listed is None:
            declared = self._declared(source, column)
            constants = [self.said(_constant(value, kind)) for value, kind in declared]
        else:
            column, constants = column[:listed], _items(column[listed + 2 : -1])
        values = [_named(each) for each in constants]
        if len(values) > MAX_PIVOTED:
            where = place_at(column[0].start, self.text)
            raise TooLarge(f"{len(values)} values, {MAX_PIVOTED} are allowed", place=where)
        check_constants([*calls, *(each for value in constants for each in value)], self.text)
        aggregates, items = [_named(call) for call in _items(calls)], [groups] if groups else []
        for value, value_name in values:
            said = "".join(each.text for each in value if each.text not in _TYPES)
            for call, name in aggregates:
                label = value_name or said
                label += f"_{name or written(call)}" if name or len(aggregates) > 1 else ""
                start, end = self.said("FILTER (WHERE"), self.said(f") AS {quoted(label)}")
                items.append([*call, *start, *column, *self.said("="), *value, *end])
        listed_items = [token for item in items for token in (*self.said(","), *item)][1:]
        grouped = [*self.said("GROUP BY"), *groups] if groups else []
        return [*self.said("SELECT"), *listed_items, *self.said("FROM"), *source, *grouped]

    def _others(self, here: Token, source: Tokens, used: Tokens) -> Tokens:
        """The columns that a PIVOT does not name; a table's have values by the policy."""
        named = {token.text.casefold() for token in used}
        if (selected := _selected(source)) is not None:
            left = (each for each in selected if each.text.casefold() not in named)
            return self.said(", ".join(quoted(each.text) for each in left))
        table = _table(source, self.policy)
        if table is None:
            raise Unsupported(
                "the columns of this table are not known before it is read",
                hint="GROUP BY names the rows: PIVOT t ON y USING SUM(x) GROUP BY z; or"
                " SELECT * FROM t PIVOT (SUM(x) FOR y IN ('a', 'b') GROUP BY z)",
                place=place_at(here.start, self.text),
            )
        others = [each for each in table.columns if each.name.casefold() not in named]
        known = []
        for each in others:
            with suppress(Unsupported):
                key_values(ColumnRef(each), None, {})
                known.append(each)
        if known != others:
            unknown = ", ".join(each.name for each in others if each not in known)
            names = ", ".join(written_name(each.name) for each in known) or "z"
            raise Unsupported(
                f"without GROUP BY a PIVOT has a row for each {unknown}, whose values the policy"
                " does not declare",
                hint=f"name the rows: GROUP BY {names}",
                place=place_at(here.start, self.text),
            )
        return self.said(", ".join(written_name(each.name) for each in others))

    def _declared(self, source: Tokens, column: Tokens) -> Iterator[tuple[Value, Kind]]:
        """The values of the column by the policy."""
        table = _table(source, self.policy)
        known = table.column(column[0].text) if table and len(column) == 1 else None
        if known is None:
            raise Unsupported(
                "the policy does not say which values ON has",
                hint="PIVOT t ON y IN ('a', 'b') USING SUM(x) GROUP BY z lists them",
                place=place_at(column[0].start, self.text),
            )
        yield from ((value, known.kind) for value in key_values(ColumnRef(known), None, {}))

    def said(self, words: str) -> Tokens:
        """Words as tokens, each at a place of its own behind the text."""
        return [
            Token(token.token_type, token.text, token.line, token.col, place, place, [])
            for token, place in zip(tokenize(words), self.behind, strict=False)
        ]


def _inside(tokens: Tokens, at: int) -> Tokens:
    """The tokens between the parenthesis at this place and its partner; none for another token."""
    depth = 0
    for end in range(at, len(tokens)):
        kind = tokens[end].token_type
        depth += (kind is TokenType.L_PAREN) - (kind is TokenType.R_PAREN)
        if depth <= 0:
            return tokens[at + 1 : end]
    return []


def _selected(source: Tokens) -> Tokens | None:
    """The names of the columns of `(SELECT a, t.b, x + 1 AS c FROM …)`; None for another source."""
    start = [token.token_type for token in source[:2]]
    if start != [TokenType.L_PAREN, TokenType.SELECT]:
        return None
    clauses = _clauses(source[2:], (TokenType.FROM,))
    names = [item[-1] for item in _items(clauses[None])]
    plain = (TokenType.VAR, TokenType.IDENTIFIER)
    return names if all(each.token_type in plain for each in names) else None


def _for(tokens: Tokens) -> tuple[Tokens, Tokens, Tokens]:
    """The aggregates, `y IN (…)` and the groups of `SUM(x) FOR y IN (…) GROUP BY z`."""
    clauses = _clauses(tokens, (TokenType.FOR, TokenType.GROUP_BY))
    column, groups = (clauses.get(key, [])[1:] for key in (TokenType.FOR, TokenType.GROUP_BY))
    is_listed = _index(column, TokenType.IN) is not None
    return clauses[None] if tokens else [], column if is_listed else [], groups


def _index(tokens: Tokens, kind: TokenType) -> int | None:
    before = list(takewhile(lambda token: token.token_type is not kind, tokens))
    return len(before) if len(before) < len(tokens) else None


def _clauses(tokens: Tokens, words: Sequence[TokenType]) -> dict[TokenType | None, Tokens]:
    """The tokens of each clause from its word on; those before the first clause under None."""
    clauses: dict[TokenType | None, Tokens] = {None: []}
    key, depth = None, 0
    for token in tokens:
        if not depth and token.token_type in words:
            key = token.token_type
        clauses.setdefault(key, []).append(token)
        depth += DEPTHS.get(token.token_type, 0)
    return clauses


def _items(tokens: Sequence[Token]) -> list[Tokens]:
    """The items between commas."""
    return [item for item in between_commas(tokens) if item]


def _named(item: Tokens) -> tuple[Tokens, str | None]:
    """An aggregate or a value, and its name behind AS."""
    kinds = [token.token_type for token in item[-2:]]
    return (item[:-2], item[-1].text) if kinds[:1] == [TokenType.ALIAS] else (item, None)


def _table(tokens: Sequence[Token], policy: Policy) -> Table | None:
    return policy.table(tokens[0].text) if len(tokens) == 1 else None


def _constant(value: Value, kind: Kind) -> str:
    """A value as SQL writes it."""
    if kind is Kind.BOOLEAN:
        return str(value).upper()
    if kind.temporal:
        return f"{kind.upper()} {quoted_text(iso_text(int(value), kind))}"
    return quoted_text(value) if isinstance(value, str) else decimal(Fraction(value), 15)
