"""The session in the manual: every line of it was printed by the program."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dpdb import manual
from dpdb.interfaces.console.settings import SETTINGS
from tests.support.pages import code, table
from tests.support.terminal import Terminal

SECTION = manual.page("prompt")
[(COMMAND, RECORDING)] = re.findall(r"```text\n\$ dpdb (.*?)\n(.*?)\n```", SECTION, flags=re.DOTALL)
PROMPT = re.compile(r"dpdb> ?| \.\.\.> |(?:summarize field|summary function|where): ?"
                    r"|.*\[(?:Y/n|y/N)\] ?")  # fmt: skip


def test_every_line_was_printed(tmp_path: Path) -> None:
    recorded = RECORDING.split("\n")
    with Terminal(*COMMAND.split(), home=tmp_path, columns=88, how="noise") as terminal:
        for row, line in enumerate(recorded):
            if prompt := PROMPT.match(line):
                wait_for(terminal, row, prompt.group().rstrip(), recorded)
                reply = line[prompt.end() :]
                terminal.send(f"{reply}\r" if row < len(recorded) - 2 else "\x04")
        assert terminal.end().rstrip().split("\n") == recorded
    assert recorded[-2:] == ["dpdb>", "4 of 4 queries asked, ε 2 of 2 spent."]


def wait_for(terminal: Terminal, row: int, prompt: str, recorded: list[str]) -> None:
    """Until the prompt is there; when another line is, say at once which."""

    def there(terminal: Terminal) -> bool:
        shown = terminal.lines[:row]
        waiting = terminal.row >= row and bool(PROMPT.fullmatch(terminal.cursor_line))
        assert not waiting or shown == recorded[:row]
        return terminal.row == row and terminal.cursor_line == prompt

    terminal.wait(there)


@pytest.mark.parametrize("name", SETTINGS)
def test_settings_are_listed_as_they_are(name: str) -> None:
    setting = SETTINGS[name]
    values = " ".join(f"`{value}`" for value in setting.values)
    assert f"\n| `{name}` | {values} | {setting.help} |\n" in SECTION


def test_no_more_settings_are_listed() -> None:
    listed = table(SECTION, "setting")
    assert [code(name) for name, _, _ in listed] == [[name] for name in SETTINGS]
