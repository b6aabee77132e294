"""The manual's page for Python is run: its sessions in one namespace, its cells in a notebook."""

from __future__ import annotations

import doctest
import re
from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

import dpdb
from dpdb import manual
from tests.support.masking import check_widths, masked
from tests.support.noiseless import Noiseless

ROOT = Path(__file__).parents[2]
PAGE = manual.page("python")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, flags=re.DOTALL | re.MULTILINE)
SESSIONS = "".join(text for kind, text in BLOCKS if kind == "pycon")
README = "".join(re.findall(r"```pycon\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.S))
CELLS = [text for kind, text in BLOCKS if kind == "ipython"]


@pytest.fixture(autouse=True)
def in_the_checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


@pytest.fixture
def notebook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[InteractiveShell]:
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    shell = InteractiveShell.instance()
    shell.history_manager.enabled = False
    yield shell
    InteractiveShell.clear_instance()


def test_every_block_is_run() -> None:
    assert {kind for kind, _ in BLOCKS} == {"pycon", "ipython", "python"}
    assert len(CELLS) == 5


def test_sessions_print_what_the_page_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpdb.session.query_answers.source", lambda _: Noiseless())
    names: dict[str, Any] = {}
    examples = doctest.DocTestParser().get_examples(SESSIONS)
    assert len(examples) > 10
    for example in (*examples, *doctest.DocTestParser().get_examples(README)):
        printed = StringIO()
        with redirect_stdout(printed):
            exec(compile(example.source, "python.md", "single"), names)
        assert masked(printed.getvalue()) == masked(example.want), example.source
        check_widths(example.want, printed.getvalue())


def test_cells_of_a_notebook_run(notebook: InteractiveShell) -> None:
    for cell in CELLS:
        with capture_output() as captured:
            result = notebook.run_cell(cell)
        assert result.success, captured.stdout
    assert list(result.result.columns) == ["zip", "age"]
    assert notebook.user_ns["db"].balance.queries_left == 9


def test_the_program_runs() -> None:
    [program] = [text for kind, text in BLOCKS if kind == "python"]
    pytest.importorskip("sqlalchemy").dialects.registry.register(
        "dpdb", "dpdb.interfaces.sqlalchemy_dialect", "DpdbDialect"
    )
    names: dict[str, Any] = {}
    exec(compile(program, "python.md", "exec"), names)
    assert list(names["frame"].columns) == ["zip", "count_1"]


@pytest.mark.parametrize("name", sorted(set(dpdb.__all__) - {"Answer", "Policy", "__version__"}))
def test_public_name_is_on_the_page(name: str) -> None:
    assert re.search(rf"\b{name}\b", PAGE)
