"""The accounts of those who ask a server, through the command line of the data owner."""

from __future__ import annotations

import json
import os
import pty
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from dpdb.__main__ import main
from dpdb.ledger import people
from dpdb.ledger.people import Accounts
from dpdb.policy.reading.reader import read_policy
from tests.support.command_line import Make, Run

POLICY = """
[budget]
name = "clinic"
[tables.t.columns]
a = { type = "integer", bounds = [0, 9] }
"""
PASSWORD = "correct horse battery"


@pytest.fixture
def clinic(make: Make, run: Run, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A policy whose budget is open; passwords take little work."""
    monkeypatch.setattr(people, "_COST", (16, 8, 1))
    path = make("a\n1\n2\n", POLICY).with_suffix(".toml")
    assert run("budget", "open", path).code == 0
    (path.parent / "password").write_text(f"{PASSWORD}\nand a note\n")
    return path


def known(path: Path) -> Accounts:
    lasting = read_policy(path).lasting
    assert lasting is not None
    return Accounts(lasting)


def test_a_new_password(run: Run, clinic: Path) -> None:
    """It ends the former and its sessions; token and limit stay."""
    password, other = clinic.parent / "password", clinic.parent / "other"
    added = run(
        "user", "add", "alice", clinic, "--token", "--epsilon", 0.3, "--password-file", password
    )
    server = known(clinic)
    mark = server.mark("alice")
    other.write_text("another horse battery\n")
    changed = run("user", "password", "alice", clinic, "--password-file", other)
    assert (changed.code, changed.out) == (0, "")
    assert server.by_password("alice", PASSWORD) is None
    assert server.by_password("alice", "another horse battery") == "alice"
    assert server.by_token(added.out.strip()) == "alice"
    assert server.mark("alice") != mark
    [listed] = run("user", "list", clinic, "--format", "json").answers
    assert listed["rows"][0][2:] == [True, True, 0.3]
    other.write_text("short\n")
    assert "12 to 1024" in run("user", "password", "alice", clinic, "--password-file", other).err
    assert "no account" in run("user", "password", "bob", clinic, "--password-file", password).err
    assert server.by_password("alice", "another horse battery") == "alice"


def test_an_account_is_added_listed_given_a_token_and_removed(run: Run, clinic: Path) -> None:
    password = clinic.parent / "password"
    added = run("user", "add", "alice", clinic, "--epsilon", 0.3, "--password-file", password)
    assert (added.code, added.out, added.err) == (
        0,
        "",
        "added alice, who may spend ε 0.3 in all\n",
    )
    assert known(clinic).by_password("alice", PASSWORD) == "alice"
    robot = run("user", "add", "robot", "--token", clinic, "--epsilon", 0.1)
    assert known(clinic).by_token(robot.out.strip()) == "robot"
    [listed] = run("user", "list", clinic, "--format", "json").answers
    assert listed["columns"] == ["name", "since", "password", "token", "limit"]
    assert [[row[0], *row[2:]] for row in listed["rows"]] == [
        ["alice", True, False, 0.3], ["robot", False, True, 0.1],
    ]  # fmt: skip
    new = run("user", "token", "robot", clinic)
    assert known(clinic).by_token(new.out.strip()) == "robot"
    assert known(clinic).by_token(robot.out.strip()) is None
    assert (
        run("user", "remove", "alice", clinic).err == "removed alice; what was spent stays spent\n"
    )
    [left] = run("user", "list", clinic, "--format", "json").answers
    assert [row[0] for row in left["rows"]] == ["robot"]
    # The part of the budget went with the account, and the budget still agrees.
    assert "alice is not among" in run(clinic, "--analyst", "alice", "-c", "SHOW BUDGET").err
    assert run("budget", "verify", clinic).code == 0
    exported = run("budget", "export", clinic, "--format", "json").out
    actions = [json.loads(line)["action"] for line in exported.splitlines()]
    assert actions == ["open", "grant", "grant", "revoke"]
    assert robot.out.strip() not in exported


@pytest.mark.parametrize(("words", "error", "hint"), [
    (["add", "a", "POLICY"], "typed at a terminal, or read from a file", "--password-file FILE"),
    (["add", " ", "POLICY", "--token"], "the name of an account", ""),
    (["add", "a", "POLICY", "--password-file", "nowhere"], "cannot read nowhere", ""),
    (["add", "a", "POLICY", "--password-file", "POLICY"], "a password has 12 to 1024", "several words"),
    (["add", "a", "POLICY", "--token", "--epsilon", "0"], "argument --epsilon: epsilon must be", ""),
    (["add", "POLICY", "--token"], "followed by other words", "NAME POLICY"),
    (["list", "a", "POLICY"], "followed by other words", "list by POLICY"),
    (["token", "a", "POLICY"], "there is no account a", "dpdb user list POLICY"),
    (["remove", "a\udc80", "POLICY"], "there is no account a\\udc80", ""),
    (["password", "a", "POLICY", "--token"], "--token is of dpdb user add", ""),
    (["remove", "a", "POLICY", "--password-file", "x"], "of dpdb user add and password", ""),
    (["remove", "a", "POLICY", "--token"], "--token is of dpdb user add", ""),
    (["list", "POLICY", "--epsilon", "1"], "--epsilon is of dpdb user add", ""),
    (["forget", "a", "POLICY"], "invalid choice: 'forget'", ""),
])  # fmt: skip
def test_what_is_wrong_is_told_and_changes_nothing(
    run: Run, clinic: Path, words: list[str], error: str, hint: str
) -> None:
    ran = run("user", *(clinic if word == "POLICY" else word for word in words))
    assert (ran.code, ran.out) == (2, "")
    assert error in ran.err
    assert hint in ran.err
    assert known(clinic).names == ()


def test_without_a_part_it_says_what_to_type(run: Run, clinic: Path) -> None:
    run("budget", "grant", clinic, "alice", 0.3)
    refused = run("user", "add", "bob", clinic, "--token")
    assert "each analyst has a part of this budget, and bob has none" in refused.err
    assert "hint: --epsilon 0.1" in refused.err
    assert run("user", "add", "bob", clinic, "--token", "--epsilon", 0.1).code == 0
    assert run("user", "add", "alice", clinic, "--token").code == 0


def test_a_session_alone_has_no_accounts(run: Run, make: Make) -> None:
    path = make("a\n1\n", POLICY.replace('name = "clinic"', "")).with_suffix(".toml")
    refused = run("user", "list", path)
    assert refused.code == 2
    assert "names no budget that lasts" in refused.err


def typed(words: list[str], *lines: str) -> tuple[int, str]:
    """The exit code and the screen of `dpdb` at a terminal at which these lines are typed."""
    child, terminal = pty.fork()
    if not child:
        sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w")  # noqa: SIM115
        os._exit(main(words))
    shown = ""
    for line in lines:
        while not shown.endswith(": "):
            shown += os.read(terminal, 1000).decode()
        os.write(terminal, line.encode() + b"\n")
        shown += "\n"
    with suppress(OSError):  # as Linux tells the end
        while more := os.read(terminal, 1000):
            shown += more.decode()
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), shown


def test_at_a_terminal_the_password_is_typed_twice_and_not_shown(clinic: Path) -> None:
    words = ["user", "add", "alice", str(clinic)]
    code, shown = typed(words, PASSWORD, PASSWORD[:-1])
    assert code == 2
    assert "password of alice: " in shown
    assert "the two passwords differ" in shown
    assert known(clinic).names == ()
    code, shown = typed(words, PASSWORD, PASSWORD)
    assert code == 0
    assert PASSWORD not in shown
    assert known(clinic).by_password("alice", PASSWORD) == "alice"
