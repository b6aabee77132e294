"""Regular expressions: a safe subset, matched in time that no pattern can blow up.

A pattern becomes an automaton ([Tho68]) of at most `MAX_STATES` states, which reads each character
of a text once, whatever the pattern is. Each takes the same few steps, whatever was read before, so
that no text is slower than others as long. What needs more than an automaton, such as a reference
back to a group, is no part of the subset:

    a . \\d \\w \\s \\D \\W \\S      a character, or one of a class; . is no line break
    [a-z_] [^0-9]              one of those listed, or of all others
    xy  x|y  (x)  (?:x)        one after the other, one of both
    x* x+ x? x{2} x{2,} x{2,5} so many times; a ? behind changes nothing
    ^ $                        the beginning and the end of the text
    (?i) at the beginning      ASCII letters in either case
"""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from dpdb.plan.pattern_parser import (
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

MAX_STATES = 200
"""The most states of an automaton; a repeated part counts as often as it may be repeated."""
States = int
"""A set of states: the bit of each that is in it."""


@dataclass(frozen=True)
class _Step:
    """A state that reads one of these characters and goes on to the next."""

    characters: CharacterSet
    target: int


@dataclass(frozen=True)
class _Free:
    """A state that goes on to others without reading."""

    targets: tuple[int, ...]
    only_at_start: bool = False
    only_at_end: bool = False


@dataclass(frozen=True)
class _Unions:
    """The union of the sets that belong to the states of any set."""

    always: States
    """What is in each union."""
    tables: tuple[tuple[States, ...], ...]
    """For every eight states the unions of all their subsets, by the bits of the subset."""

    @classmethod
    def of(cls, always: States, sets: list[States]) -> _Unions:
        """The unions of these sets, one for each state."""
        eights = (sets[place : place + 8] for place in range(0, len(sets), 8))
        return cls(always, tuple(map(_subset_unions, eights)))

    def over(self, states: States) -> States:
        """The union over these states; all tables are read, whichever states these are."""
        union = self.always
        for table, byte in zip(
            self.tables, states.to_bytes(len(self.tables), "little"), strict=True
        ):
            union |= table[byte]
        return union


def _subset_unions(sets: Iterable[States]) -> tuple[States, ...]:
    """The union of each subset of at most eight sets; their bits say which are in it."""
    unions = [0]
    for each in sets:
        unions += [each | union for union in unions]
    return (*unions, *[0] * (256 - len(unions)))


@dataclass
class Automaton:
    """The automaton of a pattern; its state 0 accepts."""

    states: list[_Step | _Free] = field(default_factory=lambda: [_Free(())])
    first: int = 0

    def found_in(self, text: str) -> bool:
        """Whether some part of the text matches; it is read to its end in any case."""
        turns, readers = self._readers
        reached = self._closure(self.first, at_start=True, at_end=not text)
        accepted = reached
        for character in text[:-1]:
            reading = reached & readers[bisect_right(turns, ord(character))]
            reached = self._within.over(reading)
            accepted |= reached
        for character in text[-1:]:
            reading = reached & readers[bisect_right(turns, ord(character))]
            accepted |= self._at_end.over(reading)
        return bool(accepted & 1)

    @cached_property
    def _readers(self) -> tuple[list[int], list[States]]:
        """The code points where the states that read a character change, and these states.

        They come for the characters before the first of the points, and then from each on.
        """
        steps = [(1 << i, each) for i, each in enumerate(self.states) if isinstance(each, _Step)]
        of_set: dict[CharacterSet, States] = {}
        for bit, step in steps:
            of_set[step.characters] = of_set.get(step.characters, 0) | bit
        ends = {
            end for each in of_set for low, high in each.ranges for end in (ord(low), ord(high) + 1)
        }
        turns = sorted(ends - {0, sys.maxunicode + 1})
        return turns, [
            sum(bits for each, bits in of_set.items() if chr(point) in each)
            for point in (0, *turns)
        ]

    @cached_property
    def _within(self) -> _Unions:
        """The states after a character that is not the last, by those that read it."""
        return self._following(at_end=False)

    @cached_property
    def _at_end(self) -> _Unions:
        """The states after the last character, by those that read it."""
        return self._following(at_end=True)

    def _following(self, *, at_end: bool) -> _Unions:
        """The states that follow those that read; a match may begin anew behind a character."""
        followers = [
            self._closure(each.target, at_end=at_end) if isinstance(each, _Step) else 0
            for each in self.states
        ]
        return _Unions.of(self._closure(self.first, at_end=at_end), followers)

    def _closure(self, begin: int, *, at_start: bool = False, at_end: bool) -> States:
        """The states that are reached without reading, with those that read or accept alone."""
        waiting, seen, kept = [begin], {begin}, 0
        while waiting:
            number = waiting.pop()
            state = self.states[number]
            if isinstance(state, _Step) or not number:
                kept |= 1 << number
            elif (at_start or not state.only_at_start) and (at_end or not state.only_at_end):
                fresh = set(state.targets) - seen
                seen |= fresh
                waiting += fresh
        return kept

    def add(self, node: PatternNode, then: int) -> int:
        """The state from which the node is read and then the state `then` is reached."""
        match node:
            case CharacterSet():
                return self._state(_Step(node, then))
            case Start():
                return self._state(_Free((then,), only_at_start=True))
            case End():
                return self._state(_Free((then,), only_at_end=True))
            case Sequence(parts=parts):
                for part in reversed(parts):
                    then = self.add(part, then)
                return then
            case Alternatives(choices=choices):
                return self._state(_Free(tuple(self.add(choice, then) for choice in choices)))
            case Repeat():
                return self._repeated(node, then)

    def _repeated(self, node: Repeat, then: int) -> int:
        if node.most is None:
            loop = self._state(_Free(()))
            self.states[loop] = _Free((self.add(node.part, loop), then))
            then = loop
        else:
            for _ in range(node.most - node.least):
                then = self._state(_Free((self.add(node.part, then), then)))
        for _ in range(node.least):
            then = self.add(node.part, then)
        return then

    def _state(self, state: _Step | _Free) -> int:
        if len(self.states) == MAX_STATES:
            raise PatternFault("the pattern is too long, or repeats too much")
        self.states.append(state)
        return len(self.states) - 1


@lru_cache(maxsize=64)
def automaton(pattern: str) -> Automaton:
    """The automaton of a pattern; raises PatternFault where it is outside the subset."""
    built = Automaton()
    built.first = built.add(parsed(pattern), 0)
    return built


def is_found(pattern: str, text: str) -> bool:
    """Whether some part of the text matches the pattern."""
    return automaton(pattern).found_in(text)
