"""`dpdb check`: how a file fits its policy.

It is for the owner of the file alone: it counts and quotes cells exactly, and says so.
"""

from __future__ import annotations

import argparse

from dpdb.errors import printable
from dpdb.interfaces.cli.parsers import Parser
from dpdb.lab.studies.check import check, report
from dpdb.lab.studies.risk import NOTICE
from dpdb.session.connect import policy_of


def main(words: list[str]) -> int:
    """Run `dpdb check` with the words after it; errors are raised as `DpdbError`."""
    policy = policy_of(parser().parse_args(words).policy)
    print(NOTICE)
    for table in policy.tables:
        print()
        for line in report(check(table, policy.tables)):
            print(printable(line))
    return 0


def parser() -> argparse.ArgumentParser:
    """The parser of `dpdb check`."""
    result = Parser(
        "dpdb check",
        "FILE.toml",
        "For the data owner only: which cells of the files become NULL under a policy, "
        "and why; which are clamped; which rows are not counted.",
    )
    result.add_argument("policy", metavar="FILE.toml",
        help="a policy, or a data file with its policy beside it")  # fmt: skip
    return result
