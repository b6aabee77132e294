"""The SQL that people type here, as sqlglot is to read it."""

from __future__ import annotations

import logging
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.parser import Parser as BaseParser
from sqlglot.tokenizer_core import Token, TokenType
from sqlglot.tokens import Tokenizer as BaseTokenizer

# sqlglot writes warnings to stderr about text it half understands; what is not
# understood is refused here, with its place.
logging.getLogger("sqlglot").setLevel(logging.CRITICAL)


class Dpdb(Dialect):
    """Standard SQL with the names of the statistical functions of [EGS]."""

    class Tokenizer(BaseTokenizer):
        """The default lexical rules: `'` for strings, `"` for names, no backslashes.

        No word turns the rest of the text into one opaque command.
        """

        COMMANDS: ClassVar[set[TokenType]] = set()

    class Parser(BaseParser):
        """The default grammar, with more names for the same aggregates."""

        FUNCTIONS: ClassVar[dict[str, Any]] = {
            **BaseParser.FUNCTIONS,
            "MEAN": exp.Avg.from_arg_list,
            "SD": exp.Stddev.from_arg_list,
            "QUANTILE_CONT": exp.PercentileCont.from_arg_list,
            "QUANTILE": exp.PercentileCont.from_arg_list,
        }


_DIALECT = Dpdb()


def tokenize(text: str) -> list[Token]:
    """The tokens of one statement."""
    return _DIALECT.tokenize(text)


def parse(tokens: list[Token], text: str) -> list[exp.Expr | None]:
    """sqlglot's trees for the tokens of `text`."""
    return _DIALECT.parser().parse(tokens, text)
