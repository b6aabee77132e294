"""What an output may never hold."""

from __future__ import annotations

import unicodedata

from tests.support.command_line import Ran

WHERE = "SELECT COUNT(*) FROM people WHERE "


def unsafe(text: str) -> set[str]:
    """The characters of an output that a terminal would act on."""
    return {c for c in text if c != "\n" and unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp")}


def check(ran: Ran, code: int | None = None) -> None:
    assert ran.code in (0, 1, 2, 3) if code is None else ran.code == code
    assert "Traceback" not in ran.err
    assert unsafe(ran.out) == unsafe(ran.err) == set()
    if ran.code:
        assert ran.err.startswith(("error: ", "usage: "))
