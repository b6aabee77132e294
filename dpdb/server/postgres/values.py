"""Values of PostgreSQL's types, as text and in binary.

Parameters become JSON that `dpdb.sql.text.parameters.from_json` reads; cells of answers become
bytes. The type of a column follows from its kind alone.
"""

from __future__ import annotations

import datetime
import re
import struct
from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

from dpdb.answers.record import Cell
from dpdb.policy.catalog import Kind
from dpdb.server.postgres.protocol import Described
from dpdb.server.postgres.statements import ParameterKind

BOOL, INT8, INT2, INT4, TEXT, OID, FLOAT4, FLOAT8 = 16, 20, 21, 23, 25, 26, 700, 701
VARCHAR, DATE, TIMESTAMP, ZONED, NUMERIC, NAME, BPCHAR = 1043, 1082, 1114, 1184, 1700, 19, 1042
TYPES = {
    16: ("bool", "boolean", 1), 20: ("int8", "bigint", 8), 21: ("int2", "smallint", 2),
    23: ("int4", "integer", 4), 25: ("text", "text", -1), 26: ("oid", "oid", 4),
    19: ("name", "name", 64), 700: ("float4", "real", 4), 701: ("float8", "double precision", 8),
    1043: ("varchar", "character varying", -1), 1082: ("date", "date", 4),
    1114: ("timestamp", "timestamp without time zone", 8), 1700: ("numeric", "numeric", -1),
}  # fmt: skip
"""The types of the catalogue: the name, the name in SQL, and the bytes of a value."""
ARRAYS = {
    1000: BOOL, 1005: INT2, 1007: INT4, 1028: OID, 1016: INT8, 1021: FLOAT4, 1231: NUMERIC,
    1022: FLOAT8, 1182: DATE, 1185: ZONED, 1115: TIMESTAMP, 1003: NAME, 1014: BPCHAR,
    1015: VARCHAR, 1009: TEXT,
}  # fmt: skip
"""The types of arrays, and those of their members."""
_OIDS = {
    Kind.INTEGER: (INT8, 8),
    Kind.NUMBER: (FLOAT8, 8),
    Kind.TEXT: (TEXT, -1),
    Kind.BOOLEAN: (BOOL, 1),
    Kind.DATE: (DATE, 4),
    Kind.TIMESTAMP: (TIMESTAMP, 8),
}
"""The type of each kind, and the bytes of its values."""
_KINDS = {
    **dict.fromkeys((INT8, INT2, INT4, OID), Kind.INTEGER),
    **dict.fromkeys((FLOAT4, FLOAT8, NUMERIC), Kind.NUMBER),
    BOOL: Kind.BOOLEAN,
    DATE: Kind.DATE,
    **dict.fromkeys((TIMESTAMP, ZONED), Kind.TIMESTAMP),
}
_LISTS = {_KINDS.get(of, Kind.TEXT): oid for oid, of in ARRAYS.items()}
"""The type of an array for each kind of its members: the last of them."""
_RANGES = {
    INT2: (-(2**15), 2**15), INT4: (-(2**31), 2**31), INT8: (-(2**63), 2**63), OID: (0, 2**32)
}  # fmt: skip
_WHOLE_FORMS = {INT2: "!h", INT4: "!i", INT8: "!q", OID: "!I"}
"""The forms of whole numbers in binary."""
_EPOCH = datetime.datetime(2000, 1, 1)
"""The moment from which PostgreSQL counts."""
_INT8 = range(-(2**63), 2**63)
_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)(e[+-]?[0-9]{1,4})?", re.IGNORECASE)
_WHOLE = re.compile(r"\s*[+-]?[0-9]{1,30}\s*")
_ZONE = re.compile(r"( |:\d\d(?:\.\d{1,9})?)[+-]\d\d(?::\d\d)?\s*$")
"""The time zone that JDBC writes behind a date or a time of unknown type; PostgreSQL drops it."""
_LONGEST_NUMBER = 400
_MEMBER = re.compile(r'\s*(?:"((?:[^"\\]|\\.)*)"\s*|([^\s{}",\\][^{}",\\]*))(?:,|\Z)', re.DOTALL)
"""A member of an array that is written as `{1,"a b",NULL}`."""
_MOST_MEMBERS = 1000


