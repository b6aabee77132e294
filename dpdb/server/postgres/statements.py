"""The text that a client sends: its statements, and the parameters of each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

import sqlglot
from sqlglot import exp
from sqlglot.tokenizer_core import Token

from dpdb.errors import DpdbError, StatementError
from dpdb.policy.catalog import Kind, Table
from dpdb.records import dataclass
from dpdb.server.postgres.protocol import Refusal
from dpdb.sql.text.splitting import next_piece, skip_ignored
from dpdb.sql.text.tokens import read_tokens

MOST_PARAMETERS = 1000
ParameterKind = Kind | tuple[Kind | None] | None
"""The kind of a parameter; in a tuple that of an array's members; None if it is not known."""
_MARKER = re.compile(r"\$([0-9]{1,4})(?![0-9])")
_COPY = re.compile(r"(\s*COPY\s*\()(.*)(\)\s*TO\s+STDOUT\b)(.*)", re.IGNORECASE | re.DOTALL)
_COPY_WORDS = frozenset(("WITH", "FORMAT", "HEADER", "TRUE", "ON", "CSV", "TEXT", "BINARY"))
_WORD, _EXPLAIN = re.compile(r"\w+"), re.compile(r"^EXPLAIN\s", re.IGNORECASE)


@dataclass(frozen=True)
class Statement:
    """A statement, and the characters before it in the text that was sent."""

    text: str
    start: int = 0

    @property
    def word(self) -> str:
        """The first word, in upper case."""
        at = skip_ignored(self.text, 0)
        while self.text.startswith("(", at):
            at = skip_ignored(self.text, at + 1)
        found = _WORD.match(self.text, at)
        return "" if found is None else found[0].upper()

    def position(self, error: DpdbError) -> int | None:
        """The place of an error among the characters that were sent, from 1."""
        lines = self.text.split("\n")
        place = error.place
        if place is None or place.line > len(lines):
            return None
        return self.start + sum(len(line) + 1 for line in lines[: place.line - 1]) + place.column


def statements(text: str) -> Iterator[Statement]:
    """The statements of a text, but for empty ones."""
    start = 0
    while start < len(text):
        piece, end = next_piece(text, start)
        if piece is not None:
            yield Statement(piece.text, max(text.rfind(piece.text, start, end), start))
        start = end


def copied(statement: Statement) -> tuple[Statement, str, bool] | None:
    """The SELECT of a COPY to the client, its format, and whether the labels are sent.

    Blanks stand before it, so that errors keep their places. None for another statement; raises
    Refusal.
    """
    found = _COPY.match(statement.text) if statement.word == "COPY" else None
    if found is None:
        return None
    words = {each.upper() for each in re.findall(r"\w+|[^\s(),]", found[4])}
    if not words <= _COPY_WORDS:
        raise Refusal("0A000", "COPY has no other options than FORMAT and HEADER here")
    select = Statement(re.sub(r"\S", " ", found[1]) + found[2], statement.start)
    form = next((each for each in ("BINARY", "CSV") if each in words), "TEXT")
    return select, form, "HEADER" in words


def marked(text: str) -> tuple[str, list[int]]:
    """The text with `?` in place of each `$1`, as wide, and the numbers in their order."""
    if "$" not in text:
        return text, []
    try:
        tokens = read_tokens(text)
    except StatementError:
        return text, []  # whoever answers it says what is wrong
    parts, numbers, after = [], list[int](), 0
    for start, end, number in _markers(tokens, text):
        parts += [text[after:start], "?".ljust(end - start)]
        numbers.append(number)
        after = end
    return "".join([*parts, text[after:]]), numbers


def _markers(tokens: Iterable[Token], text: str) -> Iterator[tuple[int, int, int]]:
    """The places of each `$1` and its number."""
    for token in tokens:
        if (found := _MARKER.match(text, token.start)) and token.end + 1 == found.end():
            number = int(found[1])
            if 0 < number <= MOST_PARAMETERS:
                yield token.start, found.end(), number


def tree_of(text: str) -> exp.Expr | None:
    """sqlglot's tree by the rules of PostgreSQL; None where it has none.

    It reads `$1,$` as the beginning of a text, but not `$1 ,$`.
    """
    try:
        tokens = read_tokens(text.replace("~", " "))  # within the limits on nesting and length
        parts, after = list[str](), 0
        for _, end, _ in _markers(tokens, text):
            parts += [text[after:end], " "]
            after = end
        return sqlglot.parse_one("".join([*parts, text[after:]]), dialect="postgres")
    except Exception:  # sqlglot's own errors are of many types
        return None


