"""The options of one query, and those of BigQuery's clause that repeat the policy.

An option that asks for less of each unit than the policy counts is kept. An option that asks for
more is refused, and so is one that would leave out declared groups: HAVING does that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction

from sqlglot.tokenizer_core import Token, TokenType

from dpdb.errors import InternalError, InvalidOption, Place, SyntaxFault, UnknownName, did_you_mean
from dpdb.plan.logical.query import NO_OPTIONS, Options, Query
from dpdb.plan.relations.privacy_ids import unit_columns
from dpdb.plan.relations.relations import Joined, Source
from dpdb.policy.budget import valid_delta, valid_epsilon
from dpdb.policy.catalog import Table
from dpdb.policy.numbers import Number, as_written
from dpdb.privacy.mechanisms.kinds import NoiseKind
from dpdb.records import changed, dataclass
from dpdb.sql.syntax import option_names
from dpdb.sql.syntax.literals import between_commas, number
from dpdb.sql.syntax.option_names import OPTIONS, SENSITIVITIES, TERMS, WORDS
from dpdb.sql.syntax.trees import place_at

PUBLIC = "PUBLIC_GROUPS"
"""The strategy that shows all groups of declared or public keys."""


@dataclass(frozen=True)
class WrittenOption:
    """An option as written."""

    name: str
    value: list[Token]
    place: Place


Terms = Mapping[int | None, tuple[WrittenOption, ...]]
"""The options on the policy's terms, by the place of the SELECT in which they are written."""
NO_TERMS: Terms = {}


def agreed(terms: tuple[WrittenOption, ...], table: Source, *, grouped: bool) -> Source:
    """The table as a query with these terms reads it: with the policy's caps or lower ones."""
    rows, groups = table.rows_per_unit, table.groups_per_unit
    for term in terms:
        match term.name:
            case "privacy_unit_column":
                _check_unit(term, table)
            case "max_rows_contributed":
                rows = _at_most(term, table, table.rows_per_unit)
            case "max_groups_contributed" | "kappa" if groups is None and _is(term, "NULL"):
                pass  # NULL is no limit, as in the policy.
            case "max_groups_contributed" | "kappa":
                groups = _at_most(term, table, groups or table.rows_per_unit)
    capped = grouped and groups is not None and groups < rows
    if not isinstance(table, Joined):
        within = groups if capped else None
        finds = table.finds_cap and rows == table.rows_per_unit
        return changed(table, rows_per_unit=rows, groups_per_unit=within, finds_cap=finds)
    if capped:
        raise InvalidOption(
            f"the {rows} rows of a unit can be in more groups than {groups}",
            hint=f"max_rows_contributed = {groups} keeps each unit within so many groups",
            place=terms[0].place,
        )
    return changed(table, rows_per_unit=rows)


def counts_only_units(terms: tuple[WrittenOption, ...]) -> bool:
    """Whether the options ask for public groups, in which rows without a unit do not count.

    In BigQuery the public side of an outer join lists the groups.
    """
    return any(term.name == "group_selection_strategy" and _is(term, PUBLIC) for term in terms)


def with_key_terms(query: Query, terms: tuple[WrittenOption, ...]) -> Query:
    """The query with the terms on which of its groups are shown.

    Declared groups are all shown. A query can ask for some of the groups that are found in the
    data.
    """
    found = bool(terms) and bool(query.found_places)
    for term in terms:
        if term.name == "group_selection_strategy":
            _check_strategy(term, found=found)
        elif term.name == option_names.THRESHOLD:
            if not found:
                _refuse_threshold(term, query.table)
            query = replace(query, least_units=_whole(term))
    return query


def _check_unit(term: WrittenOption, table: Source) -> None:
    own, named = unit_columns(table), term.value[-1].text.casefold()
    # The column's name may be qualified by its table.
    before = [token.text for token in term.value[1:-1]] if len(term.value) > 1 else ["."]
    if before == ["."] and any(named == name.split(".")[-1].casefold() for name in own):
        return
    unit = f"the column {min(own)}" if own else f"a {table.unit_in_words}"
    hint = "leave the option out: the policy says whom a row is about"
    message = f"the privacy unit of {_called(table)} is {unit}"
    raise InvalidOption(message, hint=hint, place=term.place)


def _called(source: Source) -> str:
    """A table of the policy by its name; "these tables" for a made or joined table."""
    return source.name if type(source) is Table else "these tables"


