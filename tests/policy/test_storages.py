"""Each storage has its columns found and its rows read: a match without it fails mypy."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pytest

from dpdb.engines.sources.opening import open_source
from dpdb.policy.catalog import Policy, Table
from dpdb.policy.frames import HeldFrame
from dpdb.policy.storage import ServerTable, Storage, file_kind, server_kind
from dpdb.trial.rows import TrialRows


@pytest.mark.parametrize("storage", Storage)
def test_each_storage_is_known_by_its_name_and_has_a_source(storage: Storage) -> None:
    facts, frame, made_up = storage.value, None, None
    path, server = Path(f"t{[*facts.suffixes, '.csv'][0]}"), None
    if facts.schemes:
        address = f"{facts.schemes[0]}://"
        server = ServerTable(address, "public", "t")
        assert server_kind(address) is storage
    elif storage is Storage.FRAME:
        frame = HeldFrame(None)
    elif storage is Storage.TRIAL:
        made_up = TrialRows(Policy(()))
    else:
        assert file_kind(path) is storage
    table = Table("t", path, (), server=server, frame=frame, made_up=made_up)
    assert table.storage is storage
    for package in {"POSTGRESQL": ["psycopg"], "SPARK": ["pyspark"]}.get(storage.name, []):
        pytest.importorskip(package)
    assert open_source(table).table is table


def test_no_two_storages_share_a_name() -> None:
    for one, other in combinations(Storage, 2):
        assert not {*one.value.schemes} & {*other.value.schemes}
        assert not {*one.value.suffixes} & {*other.value.suffixes}
        assert one.value.label != other.value.label
