"""Random statements over joined and grouped tables, and whether they are answered as by SQLite.

At ε = 10,000 without noise an answer is the exact one. Names are taken from few, so that those of
different tables, of aggregates and of what dpdb makes up itself can be alike.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random

from dpdb.errors import DpdbError, InternalError
from dpdb.policy.catalog import Policy
from dpdb.session.session import Session
from tests.support.noiseless import Noiseless
from tests.support.units import Database, Row

NAMES = ("id", "cust", "amt", "count", "n", "k")
COMPARED = ("=", "<>", "<", ">=")


def random_statement(random: Random) -> str:
    """A SELECT that reads customers, their orders and what is worked out for each customer."""
    return random.choice([_of_customers, _of_customers, _of_orders, _by_value, _left])(random)


def _number(random: Random) -> str:
    return str(random.randint(0, 3))


def _compared(random: Random, left: str) -> str:
    return f"{left} {random.choice(COMPARED)} {_number(random)}"


def _per_customer(random: Random, name: str) -> str:
    """A table with a row for each customer who has orders."""
    value = random.choice(["COUNT(*)", "SUM(amt)", "MAX(amt)", "COUNT(DISTINCT st)"])
    where = f" WHERE {_compared(random, 'amt')}" if random.random() < 0.4 else ""
    having = f" HAVING {_compared(random, 'COUNT(*)')}" if random.random() < 0.3 else ""
    return f"(SELECT cust, {value} AS {name} FROM o{where} GROUP BY cust{having})"


def _grouped(random: Random) -> tuple[str, str]:
    """A table with a row for each customer, and a column of it that is not the key."""
    name, label = random.choice(NAMES[2:]), random.choice(["k", "n", "id", "cust"])
    join = random.choice(["JOIN", "JOIN", "LEFT JOIN"])
    read = f"c JOIN {_per_customer(random, name)} s ON s.cust = c.id".replace("JOIN", join, 1)
    keys, having = "c.id", ""
    if random.random() < 0.7:
        keys = f"c.id, s.{name}"
        if random.random() < 0.8:
            having = f" HAVING {_compared(random, f's.{name}')}"
    elif random.random() < 0.5:
        having = f" HAVING {_compared(random, 'COUNT(*)')}"
    where = f" WHERE {_compared(random, f's.{name}')}" if random.random() < 0.3 else ""
    return f"(SELECT c.id AS {label} FROM {read}{where} GROUP BY {keys}{having})", label


def _lookup(random: Random, key: str) -> str:
    """A condition on the orders of the customer that `key` names."""
    own = f"x.cust = {key}"
    if random.random() < 0.7:
        own += f" AND {_compared(random, 'x.amt')}"
    kind = random.random()
    if kind < 0.4:
        count = random.choice(["COUNT(*)", "SUM(x.amt)"])
        return _compared(random, f"(SELECT {count} FROM o x WHERE {own})")
    negated = random.choice(["", "NOT "])
    if kind < 0.7:
        return f"{negated}EXISTS (SELECT 1 FROM o x WHERE {own})"
    return f"{key} {negated}IN (SELECT x.cust FROM o x WHERE {_compared(random, 'x.amt')})"


def _of_customers(random: Random) -> str:
    table, key = _grouped(random)
    where = f" WHERE {_lookup(random, f't.{key}')}" if random.random() < 0.8 else ""
    return f"SELECT COUNT(*) FROM {table} t{where}"


def _of_orders(random: Random) -> str:
    name = random.choice(NAMES[2:])
    read = f"o a JOIN {_per_customer(random, name)} s ON s.cust = a.cust"
    value = random.choice(["COUNT(*)", "COALESCE(SUM(a.amt), 0)", "COUNT(a.amt)"])
    where = [_compared(random, f"s.{name}")] if random.random() < 0.7 else []
    where += [_lookup(random, "a.cust")] if random.random() < 0.5 else []
    return f"SELECT {value} FROM {read}" + (f" WHERE {' AND '.join(where)}" if where else "")


def _by_value(random: Random) -> str:
    """Groups by declared values; SQLite has no group of a value that is not there."""
    value = random.choice(["COUNT(*)", "COALESCE(SUM(amt), 0)", "COUNT(amt)"])
    where = f" AND {_lookup(random, 'o.cust')}" if random.random() < 0.5 else ""
    having = random.choice(["COUNT(*) > 0", f"COUNT(*) > 0 AND {_compared(random, value)}"])
    order = random.choice(["st", "st DESC", f"{value}, st", f"{value} DESC, st DESC"])
    select = f"SELECT st, {value} FROM o WHERE st IS NOT NULL{where}"
    return f"{select} GROUP BY st HAVING {having} ORDER BY {order}"


def _left(random: Random) -> str:
    """EXISTS and IN in the ON of an outer join."""
    on = f"b.cust = c.id AND {_lookup(random, random.choice(['c.id', 'b.cust']))}"
    value = random.choice(["COUNT(*)", "COUNT(b.cust)"])
    return f"SELECT {value} FROM c LEFT JOIN b ON {on}"


def check(random: Random, policy: Policy, databases: Sequence[Database]) -> bool:
    """Whether a random statement is answered; fails where the answer is not that of SQLite."""
    text = random_statement(random)
    for database in databases:
        with database.in_memory():
            try:
                answer = Session(policy, noise=Noiseless()).execute(text)
            except InternalError:
                raise AssertionError(text) from None
            except DpdbError:
                return False
        expected = database.connection.execute(text).fetchall()
        found = [_plain(row) for row in answer.rows]
        if "ORDER BY" in text:
            assert found == [_plain(row) for row in expected], text
        assert Counter(found) == Counter(map(_plain, expected)), (text, database.tables)
    return True


def _plain(row: Row) -> Row:
    """A row in numbers that compare; the sum of no rows is 0 in dpdb, and NULL in SQLite."""
    return tuple(cell if isinstance(cell, str) else float(cell or 0) for cell in row)
