"""Filters that exclude each other: a table of pairs, and every claim held against the engine."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import cache, partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st
from hypothesis.errors import NoSuchExample

from dpdb.engines.sources.csv_source import CsvSource
from dpdb.plan.expressions.expressions import ColumnRef, Expr
from dpdb.plan.relations import regions
from dpdb.plan.relations.regions import Region, region
from dpdb.policy.catalog import Column, Kind, Policy, Table
from dpdb.policy.reading.reader import read_policy
from dpdb.sql.selects.statements import Select, statement
from dpdb.vectors.columns import Codes, Numbers
from dpdb.vectors.evaluate import Frame, evaluate, holds
from dpdb.vectors.vector import TextVector

POLICY = """
[tables.t.columns]
small = { type = "integer", bounds = [-2, 3] }
huge = { type = "integer", bounds = [-9007199254740992, 9007199254740992], nullable = false }
each = { type = "integer" }
two = { type = "integer", values = [1, 2], nullable = false }
maybe = { type = "integer", values = [1, 2] }
tenths = { type = "number", bounds = [-1, 1], step = 0.1 }
whole = { type = "number", bounds = [-9007199254740992, 9007199254740992], step = 1 }
free = { type = "number" }
rates = { type = "number", values = [0.1, 0.25, 1] }
note = { type = "text" }
full = { type = "text", nullable = false }
word = { type = "text", values = ["a", "b"] }
flag = { type = "boolean" }
sure = { type = "boolean", nullable = false }
right = { type = "boolean", values = [true] }
born = { type = "date", bounds = [2000-01-01, 2000-12-31] }
seen = { type = "date", values = [2000-01-01, 2000-02-01], nullable = false }
at = { type = "timestamp", bounds = [2000-01-01T00:00:00.5, 2000-01-01T01:00:00] }
fine = { type = "timestamp", step = 0.000001 }
turn = { type = "timestamp", values = [2000-01-01T06:00:00, 2000-01-01T18:00:00] }

[tables.other]
path = "t.csv"
[tables.other.columns]
small = { type = "integer", bounds = [-2, 3] }
"""
INTEGERS = ["", "-2", "-1", "0", "1", "2", "3", "-9007199254740992", "-9007199254740991",
            "9007199254740991", "9007199254740992"]  # fmt: skip
NUMBERS = ["", "-1", "0", "-0.0", "5e-324", "0.09999999999999999", "0.1", "0.10000000000000002",
           "0.25", "0.29999999999999993", "0.3", "0.30000000000000004", "1", "3",
           "9007199254740991", "9007199254740992", "9007199254740994", "-9007199254740992",
           "1e19", "1e299"]  # fmt: skip
TEXTS = ["", "a", "A", "a ", "aa", "b", "\u00e1", "a\u0301", "0", "1"]
BOOLEANS = ["", "true", "false"]
DATES = ["", "1999-12-31", "2000-01-01", "2000-01-02", "2000-02-01", "2000-12-31"]
MOMENTS = ["", "1999-12-31 23:59:59.999999", "2000-01-01 00:00:00", "2000-01-01 00:00:00.000001",
           "2000-01-01 00:00:01", "2000-01-01 06:00:00", "2000-01-02 00:00:00"]  # fmt: skip
POOLS = {
    Kind.INTEGER: INTEGERS,
    Kind.NUMBER: NUMBERS,
    Kind.TEXT: TEXTS,
    Kind.BOOLEAN: BOOLEANS,
    Kind.DATE: DATES,
    Kind.TIMESTAMP: MOMENTS,
}
"""Cells as written in the file."""
NUMERIC = ["-2", "0", "1", "2", "3", "1.0", "2.5", "-0.0", "1e-400", "5e-324", "0.1",
           "0.10000000000000000000001", "0.10000000000000002", "0.3", "0.30000000000000004",
           "0.29999999999999999999", "9007199254740991", "9007199254740992", "9007199254740993",
           "9007199254740993.0", "-9007199254740993", "9223372036854775808", "1e19"]  # fmt: skip
CONSTANTS = {
    Kind.INTEGER: NUMERIC,
    Kind.NUMBER: NUMERIC,
    Kind.TEXT: ["'a'", "'A'", "'a '", "'aa'", "'b'", "'\u00e1'", "'a\u0301'", "''"],
    Kind.BOOLEAN: ["TRUE", "FALSE"],
    Kind.DATE: [f"DATE '{day}'" for day in DATES if day],
    Kind.TIMESTAMP: [f"TIMESTAMP '{moment}'" for moment in MOMENTS if moment],
}


class World:
    """The table's columns, each with its pool of cells as the engine loads them."""

    def __init__(self, folder: Path):
        self._read: dict[str, Expr] = {}
        (folder / "t.toml").write_text(POLICY, encoding="utf-8")
        self.policy = read_policy(folder / "t.toml")
        self.table = self.policy.tables[0]
        self.pools = {column.name: POOLS[column.kind] for column in self.table.columns}
        rows = itertools.zip_longest(*self.pools.values(), fillvalue="")
        lines = [",".join(f'"{cell}"' for cell in row) for row in [tuple(self.pools), *rows]]
        (folder / "t.csv").write_text("\n".join(lines), encoding="utf-8")
        self.columns = (
            CsvSource(self.table).load([column.name for column in self.table.columns]).columns
        )

    def frame(self, names: list[str]) -> Frame:
        """A row for each combination of these columns' cells."""
        places = np.indices([len(self.pools[name]) for name in names])
        return Frame(
            {
                name: _picked(self.columns[name], place.ravel())
                for name, place in zip(names, places, strict=True)
            }
        )

    def where(self, condition: str) -> Expr:
        """The condition as it is bound; the same few are asked for again and again."""
        if condition not in self._read:
            self._read[condition] = where(condition, self.policy)
        return self._read[condition]

    def region(self, condition: str) -> Region:
        return region(self.table, self.where(condition))


