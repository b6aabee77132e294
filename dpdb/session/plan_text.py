"""Parts of plans as JSON, so that what was released can be recognised by later sessions.

A record is written as its name and its fields, a column as its name alone: what is declared of it
is pinned by the terms. Only the records of these modules can be written and read.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping
from dataclasses import Field, fields, is_dataclass
from enum import StrEnum
from fractions import Fraction
from functools import cache
from typing import Any

from dpdb.plan import expressions, moments, plan, query, statistics
from dpdb.policy.budget import Neighbors
from dpdb.policy.catalog import Column, Kind
from dpdb.privacy import bracket, halves, mechanisms, sensitivity, walk

_MODULES = (
    expressions, moments, plan, query, statistics, bracket, halves, mechanisms, sensitivity, walk,
)  # fmt: skip
_RECORDS: Mapping[str, Any] = {
    name: record
    for module in _MODULES
    for name, record in vars(module).items()
    if inspect.isclass(record) and is_dataclass(record) and record is not Column
}
_ENUMS: Mapping[str, type[StrEnum]] = {
    each.__name__: each for each in (Kind, query.Function, moments.Moment, Neighbors)
}


def text_of(value: object) -> str:
    """A canonical text: equal values have the same; raises TypeError where there is none."""
    return json.dumps(written(value), sort_keys=True, separators=(",", ":"))


def written(value: object) -> Any:  # noqa: ANN401 (JSON)
    """The value in the types of JSON."""
    match value:
        case StrEnum():
            if type(value).__name__ not in _ENUMS:
                raise TypeError(f"no {type(value).__name__} is kept")
            return {type(value).__name__: value.value}
        case None | bool() | int() | float() | str():
            return value
        case Fraction():
            return {"/": [value.numerator, value.denominator]}
        case tuple():
            return [written(each) for each in value]
        case Column(name=name):
            return {"column": name}
    name = type(value).__name__
    if _RECORDS.get(name) is not type(value):
        raise TypeError(f"no {name} is kept")
    return {name: [written(getattr(value, field.name)) for field in _fields(_RECORDS[name])]}


def read(told: Any, columns: Mapping[str, Column]) -> Any:  # noqa: ANN401 (JSON)
    """The value that was written, with these columns; raises LookupError for any other column."""
    match told:
        case list():
            return tuple(read(each, columns) for each in told)
        case dict():
            ((name, inside),) = told.items()
            if name == "/":
                return Fraction(*inside)
            if name == "column":
                return columns[inside]
            if name in _ENUMS:
                return _ENUMS[name](inside)
            record = _RECORDS[name]
            values = (read(each, columns) for each in inside)
            names = (field.name for field in _fields(record))
            return record(**dict(zip(names, values, strict=True)))
    return told


@cache
def _fields(record: Any) -> tuple[Field[Any], ...]:  # noqa: ANN401 (a class)
    """The fields that two equal records have in common."""
    return tuple(field for field in fields(record) if field.init and field.compare)
