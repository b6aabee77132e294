"""Each import contract of pyproject.toml fails when one line in a copy of the package breaks it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"][
    "importlinter"
]["contracts"]
LINT = """
import contextlib, io, json, sys
from importlinter.cli import lint_imports

for request in sys.stdin:
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        code = lint_imports(cache_dir=".cache")
    print(json.dumps([code, printed.getvalue()]), flush=True)
"""
"""Lints the directory that it is in once for each line that it is sent."""

ROOMS = "Rooms stand on rooms"
PLANS = "What plans sees no data"
AFTER = "What comes after the noise sees no data"
ENGINES = "Engines read rows through sources"
SOURCES = "Sources stand on columns, and columns on cells"
SESSION = "Only the session brings exact results and noise together"
FLOORS = "The rooms of the plan"
SQL = "The rooms of SQL"
POLICY = "The rooms of the policy"
WITHIN_SESSION = "The rooms of the session"
ANSWERS = "The rooms of answers"
LEDGER = "The rooms of the ledger"
DOORS = "Doors see answers, and keep nobody waiting"
WITHIN_DOORS = "The rooms of the doors"
SERVER = "The server sees sessions, never engines, and its front sees neither"
CATALOGUE = "PostgreSQL's catalogue is made of the policy"
PRIVACY = "The rooms of privacy"
ATTACKS = "An attack sees a session and nothing below it"
STUDENTS = "A student's process is given no session"
TRIAL = "A trial knows a policy alone"
TRIAL_ROWS = "Trial rows come from no file"
CIRCLES = "No circles"

Mutant = tuple[str, str, set[str]]
MUTANTS: list[Mutant] = [
    # The line goes to the end of the file; helpers, remote, provenance and histogram are new files.
    ("helpers.py", "", {ROOMS}),
    ("sql/selects/binder.py", "import dpdb.ledger.protocol", {ROOMS}),
    ("vectors/grammar.py", "import dpdb.sql.text.dialect", {ROOMS}),
    ("engines/protocol.py", "import dpdb.answers.answer", {ROOMS}),
    ("engines/remote.py", "", {ENGINES}),
    ("engines/sources/opening.py", "import dpdb.engines.units.keys", {ENGINES, CIRCLES}),
    (
        "engines/sources/cells/codes.py",
        "import dpdb.engines.sources.csv_source",
        {SOURCES, CIRCLES},
    ),
    ("engines/sources/csv_source.py", "import dpdb.engines.sources.postgres_source", {SOURCES}),
    ("session/session.py", "def later(): import dpdb.lab.scenario", {ROOMS, CIRCLES}),
    # plan imports policy, which imports errors
    ("errors.py", "import numpy", {PLANS}),
    ("policy/numbers.py", "import pandas.api", {PLANS, AFTER}),
    ("ledger/spending.py", "if False: import numpy", {PLANS}),
    (
        "privacy/mechanisms/laplace.py",
        "import dpdb.privacy.noise.protocols",
        {PLANS, AFTER, SESSION, PRIVACY, CIRCLES},
    ),
    ("privacy/search.py", "import numpy", {PLANS}),
    ("privacy/levels.py", "import dpdb.privacy.mechanisms.laplace", {PRIVACY}),
    ("plan/physical/lowering.py", "import dpdb.vectors.cast", {ROOMS, PLANS, CIRCLES}),
    ("answers/estimates.py", "import dpdb.engines.protocol", {ROOMS, AFTER, SESSION}),
    ("answers/tables/rows.py", "from dpdb.privacy.noise import sources", {AFTER, SESSION}),
    # answers import vectors
    ("vectors/columns.py", "import pandas", {AFTER}),
    ("vectors/cast.py", "import dpdb.privacy.noise.protocols", {AFTER, SESSION}),
    ("__main__.py", "import dpdb.engines.protocol", {SESSION}),
    ("privacy/histogram.py", "import dpdb.privacy.noise.sources", {SESSION, PRIVACY}),
    ("interfaces/console/scripts.py", "import dpdb.engines.memory", {SESSION, DOORS}),
    ("plan/provenance.py", "", {FLOORS}),
    ("plan/ranges/ranges.py", "import dpdb.plan.physical.plan", {FLOORS, CIRCLES}),
    ("sql/text/splitting.py", "import dpdb.sql.aggregates.lists", {SQL}),
    ("policy/csv/csv_format.py", "import dpdb.policy.storage", {POLICY}),
    ("session/timing/tick.py", "import dpdb.session.free_statements", {WITHIN_SESSION}),
    ("answers/tables/groups.py", "import dpdb.answers.accuracy_notes", {ANSWERS}),
    ("ledger/custodian.py", "import dpdb.ledger.accounts", {LEDGER}),
    ("interfaces/cli/main.py", "def late(): import numpy", {DOORS}),
    ("interfaces/console/chart.py", "import pandas", {DOORS}),
    ("interfaces/console/chart.py", "import dpdb.interfaces.cli.parsers", {WITHIN_DOORS, CIRCLES}),
    ("interfaces/prompt/shell.py", "import dpdb.interfaces.cli.batch", {WITHIN_DOORS}),
    ("interfaces/jupyter.py", "import dpdb.interfaces.commands.owner.check", {WITHIN_DOORS}),
    ("server/logins.py", "import dpdb.session.session", {SERVER}),
    ("server/log.py", "def late(): import numpy", {SERVER}),
    ("server/postgres/catalogue/tables.py", "import dpdb.server.asking", {CATALOGUE}),
    ("lab/attacks/repeats.py", "import dpdb.session.session", {ATTACKS}),
    ("lab/attacks/query_sets.py", "from dpdb import errors", {ATTACKS}),
    ("lab/attacks/anonymity.py", "import pandas", {ATTACKS}),
    ("lab/classroom/player.py", "import dpdb.session.session", {STUDENTS}),
    ("lab/classroom/player.py", "import dpdb.privacy.noise.sources", {STUDENTS}),
    ("trial/rows.py", "import dpdb.ledger.book.book", {TRIAL}),
    ("trial/policy.py", "import dpdb.engines.sources.csv_source", {ROOMS, SESSION, TRIAL}),
    ("engines/sources/trial_source.py", "import dpdb.policy.csv.csv_stream", {TRIAL_ROWS}),
    ("ledger/protocol.py", "def late(): import dpdb.ledger.spending", {LEDGER, CIRCLES}),
    ("privacy/noise/protocols.py", "import dpdb.privacy.noise.sources", {CIRCLES}),
    ("lab/attack.py", "import dpdb.lab.attacks.repeats", {CIRCLES}),
]


@dataclass(frozen=True)
class Copy:
    """A directory with the contracts and the package, and a process that lints it."""

    folder: Path
    linter: subprocess.Popen[str]

    def broken(self) -> set[str]:
        """The names of the contracts that lint-imports finds broken in the copy."""
        assert self.linter.stdin is not None
        assert self.linter.stdout is not None
        self.linter.stdin.write("lint\n")
        self.linter.stdin.flush()
        code, printed = json.loads(self.linter.stdout.readline())
        verdicts = dict(re.findall(r"^(.+) (KEPT|BROKEN)(?: \(.*\))?$", printed, re.MULTILINE))
        assert list(verdicts) == [each["name"] for each in CONTRACTS], printed
        names = {name for name, verdict in verdicts.items() if verdict == "BROKEN"}
        assert bool(names) == bool(code)
        return names


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Copy]:
    folder = tmp_path_factory.mktemp("contracts")
    shutil.copy(ROOT / "pyproject.toml", folder)
    shutil.copytree(ROOT / "dpdb", folder / "dpdb", ignore=shutil.ignore_patterns("__pycache__"))
    with subprocess.Popen(
        [sys.executable, "-c", LINT],
        cwd=folder,
        env={"PYTHONPATH": str(folder), "COLUMNS": "200"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as linter:
        yield Copy(folder, linter)
        assert linter.stdin is not None
        linter.stdin.close()


@contextmanager
def changed(path: Path, line: str) -> Iterator[None]:
    """The file with the line at its end, for a while."""
    before = path.read_bytes() if path.exists() else None
    with path.open("a", encoding="utf-8") as opened:
        opened.write(f"\n{line}\n")
    yield
    if before is None:
        path.unlink()
    else:
        path.write_bytes(before)


def _apart() -> list[list[Mutant]]:
    """The mutants in groups, in each of which no two break the same contract.

    Linting takes longer than anything else here: a group is linted at once.
    """
    groups: list[list[Mutant]] = []
    for mutant in MUTANTS:
        free = (group for group in groups if all(mutant[2].isdisjoint(each[2]) for each in group))
        group = next(free, None)
        if group is None:
            groups.append(group := [])
        group.append(mutant)
    return groups


def test_the_package_keeps_every_contract(copy: Copy) -> None:
    assert copy.broken() == set()


@pytest.mark.parametrize("group", _apart(), ids=lambda group: group[0][0])
def test_lines_that_break_them_are_seen(copy: Copy, group: list[Mutant]) -> None:
    with ExitStack() as lines:
        for file, line, _ in group:
            lines.enter_context(changed(copy.folder / "dpdb" / file, line))
        assert copy.broken() == set().union(*(names for _, _, names in group))


def test_each_contract_is_broken_by_a_line_of_its_own() -> None:
    """By one that breaks no other: without the contract, nothing would see it."""
    alone = {name for _, _, names in MUTANTS if len(names) == 1 for name in names}
    assert alone == {each["name"] for each in CONTRACTS}
