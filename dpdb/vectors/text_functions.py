"""The functions of texts, over vectors: each text of the dictionary is worked out once."""

from __future__ import annotations

from collections.abc import Callable

from dpdb.plan.expressions import Call, Literal
from dpdb.plan.folding import lower, upper
from dpdb.policy.catalog import Kind, Value
from dpdb.vectors.vector import LONGEST_JOINED, AnyVector, TextVector

_NUMBERS: dict[str, Callable[..., int]] = {
    "length": len,
    "position": lambda text, part: text.find(part) + 1,
}
_TRUTHS: dict[str, Callable[[str, str], bool]] = {
    "starts_with": str.startswith,
    "ends_with": str.endswith,
    "contains": str.__contains__,
}
TEXT_CALLS = frozenset(
    (*_NUMBERS, *_TRUTHS, "lower", "upper", "trim", "ltrim", "rtrim", "substr", "left", "right",
     "replace", "split_part")
)  # fmt: skip


def text_call(call: Call, operand: AnyVector) -> AnyVector:
    """The value of a call; what follows the text are constants."""
    assert isinstance(operand, TextVector)
    constants = [part.value for part in call.arguments[1:] if isinstance(part, Literal)]
    if call.name in _NUMBERS:
        number = _NUMBERS[call.name]
        return operand.look_up(lambda text: number(text, *constants), Kind.INTEGER)
    if call.name in _TRUTHS:
        truth, [part] = _TRUTHS[call.name], constants
        return operand.look_up(lambda text: truth(text, str(part)), Kind.BOOLEAN)
    known = [value for value in constants if value is not None]
    if call.name == "replace":
        old, new = map(str, known)
        return operand.map_some(lambda text: _replaced(text, old, new))
    return operand.map(_change(call.name, known))


def _change(name: str, constants: list[Value]) -> Callable[[str], str]:
    match name, constants:
        case "lower", _:
            return lower
        case "upper", _:
            return upper
        case "trim" | "ltrim" | "rtrim", _:
            strip = {"trim": str.strip, "ltrim": str.lstrip, "rtrim": str.rstrip}[name]
            characters = str(constants[0]) if constants else " "
            return lambda text: strip(text, characters)
        case "substr", [int(start), *length]:
            begin = max(start - 1, 0)
            end = None if not length else max(begin, start - 1 + max(0, int(length[0])))
            return lambda text: text[begin:end]
        case "left", [int(number)]:
            return lambda text: text[:number]
        case "right", [int(number)] if number < 0:
            return lambda text: text[-number:]
        case "right", [int(number)]:
            return lambda text: text[max(len(text) - number, 0) :]
    separator, number = str(constants[0]), int(constants[1])
    return lambda text: _part(text.split(separator), number)


def _replaced(text: str, old: str, new: str) -> str | None:
    """The text with every `old` replaced; None if that makes it too long."""
    if not old:
        return text
    longer = text.count(old) * (len(new) - len(old))
    return None if longer > 0 and len(text) + longer > LONGEST_JOINED else text.replace(old, new)


def _part(parts: list[str], number: int) -> str:
    """The part of this number from 1, or from -1 at the end; the empty text if there is none."""
    place = number - 1 if number > 0 else len(parts) + number
    return parts[place] if 0 <= place < len(parts) else ""
