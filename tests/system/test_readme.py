"""README and the manual are run: their commands, their policies, their lists of names."""

from __future__ import annotations

import re
import sys

import pytest

from dpdb import manual
from dpdb.interfaces.cli.main import main
from dpdb.sql.syntax.option_names import OPTIONS, SETTINGS, TERMS
from tests.support.masking import masked
from tests.support.noiseless import Noiseless
from tests.support.shell_lines import ROOT, by_the_shell, dpdb_arguments

README = (ROOT / "README.md").read_text(encoding="utf-8")
MANUAL = "\n".join(manual.page(name) for name in manual.PAGES)
BLOCKS = dict.fromkeys(
    re.findall(r"```console\n\$ (.*?)\n(.*?)```", f"{README}\n{MANUAL}", flags=re.DOTALL)
)


@pytest.mark.parametrize(("command", "expected"), BLOCKS, ids=[b[0][:50] for b in BLOCKS])
def test_command(
    command: str, expected: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if (commands := dpdb_arguments(command)) is not None:
        monkeypatch.chdir(ROOT)
        monkeypatch.setattr(sys, "stderr", sys.stdout)
        for words in commands:
            main(words)
        shown = capsys.readouterr().out
    else:
        shown = by_the_shell(command)
    assert masked(shown) == masked(expected)


ROOM = 1.2
"""How far a ± on a page may be from that of an answer without noise, as a factor.

± of an average follows from a noisy count, which moves it by a few percent of the rows.
"""
ROOM_OF_QUANTILES = 2
"""The same for quantiles, whose widths are selected by noise, on a ladder with steps of √2."""
WITH_WIDTHS = [
    each for each in BLOCKS if re.search("[0-9] ± [0-9]", each[1]) and dpdb_arguments(each[0])
]


def widths(text: str) -> list[float]:
    """The number after each ± of a cell; those of values that are only noise are left out."""
    return [float(each) for each in re.findall(r"[0-9] ± ([0-9.]+)(?! \(only)(?![0-9.])", text)]


@pytest.mark.parametrize(
    ("command", "printed"), WITH_WIDTHS, ids=[each[0][:50] for each in WITH_WIDTHS]
)
def test_the_widths_on_a_page_are_those_of_the_answer(
    command: str, printed: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr("dpdb.session.session.source", lambda _: Noiseless())
    commands = dpdb_arguments(command)
    assert commands is not None
    for words in commands:
        main(words)
    now = widths(capsys.readouterr().out)
    room = ROOM_OF_QUANTILES if re.search("QUANTILE|MEDIAN", command) else ROOM
    for stated, width in zip(widths(printed), now, strict=True):
        assert width / room <= stated <= width * room


def test_make_run_answers_four_queries() -> None:
    assert by_the_shell("make run").count("spent ε 0.1 ") == 4


def test_masking_hides_only_noise() -> None:
    assert masked("a | 5 ± 3\n--+----\nleft 0.9") == "a | NOISY\n--+--\nleft 0.9"
    assert masked("spent ε 0.1") != masked("spent ε 0.2")


def test_there_are_commands() -> None:
    assert len(BLOCKS) >= 10


@pytest.mark.parametrize("name", [*OPTIONS, *SETTINGS, *TERMS])
def test_option_or_setting_is_listed(name: str) -> None:
    assert re.search(rf"`(?:SET )?{name} = ", MANUAL)


@pytest.mark.parametrize("name", ["README.md", *manual.PAGES])
def test_links_lead_somewhere(name: str) -> None:
    folder = ROOT if name == "README.md" else ROOT / "dpdb" / "manual"
    text = README if name == "README.md" else manual.page(name)
    prose = re.sub(r"```.*?```|`.*?`", "", text, flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", prose):
        assert (folder / target).exists(), target


def test_readme_is_read_in_two_minutes() -> None:
    assert len(README.splitlines()) <= 160
