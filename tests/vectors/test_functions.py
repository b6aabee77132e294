"""Each function of the allow-list is evaluated as what it is, and no other name is a function."""

from __future__ import annotations

import pytest

from dpdb.errors import InternalError
from dpdb.plan.expressions.expressions import Call, Literal
from dpdb.plan.expressions.functions import CALLS, FUNCTIONS, MAY_BE_NULL, TEXT_CALLS
from dpdb.plan.expressions.text_functions import text_function
from dpdb.policy.catalog import Kind
from dpdb.vectors.evaluate import Frame, evaluate
from dpdb.vectors.real_functions import real_call
from dpdb.vectors.vector import TextVector, Vector

NUMBER, TEXT = Literal(1, Kind.INTEGER), Literal("a", Kind.TEXT)
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


@pytest.mark.parametrize("name", sorted(TEXT_CALLS - MAY_BE_NULL))
def test_function_without_a_mark_has_a_value_for_every_text(name):
    function = text_function(call_of(name))
    assert None not in map(function, ["", "a", "a-b" * 999, "ä\n", "\ud800"])
