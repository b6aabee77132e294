"""Parameters: a value in a placeholder is the constant, and never text that is parsed."""

from __future__ import annotations

import datetime
import enum
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sqlglot.tokenizer_core import TokenType

from dpdb.errors import DpdbError, TooLarge, TypeMismatch, UnknownName, Unsupported
from dpdb.plan.batch import unlabelled
from dpdb.plan.identity import identity
from dpdb.policy.catalog import Policy
from dpdb.sql.selects.statements import Select, statement
from dpdb.sql.text.parameters import values_of
from dpdb.sql.text.tokens import read_tokens
from tests.sql.test_corpora import ACCEPTED

WHERE = "SELECT COUNT(*) FROM people WHERE "
DAY = datetime.date(2001, 2, 3)
MOMENT = datetime.datetime(2001, 2, 3, 4, 5, 6, 70)
ZONE = datetime.timezone(datetime.timedelta(hours=2))


class Size(enum.IntEnum):
    LARGE = 40


class Loud(str):
    """A text that says something else of itself."""

    __slots__ = ()

    def __str__(self) -> str:
        return "x' OR TRUE OR name = 'x"

    __repr__ = __format__ = __str__  # type: ignore[assignment]


def bound(policy: Policy, text: str, parameters: Any = None) -> Select:
    read = statement(text, policy, values=values_of(parameters))
    assert isinstance(read, Select)
    return read


HOSTILE = (
    "O'Brien", "' OR 1 = 1 --", "'; SHOW BUDGET; --", "\\' OR TRUE --", "\\", "/* ' */", "a\0b",
    "$$", "?", ":a", "{a}", '"', "`", "", " ", "\n--\n", "é\u202e", "%_%", Loud("quiet"), "x" * 5_000,
)  # fmt: skip


@pytest.mark.parametrize("value", HOSTILE, ids=range(len(HOSTILE)))
def test_a_text_is_one_constant(policy: Policy, value: str) -> None:
    literal = "'" + str.replace(value, "'", "''") + "'"
    for placeholder, parameters in (("?", [value]), (":a", {"a": value}), ("{a}", {"a": value})):
        asked = bound(policy, f"{WHERE}name = {placeholder} AND age > 3", parameters)
        assert asked.text == f"{WHERE}name = {literal} AND age > 3"
        assert asked.query == bound(policy, asked.text).query


