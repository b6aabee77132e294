"""The page for developers: every path and name on it exists, and DPDB_TRACEBACK works as it says."""

from __future__ import annotations

import re
from functools import reduce
from importlib import import_module

import pytest

import dpdb
from dpdb import manual
from dpdb.session.purchases.executor import Executor
from tests.support.shell_lines import ROOT

PAGE = manual.page("developing")
PATHS = sorted(set(re.findall(r"`((?:dpdb|tests)/[\w./]+)`", PAGE)))
NAMES = sorted(set(re.findall(r"`(dpdb\.[\w.]+)`", PAGE)))


@pytest.mark.parametrize("path", PATHS)
def test_a_path_is_there(path: str) -> None:
    assert (ROOT / path).exists()


@pytest.mark.parametrize("name", NAMES)
def test_a_function_is_there(name: str) -> None:
    module, *rest = re.split(r"\.(?=[A-Z])", name, maxsplit=1)
    if not rest:
        module, _, function = name.rpartition(".")
        rest = [function]
    assert callable(reduce(getattr, rest[0].split("."), import_module(module)))


def test_what_is_named_without_a_path_is_somewhere() -> None:
    modules = [*ROOT.glob("dpdb/**/*.py"), *ROOT.glob("tests/**/*.py")]
    assert set(re.findall(r"`(\w+\.py)`", PAGE)) <= {path.name for path in modules}
    code = "\n".join(path.read_text(encoding="utf-8") for path in modules)
    for name in re.findall(r"`([A-Z]\w+)(?:\.\w+)?`", PAGE):
        if name not in ("SELECT", "EXPLAIN", "SET", "SHOW"):
            assert re.search(rf"(?m)^(?:class )?{name}\b", code), name


def test_a_dozen_functions_are_named() -> None:
    assert 12 <= len(NAMES) <= 15


@pytest.mark.parametrize(("teach", "wanted"), [(True, "1"), (True, ""), (False, "1")])
def test_a_traceback_is_for_teaching_mode_alone(
    teach: bool, wanted: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("of a cell")

    monkeypatch.setenv("DPDB_TRACEBACK", wanted)
    monkeypatch.setattr(Executor, "execute", fail)
    session = dpdb.connect(ROOT / "sample_data" / "people.csv", teach=teach)
    with pytest.raises(dpdb.InternalError) as caught:
        session.execute("SELECT COUNT(*) FROM people")
    assert "of a cell" not in str(caught.value)
    shown = capsys.readouterr().err
    assert ("ZeroDivisionError: of a cell" in shown) is (teach and wanted == "1")
