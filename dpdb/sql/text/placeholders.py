"""Placeholders: `?`, `:name` and `{name}` in a statement, and the values in their places.

The parser sees a placeholder; in its tree the node of the placeholder is replaced by the node that
the constant would have, and only where a value can stand. `age > ?` with 30 is then the same query
as `age > 30`, and a repeat of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from dpdb.errors import (
    Place,
    StatementError,
    TooLarge,
    TypeMismatch,
    UnknownName,
    Unsupported,
    did_you_mean,
)
from dpdb.records import dataclass
from dpdb.sql.syntax.literals import like
from dpdb.sql.syntax.trees import place_at
from dpdb.sql.text.parameters import NAME, Constant, Given, Values
from dpdb.sql.text.tokens import MAX_TOKENS, check_characters, read_tokens, written

_MARK = "?"
"""The first character of the names by which the parser knows placeholders; nobody can type them."""
_BEGINNINGS = (TokenType.PLACEHOLDER, TokenType.COLON, TokenType.L_BRACE)
"""The first tokens of placeholders."""
_VALUE_ENDS = {
    TokenType.VAR, TokenType.IDENTIFIER, TokenType.NUMBER, TokenType.STRING, TokenType.R_PAREN,
    TokenType.R_BRACKET,
}  # fmt: skip
"""The tokens after which `:` is no beginning of a placeholder: `x[1:n]` has none."""


@dataclass(frozen=True)
class _Placeholder:
    """A placeholder: its name, and its first token and the number of its tokens."""

    name: str
    first: int
    length: int


def _placeholders(tokens: list[Token]) -> Iterator[_Placeholder]:
    asked, before = 0, None
    for index, token in enumerate(tokens):
        before, previous = token.token_type, before
        if before not in _BEGINNINGS:
            continue
        following = tokens[index + 1 : index + 3]
        if before is TokenType.PLACEHOLDER:
            asked += 1
            yield _Placeholder(str(asked), index, 1)
        elif not following or not NAME.fullmatch(following[0].text):
            continue
        elif before is TokenType.COLON and token.end + 1 == following[0].start:
            if previous not in _VALUE_ENDS:
                yield _Placeholder(following[0].text, index, 2)
        elif before is TokenType.L_BRACE != previous and _closes(following[1:]):
            yield _Placeholder(following[0].text, index, 3)


def _closes(tokens: list[Token]) -> bool:
    return [token.token_type for token in tokens] == [TokenType.R_BRACE]


def names_in(text: str) -> list[str]:
    """The names of the placeholders in a statement; none if it cannot be read."""
    try:
        tokens = read_tokens(text)
    except StatementError:
        return []
    return [mark.name for mark in _placeholders(tokens) if not mark.name.isdecimal()]


class Placeholders:
    """The placeholders of a statement, each with its value.

    Raises UnknownName or TypeMismatch where the values are not those that the statement asks for.
    """

    def __init__(self, text: str, tokens: list[Token], values: Values):
        self._text = text
        self._tokens = tokens
        self._marks = list(_placeholders(tokens))
        self._given = [self._value(mark, dict(values)) for mark in self._marks]
        unused = dict(values).keys() - {mark.name for mark in self._marks}
        if unused and all(name.isdecimal() for name, _ in values):
            raise TypeMismatch(
                f"the statement takes {self._number}, {len(values)} are given",
                hint="one value for each ?",
            )
        if unused:
            raise UnknownName(
                f"the statement has no :{min(unused)}",
                hint=did_you_mean(min(unused), [mark.name for mark in self._marks], ":{}".format)
                or "a value has the name of a placeholder such as :age",
            )
        if values:
            check_characters(self.text)
        if (size := len(self.labelled(self.parsed))) > MAX_TOKENS:
            raise TooLarge(f"a statement of {size} tokens, {MAX_TOKENS} are allowed")

    def __bool__(self) -> bool:
        return bool(self._marks)

    @property
    def _number(self) -> str:
        """The number of values that the statement takes."""
        asked = len(self._marks)
        return "no values" if not asked else f"{asked} value{'s' if asked > 1 else ''}"

    @property
    def place(self) -> Place | None:
        """The place of the first placeholder."""
        return self._place(0) if self._marks else None

    def _place(self, number: int) -> Place:
        return place_at(self._tokens[self._marks[number].first].start, self._text)

    def _value(self, mark: _Placeholder, values: Mapping[str, Given]) -> Given:
        if mark.name in values:
            return values[mark.name]
        first, last = self._tokens[mark.first], self._tokens[mark.first + mark.length - 1]
        where = place_at(first.start, self._text)
        if not mark.name.isdecimal():
            raise UnknownName(
                f"no value is given for {self._text[first.start : last.end + 1]}",
                hint=did_you_mean(mark.name, [each for each in values if not each.isdecimal()])
                or f'db.execute(text, {{"{mark.name}": …}}), or a variable of a notebook',
                place=where,
            )
        given = sum(name.isdecimal() for name in values)
        raise TypeMismatch(
            f"the statement takes {self._number}, {given} {'is' if given == 1 else 'are'} given",
            hint="from Python: db.execute(text, [value, …]), one for each ?",
            place=where,
        )

    @cached_property
    def parsed(self) -> list[Token]:
        """The tokens with each placeholder under a name of its own, for the parser to read."""
        result, after = [], 0
        for number, mark in enumerate(self._marks):
            token = self._tokens[mark.first]
            result += self._tokens[after : mark.first]
            result.append(like(token, TokenType.COLON, ":"))
            result.append(like(token, TokenType.VAR, f"{_MARK}{number}"))
            after = mark.first + mark.length
        return [*result, *self._tokens[after:]]

    def labelled(self, tokens: list[Token]) -> list[Token]:
        """Tokens of the parser with the values in their places, for labels to be made of."""
        if not self._marks:
            return tokens
        result: list[Token] = []
        for token in tokens:
            if token.token_type is TokenType.VAR and token.text.startswith(_MARK):
                result.pop()
                result += self._shown(int(token.text.removeprefix(_MARK)), token)
            else:
                result.append(token)
        return result

    def _shown(self, number: int, at: Token) -> list[Token]:
        """The tokens of a value; those of a list are in parentheses, unless it stands in some."""
        given = self._given[number]
        if isinstance(given, Constant):
            return [like(at, *each) for each in given.tokens()]
        listed = [[*each.tokens()] for each in given]
        parts = [part for each in listed for part in ((TokenType.COMMA, ","), *each)][1:]
        first = self._marks[number].first
        around = self._tokens[first - 1 : first]
        if not around or around[0].token_type not in (TokenType.L_PAREN, TokenType.COMMA):
            parts = [(TokenType.L_PAREN, "("), *parts, (TokenType.R_PAREN, ")")]
        return [like(at, *each) for each in parts]

    @cached_property
    def text(self) -> str:
        """The statement with its values written out, for answers and ledgers to show."""
        parts, after = [], 0
        for number, mark in enumerate(self._marks):
            first, last = self._tokens[mark.first], self._tokens[mark.first + mark.length - 1]
            value = written(self._shown(number, first))
            before = self._text[after : first.start]
            parts += [before, f"({value})" if before[-1:] == value[:1] == "-" else value]
            after = last.end + 1
        return "".join([*parts, self._text[after:]])

    def placed(self, tree: exp.Expr) -> None:
        """Replace each placeholder in the tree by its value, or refuse one where none can stand."""
        if not self._marks:
            return
        left = set(range(len(self._marks)))
        for node in list(tree.find_all(exp.Placeholder)):
            number = int(str(node.this).removeprefix(_MARK))
            _replace(node, self._nodes(number), self._place(number))
            left.discard(number)
        if left:
            raise misplaced(self._place(min(left)))

    def _nodes(self, number: int) -> exp.Expr | list[exp.Expr]:
        """The nodes of a value, at its place in the text."""
        given, start = self._given[number], self._tokens[self._marks[number].first].start

        def placed(constant: Constant) -> exp.Expr:
            node = constant.node()
            node.meta["start"] = start
            return node

        return placed(given) if isinstance(given, Constant) else list(map(placed, given))


def _replace(node: exp.Expr, new: exp.Expr | list[exp.Expr], where: Place) -> None:
    parent, key = node.parent, node.arg_key
    if isinstance(new, list):
        if not isinstance(parent, exp.In) or key not in ("expressions", "field"):
            raise TypeMismatch(
                "a list is no value here", hint="a list stands after IN: x IN (?)", place=where
            )
        if not new:
            raise TypeMismatch("a list after IN has at least one value", place=where)
        around = parent.expressions if key == "expressions" else [node]
        parent.set("field", None)
        parent.set("expressions", [n for each in around for n in (new if each is node else [each])])
    elif isinstance(parent, exp.In) and key == "field":
        raise TypeMismatch("IN takes a list", hint="x IN (?), or x = ?", place=where)
    elif not _holds_values(parent, key):
        raise misplaced(where)
    else:
        node.replace(new)


def check_constants(tokens: Sequence[Token], text: str) -> None:
    """Refuse a placeholder among tokens of the parser that become the name of a column."""
    for token in tokens:
        if token.token_type is TokenType.VAR and token.text.startswith(_MARK):
            raise misplaced(place_at(token.start, text))


def misplaced(where: Place) -> Unsupported:
    """The error for a placeholder where no value can stand."""
    return Unsupported(
        "a value cannot stand here",
        hint="tables, columns, other names, and places in ORDER BY are written in the statement",
        place=where,
    )


_OPERATORS = (
    exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.DPipe, exp.EQ, exp.NEQ, exp.GT,
    exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Is, exp.Like, exp.ILike,
    exp.Escape, exp.And, exp.Or, exp.Not, exp.Neg, exp.Paren,
)  # fmt: skip
_PLACES: tuple[tuple[type[exp.Expr] | tuple[type[exp.Expr], ...], tuple[str, ...]], ...] = (
    (_OPERATORS, ("this", "expression")),
    (exp.Kwarg, ("expression",)),
    (exp.Between, ("this", "low", "high")),
    (exp.In, ("this", "expressions")),
    ((exp.Tuple, exp.Distinct, exp.Bracket, exp.Select), ("expressions",)),
    ((exp.Alias, exp.Where, exp.Having, exp.Qualify, exp.Interval), ("this",)),
    ((exp.Limit, exp.Offset), ("expression",)),
    (exp.Fetch, ("count",)),
    (exp.Join, ("on",)),
)
_NO_VALUES = (exp.Collate, exp.Columns, exp.Struct)
"""Functions of sqlglot whose arguments are names."""


def _holds_values(parent: exp.Expr | None, key: str | None) -> bool:
    """Whether a value can stand in a node under a key: an operand, an argument, a number of rows.

    A table, an alias and the name of a column are none, and neither are items of ORDER BY and
    GROUP BY, which a number would name by its place.
    """
    if isinstance(parent, exp.Anonymous):
        return key == "expressions"
    if isinstance(parent, exp.Func) and not isinstance(parent, _NO_VALUES):
        return key != "to"
    return any(isinstance(parent, kind) and key in keys for kind, keys in _PLACES)
