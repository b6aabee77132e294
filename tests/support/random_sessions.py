"""Random sessions of a few statements, and small neighbouring tables for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from random import Random

from dpdb.policy.budget import Budget, Composition, Neighbors
from dpdb.policy.catalog import Policy
from dpdb.policy.reading.reader import read_policy
from tests.support.random_relations import random_read
from tests.support.units import DENSE, PUBLIC, Database, Row, policy_text, random_database
from tests.support.witnessed_sessions import Script

COLUMNS = ("g", "x", "k", "m", "b", "s", "w", "u")
TABLE = """
[tables.t]
path = "t.csv"
{unit}
columns.g = {{ type = "text", values = ["a", "b"] }}
columns.x = {{ type = "integer", bounds = [-2, 5] }}
columns.k = {{ type = "integer", bounds = [3, 7], nullable = false }}
columns.m = {{ type = "number", bounds = [-1.5, 0.5], step = 0.5 }}
columns.b = {{ type = "boolean" }}
columns.s = {{ type = "text" }}
columns.w = {{ type = "integer", bounds = [-50, 100_000] }}
columns.u = {{ type = "text" }}
"""
CELLS: tuple[tuple[str | None, ...], ...] = (
    ("a", "b", "a", "b", None, "z"),
    ("-2", "0", "1", "3", "5", "99", None),
    ("3", "4", "5", "7"),
    ("-1.5", "-0.5", "0", "0.5", "8", None),
    ("true", "false", None),
    ("p", "p", "p", "q", "r", None),
    ("0", "7", "300", "99999", None),
)
OWNERS = ("Ann", "Bob", "Cid", "Dot", None)
CHANGED = "Eve"

TESTS = (
    ("k < 5", "k >= 5"), ("k = 3", "k > 3"), ("k IN (3, 4)", "k BETWEEN 5 AND 7"),
    ("g = 'a'", "g <> 'a'"), ("g = 'a'", "g = 'b'"), ("g IS NULL", "g IS NOT NULL"),
    ("x > 0", "x <= 0"), ("x IS NULL", "x BETWEEN 1 AND 3"), ("b", "NOT b"), ("m < 0", "m >= 0"),
    ("s = 'p'", "s <> 'p'"), ("s LIKE 'p%'", "x > 99"), ("x + k > 5", "x + k <= 5"),
    ("k > (SELECT AVG(k) FROM t)", "x > (SELECT MEDIAN(x) FROM t)"), ("w < 300", "w >= 300"),
)  # fmt: skip
"""Conditions in pairs, most of which exclude each other."""
COUNTS = ("COUNT(*)", "COUNT(x)", "COUNT(DISTINCT x)", "COUNT(DISTINCT s)", "COUNT_IF({test})",
          "SUM(k)", "SUM(x)", "COUNT(*)", "SUM(m)", "SUM(w)")  # fmt: skip
MOMENTS = ("AVG(x)", "AVG(k)", "AVG(m)", "VAR_POP(x)", "STDDEV(k)", "SUM(DISTINCT x)",
           "AVG(x), AVG(k)", "AVG(k), AVG(m), AVG(w)",
           "CORR(x, k)", "COVAR_POP(x, m)", "REGR_SLOPE(k, x)", "SKEWNESS(x)", "SUM(x * k)",
           "AVG(CASE WHEN {test} THEN x ELSE k END)", "SUM(x) / COUNT(*)")  # fmt: skip
SELECTED = ("MEDIAN(x)", "MEDIAN(k)", "QUANTILE_CONT(x, 0.25)", "QUANTILE_CONT(x, 0.75)",
            "QUANTILE_CONT(k, 0.9)", "MIN(x)", "MAX(x)", "MAX(k)", "MIN(m)", "MAX(w)", "MIN(w)", "MEDIAN(w)", "MODE(g)", "MODE(g, x)", "MODE(k)", "APPROX_BOUNDS(w)",
            "QUANTILE_CONT(x, [0.25, 0.5, 0.75])", "HISTOGRAM(x, [0, 2])")  # fmt: skip
KEYS = ("g", "k", "b", "s", "s, g", "k % 2", "UPPER(s)", "x", "u", "x > 0", "g, b",
        "ROLLUP(g)", "CUBE(g, b)", "GROUPING SETS ((g), (s), ())", "ROLLUP(s)")  # fmt: skip
OPTIONS = ("error = 3", "error = 20", "relative_error = 0.5", "relative_error = 0.01",
           "epsilon = 0.3", "epsilon = 2, delta = 0.01", "mechanism = 'gaussian'",
           "noise_index = [1, 10]", "sensitivity = 'smooth'", "interval = 'off'",
           "max_groups_contributed = 1", "max_rows_contributed = 1",
           "min_privacy_units_per_group = 2")  # fmt: skip
SETTINGS = ("epsilon = 0.5", "epsilon = 2", "epsilon = 'default'", "mechanism = 'gaussian'",
            "mechanism = 'laplace'", "mechanism = 'staircase'", "mechanism = 'default'",
            "sensitivity = 'smooth'",
            "sensitivity = 'global'", "interval = 'off'", "interval = 'on'", "repeats = 'fresh'",
            "repeats = 'free'", "bounds = 'find'", "rows_per_unit = 'find'",
            "bounds = 'declared'", "rows_per_unit = 'declared'")  # fmt: skip
SOURCES = (
    "t", "t", "t", "t",
    "(SELECT g, x * 2 - 1 AS x, k, m, b, s, w, u FROM t WHERE {test}) AS t",
    "(SELECT g, x, k, m, b, s, w, u FROM t UNION ALL SELECT g, k, k, m, NOT b, s, w, u FROM t) AS t",
    "(SELECT g, x, k, m, b, s, w, u FROM t WHERE {test} UNION ALL "
    "SELECT g, x, k, m, b, s, w, u FROM t WHERE {test}) AS t",
    "(SELECT u, COUNT(*) AS x, MAX(k) AS k, AVG(m) AS m, MIN(x) > 0 AS b, 'p' AS s, MAX(w) AS w, 'a' AS g "
    "FROM t GROUP BY u) AS t",
    "(SELECT u, SUM(x) AS x, COUNT(*) AS k, 0 AS m, TRUE AS b, 'p' AS s, 0 AS w, 'a' AS g "
    "FROM t WHERE {test} GROUP BY u) AS t",
    "(SELECT g, x - LAG(x) OVER (PARTITION BY u ORDER BY k) AS x, "
    "ROW_NUMBER() OVER (PARTITION BY u ORDER BY k) AS k, m, b, s, w, u FROM t) AS t",
)  # fmt: skip
ANSWERS = (
    "SELECT MAX(n) FROM (SELECT g, COUNT(*) AS n FROM t WHERE {test} GROUP BY g)",
    "SELECT g, COUNT(*) AS n, RANK() OVER (ORDER BY COUNT(*) DESC) FROM t GROUP BY g ORDER BY n",
    "SELECT (SELECT COUNT(*) FROM t WHERE {test}) / (SELECT COUNT(*) FROM t)",
    "SELECT COUNT(*) FROM t UNION ALL SELECT SUM(k) FROM t WHERE {test}",
    "WITH n AS (SELECT k, COUNT(*) AS c FROM t GROUP BY k) SELECT SUM(c) FROM n WHERE c > 1",
    "SELECT s, COUNT(*) FROM t WHERE {test} GROUP BY s HAVING COUNT(*) > 2 ORDER BY 2 LIMIT 2",
    "SELECT APPROX_TOP_COUNT(s, 2) FROM t",
    "SELECT DISTINCT s FROM t WHERE {test}",
    "EXPLAIN SELECT COUNT(*) FROM t WHERE {test}",
    "SHOW BUDGET",
)
OF_CUSTOMERS = (
    "SELECT seg, COUNT(*) FROM c GROUP BY seg",
    "SELECT reg, COUNT(*) FROM c GROUP BY reg",
    "SELECT AVG(amt), COUNT(*) FROM o WHERE st = 'x'",
    "SELECT st, SUM(amt) FROM o GROUP BY st",
    "SELECT seg, SUM(amt) FROM c JOIN o ON c.id = o.cust GROUP BY seg",
    "SELECT AVG(n) FROM (SELECT cust, COUNT(*) AS n FROM o GROUP BY cust)",
    "SELECT COUNT(*) FROM c WHERE EXISTS (SELECT 1 FROM o WHERE o.cust = c.id AND amt > 1)",
    "SELECT COUNT(*) FROM c WHERE NOT EXISTS (SELECT 1 FROM o WHERE o.cust = c.id AND amt > 1)",
    "SELECT r.name, COUNT(*) FROM c JOIN r ON c.reg = r.id GROUP BY r.name",
    "SELECT MEDIAN(amt), MAX(amt) FROM o",
    "SELECT amt, COUNT(*) FROM o GROUP BY amt",
    "SELECT SUM(qty) FROM o JOIN l ON o.id = l.oid WHERE amt >= 2",
    "SELECT SUM(qty) FROM o JOIN l ON o.id = l.oid WHERE amt < 2",
    "SELECT COUNT(DISTINCT cust) FROM o WHERE amt < 2",
    "SELECT COUNT(DISTINCT cust) FROM o WHERE amt >= 2",
    "SELECT id, reg FROM r JOIN rd ON r.id = rd.id",
)


@dataclass(frozen=True)
class Pair:
    """A script, and two neighbouring databases."""

    script: Script
    one: Database
    other: Database


def random_pair(chance: Random, folder: Path) -> Pair:
    """A session about rows, about units of several rows, or about several tables."""
    neighbors = chance.choice(list(Neighbors))
    several = chance.random() < 0.2
    if several:
        one, other = _customers(chance, neighbors)
        policy = customers_policy(folder, chance.choice([1, 2]), chance.choice([1, 3]))
    else:
        cap = chance.choice([0, 0, 1, 2, 3])
        one, other = _rows(chance, neighbors, cap)
        policy = rows_policy(folder, cap, chance.choice([0, 1, 2]) if cap > 1 else 0)
    policy = replace(policy, budget=_budget(chance), neighbors=neighbors)
    statements = _statements(chance, several)
    return Pair(Script(policy, statements, planned=chance.random() < 0.2), one, other)


def rows_policy(folder: Path, cap: int = 0, groups: int = 0) -> Policy:
    """The policy of one table, with caps on the rows and on the groups of a unit, if any."""
    lines = ['unit = "u"', f"rows_per_unit = {cap}"] if cap else []
    lines += [f"groups_per_unit = {groups}"] if groups else []
    (folder / "t.csv").write_text(",".join(COLUMNS) + "\n")
    return _read(folder, TABLE.format(unit="\n".join(lines)))


def customers_policy(folder: Path, orders: int, lines: int) -> Policy:
    """That of the tables of customers, with caps on what one of them has."""
    DENSE.write(folder)
    return _read(folder, policy_text(orders=orders, lines=lines))


def _read(folder: Path, text: str) -> Policy:
    (folder / "policy.toml").write_text(text)
    return read_policy(folder / "policy.toml")


def _budget(chance: Random) -> Budget:
    composition = chance.choice(list(Composition))
    deltas = [Fraction(1, 10**6), Fraction(1, 100), Fraction(1, 2)]
    if composition is Composition.PURE:
        deltas.append(Fraction(0))
    epsilon = Fraction(chance.choice([1, 4, 20, 100]))
    return Budget(epsilon, chance.choice(deltas), chance.choice([6, 10]), composition)


def _rows(chance: Random, neighbors: Neighbors, cap: int) -> tuple[Database, Database]:
    """Tables that differ by a row or, with a cap on their number, by the rows of a unit."""
    shared = [_row(chance, chance.choice(OWNERS)) for _ in range(chance.randint(0, 9))]
    most = cap + 2 if cap else 1
    own = [_row(chance, CHANGED) for _ in range(chance.randint(1, most))]
    changed = [_row(chance, CHANGED) for _ in range(chance.randint(1, most))]
    if neighbors is Neighbors.ADD_REMOVE:
        changed = []
    pair = [Database({"t": [*shared, *own]}), Database({"t": [*shared, *changed]})]
    chance.shuffle(pair)
    return pair[0], pair[1]


def _row(chance: Random, owner: str | None) -> Row:
    return *(chance.choice(cells) for cells in CELLS), owner


def _customers(chance: Random, neighbors: Neighbors) -> tuple[Database, Database]:
    """Customers of whom one is not there, or has other segments, amounts, states and quantities."""
    one = random_database(chance)
    unit = chance.choice(one.units) if one.units else 0
    others = one.of([each for each in one.units if each != unit])
    if neighbors is Neighbors.ADD_REMOVE:
        return one, others
    changes: dict[str, Callable[[Row], Row]] = {
        "c": lambda row: (row[0], chance.choice("AB"), chance.choice([1, 2, 3])),
        "o": lambda row: (*row[:2], chance.choice([None, 0, 3]), chance.choice("xy")),
        "l": lambda row: (row[0], chance.choice([None, 0, 3])),
        "b": lambda row: row,
    }
    own = one.of([unit])
    tables = {
        name: rows
        if name in PUBLIC
        else [*others.tables[name], *map(changes[name], own.tables[name])]
        for name, rows in one.tables.items()
    }
    return one, Database(tables)


def _statements(chance: Random, several: bool) -> tuple[str, ...]:
    """One to six of them, with settings between."""
    theme = Theme.chosen(chance)
    asked: list[str] = []
    statements = []
    for _ in range(chance.randint(1, 6)):
        if chance.random() < 0.2:
            statements.append(f"SET {chance.choice(SETTINGS)}")
        fresh = _of_customers(chance) if several else theme.statement(chance)
        asked.append(chance.choice(asked) if asked and chance.random() < 0.15 else fresh)
        statements.append(asked[-1])
    return tuple(statements)


@dataclass(frozen=True)
class Theme:
    """What the statements of a session have in common, so that some are about the same rows."""

    tests: tuple[str, ...]
    keys: tuple[str, ...]
    sources: tuple[str, ...]
    filtered: bool
    """Whether each aggregate has a FILTER, and rows are left out by nothing else."""

    @classmethod
    def chosen(cls, chance: Random) -> Theme:
        tests = (*chance.choice(TESTS), *chance.choice(TESTS)[: chance.randint(0, 1)])
        filtered = chance.random() < 0.3
        keys = (*([] if filtered else [""]), *chance.choices(KEYS, k=chance.randint(filtered, 2)))
        return cls(tests, keys, ("t", "t", "t", chance.choice(SOURCES)), filtered)

    def statement(self, chance: Random) -> str:
        if chance.random() < 0.12:
            return self._filled(chance, chance.choice(ANSWERS))
        keys = chance.choice(self.keys)
        shown = [keys] if keys and "(" not in keys else []
        kinds = chance.choice([COUNTS, COUNTS, COUNTS + MOMENTS, SELECTED, COUNTS + SELECTED])
        forms = ["", "", " FILTER (WHERE {test})"][2 * self.filtered :]
        inside = self._filled(chance, chance.choice(forms))
        for _ in range(chance.choice([1, 1, 2, 3])):
            aggregate = chance.choice(kinds)
            filtered = inside if "/" not in aggregate else ""
            shown.append(aggregate + chance.choice([filtered, filtered, filtered, ""]))
        forms = ["", " WHERE {test}", " WHERE {test}", " WHERE {test} AND {test}"]
        where = "" if self.filtered else chance.choice(forms)
        text = f"{_options(chance)} {', '.join(shown)} FROM {chance.choice(self.sources)}{where}"
        return self._filled(chance, f"SELECT{text}{f' GROUP BY {keys}' if keys else ''}")

    def _filled(self, chance: Random, text: str) -> str:
        while "{test}" in text:
            text = text.replace("{test}", chance.choice(self.tests), 1)
        return text


def _options(chance: Random) -> str:
    chosen = chance.choice(OPTIONS) if chance.random() < 0.2 else ""
    return f" WITH DIFFERENTIAL_PRIVACY OPTIONS({chosen})" if chosen else ""


def _of_customers(chance: Random) -> str:
    if chance.random() < 0.4:
        return f"SELECT COUNT(*) FROM {random_read(chance)}"
    text = chance.choice(OF_CUSTOMERS)
    return text.replace("SELECT", f"SELECT{_options(chance)}", 1)
