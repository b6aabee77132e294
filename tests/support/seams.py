"""One generator of statements: tags say which features of SQL, policy and options meet in each.

A statement is made of tables within tables, which have some of the columns u, g, s, x, k and d, and of a
SELECT that asks for statistics of the outermost. What is said to dpdb and to DuckDB differs in
options, and in NULL as a declared key, of which DuckDB has a group and dpdb has none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from random import Random

from dpdb.policy.catalog import Policy
from dpdb.policy.reading.reader import read_policy
from tests.support.units import Database, Row

STEPS = ("row table", "unit table", "join", "row union", "row window")
"""Tables within tables: each reads the one before."""
TESTS = ("subquery", "lookup", "date", "NULL")
KEYS = ("declared keys", "found keys", "grouping sets")
VALUES = ("DISTINCT", "FILTER", "quantile")
AFTER = ("HAVING", "answer table", "answer union", "answer window")
GIVEN = ("error", "relative_error", "option")
WORLDS = (("add-remove", "replace"), ("row", "caps"), ("pure", "advanced", "zcdp"))
TAGS = (*STEPS, *TESTS, *KEYS, *VALUES, *AFTER, *GIVEN, *(tag for tags in WORLDS for tag in tags))
Pair = tuple[str, str]
EITHER = "a policy has one of them"
GOALS = ("error", "relative_error")


def _apart(reason: str, one: tuple[str, ...], other: tuple[str, ...]) -> dict[Pair, str]:
    return {(a, b): reason for a in one for b in other}


APART: dict[Pair, str] = {
    **{pair: EITHER for tags in WORLDS for pair in combinations(tags, 2)},
    **_apart("units have one row", ("row",), ("unit table", "row window")),
    **_apart("a goal is of counts and sums, not of ranks", GOALS, ("quantile",)),
    **_apart("a goal is of one SELECT over tables", GOALS, ("grouping sets", *AFTER[1:])),
    **_apart("a goal is of one SELECT without subqueries", GOALS, ("subquery",)),
    **_apart("a goal is not of keys that are found", GOALS, ("found keys",)),
    **_apart("two goals", ("error",), ("relative_error",)),
    **_apart("ex-post privacy is for pure ε", ("relative_error",), ("advanced", "zcdp")),
}
"""Tags that cannot go together, and why."""


def apart(one: str, other: str) -> str | None:
    """Why two tags cannot go together, if they cannot."""
    return APART.get((one, other)) or APART.get((other, one))


def possible(tags: frozenset[str]) -> bool:
    return not any(apart(*pair) for pair in combinations(tags, 2))


def pairs_of(tags: Collection[str]) -> list[Pair]:
    """The pairs of tags in their own order."""
    return list(combinations([tag for tag in TAGS if tag in tags], 2))


PAIRS = [pair for pair in pairs_of(TAGS) if not apart(*pair)]
"""The pairs that can go together."""


TABLE = """
[budget]
{name}
epsilon = {epsilon}
delta = {delta}
queries = {queries}
composition = "{composition}"
{limits}
[privacy]
neighbors = "{neighbors}"
{person}
[tables.t]
path = "t.csv"
{unit}
columns.u = {{ type = "integer" }}
columns.g = {{ type = "text", values = ["a", "b"] }}
columns.s = {{ type = "text" }}
columns.x = {{ type = "integer", bounds = [-2, 7] }}
columns.k = {{ type = "integer", bounds = [-2, 7] }}
columns.d = {{ type = "date", bounds = [2020-01-01, 2020-03-31] }}
[tables.v]
path = "v.csv"
{own}
key = "u"
columns.u = {{ type = "integer" }}
columns.g = {{ type = "text", values = ["a", "b"] }}
columns.s = {{ type = "text" }}
columns.x = {{ type = "integer", bounds = [0, 3] }}
"""
CAP = 3
COLUMNS = {"t": ("u", "g", "s", "x", "k", "d"), "v": ("u", "g", "s", "x")}


def policy_text(tags: frozenset[str], **given: object) -> str:
    """The policy of two tables, whose columns have the same names."""
    units = "caps" in tags
    values = {
        "name": "", "epsilon": 9000, "delta": "0.1", "queries": 30, "limits": "",
        "composition": next((tag for tag in WORLDS[2] if tag in tags), "pure"),
        "neighbors": "replace" if "replace" in tags else "add-remove",
        "person": 'unit_name = "person"' if units else "",
        "unit": f'unit = "u"\nrows_per_unit = {CAP}' if units else "",
        "own": 'unit = "u"' if units else "public = true",
    }  # fmt: skip
    return TABLE.format(**{**values, **given})


def policy_of(folder: Path, tags: frozenset[str], **given: object) -> Policy:
    (folder / "seams.toml").write_text(policy_text(tags, **given))
    for name, columns in COLUMNS.items():
        lines = [columns, *database(Random(0)).texts[name]]
        (folder / f"{name}.csv").write_text("".join(",".join(line) + "\n" for line in lines))
    return read_policy(folder / "seams.toml")


PEOPLE = range(8)
CELLS = (("a", "b", "b", None), ("p", "p", "p", "q", "q", None), (-2, 0, 1, 1, 3, 5, None),
         (3, 4, 5, 7), ("2020-01-01", "2020-02-01", "2020-02-29", "2020-03-31", None))  # fmt: skip


def row(chance: Random, unit: int) -> Row:
    return unit, *(chance.choice(cells) for cells in CELLS)


def person(chance: Random, unit: int) -> Row:
    return unit, chance.choice("ab"), chance.choice("pq"), chance.randint(0, 3)


def database(chance: Random) -> Database:
    """At most as many rows of a person as count."""
    rows = [row(chance, unit) for unit in PEOPLE for _ in range(chance.randint(0, CAP))]
    chance.shuffle(rows)
    return Database({"t": rows, "v": [person(chance, unit) for unit in PEOPLE[:-1]]})


@dataclass(frozen=True)
class Statement:
    """A statement, by what can be changed of it."""

    tags: frozenset[str]
    steps: tuple[str, ...] = ()
    """The tables within tables, from the inside."""
    constant: int = 4
    inner: int = 3
    """A constant of the tables within."""
    column: str = "x"
    labels: tuple[str, str] = ("x", "k")
    """What the two numbers of a table within are called."""
    option: str = "epsilon = 300"

    def __str__(self) -> str:
        return self.text()

    def changed(self) -> Iterator[tuple[str, Statement]]:
        """The same with one constant, label, column or option changed."""
        yield "constant", replace(self, constant=self.constant % 6 + 1)
        yield "inner constant", replace(self, inner=self.inner % 6 + 1)
        yield "column", replace(self, column="xk"["kx".index(self.column)])
        yield "label", replace(self, labels=self.labels[::-1])
        yield "option", replace(self, option=_other(self.option))

    def text(self, *, duck: bool = False) -> str:
        select = self._select(duck=duck)
        if "answer union" in self.tags:
            more = replace(self, tags=self.tags - {"answer union", "option"})
            # What is asked beside it is about fewer rows.
            select += f" UNION ALL {replace(more, constant=self.constant - 1)._select(duck=duck)}"
        if "answer table" in self.tags:
            names = ", ".join([*self.names, *(["z"] if duck and "found keys" in self.tags else [])])
            select = f"SELECT {names} FROM ({select}) AS a WHERE n > {self.constant % 3}"
        given = "" if duck else self._given()
        return select.replace("SELECT", f"SELECT{given}", 1)

    @property
    def world(self) -> frozenset[str]:
        """The tags of its policy."""
        return self.tags & {tag for tags in WORLDS for tag in tags}

    @property
    def keys(self) -> list[str]:
        found = ["g"] if "declared keys" in self.tags else []
        found += ["s"] if "found keys" in self.tags else []
        return found or (["g"] if "grouping sets" in self.tags else [])

    @property
    def names(self) -> list[str]:
        """What the columns of the answer are called: keys, and then numbers."""
        ranks = ["r"] if "answer window" in self.tags else []
        return [*self.keys, "n", *(name for name, _ in self._values()), *ranks]

    def _given(self) -> str:
        options = [self.option] if "option" in self.tags else []
        options += ["error = 30"] if "error" in self.tags else []
        options += ["relative_error = 0.5"] if "relative_error" in self.tags else []
        return f" WITH DIFFERENTIAL_PRIVACY OPTIONS({', '.join(options)})" if options else ""

    def _count(self) -> str:
        """What is asked for first: the number of rows, unless a goal is of another number."""
        alone = "relative_error" in self.tags
        distinct = alone and "DISTINCT" in self.tags
        value = f"COUNT(DISTINCT {self.column})" if distinct else "COUNT(*)"
        return value + (self._filter() if alone else "")

    def _filter(self) -> str:
        return f" FILTER (WHERE k <> {self.constant % 6 + 2})" if "FILTER" in self.tags else ""

    def _values(self) -> Iterator[tuple[str, str]]:
        """What is asked for beside it."""
        if "relative_error" in self.tags:
            return
        if "quantile" in self.tags:
            yield "q", f"MEDIAN({self.column}){self._filter()}"
        value = "COUNT(DISTINCT {})" if "DISTINCT" in self.tags else "SUM({})"
        yield "m", value.format(self.column) + self._filter()

    def _select(self, *, duck: bool) -> str:
        found, tests = "found keys" in self.tags, self._tests()
        values = [(self._count(), "n"), *((value, name) for name, value in self._values())]
        if "answer window" in self.tags:
            # Keys of which dpdb may show fewer have other ranks.
            rank = "NULL" if duck and found else "RANK() OVER (ORDER BY COUNT(*) DESC)"
            values.append((rank, "r"))
        if duck and found:
            # A row can be in both parts of a union.
            rows = "COUNT(*) / 2" if "row union" in self.steps else "COUNT(*)"
            values.append((rows if "row" in self.tags else "COUNT(DISTINCT u)", "z"))
        shown = [*self.keys, *(f"{value} AS {name}" for value, name in values)]
        text = f"SELECT {', '.join(shown)} FROM {self._read()} AS t"
        text += f" WHERE {' AND '.join(tests)}" if tests else ""
        having = ["COUNT(*) > 0"] if self.keys else []
        having += [f"COUNT(*) > {self.constant - 2}"] if "HAVING" in self.tags else []
        if self.keys:
            listed = ", ".join(self.keys)
            text += f" GROUP BY {f'ROLLUP({listed})' if 'grouping sets' in self.tags else listed}"
        if duck:
            text = text.replace("MEDIAN(", "LIST(")
            having += [
                f"(GROUPING({key}) = 1 OR {key} IS NOT NULL)" for key in self.keys if key == "g"
            ]
        return f"{text} HAVING {' AND '.join(having)}" if having else text

    def _tests(self) -> list[str]:
        """Conditions on the rows."""
        found = [f"k <> {self.constant}"]
        if "subquery" in self.tags:
            found.append(f"k >= (SELECT AVG(k) FROM t WHERE k <= {max(self.constant, 4) + 1})")
        if "lookup" in self.tags:
            found.append(
                f"EXISTS (SELECT 1 FROM v AS w WHERE w.u = t.u AND w.x < {self.constant % 3 + 1})"
            )
        if "date" in self.tags:
            found.append(f"d <= DATE '2020-02-2{self.constant}'")
        if "NULL" in self.tags:
            found.append(f"(x IS NULL OR COALESCE(x, {self.constant}) > 0)")
        return found

    def _read(self) -> str:
        read = "t"
        for step in self.steps:
            read = f"({self._step(step, read)})"
        return read

    def _step(self, step: str, below: str) -> str:
        x, k = self.labels
        inner = f"k <> {self.inner + 1}"
        kept = {"u", *self.keys, *(["d"] if "date" in self.tags else [])}
        more = [name for name in ("u", "g", "s", "d") if name in kept]
        plain, read = ", ".join(more), f"FROM {below} AS t"
        match step:
            case "row table":
                return f"SELECT {plain}, x * 2 - 1 AS {x}, k AS {k} {read} WHERE {inner}"
            case "unit table":
                made = {"u": "u", "g": "g", "d": "MIN(d) AS d"}
                made["s"] = "CASE WHEN MAX(k) > 4 THEN 'p' ELSE 'q' END AS s"
                shown = ", ".join(made[name] for name in more)
                numbers = f"SUM(x) AS {x}, MAX(k) AS {k}"
                keys = "u, g" if "g" in kept else "u"
                having = f"HAVING COUNT(*) < {self.inner + 1}"
                return f"SELECT {shown}, {numbers} {read} GROUP BY {keys} {having}"
            case "join":
                shown = ", ".join(
                    f"{'v' if name == 'g' else 't'}.{name} AS {name}" for name in more
                )
                return f"SELECT {shown}, t.x + v.x AS {x}, t.k AS {k} {read} JOIN v ON t.u = v.u"
            case "row union":
                first = f"SELECT {plain}, x AS {x}, k AS {k} {read} WHERE {inner}"
                return f"{first} UNION ALL SELECT {plain}, k AS {x}, k AS {k} {read} WHERE x > 0"
            case "row window":
                total = f"SUM(x) OVER (PARTITION BY u) AS {x}"
                return f"SELECT {plain}, {total}, DENSE_RANK() OVER (PARTITION BY u ORDER BY k) AS {k} {read}"
        raise AssertionError(step)


def random_statement(chance: Random, wanted: frozenset[str]) -> Statement:
    """A statement with these tags and some others, about a policy with these tags."""
    tags = set(wanted)
    for tag in chance.sample(TAGS, chance.randint(0, 4)):
        if possible(frozenset({*tags, tag})):
            tags.add(tag)
    for each in WORLDS:
        own = [tag for tag in each if possible(frozenset({*tags, tag}))]
        if not tags & set(each):
            tags.add(chance.choice(own))
    steps = [tag for tag in STEPS if tag in tags]
    chance.shuffle(steps)
    # A window is over the rows of stored tables.
    steps.sort(key=lambda step: step != "row window")
    return Statement(
        frozenset(tags),
        tuple(steps),
        constant=chance.randint(1, 6),
        inner=chance.randint(1, 6),
        column=chance.choice("xk"),
        labels=chance.choice((("x", "k"), ("k", "x"))),
        option=chance.choice(FEW if tags & {*GOALS} else OPTIONS),
    )


OPTIONS = ("epsilon = 100", "epsilon = 300", "interval = 'off'", "mechanism = 'laplace'",
           "noise_index = [1, 10]")  # fmt: skip


FEW = ("interval = 'off'", "mechanism = 'laplace'")
"""Options that go with a goal."""


def _other(option: str) -> str:
    known = FEW if option in FEW else OPTIONS
    return known[(known.index(option) + 1) % len(known)]


TRIES = 40
"""Of each pair, until one is answered."""


def each_pair(chance: Random, check: Callable[[Statement], bool], most: int | None = None) -> Met:
    """Statements in which each pair of tags meets, held against `check`: whether it is answered."""
    met = Met()
    for pair in chance.sample(PAIRS, len(PAIRS))[:most]:
        for _ in range(TRIES):
            if met.times[pair]:
                break
            met.statements += 1
            statement = random_statement(chance, frozenset(pair))
            if check(statement):
                met.times.update(pairs_of(statement.tags))
    return met


@dataclass
class Met:
    """How often each pair met in a statement that was answered."""

    times: Counter[Pair] = field(default_factory=Counter)
    statements: int = 0

    @property
    def missed(self) -> list[Pair]:
        return [pair for pair in PAIRS if not self.times[pair]]

    def __str__(self) -> str:
        often = [self.times[pair] for pair in PAIRS if self.times[pair]]
        names = ", ".join(" + ".join(pair) for pair in self.missed) or "none"
        return (f"{self.statements} statements, {len(often)} pairs met {min(often)} to {max(often)}"
                f" times, not met: {names}")  # fmt: skip
