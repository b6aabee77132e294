"""DuckDB as the oracle for SELECTs within FROM and WITH, at random and without noise."""

from __future__ import annotations

import random

import pytest

from tests.engines.conformance.test_statements import World

STATEMENTS = 30


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return World(tmp_path_factory.mktemp("world"), "rows")


class Nested:
    """A random SELECT over SELECTs, of which some stand in FROM and some in WITH."""

    def __init__(self, chance: random.Random):
        self.chance = chance
        self.tables: list[str] = []
        self.source, self.columns = "(SELECT age, zip, pay FROM t) AS t", ["age", "zip", "pay"]
        for level in range(chance.randint(1, 4)):
            self._wrap(level)

    def _wrap(self, level: int) -> None:
        """Another SELECT around the source."""
        chance, listed, names = self.chance, [], []
        if chance.random() < 0.4:
            listed, names = [chance.choice(["*", f"{self._alias}.*"])], list(self.columns)
        for number in range(chance.randint(1, 3)):
            listed.append(f"{self._number()} AS c{level}{number}")
            names.append(f"c{level}{number}")
        select = f"SELECT {', '.join(listed)} FROM {self.source}"
        if chance.random() < 0.6:
            select += f" WHERE {self._condition()}"
        if chance.random() < 0.2:
            select += " ORDER BY 1 DESC"
        renamed = ""
        if chance.random() < 0.3:
            names[0] = f"first{level}"
            renamed = f"({names[0]})"
        name = "t" if level == 0 and chance.random() < 0.3 else f"d{level}"
        if chance.random() < 0.5:
            self.tables.append(f"{name}{renamed} AS ({select})")
            self.source = name
        else:
            self.source = f"({select}) AS {name}{renamed}"
        self.columns = names

    @property
    def _alias(self) -> str:
        return self.source.split()[-1].split("(")[0]

    def _column(self) -> str:
        name = self.chance.choice(self.columns)
        return self.chance.choice([name, name.upper(), f"{self._alias}.{name}"])

    def _number(self) -> str:
        shape = self.chance.choice(["{0}", "{0} + {1}", "{0} * 2 - {1}", "COALESCE({0}, 3)",
                                    "CASE WHEN {0} > 1 THEN {1} END"])  # fmt: skip
        return shape.format(self._column(), self._column())

    def _condition(self) -> str:
        chance = self.chance
        shapes = ["{0} > {1}", "{0} < 25 OR {1} IS NULL", "NOT {0} BETWEEN 2 AND 12",
                  "{0} IN (1, 2, 10, NULL) OR {1} > 0", "{0} > (SELECT COUNT(*) - 150 FROM t)"]  # fmt: skip
        if self.tables:
            read = self.tables[-1].split("(")[0].split()[0]
            shapes.append(f"{{0}} * 9 > (SELECT COUNT(*) FROM {read}) - 99")
        return chance.choice(shapes).format(self._column(), self._column())

    def text(self) -> str:
        calls = [f"COUNT({self._column()})", f"COALESCE(SUM({self._number()}), 0)",
                 f"COUNT(DISTINCT {self._number()})"]  # fmt: skip
        tables = f"WITH {', '.join(self.tables)} " if self.tables else ""
        return (
            f"{tables}SELECT COUNT(*), {', '.join(calls)} FROM {self.source}"
            f" WHERE {self._condition()}"
        )


@pytest.mark.parametrize("seed", range(STATEMENTS))
def test_a_random_nested_statement_has_the_same_answer(world: World, seed: int) -> None:
    world.check(Nested(random.Random(seed)).text())
