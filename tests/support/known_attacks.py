"""The table, the statements and the noise that the known attacks are tried with.

The files of tests/audit try them end to end, a family each, one test or more for each id of the
list. A5 (time of a draw), A6 (time of an answer), A14 to A16 (ledgers that last) and the
statistics of the sampler are tried beside what they attack.
"""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

from dpdb.policy.budget import Budget
from dpdb.policy.catalog import Policy
from dpdb.privacy.noise.system import SystemNoise
from tests.support.exactly import write

HEADER = "id,name,age,pay,city,smoker,born\n"
POLICY = """
[budget]
epsilon = 1
queries = 10
[privacy]
neighbors = "{neighbors}"
[tables.t.columns]
id = {{ type = "integer", bounds = [0, 200] }}
name = {{ type = "text" }}
age = {{ type = "integer", bounds = [0, 120] }}
pay = {{ type = "number", bounds = [-100, 1000], step = 0.25 }}
city = {{ type = "text", values = ["Rome", "Oslo", "=cmd()"] }}
smoker = {{ type = "boolean" }}
born = {{ type = "date", bounds = [1900-01-01, 2020-12-31] }}
"""
ROWS = [
    f"{i},{name}{i},{20 + i},{i * 37 % 900}.25,{city},{smoker},19{50 + i}-03-04"
    for i, (name, city, smoker) in enumerate(
        [("Ann", "Rome", "true"), ("Bob", "Oslo", "false"), ("Cid", "Rome", "")] * 10
    )
]


def people(folder: Path, rows: list[str] = ROWS, neighbors: str = "add-remove") -> Policy:
    policy = POLICY.format(neighbors=neighbors)
    return write(folder, "t", HEADER + "".join(f"{row}\n" for row in rows), policy)


def rich(policy: Policy, epsilon: int = 10_000, queries: int = 1000) -> Policy:
    """The policy with a budget that lasts."""
    return replace(policy, budget=Budget(Fraction(epsilon), Fraction(0), queries))


def seeded(seed: int) -> SystemNoise:
    """The real sampler over bytes that are the same every time."""
    return SystemNoise(random.Random(seed).randbytes)


TRAPS = [
    "SELECT SUM(CLAMP(1 / (age - 33), 0, 1)) FROM t",
    "SELECT COUNT(*) FROM t WHERE 1 / (age - 33) > 0",
    "SELECT COUNT(CAST(name AS INTEGER)) FROM t",
    "SELECT COUNT(CASE WHEN name = 'Zoe' THEN pay * 1e300 * 1e300 END) FROM t",
    "SELECT SUM(CLAMP(CASE WHEN name = 'Zoe' THEN 1 / 0 ELSE 0 END, 0, 1)) FROM t",
    "SELECT COUNT(born + 3000000 * age) FROM t",
    "SELECT COUNT(*) FROM t WHERE name = NULL",
    "SELECT SUM(COALESCE(1, id)) FROM t WHERE SUBSTR(name, -2147483647, 2147483647) = ''",
]
REWORDINGS = [
    "SELECT SUM(age) FROM t WHERE age >= 30 AND pay < 500 AND name <> 'x'",
    "select   sum( AGE )\nfrom T -- again\nwhere 30 <= age and (500 > pay) and 'x' != name",
    "SELECT SUM(\"age\") AS total FROM t x WHERE x.name <> 'x' AND x.pay < 500 AND x.age >= 30",
    "SELECT /* ; */ SUM(age) + 0 FROM table WHERE pay < 500 AND (age >= 30 AND name <> 'x') LIMIT 3",
    "SELECT -SUM(age) FROM t WHERE name <> 'x' AND age >= 30 AND pay < 500 AND age >= 30"
    " HAVING SUM(age) IS NOT NULL ORDER BY 1",
]
DIFFERENT = [
    "SELECT COUNT(*) FROM t",
    "SELECT COUNT(age) FROM t",
    "SELECT COUNT(DISTINCT age) FROM t",
    "SELECT SUM(age) FROM t",
    "SELECT SUM(id) FROM t",
    "SELECT AVG(age) FROM t",
    "SELECT SUM(age) FROM t WHERE age > 30",
    "SELECT SUM(age) FROM t WHERE age >= 30",
    "SELECT SUM(age) FROM t WHERE age < 30",
    "SELECT SUM(age) FROM t WHERE 30 < id",
    "SELECT SUM(age) FILTER (WHERE smoker) FROM t",
    "SELECT SUM(age) FROM t WHERE NOT smoker",
    "SELECT SUM(age) FROM t WHERE name = 'a'",
    "SELECT SUM(age) FROM t WHERE name = 'A'",
    "SELECT SUM(age) FROM t WHERE name LIKE 'a'",
    "SELECT SUM(age) FROM t WHERE name LIKE 'a%'",
    "SELECT SUM(age) FROM t WHERE name LIKE 'a!%' ESCAPE '!'",
    "SELECT SUM(age) FROM t WHERE name LIKE 'a_'",
    "SELECT SUM(age) FROM t WHERE name IN ('a', 'b')",
    "SELECT SUM(age) FROM t WHERE name NOT IN ('a', 'b')",
    "SELECT SUM(age - 1) FROM t",
    "SELECT SUM(1 - age) FROM t",
    "SELECT SUM(age) FROM t WHERE smoker = TRUE",
    "SELECT SUM(age) FROM t GROUP BY smoker",
    "SELECT MIN(age) FROM t",
    "SELECT MAX(age) FROM t",
    "SELECT MEDIAN(age) FROM t",
    "SELECT QUANTILE(age, 0.25) FROM t",
    "SELECT SUM(age) FROM t WHERE age > (SELECT AVG(age) FROM t)",
    "SELECT SUM(age) FROM t WHERE age > (SELECT MIN(age) FROM t)",
    "SELECT SUM(age) FROM t WHERE age > (SELECT AVG(age) FROM t WHERE smoker)",
    "SELECT SUM(age) FROM t WHERE age > (SELECT AVG(age) + 1 FROM t)",
    "SELECT SUM(age) FROM t WHERE smoker IS TRUE",
    "SELECT SUM(CASE WHEN smoker THEN age ELSE 0 END) FROM t",
    "SELECT SUM(CASE WHEN smoker THEN 0 ELSE age END) FROM t",
    "SELECT COUNT(*) FROM t WHERE CAST(age AS TEXT) = '1'",
    "SELECT COUNT(*) FROM t WHERE age = 1",
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 2) COUNT(*) FROM t",
]


def asking(options, select="COUNT(*) FROM t"):
    return f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS({options}) {select}"


def with_delta(policy):
    return replace(policy, budget=Budget(Fraction(100), Fraction(1, 10**5), 1000))
