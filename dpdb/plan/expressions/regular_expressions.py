"""Regular expressions: a safe subset, matched by RE2 in time that no text can blow up.

A pattern is parsed by `pattern_parser`, and RE2 is given what is written from the tree, never the
text of the user. What needs more than an automaton, such as a reference back to a group, is no part
of the subset:

    a . \\d \\w \\s \\D \\W \\S      a character, or one of a class; . is no line break
    [a-z_] [^0-9]              one of those listed, or of all others
    xy  x|y  (x)  (?:x)        one after the other, one of both
    x* x+ x? x{2} x{2,} x{2,5} so many times; a ? behind changes nothing
    ^ $                        the beginning and the end of the text
    (?i) at the beginning      ASCII letters in either case

RE2 makes a step of its deterministic automaton when a text first needs it, which takes 100 times as
long as a step that is there: of some patterns each character of a text needs a new one. So

- the sets of states that texts lead to are found here by the subset construction of Rabin and Scott
  (IBM Journal 3, 1959), and a pattern with more than `MAX_DFA` of them, or more than `MAX_STEPS`
  steps between them, is refused;
- texts that lead through all steps are read before any text of a table. After that a step takes the
  same few nanoseconds, whichever it is;
- a set of patterns searches, though it holds one. Its states are sets, as those that are found
  here, while those of a single search are sequences, of which there can be many times more; nor is
  a text read a second time to find where a match begins.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import field
from functools import cache, lru_cache, reduce
from operator import or_
from typing import assert_never

from dpdb.plan.expressions.pattern_parser import (
    Alternatives,
    CharacterSet,
    End,
    PatternFault,
    PatternNode,
    Repeat,
    Sequence,
    Start,
    parsed,
)
from dpdb.records import dataclass

MAX_STATES = 200
"""The most states of an automaton; a repeated part counts as often as it may be repeated."""
MAX_DFA = 512
"""The most sets of states that texts can lead to."""
MAX_RANGES = 250
"""The most ranges of characters that a pattern lists."""
MAX_STEPS = 50_000
"""The most steps from these sets, by the characters that `_characters` tells apart."""
_MEMORY = 8 << 20
"""The most bytes that RE2 has for one pattern."""
States = int
"""A set of states: the bit of each that is in it."""


@dataclass(frozen=True)
class Reading:
    """A state that reads one of these characters and goes on to the next."""

    characters: CharacterSet
    target: int


@dataclass(frozen=True)
class Free:
    """A state that goes on to others without reading."""

    targets: tuple[int, ...]
    only_at_start: bool = False
    only_at_end: bool = False


@dataclass
class Automaton:
    """The automaton of a pattern; its state 0 accepts."""

    states: list[Reading | Free] = field(default_factory=lambda: [Free(())])
    first: int = 0

    def every_step(self) -> Iterator[str]:
        """Texts that lead to every set of states, and from it by every character.

        Raises PatternFault where there are too many.
        """
        steps, leading = self._steps()
        left = {reached: list(by_character) for reached, by_character in steps.items()}
        for reached, text in leading.items():
            yield text
            while left[reached]:
                at, read = reached, [text]
                while left[at]:
                    read.append(left[at].pop())
                    at = steps[at][read[-1]]
                yield "".join(read)

    def _steps(self) -> tuple[dict[States, dict[str, States]], dict[States, str]]:
        """For every set of states the sets that follow by character, and a text that leads to it.

        A match may begin behind any character.
        """
        begun, readers = self._closure(self.first), self._readers()
        followers = [
            self._closure(each.target) if isinstance(each, Reading) else 0 for each in self.states
        ]

        @cache
        def following(reading: States) -> States:
            return reduce(or_, (followers[number] for number in _numbers(reading)), begun)

        leading = {self._closure(self.first, at_start=True): ""}
        waiting, steps = deque(leading), dict[States, dict[str, States]]()
        while waiting:
            reached = waiting.popleft()
            matched = (reached & 1) << len(self.states)
            steps[reached] = {
                c: following(reached & reader) | matched for c, reader in readers.items()
            }
            for character, then in steps[reached].items():
                if then not in leading:
                    leading[then] = leading[reached] + character
                    waiting.append(then)
            if len(leading) > MAX_DFA or len(leading) * len(readers) > MAX_STEPS:
                raise PatternFault(
                    f"more than {MAX_DFA} places in it can be reached, and combinations of places",
                    hint="repeat less after a part that can begin at any character; ^ at the "
                    "beginning helps, too",
                )
        return steps, leading

    def _readers(self) -> dict[str, States]:
        """For characters of every kind the states that read them."""
        of_set: dict[CharacterSet, States] = {}
        for number, each in enumerate(self.states):
            if isinstance(each, Reading):
                of_set[each.characters] = of_set.get(each.characters, 0) | 1 << number
        if sum(len(each.ranges) for each in of_set) > MAX_RANGES:
            raise PatternFault(f"it lists more than {MAX_RANGES} ranges of characters")
        return {
            character: sum(bits for each, bits in of_set.items() if character in each)
            for character in _characters(of_set)
        }

    def _closure(self, begin: int, *, at_start: bool = False) -> States:
        """The states that are reached without reading, but for those that only lead to others.

        Whether a text is at its end is not known yet: states that ask for that are among them.
        """
        waiting, seen, kept = [begin], {begin}, 0
        while waiting:
            number = waiting.pop()
            state = self.states[number]
            if isinstance(state, Reading) or not number or state.only_at_end:
                kept |= 1 << number
            elif at_start or not state.only_at_start:
                fresh = set(state.targets) - seen
                seen |= fresh
                waiting += fresh
        return kept

    def add(self, node: PatternNode, then: int) -> int:
        """The state from which the node is read and then the state `then` is reached."""
        match node:
            case CharacterSet():
                return self._state(Reading(node, then))
            case Start():
                return self._state(Free((then,), only_at_start=True))
            case End():
                return self._state(Free((then,), only_at_end=True))
            case Sequence(parts=parts):
                for part in reversed(parts):
                    then = self.add(part, then)
                return then
            case Alternatives(choices=choices):
                return self._state(Free(tuple(self.add(choice, then) for choice in choices)))
            case Repeat():
                return self._repeated(node, then)
            case _:
                assert_never(node)

    def _repeated(self, node: Repeat, then: int) -> int:
        if node.most is None:
            loop = self._state(Free(()))
            self.states[loop] = Free((self.add(node.part, loop), then))
            then = loop
        else:
            for _ in range(node.most - node.least):
                then = self._state(Free((self.add(node.part, then), then)))
        for _ in range(node.least):
            then = self.add(node.part, then)
        return then

    def _state(self, state: Reading | Free) -> int:
        if len(self.states) == MAX_STATES:
            raise PatternFault("the pattern is too long, or repeats too much")
        self.states.append(state)
        return len(self.states) - 1


def _characters(sets: Iterable[CharacterSet]) -> list[str]:
    """A character of each kind that some of the sets tell apart, and of each kind of UTF-8.

    Where a range ends within a block of 64 or 4096 characters, the last bytes of these differ.
    """
    turns = {0, 0x80, 0x800, 0x10000}
    for each in sets:
        for low, high in each.ranges:
            for turn in (ord(low), ord(high) + 1):
                turns |= {turn} if turn < 0x80 else {turn, *_blocks(turn, 64), *_blocks(turn, 4096)}
    known = (point for point in sorted(turns) if point <= sys.maxunicode)
    return [chr(point) for point in known if not 0xD800 <= point < 0xE000]


def _blocks(point: int, size: int) -> tuple[int, int]:
    """The ends of the block of so many code points in which a point is."""
    return point // size * size, -(-point // size) * size


def _numbers(states: States) -> Iterator[int]:
    """The numbers of the states in a set."""
    while states:
        lowest = states & -states
        yield lowest.bit_length() - 1
        states -= lowest


def automaton(node: PatternNode) -> Automaton:
    """The automaton of a tree; raises PatternFault where it has too many states."""
    built = Automaton()
    built.first = built.add(node, 0)
    return built


@dataclass(frozen=True)
class Searcher:
    """Looks for a pattern in texts."""

    states: int
    """The number of the pattern's states."""
    match: Callable[[bytes], object]

    def __call__(self, text: str) -> bool:
        """Whether some part of a text matches.

        A surrogate that is alone has no UTF-8, and is read as a question mark.
        """
        return self.match(text.encode("utf-8", "replace")) is not None


