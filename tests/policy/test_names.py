"""A name as hints and completion write it means what it names, and nothing else."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path

import pytest

from dpdb.errors import DpdbError
from dpdb.policy.catalog import Column, Kind, Policy, Table
from dpdb.policy.names import RESERVED, quoted, written
from dpdb.sql.selects.statements import Select, statement
from dpdb.sql.text.dialect import Dpdb

WORDS = sorted(
    {word for words in Dpdb.Tokenizer.KEYWORDS for word in words.split() if word.isidentifier()}
    | set(Dpdb.parser_class.NO_PAREN_FUNCTION_PARSERS)
    | {token.name for token in Dpdb.parser_class.NO_PAREN_FUNCTIONS}
)
BOUNDS = Fraction(0), Fraction(9)
QUERY = (
    "SELECT {0}, SUM({0}), AVG(CLAMP({0}, 1, 2)) FROM {1} WHERE {0} BETWEEN 1 AND 3 AND 2 < {0}"
    " AND {1}.{0} + {0} > 1 GROUP BY {0} ORDER BY {0}"
)


def meaning(column: str, table: str, policy: Policy) -> object:
    """What every use of the names means; None for what is refused."""
    try:
        found = statement(QUERY.format(column, table), policy)
        described = statement(f"DESCRIBE {table}", policy)
    except DpdbError:
        return None
    assert isinstance(found, Select)
    query, outputs = found.query, [output.expression for output in found.query.outputs]
    return query.aggregates, query.where, query.keys, outputs, described


def means_itself(shown: str, name: str) -> bool:
    """Whether `shown` names a column, and a table, that is called `name`."""
    column, table = policy("t", name), policy(name, "c")
    of_column, of_table = meaning(quoted(name), "t", column), meaning("c", quoted(name), table)
    found = meaning(shown, "t", column), meaning("c", shown, table)
    return None not in found and found == (of_column, of_table)


def policy(table: str, column: str) -> Policy:
    return Policy((Table(table, Path("t.csv"), (Column(column, Kind.INTEGER, *BOUNDS),)),))


def test_words_that_need_quotes_are_reserved() -> None:
    unreserved = [word.lower() for word in WORDS if word not in RESERVED]
    assert [word for word in unreserved if not means_itself(word, word)] == []


@pytest.mark.parametrize("name", ["a", "net worth", "select", 'a"b', "1st", "naïve", "a-b", "Ab"])
def test_a_name_as_it_is_written(name: str) -> None:
    assert means_itself(written(name), name)
    assert (written(name) == name) == bool(re.fullmatch("[A-Za-z]+", name) and name != "select")
