"""LIKE, and conditions tested on the bytes of texts as a source has them, without a dictionary.

LIKE takes time at most the length of the text times that of the pattern. Without `_` it is the
length of the text alone, as literal text is searched for as such. What a statement may spend on
patterns counts on that: a row must not be slow for what it says.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import lru_cache, partial
from itertools import groupby
from typing import Self

from dpdb.plan.expressions.expressions import (
    Call,
    ColumnRef,
    Compare,
    Expr,
    InList,
    IsNull,
    Like,
    Literal,
    Logic,
    Not,
)
from dpdb.vectors.columns import Codes
from dpdb.vectors.grammar import LONGEST
from dpdb.vectors.vector import Array, Bools, Vector, truth

Pattern = tuple[str | None, ...]
"""The parts of a pattern: literal text, the empty string for `_`, None for `%`."""
Search = Callable[[str, int, int], re.Match[str] | None]
"""Finds something in a text, from one place to another."""


@lru_cache(maxsize=256)
def fitting(pattern: Pattern) -> Callable[[str], bool]:
    """Says of a text whether the whole of it fits `pattern`."""
    if "" in pattern or None not in pattern:
        fits = _expression(pattern).fullmatch
        return lambda text: fits(text) is not None
    first, *middle, last = literal_pieces(pattern)
    # A regular expression of literal text is searched for in linear time, and str.find is not.
    searches = [re.compile(re.escape(piece)).search for piece in middle if piece]
    return partial(_has, first, searches, last)


def literal_pieces(pattern: Pattern) -> list[str]:
    """The texts before, between and after the `%` of a pattern, some of which may be empty."""
    pieces = [""]
    for part in pattern:
        if part is None:
            pieces.append("")
        else:
            pieces[-1] += part
    return pieces


def _has(first: str, searches: Sequence[Search], last: str, text: str) -> bool:
    """Whether a text begins with one piece, ends with another, and has those between in order."""
    place, end = len(first), len(text) - len(last)
    if end < place or not (text.startswith(first) and text.endswith(last)):
        return False
    for search in searches:
        match = search(text, place, end)
        if match is None:
            return False
        place = match.end()
    return True


def _expression(pattern: Pattern) -> re.Pattern[str]:
    """A regular expression that the whole of a text matches if it fits `pattern`.

    What is between two `%`s is searched from left to right, and kept by an atomic group at the
    first place where it fits: a later place could not help, so none is tried. What follows the
    last `%` has one length, and so one place where it can fit.
    """
    runs = [(anything, list(parts)) for anything, parts in groupby(pattern, lambda p: p is None)]
    last = len(runs) - 1
    written = ""
    for place, (anything, parts) in enumerate(runs):
        piece = "".join(re.escape(part) if part else "." for part in parts)
        if anything:
            written += ".*" * (place == last)
        elif place == 0:
            written += piece
        elif place == last:
            written += f".*{piece}"
        else:
            written += f"(?>.*?{piece})"
    return re.compile(written, re.DOTALL)


class StoredTexts(Codes, ABC):
    """A column of texts, whose codes are worked out when they are first asked for.

    The values are in no order. Constants are those that `is_found` says are found in bytes.
    """

    @abstractmethod
    def taken(self, rows: Array) -> Self:
        """The cells of these rows."""

    @abstractmethod
    def followed_by(self, others: Sequence[Self]) -> Self:
        """This column concatenated with the others."""

    @abstractmethod
    def hashes(self, factors: Array) -> Array:
        """A number for each cell, the same for equal texts in all columns of one source.

        Texts that differ have the same number by chance of the factors alone. A NULL has any.
        """

    @property
    @abstractmethod
    def null(self) -> Bools:
        """Whether each cell is NULL."""

    @abstractmethod
    def equal_to_any(self, constants: Collection[str]) -> Bools:
        """Whether each cell is one of the constants; false where it is NULL."""

    @abstractmethod
    def containing(self, part: str) -> Bools:
        """Whether each cell contains the part; false where it is NULL."""

    @abstractmethod
    def with_ends(self, first: str, last: str) -> Bools:
        """Whether each cell begins with `first` and ends with `last`, which do not overlap.

        False where the cell is NULL."""


Test = Callable[[StoredTexts], Vector]
_CALLS: Mapping[str, Callable[[str], Pattern]] = {
    "starts_with": lambda part: (part, None),
    "ends_with": lambda part: (None, part),
    "contains": lambda part: (None, part, None),
}
"""The pattern of LIKE that means the same as a function of a part, which is not empty."""


def is_found(constant: object) -> bool:
    """Whether a constant is a text that is looked for in bytes."""
    return (
        isinstance(constant, str)
        and len(constant) <= LONGEST
        and not any(
            c in "\0\N{REPLACEMENT CHARACTER}" or "\ud800" <= c <= "\udfff" for c in constant
        )
    )


def is_tested_as_stored(condition: Expr) -> bool:
    """Whether a condition, all of whose parts read one column of texts, needs no dictionary."""
    match condition:
        case Logic(operands=operands):
            return all(map(is_tested_as_stored, operands))
        case Not(operand=operand):
            return is_tested_as_stored(operand)
    return stored_test(condition) is not None


def stored_test(condition: Expr) -> tuple[ColumnRef, Test] | None:
    """A column of texts and the condition as a test of its bytes; None without such a test."""
    match condition:
        case IsNull(operand=ColumnRef() as column):
            return column, lambda held: Vector(held.null)
        case (
            Compare(operator="=" | "<>", left=ColumnRef() as column, right=Literal(value=constant))
            | Compare(
                operator="=" | "<>", left=Literal(value=constant), right=ColumnRef() as column
            )
        ) if is_found(constant):
            return column, partial(_equal, str(constant), negated=condition.operator == "<>")
        case InList(operand=ColumnRef() as column, values=values, null=False) if all(
            map(is_found, values)
        ):
            return column, lambda held: Vector(held.equal_to_any([*map(str, values)]), held.null)
        case Call(name=name, arguments=(ColumnRef() as column, Literal(value=str(constant)))) if (
            name in _CALLS and constant and is_found(constant)
        ):
            return stored_test(Like(column, _CALLS[name](constant)))
        case Like(operand=ColumnRef() as column, pattern=pattern):
            test = _like(pattern)
            return None if test is None else (column, test)
    return None


def _equal(constant: str, held: StoredTexts, *, negated: bool) -> Vector:
    equal = held.equal_to_any([constant])
    return truth(~equal if negated else equal, held.null)


def _like(pattern: Pattern) -> Test | None:
    """The test of a pattern with at most a text, or a text at either end, beside its `%`."""
    if "" in pattern or not all(part is None or is_found(part) for part in pattern):
        return None
    match literal_pieces(pattern):
        case [constant]:
            return partial(_equal, constant, negated=False)
        case [first, last]:
            return lambda held: Vector(held.with_ends(first, last), held.null)
        case ["", part, ""]:
            return lambda held: Vector(held.containing(part), held.null)
    return None
