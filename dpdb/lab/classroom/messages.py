"""Messages between the referee and a student's process: JSON, checked where it comes from there.

A message is its length in `HEAD` bytes and its text. Nothing that a player wrote is unpickled.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from fractions import Fraction
from typing import Any, cast

from dpdb.errors import DpdbError
from dpdb.lab.attack import Attack
from dpdb.lab.database import MANY, Defence, Unprotected
from dpdb.lab.foils import (
    DoubleLaplace,
    EachItsOwn,
    LocalSensitivity,
    QuerySetSize,
    Rounded,
    RowsAsUnits,
    Sticky,
)
from dpdb.lab.scenario import Scenario

Plain = bool | int | float | str | None | tuple["Plain", ...]


Json = Any
"""A value of JSON. Whoever reads it checks it."""
HEAD = 4
"""Bytes of a message's length, the highest first."""
LONGEST = 16 << 20
"""Bytes of the longest message."""
UIDS = range(61184, 65520)
"""Users for boxes: the range that systemd keeps for users of one program each."""


class Unfit(Exception):
    """A student's file, or what comes out of it, is not what is needed; the message says why."""


def packed(message: Json) -> bytes:
    """The bytes of a message."""
    text = json.dumps(message, allow_nan=False).encode()
    return len(text).to_bytes(HEAD) + text


def unpacked(text: bytes) -> Json:
    """The message of a text; raises ValueError or RecursionError where it is no JSON."""

    def refuse(constant: str) -> None:
        raise ValueError(constant)

    return json.loads(text, parse_constant=refuse)


def plain(value: object) -> Plain:
    """A number, a text, or a tuple of them, as JSON can carry it; numpy's become Python's.

    JSON turns tuples into lists, and so it is also the value that was sent as JSON.
    """
    value = getattr(value, "tolist", lambda: value)()
    match value:
        case None | bool():
            return value
        case str():
            return text_of(value, "a value")
        case int():
            return int(value)
        case float() if math.isfinite(value):
            return float(value)
        case float():
            raise Unfit(f"a finite number is needed, not {value}")
        case Sequence():
            return tuple(map(plain, value))
    raise Unfit(f"a number, a text or a tuple of them is needed, not {type(value).__name__}")


Fields = Mapping[str, Any]
"""A JSON object."""
STORY = ("title", "source", "secret", "idea", "remedy")
"""The texts of an attack, all of them optional in a file."""
OF_THE_WAY = ("idea", "remedy")
"""The texts on the way to ask, which a file does not inherit with the secret of an attack."""
NUMBERS = ("queries", "trials", "worlds", "distance")
LONGEST_TEXT = 2000
_FRACTION = re.compile(r"[0-9]{1,50}(/[0-9]{1,50})?")
MOST_ROWS = 100_000
DEFENCES: dict[str, type[Defence]] = {
    kind.__name__: kind
    for kind in (
        *(Unprotected, Rounded, QuerySetSize, Sticky, EachItsOwn),
        *(LocalSensitivity, DoubleLaplace, RowsAsUnits),
    )
}
"""The defences that a file can name: those that are made of numbers and texts."""


def described(attack: Attack) -> Fields:
    """An attack without its code."""
    return {
        "story": {
            name: str(vars(type(attack)).get(name, ""))
            if name in OF_THE_WAY
            else str(getattr(attack, name, ""))
            for name in STORY
        },
        **{name: plain(getattr(attack, name)) for name in NUMBERS},
        "off": _sent(attack.off),
        "foils": [_sent(foil) for foil in attack.foils],
    }


def description(sent: Fields) -> Fields:
    """The attributes of the attack that `described` has sent."""
    most = {"worlds": 10**100}
    numbers = {
        name: None
        if name == "worlds" and sent[name] is None
        else _whole(sent[name], name, most.get(name, MANY))
        for name in NUMBERS
    }
    return {
        **{name: text_of(sent["story"][name], name)[:LONGEST_TEXT] for name in STORY},
        **numbers,
        "off": _defence(sent["off"]),
        "foils": tuple(map(_defence, sent["foils"])),
    }


