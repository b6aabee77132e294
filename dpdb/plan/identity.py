"""By what two things are known to be the same: a canonical text of all fields, and its hash.

Two plans draw the same noise, two tables hold the same rows and two releases are levels of one
series where all fields of their types are equal. A text that is made to be read leaves some out:
then the sum of one column would be answered from the sum of another. The canonical text leaves out
only the fields that compare nothing (`compare=False`: labels, and places in a statement); but for
them it is injective. So its hash can stand for the structure, in memory and in a ledger.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import Enum
from fractions import Fraction
from functools import cache
from pathlib import PurePath
from typing import Any

from dpdb.policy.catalog import Column, Table

_PURPOSE = "dpdb identity 2"
"""Sets these hashes apart from all others, and from those of another canonical text."""
_HELD = "_identity"
"""The attribute in which a record keeps its identity: it never changes."""
_PLAIN = {type(None), bool, int, str}


def identity(thing: object) -> str:
    """The SHA-256 of the canonical text, in hexadecimal; raises TypeError where there is none."""
    if not is_dataclass(thing):
        return _hash(_told(thing))
    held = vars(thing)
    if _HELD not in held:
        held[_HELD] = _hash(_record(thing))
    return str(held[_HELD])


def canonical(thing: object) -> str:
    """The canonical text; raises TypeError for what is of a type that has none."""
    return _text(_record(thing) if is_dataclass(thing) else _told(thing))


def _hash(told: object) -> str:
    return hashlib.sha256(f"{_PURPOSE} {_text(told)}".encode()).hexdigest()


def _text(told: object) -> str:
    return json.dumps(told, separators=(",", ":"))


def _told(thing: object) -> Any:  # noqa: ANN401 (JSON)
    """A value in the types of JSON; an object of JSON has one entry, by the name of the type."""
    if type(thing) in _PLAIN:
        return thing
    if is_dataclass(thing):
        return {type(thing).__name__: identity(thing)} if _is_large(thing) else _record(thing)
    match thing:
        case Enum():
            return {type(thing).__name__: thing.value}
        case float():
            return {"float": thing.hex()}
        case Fraction():
            return {"/": [thing.numerator, thing.denominator]}
        case tuple() | list():
            # Thousands of plain values are common; JSON tells these apart itself.
            return thing if {*map(type, thing)} <= _PLAIN else [_told(each) for each in thing]
        case frozenset() | set():
            return {"set": sorted(canonical(each) for each in thing)}
        case Mapping():
            return {"map": sorted([canonical(key), canonical(thing[key])] for key in thing)}
        case PurePath():
            return {"path": str(thing)}
    raise TypeError(f"{type(thing).__name__} has no identity")


def _is_large(thing: object) -> bool:
    """Whether a hash stands for a record, as it can be long and stand in many places.

    So it is with tables that a SELECT makes, and with columns that declare their values.
    """
    made = isinstance(thing, Table) and type(thing) is not Table
    return made or (isinstance(thing, Column) and thing.values is not None)


def _record(thing: Any) -> dict[str, Any]:  # noqa: ANN401 (a record)
    """A record by the name of its type, with each of the fields that two equal ones have in common.

    Those that have their default are left out, so that a field that a later version adds changes
    nothing that was written before.
    """
    if type(thing) is Table:
        # What else is declared of it, and its rows, are pinned by a budget's terms and digests.
        return {"Table": [thing.name, thing.rows_per_unit, thing.groups_per_unit]}
    kind: Any = type(thing)
    if not kind.__dataclass_params__.frozen:
        raise TypeError(f"{kind.__name__} has no identity")
    values = ((each, getattr(thing, each.name)) for each in _compared(kind))
    told = {each.name: _told(value) for each, value in values if not _is_default(each, value)}
    return {kind.__name__: told}


def _is_default(each: Field[Any], value: object) -> bool:
    if each.default is MISSING or type(value) is not type(each.default):
        return False
    return bool(value == each.default)


@cache
def _compared(record: Any) -> tuple[Field[Any], ...]:  # noqa: ANN401 (a class)
    return tuple(each for each in fields(record) if each.compare)
