"""The options of one query: OPTIONS(name = value, …), read and checked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from sqlglot.tokenizer_core import Token, TokenType

from dpdb.errors import InvalidOption, Place, SyntaxFault, UnknownName, did_you_mean
from dpdb.plan.query import NO_OPTIONS, Options
from dpdb.policy.budget import valid_delta, valid_epsilon
from dpdb.sql.literals import number
from dpdb.sql.option_names import INTERVALS, MECHANISMS, OPTIONS, SENSITIVITIES, TERMS
from dpdb.sql.terms import WrittenOption
from dpdb.sql.trees import place_at

MAX_INDEX = 200
_TINY = Fraction(1, 10**12)
_FORBIDDEN = (
    ("error", "epsilon"),
    ("error", "relative_error"),
    ("error", "noise_index"),
    ("relative_error", "noise_index"),
)


def read_options(text: str, tokens: list[Token]) -> tuple[Options, tuple[WrittenOption, ...]]:
    """The options that `tokens`, a part of `text`, write; those on the policy's terms apart."""
    options = NO_OPTIONS
    read: dict[str, WrittenOption] = {}
    for item in _items(text, tokens):
        if item.name not in (*OPTIONS, *TERMS):
            known = [*OPTIONS, *TERMS]
            hint = did_you_mean(item.name, known) or f"options are {', '.join(known)}"
            raise UnknownName(f"no option {item.name}", hint=hint, place=item.place)
        if item.name in read:
            raise InvalidOption(f"{item.name} is given twice", place=item.place)
        read[item.name] = item
        if item.name in OPTIONS:
            options = replace(options, **{item.name: _value(item)})  # type: ignore[arg-type]
    terms = tuple(item for name, item in read.items() if name not in OPTIONS)
    return _consistent(options), terms


def _items(text: str, tokens: list[Token]) -> Iterator[WrittenOption]:
    """The items between commas; a comma within brackets belongs to an item."""
    pieces: list[list[Token]] = [[]]
    depth = 0
    for token in tokens:
        depth += _DEPTH.get(token.token_type, 0)
        if token.token_type is TokenType.COMMA and not depth:
            pieces.append([])
        else:
            pieces[-1].append(token)
    for piece in pieces:
        where = place_at(piece[0].start, text) if piece else Place(1, 1)
        if len(piece) < 3 or piece[1].token_type is not TokenType.EQ:
            raise SyntaxFault("an option is written name = value", place=where)
        yield WrittenOption(piece[0].text.lower(), piece[2:], where)


_DEPTH = {TokenType.L_BRACKET: 1, TokenType.R_BRACKET: -1}


def _value(item: WrittenOption) -> Fraction | str | tuple[Fraction, ...]:
    match item.name:
        case "epsilon":
            return valid_epsilon(number(item.value, item.place), item.place)
        case "delta":
            return valid_delta(number(item.value, item.place), item.place)
        case "noise_index":
            return _index(item)
        case "error":
            return _between(item, _TINY, Fraction(10**100), "1e-12 and 1e100")
        case "relative_error":
            return _between(item, _TINY, 1 - _TINY, "0 and 1")
        case "confidence":
            return _between(item, _TINY, 1 - Fraction(1, 10**9), "0 and 0.999999999")
        case "mechanism":
            return _word(item, MECHANISMS)
        case "interval":
            return _word(item, INTERVALS)
    return _word(item, SENSITIVITIES)


def _between(item: WrittenOption, least: Fraction, most: Fraction, span: str) -> Fraction:
    value = number(item.value, item.place)
    if not least <= value <= most:
        raise InvalidOption(f"{item.name} must be between {span}", place=item.place)
    return value


def _word(item: WrittenOption, known: tuple[str, ...]) -> str:
    word = item.value[0].text.lower()
    if len(item.value) > 1 or word not in known:
        listed = " or ".join(f"'{name}'" for name in known)
        raise InvalidOption(f"{item.name} is {listed}", place=item.place)
    return word


def _index(item: WrittenOption) -> tuple[Fraction, ...]:
    ends = item.value[0].token_type, item.value[-1].token_type
    if ends != (TokenType.L_BRACKET, TokenType.R_BRACKET):
        raise InvalidOption("noise_index is a list: [1, 10]", place=item.place)
    numbers: list[list[Token]] = [[]]
    for token in item.value[1:-1]:
        if token.token_type is TokenType.COMMA:
            numbers.append([])
        else:
            numbers[-1].append(token)
    if len(numbers) > MAX_INDEX:
        raise InvalidOption(f"noise_index has {MAX_INDEX} numbers at most", place=item.place)
    index = tuple(number(each, item.place) for each in numbers)
    if not all(_TINY <= value <= 1 / _TINY for value in index):
        raise InvalidOption("an index must be between 1e-12 and 1e12", place=item.place)
    return index


def _consistent(options: Options) -> Options:
    for one, other in _FORBIDDEN:
        if getattr(options, one) is not None and getattr(options, other) is not None:
            raise InvalidOption(f"{one} and {other} exclude each other")
    if options.confidence is not None and not (options.error or options.relative_error):
        raise InvalidOption("confidence goes with error or relative_error")
    return options
