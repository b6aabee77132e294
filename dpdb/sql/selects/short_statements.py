"""PIVOT and SUMMARIZE, written out as the tokens of SELECTs.

`SUMMARIZE t` is a SELECT for each number with bounds, joined by UNION ALL.
"""

from __future__ import annotations

from itertools import count

from sqlglot.tokenizer_core import Token, TokenType

from dpdb.errors import TooLarge, Unsupported
from dpdb.policy.catalog import Kind, Policy
from dpdb.policy.names import quoted_text
from dpdb.policy.names import written as written_name
from dpdb.sql.selects.pivots import Pivots
from dpdb.sql.syntax.trees import place_at
from dpdb.sql.text.tokens import MAX_SELECTS, MAX_TOKENS


def written_out(tokens: list[Token], text: str, policy: Policy) -> list[Token]:
    """The tokens of a statement, with PIVOT and SUMMARIZE written out."""
    pivots = Pivots(text, policy, count(len(text)))
    if tokens and tokens[0].text.upper() == "SUMMARIZE":
        result = pivots.said(summary(tokens, text, policy))
    else:
        result = pivots.written_out(tokens)
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
