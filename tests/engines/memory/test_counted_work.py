"""Which steps the engine takes follows from the plan: they are counted, with no clock.

Columns are handed to the engine as arrays that write down what is done with them.
On files that differ in what they hold, the lists must be the same.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dpdb.engines.memory import MemoryEngine
from dpdb.errors import DpdbError
from dpdb.plan.physical.plan import Plan
from dpdb.policy.catalog import Policy
from dpdb.policy.reading.reader import policy_for
from dpdb.sql.text.splitting import split
from dpdb.vectors import evaluate, vector
from dpdb.vectors.columns import Codes, Numbers
from tests.support.exactly import planned, raw_of
from tests.support.hostile_rows import BENIGN, HEADER, everywhere, row
from tests.support.noted_arrays import Noted, noted
from tests.system.test_transcript import POLICIES, QUERIES

LAST = {
    "usual": row(23),
    "NULL": everywhere(b""),
    "division by zero": row(23, age=b"33"),
    "overflow": row(23, income=b"1e308"),
    "found by a filter": row(23, name=b"Zoe", zip=b"10003"),
    "found by none": row(23, name=b"nobody", age=b"0", city=b"", smoker=b""),
    "a known name": row(23, name=b"Ann0"),
    "a number": row(23, name=b"5"),
    "minus zero": row(23, income=b"-0.0", name=b"-0.0"),
    "2^53": everywhere(b"9007199254740993"),
}
MORE = """;
SELECT COUNT(*) FROM t WHERE name = 'Zoe'; SELECT COUNT(*) FROM t WHERE name IN ('Ann0', 'Zoe');
SELECT COUNT(*) FROM t WHERE name IS NULL; SELECT COUNT(*) FROM t WHERE name < 'B';
SELECT SUM(CLAMP(LENGTH(name) + age, 0, 9)) FROM t; SELECT COUNT(*) FROM t WHERE name = city;
SELECT COUNT(*) FROM t WHERE zip IN (1, 2, 3, 4, 5, 6, 7, 8, 9, 10001);
SELECT COUNT(*) FROM t WHERE income IN (1, 2, 3, 4, 5, 6, 7, 8, 9, 10001);
SELECT SUM(COALESCE(age, 0)), COUNT(COALESCE(income, age)), SUM(age + 1) FROM t;
SELECT COUNT(*) FROM t WHERE LENGTH(CAST(income AS TEXT)) > 3;
SELECT COUNT(*) FROM t WHERE 1 / (age - 33) + 1 / (age - 33) > 0 AND NOT smoker
"""


def _policy(folder: Path, rows: list[bytes]) -> Policy:
    (folder / "t.csv").write_bytes(HEADER + b"".join(row + b"\n" for row in rows))
    declared = POLICIES["declared"]
    assert declared is not None
    (folder / "t.toml").write_text(declared.format(neighbors="add-remove", null=""))
    return policy_for(folder / "t.csv")


def _plans(policy: Policy) -> dict[str, Plan]:
    """The queries that are planned, and their plans, in which no row has a part."""
    plans = {}
    for piece in split(QUERIES + MORE):
        # Options say how to draw, which is not the engine's work.
        if piece.text.startswith("SELECT") and "OPTIONS" not in piece.text:
            with contextlib.suppress(DpdbError):
                plans[piece.text] = planned(piece.text, policy, MemoryEngine())
    return plans


def _work(
    policy: Policy, plans: dict[str, Plan], monkeypatch: pytest.MonkeyPatch
) -> dict[str, list[str]]:
    """For each query what is done with arrays on the way to its exact results."""
    engine = MemoryEngine()
    table = policy.tables[0]
    loaded = engine._loaded(table, frozenset(column.name for column in table.columns))
    for name, column in loaded.columns.items():
        match column:
            case Numbers(units=units, null=null):
                held: Numbers | Codes = replace(column, units=noted(units), null=noted(null))
            case Codes(codes=codes, values=values):
                held = Codes(noted(codes), values)
        loaded.columns[name] = held  # type: ignore[index]
    work = {}
    with monkeypatch.context() as patched:
        patched.setattr(np, "asarray", np.asanyarray)
        for query, plan in plans.items():
            Noted.notes = []
            raw_of(plan, engine)
            work[query] = Noted.notes
    return work


def _differing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, str]]:
    """The queries, and the last rows of files on which their work differs from the usual."""
    files = {name: [*BENIGN[:-1], row] for name, row in LAST.items()}
    files["all NULL"] = [LAST["NULL"]] * len(BENIGN)
    usual: dict[str, list[str]] = {}
    plans = _plans(_policy(folder, BENIGN))
    for name, rows in files.items():
        work = _work(_policy(folder, rows), plans, monkeypatch)
        usual = usual or work
        # The rest are of constants, or count all rows.
        assert sum(len(steps) > 0 for steps in usual.values()) > 40
        yield from ((query, name) for query, steps in usual.items() if work[query] != steps)


def test_work_is_the_same_whatever_rows_hold(tmp_path, monkeypatch) -> None:
    assert list(_differing(tmp_path, monkeypatch)) == []


def _old_finite(values: vector.Array, null: vector.Bools | None) -> vector.Vector:
    good = np.isfinite(values)
    if good.all():
        return vector.Vector(values, null)
    return vector.Vector(np.where(good, values, 0.0), vector.either(null, ~good))


def _old_within(column: Numbers, rows: slice) -> Numbers:
    """Without a mask where none of the rows is NULL."""
    null = column.null if column.null is not None and column.null.any() else None
    return replace(column, units=column.units[rows], null=None if null is None else null[rows])


SHORTCUTS: dict[str, list[tuple[object, str, object]]] = {
    "no mask where all is finite": [(evaluate, "finite", _old_finite)],
    "no mask where no cell is NULL": [(Numbers, "within", _old_within)],
    "texts looked for by what was found": [(evaluate, "public_dictionary", lambda column: True)],
}


@pytest.mark.parametrize("shortcut", SHORTCUTS)
def test_shortcuts_would_be_found(tmp_path, monkeypatch, shortcut: str) -> None:
    for place, name, old in SHORTCUTS[shortcut]:
        monkeypatch.setattr(place, name, old)
    assert next(_differing(tmp_path, monkeypatch), None)
