"""Neighbouring tables in DuckDB files and on a server: not a byte differs, whatever is asked.

As with CSV files, each exact result is replaced by one constant, and there is no noise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from random import Random

import pyarrow.parquet
import pytest

from dpdb.lab.studies.prepare import prepare
from dpdb.policy.catalog import Policy
from tests.long.neighbours import neighbouring
from tests.long.parts import Part
from tests.long.statements import ASKED
from tests.long.test_transcripts import ENOUGH, TOGETHER, _compare, _without_noise
from tests.support.postgres import Server, running_server
from tests.support.typed_files import write_typed

__all__ = ["_without_noise"]
TABLE, COLUMNS = "[tables.t]\n", "[tables.t.columns]\n"
SERVICE = "service.conf"
Move = Callable[[pyarrow.Table, Path], str]
"""Writes the rows of `t` elsewhere, and says what a policy in the folder calls that place."""


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """The file in the current folder says which of its databases is meant."""
    with running_server() as server, pytest.MonkeyPatch.context() as patched:
        patched.setenv("PGSERVICEFILE", SERVICE)
        yield server


def move_rows(policy: Policy, move: Move) -> None:
    """Have the policy of one of two neighbouring files be about the same rows elsewhere."""
    folder = policy.tables[0].path.parent
    prepare(policy.tables[0], folder / "t.parquet")
    place = move(pyarrow.parquet.read_table(folder / "t.parquet"), folder)
    text = (folder / "t.toml").read_text(encoding="utf-8")
    if TABLE not in text:
        text = text.replace(COLUMNS, TABLE + COLUMNS)
    (folder / "t.toml").write_text(text.replace(TABLE, f"{TABLE}{place}\n"), encoding="utf-8")


def compare(part: Part, folder: Path, move: Move, capsys) -> str:
    """Ask random statements of pairs of neighbouring tables."""
    statements: list[str] = []
    part.each(ASKED, statements.append)
    chance = Random(part.seed)
    for at in range(0, len(statements), TOGETHER):
        pair = neighbouring(folder / str(at), chance)
        for policy in pair.others:
            move_rows(policy, move)
        folders = [policy.tables[0].path.parent for policy in pair.others]
        asked = [ENOUGH, *statements[at : at + TOGETHER]]
        _compare(folders, ["t.toml"], asked, at // TOGETHER, capsys)
    return f"{part}: {len(statements)} statements"


@pytest.mark.examples(500, 8)
def test_random_statements_on_neighbouring_duckdb_files(part: Part, tmp_path, capsys, tried):
    def move(rows: pyarrow.Table, folder: Path) -> str:
        return f'path = "{write_typed(folder, "t", rows, "duckdb").name}"'

    tried(compare(part, tmp_path, move, capsys))


@pytest.mark.examples(1_000, 8)
def test_random_statements_on_neighbouring_tables_of_a_server(
    part: Part, tmp_path, server: Server, capsys, tried
):
    """Each is in a database of its own; the policies are equal."""
    names = (f"part{part.seed}_{number}" for number in count())

    def move(rows: pyarrow.Table, folder: Path) -> str:
        name = next(names)
        server.execute(f"CREATE DATABASE {name}")
        server.insert("t", rows, name)
        service = f"[here]\nhost={server.socket}\ndbname={name}\nuser=custodian\n"
        (folder / SERVICE).write_text(service, encoding="utf-8")
        return 'source = "postgresql:///?service=here&table=t"\nengine = "stream"'

    tried(compare(part, tmp_path, move, capsys))