def dealt(scenario: object) -> Fields:
    """A scenario as plain values: its cells are texts, as in a CSV file."""
    if not isinstance(scenario, Scenario):
        raise Unfit(f"scenario returned {type(scenario).__name__}, not Scenario(columns, rows, …)")
    if not isinstance(scenario.columns, str):
        raise Unfit("the columns of a Scenario are needed as text, as in a policy")
    return {
        "columns": scenario.columns,
        "rows": [["" if cell is None else str(cell) for cell in row] for row in scenario.rows],
        "truth": plain(scenario.truth),
        "table": scenario.table,
        "neighbors": str(scenario.neighbors),
        "unit": scenario.unit,
        "rows_per_unit": scenario.rows_per_unit,
    }


def scenario(sent: Fields) -> Scenario:
    """The scenario that `dealt` has sent. The table's name becomes a file's: a plain word."""
    table, unit = text_of(sent["table"], "table"), sent["unit"]
    if not re.fullmatch(r"[A-Za-z]\w{0,40}", table, flags=re.ASCII):
        raise Unfit(f"a table cannot be called {table[:50]}")
    if sent["neighbors"] not in ("replace", "add-remove"):
        raise Unfit("neighbors is 'replace' or 'add-remove'")
    if len(sent["rows"]) > MOST_ROWS:
        raise Unfit(f"a scenario has at most {MOST_ROWS} rows")
    made = Scenario(
        columns=text_of(sent["columns"], "columns"),
        rows=[tuple(text_of(cell, "a cell") for cell in row) for row in sent["rows"]],
        truth=plain(sent["truth"]),
        table=table,
        neighbors=sent["neighbors"],
        unit=unit,
        rows_per_unit=_whole(sent["rows_per_unit"], "rows_per_unit", MANY),
    )
    try:
        names = [column.name for column in made.declared]
    except DpdbError as error:
        raise Unfit(f"the columns of its scenario: {error.message}") from None
    if unit is not None and unit not in names:
        raise Unfit(f"the unit is not one of the columns {', '.join(names)}")
    if any(len(row) != len(names) for row in made.rows):
        raise Unfit(f"not every row has a cell for each of {', '.join(names)}")
    return made


def _sent(defence: Defence) -> Fields:
    kind = type(defence).__name__
    if DEFENCES.get(kind) is not type(defence):
        raise Unfit(f"off and foils of a file are made of {', '.join(DEFENCES)}, not of {kind}")
    values = {
        name: str(value) if isinstance(value, Fraction) else plain(value)
        for name, value in vars(defence).items()
    }
    return {"kind": kind, **values}


def _defence(sent: Fields) -> Defence:
    kind = DEFENCES[sent["kind"]]
    declared = fields(cast("Any", kind))
    return kind(**{field.name: _field(str(field.type), sent[field.name]) for field in declared})


def _field(kind: str, value: object) -> object:
    """The value of a defence's field, of the type that the field is declared with."""
    read: dict[str, Callable[[object], object]] = {
        "int": lambda v: _whole(v, "a number of a defence", MANY),
        "str": lambda v: text_of(v, "a name of a defence"),
        "float": _positive,
        "float | None": lambda v: None if v is None else _positive(v),
        "Fraction": _fraction,
    }
    return read[kind](value)


def _positive(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < MANY:
        raise Unfit(f"a defence's numbers are above 0 and below {MANY}")
    return value


def _fraction(value: object) -> Fraction:
    text = text_of(value, "a fraction")
    # Fraction itself reads 1e999999999, too, and would be at it for ever.
    if not _FRACTION.fullmatch(text):
        raise Unfit("a fraction of a defence is too long")
    exact = Fraction(text)
    _positive(float(exact))
    return exact


def _whole(value: object, name: str, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
        raise Unfit(f"{name} is a whole number, and at least 1")
    return value


def text_of(value: object, name: str) -> str:
    """The value, if it is a text; raises Unfit, which calls it `name`, if not."""
    if not isinstance(value, str):
        raise Unfit(f"{name} is a text")
    if not value.isascii() and any("\ud800" <= character <= "\udfff" for character in value):
        raise Unfit(f"{name} has half a character in it")
    return value
