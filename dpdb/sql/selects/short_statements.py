"""PIVOT and SUMMARIZE, written out as the tokens of SELECTs.

`PIVOT t ON y USING SUM(x) GROUP BY z` is `SELECT z, SUM(x) FILTER (WHERE y = 'a') AS a, … FROM t
GROUP BY z`, with a column for each declared value of y. The filters exclude each other, so each
column has all of ε. `SUMMARIZE t` is a SELECT for each number with bounds, joined by UNION ALL.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import count

from sqlglot.tokenizer_core import Token, TokenType

from dpdb.errors import SyntaxFault, TooLarge, Unsupported
from dpdb.plan.expressions.expressions import ColumnRef
from dpdb.plan.ranges.group_keys import key_values
from dpdb.policy.catalog import Kind, Policy, Table, Value
from dpdb.policy.names import quoted, quoted_text
from dpdb.policy.names import written as written_name
from dpdb.policy.numbers import decimal
from dpdb.policy.timestamps import iso_text
from dpdb.sql.syntax.literals import like
from dpdb.sql.syntax.trees import place_at
from dpdb.sql.text.dialect import tokenize
from dpdb.sql.text.placeholders import check_constants
from dpdb.sql.text.tokens import MAX_SELECTS, MAX_TOKENS, written

MAX_PIVOTED = 100
"""The most values that a PIVOT makes columns of."""
_CLAUSES = (
    TokenType.ON, TokenType.USING, TokenType.GROUP_BY, TokenType.ORDER_BY, TokenType.LIMIT,
)  # fmt: skip
_OPENING = {TokenType.L_PAREN, TokenType.L_BRACKET}
_CLOSING = {TokenType.R_PAREN, TokenType.R_BRACKET}
_TYPES = ("DATE", "TIMESTAMP")
Tokens = list[Token]


def written_out(tokens: Tokens, text: str, policy: Policy) -> Tokens:
    """The tokens of a statement, with PIVOT and SUMMARIZE written out."""
    match tokens[0].text.upper() if tokens else "":
        case "PIVOT":
            written_out = _pivoted(tokens, text, policy)
        case "SUMMARIZE":
            written_out = _said(summary(tokens, text, policy), count(len(text)))
        case _:
            return tokens
    if len(written_out) > MAX_TOKENS:
        raise TooLarge(
            f"{len(written_out)} tokens written out, {MAX_TOKENS} are allowed",
            place=place_at(tokens[0].start, text),
        )
    return written_out


def _pivoted(tokens: Tokens, text: str, policy: Policy) -> Tokens:
    behind, clauses = count(len(text)), _clauses(tokens)
    column, calls, groups = (clauses.get(key, [])[1:] for key in _CLAUSES[:3])
    source = clauses[None][1:]
    if not (source and column and calls and groups):
        raise SyntaxFault(
            "PIVOT has ON, USING and GROUP BY",
            hint="GROUP BY names the rows: PIVOT t ON y USING SUM(x) GROUP BY z",
            place=place_at(tokens[0].start, text),
        )
    listed = next((at for at, each in enumerate(column) if each.token_type is TokenType.IN), None)
    if listed is None:
        declared = _declared(source, column, text, policy)
        values = [_said(_constant(value, kind), behind) for value, kind in declared]
    else:
        column, values = column[:listed], _items(column[listed + 2 : -1])
    if len(values) > MAX_PIVOTED:
        where = place_at(column[0].start, text)
        raise TooLarge(f"{len(values)} values, {MAX_PIVOTED} are allowed", place=where)
    check_constants([*calls, *(token for value in values for token in value)], text)
    aggregates, items = [_named(call) for call in _items(calls)], [groups]
    for value in values:
        for call, name in aggregates:
            label = "".join(each.text for each in value if each.text not in _TYPES)
            label += f"_{name or written(call)}" if name or len(aggregates) > 1 else ""
            start = _said("FILTER (WHERE", behind)
            end = _said(f") AS {quoted(label)}", behind)
            items.append([*call, *start, *column, *_said("=", behind), *value, *end])
    rest = [token for key in _CLAUSES[2:] for token in clauses.get(key, [])]
    select = like(tokens[0], TokenType.SELECT, "SELECT")
    return [select, *_listed(items, behind), *_said("FROM", behind), *source, *rest]


def summary(tokens: Tokens, text: str, policy: Policy) -> str:
    """The SELECT that SUMMARIZE is short for."""
    here = tokens[0]
    table = _table(tokens[1:], policy)
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


def _clauses(tokens: Tokens) -> dict[TokenType | None, Tokens]:
    """The tokens of each clause from its word on; those before the first clause under None."""
    clauses: dict[TokenType | None, Tokens] = {}
    key, depth = None, 0
    for token in tokens:
        if not depth and token.token_type in _CLAUSES:
            key = token.token_type
        clauses.setdefault(key, []).append(token)
        depth += (token.token_type in _OPENING) - (token.token_type in _CLOSING)
    return clauses


def _items(tokens: Sequence[Token]) -> list[Tokens]:
    """The items between commas."""
    items: list[Tokens] = [[]]
    depth = 0
    for token in tokens:
        depth += (token.token_type in _OPENING) - (token.token_type in _CLOSING)
        if token.token_type is TokenType.COMMA and not depth:
            items.append([])
        else:
            items[-1].append(token)
    return [item for item in items if item]


def _listed(items: list[Tokens], behind: Iterator[int]) -> Tokens:
    return [token for item in items for token in (*_said(",", behind), *item)][1:]


def _named(call: Tokens) -> tuple[Tokens, str | None]:
    """An aggregate, and its name behind AS."""
    kinds = [token.token_type for token in call[-2:]]
    return (call[:-2], call[-1].text) if kinds[:1] == [TokenType.ALIAS] else (call, None)


def _table(tokens: Sequence[Token], policy: Policy) -> Table | None:
    return policy.table(tokens[0].text) if len(tokens) == 1 else None


def _declared(
    source: Tokens, column: Tokens, text: str, policy: Policy
) -> Iterator[tuple[Value, Kind]]:
    """The values of the column by the policy."""
    table = _table(source, policy)
    known = table.column(column[0].text) if table and len(column) == 1 else None
    if known is None:
        raise Unsupported(
            "the policy does not say which values ON has",
            hint="PIVOT t ON y IN ('a', 'b') USING SUM(x) GROUP BY z lists them",
            place=place_at(column[0].start, text),
        )
    yield from ((value, known.kind) for value in key_values(ColumnRef(known), None, {}))


def _constant(value: Value, kind: Kind) -> str:
    """A value as SQL writes it."""
    if kind is Kind.BOOLEAN:
        return str(value).upper()
    if kind.temporal:
        return f"{kind.upper()} {quoted_text(iso_text(int(value), kind))}"
    return quoted_text(value) if isinstance(value, str) else decimal(Fraction(value), 15)


def _said(words: str, behind: Iterator[int]) -> Tokens:
    """Words as tokens at places `behind` the text, each at its own."""
    return [
        Token(token.token_type, token.text, token.line, token.col, place, place, [])
        for token, place in zip(tokenize(words), behind, strict=False)
    ]
