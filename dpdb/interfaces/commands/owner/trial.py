"""`dpdb trial`: rows made up from a policy, as files to hand out."""

from __future__ import annotations

import argparse
from pathlib import Path

from dpdb.interfaces.cli.parsers import Parser, add_force, make_folder, write
from dpdb.policy.reading.reader import read_policy
from dpdb.trial.policy import trial_files


def main(words: list[str]) -> int:
    """Run `dpdb trial` with the words after it; errors are raised as `DpdbError`."""
    options = parser().parse_args(words)
    files = list(trial_files(read_policy(options.policy)))
    make_folder(options.output)
    for name, content in files:
        write(options.output / name, content, force=options.force)
    return 0


def parser() -> argparse.ArgumentParser:
    """The parser of `dpdb trial`."""
    result = Parser(
        "dpdb trial",
        "POLICY.toml -o FOLDER",
        "Write a CSV file of made-up rows for each table of a policy, to practise on and to hand "
        "out. The rows follow from the policy alone, are the same for everybody, and no data are "
        "read. `dpdb POLICY.toml --trial` answers statements about the same rows.",
    )
    add = result.add_argument
    add("policy", type=Path, metavar="POLICY.toml", help="the policy of the tables")
    add("-o", dest="output", type=Path, metavar="DIR", required=True,
        help="the folder for the files")  # fmt: skip
    add_force(result)
    return result
