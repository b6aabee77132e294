"""The manual: Markdown pages that README links, `dpdb help` prints and the prompt's `.help` shows.

A topic of help is found in the text of the pages:

    a page          `policy`
    a section       by the label or first word of its heading: `intervals` is "## Intervals: what …"
    an entry        by a name in the first column of a table, or under `aliases`: `avg`, `group by`;
                    or by the word that a paragraph of the glossary begins with
    a heading       by any of its words: `reset budget` is "## reset: How do I reset the budget?"
    a line          by any of its words, if none of these has them: `pandas`
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from functools import cache, cached_property
from pathlib import Path

from dpdb.errors import UsageError, did_you_mean
from dpdb.records import dataclass

PAGES = (
    "start",
    "howto",
    "coming",
    "budgets",
    "serve",
    "clients",
    "prompt",
    "shop",
    "school",
    "funnel",
    "survey",
    "messages",
    "sql",
    "policy",
    "sources",
    "accuracy",
    "guarantees",
    "ledger",
    "python",
    "teaching",
    "lesson",
    "attacks",
    "tpch",
    "papers",
    "glossary",
    "references",
    "changes",
    "developing",
)
"""In the order in which a newcomer needs them."""
ALIASES = {
    "ε": "epsilon", "δf": "sensitivity", "k": "noise", "k·δf/ε": "noise", "laplace": "noise",
    "±": "intervals", "mta": "reliable from", "price": "cost", "custodian": "data owner",
    "neighbours": "neighbors", "atom": "segment", "csv": "files", "dates": "day-first",
    "thresholding": "partition selection", "excel": "spreadsheets", "regex": "regular",
}  # fmt: skip
"""Other words for a topic."""
MOST = 5
"""The most sections that are shown, or named, and only mention a word."""
_FENCE = re.compile(r"^```.*?^```$", flags=re.DOTALL | re.MULTILINE)
_HEADING = re.compile(r"^## (.+)$", flags=re.MULTILINE)
_ROW = re.compile(r"^\|(.+)\|$")
_DEFINED = re.compile(r"^\*\*(.+?)\*\*.*$", flags=re.MULTILINE)
_STOP = {"a", "an", "and", "are", "can", "do", "does", "for", "how", "i", "in", "is", "it", "me",
         "my", "of", "one", "or", "should", "the", "to", "what", "which", "why"}  # fmt: skip
"""The words of a question that say nothing about its subject."""


@dataclass(frozen=True)
class Section:
    """The text from one heading to the next of its rank."""

    topic: str
    title: str
    text: str

    @cached_property
    def words(self) -> frozenset[str]:
        """The words of the heading that can be asked for."""
        return _words(self.title)


@dataclass(frozen=True)
class Entry:
    """A row of a table, with the head of the table, or a paragraph of the glossary."""

    names: tuple[str, ...]
    head: str
    text: str


@cache
def page(name: str) -> str:
    """The whole text of one of the PAGES."""
    return Path(__file__).with_name(f"{name}.md").read_text(encoding="utf-8")


@cache
def sections(name: str) -> tuple[Section, ...]:
    """The sections of a page, in order."""
    text = page(name)
    # A comment in a code block begins like a heading.
    hidden = _FENCE.sub(lambda block: re.sub(r"[^\n]", " ", block.group()), text)
    heads = list(_HEADING.finditer(hidden))
    ends = [head.start() for head in heads] + [len(text)]
    return tuple(
        Section(
            re.split(r"[\s:,]", head[1], maxsplit=1)[0].lower(),
            head[1],
            text[head.start() : end].strip(),
        )
        for head, end in zip(heads, ends[1:], strict=True)
    )


def entries(name: str) -> Iterator[Entry]:
    """The rows of a page's tables and the words that it defines, in order."""
    for section in sections(name):
        yield from _rows(section)
    for paragraph in _DEFINED.finditer(page(name)):
        yield Entry((paragraph[1].casefold(),), "", paragraph[0])