@pytest.mark.parametrize(
    ("condition", "value", "literal"),
    [
        ("age > ?", 30, "age > 30"),
        ("age > ?", -30, "age > -30"),
        ("age > ?", 30.0, "age > 30"),
        ("age > ?", Decimal("30.00"), "age > 30"),
        ("income > ?", 0.1, "income > 0.1"),
        ("income > ?", Decimal("1E+3"), "income > 1000"),
        ("income > ?", 1e22, "income > 10000000000000000000000"),
        ("age > ?", Size.LARGE, "age > 40"),
        ("age > ?", np.int8(30), "age > 30"),
        ("age > ?", np.float64(30), "age > 30"),
        ("income > ?", np.float32(0.5), "income > 0.5"),
        ("age > ?", np.array(30), "age > 30"),
        ("age = ?", None, "age = NULL"),
        ("age = ?", float("nan"), "age = NULL"),
        ("age = ?", float("-inf"), "age = NULL"),
        ("age = ?", Decimal("sNaN"), "age = NULL"),
        ("age = ?", pd.NA, "age = NULL"),
        ("DATE '2020-01-01' = ?", pd.NaT, "DATE '2020-01-01' = NULL"),
        ("DATE '2020-01-01' = ?", np.datetime64("NaT"), "DATE '2020-01-01' = NULL"),
        ("?", True, "TRUE"),
        ("(age > 3) = ?", np.False_, "(age > 3) = FALSE"),
        ("name = ?", np.str_("Ann"), "name = 'Ann'"),
        ("CAST(name AS DATE) < ?", DAY, "CAST(name AS DATE) < DATE '2001-02-03'"),
        ("CAST(name AS DATE) < ?", np.datetime64(DAY), "CAST(name AS DATE) < DATE '2001-02-03'"),
        (
            "CAST(name AS TIMESTAMP) < ?",
            MOMENT,
            "CAST(name AS TIMESTAMP) < TIMESTAMP '2001-02-03 04:05:06.00007'",
        ),
        (
            "CAST(name AS TIMESTAMP) < ?",
            MOMENT.replace(tzinfo=ZONE),
            "CAST(name AS TIMESTAMP) < TIMESTAMP '2001-02-03 02:05:06.00007'",
        ),
        (
            "CAST(name AS TIMESTAMP) < ?",
            pd.Timestamp("2001-02-03 04:05:06.123456789"),
            "CAST(name AS TIMESTAMP) < TIMESTAMP '2001-02-03 04:05:06.123456'",
        ),
        (
            "CAST(name AS TIMESTAMP) < ?",
            np.datetime64("2001-02-03T04:05:06.123456789"),
            "CAST(name AS TIMESTAMP) < TIMESTAMP '2001-02-03 04:05:06.123456'",
        ),
        ("age IN ?", [33, 31], "age IN (31, 33)"),
        ("age IN (?)", (33, None, 31.0), "age IN (31, 33, NULL)"),
        ("age IN (3, ?, 5)", {4, 7}, "age IN (3, 4, 5, 7)"),
        ("name NOT IN ?", ["a", "it's"], "name NOT IN ('a', 'it''s')"),
        ("age IN (?)", np.array([31, 33]), "age IN (31, 33)"),
        ("age IN (?)", pd.Series([31, 33]), "age IN (31, 33)"),
        ("age IN (?)", pd.array([31, None], dtype="Int64"), "age IN (31, NULL)"),
        (
            "CAST(name AS TIMESTAMP) IN (?)",
            np.array(["2001-02-03T00:00:01"], "datetime64[ns]"),
            "CAST(name AS TIMESTAMP) IN (TIMESTAMP '2001-02-03 00:00:01')",
        ),
        ("name LIKE ? || '%'", "it's", "name LIKE 'it''s%'"),
        ("name LIKE CONCAT('%', ?, '%')", "a_", "name LIKE '%a_%'"),
        ("name || ? = 'ab'", "b", "name || 'b' = 'ab'"),
        ("age BETWEEN ? AND 30", 20, "age BETWEEN 20 AND 30"),
        ("CASE age WHEN ? THEN 1 END = 1", 20, "CASE age WHEN 20 THEN 1 END = 1"),
        ("COALESCE(age, ?) > 30", 20, "COALESCE(age, 20) > 30"),
        ("? IS NULL", None, "NULL IS NULL"),
        ("CAST(? AS INTEGER) = age", "30", "CAST('30' AS INTEGER) = age"),
        ("age = -?", -3, "age = -(-3)"),
    ],
)
def test_a_placeholder_is_the_constant(
    policy: Policy, condition: str, value: Any, literal: str
) -> None:
    asked = bound(policy, WHERE + condition, [value])
    assert asked.query == bound(policy, WHERE + literal).query
    assert asked.query == bound(policy, asked.text).query


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("SELECT SUM(age CLAMPED BETWEEN ? AND ?) FROM people", [3, 40]),
        ("SELECT QUANTILE_CONT(age, ?), ROUND(AVG(age), ?) FROM people", [0.5, 1]),
        ("SELECT QUANTILE_CONT(age, [?, ?]) FROM people", [0.5, 0.75]),
        ("SELECT zip, COUNT(*) FROM people GROUP BY zip LIMIT ? OFFSET ?", [3, 1]),
        ("SELECT COUNT(*) FROM people FETCH FIRST ? ROWS ONLY", [3]),
        ("SELECT COUNT(*) FILTER (WHERE age > ?) AS n FROM people HAVING n > ?", [3, 1]),
        ("SELECT ?, COUNT(*) FROM people", [3]),
        ("SELECT AVG(CASE WHEN age > ? THEN ? ELSE ? END) FROM people", [30, 1, 0]),
        ("WITH a AS (SELECT age FROM people WHERE age > ?) SELECT COUNT(*) FROM a", [3]),
        ("SELECT (SELECT COUNT(*) FROM people WHERE age > ?) / ?", [30, 2]),
        ("PIVOT people ON zip IN (31643) USING SUM(age) GROUP BY age > ?", [30]),
        ("FROM people SELECT COUNT(*) WHERE age // ? = 3", [10]),
    ],
)
def test_the_query_and_its_labels_are_those_of_the_constants(
    policy: Policy, text: str, values: list[Any]
) -> None:
    literal = text.replace("?", "{}").format(*values)
    for each in (text, f"EXPLAIN {text}"):
        asked = bound(policy, each, values)
        assert asked.query == bound(policy, literal).query
        assert asked.text == each.replace("?", "{}").format(*values)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("SELECT COUNT(*) FROM ?", "people"),
        ("SELECT COUNT(*) FROM people, ?", "people"),
        ("SELECT COUNT(*) FROM people AS ?", "p"),
        ("SELECT COUNT(*) FROM people ?", "p"),
        ("SELECT COUNT(*) AS ? FROM people", "n"),
        ("SELECT COUNT(people.?) FROM people", "age"),
        ("SELECT COUNT(?.age) FROM people", "people"),
        ("SELECT ?(age) FROM people", "AVG"),
        ("SELECT COUNT(*) FROM people JOIN people AS p USING (?)", "id"),
        ("WITH ? AS (SELECT age FROM people) SELECT COUNT(*) FROM people", "p"),
        ("SELECT zip, COUNT(*) FROM people GROUP BY zip ORDER BY ?", 2),
        ("SELECT zip, COUNT(*) FROM people GROUP BY ?", 1),
        ("SELECT COUNT(*) OVER ? FROM people", "w"),
        ("SELECT zip COLLATE ?, COUNT(*) FROM people GROUP BY zip", "C"),
        ("SELECT COUNT(*) FROM people TABLESAMPLE (?)", 3),
        ("SELECT TOP ? zip, COUNT(*) FROM people GROUP BY zip", 3),
        ("SELECT CAST(age AS ?) FROM people", "TEXT"),
        ("SELECT COUNT(*) FROM people WHERE CAST(name AS VARCHAR(?)) = 'a'", 3),
        ("SELECT COUNT(*) FROM people WHERE age = DATE ?", "2020-01-01"),
        ("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = ?) COUNT(*) FROM people", 0.1),
        ("SELECT COUNT(*) FROM people WHERE name = N?", "a"),
        ("SELECT COUNT(*) FROM people ? age > 3", "WHERE"),
        ("SELECT COUNT(*) FROM people WHERE age ? 3", ">"),
        ("SELECT COUNT(*) FROM people WHERE age > 3 ?", "OR TRUE"),
        ("PIVOT people ON zip IN (?) USING SUM(age) GROUP BY age > 3", 31643),
        ("PIVOT people ON zip IN (31643) USING QUANTILE_CONT(age, ?) GROUP BY age > 3", 0.5),
        ("PIVOT ? ON zip IN (31643) USING SUM(age) GROUP BY age > 3", "people"),
        ("SUMMARIZE ?", "people"),
        ("CREATE TEMP TABLE ? AS SELECT COUNT(*) AS n FROM people", "v"),
        ("SHOW ?", "BUDGET"),
        ("DESCRIBE ?", "people"),
        ("SET epsilon = ?", 0.1),
        ("? COUNT(*) FROM people", "SELECT"),
    ],
)
def test_only_a_value_can_be_given(policy: Policy, text: str, value: Any) -> None:
    with pytest.raises(DpdbError):
        bound(policy, text, [value])


