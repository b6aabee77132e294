"""Regular expressions: RE2 against Python and against the automaton; and what is refused."""

from __future__ import annotations

import random
import re

import pytest

from dpdb.errors import TooLarge, Unsupported
from dpdb.plan.expressions import regular_expressions
from dpdb.plan.expressions.pattern_parser import PatternFault, parsed
from dpdb.plan.expressions.regular_expressions import (
    MAX_DFA,
    MAX_STATES,
    Reading,
    automaton,
    searcher,
)
from tests.support.plans import query, small_policy

PARTS = [
    "a", "b", "c", ".", r"\d", r"\w", "[ab]", "[^a]", "[a-c]", r"\.", "^", "$", r"\s", r"\W", "[]x-]",
]  # fmt: skip
STRANGE = [
    "é",
    "[à-ü]",
    "[^一-中]",
    "\U0001f600",
    "\\\x00",
    "[\x00-\x1f]",
    "[k-k]",
    "s",
    "ſ",
    "\u212a",
    "[^\x00-\U0010ffff]",
]
REPEATS = ["*", "+", "?", "{2}", "{1,2}", "{0,1}", "{1,}", "*?", "{0}", "{0,0}", "{3,}", "{0,7}"]


def pattern(chance: random.Random, parts: list[str] = PARTS, depth: int = 0) -> str:
    kind = chance.random()
    if depth > 3 or kind < 0.35:
        return chance.choice(parts)
    if kind < 0.6:
        return pattern(chance, parts, depth + 1) + pattern(chance, parts, depth + 1)
    if kind < 0.75:
        return f"({pattern(chance, parts, depth + 1)}|{pattern(chance, parts, depth + 1)})"
    return f"({pattern(chance, parts, depth + 1)})" + chance.choice(REPEATS)


def test_random_patterns_find_what_python_finds() -> None:
    chance, compared = random.Random(1), 0
    for _ in range(600):
        written = chance.choice(["", "(?i)"]) + pattern(chance)
        python = re.compile(written.replace("$", r"\Z"), re.ASCII)
        try:
            found = searcher(written)
        except PatternFault:
            continue
        for _ in range(5):
            text = "".join(chance.choices("abcAB. 1\n_x-]é", k=chance.randrange(8)))
            assert found(text) == bool(python.search(text)), (written, text)
            compared += 1
    assert compared > 2_900


def is_found(written: str, text: str) -> bool:
    """Whether some part of the text matches, by the automaton with nothing but its definition."""
    built = automaton(parsed(written))

    def closure(begin: set[int], place: int) -> set[int]:
        waiting, seen = [*begin], {*begin}
        while waiting:
            state = built.states[waiting.pop()]
            if isinstance(state, Reading):
                continue
            if (state.only_at_start and place) or (state.only_at_end and place < len(text)):
                continue
            waiting += {*state.targets} - seen
            seen |= {*state.targets}
        return seen

    reached = set[int]()
    for place in range(len(text) + 1):
        reached = closure(reached | {built.first}, place)
        if 0 in reached:
            return True
        states = (built.states[number] for number in reached)
        reached = {
            state.target
            for state in states
            if isinstance(state, Reading)
            and text[place : place + 1]
            and text[place] in state.characters
        }
    return False


def test_re2_finds_what_the_automaton_finds_in_any_text() -> None:
    """With NUL, letters beyond the 16 bits of one half, and those that fold to k and s elsewhere.

    A surrogate that is alone is read as a question mark.
    """
    chance, compared = random.Random(2), 0
    signs = "abckKsS\u212aſéà一丱中\U0001f600\U0010ffff\x00\x1f\x7f\x80\ud800\udfff?"
    for _ in range(800):
        written = chance.choice(["", "(?i)"]) + pattern(chance, PARTS + STRANGE)
        try:
            found = searcher(written)
        except PatternFault:
            continue
        for _ in range(8):
            text = "".join(chance.choices(signs, k=chance.randrange(8)))
            read = text.encode(errors="replace").decode()
            assert found(text) == is_found(written, read), (written, text)
            compared += 1
    assert compared > 6_000


@pytest.mark.parametrize("letter", ["k", "s"])
def test_letters_fold_within_ascii_alone(letter: str) -> None:
    found = searcher(f"(?i)^{letter}$")
    assert found(letter)
    assert found(letter.upper())
    assert not found("\u212a")
    assert not found("ſ")


def test_each_character_is_read_once_whatever_the_pattern_is() -> None:
    """Python would take longer than the world is old."""
    for written in ("(a*)*b", "(a|a)*c", "(x+x+)+y", "(a?){60}a{60}b"):
        assert not searcher(written)("a" * 3_000 + "x" * 3_000)


@pytest.mark.parametrize("written", ["a.{6}[ab]", "[Ā-Ĳ].{6}[Ĕ-ņ]"])
def test_patterns_with_few_sets_of_states_are_allowed(
    written: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """These have 512."""
    built = automaton(parsed(written))
    [*built.every_step()]
    monkeypatch.setattr(regular_expressions, "MAX_DFA", MAX_DFA - 1)
    with pytest.raises(PatternFault, match="more than 511"):
        [*built.every_step()]


@pytest.mark.parametrize("written", ["a.{180}q", "a[ab]{60}c", "a.{7}[ab]", "^Alice.*a[ab]{90}z"])
def test_patterns_with_many_sets_of_states_are_refused(written: str) -> None:
    """RE2 would make new ones for each character of a text."""
    asked = f"COUNT(*) FROM t WHERE REGEXP_LIKE(CAST(zip AS TEXT), '{written}')"
    with pytest.raises(Unsupported, match="more than 512") as refusal:
        query(asked, small_policy())
    assert refusal.value.hint is not None
    assert "repeat less" in refusal.value.hint
    assert refusal.value.place is not None


def test_all_that_a_text_can_lead_to_is_read_before_any_text() -> None:
    """The texts lead from every set of states by every character to each set that follows."""
    chance = random.Random(3)
    for _ in range(200):
        try:
            built = automaton(parsed(pattern(chance)))
            texts = [*built.every_step()]
        except PatternFault:
            continue
        steps, leading = built._steps()
        taken = set()
        for text in texts:
            at = next(iter(leading))
            for character in text:
                taken.add((at, character))
                at = steps[at][character]
        assert taken == {(at, character) for at in steps for character in steps[at]}


@pytest.mark.parametrize(
    ("written", "why"),
    [
        ("a**", "put it into"), ("(", "without its )"), ("a)", "without its ("), ("[a", "too soon"),
        ("*", "nothing for"), (r"\1", "not supported"), ("(?=a)", "groups with"), ("\\", "too soon"),
        ("(?P<n>a)", "groups with"), (r"[\W]", "within [ ]"), ("a{2", "a repetition is"), ("a{3,2}", "a repetition is"),
        ("[b-a]", "is empty"), (r"\b", "not supported"), ("a{1001}", "times at most"),
        ("(a{90}){90}", "too long"), ("(" * 30 + "a" + ")" * 30, "too deeply"),
        ("[[:alpha:]]", "not supported"), ("a{٣}", "a repetition is"),
        (f"[{''.join(map(chr, range(300, 900, 2)))}]", "ranges of characters"),
    ],
)  # fmt: skip
def test_what_is_no_part_of_the_subset_is_refused(written: str, why: str) -> None:
    with pytest.raises(PatternFault, match=re.escape(why)):
        searcher(written)
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
