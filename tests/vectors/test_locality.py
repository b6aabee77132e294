"""What an expression is for a row is a function of that row alone.

Random expressions over all functions, operators and casts are worked out for rows
of hostile values: each row alone, in a subset, in a slice and among all. The
results must be the same to the bit, and of the same representation.
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from dpdb.errors import TypeMismatch
from dpdb.plan.expressions import Expr
from dpdb.policy.catalog import Column, Kind, Policy, Table
from dpdb.sql.statements import Select, statement
from dpdb.vectors import cast, evaluate
from dpdb.vectors import vector as vectors
from dpdb.vectors.columns import Codes, Numbers
from dpdb.vectors.evaluate import Frame, holds
from dpdb.vectors.vector import AnyVector, TextVector, Vector
from tests.support.brute import read_cells

LIMIT = Fraction(2**53)
COLUMNS = (
    Column("i", Kind.INTEGER),
    Column("k", Kind.INTEGER, -LIMIT, LIMIT, nullable=False),
    Column("j", Kind.INTEGER, Fraction(-3), Fraction(7), values=(7, 0, -3, 1)),
    Column("n", Kind.NUMBER, Fraction(-100), Fraction(100), step=Fraction(1, 100)),
    Column("f", Kind.NUMBER),
    Column("b", Kind.BOOLEAN),
    Column("t", Kind.TEXT),
    Column("s", Kind.TEXT, values=("a", "B", "10%"), nullable=False),
    Column("d", Kind.DATE),
    Column("p", Kind.TIMESTAMP),
    Column("q", Kind.TIMESTAMP, step=Fraction(10**6)),
)
CELLS = {
    "i": "0 -1 5 9007199254740992 -9007199254740991 9007199254740993 9223372036854775808",
    "k": "0 -1 5 9007199254740992 -9007199254740991 9007199254740993 9223372036854775808",
    "j": "7 0 -3 1 2",
    "n": "0 -0.0 -0.01 99.99 33.33 0.5 -2.5",
    "f": "-0.0 5e-324 -5e-324 1e300 -1e300 1.7e308 0.1 9007199254740993 9223372036854775808 2.5",
    "b": "true false",
    "t": "a A 5 -0.0 2.5 1e300 true 2020-02-29 2020-02-29T12:00:00Z É ß 9007199254740993 aXb",
    "s": "a B 10%",
    "d": "1970-01-01 2020-02-29 0001-01-01 9999-12-31",
    "p": "1970-01-01T00:00:00 2020-02-29T23:59:59.999999 1700-01-01 2199-12-31T23:59:59.999999 soon"
    " 1969-12-31T23:59:59.999999Z 2020-03-01T00:59:59.999999+01:00 9999-12-31 2020-02-30T00:00:00",
    "q": "1970-01-01T00:00:00.5 1969-12-31T23:59:59.5 1700-01-01T00:00+14:00 2199-12-31T23:59:59.9",
}
CONSTANTS = [
    "0", "1", "-1", "0.5", "2.5", "-0.0", "5e-324", "1e300", "9007199254740991",
    "9007199254740992", "9007199254740993", "9223372036854775808", "(0.0 * -1)",
    "NULLIF(1, 1)", "365",
]  # fmt: skip
ROWS = 16
SHAPES = {
    "number": [
        *[f"({{number}} {sign} {{number}})" for sign in "+-*/%"],
        *[f"{name}({{number}})" for name in ("ABS", "FLOOR", "CEIL", "ROUND", "-")],
        "ROUND({number}, 2)", "ROUND({number}, -3)", "LEAST({number}, {number}, {number})",
        "GREATEST({number}, {number})", "CLAMP({number}, -5, {number})",
        "COALESCE({number}, {number})", "COALESCE({number}, {number}, {number})",
        "NULLIF({number}, {number})", "CASE WHEN {truth} THEN {number} ELSE {number} END",
        "CASE {text} WHEN {text} THEN {number} END", "IF({truth}, {number}, {number})",
        "LENGTH({text})", "({date} - {date})", "CAST({number} AS INTEGER)",
        "CAST({text} AS NUMBER)", "CAST({text} AS INTEGER)", "CAST({truth} AS INTEGER)",
        "CAST({truth} AS NUMBER)", "CAST({date} AS INTEGER)",
        *[f"{name}({{number}})" for name in ("SQRT", "CBRT", "EXP", "LN", "LOG2", "SIN", "TAN")],
        *[f"{name}({{number}})" for name in ("ASIN", "ACOS", "ATAN", "TRUNC", "SIGN")],
        "POWER({number}, {number})", "ATAN2({number}, {number})", "POSITION('a' IN {text})",
        *[f"{name}({{date}})" for name in ("YEAR", "QUARTER", "MONTH", "WEEK", "DAYOFYEAR")],
        "DATE_DIFF('month', {date}, {date})", "DATE_DIFF('hour', {moment}, {moment})",
        *[f"{name}({{moment}})" for name in ("YEAR", "WEEK", "HOUR", "MINUTE", "SECOND", "EPOCH")],
        "TIMESTAMP_DIFF({moment}, {moment}, MINUTE)", "EXTRACT(EPOCH FROM {moment} - {moment})",
    ],
    "text": [
        "LOWER({text})", "UPPER({text})", "SUBSTR({text}, 2)", "SUBSTR({text}, -1, 3)",
        "COALESCE({text}, {text})", "NULLIF({text}, {text})", "IF({truth}, {text}, {text})",
        "CASE WHEN {truth} THEN {text} END", "CAST({number} AS TEXT)", "CAST({number} AS TEXT)",
        "CAST({truth} AS TEXT)", "CAST({date} AS TEXT)", "({text} || {text})",
        "CAST({moment} AS TEXT)",
        "({text} || {date} || {truth})",
        "TRIM({text})", "LEFT({text}, 2)", "RIGHT({text}, -1)", "REPLACE({text}, '0', 'ab')",
        "SPLIT_PART({text}, '.', 2)", "CONCAT({text}, {text})",
    ],
    "date": [
        "({date} + CAST({number} AS INTEGER))", "({date} - 365)", "COALESCE({date}, {date})",
        "LEAST({date}, {date})", "NULLIF({date}, {date})", "CAST({number} AS DATE)",
        "CAST({text} AS DATE)", "IF({truth}, {date}, {date})",
        "DATE_TRUNC('month', {date})", "({date} + INTERVAL 1 MONTH)", "LAST_DAY({date})",
        "CAST({moment} AS DATE)", "LAST_DAY({moment})",
    ],
    "moment": [
        "CAST({date} AS TIMESTAMP)", "CAST({text} AS TIMESTAMP)", "({date} + INTERVAL 1 HOUR)",
        "({moment} + INTERVAL 1 MONTH)", "({moment} - INTERVAL 999999999 YEAR)",
        "({moment} + INTERVAL 999999999 DAY)", "({moment} - INTERVAL 1 SECOND)",
        *[f"DATE_TRUNC('{unit}', {{moment}})" for unit in ("year", "week", "hour", "microsecond")],
        "COALESCE({moment}, {date})", "LEAST({moment}, {moment})", "NULLIF({moment}, {moment})",
        "IF({truth}, {moment}, {moment})", "CLAMP({moment}, '1999-01-01', {moment})",
    ],
    "truth": [
        *[f"({{number}} {sign} {{number}})" for sign in ("=", "<>", "<", "<=", ">", ">=")],
        *[f"({{text}} {sign} {{text}})" for sign in ("=", "<>", "<", ">=")],
        "({date} < {date})", "({date} = {date})", "({moment} < {moment})", "({moment} = {date})",
        "({moment} IN ('2020-02-29 23:59:59.999999', '1970-01-01'))", "({truth} = {truth})", "({truth} AND {truth})",
        "({truth} OR {truth})", "(NOT {truth})", "({truth} IS TRUE)", "({truth} IS NOT FALSE)",
        "({number} IS NULL)", "({text} IS NOT NULL)", "({number} IN (0, 5, 9007199254740993))",
        "({number} NOT IN (1, NULL))", "({number} IN (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0.5))",
        "({text} IN ('a', '0.0', '-0.0'))", "({number} BETWEEN {number} AND {number})",
        "({text} LIKE 'a%')", "({text} LIKE '-_%')", "({text} NOT ILIKE '%A_')",
        "CAST({text} AS BOOLEAN)", "CAST({number} AS BOOLEAN)", "COALESCE({truth}, {truth})",
        "CASE WHEN {truth} THEN {truth} END", "STARTS_WITH({text}, 'a')", "CONTAINS({text}, '0')",
        "({number} IS DISTINCT FROM {number})", "({number} BETWEEN SYMMETRIC {number} AND 5)",
    ],
}  # fmt: skip
LEAVES = {
    "number": [*"iikjnff", *CONSTANTS],
    "text": ["t", "t", "s", "'a'", "''", "'-0.0'", "CAST(f AS TEXT)"],
    "date": ["d", "DATE '2000-02-29'"],
    "moment": ["p", "q", "TIMESTAMP '2000-02-29 12:00:00.000001'"],
    "truth": ["b", "TRUE", "FALSE", "(i = 5)", "NULLIF(TRUE, TRUE)"],
}
KNOWN = [
    # Leaks that there were
    "CAST(CASE WHEN i = 5 THEN 0.0 ELSE k * 0.0 * -1 END AS TEXT) = '0.0'",
    "COALESCE(GREATEST(i, 9007199254740993), 0.5) = 9007199254740992",
]


def _text(kind: str, chance: random.Random, depth: int) -> str:
    if depth == 0 or chance.random() < 0.15:
        return chance.choice(LEAVES[kind])
    shape = chance.choice(SHAPES[kind])
    while (start := shape.find("{")) >= 0:
        end = shape.index("}", start)
        part = _text(shape[start + 1 : end], chance, depth - 1)
        shape = shape[:start] + part + shape[end + 1 :]
    return shape


def _expressions(number: int, seed: int) -> Iterator[tuple[str, Expr]]:
    chance = random.Random(seed)
    while number:
        text = _text(chance.choice([*SHAPES]), chance, chance.randint(1, 4))
        with contextlib.suppress(TypeMismatch):  # constants that are no dates
            yield text, _parsed(text)
            number -= 1


def _parsed(text: str) -> Expr:
    policy = Policy((Table("t", Path("t.csv"), COLUMNS),))
    found = statement(f"SELECT COUNT({text}) FROM t", policy)
    assert isinstance(found, Select)
    argument = found.query.aggregates[0].argument
    assert argument is not None
    return argument


def _rows(seed: int) -> dict[str, list[str]]:
    chance = random.Random(seed)
    return {
        name: [chance.choice([*cells.split(" "), ""]) for _ in range(ROWS)]
        for name, cells in CELLS.items()
    }


def _frame(rows: dict[str, list[str]]) -> Frame:
    return Frame({c.name: read_cells(c, tuple(rows[c.name])) for c in COLUMNS})


def _some(frame: Frame, rows: np.ndarray) -> Frame:
    def of(column: Numbers | Codes) -> Numbers | Codes:
        if isinstance(column, Codes):
            return Codes(column.codes[rows], column.values)
        null = None if column.null is None else column.null[rows]
        return replace(column, units=column.units[rows], null=null)

    return Frame({name: of(column) for name, column in frame.columns.items()})


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
    rows, chance = _rows(seed), random.Random(seed)
    frame = _frame(rows)
    start = chance.randrange(ROWS - 1)
    end = chance.randrange(start + 1, ROWS + 1)
    subset = sorted(chance.sample(range(ROWS), 7))
    parts = [
        (list(range(start, end)), frame.within(slice(start, end))),
        (subset, _some(frame, np.array(subset))),
        # Alone in a file, and so with a dictionary of its own.
        *(
            ([row], _frame({name: [cells[row]] for name, cells in rows.items()}))
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
    assert _first_difference(_expressions(60, seed)) is None


@pytest.mark.parametrize("text", KNOWN)
def test_what_leaked_is_local(text: str) -> None:
    assert _first_difference([(text, _parsed(text))] * 6) is None


def test_representations_follow_from_the_policy() -> None:
    """Doubles or booleans, and a mask or none, whatever the rows hold; zero has one sign."""
    plain = {name: ["5"] * ROWS for name in CELLS} | {"b": ["true"] * ROWS, "s": ["a"] * ROWS}
    plain["d"] = plain["p"] = plain["q"] = ["2020-02-29"] * ROWS
    worlds = [_frame(rows) for rows in (_rows(0), plain, {name: [""] * ROWS for name in CELLS})]
    for text, expression in _expressions(80, 7):
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
    known = ((text, _parsed(text)) for text in KNOWN for _ in range(6))
    assert _first_difference(known) is not None


def test_no_other_representation_can_be_built() -> None:
    for dtype in (np.int64, np.float32, np.uint8, object):
        with pytest.raises(AssertionError):
            Vector(np.zeros(3, dtype=dtype))
