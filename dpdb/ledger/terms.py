"""The terms of a lasting budget: the data owner's word, as the ledger keeps it.

They say all that is public about the data but where its files are, so that a copied or renamed file
finds the same budget. A session may ask for less than the terms allow, never for more, and for
nothing that changes what an answer tells.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from dpdb.errors import LedgerError
from dpdb.policy.budget import Budget, Composition, LastingBudget, Neighbors, Timing
from dpdb.policy.catalog import LONGEST_TEXT, Column, Kind, Policy, Table, Value, usual_rows_held
from dpdb.policy.cell_format import PLAIN, CellFormat
from dpdb.policy.csv.csv_format import CsvFormat
from dpdb.policy.names import OwnedBy, Reference
from dpdb.policy.numbers import ratio

TermTexts = Mapping[str, Any]
"""A policy in the types of JSON; numbers that are no whole ones are fractions in a text."""
_LIMITS = ("epsilon", "delta", "queries")
"""The terms that a session may lower."""


def described(policy: Policy) -> TermTexts:
    """The policy as terms, without the places of files."""
    budget, lasting = policy.budget, policy.lasting
    return {
        "name": None if lasting is None else lasting.name,
        "epsilon": str(budget.epsilon),
        "delta": str(budget.delta),
        "queries": budget.queries,
        "composition": str(budget.composition),
        "queries_in_all": None if lasting is None else lasting.queries_in_all,
        "analysts": None if lasting is None or lasting.analysts is None
        else {name: str(limit) for name, limit in lasting.analysts},
        "window": None if lasting is None else lasting.period,
        "anchored": lasting is not None and lasting.anchor is not None,
        "neighbors": str(policy.neighbors),
        "noise": policy.noise,
        "sample_key": policy.sample_key,
        "timing": None if policy.timing is Timing.PLAIN else str(policy.timing),
        "unit": None if policy.unit == Policy.unit else policy.unit,
        "minimum_units": None if policy.minimum_units == 1 else policy.minimum_units,
        "tables": {table.name: _described_table(table) for table in policy.tables},
    }  # fmt: skip


_PUBLIC = ("epsilon", "delta", "queries", "composition", "neighbors", "noise", "timing", "unit",
           "minimum_units", "name", "window")  # fmt: skip
"""The terms of the whole policy that an analyst is told: no key, and no other analyst."""
_ELSEWHERE = Path("on a server")
_STORED: TermTexts = {"csv": {}, "stored_as": None}
"""The terms of a table that tell how its rows are stored, as of a table that is anywhere."""


def public_terms(policy: Policy) -> TermTexts:
    """The terms as an analyst is told them, who is given no file; `policy_in` reads them."""
    terms = described(policy)
    tables = {
        name: {
            **table,
            **_STORED,
            "columns": {c: {**told, "cells": None} for c, told in table["columns"].items()},
        }
        for name, table in terms["tables"].items()
    }
    return {**{name: terms[name] for name in _PUBLIC}, "tables": tables}


def policy_in(terms: TermTexts) -> Policy:
    """The policy that these public terms describe; its tables have no rows here."""
    name, window = terms["name"], terms["window"]
    lasting = None if name is None else LastingBudget(name, _ELSEWHERE, period=window)
    return Policy(
        tuple(replace(table, path=_ELSEWHERE) for table in tables_in(terms)),
        budget_in(terms),
        neighbors_in(terms),
        terms["noise"],
        lasting=lasting,
        timing=Timing(terms["timing"] or Timing.PLAIN),
        unit=terms["unit"] or Policy.unit,
        minimum_units=terms["minimum_units"] or 1,
    )


def budget_in(terms: TermTexts) -> Budget:
    """The budget that these terms describe."""
    return Budget(
        ratio(terms["epsilon"]),
        ratio(terms["delta"]),
        terms["queries"],
        Composition(terms["composition"]),
    )


def neighbors_in(terms: TermTexts) -> Neighbors:
    """The neighbour relation that these terms name."""
    return Neighbors(terms["neighbors"])


def tables_in(terms: TermTexts) -> tuple[Table, ...]:
    """The tables that these terms describe; their files are anywhere."""
    return tuple(
        Table(
            name,
            Path(),
            tuple(
                Column(each, Kind(of["type"]), **_read(_COLUMN, of))
                for each, of in told["columns"].items()
            ),
            rows_per_unit=_rows_in(told),
            rows_held_per_unit=told.get("rows_held_per_unit"),
            finds_cap=told["rows_per_unit"] == "find",
            **_read(_TABLE, told),
        )
        for name, told in terms["tables"].items()
    )


_CALLED = {"window": "period", "unit": "unit_name"}
"""The keys of the policy that ledgers have under the names of earlier versions."""


def check_session(terms: TermTexts, policy: Policy) -> None:
    """Refuse a session whose policy, options included, is not within the terms."""
    asked = described(policy)
    differing = [
        (key, there, here)
        for key, there, here in _differences(terms, asked)
        if not (key in _LIMITS and Fraction(here) <= Fraction(there))
        and not (key == "timing" and there is None)
    ]
    if not differing:
        return
    shown = "; ".join(f"{_CALLED.get(key, key)} is {_text(there)} there, {_text(here)} here"
                      for key, there, here in differing[:3])  # fmt: skip
    more = f", and {len(differing) - 3} more" if len(differing) > 3 else ""
    raise LedgerError(
        f"this is not what the ledger of {terms['name']} was opened for: {shown}{more}",
        hint="options can ask for less of the budget; a changed policy is for its data owner: "
        "dpdb budget accept POLICY --why …",
    )


def _described_table(table: Table) -> TermTexts:
    """The declaration of a table."""
    return {
        **_written(_TABLE, table),
        "rows_per_unit": "find" if table.finds_cap else table.rows_per_unit,
        "columns": {
            column.name: {"type": str(column.kind), **_written(_COLUMN, column)}
            for column in table.columns
        },
        "rows_held_per_unit": _held(table),
    }


def _held(table: Table) -> int | None:
    """The rows of a unit that are held, where they are not the usual number."""
    held = table.rows_held_per_unit
    least = 1 if table.finds_cap else table.rows_per_unit
    usual = table.has_one_row_per_unit or table.owners or held == usual_rows_held(least)
    return None if usual else held


def _rows_in(table: TermTexts) -> int:
    """The rows of a unit that can count: where a cap on them is found, all that are held."""
    rows, held = table["rows_per_unit"], table.get("rows_held_per_unit")
    return int((held or usual_rows_held(1)) if rows == "find" else rows)


def _reference(named: Reference | None) -> list[str] | None:
    more = () if named is None else (name for pair in named.also for name in pair)
    return None if named is None else [named.table, named.column, *more]


def _reference_in(told: Sequence[str] | None) -> Reference | None:
    if told is None:
        return None
    table, column, *more = told
    return Reference(table, column, tuple(zip(more[::2], more[1::2], strict=True)))


def _tagged(values: Sequence[Value]) -> list[bool | int | str | list[str]]:
    """Declared values; a fraction is a list of one text, as text is a value itself."""
    return [[str(value)] if isinstance(value, Fraction) else value for value in values]


def _untagged(told: Sequence[Any]) -> tuple[Value, ...]:
    return tuple(ratio(value[0]) if isinstance(value, list) else value for value in told)


def _csv(form: CsvFormat) -> TermTexts:
    later = {"multiline": None if form.multiline else False, "comment": form.comment or None,
             "skip": form.skip or None}  # fmt: skip
    return {**asdict(form), **later}


def _csv_in(told: TermTexts) -> CsvFormat:
    return CsvFormat(**{key: value for key, value in told.items() if value is not None})


def _cells(form: CellFormat) -> TermTexts | None:
    lists = {"formats": list(form.formats), "null": list(form.null)}
    return None if form == PLAIN else {**asdict(form), **lists}


def _cells_in(told: TermTexts) -> CellFormat:
    return CellFormat(**{**told, "formats": tuple(told["formats"]), "null": tuple(told["null"])})


def _owners(owners: Sequence[OwnedBy]) -> list[list[Any]] | None:
    return [[each.kind, each.column, _reference(each.chain)] for each in owners] or None


def _owners_in(told: Sequence[Sequence[Any]]) -> tuple[OwnedBy, ...]:
    return tuple(OwnedBy(kind, column, _reference_in(chain)) for kind, column, chain in told)


_Forms = Mapping[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]]
"""The functions that write the value of each field into the terms, and read it.

