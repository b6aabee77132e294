"""The manual: Markdown pages that README links, `dpdb help` prints and the prompt's `.help` shows.

It holds text alone. A topic is a page (`policy`) or a section of one, by the first word of its
heading (`intervals` is "Intervals: what ± means").
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dpdb.errors import UsageError, did_you_mean

PAGES = (
    "start",
    "prompt",
    "sql",
    "policy",
    "shop",
    "tpch",
    "ledger",
    "guarantees",
    "accuracy",
    "attacks",
    "teaching",
    "lesson",
    "python",
    "papers",
    "glossary",
    "references",
)
"""In the order in which a newcomer needs them."""
ALIASES = {"ε": "epsilon", "budget": "epsilon", "Δf": "sensitivity", "bounds": "sensitivity",
           "k": "noise", "k·Δf/ε": "noise", "laplace": "noise", "±": "intervals"}  # fmt: skip
_FENCE = re.compile(r"^```.*?^```$", flags=re.DOTALL | re.MULTILINE)
_HEADING = re.compile(r"^## (.+)$", flags=re.MULTILINE)


@dataclass(frozen=True)
class Section:
    """What stands from one heading to the next of its rank."""

    topic: str
    title: str
    text: str


def page(name: str) -> str:
    """The whole text of one of the PAGES."""
    return Path(__file__).with_name(f"{name}.md").read_text(encoding="utf-8")


def sections(name: str) -> Iterator[Section]:
    """The sections of a page, in order."""
    text = page(name)
    # A comment in a code block begins like a heading.
    hidden = _FENCE.sub(lambda block: re.sub(r"[^\n]", " ", block.group()), text)
    heads = list(_HEADING.finditer(hidden))
    ends = [head.start() for head in heads] + [len(text)]
    for head, end in zip(heads, ends[1:], strict=True):
        topic = re.split(r"[\s:,]", head.group(1), maxsplit=1)[0].lower()
        yield Section(topic, head.group(1), text[head.start() : end].strip())


def title(name: str) -> str:
    """The heading of a page."""
    return page(name).partition("\n")[0].removeprefix("# ")


def topics() -> tuple[str, ...]:
    """All that there is help on, each once."""
    names = [*PAGES, *(section.topic for each in PAGES for section in sections(each))]
    return tuple(dict.fromkeys(names))


def knows(wanted: str) -> bool:
    """Whether there is a page or a section on a topic."""
    return ALIASES.get(wanted, wanted.casefold()) in topics()


def topic(wanted: str) -> str:
    """The page or section on a topic; a topic that there is none on is an UsageError."""
    name = ALIASES.get(wanted, wanted.casefold())
    if name in PAGES:
        return page(name).strip()
    texts = {section.topic: section.text for each in PAGES for section in sections(each)}
    if name not in texts:
        hint = did_you_mean(name, [*PAGES, *texts]) or f"pages are {', '.join(PAGES)}"
        raise UsageError(f"no help on {wanted}", hint=hint)
    return texts[name]


def contents() -> str:
    """The pages with their titles, and the topics of their sections."""
    lines = []
    for name in PAGES:
        lines.append(f"  {name:<12}{title(name)}")
        if within := ", ".join(section.topic for section in sections(name)):
            lines.append(f"{'':14}{within}")
    return "\n".join(lines)
