"""The SQL dialect of dpdb, for sqlglot to parse."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.parser import Parser as BaseParser
from sqlglot.tokenizer_core import Token, TokenType
from sqlglot.tokens import Tokenizer as BaseTokenizer

from dpdb.sql.date_functions import DATE_CALLS

# sqlglot writes warnings to stderr about text that it half understands. The binder refuses such
# text, with its place.
logging.getLogger("sqlglot").setLevel(logging.CRITICAL)


def _as_written(name: str) -> Callable[[list[exp.Expr]], exp.Expr]:
    """Builds a call that keeps its name and its arguments as they are written."""
    return lambda arguments: exp.Anonymous(this=name, expressions=arguments)


class Dpdb(Dialect):
    """Standard SQL with the names of the statistical functions of [EGS]."""

    class Tokenizer(BaseTokenizer):
        """The default lexical rules: `'` for strings, `"` and backticks for names, no backslashes.

        No word makes one opaque command of the text after it.
        """

        COMMANDS: ClassVar[set[TokenType]] = set()
        IDENTIFIERS: ClassVar[list[str | tuple[str, str]]] = ['"', "`"]

    class Parser(BaseParser):
        """The default grammar, with more names for aggregates that it knows."""

        FUNCTIONS: ClassVar[dict[str, Any]] = {
            **BaseParser.FUNCTIONS,
            "MEAN": exp.Avg.from_arg_list,
            "SD": exp.Stddev.from_arg_list,
            "STD": exp.Stddev.from_arg_list,
            "VAR": exp.Variance.from_arg_list,
            "QUANTILE_CONT": exp.PercentileCont.from_arg_list,
            "QUANTILE": exp.PercentileCont.from_arg_list,
            # The default grammar reads their units of time in one order, or as columns.
            **{name: _as_written(name) for name in DATE_CALLS if name != "EXTRACT"},
        }


_DIALECT = Dpdb()


def tokenize(text: str) -> list[Token]:
    """The tokens of a text."""
    return _DIALECT.tokenize(text)


def parse(tokens: list[Token], text: str) -> list[exp.Expr | None]:
    """sqlglot's trees for these tokens of `text`.

    TOP is a keyword only where SELECT stands before it and a number behind: it may name a column.
    """
    for select, word, number in zip(tokens, tokens[1:], tokens[2:], strict=False):
        kinds = select.token_type, number.token_type
        if kinds == (TokenType.SELECT, TokenType.NUMBER) and word.text.upper() == "TOP":
            word.token_type = TokenType.TOP
    return _DIALECT.parser().parse(tokens, text)
