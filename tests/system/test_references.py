"""Every work that a docstring or a page of the manual cites is in the manual's list, and vice versa."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import dpdb

PACKAGE = Path(dpdb.__file__).parent
LIST = PACKAGE / "manual" / "references.md"
UNDATED = ("EGS", "Hu", "STW", "Six")
"""The keys of works without a year."""
KEY = rf"\[([A-Z][A-Za-z]*[0-9]{{2}}|{'|'.join(UNDATED)})\]"
KIND = r"(?:Theorem|Definition|Lemma|Proposition|Algorithm|Section|Equation|Chapter|Formula)"
NUMBER = r"(?:[IVX]+\.[0-9]+|[0-9]+(?:\.[0-9]+)*)"
PLACES = rf"({KIND}s? {NUMBER}(?:(?:,| and|, and| to) (?:{KIND}s? )?{NUMBER})*)"


def rows() -> dict[str, str]:
    """The description of each work in the list, by its key."""
    found = {}
    for line in LIST.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if cells[0].startswith("["):
            key = cells[0].strip("[]")
            assert key not in found, f"{key} is listed twice"
            found[key] = cells[1]
    return found


@cache
def texts() -> dict[str, str]:
    """The strings and comments of each module that cites, and the pages of the manual but the list."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        if not re.search(KEY, source):
            continue
        kinds = (tokenize.STRING, tokenize.COMMENT)
        tokens = tokenize.generate_tokens(io.StringIO(source).readline)
        words = " ".join(token.string for token in tokens if token.type in kinds)
        found[str(path.relative_to(PACKAGE))] = " ".join(words.replace("#", " ").split())
    for path in sorted((PACKAGE / "manual").glob("*.md")):
        if path != LIST:
            found[path.name] = path.read_text(encoding="utf-8")
    return found


ROWS = rows()


def places(text: str) -> set[tuple[str, str]]:
    """The theorems, sections, … that a text numbers: {("theorem", "14"), …}."""
    found = set()
    for run in re.findall(PLACES, text, flags=re.IGNORECASE):
        kind = ""
        for word, number in re.findall(rf"({KIND})?s? ?({NUMBER})", run, flags=re.IGNORECASE):
            kind = word.lower() or kind
            found.add((kind, number))
    return found


def cited_places() -> Iterator[tuple[str, str, tuple[str, str]]]:
    """Each theorem, section, … that is cited right after a key: the file, the key, the place."""
    for name, text in texts().items():
        for key, run in re.findall(KEY + r" " + PLACES, text, flags=re.IGNORECASE):
            for place in places(run):
                yield name, key, place


def test_cited_works_are_listed() -> None:
    unlisted = {name: set(re.findall(KEY, text)) - set(ROWS) for name, text in texts().items()}
    assert {name: keys for name, keys in unlisted.items() if keys} == {}


def test_listed_works_are_cited() -> None:
    assert [key for key in ROWS if not any(f"[{key}]" in text for text in texts().values())] == []


def test_cited_numbers_are_in_the_row_of_the_work() -> None:
    cited = set(cited_places())
    assert ("privacy/mechanisms/gaussian.py", "CKS20", ("proposition", "25")) in cited
    listed = {key: places(row.replace("*", "")) for key, row in ROWS.items()}
    assert {(name, key, place) for name, key, place in cited if place not in listed[key]} == set()
