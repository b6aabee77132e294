"""Parameters: the values that a program gives a statement, as constants of SQL.

A value never becomes text that is parsed: `placeholders` puts it into the parser's tree.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from dpdb.errors import TooLarge, TypeMismatch, UsageError
from dpdb.policy.catalog import Kind
from dpdb.policy.numbers import Number
from dpdb.records import dataclass
from dpdb.sql.scalars.predicates import MAX_LIST
from dpdb.sql.syntax.literals import MAX_DIGITS


@dataclass(frozen=True)
class Constant:
    """A value as the binder reads constants: a number as written, a date in ISO 8601."""

    kind: Kind | None
    """None for NULL."""
    text: str = ""

    def node(self) -> exp.Expr:
        """The node of sqlglot's tree that the constant has where it is written out."""
        match self.kind:
            case None:
                return exp.Null()
            case Kind.BOOLEAN:
                return exp.Boolean(this=self.text == "TRUE")
            case Kind.DATE | Kind.TIMESTAMP:
                target = exp.DataType(this=_TYPES[self.kind], nested=False)
                return exp.Cast(this=exp.Literal.string(self.text), to=target)
            case Kind.TEXT:
                return exp.Literal.string(self.text)
        number = exp.Literal.number(self.text.removeprefix("-"))
        return exp.Neg(this=number) if self.text.startswith("-") else number

    def tokens(self) -> Iterator[tuple[TokenType, str]]:
        """The tokens that write the constant, to be shown."""
        match self.kind:
            case None:
                yield TokenType.NULL, "NULL"
            case Kind.BOOLEAN:
                yield TokenType.TRUE, self.text
            case Kind.TEXT:
                yield TokenType.STRING, self.text
            case Kind.DATE | Kind.TIMESTAMP:
                yield TokenType.DATE, self.kind.upper()
                yield TokenType.STRING, self.text
            case _:
                if self.text.startswith("-"):
                    yield TokenType.DASH, "-"
                yield TokenType.NUMBER, self.text.removeprefix("-")


_TYPES = {Kind.DATE: exp.DataType.Type.DATE, Kind.TIMESTAMP: exp.DataType.Type.TIMESTAMP}
Given = Constant | tuple[Constant, ...]
"""A value, or the values of a list."""
Values = tuple[tuple[str, Given], ...]
"""The values of a statement by the names of their placeholders: "1", "2" … where these are `?`."""
NULL = Constant(None)
NAME = re.compile(r"[^\W\d]\w*")
"""The names of parameters: words."""


Parameters = Sequence[object] | Mapping[str, object] | None
"""The values as a program gives them: one for each `?`, or one for each `:name`."""


def values_of(parameters: Parameters) -> Values:
    """The values of a sequence, for each `?`, or of a mapping, for each name; raises DpdbError."""
    if parameters is None:
        return ()
    if isinstance(parameters, Mapping):
        if not all(isinstance(name, str) and NAME.fullmatch(name) for name in parameters):
            raise UsageError("the names of parameters are words", hint='{"age": 30} is for :age')
        return tuple((str.__str__(name), _given(value)) for name, value in parameters.items())
    if not isinstance(parameters, list | tuple):
        raise UsageError(
            "the values of a statement are a list, or a dict by name",
            hint='db.execute("… WHERE age > ?", [30])',
        )
    return tuple((str(number), _given(each)) for number, each in enumerate(parameters, 1))


def as_json(parameters: Parameters) -> Any:  # noqa: ANN401 (JSON)
    """The values as JSON, of which `from_json` makes the same constants; raises DpdbError."""
    values = values_of(parameters)
    if parameters is None:
        return None
    sent = {
        name: [*map(_sent, given)] if isinstance(given, tuple) else _sent(given)
        for name, given in values
    }
    return sent if isinstance(parameters, Mapping) else [*sent.values()]


def from_json(sent: Any) -> Any:  # noqa: ANN401 (JSON, and values)
    """The values of `as_json`; a date, a timestamp or an exact number is `{"date": "…"}`."""
    match sent:
        case list():
            return [*map(_received, sent)]
        case dict():
            return {name: _received(each) for name, each in sent.items()}
    return sent


def _sent(constant: Constant) -> Any:  # noqa: ANN401 (JSON)
    text = constant.text
    match constant.kind:
        case None:
            return None
        case Kind.BOOLEAN:
            return text == "TRUE"
        case Kind.INTEGER:
            return int(text)
        case Kind.TEXT:
            return text
        case Kind.NUMBER if repr(float(text)) == text:
            return float(text)
    return {str(constant.kind): text}


