"""A wall of users: analysts reach the data only through dpdb, run by the user who owns them.

The lines of the manual are what is tried: `install` is run as it is there, and dpdb is given the
words that sshd and sudo give it, in a process of the user whom they run it as.
"""

from __future__ import annotations

import io
import json
import os
import re
import resource
import shlex
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from dpdb import manual
from dpdb.interfaces.cli.main import main
from tests.support.lasting import folder_in_memory
from tests.support.ledger_trials import forked

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes other users")
CUSTODIAN, ALICE = 20_001, 20_002
POLICY = """
[budget]
name = "clinic"
queries = 4
[budget.analysts.alice]
epsilon = 0.5
[tables.t]
path = "hospital.csv"
[tables.t.columns]
a = { type = "integer", bounds = [0, 9] }
"""
COUNT = "SET epsilon = 0.25; SELECT COUNT(*) FROM t"
PAGE = manual.page("budgets")
[SSH] = re.findall(r'^restrict,pty,command="([^"]+)" ssh-', PAGE, flags=re.MULTILINE)
[SUDO] = re.findall(r"^alice ALL=\(custodian\) NOPASSWD: (.+)$", PAGE, flags=re.MULTILINE)
[OPEN] = re.findall(r"^runuser -u custodian -- (.+)$", PAGE, flags=re.MULTILINE)
INSTALL = re.findall(r"^install .+$", PAGE, flags=re.MULTILINE)


@dataclass(frozen=True)
class Clinic:
    """A folder of the custodian's, and what each user's run of dpdb says."""

    folder: Path
    said: Path

    @property
    def policy(self) -> str:
        return str(self.folder / "policy.toml")

    @property
    def ledger(self) -> Path:
        return self.folder / "policy.ledger"

    def words(self, line: str) -> list[str]:
        """What dpdb is given by a line of the manual."""
        python, *words = shlex.split(line.replace("/srv/hospital", str(self.folder)))
        assert [python, *words[:3]] == ["/opt/dpdb/bin/python", "-I", "-m", "dpdb"]
        return words[3:]

    def run(
        self, user: int, *words: str, stdin: str = "", first: Callable[[], object] = lambda: None
    ) -> tuple[int, str]:
        """The exit code of dpdb, and all that it printed, in a process of this user."""
        return self.run_as(user, lambda: main(words), stdin, first)

    def run_as(
        self,
        user: int,
        work: Callable[[], int],
        stdin: str = "",
        first: Callable[[], object] = lambda: None,
    ) -> tuple[int, str]:
        """What `work` returns, and all that it printed; root does what comes `first`."""
        self.said.write_text("")
        with self.said.open("w") as file:

            def here() -> None:
                first()
                os.setgroups([])
                os.setresgid(user, user, user)
                os.setresuid(user, user, user)
                sys.stdin, sys.stdout, sys.stderr = io.StringIO(stdin), file, file
                code = work()
                file.flush()
                os._exit(code)

            child = forked(here)
            return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), self.said.read_text()


@pytest.fixture
def closed(tmp_path: Path) -> Iterator[Clinic]:
    """Data and policy where the manual puts them, and no ledger yet."""
    with folder_in_memory() as outside:
        outside.chmod(0o755)
        (outside / "hospital.csv").write_text("a\n" + "5\n" * 100)
        (outside / "policy.toml").write_text(POLICY)
        opening = ["budget", "open", str(outside / "policy.toml")]
        # What dpdb imports must be there before it is run by users who cannot read it.
        for command in (opening, [opening[2], "--analyst", "alice", "-c", COUNT],
                        ["budget", "verify", opening[2]],
                        ["budget", "export", opening[2]]):  # fmt: skip
            main(command)
        for ledger in outside.glob("policy.ledger*"):
            ledger.unlink()
        folder = outside / "srv"
        for line in INSTALL:
            here = line.replace("/srv/hospital", str(folder)).replace("custodian", str(CUSTODIAN))
            subprocess.run(shlex.split(here), cwd=outside, check=True)
        yield Clinic(folder, tmp_path / "said")


@pytest.fixture
def clinic(closed: Clinic) -> Clinic:
    """The budget is open, too."""
    code, said = closed.run(CUSTODIAN, *closed.words(OPEN))
    assert (code, "opened clinic" in said) == (0, True)
    return closed


def test_analysts_reach_the_data_through_their_owner_alone(clinic: Clinic) -> None:
    assert clinic.ledger.stat().st_uid == CUSTODIAN
    for words in (
        [clinic.policy],
        [str(clinic.folder / "hospital.csv")],
        ["budget", "show", clinic.policy],
    ):
        code, said = clinic.run(ALICE, *words, stdin=COUNT)
        assert code == 2
        assert "Permission denied" in said or "cannot" in said
    for gate, left, paid in (
        (SSH, "0.25", ""), (SSH, "0.25", ""), (SUDO, "0", "SET repeats = 'fresh'; "),
    ):  # fmt: skip
        code, said = clinic.run(CUSTODIAN, *clinic.words(gate), stdin=paid + COUNT)
        assert code == 0
        assert f"left: ε {left} of 0.5" in said
    gate = clinic.words(SSH)
    assert clinic.run(CUSTODIAN, *gate, stdin=COUNT + " WHERE a > 2")[0] == 3
    code, said = clinic.run(CUSTODIAN, "budget", "verify", clinic.policy)
    assert (code, "3 entries agree, ε 0.5 spent" in said) == (0, True)


