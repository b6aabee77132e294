"""Regular expressions, against Python's on random patterns and texts; and what is refused."""

from __future__ import annotations

import random
import re
import sys

import pytest

from dpdb.errors import TooLarge, Unsupported
from dpdb.plan.pattern_parser import PatternFault
from dpdb.plan.regular_expressions import MAX_STATES, Automaton, automaton, is_found
from tests.support.plans import query, small_policy

PARTS = [
    "a",
    "b",
    "c",
    ".",
    r"\d",
    r"\w",
    "[ab]",
    "[^a]",
    "[a-c]",
    r"\.",
    "^",
    "$",
    r"\s",
    r"\W",
    "[]x-]",
]
REPEATS = ["*", "+", "?", "{2}", "{1,2}", "{0,1}", "{1,}", "*?", "{0}"]


def pattern(chance: random.Random, depth: int = 0) -> str:
    kind = chance.random()
    if depth > 3 or kind < 0.35:
        return chance.choice(PARTS)
    if kind < 0.6:
        return pattern(chance, depth + 1) + pattern(chance, depth + 1)
    if kind < 0.75:
        return f"({pattern(chance, depth + 1)}|{pattern(chance, depth + 1)})"
    return f"({pattern(chance, depth + 1)})" + chance.choice(REPEATS)


def test_random_patterns_find_what_python_finds() -> None:
    chance = random.Random(1)
    for _ in range(600):
        written = chance.choice(["", "(?i)"]) + pattern(chance)
        python = re.compile(written.replace("$", r"\Z"), re.ASCII)
        for _ in range(5):
            text = "".join(chance.choices("abcAB. 1\n_x-]é", k=chance.randrange(8)))
            assert is_found(written, text) == bool(python.search(text)), (written, text)


def test_each_character_is_read_once_whatever_the_pattern_is() -> None:
    """Python would take longer than the world is old."""
    for written in ("(a*)*b", "(a|a)*c", "(x+x+)+y", "(a?){60}a{60}b"):
        assert not is_found(written, "a" * 3_000 + "x" * 3_000)


def calls(machine: Automaton, text: str) -> int:
    """How many functions are called to look for a match in a text."""
    counted = 0

    def count(_: object, event: str, __: object) -> None:
        nonlocal counted
        counted += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        machine.found_in(text)
    finally:
        sys.setprofile(None)
    return counted


def test_texts_as_long_as_each_other_take_the_same_steps() -> None:
    """Or the time of an answer would tell of the one text that is made to be slow."""
    machine, chance = automaton("^Alice.*a[ab]{90}z"), random.Random(1)
    hard, strange = "".join(chance.choices("ab", k=300)), "".join(map(chr, range(1000, 1300)))
    texts = [f"Alice{hard}", f"Bobby{hard}", f"Alice{strange}", f"Alice{'a' * 91}z" + "c" * 208]
    machine.found_in("ab")  # The tables are made when they are first read.
    first, *others = (calls(machine, text) for text in texts)
    assert all(each == first for each in others)


@pytest.mark.parametrize(
    ("written", "why"),
    [
        ("a**", "put it into"), ("(", "without its )"), ("a)", "without its ("), ("[a", "too soon"),
        ("*", "nothing for"), (r"\1", "not supported"), ("(?=a)", "groups with"), ("\\", "too soon"),
        ("(?P<n>a)", "groups with"), (r"[\W]", "within [ ]"), ("a{2", "a repetition is"), ("a{3,2}", "a repetition is"),
        ("[b-a]", "is empty"), (r"\b", "not supported"), ("a{1001}", "times at most"),
        ("(a{90}){90}", "too long"), ("(" * 30 + "a" + ")" * 30, "too deeply"),
        ("[[:alpha:]]", "not supported"), ("a{٣}", "a repetition is"),
    ],
)  # fmt: skip
def test_what_is_no_part_of_the_subset_is_refused(written: str, why: str) -> None:
    with pytest.raises(PatternFault, match=re.escape(why)):
        automaton(written)
    with pytest.raises(Unsupported, match=re.escape(why)):
        query(
            f"COUNT(*) FROM t WHERE REGEXP_CONTAINS(CAST(zip AS TEXT), '{written}')", small_policy()
        )


def test_all_patterns_of_a_statement_have_so_many_states() -> None:
    one = f"REGEXP_LIKE(CAST(zip AS TEXT), '.{{{MAX_STATES // 2}}}')"
    query(f"COUNT(*) FROM t WHERE {one}", small_policy())
    for twice in (
        f"COUNT(*) FROM t WHERE {one} OR NOT {one}",
        f"COUNT_IF(m), COUNT_IF(NOT m) FROM (SELECT {one} AS m FROM t) AS s",
    ):
        with pytest.raises(TooLarge, match="200 states in all"):
            query(twice, small_policy())
