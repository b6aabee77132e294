"""Where rows are gone over in blocks, too, everything but the noisy value says nothing of them."""

from __future__ import annotations

import pytest

from dpdb.session import backends
from tests.support.hostile_rows import WORST
from tests.support.streams import SmallBlocks
from tests.system.test_transcript import GROUPS, assert_rows_change_no_byte, drowned

__all__ = ["drowned"]


@pytest.fixture(autouse=True)
def streamed(monkeypatch):
    def open_engine(policy, progress, witness, _pools):
        return SmallBlocks(progress, witness, policy.tables)

    monkeypatch.setattr(backends, "open_engine", open_engine)


@pytest.mark.usefixtures("planned_once")
@pytest.mark.parametrize("kind", ["declared", "units"])
def test_other_rows_change_no_byte(tmp_path, capsys, kind):
    variant = (kind, "add-remove", True)
    every_third = ";\n".join(GROUPS[::3])
    assert_rows_change_no_byte(tmp_path, capsys, variant, "json", [WORST], asked=every_third)
