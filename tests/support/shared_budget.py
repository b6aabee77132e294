"""A budget that several people spend at once, each with dpdb in a process of his own."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import sys
import time
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from random import Random

from dpdb.interfaces.cli.main import main
from tests.support.ledger_trials import forked

SHARE = Fraction(1, 100)
"""What ε each answer costs."""
POLICY = """
[budget]
name = "shared"
epsilon = {epsilon}
queries = 1_000_000
[tables.t.columns]
a = {{ type = "integer", bounds = [0, 9] }}
"""
ASKED = f"SET repeats = 'fresh';\nSET epsilon = {float(SHARE)};\n"
COUNT = "SELECT COUNT(*) FROM t WHERE a > 2;\n"
NAMES = ("alice", "bob", "carol")


@dataclass(frozen=True)
class Shared:
    """What became of a budget that Alice, Bob and Carol have spent to the last."""

    epsilon: Fraction
    verified: Fraction
    """What ε is spent, as `dpdb budget verify` says."""
    charged: dict[str, Fraction]
    """What ε the ledger has from each of them."""
    told: dict[str, Fraction]
    """What ε the answers cost that each of them has on his page."""
    kills: int

    def check(self) -> None:
        """All is spent, and what each was told is what was charged: with a kill, at least."""
        assert self.verified == self.epsilon == sum(self.charged.values())
        *lived, killed = NAMES
        for name in lived:
            assert self.charged[name] == self.told[name] > 0
        assert self.told[killed] > 0
        assert 0 <= self.charged[killed] - self.told[killed] <= self.kills * SHARE


def shared_to_the_last(folder: Path, kills: int, random: Random) -> Shared:
    """Alice and Bob run dpdb until nothing is left; Carol does again and again, and is killed.

    There is enough for ten answers of Alice and of Bob between one kill and the next, and for fifty
    before, so that neither has spent it all while the other's process still starts.
    """
    statements = 20 * kills + 100
    policy = str(folder / "t.toml")
    (folder / "t.csv").write_text("a\n" + "5\n" * 100)
    # What is imported here, for a budget of this process, is not imported again by each child.
    main([str(folder / "t.csv"), "-o", os.devnull, "-c", COUNT.replace("a > 2", "TRUE")])
    (folder / "t.toml").write_text(POLICY.format(epsilon=float(statements * SHARE)))
    dpdb(folder / "custodian", "budget", "open", policy)
    for name in NAMES:
        (folder / name).touch()
    killed, left = 0, set[int]()
    while left or not killed:
        carol = started(folder, NAMES[2], 50)
        wait_for_answers(folder / NAMES[2], random.randrange(3) if killed else 1)
        left |= set() if killed else {started(folder, name, statements) for name in NAMES[:2]}
        time.sleep(random.uniform(0, 0.01))
        os.kill(carol, signal.SIGKILL)
        killed += os.WIFSIGNALED(os.waitpid(carol, 0)[1])
        for child in tuple(left):
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                assert os.waitstatus_to_exitcode(status) == 3  # the budget is used up
                left.remove(child)
    said = dpdb(folder / "custodian", "budget", "verify", policy)
    [spent] = re.findall(r" entries agree, ε (\S+) spent", said)
    exported = dpdb(folder / "custodian", "budget", "export", policy, "--format", "json")
    entries = [json.loads(line) for line in exported.splitlines()]
    charged = {
        name: sum((Fraction(str(e["epsilon"])) for e in entries if e["who"] == name), Fraction(0))
        for name in NAMES
    }
    told = {name: told_in(folder / name) for name in NAMES}
    return Shared(statements * SHARE, Fraction(spent), charged, told, killed)


def started(folder: Path, name: str, statements: int) -> int:
    """The number of a process in which this analyst asks so many questions."""

    def ask() -> None:
        sys.stdin = io.StringIO(ASKED + COUNT * statements)
        with (folder / name).open("a") as page, open(os.devnull, "w") as nowhere:
            sys.stdout, sys.stderr = page, nowhere
            code = main([str(folder / "t.toml"), "--restricted", "--json", "--analyst", name])
        os._exit(code)

    return forked(ask)


def wait_for_answers(page: Path, number: int) -> None:
    """Wait until so many more answers are on the page, but not for ever: nothing may be left."""
    before, until = told_in(page), time.monotonic() + 1
    while told_in(page) < before + number * SHARE and time.monotonic() < until:
        time.sleep(0.001)


def told_in(page: Path) -> Fraction:
    """What the answers on a page cost; the last line may have been cut off by a kill."""
    *lines, _cut = page.read_text().split("\n")
    answers = [json.loads(line) for line in lines if '"cost"' in line and line[-1] == "}"]
    return sum((Fraction(str(each["cost"]["epsilon"])) for each in answers), Fraction(0))


def dpdb(page: Path, *words: str) -> str:
    """What dpdb prints, in a process of its own: one that has forked children has no ledger open."""

    def work() -> None:
        with page.open("w") as file:
            sys.stdout = file
            assert main(words) == 0

    assert os.waitpid(forked(work), 0)[1] == 0
    return page.read_text()
