"""Mechanisms answer for themselves: nobody else asks which one it is."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

from dpdb.privacy.mechanisms.mechanism import Additive

ROOT = Path(__file__).parents[2] / "dpdb"
CONCRETE = {mechanism.__name__ for mechanism in get_args(Additive)}
ALLOWED = ("privacy", "session/purchases/executor.py", "plan/physical/mechanism_choice.py")


def named(source: str) -> Iterator[str]:
    """The concrete additive mechanisms that a module imports, or reaches through their module."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.ImportFrom(names=names):
                yield from (each.name for each in names if each.name in CONCRETE)
            case ast.Attribute(attr=attr) if attr in CONCRETE:
                yield attr


def elsewhere() -> list[Path]:
    """The modules that may name none."""
    paths = (path.relative_to(ROOT) for path in sorted(ROOT.rglob("*.py")))
    return [path for path in paths if not path.as_posix().startswith(ALLOWED)]


@pytest.mark.parametrize("path", elsewhere(), ids=str)
def test_no_other_module_names_an_additive_mechanism(path: Path) -> None:
    assert not set(named((ROOT / path).read_text()))


def test_a_named_mechanism_is_found() -> None:
    for wrong in (
        "from dpdb.privacy.mechanisms.laplace import Laplace as L",
        "from dpdb.privacy.mechanisms import gaussian\nisinstance(x, gaussian.Gaussian)",
    ):
        assert set(named(wrong))
