"""The prompt on a server: completion, prices while one types, and an interrupt."""

from __future__ import annotations

from pathlib import Path
from threading import Event
from typing import Any

import dpdb
from dpdb.errors import PERHAPS
from tests.support.served import served
from tests.support.terminal import PEOPLE, Terminal

TOKEN = "token"


def test_a_server_at_the_prompt(tmp_path: Path) -> None:
    session, asked, answered = dpdb.connect(PEOPLE, epsilon=1, queries=4), Event(), Event()
    execute = session.execute

    def slow(text: str, *values: Any, **options: Any) -> Any:
        if "98103" in text and not text.startswith("EXPLAIN"):
            asked.set()
            answered.wait(30)
        return execute(text, *values, **options)

    session.execute = slow
    with (
        served({TOKEN: session}.get) as address,
        Terminal(address, home=tmp_path, DPDB_TOKEN=TOKEN) as terminal,
    ):
        terminal.wait(lambda t: "ε 1 of 1" in t.toolbar)
        terminal.send("SELECT AVG(ag\t")
        terminal.wait("age    18 to 65")
        terminal.send("e) FROM people")
        terminal.wait(lambda t: "costs ε 0.25, ± " in t.toolbar)
        terminal.send(";\r")
        terminal.wait(lambda t: "spent ε 0.25 · left: ε 0.75 of 1, 3 of 4 queries" in t.text)
        terminal.send("SELECT COUNT(*) FROM people WHERE zip = 98103;\r")
        terminal.wait(lambda _: asked.wait(0.1))
        terminal.send("\x03")
        terminal.wait(lambda t: f"cancelled; {PERHAPS}" in t.text)
        answered.set()
        terminal.send("SHOW BUDGET;\r")
        terminal.wait(lambda t: "2 of 4 queries" in t.text)
