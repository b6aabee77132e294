"""The parser of regular expressions: a pattern as a tree."""

from __future__ import annotations

from dpdb.records import dataclass

MAX_DEPTH = 20
"""The deepest nesting of groups."""
MAX_REPEATS = 1_000
_CLASSES = {
    "d": (("0", "9"),),
    "w": (("0", "9"), ("A", "Z"), ("_", "_"), ("a", "z")),
    "s": (("\t", "\n"), ("\f", "\r"), (" ", " ")),
}
"""The classes by their letters: of ASCII alone, as in RE2."""
_CONTROLS = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v"}
CharacterRanges = tuple[tuple[str, str], ...]


class PatternFault(ValueError):
    """A pattern is outside the subset; its text says why."""

    def __init__(self, why: str, *, hint: str = "dpdb help regular says which are"):
        super().__init__(why)
        self.hint = hint


@dataclass(frozen=True)
class CharacterSet:
    """The characters within some ranges, or all others."""

    ranges: CharacterRanges
    others: bool = False

    def __contains__(self, character: str) -> bool:
        return any(low <= character <= high for low, high in self.ranges) != self.others


@dataclass(frozen=True)
class Start:
    """The beginning of the text."""


@dataclass(frozen=True)
class End:
    """The end of the text."""


@dataclass(frozen=True)
class Sequence:
    """Patterns one after the other."""

    parts: tuple[PatternNode, ...]


@dataclass(frozen=True)
class Alternatives:
    """An alternative: any of several patterns."""

    choices: tuple[PatternNode, ...]


@dataclass(frozen=True)
class Repeat:
    """From `least` to `most` times; without `most` as often as one likes."""

    part: PatternNode
    least: int
    most: int | None


PatternNode = CharacterSet | Start | End | Sequence | Alternatives | Repeat


def parsed(pattern: str) -> PatternNode:
    """The tree of a pattern; raises PatternFault where it is outside the subset."""
    folds = pattern.startswith("(?i)")
    parser = _Parser(pattern[4:] if folds else pattern, folds)
    tree = parser.alternatives(0)
    if parser.rest:
        raise PatternFault("there is a ) without its (")
    return tree


@dataclass
class _Parser:
    """Reads a pattern from its left to its right."""

    rest: str
    folds: bool

    def alternatives(self, depth: int) -> PatternNode:
        if depth > MAX_DEPTH:
            raise PatternFault("groups are nested too deeply")
        choices = [self._sequence(depth)]
        while self._takes("|"):
            choices.append(self._sequence(depth))
        return choices[0] if len(choices) == 1 else Alternatives(tuple(choices))

    def _sequence(self, depth: int) -> PatternNode:
        parts = []
        while self.rest and self.rest[0] not in "|)":
            parts.append(self._repeated(self._part(depth)))
        return Sequence(tuple(parts))

    def _part(self, depth: int) -> PatternNode:
        character = self._next()
        match character:
            case "(":
                if self.rest.startswith("?") and not self.rest.startswith("?:"):
                    raise PatternFault("of groups with ? there is (?:…), and (?i) at the beginning")
                self._takes("?:")
                inner = self.alternatives(depth + 1)
                if not self._takes(")"):
                    raise PatternFault("there is a ( without its )")
                return inner
            case "[":
                return self._listed()
            case "^":
                return Start()
            case "$":
                return End()
            case ".":
                return CharacterSet((("\n", "\n"),), others=True)
            case "\\":
                return self._escaped()
        if character in "*+?{}]":
            raise PatternFault(f"there is nothing for {character} here; \\{character} is the sign")
        return self._characters(((character, character),))

    def _escaped(self) -> CharacterSet:
        character = self._next()
        if character.lower() in _CLASSES:
            return CharacterSet(_CLASSES[character.lower()], others=character.isupper())
        literal = self._literal(character)
        return self._characters(((literal, literal),))

    @staticmethod
    def _literal(character: str) -> str:
        """The character that an escape stands for."""
        if character in _CONTROLS:
            return _CONTROLS[character]
        if character.isascii() and character.isalnum():
            raise PatternFault(f"\\{character} is not supported")
        return character

    def _listed(self) -> CharacterSet:
        """The characters within [ and ]."""
        others, first = self._takes("^"), True
        ranges: list[tuple[str, str]] = []
        while first or not self.rest.startswith("]"):
            first = False
            low = self._next()
            if low == "\\":
                low = self._next()
                if low in _CLASSES:
                    ranges += _CLASSES[low]
                    continue
                if low.lower() in _CLASSES:
                    raise PatternFault(f"\\{low} is not supported within [ ]")
                low = self._literal(low)
            elif low == "[" and self.rest.startswith(":"):
                raise PatternFault("[:…:] is not supported")
            high = low
            if self.rest.startswith("-") and not self.rest.startswith("-]"):
                self._next()
                high = self._next()
                high = self._literal(self._next()) if high == "\\" else high
            if high < low:
                raise PatternFault(f"the range {low}-{high} is empty")
            ranges.append((low, high))
        self._next()
        return self._characters(tuple(ranges), others=others)

    def _characters(self, ranges: CharacterRanges, *, others: bool = False) -> CharacterSet:
        if self.folds:
            ranges = (*ranges, *(each for one in ranges for each in _other_case(*one)))
        return CharacterSet(ranges, others)

    def _repeated(self, part: PatternNode) -> PatternNode:
        match self.rest[:1]:
            case "*":
                least, most = 0, None
            case "+":
                least, most = 1, None
            case "?":
                least, most = 0, 1
            case "{":
                return self._counted(part)
            case _:
                return part
        self._next()
        return self._once(Repeat(part, least, most))

    def _counted(self, part: PatternNode) -> PatternNode:
        inside, closed, rest = self.rest[1:].partition("}")
        least, comma, most = inside.partition(",")
        numbers = [least, *([most] if most else [])]
        short = all(each.isascii() and each.isdigit() and len(each) < 5 for each in numbers)
        if not (closed and short) or int(numbers[-1]) < int(least):
            raise PatternFault("a repetition is {2}, {2,} or {2,5}")
        if int(numbers[-1]) > MAX_REPEATS:
            raise PatternFault(f"a repetition is {MAX_REPEATS} times at most")
        self.rest = rest
        limit = None if comma and not most else int(numbers[-1])
        return self._once(Repeat(part, int(least), limit))

    def _once(self, repeat: Repeat) -> Repeat:
        """The repetition, if no other follows it at once."""
        self._takes("?")
        if self.rest[:1] and self.rest[0] in "*+?{":
            raise PatternFault("a repetition cannot be repeated; put it into ( )")
        return repeat

    def _next(self) -> str:
        if not self.rest:
            raise PatternFault("it ends too soon")
        character, self.rest = self.rest[0], self.rest[1:]
        return character

    def _takes(self, sign: str) -> bool:
        """Whether the sign comes next, which is then behind."""
        there = self.rest.startswith(sign)
        self.rest = self.rest.removeprefix(sign)
        return there


def _other_case(low: str, high: str) -> CharacterRanges:
    """The ASCII letters within a range, in their other case."""
    ranges = []
    for first, last, by in (("a", "z", -32), ("A", "Z", 32)):
        begin, end = max(low, first), min(high, last)
        if begin <= end:
            ranges.append((chr(ord(begin) + by), chr(ord(end) + by)))
    return tuple(ranges)
