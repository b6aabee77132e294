"""README and the manual are run: their commands, their policies, their lists of names."""

from __future__ import annotations

import re
import sys

import pytest

from dpdb import manual
from dpdb.interfaces.cli.main import main
from dpdb.sql.syntax.option_names import OPTIONS, SETTINGS, TERMS
from tests.support.masking import check_widths, masked
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


PIPED = re.compile(r"printf '(.*)' \| dpdb (.*)")


def arguments(command: str) -> list[list[str]] | None:
    """What dpdb is given, also with statements from a pipe."""
    if piped := PIPED.fullmatch(command):
        statements = piped[1].replace("\\n", "\n")
        return [[*words, "-c", statements] for words in dpdb_arguments(f"dpdb {piped[2]}") or ()]
    return dpdb_arguments(command)


WITH_WIDTHS = [each for each in BLOCKS if re.search("[0-9] ± [0-9]", each[1])]


@pytest.mark.parametrize(
    ("command", "printed"), WITH_WIDTHS, ids=[each[0][:50] for each in WITH_WIDTHS]
)
def test_the_widths_on_a_page_are_those_of_the_answer(
    command: str, printed: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr("dpdb.session.query_answers.source", lambda _: Noiseless())
    commands = arguments(command)
    assert commands is not None
    for words in commands:
        main(words)
    check_widths(printed, capsys.readouterr().out)


def test_make_run_answers_four_queries() -> None:
    assert by_the_shell("make run").count("spent ε 0.1 ") == 4


def test_masking_hides_only_noise() -> None:
    assert masked("a | 5 ± 3\n--+----\nleft 0.9") == "a | NOISY\n--+--\nleft 0.9"
    assert masked("spent ε 0.1") != masked("spent ε 0.2")


RUN = {
    "console": {"README", *manual.PAGES},
    "text": {
        "budgets",
        "clients",
        "prompt",
        "serve",
    },  # test_budget_recipes and test_two_users, test_recording
    # test_a_stranger, pages' tests
    "sh": {"howto", "budgets", "lesson", "developing", "serve", "teaching"},
    **{
        kind: {"serve"} for kind in ("ini", "json", "nginx", "caddy", "dockerfile")
    },  # test_serve_page
    "toml": {
        *("howto", "budgets", "serve", "policy", "sources", "ledger", "tpch"),
        *("school", "funnel", "survey", "messages"),  # test_examples
    },
    "sql": {"howto", "sql", "tpch", "ledger"},
    "pycon": {"README", "python"},
    "ipython": {"python"},
    "python": {"teaching", "lesson", "python", "serve"},
}
"""The pages on which tests run the code blocks of a kind."""


@pytest.mark.parametrize("name", ["README", *manual.PAGES])
def test_code_is_of_a_kind_that_is_run(name: str) -> None:
    text = README if name == "README" else manual.page(name)
    for kind in re.findall(r"^```(\w*)\n.*?^```$", text, flags=re.DOTALL | re.MULTILINE):
        assert name in RUN[kind]


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
