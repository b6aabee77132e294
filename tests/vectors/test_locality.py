"""What an expression is for a row is a function of that row alone.

Random expressions over all functions, operators and casts are worked out for rows
of hostile values: each row alone, in a subset, in a slice and among all. The
results must be the same to the bit, and of the same representation.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import pytest

from dpdb.plan.expressions.expressions import Expr
from dpdb.policy.catalog import Column, Kind
from dpdb.vectors import cast, evaluate
from dpdb.vectors import vector as vectors
from dpdb.vectors.columns import Codes, Numbers
from dpdb.vectors.evaluate import Frame, holds
from dpdb.vectors.vector import AnyVector, TextVector, Vector, distinct
from tests.support.row_expressions import (
    CELLS,
    ROWS,
    expressions,
    frame_of,
    parsed,
    random_cells,
)

KNOWN = [
    # Leaks that there were
    "CAST(CASE WHEN i = 5 THEN 0.0 ELSE k * 0.0 * -1 END AS TEXT) = '0.0'",
    "COALESCE(GREATEST(i, 9007199254740993), 0.5) = 9007199254740992",
]


@np.errstate(all="ignore")
def _values(expression: Expr, frame: Frame, rows: int) -> list[object]:
    """For each row its text, or a number's bytes, or None; what is under a NULL means nothing."""
    found = evaluate.evaluate(expression, frame)
    if isinstance(found, TextVector):
        texts: list[object] = [*found.dictionary, None]
        return [texts[code] for code in np.broadcast_to(found.codes, rows)]
    numbers = np.broadcast_to(found.values, rows)
    null = np.broadcast_to(False if found.null is None else found.null, rows)
    values = [None if null[row] else numbers[row].tobytes() for row in range(rows)]
    if expression.kind is Kind.BOOLEAN:
        with np.errstate(all="ignore"):
            true = np.broadcast_to(holds(expression, frame), rows)
        assert true.tolist() == [value == b"\1" for value in values]
    return values


def _representation(expression: Expr, frame: Frame) -> object:
    """What must follow from the expression and the policy."""
    with np.errstate(all="ignore"):
        found: AnyVector = evaluate.evaluate(expression, frame)
    if isinstance(found, TextVector):
        return "text"
    return found.values.dtype, found.null is None, len(found.values) == 1


@dataclass(frozen=True)
class World:
    """Rows, and some of them as tables of their own."""

    frame: Frame
    parts: list[tuple[list[int], Frame]]


def _world(seed: int) -> World:
    rows, chance = random_cells(seed), random.Random(seed)
    frame = frame_of(rows)
    start = chance.randrange(ROWS - 1)
    end = chance.randrange(start + 1, ROWS + 1)
    subset = sorted(chance.sample(range(ROWS), 7))
    parts = [
        (list(range(start, end)), frame.within(slice(start, end))),
        (
            subset,
            Frame({name: each.taken(np.array(subset)) for name, each in frame.columns.items()}),
        ),
        # Alone in a file, and so with a dictionary of its own.
        *(
            ([row], frame_of({name: [cells[row]] for name, cells in rows.items()}))
            for row in range(ROWS)
        ),
    ]
    return World(frame, parts)


def _first_difference(texts: Iterable[tuple[str, Expr]]) -> str | None:
    """How a row's value hangs on other rows, in the first expression where it does."""
    worlds = [_world(seed) for seed in range(6)]
    for number, (text, expression) in enumerate(texts):
        world = worlds[number % len(worlds)]
        among = _values(expression, world.frame, ROWS)
        for places, part in world.parts:
            found = _values(expression, part, len(places))
            if found != [among[place] for place in places]:
                return f"{text}: {found} where {[among[p] for p in places]} among all rows"
    return None


@pytest.mark.parametrize("seed", range(3))
def test_a_row_alone_is_what_it_is_among_others(seed: int) -> None:
    assert _first_difference(expressions(60, seed)) is None


@pytest.mark.parametrize("text", KNOWN)
def test_what_leaked_is_local(text: str) -> None:
    assert _first_difference([(text, parsed(text))] * 6) is None


def test_representations_follow_from_the_policy() -> None:
    """Doubles or booleans, and a mask or none, whatever the rows hold; zero has one sign."""
    plain = {name: ["5"] * ROWS for name in CELLS} | {"b": ["true"] * ROWS, "s": ["a"] * ROWS}
    plain["d"] = plain["p"] = plain["q"] = ["2020-02-29"] * ROWS
    worlds = [
        frame_of(rows) for rows in (random_cells(0), plain, {name: [""] * ROWS for name in CELLS})
    ]
    for text, expression in expressions(80, 7):
        assert len({_representation(expression, frame) for frame in worlds}) == 1, text
        assert np.float64(-0.0).tobytes() not in _values(expression, worlds[0], ROWS), text


def _old_finite(values: np.ndarray, null: np.ndarray | None) -> Vector:
    good = np.isfinite(values)
    if good.all():
        return Vector(values, null)
    return Vector(np.where(good, values, 0.0), vectors.either(null, ~good))


def _old_written(vector: Vector, source: Kind) -> TextVector:
    distinct, codes = np.unique(vector.values, return_inverse=True)
    texts = [cast._text(value, source) for value in distinct.tolist()]
    missing = np.array([not text for text in texts], dtype=bool)[codes]
    null = missing if vector.null is None else missing | vector.null
    return TextVector(np.where(null, len(texts), codes), tuple(texts))


def _old_constant(value: object, kind: Kind) -> AnyVector:
    if kind is Kind.INTEGER and isinstance(value, int) and abs(value) < 2**63:
        return Vector(np.array([value], dtype=np.int64))
    return vectors.constant(value, kind)  # type: ignore[arg-type]


def _old_column(held: Numbers | Codes, column: Column) -> AnyVector:
    """Integers as they are stored, and a mask where a cell of these rows is NULL."""
    if isinstance(held, Numbers) and column.kind is Kind.INTEGER:
        null = held.null if held.null is not None and held.null.any() else None
        return Vector(held.units, null)
    return _NEW_COLUMN(held, column)


_NEW_COLUMN = evaluate._column
Patches = list[tuple[object, str, Callable[..., object]]]
MUTANTS: dict[str, Patches] = {
    "CAST": [
        (cast, "_written", _old_written),
        (evaluate, "finite", _old_finite),
        (evaluate, "one_zero", lambda fresh: fresh),
    ],
    "COALESCE": [
        (Vector, "__post_init__", lambda vector: None),
        (evaluate, "constant", _old_constant),
        (evaluate, "_column", _old_column),
    ],
}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_old_leaks_would_be_found(mutant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for place, name, old in MUTANTS[mutant]:
        monkeypatch.setattr(place, name, old)
    known = ((text, parsed(text)) for text in KNOWN for _ in range(6))
    assert _first_difference(known) is not None


def test_no_other_representation_can_be_built() -> None:
    for dtype in (np.int64, np.float32, np.uint8, object):
        with pytest.raises(AssertionError):
            Vector(np.zeros(3, dtype=dtype))


@pytest.mark.parametrize("keys", [[], [5], [5, 5, 5], [3, -1, 3, 2**62, -(2**62), 0]])
def test_distinct_numbers_are_those_of_numpy(keys: list[int]) -> None:
    values = np.array(keys, dtype=np.int64)
    expected = np.unique(values, return_inverse=True)
    for found, wanted in zip(distinct(values), expected, strict=True):
        assert found.tolist() == wanted.tolist()