def unvalued(text: str, labels: Sequence[str]) -> tuple[str, ...]:
    """The labels of a SELECT's columns, `?column?` for those in which values would be shown."""
    tree = tree_of(text)
    items = tree.expressions if isinstance(tree, exp.Select) else []
    if len(items) != len(labels):
        return tuple(labels)
    return tuple(
        label if isinstance(item, exp.Alias) or item.find(exp.Parameter) is None else "?column?"
        for item, label in zip(items, labels, strict=True)
    )


_COMPARISONS = (
    exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Between, exp.In, exp.Like, exp.ILike,
    exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.Coalesce, exp.Nullif, exp.Greatest, exp.Least,
)  # fmt: skip
_CASTS = {
    Kind.INTEGER: ("INT", "BIGINT", "SMALLINT", "OID"),
    Kind.NUMBER: ("DOUBLE", "REAL", "DECIMAL", "NUMERIC"),
    Kind.BOOLEAN: ("BOOLEAN",),
    Kind.DATE: ("DATE",),
    Kind.TIMESTAMP: ("TIMESTAMP",),
    Kind.TEXT: ("TEXT", "VARCHAR", "CHAR", "NAME"),
}


def parameter_kinds(
    text: str, numbers: Sequence[int], tables: Sequence[Table]
) -> list[ParameterKind]:
    """The kind of each parameter, from what it is compared with or cast to; None if unknown.

    A column is that of any table of the policy with its name; where they differ, none is known.
    """
    kinds: list[ParameterKind] = [None] * max(numbers, default=0)
    tree = tree_of(_EXPLAIN.sub("", text)) if numbers else None
    if tree is None:
        return kinds
    for node in tree.find_all(exp.Parameter):
        number = int(node.name) if node.name.isdecimal() else 0
        if 0 < number <= len(kinds) and kinds[number - 1] is None:
            kinds[number - 1] = _beside(node, tables)
    return kinds


def _beside(node: exp.Expr, tables: Sequence[Table]) -> ParameterKind:
    kind, listed = _kind_beside(node, tables)
    return (kind,) if listed else kind


def _kind_beside(node: exp.Expr, tables: Sequence[Table]) -> tuple[Kind | None, bool]:
    """The kind of a parameter, and whether an array of it is meant."""
    listed = False
    for _ in range(6):
        parent = node.parent
        if isinstance(parent, exp.Limit | exp.Offset | exp.Round):
            return Kind.INTEGER, False
        if isinstance(parent, exp.Quantile):
            return Kind.NUMBER, False
        if isinstance(parent, exp.Cast):
            word = re.match(r"\w*", written := parent.to.sql("postgres").upper())
            assert word is not None
            found = next((kind for kind, names in _CASTS.items() if word[0] in names), None)
            return found, written.endswith("[]")
        if isinstance(parent, _COMPARISONS):
            for child in parent.iter_expressions():
                found = _columns_kind(child, tables) if child is not node else None
                if found is not None:
                    return found, listed
        elif isinstance(parent, exp.Any):
            listed = True
        elif not isinstance(parent, exp.Paren | exp.Neg):
            return None, listed
        assert parent is not None
        node = parent
    return None, listed


def _columns_kind(tree: exp.Expr, tables: Sequence[Table]) -> Kind | None:
    if isinstance(tree, exp.Literal):
        return None
    named = {column.name for column in tree.find_all(exp.Column)}
    if isinstance(tree, exp.AggFunc):
        return Kind.INTEGER if isinstance(tree, exp.Count) else Kind.NUMBER
    kinds = {
        found.kind
        for table in tables
        for name in named
        if (found := table.column(name)) is not None
    }
    return kinds.pop() if len(kinds) == 1 else None


_DUMMIES = {
    Kind.INTEGER: 1,
    Kind.NUMBER: 0.5,
    Kind.BOOLEAN: True,
    Kind.DATE: {"date": "2000-01-01"},
    Kind.TIMESTAMP: {"timestamp": "2000-01-01 00:00:00"},
    Kind.TEXT: "",
    None: "",
}
DUMMIES: Mapping[ParameterKind, object] = _DUMMIES | {(k,): [v] for k, v in _DUMMIES.items()}
"""Values with which a statement is planned whose values are not sent yet."""
