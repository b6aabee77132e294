"""Each function of the allow-list is evaluated as what it is, and no other name is a function."""

from __future__ import annotations

from itertools import product

import pytest

from dpdb.errors import InternalError
from dpdb.plan.expressions.expressions import Call, Literal
from dpdb.plan.expressions.functions import CALLS, FUNCTIONS, MAY_BE_NULL, TEXT_CALLS
from dpdb.plan.expressions.text_functions import LONGEST_JOINED, text_function
from dpdb.policy.catalog import Kind
from dpdb.vectors.evaluate import Frame, evaluate
from dpdb.vectors.functions import real_call
from dpdb.vectors.vector import TextVector, Vector

NUMBER, TEXT = Literal(1, Kind.INTEGER), Literal("%Y-%j", Kind.TEXT)
UNIT = {"date_trunc": "month", "timestamp_trunc": "hour", "elapsed": "hour"}
COUNTS = {"clamp": 3, "elapsed": 2}
PAIRS = ("round", "power", "atan2", "least", "greatest", "nullif", "coalesce", "months_later",
         "timestamp_months_later")  # fmt: skip


def call_of(name):
    if name in ("concat", "tuple"):
        return Call(name, (TEXT, TEXT), Kind.TEXT)
    if name in TEXT_CALLS:
        kinds = next(each.kinds for each in FUNCTIONS.values() if each.call == name)
        constants = [TEXT if kind is Kind.TEXT else NUMBER for kind, constant in kinds if constant]
        return Call(name, (TEXT, *constants), Kind.TEXT)
    unit = (Literal(UNIT[name], Kind.TEXT),) if name in UNIT else ()
    count = COUNTS.get(name, 2 if name in PAIRS else 1)
    return Call(name, (*unit, *[NUMBER] * count), Kind.INTEGER)


@pytest.mark.parametrize("name", sorted(CALLS))
def test_each_function_is_evaluated(name):
    assert isinstance(evaluate(call_of(name), Frame({}, {})), Vector | TextVector)


@pytest.mark.parametrize("name", ["median", "split_parts", ""])
def test_no_other_name_falls_through_to_one(name):
    with pytest.raises(InternalError):
        Call(name, (NUMBER,), Kind.INTEGER)
    with pytest.raises(InternalError):
        real_call(name, [], [], None)


TEXTS = [
    *("".join(each) for number in range(5) for each in product(" -a0\n\ud800É", repeat=number)),
    *(each * (10_000 // len(each)) for each in (" ", "-", "a", "0", "é", "a-b", " a  ")),
    *(
        "2020-001",
        "1 Feb 00 23:59-23:59",
        "a9999-12-31 12:00:00.5pm-",
        "0001-366",
        "2020-0" + "1" * 9,
    ),
]
CONSTANTS = {
    Kind.TEXT: ["a", " ", "-a", "xy" * 40],
    Kind.INTEGER: [-(10**9), -2, 0, 1, 3, 10**9],
}
FORMATS = ["%Y-%j", "%d %b %y %H:%M%z", "a%Y-%m-%d %I:%M:%S.%f%p-"]
PYTHON = {
    Kind.TEXT: str, Kind.INTEGER: int, Kind.BOOLEAN: bool, Kind.DATE: int, Kind.TIMESTAMP: int,
}  # fmt: skip


def calls_of(function):
    """The calls of a function of texts, with and without the constants that can be left out."""
    kinds = [CONSTANTS[kind] for kind, constant in function.kinds if constant]
    kinds = [FORMATS] if function.call in ("strptime", "parse_date") else kinds
    least = 0 if "[" in function.parameters else len(kinds)
    for number in range(least, len(kinds) + 1):
        for values in product(*kinds[:number]):
            if function.accepts(1 + number):
                constants = [Literal(each, Kind.TEXT) for each in values]
                yield Call(function.call, (TEXT, *constants), Kind(function.result.rstrip("?")))


@pytest.mark.parametrize("name", sorted(TEXT_CALLS))
def test_function_has_a_value_for_every_text(name):
    """No text makes it fail, or give more than the plan counts on: see `texts_of`."""
    function = next(each for each in FUNCTIONS.values() if each.call == name and each.result)
    for call in calls_of(function):
        value_of = text_function(call)
        for text in TEXTS:
            value = value_of(text)
            if value is None:
                assert name in MAY_BE_NULL
                continue
            assert type(value) is PYTHON[call.kind]
            if call.kind is Kind.TEXT:
                longest = max(len(text), LONGEST_JOINED) if name == "replace" else len(text)
                assert len(value) <= longest