def _is(term: WrittenOption, strategy: str) -> bool:
    return [token.text.upper() for token in term.value] == [strategy]


def _check_strategy(term: WrittenOption, *, found: bool) -> None:
    """Refuse a strategy that does not fit the query's keys."""
    if found and not _is(term, "LAPLACE_THRESHOLD"):
        raise InvalidOption(
            "group_selection_strategy is LAPLACE_THRESHOLD for groups found in the data",
            hint="public groups are those that the policy declares: list them as values",
            place=term.place,
        )
    if not found and not _is(term, PUBLIC):
        raise InvalidOption(
            "group_selection_strategy is PUBLIC_GROUPS",
            hint="groups are those that the policy declares; each is shown, also without rows",
            place=term.place,
        )


def _refuse_threshold(term: WrittenOption, table: Source) -> None:
    own = unit_columns(table)
    units = f"DISTINCT {min(own)}" if own else "*"
    raise InvalidOption(
        "groups are public, and each is shown, however few units it has",
        hint=f"HAVING COUNT({units}) >= {_whole(term)} leaves out those with fewer, by the noise",
        place=term.place,
    )


def _at_most(term: WrittenOption, table: Source, most: int) -> int:
    """The number of the term, which is no greater than the policy's cap."""
    asked = most + 1 if _is(term, "NULL") else _whole(term)
    if asked > most:
        cap = f"rows_per_unit is {table.rows_per_unit}"
        if table.unit is None:
            cap = "each row is a unit"
        elif most < table.rows_per_unit:
            cap = f"groups_per_unit is {most}"
        raise InvalidOption(
            f"{term.name} is {most} at most for {_called(table)}",
            hint=f"in the policy {cap}",
            place=term.place,
        )
    return asked


def _whole(term: WrittenOption) -> int:
    value = number(term.value, term.place)
    if value.denominator != 1 or value < 1:
        raise InvalidOption(f"{term.name} is a whole number, at least 1", place=term.place)
    return int(value)


MAX_INDEX = 200
_TINY = Fraction(1, 10**12)
_FORBIDDEN = (
    ("error", "epsilon"),
    ("error", "relative_error"),
    ("error", "noise_index"),
    ("relative_error", "noise_index"),
)


def read_options(text: str, tokens: list[Token]) -> tuple[Options, tuple[WrittenOption, ...]]:
    """The options that `tokens` of `text` write, and those on the policy's terms."""
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
    for piece in between_commas(tokens):
        where = place_at(piece[0].start, text) if piece else Place(1, 1)
        if len(piece) < 3 or piece[1].token_type is not TokenType.EQ:
            raise SyntaxFault("an option is written name = value", place=where)
        yield WrittenOption(piece[0].text.lower(), piece[2:], where)


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
            return NoiseKind(_word(item, tuple(NoiseKind)))
        case "interval" | "nonnegative" | "goal" | "bounds" | "rows_per_unit" as name:
            return _word(item, WORDS[name])
        case "sensitivity":
            return _word(item, SENSITIVITIES)
    raise InternalError(f"there is no option {item.name}")


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
    numbers = between_commas(item.value[1:-1])
    if len(numbers) > MAX_INDEX:
        raise InvalidOption(f"noise_index has {MAX_INDEX} numbers at most", place=item.place)
    index = tuple(number(each, item.place) for each in numbers)
    if not all(_TINY <= value <= 1 / _TINY for value in index):
        raise InvalidOption("an index must be between 1e-12 and 1e12", place=item.place)
    return index


def with_share(options: Options, epsilon: Number | None, delta: Number | None) -> Options:
    """The options of a query with the ε and δ that a program asks for besides its text."""
    for name, value, valid in (("epsilon", epsilon, valid_epsilon), ("delta", delta, valid_delta)):
        if value is None:
            continue
        if getattr(options, name) is not None:
            raise InvalidOption(f"{name} is given twice")
        if (exact := as_written(value)) is None:
            raise InvalidOption(f"{name} is a number")
        options = replace(options, **{name: valid(exact)})  # type: ignore[arg-type]
    return _consistent(options)


def _consistent(options: Options) -> Options:
    for one, other in _FORBIDDEN:
        if getattr(options, one) is not None and getattr(options, other) is not None:
            raise InvalidOption(f"{one} and {other} exclude each other")
    if options.confidence is not None and not (options.error or options.relative_error):
        raise InvalidOption("confidence goes with error or relative_error")
    return options
