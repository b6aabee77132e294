"""The scripts for shells and the man page know every argument that a parser knows."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from dpdb.interfaces import commands
from dpdb.interfaces.cli import arguments
from dpdb.interfaces.cli.main import main
from dpdb.interfaces.cli.parsers import SUBCOMMANDS, options_of
from dpdb.lab.catalogue import catalogue

NAMES = sorted({
    name
    for parser in (arguments.parser(), *(command.parser for command in SUBCOMMANDS.values()))
    for option in options_of(parser)
    for name in option.names
})  # fmt: skip


@pytest.fixture
def printed(capsys: pytest.CaptureFixture[str]):
    def printed(*words: str) -> str:
        capsys.readouterr()
        assert main(words) == 0
        return capsys.readouterr().out

    return printed


def test_every_subcommand_is_in_the_table() -> None:
    folder = Path(commands.__file__).parent
    paths = [path for path in folder.rglob("*.py") if "\ndef main(words" in path.read_text()]
    modules = {".".join(path.relative_to(folder).with_suffix("").parts) for path in paths}
    modules -= {"lab.room", "lab.serve"}  # they are reached by way of `dpdb lab`
    assert modules == {command.module for command in SUBCOMMANDS.values()}


BASH = """
cd "$2"; source "$1"; shift 2
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _dpdb; printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash here")
@pytest.mark.parametrize(("line", "words"), [
    ("dpdb l", ["lab"]), ("dpdb com", ["completion"]), ("dpdb x.csv l", []),
    ("dpdb x.csv --form", ["--format"]), ("dpdb --format c", ["csv"]), ("dpdb --epsilon ", []),
    ("dpdb lab rec", ["reconstruction"]), ("dpdb lab --ep", ["--epsilon"]),
    ("dpdb lab --format ", sorted([*catalogue(), "room", "audit"])), ("dpdb completion ", ["bash", "fish", "zsh"]),
    ("dpdb help inter", ["intervals"]), ("dpdb risk --fig", ["--figure"]),
    ("dpdb risk --figure ", ["1", "2", "3"]), ("dpdb man ", []),
    ("dpdb init --no", ["--no-header"]),
])  # fmt: skip
def test_bash_completes(printed, tmp_path: Path, line: str, words: list[str]) -> None:
    script = tmp_path / "dpdb.bash"
    script.write_text(printed("completion", "bash"))
    ran = subprocess.run(
        ["bash", "-c", BASH, "bash", script, tmp_path, *line.split(" ")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert sorted(ran.stdout.split()) == words
    assert not ran.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_is_one_and_knows_every_option(printed, tmp_path: Path, shell: str) -> None:
    script = printed("completion", shell)
    for name in NAMES:
        in_fish = f"-l {name[2:]} " if name.startswith("--") else f"-s {name[1:]} "
        assert (in_fish if shell == "fish" else name) in script
    assert all(name in script for name in (*SUBCOMMANDS, *catalogue(), "markdown"))
    if shutil.which(shell) is not None:
        (tmp_path / "script").write_text(script)
        subprocess.run([shell, "-n", tmp_path / "script"], check=True)


def test_the_man_page_has_every_option(printed) -> None:
    page = printed("man")
    assert page.isascii()
    for name in (*NAMES, *(f"dpdb {name}" for name in SUBCOMMANDS), "DPDB_INTERVALS"):
        assert name.replace("-", "\\-") in page or name in page
    requests = {line.split()[0] for line in page.splitlines() if line.startswith((".", "'"))}
    assert requests <= {".TH", ".SH", ".SS", ".TP", ".PP", ".B", ".I"}


@pytest.mark.skipif(shutil.which("groff") is None, reason="there is no groff here")
def test_groff_sets_the_man_page_without_a_warning(printed) -> None:
    ran = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-P-cbou"], input=printed("man"),
                         capture_output=True, text=True, check=True)  # fmt: skip
    assert not ran.stderr
    assert "\n       --intervals\n" in ran.stdout
    assert re.search("EXIT STATUS\n +0 +all answered", ran.stdout)


@pytest.mark.parametrize("name", ["init", "check", "risk"])
def test_commands_about_a_file_complete_files(name: str) -> None:
    assert any(
        option.is_file for option in options_of(SUBCOMMANDS[name].parser) if not option.names
    )
