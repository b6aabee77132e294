"""The options of BigQuery's clause that say again what the policy says.

One that asks for less of each unit than the policy counts is kept. One that asks for more is
refused, and so is one that would leave out declared groups: that is what HAVING is for.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlglot.tokenizer_core import Token

from dpdb.errors import InvalidOption, Place
from dpdb.plan.group_keys import found_places
from dpdb.plan.owners import unit_columns
from dpdb.plan.query import Query
from dpdb.plan.relations import Joined, Source
from dpdb.policy.catalog import Table
from dpdb.policy.records import changed
from dpdb.sql import option_names
from dpdb.sql.literals import number

PUBLIC = "PUBLIC_GROUPS"
"""The strategy that shows all groups of declared or public keys."""


@dataclass(frozen=True)
class WrittenOption:
    """One option as written."""

    name: str
    value: list[Token]
    place: Place


def agreed(terms: tuple[WrittenOption, ...], table: Source, *, grouped: bool) -> Source:
    """The table as a query with these terms reads it: with the policy's caps or lower ones."""
    rows, groups = table.rows_per_unit, table.groups_per_unit
    for term in terms:
        match term.name:
            case "privacy_unit_column":
                _check_unit(term, table)
            case "max_rows_contributed":
                rows = _at_most(term, table, table.rows_per_unit)
            case "max_groups_contributed" | "kappa":
                groups = _at_most(term, table, groups or table.rows_per_unit)
    capped = grouped and groups is not None and groups < rows
    if not isinstance(table, Joined):
        return changed(table, rows_per_unit=rows, groups_per_unit=groups if capped else None)
    if capped:
        raise InvalidOption(
            f"the {rows} rows of a unit can be in more groups than {groups}",
            hint=f"max_rows_contributed = {groups} keeps each unit within so many groups",
            place=terms[0].place,
        )
    return changed(table, rows_per_unit=rows)


def counts_only_units(terms: tuple[WrittenOption, ...]) -> bool:
    """Whether groups are asked for as public: rows that belong to no unit then count for nothing.

    In BigQuery the public side of an outer join lists the groups so, each with what units have.
    """
    return any(term.name == "group_selection_strategy" and _is(term, PUBLIC) for term in terms)


def with_key_terms(query: Query, terms: tuple[WrittenOption, ...]) -> Query:
    """The query with the terms on which of its groups are shown.

    Declared groups are all shown. A query can ask for some of the groups that are found in the
    data.
    """
    found = bool(terms) and bool(found_places(query.keys, query.where))
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
    # The name may stand behind that of its table.
    before = [token.text for token in term.value[1:-1]] if len(term.value) > 1 else ["."]
    if before == ["."] and any(named == name.split(".")[-1].casefold() for name in own):
        return
    unit = f"the column {min(own)}" if own else f"a {table.unit_in_words}"
    raise InvalidOption(f"the privacy unit of {_called(table)} is {unit}", place=term.place)


def _called(source: Source) -> str:
    """A table of the policy by its name, or those of which another is made together."""
    return source.name if type(source) is Table else "these tables"


def _is(term: WrittenOption, strategy: str) -> bool:
    return [token.text.upper() for token in term.value] == [strategy]


def _check_strategy(term: WrittenOption, *, found: bool) -> None:
    """Refuse a strategy that is not that of the query's keys."""
    if found and not _is(term, "LAPLACE_THRESHOLD"):
        raise InvalidOption(
            "group_selection_strategy is LAPLACE_THRESHOLD for keys that are found in the data",
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
    asked = _whole(term)
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