@lru_cache(maxsize=64)
def searcher(pattern: str) -> Searcher:
    """The function that looks for a pattern; raises PatternFault where the pattern is refused."""
    import re2  # noqa: PLC0415 (few queries have a pattern)

    tree = parsed(pattern)
    built = automaton(tree)
    steps = list(built.every_step())
    options = re2.Options()
    options.max_mem, options.never_capture, options.log_errors = _MEMORY, True, False
    patterns = re2.Set.SearchSet(options)
    try:
        patterns.Add(_written(tree))
        patterns.Compile()
    except re2.error:
        raise PatternFault("the pattern is too long, or repeats too much") from None
    search = Searcher(len(built.states), patterns.Match)
    for text in steps:
        search(text)
    return search


def _written(node: PatternNode) -> str:
    """The tree as RE2 reads it: in ASCII, without flags, and with nothing that is left to it."""
    match node:
        case CharacterSet(ranges=ranges, others=others):
            listed = (f"\\x{{{ord(low):x}}}-\\x{{{ord(high):x}}}" for low, high in ranges)
            return f"[{'^' * others}{''.join(listed)}]"
        case Start():
            return r"\A"
        case End():
            return r"\z"
        case Sequence(parts=parts):
            return "".join(map(_written, parts))
        case Alternatives(choices=choices):
            return f"(?:{'|'.join(map(_written, choices))})"
        case Repeat(part=part, least=least, most=most):
            inner = _written(part)
            if not inner or most == 0:
                return ""
            return f"(?:{inner}){{{least},{'' if most is None else most}}}"
        case _:
            assert_never(node)
