"""The manual in the browser: `.help TOPIC`, which hints name, as a link and as a page."""

from __future__ import annotations

import re
from functools import lru_cache

from markupsafe import Markup, escape

from dpdb import manual
from dpdb.errors import UsageError, printable
from dpdb.records import dataclass

LONGEST = 100
"""The most characters of a topic."""
PAGES = ("sql", "howto", "accuracy", "guarantees", "glossary")
"""The pages for whoever asks, rather than for the data owner."""
_KEPT = 64
"""The texts that stay drawn."""
_HINT = re.compile(r"(\.help [a-z-]+)")
_LINK = re.compile(r'<a href="([^"]*)">(.*?)</a>', re.DOTALL)
_ADDRESS = re.compile(r"(?:(\w+)\.md)?(?:#([\w-]+))?")


@dataclass(frozen=True)
class HelpView:
    """A topic of the manual."""

    topic: str
    text: Markup
    refusal: str = ""


def help_view(wanted: str) -> HelpView:
    """The manual's text on a topic, or what to ask instead."""
    topic = " ".join(wanted[:LONGEST].split())
    try:
        return HelpView(topic, _written(manual.topic(topic) if topic else manual.page("sql")))
    except UsageError as error:
        return HelpView(topic, Markup(), printable(f"{error.message}: {error.hint}"))


def with_links(text: str) -> Markup:
    """The text, escaped, in which `.help TOPIC` is a link."""
    parts = [
        _link(part.split(" ")[1], part) if number % 2 else escape(part)
        for number, part in enumerate(_HINT.split(text))
    ]
    return Markup().join(parts)


def _link(topic: str, text: str) -> Markup:
    return Markup('<a href="/help?topic={}">{}</a>').format(topic, text)


@lru_cache(_KEPT)
def _written(text: str) -> Markup:
    """Markdown of the manual as HTML, in which links lead to topics."""
    from markdown_it import MarkdownIt  # noqa: PLC0415 (for this alone)

    drawn = MarkdownIt("commonmark", {"html": False}).enable("table").render(text)
    return Markup(_LINK.sub(_to_topic, drawn))  # noqa: S704 (no text of a user's is in it)


def _to_topic(link: re.Match[str]) -> str:
    """A link to a section or a page; of one to anything else, the text alone."""
    address = _ADDRESS.fullmatch(link[1])
    if link[1].startswith("https:"):
        return link[0]
    if address is None:
        return link[2]
    words = (address[2] or "").split("-")
    sections = ["-".join(words[:number]) for number in range(len(words), 0, -1)]
    known = [each for each in (*sections, address[1]) if each in manual.topics()]
    return f'<a href="/help?topic={known[0]}">{link[2]}</a>' if known else link[2]