def _rows(section: Section) -> Iterator[Entry]:
    head: list[str] = []
    for line in section.text.split("\n"):
        if _ROW.match(line) is None:
            head = []
        elif len(head) < 2:  # the names of columns, and the rule below them
            head.append(line)
        else:
            above = "\n".join([f"## {section.title}", "", *head])
            yield Entry(_names(head[0], line), above, line)


def _names(head: str, row: str) -> tuple[str, ...]:
    """The names in the first cell of a row, and in the one called `aliases`: `AVG(x)` is `avg`."""
    titles, cells = (
        [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in (head, row)
    )
    named = [cell for title, cell in zip(titles, cells, strict=False) if title == "aliases"]
    found = []
    for cell in [cells[0], *named]:
        for text in re.findall(r"`([^`]+)`", cell) or [cell]:
            found += [text.casefold(), re.split(r"[(=]", text)[0].strip().casefold()]
    return tuple(dict.fromkeys(filter(None, found)))


def title(name: str) -> str:
    """The heading of a page."""
    return page(name).partition("\n")[0].removeprefix("# ")


def topics() -> tuple[str, ...]:
    """The pages and the sections, each once."""
    names = [*PAGES, *(section.topic for each in PAGES for section in sections(each))]
    return tuple(dict.fromkeys(names))


@cache
def named() -> dict[str, tuple[Entry, ...]]:
    """The entries of all pages by their names."""
    found: dict[str, tuple[Entry, ...]] = {}
    for entry in (entry for each in PAGES for entry in entries(each)):
        for name in entry.names:
            found[name] = (*found.get(name, ()), entry)
    return found


def topic(wanted: str) -> str:
    """The text on a topic; raises UsageError if there is none."""
    name = " ".join(wanted.casefold().split()).rstrip("?")
    name = ALIASES.get(name, name)
    if name in PAGES:
        return page(name).strip()
    known = [section for each in PAGES for section in sections(each)]
    words = _words(name)
    close = [section for section in known if words and words <= section.words]
    by_topic = {section.topic: section.text for section in known}
    if text := by_topic.get(name) or by_topic.get(name.replace(" ", "-")):
        return text
    if name in named():
        also = ", ".join(section.topic for section in close[:MOST])
        return _shown(named()[name]) + (f"\n\nSee also: {also}" if also else "")
    if text := by_topic.get(f"{name}s"):
        return text
    found = "\n\n".join(section.text for section in close) or _lines(known, words)
    if not found:
        hint = did_you_mean(name, [*topics(), *named()]) or f"pages are {', '.join(PAGES)}"
        raise UsageError(f"no help on {wanted}", hint=hint)
    return found


def _lines(known: list[Section], words: frozenset[str]) -> str:
    """The first paragraphs, items and rows with all these words, under their headings."""
    found = []
    for section in known if words else ():
        prose = _FENCE.sub("", section.text).split("\n")[1:]
        lines = [line for line in prose if words <= _words(line) and not _ROW.match(line)]
        rows = [each for each in _rows(section) if words <= _words(each.text)]
        if lines or rows:
            text = [_shown(tuple(rows))] if rows else [f"## {section.title}"]
            found.append("\n\n".join([*text, *lines]))
    return "\n\n".join(found[:MOST])


def _shown(found: tuple[Entry, ...]) -> str:
    """The entries, with the head of each table once."""
    by_head: dict[str, list[str]] = {}
    for entry in found:
        by_head.setdefault(entry.head, []).append(entry.text)
    return "\n\n".join("\n".join([head, *rows]).strip() for head, rows in by_head.items())


def _words(text: str) -> frozenset[str]:
    """The words of a heading or a question, without the commonest; `joins` is `join`."""
    found = re.findall(r"[^\W_]+(?:[-/.][^\W_]+)*|±", text.casefold())
    return frozenset(word.removesuffix("s") for word in found if word not in _STOP)


def contents() -> str:
    """The pages with their titles, and the topics of their sections."""
    lines = []
    for name in PAGES:
        lines.append(f"  {name:<12}{title(name)}")
        within = ", ".join(section.topic for section in sections(name))
        wrapped = textwrap.wrap(within, 66, break_on_hyphens=False)
        lines += [f"{'':14}{line}" for line in wrapped]
    return "\n".join(lines)
