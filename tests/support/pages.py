"""The tables and the code of the manual's pages, for tests that compare them with the program."""

from __future__ import annotations

import re
from collections.abc import Iterator


def tables(text: str) -> Iterator[list[list[str]]]:
    """The tables of a page: the cells of the head, then those of each row."""
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    for block in re.findall(r"(?:^\|.*\|\n)+", f"{prose}\n", flags=re.MULTILINE):
        head, _, *rows = block.splitlines()
        yield [
            [cell.strip() for cell in re.split(r"(?<!\\)\|", row)[1:-1]] for row in (head, *rows)
        ]


def table(text: str, *head: str) -> list[list[str]]:
    """The rows of all tables that have these columns."""
    return [row for each in tables(text) if set(head) <= set(each[0]) for row in each[1:]]


def code(cell: str) -> list[str]:
    """What stands in backticks, a bar as it is typed."""
    return [each.replace("\\|", "|") for each in re.findall(r"`([^`\n]+)`", cell)]
