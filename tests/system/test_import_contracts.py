"""Each import contract of pyproject.toml fails when one line in a copy of the package breaks it."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"][
    "importlinter"
]["contracts"]
LINT = "from importlinter.cli import lint_imports_command as lint; lint()"

ROOMS = "Rooms stand on rooms"
PLANS = "What plans sees no data"
AFTER = "What comes after the noise sees no data"
SESSION = "Only the session brings exact results and noise together"
FLOORS = "The floors of the plan"
DOORS = "Doors see answers, and keep nobody waiting"
ATTACKS = "An attack sees a session and nothing below it"
CIRCLES = "No circles"

MUTANTS = [
    # The line goes to the end of the file; helpers, stability and histogram are new files.
    ("helpers.py", "", {ROOMS}),
    ("sql/binder.py", "import dpdb.ledger.protocol", {ROOMS}),
    ("vectors/like.py", "import dpdb.sql.dialect", {ROOMS}),
    ("engines/protocol.py", "import dpdb.answers.answer", {ROOMS}),
    ("session/session.py", "def later(): import dpdb.lab.people", {ROOMS, CIRCLES}),
    # plan imports policy, which imports errors
    ("errors.py", "import numpy", {PLANS}),
    ("policy/numbers.py", "import pandas.api", {PLANS, AFTER}),
    ("ledger/memory.py", "if False: import numpy", {PLANS}),
    ("privacy/mechanisms.py", "import dpdb.privacy.noise.source", {PLANS, AFTER, SESSION, CIRCLES}),
    ("privacy/search.py", "import numpy", {PLANS}),
    ("plan/lowering.py", "import dpdb.vectors.cast", {ROOMS, PLANS, CIRCLES}),
    ("answers/estimates.py", "import dpdb.engines.protocol", {ROOMS, AFTER, SESSION}),
    ("answers/rows.py", "from dpdb.privacy.noise import seeded", {AFTER, SESSION}),
    # answers import vectors
    ("vectors/columns.py", "import pandas", {AFTER}),
    ("vectors/cast.py", "import dpdb.privacy.noise.source", {AFTER, SESSION}),
    ("__main__.py", "import dpdb.engines.protocol", {SESSION}),
    ("privacy/histogram.py", "import dpdb.privacy.noise.sources", {SESSION}),
    ("interfaces/shell/scripts.py", "import dpdb.engines.memory.engine", {SESSION, DOORS}),
    ("plan/stability.py", "", {FLOORS}),
    ("plan/ranges.py", "import dpdb.plan.plan", {FLOORS, CIRCLES}),
    ("plan/splits.py", "import dpdb.plan.statistics", {FLOORS}),
    ("interfaces/cli/main.py", "def late(): import numpy", {DOORS}),
    ("interfaces/shell/chart.py", "import pandas", {DOORS}),
    ("lab/attacks/averaging.py", "import dpdb.session.session", {ATTACKS}),
    ("lab/attacks/maximum.py", "from dpdb import errors", {ATTACKS}),
    ("lab/attacks/linkage.py", "import pandas", {ATTACKS}),
    ("ledger/protocol.py", "def late(): import dpdb.ledger.memory", {CIRCLES}),
    ("privacy/noise/source.py", "import dpdb.privacy.noise.sources", {CIRCLES}),
    ("lab/attack.py", "import dpdb.lab.attacks.averaging", {CIRCLES}),
]


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A directory with the contracts and the package, and nothing else to import it from."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    shutil.copytree(ROOT / "dpdb", tmp_path / "dpdb", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def broken(copy: Path) -> set[str]:
    """The names of the contracts that lint-imports finds broken in the copy."""
    run = subprocess.run(
        [sys.executable, "-c", LINT, "--no-cache", "--no-logo"],
        cwd=copy,
        env={"PYTHONPATH": str(copy), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )
    verdicts = dict(re.findall(r"^(.+) (KEPT|BROKEN)(?: \(.*\))?$", run.stdout, re.MULTILINE))
    assert list(verdicts) == [each["name"] for each in CONTRACTS], run.stdout + run.stderr
    names = {name for name, verdict in verdicts.items() if verdict == "BROKEN"}
    assert bool(names) == bool(run.returncode)
    return names


def test_the_package_keeps_every_contract(copy: Path) -> None:
    assert broken(copy) == set()


@pytest.mark.parametrize(
    ("file", "line", "expected"), MUTANTS, ids=[f"{file}-{line}" for file, line, _ in MUTANTS]
)
def test_a_line_that_breaks_them_is_seen(
    copy: Path, file: str, line: str, expected: set[str]
) -> None:
    with (copy / "dpdb" / file).open("a", encoding="utf-8") as changed:
        changed.write(f"\n{line}\n")
    assert broken(copy) == expected


def test_each_contract_is_broken_by_a_line_of_its_own() -> None:
    """By one that breaks no other: without the contract, nothing would see it."""
    alone = {name for _, _, names in MUTANTS if len(names) == 1 for name in names}
    assert alone == {each["name"] for each in CONTRACTS}
