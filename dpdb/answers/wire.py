"""Answers as JSON from which a client makes the answer that a session gave, but for its plan.

A record is written as its name and its fields, a fraction as text, an answer without fields that
are as usual. So every format of the answer that is read prints the bytes of the one that was
written. EXPLAIN has an outline in place of its plan. Nothing but these records can be read, and
reading one runs nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import Field, fields
from enum import Enum
from fractions import Fraction
from functools import cache
from typing import Any

from dpdb.answers.answer import Answer
from dpdb.answers.formats.explain_tree import outline
from dpdb.answers.record import (
    CellAccuracy,
    CellColumn,
    Detail,
    Disclosure,
    Line,
    Origin,
    Outline,
    ReleaseReport,
)
from dpdb.errors import UsageError
from dpdb.ledger.protocol import Balance, Price
from dpdb.policy.budget import Budget, Composition
from dpdb.policy.catalog import Kind
from dpdb.policy.numbers import ratio
from dpdb.privacy.accounting.composition import ComposedLoss, Theorem

_RECORDS = {
    each.__name__: each
    for each in (
        Answer, Balance, Budget, CellColumn, ComposedLoss, Disclosure, Line, Outline, Price,
        ReleaseReport,
    )
}  # fmt: skip
_ENUMS: dict[str, type[Enum]] = {
    each.__name__: each for each in (Composition, Kind, Origin, Theorem)
}


def to_wire(answer: Answer) -> str:
    """The answer on one line, each detail worked out."""
    written = dict(_fields_of(answer))
    if answer.plan is not None:
        written["outline"] = _written(outline(answer))
    return json.dumps(written, separators=(",", ":"))


def from_wire(text: str) -> Answer:
    """The answer of a line; raises UsageError where the line has none."""
    try:
        answer = _record(Answer, json.loads(text))
    except (AttributeError, LookupError, RecursionError, TypeError, ValueError):
        raise UsageError("the server has sent what is no answer of this version") from None
    assert isinstance(answer, Answer)
    return answer


def _written(value: object) -> Any:  # noqa: ANN401 (JSON)
    match value:
        case Enum():
            return {type(value).__name__: value.name}
        case None | bool() | int() | float() | str():
            return value
        case Fraction():
            return {"/": str(value)}
        case Detail():
            return {"Detail": _written(value.value)}
        case CellAccuracy():
            return {"CellAccuracy": [_written(each) for each in value]}
        case frozenset():
            return {"set": sorted(value)}
        case tuple():
            return [_written(each) for each in value]
    name = type(value).__name__
    if _RECORDS.get(name) is not type(value):
        raise TypeError(f"no {name} is sent")
    return {name: dict(_fields_of(value))}


def _fields_of(record: Any) -> Iterable[tuple[str, Any]]:  # noqa: ANN401 (a record)
    """The fields of a record that are not as usual."""
    kind: Any = type(record)
    for each in _known(kind):
        value = getattr(record, each.name)
        if value != each.default:
            yield each.name, _written(value)


def _read(value: Any) -> Any:  # noqa: ANN401 (JSON)
    match value:
        case list():
            return tuple(_read(each) for each in value)
        case dict():
            ((name, inside),) = value.items()
            match name:
                case "/":
                    return ratio(inside)
                case "Detail":
                    return Detail.of(_read(inside))
                case "CellAccuracy":
                    return CellAccuracy(*_read(inside))
                case "set":
                    return frozenset(inside)
            return _ENUMS[name][inside] if name in _ENUMS else _record(_RECORDS[name], inside)
    return value


def _record(kind: Any, inside: dict[str, Any]) -> Any:  # noqa: ANN401 (a class and a record)
    if not inside.keys() <= {each.name for each in _known(kind)}:
        raise LookupError("a field that is not known")
    return kind(**{name: _read(value) for name, value in inside.items()})


@cache
def _known(kind: Any) -> tuple[Field[Any], ...]:  # noqa: ANN401 (a class)
    return tuple(each for each in fields(kind) if each.init and each.name != "plan")
