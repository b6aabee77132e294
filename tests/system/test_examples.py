"""The worked examples: their files and notebooks are what the script writes, and the cells run."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

from dpdb import manual
from tests.support.shell_lines import ROOT

FOLDER = ROOT / "sample_data" / "examples"
NAMES = ("school", "funnel", "survey", "messages")


def test_the_committed_files_are_what_the_script_writes(tmp_path: Path) -> None:
    script = ROOT / "scripts" / "make_examples.py"
    subprocess.run([sys.executable, script, tmp_path], check=True)
    assert {path.stem for path in tmp_path.iterdir()} == set(NAMES)
    for path in tmp_path.iterdir():
        same = path.read_bytes() == (FOLDER / path.name).read_bytes()
        assert same, f"{path.name} is stale: make data"


@pytest.mark.parametrize("name", NAMES)
def test_the_page_shows_the_policy_of_the_file(name: str) -> None:
    [shown] = re.findall(r"```toml\n(.*?)```", manual.page(name), flags=re.DOTALL)
    assert (FOLDER / f"{name}.toml").read_text(encoding="utf-8").endswith(f"\n\n{shown}")


@pytest.mark.parametrize("name", NAMES)
def test_the_cells_of_a_notebook_run(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.chdir(FOLDER)
    shell = InteractiveShell.instance()
    shell.history_manager.enabled = False
    try:
        cells = json.loads((FOLDER / f"{name}.ipynb").read_text(encoding="utf-8"))["cells"]
        for source in ("".join(each["source"]) for each in cells if each["cell_type"] == "code"):
            with capture_output() as captured:
                result = shell.run_cell(source)
            assert result.success, captured.stdout
            assert shell.user_ns.get("_exit_code", 0) == 0, captured.stdout
    finally:
        InteractiveShell.clear_instance()
