"""The pictures of README are those that the program draws now."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

from tests.support.shell_lines import ROOT

SHOWN = re.findall(r"!\[[^]]+\]\((dpdb/manual/\w+\.svg)\)", (ROOT / "README.md").read_text("utf-8"))


def test_the_pictures_are_drawn_again_as_they_are(tmp_path: Path) -> None:
    script = ROOT / "scripts" / "make_pictures.py"
    subprocess.run([sys.executable, script, tmp_path], check=True)
    assert sorted(SHOWN) == sorted(f"dpdb/manual/{path.name}" for path in tmp_path.iterdir())
    for path in tmp_path.iterdir():
        same = path.read_bytes() == (ROOT / "dpdb" / "manual" / path.name).read_bytes()
        assert same, f"{path.name} is stale: make pictures"
        drawn = ElementTree.fromstring(path.read_text("utf-8"))
        assert "prefers-color-scheme: dark" in "".join(drawn.itertext())