@pytest.mark.parametrize(
    ("kind", "condition", "parameters", "fragment"),
    [
        (TypeMismatch, "age > ? AND age < ?", [1], "takes 2 values, 1 is given"),
        (TypeMismatch, "age > ?", [1, 2], "takes 1 value, 2 are given"),
        (TypeMismatch, "age > ?", None, "takes 1 value, 0 are given"),
        (TypeMismatch, "age > 3", [1], "takes no values, 1 are given"),
        (TypeMismatch, "age > ?", {"a": 1}, "takes 1 value, 0 are given"),
        (UnknownName, "age > :a", [1], "no value is given for :a"),
        (UnknownName, "age > :age", {"aeg": 1}, "no value is given for :age"),
        (UnknownName, "age > :a", {"a": 1, "b": 2}, "the statement has no :b"),
        (TypeMismatch, "age > ?", [object()], "type object"),
        (TypeMismatch, "age > ?", [b"3"], "type bytes"),
        (TypeMismatch, "age > ?", [datetime.time(3)], "type time"),
        (TypeMismatch, "age > ?", [3j], "type complex"),
        (TypeMismatch, "age > ?", [{"a": 1}], "type dict"),
        (TypeMismatch, "age > ?", [[1, 2]], "a list is no value here"),
        (TypeMismatch, "age IN (?)", [[[1], [2]]], "type list"),
        (TypeMismatch, "age IN ?", [3], "IN takes a list"),
        (TypeMismatch, "age IN (?)", [[]], "at least one value"),
        (TypeMismatch, "age > ?", ["x"], "do not mix"),
        (TypeMismatch, "CAST(name AS TIMESTAMP) > ?", [datetime.datetime.max], "not a timestamp"),
        (TooLarge, "age > ?", [10**400], "too large"),
        (TooLarge, "age > ?", [-(10**5_000)], "too large"),
        (TypeMismatch, "age > ?", [Decimal("1e999999999")], "cannot be read"),
    ],
)
def test_wrong_values_are_refused(
    policy: Policy, kind: type[DpdbError], condition: str, parameters: Any, fragment: str
) -> None:
    with pytest.raises(kind, match=fragment):
        bound(policy, WHERE + condition, parameters)


