"""What an attack may do: send SQL, and nothing else."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest

from dpdb import manual
from dpdb.interfaces.commands.lab.attacks import main
from dpdb.lab import attacks
from dpdb.lab.attack import Attack
from dpdb.lab.catalogue import catalogue

FOLDER = Path(attacks.__path__[0])
FILES = sorted(path for path in FOLDER.glob("*.py") if path.name != "__init__.py")
ABOVE_SESSION = {
    f"dpdb.{module}"
    for module in (
        "records", "lab.attack", "lab.attacks", "lab.attacks.chances",
        "lab.database", "lab.foils", "lab.figures", "lab.scenario",
    )
}  # fmt: skip
HARMLESS = {
    "__future__", "collections", "collections.abc", "dataclasses", "datetime", "fractions", "functools",
    "itertools", "math", "numpy", "numpy.typing", "random", "typing",
}  # fmt: skip


def imported(tree: ast.AST) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=aliases):
                names |= {alias.name for alias in aliases}
            case ast.ImportFrom(module=module, level=level):
                names.add("." * level + (module or ""))
    return names


def reaches_inside(tree: ast.AST) -> list[str]:
    """Attributes that begin with an underscore: the ways behind what an attack is given."""
    return [
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr.startswith("_")
    ]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_an_attack_imports_nothing_below_the_session(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert imported(tree) <= ABOVE_SESSION | HARMLESS
    assert not reaches_inside(tree)


def test_the_rule_would_notice() -> None:
    assert imported(ast.parse("from dpdb.engines import memory\nimport os")) - HARMLESS == {
        "dpdb.engines",
        "os",
    }
    assert reaches_inside(ast.parse("session._engine.exact(1)")) == ["_engine"]


@pytest.mark.parametrize("name", catalogue())
def test_the_scenario_leaves_no_note_for_the_attacker(name: str) -> None:
    attack = catalogue()[name]
    before = {**vars(attack), **class_values(attack)}
    attack.scenario(np.random.default_rng(1))
    assert {**vars(attack), **class_values(attack)} == before


def class_values(attack: Attack) -> dict[str, object]:
    return {k: v for k, v in vars(type(attack)).items() if not k.startswith("__")}


@pytest.mark.parametrize("name", catalogue())
def test_the_story_is_told_in_full(name: str) -> None:
    attack = catalogue()[name]
    for text in (attack.title, attack.source, attack.secret, attack.idea, attack.remedy):
        assert text.strip()
    assert attack.tasks


def test_one_file_adds_an_attack(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The example of the manual."""
    code = manual.page("teaching").partition("```python\n")[2].partition("```")[0]
    (tmp_path / "newcomer.py").write_text(code, encoding="utf-8")
    monkeypatch.setattr(attacks, "__path__", [str(FOLDER), str(tmp_path)])
    assert main([]) == 0
    assert "newcomer" in capsys.readouterr().out