class BadValue(Exception):
    """A value cannot be read as its type, or not be written as it."""


def described(name: str, kind: Kind) -> Described:
    """A column of this kind."""
    return Described(name, *_OIDS[kind])


def oid_of(kind: ParameterKind) -> int:
    """The type of a parameter's kind; a text where it is not known."""
    if isinstance(kind, tuple):
        return _LISTS[kind[0] or Kind.TEXT]
    return TEXT if kind is None else _OIDS[kind][0]


def kind_of(oid: int) -> ParameterKind:
    """The kind of a type's values; None for texts, which are read as constants would be."""
    return (_KINDS.get(ARRAYS[oid]),) if oid in ARRAYS else _KINDS.get(oid)


def parameter(sent: bytes | None, oid: int, *, binary: bool) -> Any:  # noqa: ANN401 (JSON)
    """A parameter as JSON, a tuple for an array; raises BadValue."""
    if sent is None:
        return None
    try:
        if oid in ARRAYS:
            parts = _members(sent) if binary else _written_members(sent.decode())
            return tuple(parameter(each, ARRAYS[oid], binary=binary) for each in parts)
        return (_binary if binary else _text)(sent, oid)
    except (ValueError, LookupError, struct.error, OverflowError, InvalidOperation):
        of = ARRAYS.get(oid, oid)
        named = TYPES[of][1] if of in TYPES else f"value of the type {of}"
        raise BadValue(f"a parameter is no {named}{'[]' if oid in ARRAYS else ''}") from None


def _written_members(told: str) -> list[bytes | None]:
    told = told.strip()
    if not (told.startswith("{") and told.endswith("}")):
        raise ValueError
    at, inside, members = 0, told[1:-1].rstrip(), list[bytes | None]()
    while at < len(inside):
        found = _MEMBER.match(inside, at)
        if found is None or (found.end() == len(inside) and inside.endswith(",")):
            raise ValueError
        quoted, plain = found.groups()
        text = re.sub(r"\\(.)", r"\1", quoted) if plain is None else plain.rstrip()
        _check_number(len(members))
        members.append(None if plain and text.upper() == "NULL" else text.encode())
        at = found.end()
    return members


def _check_number(members: int) -> None:
    if members > _MOST_MEMBERS:
        raise BadValue(f"an array has at most {_MOST_MEMBERS} members here")


def _members(sent: bytes) -> list[bytes | None]:
    """The members of an array in binary (array_send of PostgreSQL's source)."""
    dimensions, _, _ = struct.unpack("!iii", sent[:12])
    if dimensions == 0:
        return []
    (number, _), at, members = struct.unpack("!ii", sent[12:20]), 20, list[bytes | None]()
    if dimensions != 1:
        raise ValueError
    _check_number(number)
    for _ in range(number):
        (size,) = struct.unpack("!i", sent[at : at + 4])
        at += 4
        members.append(None if size < 0 else sent[at : at + size])
        at += max(size, 0)
    if number < 0 or at != len(sent):
        raise ValueError
    return members


def _text(sent: bytes, oid: int) -> Any:  # noqa: ANN401 (JSON)
    told = sent.decode()
    if "\0" in told:
        raise ValueError
    match oid:
        case 16:
            return TRUTHS[told.strip().lower()]
        case 20 | 21 | 23 | 26:
            return _whole(told, oid)
        case 700 | 701 | 1700:
            return _number(told)
        case 1082:
            return {"date": _moment(told).date().isoformat()}
        case 1114:
            return {"timestamp": _moment(told).replace(tzinfo=None).isoformat(" ")}
        case 1184:
            there = datetime.datetime.fromisoformat(told.strip())
            here = there.astimezone(datetime.UTC) if there.tzinfo else there
            return {"timestamp": here.replace(tzinfo=None).isoformat(" ")}
        case 0 | 705 | 25 | 1043 | 1042 | 19:
            return told
    raise BadValue(f"parameters of the type {oid} are not supported")


TRUTHS = dict.fromkeys(("t", "true", "1", "on", "yes", "y"), True) | dict.fromkeys(
    ("f", "false", "0", "off", "no", "n"), False
)