def test_limits_are_those_of_constants(policy: Policy) -> None:
    for values in (["x" * 100_001], ["\ud800"], [list(range(1_001))], [list(range(5_000))]):
        literals = str(values[0]).strip("[]") if isinstance(values[0], list) else f"'{values[0]}'"
        with pytest.raises(DpdbError) as written:
            bound(policy, f"{WHERE}age IN ({literals})")
        with pytest.raises(DpdbError) as given:
            bound(policy, f"{WHERE}age IN (?)", values)
        assert given.value.kind == written.value.kind
    assert bound(policy, f"{WHERE}age IN (?)", [list(range(1_000))])


def test_a_long_list_is_refused_before_it_is_gone_through(policy: Policy) -> None:
    class Rows:
        def __len__(self) -> int:
            return 10**12

        def tolist(self) -> None:
            raise AssertionError("it was gone through")

    with pytest.raises(TooLarge, match="a list of 1000000000000 values, 1000 are allowed"):
        bound(policy, f"{WHERE}age IN (?)", [Rows()])


def test_the_error_for_a_name_is_near_the_name(policy: Policy) -> None:
    with pytest.raises(UnknownName) as caught:
        bound(policy, f"{WHERE}age > :age", {"agee": 1})
    assert caught.value.hint == "did you mean agee?"
    assert caught.value.place is not None
    assert caught.value.place.column == len(WHERE) + 7


def test_signs_of_placeholders_elsewhere_are_none(policy: Policy) -> None:
    text = f"{WHERE}name = ':a ? {{b}}' /* :c ? */ -- :d"
    assert bound(policy, text).text == text
    with pytest.raises(Unsupported):
        bound(policy, "SELECT COUNT(*) FROM people WHERE name[1:age] = 'a'")


def test_constants_beside_each_other_are_one(policy: Policy) -> None:
    folded = bound(policy, WHERE + "name LIKE 'a' || 'b' || '%'").query
    assert folded == bound(policy, WHERE + "name LIKE 'ab%'").query
    assert folded == bound(policy, WHERE + "name LIKE CONCAT('a', 'b%')").query
    with pytest.raises(Unsupported, match="must be a constant"):
        bound(policy, WHERE + "name LIKE name || '%'")


@pytest.mark.parametrize(
    "pair",
    [
        ("age = 30.0", "age = 30"),
        ("age IN (30.0, 31)", "age IN (31, 30)"),
        ("age BETWEEN 3e1 AND 40.0", "age BETWEEN 30 AND 40"),
        ("income > 1000.00", "income > 1000"),
        ("age IS NOT DISTINCT FROM 30.0", "age IS NOT DISTINCT FROM 30"),
    ],
)
def test_whole_constants_are_the_same_with_decimals(policy: Policy, pair: tuple[str, str]) -> None:
    one, other = (bound(policy, WHERE + condition).query for condition in pair)
    assert one == other
    assert repr(one) == repr(other)


def test_each_constant_of_the_corpus_can_be_a_value_or_is_refused(policy: Policy) -> None:
    """Never is a value another question than the constant that it stands for."""
    same = refused = 0
    for text in ACCEPTED:
        written = statement(text, policy)
        for token in read_tokens(text) if isinstance(written, Select) else ():
            if token.token_type not in (TokenType.STRING, TokenType.NUMBER):
                continue
            is_text = token.token_type is TokenType.STRING
            value = token.text if is_text else Decimal(token.text)
            if not is_text and token.text.isdigit():
                value = int(token.text)
            asked = f"{text[: token.start]}?{text[token.end + 1 :]}"
            try:
                given = bound(policy, asked, [value])
            except DpdbError:
                refused += 1
            else:
                assert isinstance(written, Select)
                assert identity(unlabelled(given.query)) == identity(unlabelled(written.query)), (
                    asked
                )
                same += 1
    # Not in OPTIONS, after DATE, and in the places of ORDER BY and GROUP BY.
    assert same > 4 * refused
