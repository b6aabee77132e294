"""Regular expressions: a safe subset, matched in time that no pattern can blow up.

A pattern becomes an automaton ([Tho68]) of at most `MAX_STATES` states, which reads each character
of a text once, whatever the pattern is. What needs more than an automaton, such as a reference back
to a group, is no part of the subset:

    a . \\d \\w \\s \\D \\W \\S      a character, or one of a class; . is no line break
    [a-z_] [^0-9]              one of those listed, or of all others
    xy  x|y  (x)  (?:x)        one after the other, one of both
    x* x+ x? x{2} x{2,} x{2,5} so many times; a ? behind changes nothing
    ^ $                        the beginning and the end of the text
    (?i) at the beginning      ASCII letters in either case
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

from dpdb.plan.pattern_parser import (
    Alternatives,
    CharacterSet,
    End,
    Node,
    PatternFault,
    Repeat,
    Sequence,
    Start,
    parsed,
)

MAX_STATES = 200
"""The most states of an automaton; a repeated part counts as often as it may be repeated."""
_MAX_CACHED = 20_000
"""The most steps of an automaton that are remembered."""
States = frozenset[int]


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


@dataclass
class Automaton:
    """The automaton of a pattern; its state 0 accepts."""

    states: list[_Step | _Free] = field(default_factory=lambda: [_Free(())])
    first: int = 0
    _known: dict[tuple[States, str], States] = field(default_factory=dict, repr=False)

    def found_in(self, text: str) -> bool:
        """Whether some part of the text matches."""
        states = self._closure({self.first}, at_start=True, at_end=not text)
        last = len(text) - 1
        for place, character in enumerate(text):
            if 0 in states:
                return True
            if place == last:
                states = self._closure(self._read(states, character), at_end=True)
            else:
                states = self._next(states, character)
        return 0 in states

    def _next(self, states: States, character: str) -> States:
        """The states after a character that is not the last."""
        key = states, character
        known = self._known.get(key)
        if known is None:
            if len(self._known) >= _MAX_CACHED:
                self._known.clear()
            known = self._known[key] = self._closure(self._read(states, character))
        return known

    def _read(self, states: States, character: str) -> set[int]:
        """The states that follow a character; a match may begin anew behind it."""
        reached = {self.first}
        for number in states:
            state = self.states[number]
            if isinstance(state, _Step) and character in state.characters:
                reached.add(state.target)
        return reached

    def _closure(
        self, reached: set[int], *, at_start: bool = False, at_end: bool = False
    ) -> States:
        """The states that are reached without reading, with those that read or accept alone."""
        waiting, seen, kept = [*reached], set(reached), set()
        while waiting:
            number = waiting.pop()
            state = self.states[number]
            if isinstance(state, _Step) or not number:
                kept.add(number)
            elif (at_start or not state.only_at_start) and (at_end or not state.only_at_end):
                fresh = set(state.targets) - seen
                seen |= fresh
                waiting += fresh
        return frozenset(kept)

    def add(self, node: Node, then: int) -> int:
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
