"""Lines that are no rows, and runs of blanks: the same however a file is cut into pieces."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpdb.engines.memory import MemoryEngine
from dpdb.engines.sources.opening import open_source
from dpdb.errors import PolicyError
from dpdb.lab.studies.check import check
from dpdb.policy.csv.csv_format import LineFormat
from dpdb.policy.csv.csv_stream import LineFilter
from dpdb.policy.reading.reader import read_policy
from tests.support.csv_files import plain
from tests.support.exactly import raw


def filtered(text: str, form: LineFormat) -> str:
    """The text of a whole file, line by line."""
    lines = re.findall(r"[^\n]*\n|[^\n]+", text)[form.skip :]
    kept = [line for line in lines if not (form.comment and line.startswith(form.comment))]
    if not form.blanks:
        return "".join(kept)
    parts = [re.fullmatch(r"(.*?)(\r?\n)?", line, re.DOTALL) for line in kept]
    return "".join(
        re.sub(r"[ \t]+", " ", part[1]).strip(" ") + (part[2] or "") for part in parts if part
    )


@given(
    st.text("a# \t\n\r", max_size=30),
    st.lists(st.integers(1, 5)),
    st.builds(LineFormat, st.integers(0, 2), st.sampled_from(["", "#"]), st.booleans()),
)
def test_lines_are_the_same_in_any_pieces(text: str, sizes: list[int], form: LineFormat) -> None:
    # A CR that ends no line may stand beside a blank: only whole line ends are looked for here.
    text = re.sub(r"\r(?!\n)", "", text)
    lines, found, place = LineFilter(form), b"", 0
    for size in sizes:
        found += lines.feed(text[place : place + size].encode(), final=False)
        place += size
    found += lines.feed(text[place:].encode(), final=False) + lines.feed(b"", final=True)
    assert found.decode() == filtered(text, form)


POLICY = """
[tables.t]
{keys}
[tables.t.columns]
a = {{ type = "integer", bounds = [0, 99] }}
b = {{ type = "text" }}
"""


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        ('comment = "#"', "# made by x\na,b\n#1,x\n1,x\n# 5\n2,y\n"),
        ("skip = 2", "Report\nof May\na,b\n1,x\n2,y\n"),
        ('separator = " "', "  a \t b  \n1   x\n 2\ty \n"),
        ('skip = 1\ncomment = "%"\nseparator = " "', "x\n% c\na  b\n% 3 z\n1 x\n2 y"),
        ('skip = 1\nheader = false\nencoding = "utf-16-le"', "x\n1,x\n2,y\n"),
    ],
)
def test_files(tmp_path: Path, keys: str, text: str) -> None:
    (tmp_path / "t.csv").write_bytes(text.encode("utf-16-le" if "utf-16" in keys else "utf-8"))
    (tmp_path / "t.toml").write_text(POLICY.format(keys=keys))
    policy = read_policy(tmp_path / "t.toml")
    [table] = policy.tables
    loaded = open_source(table).load(["a", "b"])
    assert [plain(loaded.columns[name]) for name in "ab"] == [[1, 2], ["x", "y"]]
    assert raw("SELECT SUM(a) FROM t", policy, MemoryEngine()) == [[3]]
    checked = check(table)
    assert (checked.records.rows, checked.records.short_rows) == (2, 0)


@pytest.mark.parametrize(
    ("keys", "problem"),
    [
        ('comment = "##"', "comment is one ASCII character"),
        ("skip = -1", "skip is a number of lines"),
        ("skip = true", "skip is a number of lines"),
    ],
)
def test_keys_that_say_nothing(tmp_path: Path, keys: str, problem: str) -> None:
    (tmp_path / "t.toml").write_text(POLICY.format(keys=keys))
    with pytest.raises(PolicyError, match=problem):
        read_policy(tmp_path / "t.toml")
