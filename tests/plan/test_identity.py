"""The identity of a structure: every field of every type has a say in it, and nothing else."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import dpdb.plan
import dpdb.policy
import dpdb.privacy
from dpdb.errors import Place
from dpdb.plan.expressions.expressions import ColumnRef, Literal
from dpdb.plan.identity import canonical, identity
from dpdb.plan.logical.query import Aggregate, Function
from dpdb.policy.catalog import Column, Kind, Table
from dpdb.records import is_frozen


def _types() -> Iterator[type[Any]]:
    """All frozen records of the rooms from which plans are made, each once."""
    modules = [
        importlib.import_module(found.name)
        for room in (dpdb.plan, dpdb.policy, dpdb.privacy)
        for found in pkgutil.walk_packages(room.__path__, f"{room.__name__}.")
        if ".noise" not in found.name
    ]
    known = {
        each
        for module in modules
        for each in vars(module).values()
        if is_dataclass(each) and inspect.isclass(each) and not inspect.isabstract(each) and each.__module__ == module.__name__
        and is_frozen(each)
    }  # fmt: skip
    yield from sorted(known, key=lambda each: (each.__module__, each.__qualname__))


TYPES = tuple(_types())


def _record(kind: type[Any], name: str = "", value: object = None) -> Any:
    """A record in whose fields stand their own names, but in one of them that value."""
    record = object.__new__(kind)
    for each in fields(kind):
        vars(record)[each.name] = value if each.name == name else f"the {each.name}"
    return record


@pytest.mark.parametrize("kind", TYPES)
def test_a_field_is_part_of_the_identity_exactly_where_it_is_compared(kind: type[Any]) -> None:
    """Of a stored table the policy's terms and the digest pin all but the name and the caps."""
    assert identity(_record(kind)) == identity(_record(kind))
    for each in fields(kind):
        one, other = _record(kind), _record(kind, each.name, "another")
        caps = "name", "rows_per_unit", "groups_per_unit"
        told = each.name in caps if kind is Table else each.compare
        assert (identity(one) != identity(other)) is told, each.name
        assert (canonical(one) != canonical(other)) is told, each.name


@pytest.mark.parametrize("kind", [kind for kind in TYPES if kind is not Table])
def test_a_default_is_not_taken_for_a_value_like_it(kind: type[Any]) -> None:
    """`False == 0 == Fraction(0)`, and they are not the same."""
    for each in fields(kind):
        if each.compare and isinstance(each.default, bool | int):
            alike = int if isinstance(each.default, bool) else Fraction
            values = each.default, alike(each.default)
            assert len({identity(_record(kind, each.name, value)) for value in values}) == 2


def test_no_two_types_have_one_name() -> None:
    """The canonical text has the name of a type, and not that of its module, which may move."""
    assert Counter(each.__qualname__ for each in TYPES).most_common(1)[0][1] == 1


VALUES: list[object] = [
    None, True, False, 0, 1, -1, "", "0", "None", "true", '"', "[]", "\ud800", 0.0, 1.0, -0.0,
    float("inf"), 0.1, Fraction(1), Fraction(1, 10), (), ((),), (1,), ("1",), (1, 1), ((1,), 1),
    ((1, 1),), (None,), ("a", "b"), ("a,b",), frozenset(), frozenset({1}), frozenset({1, 2}), {},
    {1: 2}, {"1": 2}, {2: 1}, Kind.TEXT, "text", Function.COUNT, Path("text"), Path("a/text"),
    ("/", 1, 10), {"/": (1, 10)}, Literal(1, Kind.INTEGER), Literal(1, Kind.NUMBER),
    Literal(True, Kind.BOOLEAN), Literal(Fraction(1), Kind.NUMBER),
]  # fmt: skip


def test_different_values_have_different_texts() -> None:
    assert len({canonical(value) for value in VALUES}) == len(VALUES)
    assert len({identity((value,)) for value in VALUES}) == len(VALUES)


def test_the_order_in_which_a_set_was_made_has_no_say() -> None:
    assert identity(frozenset(["a", "b", "c"])) == identity(frozenset(["c", "b", "a"]))
    assert identity({"a": 1, "b": 2}) == identity({"b": 2, "a": 1})


def test_where_something_stands_in_the_text_has_no_say() -> None:
    one, other = (Aggregate(Function.COUNT, place=Place(line, 1)) for line in (1, 2))
    assert identity(one) == identity(other)


def test_a_label_has_no_say() -> None:
    columns = [Column("a1", Kind.INTEGER, label=label) for label in ("x", "y")]
    assert identity(ColumnRef(columns[0])) == identity(ColumnRef(columns[1]))
    assert [column.called for column in columns] == ["x", "y"]


@dataclass
class Changing:
    """A record that can be changed, and so has no identity."""


@pytest.mark.parametrize("value", [object(), 1j, b"", Changing(), Kind, len])
def test_other_types_have_no_identity(value: object) -> None:
    with pytest.raises(TypeError, match="has no identity"):
        identity((value,))
