"""Each hostile row in a file of its own: the ordinary suite has most of them in handfuls."""

from __future__ import annotations

import pytest

from tests.long.parts import Part
from tests.support.hostile_rows import HOSTILE, WORST
from tests.system.test_transcript import THOROUGH, VARIANTS, assert_rows_change_no_byte, drowned

__all__ = ["drowned"]  # a fixture that all tests here use

FILES = [
    *((variant, "json", name) for variant in THOROUGH for name in HOSTILE),
    *((variant, "table", name) for variant in VARIANTS for name in WORST),
]
TOGETHER = 20
"""So many files are compared in a part."""


@pytest.mark.usefixtures("planned_once")
@pytest.mark.examples(len(FILES), 1, most=TOGETHER)
def test_each_hostile_row_changes_no_byte(part: Part, tmp_path, capsys, tried):
    first = TOGETHER * (part.seed - 1)
    for variant, form, name in FILES[first : first + part.examples]:
        assert_rows_change_no_byte(tmp_path, capsys, variant, form, [[name]])
    tried(f"{part}: {part.examples} files with a hostile row")
