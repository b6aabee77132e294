"""How the pages of the manual are written: openings, lengths of sentences and of cells."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from dpdb import manual
from tests.support.pages import tables
from tests.support.shell_lines import ROOT

PAGES = {
    "README": (ROOT / "README.md").read_text(encoding="utf-8"),
    **{name: manual.page(name) for name in manual.PAGES},
}
OPENINGS = re.compile(r"(What|Those|How|Which|It|They|One|So many)\b")
"""A sentence that opens so is understood only with the sentence before it; questions may."""
LONGEST_SENTENCE, LONGEST_CELL = 25, 20
NEWCOMERS = ("README", "start", "prompt")
"""Pages that are read in a row, so that each says a thing once."""


def prose(page: str) -> Iterator[str]:
    """The paragraphs and the items of lists, with code as one word and links without addresses."""
    text = re.sub(r"^```.*?^```$", "", page, flags=re.DOTALL | re.MULTILINE)
    for line in text.splitlines():
        if not re.match(r"#|\||    |$", line):
            shown = re.sub(r"\]\([^)]*\)", "]", re.sub(r"`[^`]*`", "Code", line))
            yield re.sub(r"^\s*(-|\d+\.)\s+", "", shown).replace("*", "")


def sentences(page: str) -> Iterator[str]:
    """The sentences of a page; a colon before a sentence ends one."""
    ends = r"(?<=[?!])\)?\s+|(?<=[.:])\)?\s+(?=[A-Z\[\"(ε±δ]|dpdb)"
    return (each for line in prose(page) for each in re.split(ends, line) if each)


def words(text: str) -> list[str]:
    """The words; numbers and signs are none."""
    return re.findall(r"[^\W\d_]+(?:[-'][^\W\d_]+)*", text)


def test_sentences_end_where_a_reader_thinks() -> None:
    page = "# A\nIs it so? It is. Say `x. Y`: dpdb [says](a.md) so.\n\n- **b**: c\n"
    assert list(sentences(page)) == ["Is it so?", "It is.", "Say Code:", "dpdb [says] so.", "b: c"]


@pytest.mark.parametrize("name", manual.PAGES)
def test_a_page_says_for_whom_it_is_and_what_to_read_next(name: str) -> None:
    assert re.match(r"# .+\n\nThis page is for ", PAGES[name])
    assert PAGES[name].splitlines()[-1].startswith("Read next: ")


@pytest.mark.parametrize("name", PAGES)
def test_a_sentence_names_its_subject(name: str) -> None:
    opened = [each for each in sentences(PAGES[name]) if OPENINGS.match(each)]
    assert [each for each in opened if not each.endswith("?")] == []


@pytest.mark.parametrize("name", PAGES)
def test_a_sentence_is_short(name: str) -> None:
    assert [each for each in sentences(PAGES[name]) if len(words(each)) > LONGEST_SENTENCE] == []


@pytest.mark.parametrize("name", sorted(PAGES.keys() - {"references"}))
def test_a_cell_is_short(name: str) -> None:
    """But for titles of works, which are as long as they are."""
    cells = [cell for table in tables(PAGES[name]) for row in table for cell in row]
    shown = [re.sub(r"`[^`]*`", "Code", cell) for cell in cells]
    assert [cell for cell in shown if len(words(cell)) > LONGEST_CELL] == []


def test_pages_for_newcomers_say_nothing_twice() -> None:
    said = [each for name in NEWCOMERS for each in sentences(PAGES[name]) if len(words(each)) > 4]
    assert sorted(said) == sorted(set(said))