A field is None in the terms where it has its default, and may be missing in older ledgers.
"""
_AS_IT_IS = (lambda value: value, lambda value: value)
_COLUMN: _Forms = {
    **dict.fromkeys(("lower", "upper", "step"), (str, ratio)),
    "values": (_tagged, _untagged),
    **dict.fromkeys(("nullable", "tight", "guessed"), _AS_IT_IS),
    **dict.fromkeys(("references", "values_from"), (_reference, _reference_in)),
    "length": (lambda most: None if most == LONGEST_TEXT else most, int),
    "cells": (_cells, _cells_in),
}
_TABLE: _Forms = {
    **dict.fromkeys(("unit", "groups_per_unit", "stored_as"), _AS_IT_IS),
    "csv": (_csv, _csv_in),
    "chain": (_reference, _reference_in),
    "public": (lambda public: public or None, bool),
    "key": (lambda names: sorted(names) or None, tuple),
    "at_most": (lambda most: dict(most) or None, lambda told: tuple(told.items())),
    "kind": (lambda kind: kind or None, str),
    "owners": (_owners, _owners_in),
}


def _written(forms: _Forms, record: Column | Table) -> dict[str, Any]:
    values = {name: getattr(record, name) for name in forms}
    return {k: None if value is None else forms[k][0](value) for k, value in values.items()}


def _read(forms: _Forms, told: TermTexts) -> dict[str, Any]:
    return {name: forms[name][1](told[name]) for name in forms if told.get(name) is not None}


def _differences(there: Any, here: Any, key: str = "") -> Iterator[tuple[str, Any, Any]]:  # noqa: ANN401
    """The keys whose values differ, with both values; a missing one is None."""
    if isinstance(there, Mapping) and isinstance(here, Mapping):
        for name in {**there, **here}:
            below = f"{key}.{name}" if key else name
            yield from _differences(there.get(name), here.get(name), below)
    elif there != here:
        yield key, there, here


def _text(value: object) -> str:
    """A value as a message shows it."""
    match value:
        case None:
            return "not declared"
        case Mapping():
            return "declared"
        case list():
            return "another list" if len(str(value)) > 40 else str(value)
        case _:
            return str(value)