def test_the_rule_of_sudo_is_these_words_and_no_others() -> None:
    """Of a rule with arguments sudo runs exactly these, but for wildcards; `\\` quotes."""
    assert not set("*?[]!\\,:=^$") & set(SUDO)


def test_analysts_read_nothing(clinic: Clinic) -> None:
    files = sorted(clinic.folder.iterdir())
    assert clinic.ledger in files

    def read() -> int:
        for file in files:
            for look in (os.stat, os.listdir, lambda path: Path(path).read_bytes()):
                with suppress(PermissionError):
                    print(look(file), look(file.parent))
        return 0

    assert clinic.run_as(ALICE, read) == (0, "")
    assert [stat.S_IMODE(path.stat().st_mode) for path in (clinic.folder, *files)] == [
        0o700, *[0o600] * len(files)
    ]  # fmt: skip


ELSEWHERE = [
    ".read {}/policy.toml", ".output {}/hospital.csv", ".once {}/new", ".plan {}/policy.toml",
    "\\i {}/policy.toml", "\\o {}/new", "\\! id", ".shell id", ".system id", "!id", ".open {}/x.csv",
    ".import {}/hospital.csv t", "SET dp = off", "SET reveal = on", "SET sensitivity = local",
    "COPY t TO '{}/new'", "SELECT COUNT(*) FROM read_csv('{}/hospital.csv')",
]  # fmt: skip


def test_nothing_that_is_typed_leads_elsewhere(clinic: Clinic) -> None:
    before = {path: path.read_bytes() for path in clinic.folder.glob("[!p]*")}
    for typed in ELSEWHERE:
        code, said = clinic.run(
            CUSTODIAN, *clinic.words(SSH), stdin=typed.format(clinic.folder) + ";\n"
        )
        assert code in (1, 2), typed
        assert "error: " in said, typed
        assert "uid=" not in said, typed
    assert {path: path.read_bytes() for path in clinic.folder.glob("[!p]*")} == before
    assert "ε 0 spent" in clinic.run(CUSTODIAN, "budget", "verify", clinic.policy)[1]


def test_what_an_analyst_brings_along_has_no_say(clinic: Clinic) -> None:
    """The command of the client, variables, settings, a folder of the analyst's own, a mask."""
    home = clinic.folder.parent / "home"
    (home / ".config" / "dpdb").mkdir(parents=True)
    (home / ".config" / "dpdb" / "config.toml").write_text("mode = 'nothing'\n")
    (home / "hospital.csv").write_text("a\n1\n")
    (home / "policy.toml").write_text(POLICY.replace("0.5", "1"))

    def bring() -> None:
        os.chdir(home)
        os.umask(0)
        os.environ |= {
            "SSH_ORIGINAL_COMMAND": f"cat {clinic.folder}/hospital.csv; dpdb --teach", "USER": "bob",
            "LOGNAME": "bob", "SUDO_USER": "bob", "HOME": str(home), "DPDB_MODE": "nothing",
            "XDG_STATE_HOME": str(home), "XDG_CONFIG_HOME": str(home / ".config"),
            "PAGER": "touch paged", "EDITOR": "touch edited", "TERM": "dumb", "COLUMNS": "-1",
        }  # fmt: skip

    code, said = clinic.run(CUSTODIAN, *clinic.words(SSH), stdin=COUNT, first=bring)
    assert code == 0
    assert "left: ε 0.25 of 0.5" in said
    assert {path.name for path in home.iterdir()} == {".config", "hospital.csv", "policy.toml"}
    assert {stat.S_IMODE(path.stat().st_mode) for path in clinic.folder.iterdir()} == {0o600}
    code, said = clinic.run(CUSTODIAN, "budget", "export", clinic.policy, "--format", "json")
    assert [json.loads(line)["who"] for line in said.splitlines()][1:] == ["alice"]


@pytest.mark.parametrize("limit", [resource.RLIMIT_AS, resource.RLIMIT_DATA, resource.RLIMIT_CPU])
def test_limits_that_an_analyst_has_set(clinic: Clinic, limit: int) -> None:
    """With `ulimit -v` a query fails if there is a row too many, and says so without noise."""
    code, said = clinic.run(CUSTODIAN, *clinic.words(SUDO), stdin=COUNT,
                            first=lambda: resource.setrlimit(limit, (2**40, 2**40)))  # fmt: skip
    assert (code, "--restricted runs without a limit" in said) == (2, True)
    assert "ε 0 spent" in clinic.run(CUSTODIAN, "budget", "verify", clinic.policy)[1]


def test_a_copy_of_the_policy_leads_nowhere(clinic: Clinic) -> None:
    """Alice writes a policy of her own that names the custodian's ledger."""
    own = clinic.folder.parent / "own"
    own.mkdir()
    (own / "hospital.csv").write_text("a\n1\n")
    (own / "policy.toml").write_text(POLICY)
    for path in (own, *own.iterdir()):
        os.chown(path, ALICE, ALICE)
    code, said = clinic.run(ALICE, str(own / "policy.toml"), "--ledger", str(clinic.ledger),
                            stdin=COUNT)  # fmt: skip
    assert (code, "ledger" in said) == (2, True)


def test_the_owner_of_a_ledger_alone_uses_it(clinic: Clinic) -> None:
    """Even where all else is open to everybody, and to root."""
    clinic.folder.chmod(0o755)
    for name in ("hospital.csv", "policy.toml"):
        (clinic.folder / name).chmod(0o644)
    code, said = clinic.run(ALICE, clinic.policy, stdin=COUNT)
    assert (code, "others can change" in said or "another user" in said) == (2, True)
    assert main([clinic.policy, "-c", COUNT]) == 2