def _picked(column: Numbers | Codes, places: np.ndarray) -> Numbers | Codes:
    if isinstance(column, Codes):
        return Codes(column.codes[places], column.values)
    null = None if column.null is None else column.null[places]
    return replace(column, units=column.units[places], null=null)


def where(condition: str, policy: Policy, table: str = "t") -> Expr:
    found = statement(f"SELECT COUNT(*) FROM {table} WHERE {condition}", policy)
    assert isinstance(found, Select)
    assert found.query.where is not None
    return found.query.where


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return World(tmp_path_factory.mktemp("regions"))


EXCLUSIVE = [
    # Ranges: strict, not strict, turned, BETWEEN
    ("free < 1", "free >= 1"), ("free <= 1", "free > 1"), ("1 > free", "1 <= free"),
    ("free < 1", "free = 1"), ("free BETWEEN 0 AND 1", "free > 1"), ("free < 0", "free > 0"),
    ("free NOT BETWEEN 0 AND 1", "free = 0.5"), ("free = 1", "free = 2"), ("free = 1", "free <> 1"),
    # Constants as the doubles they are compared as
    ("free < 0.1", "free >= 0.1"), ("free = 0.1", "free > 0.10000000000000000000001"),
    ("free <= 0.1", "free >= 0.10000000000000002"), ("free < 0.10000000000000000000001", "free = 0.1"),
    ("free <= 0.3", "free = 0.30000000000000004"), ("free = 0", "free <> -0.0"),
    ("free < 9007199254740993.0", "free >= 9007199254740992"), ("free = 1e-400", "free > 0"),
    ("free <> 1e19", "free = 10000000000000000000.0"), ("huge < 9007199254740993", "huge >= 9007199254740992"),
    ("whole < 9007199254740993", "whole = 9007199254740992"),
    ("free < 0.3", "free > 0.29999999999999993"),  # neighbours
    # Integers and dates leave gaps; their declaration has ends
    ("each < 6", "each > 5"), ("each > 5", "each <= 5.5"), ("each = 2.5", "each > 0"),
    ("small >= 3", "small <> 3"), ("small < -1", "small <> -2"), ("each IN (1, 2)", "each NOT IN (1.0, 2)"),
    ("born < '2000-01-02'", "born > '2000-01-01'"), ("born = '2000-01-01'", "born = '2000-01-02'"),
    ("at < '2000-01-01 00:00:02'", "at > '2000-01-01 00:00:01.999999'"), ("at = '2000-01-01 00:00:01'", "at > '2000-01-01 00:00:01'"),
    ("fine < '2000-01-01'", "fine >= DATE '2000-01-01'"), ("turn < '2000-01-01 12:00'", "turn > '2000-01-01 06:00'"),
    ("born <= '2000-01-01'", "born <> '2000-01-01'"), ("born IN ('2000-01-01')", "born IN ('2000-05-05')"),
    # Declared values
    ("two <> 1", "two <> 2"), ("maybe <> 1", "maybe <> 2"), ("two < 2", "two <> 1"),
    ("rates > 0.1 AND rates < 1", "rates <> 0.25"), ("word <> 'a'", "word <> 'b'"),
    ("word <> 'a'", "word NOT IN ('b')"), ("word > 'a'", "word <> 'b'"), ("seen <> '2000-02-01'", "seen > '2000-01-01'"),
    ("word = 'c'", "word IS NOT NULL"),
    # Booleans
    ("flag", "NOT flag"), ("flag = TRUE", "flag = FALSE"), ("flag", "flag <> TRUE"),
    ("flag IN (TRUE)", "NOT flag"), ("flag < TRUE", "flag"), ("flag IS TRUE", "flag IS FALSE"),
    ("flag IS TRUE", "flag IS NULL"), ("right", "right = FALSE"), ("right <> TRUE", "right IS NOT NULL"),
    # NULL
    ("each IS NULL", "each IS NOT NULL"), ("each IS NULL", "each < 1"), ("each IS NULL", "NOT each < 1"),
    ("each IS NULL", "each <> 1"), ("each IS NULL", "each IN (1)"), ("each IS NULL", "each NOT IN (1)"),
    ("two IS NULL", "two > 0"), ("full IS NULL", "full IS NULL"), ("each = NULL", "each IS NULL"),
    ("each NOT IN (1, NULL)", "each = 2"), ("each IN (1, NULL)", "each = 2"), ("each IN (NULL)", "each <> 1"),
    ("each IS NULL", "each >= 9007199254740993"), ("NOT note IS NULL", "note IS NULL"),
    # Texts
    ("note = 'a'", "note = 'A'"), ("note = 'a'", "note = 'a '"), ("note = '\u00e1'", "note = 'a\u0301'"),
    ("note IN ('a', 'b')", "note = 'c'"), ("note IN ('a', 'b')", "note NOT IN ('b', 'a', 'c')"),
    ("note < 'b'", "note >= 'b'"), ("note <= 'b'", "note = 'ba'"), ("full = ''", "full > ''"),
    # AND, OR, NOT
    ("each = 1 AND flag", "each = 2"), ("each > 1 AND each < 3", "each = 1"), ("each = 1 OR each = 2", "each = 3"),
    ("each = 1 OR each = 5", "each BETWEEN 2 AND 4"), ("each < 0 OR each > 9", "each >= 0 AND each <= 9"),
    ("NOT each < 5", "each < 5"), ("NOT (each = 1 OR each = 2)", "each IN (1, 2)"),
    ("NOT (each > 1 AND each < 3)", "each = 2"), ("NOT (each = 1 AND flag OR each = 1)", "each = 1"),
    ("NOT NOT each = 1", "each = 2"), ("each = 1 OR each IS NULL", "each = 2 OR each = 3"),
    ("each = 1 AND free = 1 OR each = 2 AND free = 2", "each = 3"), ("NOT each NOT IN (1, 2)", "each = 3"),
    ("NOT each IS NULL", "each IS NULL AND flag"),
    # Other conjuncts may be anything
    ("each = 1 AND note LIKE 'a%'", "each = 2 AND ABS(free) > 1"), ("each = 1 AND small = two", "each = 2"),
    ("each = 1 AND free < (SELECT AVG(small) FROM t)", "each = 2"),
    ("each = 1 AND CASE WHEN flag THEN sure ELSE right END", "each = 2"),
]  # fmt: skip

