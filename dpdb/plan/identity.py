"""The identity of a record: a canonical text of all its fields, and the hash of that text.

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
from dataclasses import fields
from enum import Enum
from fractions import Fraction
from functools import cache
from pathlib import PurePath
from typing import Any

from dpdb.policy.catalog import Column, Table
from dpdb.records import is_frozen

_PURPOSE = "dpdb identity 2"
"""Prefix that separates these hashes from all others and from other versions of the text."""
_HASH, _TEXT = "_identity", "_canonical"
"""The attributes in which a frozen record caches its identity and its canonical text."""
_LONGEST_KEPT = 1_000
"""The most characters of a canonical text that is cached."""
_WRITTEN_AS = {"segments": "atoms"}
"""Fields with another name in ledgers, which keeps what was released under it."""
_CONSTANTS = {None: "null", True: "true", False: "false"}
_quoted = json.encoder.encode_basestring_ascii


def identity(thing: object) -> str:
    """The SHA-256 of the canonical text, in hexadecimal; raises TypeError where there is none."""
    held = vars(thing) if _is_record(thing) else {}
    if _HASH not in held:
        held[_HASH] = hashlib.sha256(f"{_PURPOSE} {canonical(thing)}".encode()).hexdigest()
    return str(held[_HASH])


def canonical(thing: object) -> str:
    """The canonical text; raises TypeError for what is of a type that has none."""
    return _record(thing) if _is_record(thing) else _told(thing)


def _told(thing: object) -> str:
    """A value as JSON; types without JSON are objects of one entry, keyed by the type's name."""
    kind = type(thing)
    if kind is str:
        return _quoted(str(thing))
    if _is_record(thing):
        if _is_large(thing):
            return f'{{"{kind.__name__}":"{identity(thing)}"}}'
        return _record(thing)
    match thing:
        case Enum():
            return f'{{"{kind.__name__}":{_told(thing.value)}}}'
        case None | bool():
            return _CONSTANTS[thing]
        case int():
            return int.__repr__(thing)
        case float():
            return f'{{"float":"{thing.hex()}"}}'
        case Fraction():
            return f'{{"/":[{thing.numerator},{thing.denominator}]}}'
        case tuple() | list():
            return f"[{','.join(map(_told, thing))}]"
        case frozenset() | set():
            return f'{{"set":[{",".join(sorted(map(canonical, thing)))}]}}'
        case Mapping():
            pairs = sorted(f"[{canonical(key)},{canonical(thing[key])}]" for key in thing)
            return f'{{"map":[{",".join(pairs)}]}}'
        case PurePath():
            return f'{{"path":{_quoted(str(thing))}}}'
    raise TypeError(f"{kind.__name__} has no identity")


def _is_record(thing: object) -> bool:
    kind: Any = type(thing)
    return _compared(kind) is not None


def _is_large(thing: object) -> bool:
    """Whether the record's hash stands for it, because it is long and used in many places.

    True for tables that a SELECT makes and for columns with declared values.
    """
    made = isinstance(thing, Table) and type(thing) is not Table
    return made or (isinstance(thing, Column) and thing.values is not None)


def _record(thing: object) -> str:
    """A record as JSON: its type's name and the compared fields that differ from their default.

    Fields with their default are left out, so that a field added by a later version changes
    nothing that was written before.
    """
    held: dict[str, Any] = vars(thing)
    kind: Any = type(thing)
    if _TEXT in held:
        return str(held[_TEXT])
    if isinstance(thing, Table) and kind is Table:
        # The budget's terms pin the table's other declarations, and the digests pin its rows.
        inside = _told([thing.name, thing.rows_per_unit, thing.groups_per_unit])
    else:
        told = []
        for name, written, default in _compared(kind) or ():
            value = getattr(thing, name)
            if value is not default and not (type(value) is type(default) and value == default):
                told.append(f'"{written}":{_told(value)}')
        inside = f"{{{','.join(told)}}}"
    text = f'{{"{kind.__name__}":{inside}}}'
    if len(text) <= _LONGEST_KEPT:
        held[_TEXT] = text
    return text


@cache
def _compared(kind: Any) -> tuple[tuple[str, str, object], ...] | None:  # noqa: ANN401 (a class)
    """The fields of a record that are compared, with names in ledgers and defaults; or None.

    Raises TypeError for a record that can change.
    """
    if not hasattr(kind, "__dataclass_fields__"):
        return None
    if not is_frozen(kind):
        raise TypeError(f"{kind.__name__} has no identity")
    compared = [(each.name, each.default) for each in fields(kind) if each.compare]
    return tuple((name, _WRITTEN_AS.get(name, name), default) for name, default in compared)
