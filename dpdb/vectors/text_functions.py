"""The functions of texts, over vectors: each text of the dictionary is worked out once."""

from __future__ import annotations

from collections.abc import Callable

from dpdb.plan.expressions.expressions import Call, Literal
from dpdb.plan.expressions.text_functions import TEXT_CHANGES, text_change
from dpdb.policy.catalog import Kind
from dpdb.vectors.vector import AnyVector, TextVector

_NUMBERS: dict[str, Callable[..., int]] = {
    "length": len,
    "position": lambda text, part: text.find(part) + 1,
}
_TRUTHS: dict[str, Callable[[str, str], bool]] = {
    "starts_with": str.startswith,
    "ends_with": str.endswith,
    "contains": str.__contains__,
}
_PATTERN = "regexp_contains"
TEXT_CALLS = frozenset((*_NUMBERS, *_TRUTHS, _PATTERN, *TEXT_CHANGES))


def text_call(call: Call, operand: AnyVector) -> AnyVector:
    """The value of a call; what follows the text are constants."""
    assert isinstance(operand, TextVector)
    constants = [
        part.value
        for part in call.arguments[1:]
        if isinstance(part, Literal) and part.value is not None
    ]
    if call.name in _NUMBERS:
        number = _NUMBERS[call.name]
        return operand.look_up(lambda text: number(text, *constants), Kind.INTEGER)
    if call.name in _TRUTHS:
        truth, part = _TRUTHS[call.name], str(constants[0])
        return operand.look_up(lambda text: truth(text, part), Kind.BOOLEAN)
    if call.name == _PATTERN:
        from dpdb.plan.expressions.regular_expressions import searcher  # noqa: PLC0415 (few queries have any)

        return operand.look_up(searcher(str(constants[0])), Kind.BOOLEAN)
    return operand.map(text_change(call.name, constants))