COMPATIBLE = [
    ("free <= 1", "free >= 1"), ("free < 2", "free > 1"), ("free = 1", "free <> 2"), ("free <> 1", "free <> 2"),
    # Fractions and integers that are the same double
    ("free <= 0.1", "free >= 0.10000000000000000000001"), ("free = 0.3", "free = 0.29999999999999999999"),
    ("free = 0", "free = -0.0"), ("free = 1e-400", "free <= 0"), ("free < 0.3", "free >= 0.29999999999999993"),
    ("huge IN (9007199254740993)", "huge >= 9007199254740992"), ("free >= 9007199254740993", "free <= 9007199254740992"),
    ("each = 9007199254740993.0", "each = 9007199254740992"),
    # Gaps that are none
    ("free < 1", "free < 2"), ("each < 7", "each > 5"), ("free < 6", "free > 5"), ("free = 2.5", "free > 0"), ("each <> 1", "each <> 2"),
    ("small > 2", "small <> 2"), ("tenths <> 0", "tenths >= 1"),
    # Declared values, NULL among them
    ("two <> 1", "two <> 3"), ("maybe <> 1 OR maybe IS NULL", "maybe <> 2 OR maybe IS NULL"),
    ("rates > 0.1", "rates <> 1"), ("word >= 'a'", "word <> 'b'"), ("note <> 'a'", "note <> 'b'"),
    # NULL: true of a column that has it, and of none that has a value
    ("each IS NULL", "each IS NULL"), ("each IS NULL", "each IS NULL OR each = 1"), ("each IS NULL", "flag"),
    ("flag IS NOT TRUE", "flag IS NOT FALSE"), ("flag IS NULL", "flag IS NOT TRUE"),
    ("each IN (1, NULL)", "each = 1"), ("each IS NOT NULL", "each <> 1"),
    # Texts
    ("note <= 'b'", "note >= 'b'"), ("note IN ('a', 'b')", "note IN ('b', 'c')"), ("note > 'a'", "note < 'b'"),
    # OR limits what all of its branches limit
    ("each = 1 OR flag", "each = 2"), ("each = 1 OR each = 2", "each = 2"), ("NOT (each = 1 AND flag)", "each = 1"),
    ("each = 1 OR each = 3 OR each = 2", "each = 2"), ("each = 1 AND free = 1 OR each = 2 AND free = 2", "each = 1"),
    # What cannot be told of a column by itself
    ("each = two", "each <> two"), ("each + 1 = 2", "each = 2"), ("ABS(each) = 1", "each = 2"), ("note LIKE 'a'", "note = 'b'"),
    ("CASE WHEN flag THEN each ELSE 1 END = 1", "each = 2"), ("CAST(each AS TEXT) = '1'", "each = 2"),
    ("each = (SELECT COUNT(*) FROM t)", "each <> (SELECT COUNT(*) FROM t)"), ("COALESCE(flag, TRUE)", "NOT flag"),
    ("COALESCE(flag, TRUE)", "flag IS NULL"),
    ("COALESCE(flag, FALSE) IS NULL", "flag"), ("(each > 1) IS NULL", "each > 1"), ("LOWER(note) = 'a'", "note = 'A'"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("first", "second", "exclusive"),
    [*((*pair, True) for pair in EXCLUSIVE), *((*pair, False) for pair in COMPATIBLE)],
)
def test_pairs(world: World, first: str, second: str, exclusive: bool) -> None:
    one, other = world.region(first), world.region(second)
    assert one.excludes(other) is exclusive
    assert other.excludes(one) is exclusive


def test_no_condition_limits_nothing(world: World) -> None:
    everything = region(world.table, None)
    assert everything.everything
    assert world.region("each = two").everything
    assert not world.region("each = 1").everything
    for condition in ("each = 1", "each IN (NULL)", "TRUE"):
        assert not everything.excludes(world.region(condition))
        assert not world.region(condition).excludes(everything)


def test_other_tables_rows_are_others(world: World) -> None:
    other = world.policy.tables[1]
    there = region(other, where("small = 1", world.policy, "other"))
    assert not there.excludes(world.region("small = 2"))
    assert there.excludes(region(other, where("small = 2", world.policy, "other")))


def test_undeclared_columns_are_not_reasoned_about(world: World) -> None:
    guessed = Table("t", world.table.path, (Column("x", Kind.TEXT, guessed=True),))
    policy = Policy((guessed,))
    conditions = ["x = 'a'", "x = 'b'", "x = 1", "x = 2", "x IS NULL", "x IN ('c')", "x"]
    for condition in conditions:
        assert region(guessed, where(condition, policy)).everything
    declared = Policy((replace(guessed, columns=(Column("x", Kind.TEXT),)),))
    assert not region(declared.tables[0], where("x = 'a'", declared)).everything


# Every claim against the engine, over all combinations of the columns' cells.


_OPERATORS = st.sampled_from(["=", "<>", "<", "<=", ">", ">="])
_PERHAPS_NOT = st.sampled_from(["", "NOT"])


@cache
def predicates(column: Column, columns: tuple[Column, ...]) -> st.SearchStrategy[str]:
    """A condition on one column, or on two of the same kind."""
    name, constants = column.name, st.sampled_from(CONSTANTS[column.kind])
    constant = st.sampled_from([*CONSTANTS[column.kind] * 3, "NULL"])
    alike = st.sampled_from([other.name for other in columns if other.kind is column.kind])
    lists = st.lists(constant, min_size=1, max_size=4).map(", ".join)
    form = partial(_form, name)
    forms = [
        form("{0} {1} {2}", _OPERATORS, constant),
        form("{2} {1} {0}", _OPERATORS, constant),
        form("{0} {1} BETWEEN {2} AND {3}", _PERHAPS_NOT, constant, constant),
        form("{0} {1} IN ({2})", _PERHAPS_NOT, lists),
        form("{0} IS {1} NULL", _PERHAPS_NOT),
        form("{0} {1} {2}", _OPERATORS, alike),
        form("COALESCE({0}, {1}) {2} {3}", constants, _OPERATORS, constant),
    ]
    if column.kind is Kind.BOOLEAN:
        forms += [
            st.just(f"({name})"),
            form("COALESCE({0}, {1})", constant),
            form("{0} IS {1} {2}", _PERHAPS_NOT, constants),
        ]
    return st.one_of(forms)


def _form(name: str, text: str, *parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.builds(f"({text})".format, st.just(name), *parts)


@cache
def conditions(columns: tuple[Column, ...]) -> st.SearchStrategy[str]:
    """A condition on these columns. Kept, for hypothesis looks at a new strategy at length."""
    return st.recursive(
        st.one_of([predicates(column, columns) for column in columns]),
        lambda inner: st.one_of(
            st.builds("(NOT {})".format, inner),
            st.builds("({} AND {})".format, inner, inner),
            st.builds("({} OR {})".format, inner, inner),
        ),
        max_leaves=4,
    )


@cache
def pairs(columns: tuple[Column, ...]) -> st.SearchStrategy[tuple[list[str], str, str]]:
    """Two conditions on the same few columns."""

    def on(chosen: list[Column]) -> st.SearchStrategy[tuple[list[str], str, str]]:
        condition = conditions(tuple(chosen))
        return st.tuples(st.just([column.name for column in chosen]), condition, condition)

    return st.lists(st.sampled_from(columns), min_size=1, max_size=2, unique=True).flatmap(on)


@np.errstate(all="ignore")
def _true(condition: Expr, frame: Frame, rows: int) -> np.ndarray:
    """Where the engine finds the condition true, among the rows or on any of some rows alone."""
    mask = np.broadcast_to(holds(condition, frame), rows).copy()
    for row in range(0, rows, 1 + rows // 16):
        mask[row] |= holds(condition, frame.within(slice(row, row + 1)))[0]
    return mask


def _pins(name: str, world: World, frame: Frame) -> list[str]:
    """For every row the condition that the column is what it is there."""
    column = world.table.column(name)
    assert column is not None
    vector = evaluate(ColumnRef(column), frame)
    values = (vector.texts() if isinstance(vector, TextVector) else vector.values).tolist()
    rows = len(values)
    nulls = np.zeros(rows, dtype=bool) if vector.null is None else vector.null
    return [
        f"{name} IS NULL" if null else f"{name} = {_written(value, column.kind)}"
        for value, null in zip(values, nulls, strict=True)
    ]


def _written(value: object, kind: Kind) -> str:
    match kind, value:
        case Kind.TEXT, str():
            return f"'{value}'"
        case Kind.DATE, float():
            return f"DATE '{np.datetime64(int(value), 'D')}'"
        case Kind.TIMESTAMP, float():
            return f"TIMESTAMP '{np.datetime64(int(value), 'us')}'"
        case Kind.INTEGER, float():
            return str(int(value))
        case Kind.NUMBER, float() | int():
            # All of a double's digits, and a point: it is compared as a double.
            exact = Fraction(value)
            return f"{exact.numerator}.0" if exact.denominator == 1 else repr(value)
    return str(value)


def _refuted(world: World, names: list[str], first: str, second: str) -> str | None:
    """A row that a claim about the two conditions overlooks."""
    conditions = [world.where(first), world.where(second)]
    found = [region(world.table, condition) for condition in conditions]
    frame = world.frame(names)
    rows = int(np.prod([len(world.pools[name]) for name in names]))
    true = [_true(condition, frame, rows) for condition in conditions]
    pins = {name: _pins(name, world, frame) for name in names}
    both = np.flatnonzero(true[0] & true[1])
    if found[0].excludes(found[1]) and len(both):
        return f"both are true where {[pins[name][both[0]] for name in names]}"
    for around, mask in zip(found, true, strict=True):
        for name in names:
            for pin in {pins[name][row] for row in np.flatnonzero(mask)}:
                if around.excludes(world.region(pin)):
                    return f"outside, though true where {pin}"
    return None


@settings(max_examples=50)
@given(data=st.data())
def test_no_row_refutes_a_claim(world: World, data: st.DataObject) -> None:
    pair = data.draw(pairs(world.table.columns))
    assert _refuted(world, *pair) is None


@pytest.mark.parametrize(
    ("first", "second"), [pair for pair in [*EXCLUSIVE, *COMPATIBLE] if "SELECT" not in pair[0]]
)
def test_no_row_refutes_the_table(world: World, first: str, second: str) -> None:
    assert _refuted(world, _named(world, first, second), first, second) is None


def _named(world: World, first: str, second: str) -> list[str]:
    """The columns that two conditions speak of."""
    words = set(re.findall(r"\w+", f"{first} {second}"))
    return [name for name in world.pools if name in words]


def _found(world: World, wanted: Callable[[tuple[list[str], str, str]], bool]) -> bool:
    thorough = settings(
        max_examples=3_000, derandomize=True, database=None, phases=[Phase.generate]
    )
    try:
        find(pairs(world.table.columns), wanted, settings=thorough)
    except NoSuchExample:
        return False
    return True


def test_claims_are_made_about_filters_that_rows_pass(world: World) -> None:
    def claimed(pair: tuple[list[str], str, str]) -> bool:
        names, first, second = pair
        if not world.region(first).excludes(world.region(second)):
            return False
        frame = world.frame(names)
        return all(holds(world.where(text), frame).any() for text in (first, second))

    assert _found(world, claimed)


def _exact_next(point: object) -> object:
    return point + "\0" if isinstance(point, str) else Fraction(point) + Fraction(1, 10**40)


_COMBINED = regions._combined
MISTAKES: list[Mapping[str, object]] = [
    # `<=` taken for `<`
    {"_next": lambda point: point},
    # Constants compared as written
    {"_stored": lambda value: value, "_next": _exact_next},
    # Numbers taken for integers
    {"_whole": lambda column: column.kind.ordinal},
    # `1 < x` taken for `x < 1`
    {"_TURNED": {symbol: symbol for symbol in ("=", "<>", "<", "<=")}},
    # OR taken for AND, and what only one branch of OR limits taken for a limit
    {"_any": regions._every},
    {"_any": lambda parts: {k: regions._combined(v, 1) for k, v in regions._by_column(parts).items()}},
    # NOT as the complement of the limits of each column
    {"_every": regions._any, "_any": regions._every},
    # NULL forgotten
    {"_combined": lambda cells, needed: replace(_COMBINED(cells, needed), null=False)},
    {"ColumnLimit.holds_null": False},
    # Sets that begin alike, and a set that begins within another, taken for sets apart
    {"Span.meets": lambda one, other: one._begins_within(other) or other._begins_within(one)},
    {"Span.meets": lambda one, other: (one.below and other.below) or one._begins_within(other)},
    # Texts in any case alike
    {"_stored": lambda value: value.lower() if isinstance(value, str) else float(value)},
]  # fmt: skip


@pytest.fixture
def nothing_kept() -> Iterator[None]:
    """Limits are worked out with the mistake, and after it without."""
    regions._limits.cache_clear()
    yield
    regions._limits.cache_clear()


@pytest.mark.usefixtures("nothing_kept")
@pytest.mark.parametrize("mistake", MISTAKES, ids=",".join)
def test_mistakes_would_be_found(
    world: World, monkeypatch: pytest.MonkeyPatch, mistake: Mapping[str, object]
) -> None:
    """By a pair of the table or, where none is to the point, by a search for one."""
    for name, value in mistake.items():
        monkeypatch.setattr(f"{regions.__name__}.{name}", value)
    table = (
        (_named(world, first, second), first, second)
        for first, second in COMPATIBLE
        if "SELECT" not in first
    )
    assert any(_refuted(world, *pair) for pair in table) or _found(
        world, lambda pair: _refuted(world, *pair) is not None
    )