def _received(sent: Any) -> Any:  # noqa: ANN401 (JSON, and a value)
    if isinstance(sent, list):
        return [*map(_received, sent)]
    if not isinstance(sent, dict):
        return sent
    try:
        ((kind, text),) = sent.items()
        return _READ[kind](text)
    except (ValueError, TypeError, LookupError, ArithmeticError):
        raise UsageError(
            "a value is a number, a text, true, false, null, or an object with one of "
            f"{', '.join(_READ)}",
            hint='{"date": "2026-11-27"}',
        ) from None


_READ: Mapping[str, Callable[[str], object]] = {
    "date": datetime.date.fromisoformat,
    "timestamp": datetime.datetime.fromisoformat,
    "number": Decimal,
}

Member = tuple[str, Parameters, Mapping[str, Number]]
"""A statement of a plan: its text, its values, and `epsilon` or `delta`."""


def members_of(statements: Sequence[str | tuple[object, ...]]) -> list[Member]:
    """The statements of a plan, each with its values and options; raises UsageError."""
    members: list[Member] = []
    for each in statements if isinstance(statements, list | tuple) else [None]:
        match (each,) if isinstance(each, str) else each:
            case (str(text), *rest) if len(rest) <= 2:
                parameters: Any = rest[0] if rest else None
                options: Any = rest[1] if rest[1:] else {}
                if isinstance(options, Mapping) and options.keys() <= {"epsilon", "delta"}:
                    members.append((text, parameters, options))
                    continue
        raise UsageError(
            "statements that are planned together are a list of texts",
            hint='one with values is (text, [30]), and (text, [30], {"epsilon": 0.1}) spends 0.1',
        )
    return members


def _given(value: object) -> Given:
    if isinstance(value, list | tuple | set | frozenset) or hasattr(type(value), "tolist"):
        _check_length(value)
    value = _plain(value)
    if isinstance(value, set | frozenset):
        return tuple(sorted(map(_constant, map(_plain, value)), key=repr))
    if isinstance(value, list | tuple):
        return tuple(map(_constant, map(_plain, value)))
    return _constant(value)


def _check_length(value: object) -> None:
    """Refuse a long list before it is gone through."""
    try:
        length = len(value)  # type: ignore[arg-type]
    except TypeError:  # a scalar of numpy has no length
        return
    if length > MAX_LIST:
        raise TooLarge(f"a list of {length} values, {MAX_LIST} are allowed")


def _plain(value: object) -> object:
    """The value, a scalar of numpy and an array or a Series as Python's own."""
    listed: Callable[[object], object] | None = getattr(type(value), "tolist", None)
    if listed is None:
        return value
    dtype, whole = getattr(value, "dtype", None), "datetime64[D]"
    if getattr(dtype, "kind", "") == "M" and str(dtype) != whole and hasattr(value, "astype"):
        value = value.astype("datetime64[us]")  # of nanoseconds it would give whole numbers
    return listed(value)


def _constant(value: object) -> Constant:
    """A value of one of Python's types, whatever methods a subclass has."""
    match value:
        case None:
            return NULL
        case bool():
            return Constant(Kind.BOOLEAN, "TRUE" if value else "FALSE")
        case int():
            if int.bit_length(value) > 3 * MAX_DIGITS:
                raise TooLarge("this number is too large")
            return Constant(Kind.INTEGER, int.__repr__(value))
        case float():
            finite = abs(float.__float__(value)) < float("inf")
            return Constant(Kind.NUMBER, float.__repr__(value)) if finite else NULL
        case Decimal():
            return Constant(Kind.NUMBER, Decimal.__str__(value)) if value.is_finite() else NULL
        case str():
            return Constant(Kind.TEXT, str.__str__(value))
    if type(value).__name__ in ("NAType", "NaTType"):  # pandas says so of a missing value
        return NULL
    match value:
        case datetime.datetime():
            return Constant(Kind.TIMESTAMP, datetime.datetime.isoformat(value, " "))
        case datetime.date():
            return Constant(Kind.DATE, datetime.date.isoformat(value))
    raise TypeMismatch(
        f"a value of type {type(value).__name__} cannot stand in a statement",
        hint="numbers, texts, booleans, dates, datetimes and None can, and lists of them after IN",
    )
