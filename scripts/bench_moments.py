"""What the moments of answers tell of one unit: pairs of files, and the worst statements known.

For each answer the time t of the work is measured, on files that differ in one unit, in random
order. It is processor time, which other work on the machine blurs less. From the times follows when
answers leave that wait for the first tick after t + U. The advantage is the total variation
distance between the moments on the two files, for the phase of the tick that an attacker likes
best. Phase and sides are chosen by one half of the answers, and the advantage is that of the other
half. Guessing has an advantage of 0, and T / tick is promised.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from unittest import mock

import numpy as np
import numpy.typing as npt
from bench_tools import SAMPLE, milliseconds, show

from dpdb.errors import DpdbError
from dpdb.policy.budget import Budget
from dpdb.policy.reading.reader import read_policy
from dpdb.session.session import Session
from dpdb.session.timing import gate, tick

ANSWERS = 1000
"""For each of the two files."""
PHASES, TICKS = 200, 200
PROMISED = 0.1
LETTERS = "abcdefghijklmnopqrstuvwxyz"
Times = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Pair:
    """A statement, and a file that lacks a unit which the other has."""

    name: str
    policy: str
    header: str
    rows: Iterable[str]
    unit: Iterable[str]
    statements: tuple[str, ...]
    """The first that is not refused is measured."""


def run(directory: Path) -> None:
    """Measure the section and print its tables."""
    rows: list[tuple[str, ...]] = []
    for pair in pairs():
        statement, times, unit_seconds = _measured(directory, pair)
        if statement is None:
            rows.append((pair.name, "refused", "", "", "", ""))
            continue
        unit_seconds = max(unit_seconds, tick._LEAST)
        length = _tick(unit_seconds)
        without, with_unit = (float(np.median(each)) for each in times)
        shown = map(milliseconds, (without, with_unit - without, unit_seconds, length))
        rows.append((pair.name, *shown, f"{advantage(times, length):.3f}"))
    show(
        f"moments of answers on two files, {ANSWERS} answers each; promised: {PROMISED}",
        ("statement", "t", "more with the unit", "T", "tick", "advantage"),
        rows,
    )


def pairs() -> Iterator[Pair]:
    """The worst statements that are known."""
    with SAMPLE.open() as file:
        header, *people = file.read().splitlines()
    policy = SAMPLE.with_suffix(".toml").read_text().replace("people.csv", "with.csv")
    policy = policy.replace("[tables.people]", "[tables.t]").replace("tables.people.", "tables.t.")
    person = next(row for row in people if row.endswith(",241813"))
    letters = "".join(random.Random(7).choices(LETTERS, k=990))
    made = f"CASE WHEN net_worth = 241813 AND age >= 33 THEN '{letters}' ELSE '' END || age"
    others = [row for row in people if row != person]
    texts = "[tables.t]\npath = 'with.csv'\n[tables.t.columns]\nw = { type = 'text' }\n"
    cell = "".join(random.Random(8).choices(LETTERS, k=10_000))
    numbers = [f"{number % 97}" for number in range(10_000)]
    for name, test, most in (
        ("REGEXP_CONTAINS", "REGEXP_CONTAINS({}, '{}')", 60),
        ("LIKE", "{} LIKE '%{}_%'", 200),
        ("UPPER", "UPPER({}) = '{}'", 200),
    ):
        if name != "UPPER":
            statements = tuple(_any_of(test, made, number) for number in _fewer(most))
            about = f"a text made long by CASE under {name}"
            yield Pair(about, policy, header, others, [person], statements)
        statements = tuple(_any_of(test, "w", number) for number in _fewer(most))
        yield Pair(
            f"a cell of 10,000 letters under {name}", texts, "w", numbers, [cell], statements
        )
    for held in (1000, 100, 20):
        orders = (
            "[tables.t]\npath = 'with.csv'\nunit = 'c'\nrows_per_unit = 5\n"
            f"rows_held_per_unit = {held}\n"
            "[tables.t.columns]\nc = { type = 'integer' }\n"
            "v = { type = 'integer', bounds = [0, 9] }\n"
        )
        for name, statement in (
            ("EXISTS pairs", "SELECT COUNT(*) FROM t a WHERE EXISTS "
             "(SELECT 1 FROM t b WHERE b.c = a.c AND b.v > a.v)"),
            ("a join of a unit's rows", "SELECT COUNT(*) FROM t a JOIN t b ON a.c = b.c"),
            ("more rows than the cap", "SELECT SUM(v) FROM t"),
        ):  # fmt: skip
            yield Pair(
                f"{name}, {held} rows held", orders, "c,v",
                [f"{number // 3},{number % 10}" for number in range(9_000)],
                [f"7000000,{number % 10}" for number in range(1000)],
                (statement,),
            )  # fmt: skip


def _fewer(most: int) -> Iterator[int]:
    while most:
        yield most
        most = most * 2 // 3


def _any_of(test: str, text: str, number: int) -> str:
    """A count of the rows that pass any of so many tests, with a pattern each."""
    patterns = ("".join(random.Random(n).choices(LETTERS, k=4)) for n in range(number))
    tests = " OR ".join(test.format(text, pattern) for pattern in patterns)
    return f"SELECT COUNT(*) FROM t WHERE {tests}"


def _measured(directory: Path, pair: Pair) -> tuple[str | None, list[Times], float]:
    """The statement, the times on the file without the unit and with it, and T."""
    sessions = []
    for name, unit in (("without", []), ("with", pair.unit)):
        rows = [*pair.rows, *unit]
        random.Random(1).shuffle(rows)
        (directory / f"{name}.csv").write_text("\n".join([pair.header, *rows, ""]))
        path = directory / f"{name}.toml"
        path.write_text(pair.policy.replace("with.csv", f"{name}.csv"))
        policy = replace(read_policy(path), budget=Budget(Fraction(10**6), Fraction(0), 10**6))
        sessions.append(Session(policy))
        sessions[-1].execute("SET repeats = 'fresh'")
        sessions[-1].execute("SET epsilon = 0.01")
    taken: list[list[float]] = [[], []]
    with _noted() as noted:
        for statement in pair.statements:
            try:
                for session in sessions:
                    session.execute(statement)
            except DpdbError:
                continue
            order = [0, 1] * ANSWERS
            random.Random(2).shuffle(order)
            for which in order:
                started = time.process_time()
                sessions[which].execute(statement)
                taken[which].append(noted[-1][0] - started)
            return statement, [np.array(each) for each in taken], noted[-1][1]
    return None, [], 0.0


@contextmanager
def _noted() -> Iterator[list[tuple[float, float]]]:
    """Answers leave at once; the processor time at which each does is noted, with its T."""
    noted: list[tuple[float, float]] = []

    def leave(_: float, __: object, unit_seconds: float) -> None:
        noted.append((time.process_time(), unit_seconds))

    with mock.patch.object(gate, "wait_to_leave", leave):
        yield noted


def _tick(unit_seconds: float) -> float:
    multiples = (each for each in tick._MULTIPLES if each * tick._LEAST >= unit_seconds)
    return tick.TICK * next(multiples, tick._MULTIPLES[-1])


def advantage(times: list[Times], length: float) -> float:
    """The advantage of whoever chooses the phase of the tick by every other answer."""
    seen, held_out = [each[::2] for each in times], [each[1::2] for each in times]

    def moved(phase: float, both: list[Times]) -> Times:
        return _moments(both[1] + phase, length) - _moments(both[0] + phase, length)

    phases = np.arange(PHASES) * length / PHASES
    best = max(phases, key=lambda phase: float(np.abs(moved(phase, seen)).sum()))
    signs = np.sign(moved(best, seen))
    return float((signs * moved(best, held_out)).sum() / 2)


def _moments(times: Times, length: float) -> Times:
    """The chance of each of the first ticks."""
    ends = np.arange(1, TICKS + 1)[:, None]
    left = np.clip(ends - times[None, :] / length, 0, 1).mean(axis=1)
    return np.diff(left, prepend=0.0)
