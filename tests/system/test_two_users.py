"""A wall of users: analysts reach the data only through dpdb, run by the user who owns them."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

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
[tables.t.columns]
a = { type = "integer", bounds = [0, 9] }
"""
COUNT = "SET epsilon = 0.25; SELECT COUNT(*) FROM t"


@dataclass(frozen=True)
class Clinic:
    """A folder of the custodian's, and what each user's run of dpdb says."""

    folder: Path
    said: Path

    @property
    def policy(self) -> str:
        return str(self.folder / "t.toml")

    def run(self, user: int, *words: str, stdin: str = "") -> tuple[int, str]:
        """The exit code of dpdb, and all that it printed, in a process of this user."""
        self.said.write_text("")
        with self.said.open("w") as file:

            def work() -> None:
                os.setgroups([])
                os.setresgid(user, user, user)
                os.setresuid(user, user, user)
                sys.stdin, sys.stdout, sys.stderr = io.StringIO(stdin), file, file
                code = main(words)
                file.flush()
                os._exit(code)

            child = forked(work)
            return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), self.said.read_text()


@pytest.fixture
def clinic(tmp_path: Path) -> Iterator[Clinic]:
    with folder_in_memory() as outside:
        outside.chmod(0o755)
        folder = outside / "clinic"
        folder.mkdir(mode=0o700)
        (folder / "t.csv").write_text("a\n" + "5\n" * 100)
        (folder / "t.toml").write_text(POLICY)
        # What dpdb imports must be there before it is run by users who cannot read it.
        for command in (["budget", "open", folder / "t.toml"], [folder / "t.toml", "-c", COUNT],
                        [folder / "t.toml", "--analyst", "alice", "-c", COUNT],
                        ["budget", "verify", folder / "t.toml"]):  # fmt: skip
            main([str(word) for word in command])
        for ledger in folder.glob("t.ledger*"):
            ledger.unlink()
        for path in (folder, *folder.iterdir()):
            os.chown(path, CUSTODIAN, CUSTODIAN)
            path.chmod(0o700 if path.is_dir() else 0o600)
        yield Clinic(folder, tmp_path / "said")


def test_analysts_reach_the_data_through_their_owner_alone(clinic: Clinic) -> None:
    code, said = clinic.run(CUSTODIAN, "budget", "open", clinic.policy)
    assert (code, "opened clinic" in said) == (0, True)
    assert (clinic.folder / "t.ledger").stat().st_uid == CUSTODIAN
    for words in (
        [clinic.policy],
        [str(clinic.folder / "t.csv")],
        ["budget", "show", clinic.policy],
    ):
        code, said = clinic.run(ALICE, *words, stdin=COUNT)
        assert code == 2
        assert "Permission denied" in said or "cannot" in said
    gate = (clinic.policy, "--restricted", "--analyst", "alice")  # what sshd or sudo runs for her
    for left, paid in (("0.25", ""), ("0.25", ""), ("0", "SET repeats = 'fresh'; ")):
        code, said = clinic.run(CUSTODIAN, *gate, stdin=paid + COUNT)
        assert code == 0
        assert f"left: ε {left} of 0.5" in said
    assert clinic.run(CUSTODIAN, *gate, stdin=COUNT + " WHERE a > 2")[0] == 3
    code, said = clinic.run(CUSTODIAN, *gate, stdin=f".output {clinic.folder}/t.csv\n")
    assert (code, "--restricted" in said) == (2, True)
    code, said = clinic.run(CUSTODIAN, "budget", "verify", clinic.policy)
    assert (code, "3 entries agree, ε 0.5 spent" in said) == (0, True)


def test_a_copy_of_the_policy_leads_nowhere(clinic: Clinic) -> None:
    """Alice writes a policy of her own that names the custodian's ledger."""
    clinic.run(CUSTODIAN, "budget", "open", clinic.policy)
    own = clinic.folder.parent / "own"
    own.mkdir()
    (own / "t.csv").write_text("a\n1\n")
    (own / "t.toml").write_text(POLICY)
    for path in (own, *own.iterdir()):
        os.chown(path, ALICE, ALICE)
    ledger = str(clinic.folder / "t.ledger")
    code, said = clinic.run(ALICE, str(own / "t.toml"), "--ledger", ledger, stdin=COUNT)
    assert (code, "ledger" in said) == (2, True)


def test_the_owner_of_a_ledger_alone_uses_it(clinic: Clinic) -> None:
    """Even where all else is open to everybody, and to root."""
    clinic.run(CUSTODIAN, "budget", "open", clinic.policy)
    clinic.folder.chmod(0o755)
    for name in ("t.csv", "t.toml"):
        (clinic.folder / name).chmod(0o644)
    code, said = clinic.run(ALICE, clinic.policy, stdin=COUNT)
    assert (code, "others can change" in said or "another user" in said) == (2, True)
    assert main([clinic.policy, "-c", COUNT]) == 2
