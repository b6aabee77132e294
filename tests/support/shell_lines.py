"""Lines of the manual that a shell would run: what dpdb is given in them, to run it in the process.

To start a process takes longer than most of what it is asked.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from itertools import groupby
from pathlib import Path

ROOT = Path(__file__).parents[2]
ENDS = ";"
"""What is between two commands of a line."""
_LOOP = re.compile(r"for (\w+) in (.*?); do (.*?); done")


def dpdb_arguments(line: str) -> list[list[str]] | None:
    """The arguments of each `dpdb` of the line; None where anything but `dpdb` is run."""
    lexer = shlex.shlex(_LOOP.sub(_unrolled, line), posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    commands = [list(group) for end, group in groupby(lexer, ENDS.__eq__) if not end]
    # Pipes, redirections and the like are words of their own where they are not in quotes.
    plain = not any(set(word) <= set("()<>|&") for words in commands for word in words)
    if plain and all(words[0] == "dpdb" for words in commands):
        return [words[1:] for words in commands]
    return None


def _unrolled(loop: re.Match[str]) -> str:
    """The commands that a loop runs, one after the other."""
    name, values, body = loop.groups()
    return "; ".join(body.replace(f"${name}", value) for value in values.split())


def by_the_shell(line: str) -> str:
    """What is printed of the line, errors too, in the repository's folder."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    run = subprocess.run(
        line,
        shell=True,
        cwd=ROOT,
        env={**os.environ, "PATH": path, "MAKEFLAGS": "-s --no-print-directory"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return run.stdout
