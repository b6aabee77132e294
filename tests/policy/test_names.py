"""A name as hints and completion write it means what it names, and nothing else."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path

import pytest

from dpdb.errors import DpdbError
from dpdb.policy.catalog import Column, Kind, Policy, Table
from dpdb.policy.names import RESERVED, quoted, written
from dpdb.sql.dialect import Dpdb
from dpdb.sql.statements import Select, statement

WORDS = sorted(
    {word for words in Dpdb.Tokenizer.KEYWORDS for word in words.split() if word.isidentifier()}
    | set(Dpdb.parser_class.NO_PAREN_FUNCTION_PARSERS)
    | {token.name for token in Dpdb.parser_class.NO_PAREN_FUNCTIONS}
)
BOUNDS = Fraction(0), Fraction(9)
USES = (
    "SELECT {0}, SUM({0}) FROM {1} WHERE {0} BETWEEN 1 AND 3 AND 2 < {0} GROUP BY {0} ORDER BY {0}",
    "SELECT AVG(CLAMP({0}, 1, 2)) FROM {1} WHERE {1}.{0} + {0} > 1",
    "DESCRIBE {1}",
)


def meanings(column: str, table: str, policy: Policy) -> list[object]:
    """What every use of the names means; None for what is refused."""
    return [meaning(use.format(column, table), policy) for use in USES]


def meaning(text: str, policy: Policy) -> object:
    try:
        found = statement(text, policy)
    except DpdbError:
        return None
    if not isinstance(found, Select):
        return found
    query = found.query
    return query.aggregates, query.where, query.keys, [o.expression for o in query.outputs]


def means_itself(shown: str, name: str) -> bool:
    """Whether `shown` names a column, and a table, that is called `name`."""
    column, table = policy("t", name), policy(name, "c")
    of_column, of_table = meanings(quoted(name), "t", column), meanings("c", quoted(name), table)
    if None in of_column + of_table:
        return False
    # No table is described in the uses of a column's name.
    shown_column, shown_table = meanings(shown, "t", column)[:2], meanings("c", shown, table)
    return (
        shown_column == of_column[:2]
        and shown_table[:2] == of_table[:2]
        and None not in shown_table
    )


def policy(table: str, column: str) -> Policy:
    return Policy((Table(table, Path("t.csv"), (Column(column, Kind.INTEGER, *BOUNDS),)),))


def test_words_that_need_quotes_are_reserved() -> None:
    unreserved = [word.lower() for word in WORDS if word not in RESERVED]
    assert [word for word in unreserved if not means_itself(word, word)] == []


@pytest.mark.parametrize("name", ["a", "net worth", "select", 'a"b', "1st", "naïve", "a-b", "Ab"])
def test_a_name_as_it_is_written(name: str) -> None:
    assert means_itself(written(name), name)
    assert (written(name) == name) == bool(re.fullmatch("[A-Za-z]+", name) and name != "select")
