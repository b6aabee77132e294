"""README and the manual are run: their commands, their policies, their lists of names."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from dpdb import manual
from dpdb.interfaces.cli.main import main
from dpdb.policy.reader import read_policy
from dpdb.sql.aggregates import AGGREGATE_NAMES
from dpdb.sql.functions import FUNCTION_NAMES
from dpdb.sql.option_names import OPTIONS, SETTINGS, TERMS
from tests.support.masking import masked
from tests.support.shell_lines import ROOT, by_the_shell, dpdb_arguments

README = (ROOT / "README.md").read_text(encoding="utf-8")
MANUAL = "\n".join(manual.page(name) for name in manual.PAGES)
BLOCKS = dict.fromkeys(
    re.findall(r"```console\n\$ (.*?)\n(.*?)```", f"{README}\n{MANUAL}", flags=re.DOTALL)
)
POLICIES = re.findall(r"```toml\n(.*?)```", manual.page("policy"), flags=re.DOTALL)


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


def test_masking_hides_only_noise() -> None:
    assert masked("a | 5 ± 3\n--+----\nleft 0.9") == "a | NOISY\n--+--\nleft 0.9"
    assert masked("spent ε 0.1") != masked("spent ε 0.2")


def test_there_are_commands() -> None:
    assert len(BLOCKS) >= 10


def test_policy_is_one(tmp_path: Path) -> None:
    (tmp_path / "people.toml").write_text(POLICIES[0], encoding="utf-8")
    policy = read_policy(tmp_path / "people.toml")
    assert [column.name for column in policy.tables[0].columns] == [
        "age", "income", "zip", "born", "member", "name",
    ]  # fmt: skip


@pytest.mark.parametrize("name", [*OPTIONS, *SETTINGS, *TERMS])
def test_option_or_setting_is_listed(name: str) -> None:
    assert re.search(rf"`(?:SET )?{name} = ", MANUAL)


@pytest.mark.parametrize("name", [*AGGREGATE_NAMES, *FUNCTION_NAMES])
def test_name_is_listed(name: str) -> None:
    assert re.search(rf"`{name}\b", manual.page("sql"))


@pytest.mark.parametrize("name", ["README.md", *manual.PAGES])
def test_links_lead_somewhere(name: str) -> None:
    folder = ROOT if name == "README.md" else ROOT / "dpdb" / "manual"
    text = README if name == "README.md" else manual.page(name)
    prose = re.sub(r"```.*?```|`.*?`", "", text, flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", prose):
        assert (folder / target).exists(), target


def test_readme_is_read_in_two_minutes() -> None:
    assert len(README.splitlines()) <= 160
