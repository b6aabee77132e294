"""The options of BigQuery's clause that say again what the policy says.

One that asks for less of each unit than the policy counts is kept. One that asks for more is
refused, and so is one that would change which groups are shown: that is what HAVING is for.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlglot.tokenizer_core import Token

from dpdb.errors import InvalidOption, Place
from dpdb.plan.relations import Source, unit_columns
from dpdb.policy.catalog import Table
from dpdb.sql import option_names
from dpdb.sql.literals import number

_GROUPS = ("max_groups_contributed", "kappa")


@dataclass(frozen=True)
class Option:
    """One option as written."""

    name: str
    value: list[Token]
    place: Place


def agreed(terms: tuple[Option, ...], table: Source, *, grouped: bool) -> Source:
    """The table as a query with these terms reads it: with the policy's cap or a lower one."""
    rows = table.rows_per_unit
    for term in terms:
        match term.name:
            case "privacy_unit_column":
                _check_unit(term, table)
            case "max_rows_contributed":
                rows = _at_most(term, table)
            case "group_selection_strategy":
                _check_strategy(term)
            case option_names.THRESHOLD:
                _refuse_threshold(term, table)
    for term in terms:
        if term.name in _GROUPS:
            _check_groups(term, table, rows if grouped else 1)
    return replace(table, rows_per_unit=rows)


def _check_unit(term: Option, table: Source) -> None:
    named = term.value[-1].text.casefold()
    own = unit_columns(table)
    if len(term.value) == 1 and any(named == name.split(".")[-1].casefold() for name in own):
        return
    unit = f"the column {min(own)}" if own else f"a {table.unit_in_words}"
    raise InvalidOption(f"the privacy unit of {_called(table)} is {unit}", place=term.place)


def _called(source: Source) -> str:
    """A table by its name, or several together."""
    return source.name if isinstance(source, Table) else "these tables"


def _check_strategy(term: Option) -> None:
    if [token.text.upper() for token in term.value] != ["PUBLIC_GROUPS"]:
        raise InvalidOption(
            "group_selection_strategy is PUBLIC_GROUPS",
            hint="groups are those that the policy declares; each is shown, also without rows",
            place=term.place,
        )


def _refuse_threshold(term: Option, table: Source) -> None:
    own = unit_columns(table)
    units = f"DISTINCT {min(own)}" if own else "*"
    raise InvalidOption(
        "groups are public, and each is shown, however few units it has",
        hint=f"HAVING COUNT({units}) >= {_whole(term)} leaves out those with fewer, by the noise",
        place=term.place,
    )


def _check_groups(term: Option, table: Source, reached: int) -> None:
    """Refuse a number of groups below that which the rows of a unit can reach."""
    groups = _at_most(term, table)
    if groups < reached:
        raise InvalidOption(
            f"the {reached} rows of a unit can be in more groups than {groups}",
            hint=f"max_rows_contributed = {groups} keeps each unit within so many groups",
            place=term.place,
        )


def _at_most(term: Option, table: Source) -> int:
    """The number of the term, which is no greater than the policy's cap on rows."""
    asked, most = _whole(term), table.rows_per_unit
    if asked > most:
        cap = "each row is a unit" if table.unit is None else f"rows_per_unit is {most}"
        raise InvalidOption(
            f"{term.name} is {most} at most for {_called(table)}",
            hint=f"in the policy {cap}",
            place=term.place,
        )
    return asked


def _whole(term: Option) -> int:
    value = number(term.value, term.place)
    if value.denominator != 1 or value < 1:
        raise InvalidOption(f"{term.name} is a whole number, at least 1", place=term.place)
    return int(value)