def _whole(told: str, oid: int) -> int:
    low, high = _RANGES[oid]
    if not _WHOLE.fullmatch(told) or not low <= int(told) < high:
        raise ValueError
    return int(told)


def _number(told: str) -> Any:  # noqa: ANN401 (JSON)
    stripped = told.strip()
    if len(stripped) > _LONGEST_NUMBER or not _NUMBER.fullmatch(stripped):
        raise ValueError
    return _real(Decimal(stripped))


def _real(number: Decimal) -> Any:  # noqa: ANN401 (JSON)
    """A number that is no whole one by its type, whatever its value."""
    written = str(number)
    return {"number": written if "." in written or "E" in written else f"{written}.0"}


def _moment(told: str) -> datetime.datetime:
    unzoned = _ZONE.sub(lambda zone: zone[1].strip(), told)
    return datetime.datetime.fromisoformat(unzoned.strip())


def _binary(sent: bytes, oid: int) -> Any:  # noqa: ANN401 (JSON)
    match oid:
        case 16:
            return bool(struct.unpack("!B", sent)[0])
        case 20 | 21 | 23 | 26:
            return struct.unpack(_WHOLE_FORMS[oid], sent)[0]
        case 700 | 701:
            value = struct.unpack("!f" if oid == FLOAT4 else "!d", sent)[0]
            return _number(repr(value))
        case 1082:
            days = struct.unpack("!i", sent)[0]
            return {"date": (_EPOCH.date() + datetime.timedelta(days)).isoformat()}
        case 1114 | 1184:
            moved = datetime.timedelta(microseconds=struct.unpack("!q", sent)[0])
            return {"timestamp": (_EPOCH + moved).isoformat(" ")}
        case 1700:
            return _real(_numeric(sent))
        case 0 | 25 | 1043 | 1042 | 19 | 705:
            return _text(sent, TEXT)
    raise BadValue(f"binary parameters of the type {oid} are not supported")


def _numeric(sent: bytes) -> Decimal:
    """A number in PostgreSQL's digits to the base 10,000 (numeric_send of its source)."""
    count, weight, sign, _ = struct.unpack("!hhHh", sent[:8])
    digits = struct.unpack(f"!{count}h", sent[8:])
    if sign not in (0, 0x4000) or count > 100 or abs(weight) > 100:
        raise ValueError
    if not all(0 <= each < 10_000 for each in digits):
        raise ValueError
    whole = int("".join(f"{each:04}" for each in digits) or "0")
    return Decimal(f"{'-' if sign else ''}{whole}E{4 * (weight - count + 1)}")


def cell(value: Cell, kind: Kind, *, binary: bool) -> bytes | None:
    """A cell as a client reads it; raises BadValue where its type has no such value."""
    if value is None:
        return None
    return _WRITTEN[kind](value) if binary else _shown(value, kind).encode(errors="replace")


def _shown(value: Any, kind: Kind) -> str:  # noqa: ANN401 (a cell)
    match kind:
        case Kind.BOOLEAN:
            return "t" if value else "f"
        case Kind.NUMBER:
            return repr(float(value)).removesuffix(".0")
    return str(value)


def _int8(value: Any) -> bytes:  # noqa: ANN401 (a cell)
    if value not in _INT8:
        raise BadValue("a whole number of the answer does not fit 64 bits")
    return struct.pack("!q", value)


def _date(value: Any) -> bytes:  # noqa: ANN401 (a cell)
    return struct.pack("!i", (datetime.date.fromisoformat(value) - _EPOCH.date()).days)


def _timestamp(value: Any) -> bytes:  # noqa: ANN401 (a cell)
    moved = datetime.datetime.fromisoformat(value) - _EPOCH
    return struct.pack("!q", moved // datetime.timedelta(microseconds=1))


_WRITTEN: Mapping[Kind, Callable[[Any], bytes]] = {
    Kind.INTEGER: _int8,
    Kind.NUMBER: lambda value: struct.pack("!d", float(value)),
    Kind.TEXT: lambda value: str(value).encode(errors="replace"),
    Kind.BOOLEAN: lambda value: b"\1" if value else b"\0",
    Kind.DATE: _date,
    Kind.TIMESTAMP: _timestamp,
}
"""The values of each kind in binary."""
