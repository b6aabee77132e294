"""The SQL that a hint tells to write is answered, and refusals have hints."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from dpdb.errors import DpdbError
from dpdb.session.connect import connect
from dpdb.session.session import Session
from tests.sql.test_corpora import REFUSED, SHOP_REFUSED, Refused, shop

__all__ = ["shop"]
POLICY = """
[budget]
delta = 0.1
[tables.t]
path = "t.csv"
unit = "u"
rows_per_unit = 3
rows_held_per_unit = 3
[tables.t.columns]
u = { type = "integer" }
x = { type = "number", bounds = [1, 100] }
y = { type = "text", values = ["a", "b"] }
z = { type = "integer", bounds = [1, 100] }
s = { type = "text" }
n = { type = "integer", bounds = [0, 100] }
b = { type = "boolean" }
d = { type = "date", bounds = [2000-01-01, 2030-12-31] }
ts = { type = "timestamp", bounds = [2000-01-01, 2030-12-31] }
"""
HEADER = "u,x,y,z,s,n,b,d,ts\n"
MEANT = {
    r"\(s, start": "(s, 1",     r"\blow\b": "0", r"\bhigh\b": "10", r"\bLOW\b": "0", r"\bHIGH\b": "10", r"\[digits\]": "1",
    r"\[length\]": "1", r", …\)": ")", r"\bdate\b": "d", r"\bstart\b": "ts", r"\bend\b": "ts",
    r"'unit'": "'day'", r"\bvalue, result, …, \[default\]": "1, 'a', 'b'", r"\bcondition\b": "b",
    r", n\)": ", 2)",
}  # fmt: skip
"""The words of hints that stand for something, with an example of each."""


@pytest.fixture(scope="module")
def generic(tmp_path_factory: pytest.TempPathFactory) -> Session:
    """A table with the columns that hints name in general: x and y, s, d and ts."""
    folder = tmp_path_factory.mktemp("hints")
    (folder / "t.toml").write_text(POLICY, encoding="utf-8")
    (folder / "t.csv").write_text(HEADER, encoding="utf-8")
    return connect(folder / "t.toml", epsilon=1000, queries=10_000)


def pieces(hint: str) -> Iterator[str]:
    """The calls and the statements in a hint; what is left out there as … is no SQL."""
    for found in re.finditer(r"(?<!\()(?<!FROM t )\b(SELECT|PIVOT) ", hint):
        code = re.split(r"; |: | lists them", hint[found.start() :])[0]
        if " FROM " in code or code.startswith("PIVOT"):
            yield code
    end = 0
    for found in re.finditer(r"\b[A-Z_0-9]{2,}\(", hint):
        if found.start() < end:
            continue  # It is an argument of the call before.
        depth, end = 1, found.end()
        while depth and end < len(hint):
            depth += {"(": 1, ")": -1}.get(hint[end], 0)
            end += 1
        yield hint[found.start() : end]


def is_answered(code: str, sessions: list[Session]) -> bool:
    for word, meant in MEANT.items():
        code = re.sub(word, meant, code)
    if re.match("SELECT|PIVOT|CREATE", code):
        asked = [code]
    else:
        tables = [t.name for each in sessions for t in each.policy.tables]
        asked = [
            text
            for table in tables
            for text in (
                f'SELECT {code} FROM "{table}"',
                f'SELECT COUNT(*) FROM "{table}" WHERE ({code}) IS NOT NULL',
                f'SELECT COUNT(*) FROM "{table}" GROUP BY {code}',
                f'SELECT COUNT(*) FROM "{table}", {code} AS p',
            )
        ]
    return any(_explained(text, each) for text in asked for each in sessions)


def _explained(text: str, session: Session) -> bool:
    try:
        session.explain(text)
    except DpdbError:
        return False
    return True


def hint_of(entry: Refused, session: Session) -> str:
    with pytest.raises(DpdbError) as caught:
        session.execute(entry.text)
    return caught.value.hint or ""


def check(entry: Refused, sessions: list[Session]) -> None:
    hint = hint_of(entry, sessions[0])
    for code in pieces(hint):
        if "…" not in code or "…)" in code:
            assert is_answered(code, sessions), (code, hint)


@pytest.mark.parametrize("entry", REFUSED, ids=lambda entry: entry.text)
def test_what_a_hint_tells_to_write_is_answered(
    entry: Refused, session: Session, generic: Session
) -> None:
    check(entry, [session, generic])


@pytest.mark.parametrize("entry", SHOP_REFUSED, ids=lambda entry: entry.text)
def test_what_a_hint_of_the_shop_tells_to_write_is_answered(
    entry: Refused, shop: Session, generic: Session
) -> None:
    check(entry, [shop, generic])


SAYS_SO = re.compile(
    r"needed here$|must be|at most|are allowed|more than|too (large|small)|needs? an? |takes? |gives? "
    r"|write |is written|goes with|is given twice|have the same number|is missing|is not closed"
    r"|cannot (be (read|inside|in|kept)|order)|only (a|days|supported)|names two|followed by SELECT"
    r"|names for|is a list|is a number|is of a number|is for (one|the)|is empty|rise|is above|has a"
    r" number|OPTIONS are for|is '|: |privacy unit of|not supported in"
)
"""Messages that say themselves what to write, or which limit there is."""


@pytest.mark.parametrize("entry", REFUSED, ids=lambda entry: entry.text)
def test_a_refusal_says_what_to_write(entry: Refused, session: Session) -> None:
    _check_says(entry, session)


@pytest.mark.parametrize("entry", SHOP_REFUSED, ids=lambda entry: entry.text)
def test_a_refusal_of_the_shop_says_what_to_write(entry: Refused, shop: Session) -> None:
    _check_says(entry, shop)


def _check_says(entry: Refused, session: Session) -> None:
    with pytest.raises(DpdbError) as caught:
        session.execute(entry.text)
    assert caught.value.hint or SAYS_SO.search(caught.value.message), caught.value.message
